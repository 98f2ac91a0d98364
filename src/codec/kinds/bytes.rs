//! `bytes`: the byte order of elements of more than one byte.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/bytes/>

use super::error::CodecError;
use super::members::{Member, MemberType};
use super::{Binding, BytesSize, Coder, Effect, Kind, Made, Output, cast, copy_swapped};
use crate::data_type::{ByteSwap, DataType};
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::kernel::cast::Cast;
use crate::metadata::extension::{CodecMetadata, View};
use crate::metadata::json::Object;

/// `bytes`. v2 has a byte order in its data type instead.
pub(crate) static BYTES: Kind = Kind { takes_any_type: true, ..Kind::new(|_| MEMBERS, bind) };

const MEMBERS: &[Member] = &[Member::optional("endian", MemberType::Choice(&["little", "big"]))];

fn bind(to: &mut Binding<'_>) -> Option<Made> {
    let array = to.array?;
    let data_type = &array.data_type;
    let size = array.num_bytes().map_or(BytesSize::Unbounded, BytesSize::Fixed);
    // Only v2 has fields of both byte orders in one struct. In v3 one `endian` is for all of them.
    if let Some(View::BigEndianFields(fields)) = &to.codec.view {
        let is_swapped: Vec<bool> = fields.iter().map(|is_big| *is_big != cfg!(target_endian = "big")).collect();
        let fields = Some(ByteSwap::of_fields(data_type, &is_swapped));
        return Some(Made::to_bytes(Bytes { fields, ..Bytes::default() }, size));
    }
    if data_type.is_variable_length() {
        let message = format!("`bytes` encodes elements of a fixed size, but its input is `{data_type}`");
        let found = Diagnostic::new(code::CODEC_DATA_TYPE, message);
        to.push(found.with_help("use `vlen-utf8` for strings, `vlen-bytes` for bytes"));
        return None;
    }
    // Such elements are plain bytes in memory nonetheless, and are passed between two chains in this form.
    if matches!(data_type, DataType::Optional(_)) {
        let message = format!("`bytes` does not encode `{data_type}`; `zarrs.optional` does");
        to.report(code::CODEC_DATA_TYPE, message);
    }
    let has_byte_order = data_type.has_byte_order();
    let endian = to.members.text_value("endian");
    if has_byte_order && endian.is_empty() {
        let message = format!("`bytes` has no `endian`, which `{data_type}` needs; it is read as \"little\"");
        // The page of the legacy name requires little-endian, and a warning of readers.
        let is_legacy = matches!(data_type, DataType::Struct(structure) if structure.is_legacy);
        let code = if is_legacy { code::ENDIAN_MISSING_LEGACY } else { code::ENDIAN_MISSING };
        let found = Diagnostic::new(code, message);
        to.push(found.with_help("add \"endian\": \"little\" to its configuration"));
    }
    let is_big_endian = has_byte_order && endian == "big";
    let bytes = Bytes::new(data_type, is_big_endian);
    let endian = if is_big_endian { "big" } else { "little" };
    let endian = has_byte_order.then(|| Object::new().with("endian", endian));
    let written = Some(CodecMetadata::new("bytes", endian));
    Some(Made::to_bytes(Bytes { written, ..bytes }, size))
}

#[derive(Debug, Default)]
struct Bytes {
    /// The size of the components whose bytes are swapped, if it is the same for all.
    swap: Option<usize>,
    /// The fields of a struct whose bytes are swapped.
    fields: Option<ByteSwap>,
    /// The bits of a byte whose upper bits are ignored, and true if they are signed. The registry allows a writer to
    /// leave any value in the upper bits.
    low_bits: Option<(u32, bool)>,
    /// The check of the range of values of types with unused bits.
    check: Option<Cast>,
    /// True if elements are unchanged or swapped, and neither structs nor low bits.
    is_plain: bool,
    /// The metadata, with a byte order only if it matters.
    written: Option<CodecMetadata>,
}

impl Bytes {
    fn new(data_type: &DataType, big_endian: bool) -> Self {
        let is_swapped = big_endian != cfg!(target_endian = "big") && data_type.has_byte_order();
        let is_struct = matches!(data_type, DataType::Struct(_));
        let sub_byte =
            data_type.components().map(|(component, _)| component).filter(|component| is_sub_byte(*component));
        Bytes {
            swap: data_type.component_size().filter(|_| is_swapped && !is_struct),
            fields: (is_swapped && is_struct).then(|| ByteSwap::new(data_type)),
            low_bits: sub_byte.map(|component| (component.bits(), component.element().is_signed_integer())),
            check: data_type.number().and_then(Cast::range_check),
            is_plain: !is_struct && sub_byte.is_none(),
            written: None,
        }
    }
}

/// Returns true for the registry's numbers of less than a byte. The range of unregistered integers is checked in both
/// directions.
fn is_sub_byte(number_type: NumberType) -> bool {
    matches!(number_type.bits(), 2 | 4) || (number_type.is_float() && number_type.bits() < 8)
}

impl Coder for Bytes {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        if let Some(check) = &self.check {
            cast(check, decoded, out.bytes)?;
        }
        copy_swapped(decoded, out.bytes, self.swap)?;
        if let Some(swap) = &self.fields {
            swap.apply(out.bytes);
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        copy_swapped(encoded, out.bytes, self.swap)?;
        if let Some(swap) = &self.fields {
            swap.apply(out.bytes);
        }
        if let Some((bits, is_signed)) = self.low_bits {
            let unused = 8 - bits.min(8);
            let extend = |byte: u8| {
                if is_signed {
                    ((byte << unused).cast_signed() >> unused).cast_unsigned()
                } else {
                    byte << unused >> unused
                }
            };
            out.bytes.iter_mut().for_each(|byte| *byte = extend(*byte));
        } else if let Some(check) = &self.check {
            out.contexts.with(|scratch: &mut Vec<u8>| cast(check, out.bytes, scratch))?;
        }
        Ok(())
    }

    /// Counts the elements once more, if their range is checked.
    fn context_bytes(&self, decoded: u64) -> u64 {
        if self.is_plain && self.check.is_some() { decoded } else { 0 }
    }

    fn effect(&self) -> Effect<'_> {
        if self.is_plain { Effect::Bytes { swap: self.swap, check: self.check.as_ref() } } else { Effect::Other }
    }

    fn written(&self) -> Option<CodecMetadata> {
        self.written.clone()
    }
}

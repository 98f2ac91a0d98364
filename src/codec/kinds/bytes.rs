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
        let elements = Elements::Fields(Some(ByteSwap::of_fields(data_type, &is_swapped)));
        return Some(Made::to_bytes(Bytes { elements, written: None }, size));
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
    let elements = Elements::new(data_type, is_big_endian);
    let endian = if is_big_endian { "big" } else { "little" };
    let endian = has_byte_order.then(|| Object::new().with("endian", endian));
    let written = Some(CodecMetadata::new("bytes", endian));
    Some(Made::to_bytes(Bytes { elements, written }, size))
}

#[derive(Debug, Clone)]
struct Bytes {
    elements: Elements,
    /// The metadata, with a byte order only if it matters.
    written: Option<CodecMetadata>,
}

/// The stored form of elements. `check` checks the range of values of types with unused bits.
#[derive(Debug, Clone)]
enum Elements {
    /// Unchanged, or with the bytes of each component of this size swapped.
    Plain { swap: Option<usize>, check: Option<Cast> },
    /// Fields of a struct. `None` if their order is this machine's.
    Fields(Option<ByteSwap>),
    /// A byte whose upper bits are ignored: the registry allows a writer to leave any value in them.
    LowBits { bits: u32, is_signed: bool, check: Option<Cast> },
}

impl Elements {
    fn new(data_type: &DataType, big_endian: bool) -> Self {
        let is_swapped = big_endian != cfg!(target_endian = "big") && data_type.has_byte_order();
        if let DataType::Struct(_) = data_type {
            return Elements::Fields(is_swapped.then(|| ByteSwap::new(data_type)));
        }
        let check = data_type.number().and_then(Cast::range_check);
        match data_type.components().filter(|(component, _)| is_sub_byte(*component)) {
            Some((component, _)) => {
                let is_signed = component.element().is_signed_integer();
                Elements::LowBits { bits: component.bits(), is_signed, check }
            }
            None => Elements::Plain { swap: data_type.component_size().filter(|_| is_swapped), check },
        }
    }

    /// Returns the size of swapped components, if it is the same for all.
    fn swap(&self) -> Option<usize> {
        if let Elements::Plain { swap, .. } = self { *swap } else { None }
    }
}

/// Returns true for the registry's numbers of less than a byte. The range of unregistered integers is checked in both
/// directions.
fn is_sub_byte(number_type: NumberType) -> bool {
    matches!(number_type.bits(), 2 | 4) || (number_type.is_float() && number_type.bits() < 8)
}

impl Coder for Bytes {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        if let Elements::Plain { check: Some(check), .. } | Elements::LowBits { check: Some(check), .. } =
            &self.elements
        {
            cast(check, decoded, out.bytes)?;
        }
        copy_swapped(decoded, out.bytes, self.elements.swap())?;
        if let Elements::Fields(Some(swap)) = &self.elements {
            swap.apply(out.bytes);
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        copy_swapped(encoded, out.bytes, self.elements.swap())?;
        match &self.elements {
            Elements::Plain { check: None, .. } | Elements::Fields(None) => {}
            Elements::Plain { check: Some(check), .. } => {
                out.contexts.with(|scratch: &mut Vec<u8>| cast(check, out.bytes, scratch))?;
            }
            Elements::Fields(Some(swap)) => swap.apply(out.bytes),
            Elements::LowBits { bits, is_signed, .. } => {
                let unused = 8 - bits.min(&8);
                let extend = |byte: u8| {
                    if *is_signed {
                        ((byte << unused).cast_signed() >> unused).cast_unsigned()
                    } else {
                        byte << unused >> unused
                    }
                };
                out.bytes.iter_mut().for_each(|byte| *byte = extend(*byte));
            }
        }
        Ok(())
    }

    /// Counts the elements once more, if their range is checked.
    fn context_bytes(&self, decoded: u64) -> u64 {
        if let Elements::Plain { check: Some(_), .. } = self.elements { decoded } else { 0 }
    }

    fn effect(&self) -> Effect<'_> {
        let Elements::Plain { swap, check } = &self.elements else { return Effect::Other };
        Effect::Bytes { swap: *swap, check: check.as_ref() }
    }

    fn written(&self) -> Option<CodecMetadata> {
        self.written.clone()
    }
}

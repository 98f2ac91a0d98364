//! `bytes`: the byte order of elements of more than one byte.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/bytes/>

pub mod element_bytes;

use super::array::{ArrayConfiguration, ArrayKind, Binding, BoundArray, Role, cast, copy_swapped};
use super::error::CodecError;
use super::members::Members;
use super::numcodecs::{Absent, Form, Member};
use super::{BytesSize, Coder, Output, Parsed};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, Profile, code};
use crate::kernel::cast::Cast;
use crate::metadata::extension::{CodecMetadata, View};
use crate::metadata::json::Object;
use element_bytes::ElementBytes;

/// `bytes`. v2 has a byte order of its data type instead.
pub(crate) static BYTES: ArrayKind = ArrayKind::new::<BytesConfiguration>();

/// A byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The order of this machine.
    pub const NATIVE: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

    /// The name in metadata.
    pub const fn name(self) -> &'static str {
        match self {
            Endian::Little => "little",
            Endian::Big => "big",
        }
    }
}

/// The configuration of `bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BytesConfiguration {
    /// The byte order; types of one byte need none.
    pub endian: Option<Endian>,
}

const MEMBERS: &[Member] = &[Member::new("endian", Form::Choice(&["little", "big"]), Absent::Nothing)];

impl BytesConfiguration {
    /// The byte order for elements of `data_type`, for the codec at `pointer`; `None` for types that have none.
    ///
    /// A missing order is read as little, with a warning.
    pub fn bind_type(self, data_type: &DataType, pointer: &str) -> Parsed<Endian> {
        if data_type.is_variable_length() {
            let message = format!("`bytes` encodes elements of a fixed size, but `{data_type}` reaches it");
            let diagnostic = Diagnostic::new(code::CODEC_DATA_TYPE, message)
                .with_help("use `vlen-utf8` for strings, `vlen-bytes` for bytes")
                .at_pointer(pointer);
            return (None, vec![diagnostic]);
        }
        if !data_type.has_byte_order() {
            return (None, Vec::new());
        }
        if self.endian.is_some() {
            return (self.endian, Vec::new());
        }
        let message = format!("`bytes` has no `endian`, which `{data_type}` needs; it is read as \"little\"");
        // Of the old name the page says that it is little endian, and that readers should warn.
        let is_legacy = matches!(data_type, DataType::Struct(structure) if structure.is_legacy());
        let code = if is_legacy { code::ENDIAN_MISSING_LEGACY } else { code::ENDIAN_MISSING };
        let diagnostic = Diagnostic::new(code, message)
            .with_help("add \"endian\": \"little\" to its configuration")
            .at_pointer(pointer);
        (Some(Endian::Little), vec![diagnostic])
    }
}

impl ArrayConfiguration for BytesConfiguration {
    const TAKES_ANY_TYPE: bool = true;

    fn members(_: &CodecMetadata) -> &'static [Member] {
        MEMBERS
    }

    fn read(members: &mut Members<'_>) -> Option<Self> {
        let mut endian = [Endian::Little, Endian::Big].into_iter();
        Some(BytesConfiguration {
            endian: endian.find(|endian| endian.name() == members.text_value("endian")),
        })
    }

    fn bind(self, to: &mut Binding<'_>) -> Option<BoundArray> {
        let data_type = &to.array.data_type;
        let size = to.array.num_bytes().map_or(BytesSize::Unbounded, BytesSize::Fixed);
        if let Some(View::BigEndianFields(fields)) = &to.codec.view {
            let elements = Elements::Mixed(ElementBytes::of_fields(data_type, fields));
            return Some(BoundArray::to_bytes(Bytes { elements, written: None }, size));
        }
        let reported = to.found.len();
        let endian = to.keep(self.bind_type(data_type, &to.codec.pointer));
        if to.found[reported..].iter().any(|found| Profile::Read.forbids(found)) {
            return None;
        }
        let is_big_endian = endian == Some(Endian::Big);
        let elements = match ElementBytes::of(data_type, is_big_endian) {
            Some(elements) => Elements::Mixed(elements),
            None => Elements::Plain {
                swap: data_type.component_size().filter(|_| is_big_endian != cfg!(target_endian = "big")),
                check: data_type.number().and_then(Cast::range_check),
            },
        };
        let endian = if is_big_endian { Endian::Big } else { Endian::Little };
        let endian = data_type.has_byte_order().then(|| Object::new().with("endian", endian.name()));
        let written = Some(CodecMetadata::new("bytes", endian));
        Some(BoundArray::to_bytes(Bytes { elements, written }, size))
    }
}

/// `bytes` of one type of elements.
#[derive(Debug, Clone)]
struct Bytes {
    elements: Elements,
    /// The metadata, without a byte order that says nothing.
    written: Option<CodecMetadata>,
}

/// How elements are stored.
#[derive(Debug, Clone)]
enum Elements {
    /// As they are, or with their components swapped; `check` holds the values of types with unused bits to their range.
    Plain { swap: Option<usize>, check: Option<Cast> },
    /// Of structs, and of types of less than a byte.
    Mixed(ElementBytes),
}

impl Coder for Bytes {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        match &self.elements {
            Elements::Plain { swap, check } => {
                if let Some(check) = check {
                    cast(check, decoded, out.bytes)?;
                }
                copy_swapped(decoded, out.bytes, *swap)
            }
            Elements::Mixed(elements) => elements.encode(decoded, out),
        }
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        match &self.elements {
            Elements::Plain { swap, check } => {
                copy_swapped(encoded, out.bytes, *swap)?;
                let Some(check) = check else { return Ok(()) };
                let elements = std::mem::take(out.bytes);
                let checked = cast(check, &elements, out.bytes);
                *out.bytes = elements;
                checked
            }
            Elements::Mixed(elements) => elements.decode(encoded, out),
        }
    }

    fn role(&self) -> Role<'_> {
        match &self.elements {
            Elements::Plain { swap, check } => Role::Bytes { swap: *swap, check: check.as_ref() },
            Elements::Mixed(_) => Role::Other,
        }
    }

    fn written(&self) -> Option<CodecMetadata> {
        self.written.clone()
    }
}

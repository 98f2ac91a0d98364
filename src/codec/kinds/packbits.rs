//! `packbits`: which bits of an element are kept, and how the padding is told.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/packbits>

pub mod bits;

use super::array::{ArrayCodec, ArrayConfiguration, ArrayFault, ArrayKind, BoundArray, Role, keep};
use super::members::Members;
use super::{ArrayRepresentation, BytesSize, Parsed};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Object;
use bits::PackBits;

/// `packbits`, which v2 has not: what numcodecs calls so is `numcodecs.packbits`.
pub(crate) static PACKBITS: ArrayKind = ArrayKind::new::<PackBitsConfiguration>();

/// Where the number of padding bits is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PaddingEncoding {
    /// Nowhere.
    #[default]
    None,
    /// In a byte before the packed bits.
    FirstByte,
    /// In a byte after them.
    LastByte,
}

/// The configuration of `packbits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PackBitsConfiguration {
    /// Where the number of padding bits is written.
    pub padding_encoding: PaddingEncoding,
    /// The lowest bit that is kept; absent, 0.
    pub first_bit: Option<u32>,
    /// The highest bit that is kept; absent, the highest of the data type.
    pub last_bit: Option<u32>,
}

/// `packbits` for one data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundPackBits {
    /// Bytes of a component in memory.
    pub component_size: usize,
    /// Components of an element: 2 for complex types.
    pub num_components: usize,
    /// Whether a decoded component is sign-extended.
    pub is_signed: bool,
    /// Bits of a component that count: 1 for `bool`, 10 for `uint10`.
    pub bits: u32,
    /// The lowest bit that is kept.
    pub first_bit: u32,
    /// The highest bit that is kept.
    pub last_bit: u32,
    /// Where the number of padding bits is written.
    pub padding_encoding: PaddingEncoding,
}

/// What an element is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Components {
    /// Bytes of a component in memory.
    pub component_size: usize,
    /// Components of an element.
    pub num_components: usize,
    /// Whether a component has a sign that is extended.
    pub is_signed: bool,
    /// Bits of a component that count.
    pub bits: u32,
}

/// Parses the configuration of the codec at `pointer`.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<PackBitsConfiguration> {
    let known = &["padding_encoding", "first_bit", "last_bit"];
    let mut members = Members::of_codec("packbits", configuration, pointer, known);
    let choices = [
        ("none", PaddingEncoding::None),
        ("first_byte", PaddingEncoding::FirstByte),
        ("last_byte", PaddingEncoding::LastByte),
    ];
    let padding_encoding = match members.get("padding_encoding") {
        Some(json) => members.choice("padding_encoding", json, &choices),
        None => Some(PaddingEncoding::None),
    };
    let mut bit = |name: &str| match members.get(name) {
        Some(json) if !json.is_null() => members.integer(name, json, 0..=63).map(Some),
        _ => Some(None),
    };
    let (first_bit, last_bit) = (bit("first_bit"), bit("last_bit"));
    if let (Some(first), Some(Some(last))) = (first_bit, last_bit)
        && last < first.unwrap_or(0)
    {
        let message = format!("`last_bit` {last} of `packbits` is below `first_bit` {}", first.unwrap_or(0));
        members.report(code::CONFIGURATION_VALUE, "last_bit", message);
        return members.finish(None);
    }
    let configuration = (|| {
        Some(PackBitsConfiguration {
            padding_encoding: padding_encoding?,
            first_bit: first_bit?,
            last_bit: last_bit?,
        })
    })();
    members.finish(configuration)
}

impl PackBitsConfiguration {
    /// Binds the codec at `pointer` to a data type.
    ///
    /// A type that this program does not decode gives nothing, not even a finding: the type has its own.
    pub fn bind_type(self, data_type: &DataType, pointer: &str) -> Parsed<BoundPackBits> {
        let of = |component_size, num_components, is_signed, bits| {
            Some(Components { component_size, num_components, is_signed, bits })
        };
        let number = |number: &NumberType, num_components| {
            of(number.size(), num_components, number.element().is_signed_integer(), number.bits())
        };
        let components = match data_type {
            DataType::Bool => of(1, 1, false, 1),
            DataType::Number(number_type) => number(number_type, 1),
            DataType::Complex(component) => number(component, 2),
            DataType::SmallFloat(float) => of(float.size(), 1, false, float.bits()),
            DataType::ComplexSmallFloat(float) => of(float.size(), 2, false, float.bits()),
            DataType::Time(_) => of(8, 1, true, 64),
            DataType::Other(_) => return (None, Vec::new()),
            _ => None,
        };
        let Some(components) = components else {
            let message = format!("`packbits` does not encode `{data_type}`");
            return (None, vec![Diagnostic::new(code::CODEC_DATA_TYPE, message).at_pointer(pointer)]);
        };
        self.bind_components(components, data_type, pointer)
    }

    /// Binds the codec at `pointer` to elements of such components; `data_type` is for messages.
    pub fn bind_components(
        self,
        Components { component_size, num_components, is_signed, bits }: Components,
        data_type: &DataType,
        pointer: &str,
    ) -> Parsed<BoundPackBits> {
        let first_bit = self.first_bit.unwrap_or(0);
        let last_bit = self.last_bit.unwrap_or(bits - 1);
        if last_bit >= bits || first_bit > last_bit {
            let message = format!(
                "`packbits` keeps the bits {first_bit} to {last_bit}, but a component of `{data_type}` has the bits \
                 0 to {}",
                bits - 1
            );
            let pointer = format!("{pointer}/configuration");
            return (None, vec![Diagnostic::new(code::CONFIGURATION_VALUE, message).at_pointer(pointer)]);
        }
        let padding_encoding = self.padding_encoding;
        let bound = BoundPackBits {
            component_size,
            num_components,
            is_signed,
            bits,
            first_bit,
            last_bit,
            padding_encoding,
        };
        (Some(bound), Vec::new())
    }
}

impl BoundPackBits {
    /// Bytes of so many encoded elements, the padding byte included; `None` where that overflows.
    fn encoded_size(&self, num_elements: u64) -> Option<u64> {
        let bits = u64::from(self.last_bit - self.first_bit + 1) * self.num_components as u64;
        let padding_byte = u64::from(self.padding_encoding != PaddingEncoding::None);
        num_elements.checked_mul(bits)?.div_ceil(8).checked_add(padding_byte)
    }
}

impl ArrayConfiguration for PackBitsConfiguration {
    fn parse(codec: &CodecMetadata) -> Parsed<Self> {
        parse(codec.configuration.as_ref(), &codec.pointer)
    }

    fn bind(
        self,
        codec: &CodecMetadata,
        array: &ArrayRepresentation,
        found: &mut Vec<Diagnostic>,
    ) -> Option<BoundArray> {
        let bound = keep(self.bind_type(&array.data_type, &codec.pointer), found)?;
        let num_elements = array.num_elements();
        let size = num_elements.and_then(|count| bound.encoded_size(count));
        let size = size.map_or(BytesSize::Unbounded, BytesSize::Fixed);
        let num_elements = num_elements.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
        Some(BoundArray::to_bytes(Packed { codec: PackBits::new(bound), num_elements }, size))
    }
}

/// `packbits` of a chunk.
#[derive(Debug)]
struct Packed {
    codec: PackBits,
    num_elements: usize,
}

impl ArrayCodec for Packed {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        self.codec.encode(decoded, encoded).map_err(|error| ArrayFault::bytes(&error))
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        self.codec.decode(encoded, self.num_elements, decoded).map_err(|error| ArrayFault::bytes(&error))
    }

    fn role(&self) -> Role<'_> {
        Role::Compress
    }
}

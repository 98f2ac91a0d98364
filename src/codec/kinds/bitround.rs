//! `bitround`: how many bits are kept.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/bitround>

use super::array::{
    ArrayCodec, ArrayConfiguration, ArrayFault, ArrayKind, BoundArray, Role, copy_swapped, keep,
};
use super::members::Members;
use super::{ArrayRepresentation, Parsed};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType, SmallFloat};
use crate::kernel::bit_round::{BitRound, Component};
use crate::metadata::extension::CodecMetadata;

/// The name of numcodecs' codec.
const NUMCODECS: &str = "numcodecs.bitround";

/// `bitround` and `numcodecs.bitround`. v2 has it for floats alone.
pub(crate) static BITROUND: ArrayKind = ArrayKind::new::<BitRoundConfiguration>()
    .with_v2_id(|data_type| data_type.number().is_some_and(NumberType::is_float).then_some("bitround"));

/// The configuration of `bitround`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitRoundConfiguration {
    /// Bits of the significand, or of an integer from its highest bit on.
    pub keepbits: u32,
}

impl ArrayConfiguration for BitRoundConfiguration {
    fn parse(codec: &CodecMetadata) -> Parsed<Self> {
        // numcodecs takes 0 as well.
        let (name, least) = if codec.name == NUMCODECS { (NUMCODECS, 0) } else { ("bitround", 1) };
        let mut members =
            Members::of_codec(name, codec.configuration.as_ref(), &codec.pointer, &["keepbits"]);
        let keepbits =
            members.require("keepbits").and_then(|json| members.integer("keepbits", json, least..=64));
        members.finish(keepbits.map(|keepbits| BitRoundConfiguration { keepbits }))
    }

    fn bind(
        self,
        codec: &CodecMetadata,
        array: &ArrayRepresentation,
        found: &mut Vec<Diagnostic>,
    ) -> Option<BoundArray> {
        let bound = keep(self.bind_type(&array.data_type, &codec.pointer), found)?;
        let fill_value = array.fill_value.as_ref();
        let fill_value = fill_value
            .map(|fill_value| encoded_fill_value(bound, &array.data_type, fill_value, &codec.pointer, found));
        Some(BoundArray::to_array(bound, ArrayRepresentation { fill_value, ..array.clone() }))
    }
}

impl ArrayCodec for BitRound {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        copy_swapped(decoded, encoded, None)?;
        BitRound::encode(*self, encoded);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        copy_swapped(encoded, decoded, None)
    }

    fn role(&self) -> Role<'_> {
        Role::BitRound(*self)
    }
}

impl BitRoundConfiguration {
    /// Binds the codec at `pointer` to the data type that reaches it.
    fn bind_type(self, data_type: &DataType, pointer: &str) -> Parsed<BitRound> {
        let Some((size, component)) = component_of(data_type) else {
            let message = format!("`bitround` takes integers and floats, but `{data_type}` reaches it");
            let found = Diagnostic::new(code::CODEC_DATA_TYPE, message).at_pointer(pointer);
            return (None, vec![found]);
        };
        let bits = match component {
            Component::Integer => u32::try_from(size * 8).unwrap_or(64),
            Component::Float { significand_bits } => significand_bits,
        };
        if self.keepbits > bits {
            let message = format!(
                "`keepbits` of `bitround`: expected at most the {bits} bits that `{data_type}` has, found {}",
                self.keepbits
            );
            let pointer = format!("{pointer}/configuration/keepbits");
            let found = Diagnostic::new(code::CONFIGURATION_VALUE, message).at_pointer(pointer);
            return (None, vec![found]);
        }
        (Some(BitRound { size, component, keepbits: self.keepbits }), Vec::new())
    }
}

/// Bytes and form of a component, for the types of the page.
fn component_of(data_type: &DataType) -> Option<(usize, Component)> {
    let number = |number_type: &NumberType| {
        let component = match number_type.fraction_bits() {
            Some(significand_bits) => Component::Float { significand_bits },
            None => Component::Integer,
        };
        (number_type.size(), component)
    };
    let small = |float: &SmallFloat| {
        let component = Component::Float { significand_bits: float.format().fraction_bits };
        (float.bits() == 16).then_some((float.size(), component))
    };
    match data_type {
        DataType::Number(number_type) if number_type.is_whole() => Some(number(number_type)),
        DataType::Complex(component) => Some(number(component)),
        DataType::SmallFloat(float) | DataType::ComplexSmallFloat(float) => small(float),
        DataType::Time(_) => Some(number(&NumberType::of(ElementType::Int64))),
        _ => None,
    }
}

/// The fill value after `bitround`, which decoding leaves as it is.
fn encoded_fill_value(
    codec: BitRound,
    data_type: &DataType,
    fill_value: &FillValue,
    pointer: &str,
    found: &mut Vec<Diagnostic>,
) -> FillValue {
    let mut encoded = fill_value.clone();
    codec.encode(&mut encoded.0);
    if encoded != *fill_value {
        let text = |fill: &FillValue| {
            data_type
                .fill_value_to_json(fill)
                .map_or_else(|_| "no value".to_owned(), |json| json.to_string_compact())
        };
        let message = format!(
            "the fill value {} does not survive `bitround`: it is rounded to {}",
            text(fill_value),
            text(&encoded)
        );
        found.push(
            Diagnostic::new(code::BITROUND_FILL_VALUE_LOST, message)
                .with_help("a missing chunk reads differently from a stored one: keep more bits, or take another value")
                .at_pointer(pointer),
        );
    }
    encoded
}

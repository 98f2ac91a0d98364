//! `bitround`: how many bits are kept.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/bitround>

use crate::codec::kinds::Parsed;
use crate::codec::kinds::members::Members;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType, SmallFloat};
use crate::kernel::bit_round::{BitRound, Component};
use crate::metadata::json::Object;

/// The configuration of `bitround`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitRoundConfiguration {
    /// Bits of the significand, or of an integer from its highest bit on.
    pub keepbits: u32,
}

/// Parses the configuration of the codec at `pointer`.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<BitRoundConfiguration> {
    parse_from(1, Members::of_codec("bitround", configuration, pointer, &["keepbits"]))
}

/// The same of `numcodecs.bitround`, which takes 0 as well.
pub fn parse_numcodecs(configuration: Option<&Object>, pointer: &str) -> Parsed<BitRoundConfiguration> {
    parse_from(0, Members::of_codec("numcodecs.bitround", configuration, pointer, &["keepbits"]))
}

fn parse_from(least: u32, mut members: Members<'_>) -> Parsed<BitRoundConfiguration> {
    let keepbits = members.require("keepbits").and_then(|json| members.integer("keepbits", json, least..=64));
    members.finish(keepbits.map(|keepbits| BitRoundConfiguration { keepbits }))
}

impl BitRoundConfiguration {
    /// Binds the codec at `pointer` to the data type that reaches it.
    pub fn bind(self, data_type: &DataType, pointer: &str) -> Parsed<BitRound> {
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
        let component = match number_type.significand_bits() {
            Some(bits) => Component::Float { significand_bits: bits - 1 },
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

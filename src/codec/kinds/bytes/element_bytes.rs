//! `bytes` for elements that are not one run of alike components, or that do not use all of their bits.

use crate::codec::kinds::array::{cast, copy_swapped};
use crate::codec::kinds::error::CodecError;
use crate::codec::kinds::{Coder, Output};
use crate::data_type::{ByteSwap, DataType};
use crate::element::NumberType;
use crate::kernel::cast::Cast;

/// How `bytes` stores such elements.
#[derive(Debug, Clone)]
pub enum ElementBytes {
    /// Fields of a struct; `None` where their order is this machine's.
    Fields(Option<ByteSwap>),
    /// A byte of which the upper bits are ignored: the registry lets a writer leave anything in them.
    LowBits {
        /// The bits that count.
        bits: u32,
        /// Whether the highest of them is a sign.
        is_signed: bool,
        /// Refuses values that the type does not have when they are written.
        check: Option<Box<Cast>>,
    },
}

impl ElementBytes {
    /// The way of a type; `None` for the others, which `bytes` stores as they are.
    pub(super) fn of(data_type: &DataType, big_endian: bool) -> Option<Self> {
        if let DataType::Struct(_) = data_type {
            let is_swapped = big_endian != cfg!(target_endian = "big") && data_type.has_byte_order();
            return Some(ElementBytes::Fields(is_swapped.then(|| ByteSwap::of(data_type))));
        }
        let (component, _) = data_type.components().filter(|(component, _)| is_sub_byte(*component))?;
        Some(ElementBytes::LowBits {
            bits: component.bits(),
            is_signed: component.element().is_signed_integer(),
            check: data_type.number().and_then(Cast::range_check).map(Box::new),
        })
    }

    /// The way of a struct of which some fields are big endian.
    pub(super) fn of_fields(data_type: &DataType, big_endian: &[bool]) -> Self {
        let is_swapped: Vec<bool> =
            big_endian.iter().map(|is_big| *is_big != cfg!(target_endian = "big")).collect();
        ElementBytes::Fields(Some(ByteSwap::of_fields(data_type, &is_swapped)))
    }

    fn copy(&self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        copy_swapped(source, target, None)?;
        if let ElementBytes::Fields(Some(swap)) = self {
            swap.apply(target);
        }
        Ok(())
    }
}

impl Coder for ElementBytes {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        if let ElementBytes::LowBits { check: Some(check), .. } = self {
            cast(check, decoded, out.bytes)?;
        }
        self.copy(decoded, out.bytes)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        self.copy(encoded, out.bytes)?;
        if let ElementBytes::LowBits { bits, is_signed, .. } = self {
            let unused = 8 - bits.min(&8);
            let extend = |byte: u8| {
                if *is_signed {
                    ((byte << unused).cast_signed() >> unused).cast_unsigned()
                } else {
                    byte << unused >> unused
                }
            };
            for byte in out.bytes.iter_mut() {
                *byte = extend(*byte);
            }
        }
        Ok(())
    }
}

/// The registry's numbers of less than a byte; integers that it does not have are held to their range on both ways.
fn is_sub_byte(number_type: NumberType) -> bool {
    matches!(number_type.bits(), 2 | 4) || (number_type.is_float() && number_type.bits() < 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::kinds::coding;
    use crate::metadata::json::Json;

    fn of(text: &str, big_endian: bool) -> ElementBytes {
        let data_type = DataType::from_metadata(&Json::parse_str(text).unwrap()).unwrap();
        ElementBytes::of(&data_type, big_endian).unwrap()
    }

    fn decoded(bytes: &ElementBytes, encoded: &[u8]) -> Vec<u8> {
        coding::decoded(bytes, encoded).unwrap()
    }

    #[test]
    fn upper_bits_are_ignored_on_read_and_refused_on_write() {
        let int4 = of("\"int4\"", false);
        assert_eq!(decoded(&int4, &[0x07, 0x08, 0xf8, 0x3f]), [7, 0xf8, 0xf8, 0xff]);
        assert_eq!(decoded(&of("\"uint2\"", false), &[0xff, 0x06]), [3, 2]);
        assert_eq!(decoded(&of("\"float6_e2m3fn\"", false), &[0xff]), [0x3f]);
        assert_eq!(decoded(&of("\"complex_float4_e2m1fn\"", false), &[0x1f, 0x27]), [0x0f, 0x07]);
        assert_eq!(coding::encoded(&int4, &[0xf8, 7]).unwrap(), [0xf8, 7]);
        let fault = coding::encoded(&int4, &[0, 8]).unwrap_err();
        assert!(matches!(fault, CodecError::Element { fault, .. } if fault.index == 1));
    }

    #[test]
    fn fields_are_swapped_each_by_itself() {
        let text = r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},
            {"name":"b","data_type":"r24"},{"name":"c","data_type":"complex64"}]}}"#;
        let stored: Vec<u8> = (1..=26).collect();
        let expected = [2, 1, 3, 4, 5, 9, 8, 7, 6, 13, 12, 11, 10];
        let swapped = decoded(&of(text, cfg!(target_endian = "little")), &stored);
        assert_eq!(swapped[..13], expected);
        assert_eq!(swapped[13..], expected.map(|byte| byte + 13));
        assert_eq!(decoded(&of(text, cfg!(target_endian = "big")), &stored), stored);
        let data_type = DataType::from_metadata(&Json::parse_str(text).unwrap()).unwrap();
        let is_little = cfg!(target_endian = "little");
        let mixed = ElementBytes::of_fields(&data_type, &[is_little, !is_little, !is_little]);
        assert_eq!(decoded(&mixed, &stored)[..5], [2, 1, 3, 4, 5]);
        assert_eq!(decoded(&mixed, &stored)[5..13], stored[5..13]);
    }
}

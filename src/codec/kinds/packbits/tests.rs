//! Compared with the definition, bit by bit.

#![expect(clippy::cast_possible_truncation, reason = "the number of padding bits is below 8")]

use proptest::prelude::*;

use super::*;
use crate::codec::kinds::coding::{decoded as unpacked, encoded as packed};

fn bound(component_size: usize, num_components: usize, is_signed: bool, bits: u32) -> PackBits {
    PackBits {
        component_size,
        num_components,
        is_signed,
        bits,
        first_bit: 0,
        last_bit: bits - 1,
        padding_encoding: "none",
        num_elements: 0,
    }
}

/// Encodes bit by bit, as the registry page defines it.
fn naive(bound: &PackBits, decoded: &[u8]) -> Vec<u8> {
    let mut bits = Vec::new();
    for component in decoded.chunks_exact(bound.component_size) {
        for bit in bound.first_bit..=bound.last_bit {
            bits.push(component[bit as usize / 8] >> (bit % 8) & 1);
        }
    }
    let padding = bits.len().next_multiple_of(8) - bits.len();
    bits.resize(bits.len() + padding, 0);
    let packed = bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| sum << 1 | bit));
    match bound.padding_encoding {
        "first_byte" => std::iter::once(padding as u8).chain(packed).collect(),
        "last_byte" => packed.chain(std::iter::once(padding as u8)).collect(),
        _ => packed.collect(),
    }
}

/// Returns values of the type, sign- or zero-extended. The dropped bits are zero.
fn elements(bound: &PackBits, values: &[u64]) -> Vec<u8> {
    let width = bound.last_bit - bound.first_bit + 1;
    let mut bytes = Vec::new();
    for value in values {
        let low = value & low_bits(width);
        let value =
            if bound.is_signed { ((low << (64 - width)).cast_signed() >> (64 - width)).cast_unsigned() } else { low };
        bytes.extend_from_slice(&(value << bound.first_bit).to_le_bytes()[..bound.component_size]);
    }
    bytes
}

proptest! {
    #[test]
    fn packbits_equals_the_definition(
        bits in 1_u32..=64, is_signed: bool, is_complex: bool,
        cut in (0_u32..64, 0_u32..64),
        values in proptest::collection::vec(any::<u64>(), 0..60),
        padding_encoding in prop::sample::select(&PADDING_ENCODINGS[..]),
    ) {
        let component_size = match bits { 1..=8 => 1, 9..=16 => 2, 17..=32 => 4, _ => 8 };
        let num_components = if is_complex { 2 } else { 1 };
        let mut bound = bound(component_size, num_components, is_signed, bits);
        bound.first_bit = cut.0 % bits;
        bound.last_bit = bound.first_bit + cut.1 % (bits - bound.first_bit);
        bound.padding_encoding = padding_encoding;
        let values = &values[..values.len() / num_components * num_components];
        let decoded = elements(&bound, values);
        bound.num_elements = (values.len() / num_components) as u64;
        let mut encoded = packed(&bound, &decoded).unwrap();
        prop_assert_eq!(&encoded, &naive(&bound, &decoded));
        prop_assert_eq!(encoded.len(), bound.layout().unwrap().0 + bound.num_padding_bytes());
        prop_assert_eq!(unpacked(&bound, &encoded).unwrap(), decoded);
        encoded.push(0);
        prop_assert!(unpacked(&bound, &encoded).is_err());
    }
}

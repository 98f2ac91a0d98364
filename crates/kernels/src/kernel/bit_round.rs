//! `bitround`: keeps the leading bits of a float's significand, or of an integer from its highest set bit.
//!
//! Encoding rounds to nearest, ties to even. Decoding changes nothing. NaN stays unchanged, since its significand is
//! not a number.

use crate::element::{Element, with_bits};

/// `bitround` for one type of element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitRound {
    /// Bytes of a component: 1, 2, 4 or 8.
    pub size: usize,
    /// Stored bits of the significand of a binary float, without the hidden one. `None` for an integer, whose bits are
    /// rounded as if it had no sign.
    pub fraction_bits: Option<u32>,
    /// The number of bits that are kept.
    pub keepbits: u32,
}

impl BitRound {
    /// Rounds native-endian components in place. A partial component at the end stays unchanged.
    pub fn encode(self, bytes: &mut [u8]) {
        with_bits!(self.size, T => for component in bytes.chunks_exact_mut(size_of::<T>()) {
            let bits = bytemuck::pod_read_unaligned::<T>(component).to_bits64();
            component.copy_from_slice(bytemuck::bytes_of(&T::from_bits64(self.encode_bits(bits))));
        });
    }

    /// Rounds the bits of one component.
    pub fn encode_bits(self, bits: u64) -> u64 {
        let width = u32::try_from(self.size * 8).unwrap_or(64).min(64);
        if let Some(fraction_bits) = self.fraction_bits {
            let sign = 1_u64 << (width - 1);
            let infinity = (sign - 1) & !((1 << fraction_bits) - 1);
            if bits & (sign - 1) > infinity {
                return bits;
            }
        }
        let of = self.fraction_bits.unwrap_or(64 - bits.leading_zeros());
        let Some(dropped @ 1..) = of.checked_sub(self.keepbits) else { return bits };
        if dropped > 63 {
            return bits;
        }
        let all = u64::MAX >> (64 - width);
        let half = (1_u64 << (dropped - 1)) - 1;
        let rounded = bits.saturating_add(((bits >> dropped) & 1) + half).min(all);
        rounded & !((1 << dropped) - 1)
    }
}

//! Integers in the form that the loops use: truncated to a size, and converted to floats without a second rounding.

use num_traits::AsPrimitive;

use super::Rounding;
use super::round::RoundingMode;
use crate::element::Element;

/// An integer element. `as_` to a float returns the nearest, ties to even. `as_` to an integer returns the low bits,
/// sign-extended if the target is wider.
pub(crate) trait IntegerElement:
    Element + AsPrimitive<f32> + AsPrimitive<f64> + AsPrimitive<u8> + AsPrimitive<u16> + AsPrimitive<u32> + AsPrimitive<u64>
{
    const BITS: u32;
    /// Returns the exact float32 of an integer of at most 20 bits. Greater magnitudes become ±2^20.
    fn limited_f32(self) -> f32;
    /// Returns the nearest float64, ties to even, and the exact difference from the integer.
    fn split_f64(self) -> (f64, f64);
}

macro_rules! integer_element {
    ($($type:ty: $half:ty),*) => {$(
        #[expect(clippy::allow_attributes, reason = "which lint applies depends on the type")]
        #[allow(
            clippy::cast_precision_loss, clippy::cast_lossless, clippy::cast_possible_truncation, clippy::cast_sign_loss,
            clippy::cast_possible_wrap,
            reason = "rounding and truncating are the contract"
        )]
        impl IntegerElement for $type {
            const BITS: u32 = <$type>::BITS;
            #[inline(always)]
            fn limited_f32(self) -> f32 {
                if Self::BITS <= 16 {
                    return self as f32;
                }
                let (least, greatest) = ((<$half>::MIN >> 11) as $type, 1_048_576_u64 as $type);
                (self.clamp(least, greatest) as i32) as f32
            }
            #[inline(always)]
            fn split_f64(self) -> (f64, f64) {
                if Self::BITS <= 32 {
                    return (self as f64, 0.0);
                }
                // Both halves are exact, and the lower is less than the upper, or the upper is 0. So the rest is exact,
                // too.
                let upper = f64::from((self as u64 >> 32) as u32 as $half) * 4_294_967_296.0;
                let lower = f64::from(self as u32);
                let sum = upper + lower;
                (sum, lower - (sum - upper))
            }
        }
    )*};
}

integer_element!(i8: i32, i16: i32, i32: i32, i64: i32, u8: u32, u16: u32, u32: u32, u64: u32);

/// Returns the float64 of an integer, rounded to odd. A second rounding to at least two bits fewer then equals a single
/// one.
#[inline(always)]
pub(crate) fn odd_f64<S: IntegerElement>(integer: S) -> f64 {
    let (nearest, rest) = integer.split_f64();
    let bits = nearest.to_bits();
    let towards = if (rest > 0.0) == (nearest > 0.0) { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f64::from_bits(if (rest == 0.0) | (bits & 1 == 1) { bits } else { towards })
}

/// Returns the float64 of an integer, rounded by `M`.
#[inline(always)]
pub(crate) fn rounded_f64<S: IntegerElement, M: RoundingMode>(integer: S) -> f64 {
    if S::BITS <= 32 || M::ROUNDING == Rounding::NearestEven {
        return integer.as_();
    }
    let (nearest, rest) = integer.split_f64();
    let is_positive = nearest > 0.0;
    let bits = nearest.to_bits();
    let (outwards, inwards) = (bits.wrapping_add(1), bits.wrapping_sub(1));
    let (upwards, downwards) = if is_positive { (outwards, inwards) } else { (inwards, outwards) };
    let rounded = match M::ROUNDING {
        Rounding::TowardsPositive if rest > 0.0 => upwards,
        Rounding::TowardsNegative if rest < 0.0 => downwards,
        Rounding::TowardsZero if (rest != 0.0) & ((rest > 0.0) != is_positive) => inwards,
        Rounding::TowardsPositive | Rounding::TowardsNegative | Rounding::TowardsZero => bits,
        Rounding::NearestAway | Rounding::NearestEven => {
            // The sum with twice the rest is exact only if the integer is half-way between two floats.
            let other = nearest + (rest + rest);
            let is_tie = other - nearest == rest + rest;
            if is_tie & (other.abs() > nearest.abs()) { other.to_bits() } else { bits }
        }
    };
    f64::from_bits(rounded)
}

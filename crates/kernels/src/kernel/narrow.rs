//! Floats in the form that the loops use, and their conversion to other float formats in integer arithmetic. All
//! roundings are supported, each value is rounded once, and NaN keeps its payload.

use half::{bf16, f16};

use super::Rounding;
use super::round::{NearestEven, RoundingMode, WideFloat};
use crate::element::Element;

/// A conversion of all values of this type to `T`, rounded once by `M`.
pub(crate) trait ConvertFloat<T>: Element {
    /// Returns the result, and true if the value is out of range. The result is then an infinity.
    fn convert_float<M: RoundingMode>(self) -> (T, bool);
}

impl<T: Element> ConvertFloat<T> for T {
    #[inline(always)]
    fn convert_float<M: RoundingMode>(self) -> (T, bool) {
        (self, false)
    }
}

macro_rules! narrow {
    ($wide:ty, $bits:ty, $fraction:literal, $bias:literal => $narrow:ty, $narrow_bits:ty, $narrow_fraction:literal,
     $narrow_bias:literal $(, $nearest:ident)?) => {
        impl ConvertFloat<$narrow> for $wide {
            #[expect(clippy::cast_possible_truncation, reason = "bits of the narrow type, and back")]
            #[inline(always)]
            fn convert_float<M: RoundingMode>(self) -> ($narrow, bool) {
                const BITS: $bits = <$bits>::BITS as $bits;
                const INFINITY: $bits = <$wide>::INFINITY.to_bits();
                const NARROW_INFINITY: $bits = <$narrow>::INFINITY.to_bits() as $bits;
                const QUIET: $bits = 1 << ($narrow_fraction - 1);
                const DROPPED: $bits = $fraction - $narrow_fraction;
                // The exponent field of the wide type for the least normal number of the narrow one.
                const LEAST: $bits = $bias - $narrow_bias + 1;
                let value = self;
                $(if M::ROUNDING == Rounding::NearestEven {
                    return $nearest(value);
                })?
                let is_negative = value.to_bits() >> (BITS - 1) != 0;
                let magnitude = value.to_bits() & (<$bits>::MAX >> 1);
                let field = magnitude >> $fraction;
                let hidden: $bits = if field == 0 { 0 } else { 1 << $fraction };
                let significand = magnitude & ((1 << $fraction) - 1) | hidden;
                // Below the normal numbers each step of the exponent drops one bit more. The greatest shift of the type
                // is enough for all beyond, since the significand is then less than a quarter.
                let below = if field < LEAST { LEAST - if field == 0 { 1 } else { field } } else { 0 };
                let shift = if DROPPED + below < BITS - 1 { DROPPED + below } else { BITS - 1 };
                let one: $bits = 1;
                let half = one << (shift - 1);
                let all = (one << shift) - 1;
                let added = match M::ROUNDING {
                    Rounding::NearestEven => half - 1 + (significand >> shift & 1),
                    Rounding::NearestAway => half,
                    Rounding::TowardsPositive if !is_negative => all,
                    Rounding::TowardsNegative if is_negative => all,
                    Rounding::TowardsPositive | Rounding::TowardsNegative | Rounding::TowardsZero => 0,
                };
                let steps = if field < LEAST { 0 } else { field - LEAST };
                let rounded = (steps << $narrow_fraction) + (significand + added >> shift);
                let bounded = if rounded < NARROW_INFINITY { rounded } else { NARROW_INFINITY };
                let payload = magnitude >> DROPPED & ((1 << $narrow_fraction) - 1);
                let result = if magnitude > INFINITY { NARROW_INFINITY | QUIET | payload } else { bounded };
                let sign = value.to_bits() >> (BITS - 1) << (<$narrow_bits>::BITS - 1);
                let is_out_of_range = (rounded >= NARROW_INFINITY) & (magnitude < INFINITY);
                (<$narrow>::from_bits((result | sign) as $narrow_bits), is_out_of_range)
            }
        }
    };
}

narrow!(f32, u32, 23, 127 => f16, u16, 10, 15, nearest_float16);
narrow!(f32, u32, 23, 127 => bf16, u16, 7, 127);
narrow!(f64, u64, 52, 1023 => f32, u32, 23, 127, nearest_float32);
narrow!(f64, u64, 52, 1023 => bf16, u16, 7, 127);

/// Converts with the default rounding, in one instruction.
#[expect(clippy::cast_possible_truncation, reason = "rounding to nearest, ties to even, is what `as` does")]
#[inline(always)]
fn nearest_float32(value: f64) -> (f32, bool) {
    let bits = value.to_bits();
    let nan = (bits >> 32 & 0x8000_0000) | 0x7fc0_0000 | (bits >> 29 & 0x003f_ffff);
    let narrow = value as f32;
    let is_out_of_range = (narrow.abs() == f32::INFINITY) & (value.abs() < f64::INFINITY);
    (if value.is_nan() { f32::from_bits(nan as u32) } else { narrow }, is_out_of_range)
}

/// Converts with the default rounding in fewer operations: an addition rounds subnormal results.
#[expect(clippy::cast_possible_truncation, reason = "the result has 16 bits")]
#[inline(always)]
fn nearest_float16(value: f32) -> (f16, bool) {
    const LEAST_NORMAL: u32 = 0x3880_0000;
    /// 65520, half-way to 2^16, which would follow the greatest float16.
    const BEYOND: u32 = 0x477f_f000;
    const INFINITY: u32 = f32::INFINITY.to_bits();
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // 112 is the difference of the biases, 127 and 15.
    let normal = ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13).wrapping_sub(112 << 10);
    // The floats around one half have the distance of subnormal float16s.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let rounded = if magnitude < LEAST_NORMAL { subnormal } else { normal };
    let bounded = if magnitude >= BEYOND { 0x7c00 } else { rounded };
    let nan = 0x7e00 | magnitude >> 13 & 0x3ff;
    let result = if magnitude > INFINITY { nan } else { bounded };
    (f16::from_bits((result | bits >> 16 & 0x8000) as u16), (magnitude >= BEYOND) & (magnitude < INFINITY))
}

/// Returns the float32 of a float64 in its range, rounded to odd. A second rounding to fewer bits then has the result
/// of a single one.
#[expect(clippy::cast_possible_truncation, reason = "the calculation starts from the nearest float32")]
#[inline(always)]
pub(crate) fn odd_float32(value: f64) -> f32 {
    let nearest = value as f32;
    let (magnitude, rounded) = (value.abs(), f64::from(nearest).abs());
    let bits = nearest.to_bits();
    let outwards = if rounded < magnitude { bits.wrapping_add(1) } else { bits };
    let odd = if rounded > magnitude { bits.wrapping_sub(1) } else { outwards };
    let nan = (value.to_bits() >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (value.to_bits() >> 29) as u32 & 0x003f_ffff;
    let result = if bits & 1 == 1 { bits } else { odd };
    f32::from_bits(if value.is_nan() { nan } else { result })
}

impl ConvertFloat<f16> for f64 {
    #[inline(always)]
    fn convert_float<M: RoundingMode>(self) -> (f16, bool) {
        // Well out of the range of float16, but within that of float32.
        const FAR: f64 = 1_048_576.0;
        let limited = if self > FAR { FAR } else { self };
        let limited = if limited < -FAR { -FAR } else { limited };
        let (narrow, is_out_of_range) = odd_float32(limited).convert_float::<M>();
        (narrow, is_out_of_range & (self.abs() < f64::INFINITY))
    }
}

impl ConvertFloat<f64> for f32 {
    #[inline(always)]
    fn convert_float<M: RoundingMode>(self) -> (f64, bool) {
        const QUIET: u64 = 0x7ff8_0000_0000_0000;
        let bits = u64::from(self.to_bits());
        // The machine chooses the payload of a converted NaN. This one is the same everywhere.
        let nan = (bits & 0x8000_0000) << 32 | QUIET | (bits & 0x003f_ffff) << 29;
        let wide = f64::from(self);
        (if self.is_nan() { f64::from_bits(nan) } else { wide }, false)
    }
}

/// Conversions by way of float32, which is exact.
macro_rules! through_float32 {
    ($($source:ty => $target:ty, $value:ident, $converted:expr;)*) => {$(
        impl ConvertFloat<$target> for $source {
            #[inline(always)]
            fn convert_float<M: RoundingMode>(self) -> ($target, bool) {
                let $value = self.widen();
                $converted
            }
        }
    )*};
}

through_float32! {
    bf16 => f32, value, (value, false);
    f16 => f32, value, (value, false);
    f16 => f64, value, value.convert_float::<M>();
    f16 => bf16, value, value.convert_float::<M>();
}

/// A float element in the form that the loops use.
pub(crate) trait FloatElement: Element {
    /// The type of the calculation.
    type Wide: WideFloat;
    /// Returns the same value. A NaN becomes quiet and keeps its payload.
    fn widen(self) -> Self::Wide;
    /// Rounds the result of one operation, ties to even, to this type's precision and range.
    fn round(result: Self::Wide) -> Self::Wide;
    /// Returns the element of a value that [`Self::round`] returned.
    fn from_rounded(value: Self::Wide) -> Self;
    /// True if its exact path has rules for NaN that processors do not follow.
    const HAS_EXACT_NAN: bool = false;
}

macro_rules! own_arithmetic {
    ($($type:ty),*) => {$(
        impl FloatElement for $type {
            type Wide = $type;
            #[inline(always)]
            fn widen(self) -> $type {
                self
            }
            #[inline(always)]
            fn round(result: $type) -> $type {
                result
            }
            #[inline(always)]
            fn from_rounded(value: $type) -> $type {
                value
            }
        }
    )*};
}

own_arithmetic!(f32, f64);

impl FloatElement for f16 {
    type Wide = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        // The fields are moved to those of a float32, whose exponent is then wrong by 112. A multiplication corrects it
        // and normalises subnormal numbers. Infinities and NaN become 2^16 or more.
        let bits = u32::from(self.to_bits());
        let scaled = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
        let quiet = if bits & 0x7fff > 0x7c00 { 0x7fc0_0000 } else { 0x7f80_0000 };
        let magnitude = if scaled >= 65536.0 { scaled.to_bits() | quiet } else { scaled.to_bits() };
        f32::from_bits(magnitude | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn round(result: f32) -> f32 {
        const LEAST_NORMAL: u32 = 0x3880_0000;
        /// Half-way to 2^16, which would follow the greatest float16.
        const BEYOND: f32 = 65520.0;
        let magnitude = result.abs();
        let power = (magnitude.to_bits() & f32::INFINITY.to_bits()).max(LEAST_NORMAL);
        // The floats around 1.5 * 2^13 of these powers have the distance of float16s here, including subnormal ones.
        // The sum for a too great value is not used, and the sum of a NaN is the NaN.
        let shift = f32::from_bits(power.wrapping_add(0x06c0_0000));
        let rounded = (magnitude + shift) - shift;
        let bounded = if magnitude >= BEYOND { f32::INFINITY } else { rounded };
        bounded.copysign(result)
    }

    #[inline(always)]
    fn from_rounded(value: f32) -> f16 {
        value.convert_float::<NearestEven>().0
    }
}

impl FloatElement for bf16 {
    type Wide = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        let quiet = if self.to_bits() & 0x7fff > 0x7f80 { 0x0040_0000 } else { 0 };
        f32::from_bits(u32::from(self.to_bits()) << 16 | quiet)
    }

    #[inline(always)]
    fn round(result: f32) -> f32 {
        // The upper half, with a carry into the exponent. The greatest numbers become infinity.
        let bits = result.to_bits();
        let rounded = f32::from_bits(bits.wrapping_add(0x7fff + (bits >> 16 & 1)) & 0xffff_0000);
        if result == result { rounded } else { result }
    }

    const HAS_EXACT_NAN: bool = true;

    #[inline(always)]
    fn from_rounded(value: f32) -> bf16 {
        bf16::from_bits((value.to_bits() >> 16) as u16)
    }
}

//! Small floats in the loops: `bfloat16` to `float32` by its bits, and `float64` to every small float, rounded once.
//!
//! Every number type reaches `float64` without loss, or rounded to odd (64-bit integers), which leaves the rounding here
//! the only one: no small float has more than 8 bits of significand.

use super::Rounding;
use super::round::RoundingMode;
use crate::element::FloatFormat;

/// The constants of a small float that is rounded to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SmallTarget {
    fraction_bits: u32,
    /// The exponent field of float64 for the least exponent, and the one that lesser values are rounded as having.
    least: u64,
    floor: u64,
    /// What the code of the least exponent has beside its steps.
    excess: i64,
    /// The greatest finite magnitude, and what greater ones become.
    greatest: i64,
    beyond: u64,
    /// 0 where there is no NaN.
    nan: u64,
    /// The bits of a NaN's payload that are kept.
    payload: u64,
    /// What a negative value has besides; a zero and a NaN, if they keep their sign.
    sign: u64,
    zero_sign: u64,
    nan_sign: u64,
    is_unsigned: bool,
    has_infinity: bool,
}

impl SmallTarget {
    pub(crate) fn new(format: FloatFormat) -> Self {
        let is_unsigned = format.is_unsigned();
        let least = u64::try_from(1023 + format.least_exponent()).unwrap_or_default();
        let sign = if is_unsigned { 0 } else { format.sign() };
        let has_infinity = format.is_ieee();
        let greatest = format.greatest();
        SmallTarget {
            fraction_bits: format.fraction_bits,
            least,
            floor: if is_unsigned { 0 } else { least },
            excess: i64::from(is_unsigned),
            greatest: i64::try_from(greatest).unwrap_or_default(),
            beyond: if has_infinity { format.infinity() } else { greatest },
            nan: format.canonical_nan().unwrap_or_default(),
            payload: if has_infinity { (1 << format.fraction_bits) - 1 } else { 0 },
            sign,
            zero_sign: if format.has_negative_zero() { sign } else { 0 },
            nan_sign: if format.has_signed_nan() { sign } else { 0 },
            is_unsigned,
            has_infinity,
        }
    }

    /// The bits of a value rounded by `M`, of a value out of range those of the bound or an infinity; whether a finite
    /// value is out of range; and whether it is an infinity or NaN that the type does not have.
    #[inline(always)]
    pub(crate) fn encode<M: RoundingMode>(&self, value: f64) -> (u64, bool, bool) {
        const INFINITY: u64 = f64::INFINITY.to_bits();
        const HIDDEN: u64 = 1 << 52;
        let bits = value.to_bits();
        let is_negative = bits >> 63 != 0;
        let magnitude = bits & (u64::MAX >> 1);
        let field = magnitude >> 52;
        let hidden = if field == 0 { 0 } else { HIDDEN };
        let significand = magnitude & (HIDDEN - 1) | hidden;
        // Below the normal numbers each step of the exponent drops one bit more. The significand has 53 bits: a shift by
        // 63 leaves less than a quarter of it, and so do all beyond.
        let below = self.floor.saturating_sub(field);
        let dropped = u64::from(52 - self.fraction_bits) + below;
        let shift = if dropped < 63 { dropped } else { 63 };
        let half = 1_u64 << (shift - 1);
        let all = (1_u64 << shift) - 1;
        let added = match M::ROUNDING {
            Rounding::NearestEven => half - 1 + (significand >> shift & 1),
            Rounding::NearestAway => half,
            Rounding::TowardsZero => 0,
            Rounding::TowardsPositive => {
                if is_negative {
                    0
                } else {
                    all
                }
            }
            Rounding::TowardsNegative => {
                if is_negative {
                    all
                } else {
                    0
                }
            }
        };
        let own = if field < self.floor { self.floor } else { field };
        let steps = own.wrapping_sub(self.least).cast_signed() << self.fraction_bits;
        let code = steps + ((significand + added) >> shift).cast_signed() - self.excess;
        let is_above = code > self.greatest;
        let is_below = self.is_unsigned & (is_negative | (code < 0));
        let in_range = if is_above { self.beyond } else { code.cast_unsigned() };
        let bounded = if is_below { 0 } else { in_range };
        let is_nan = magnitude > INFINITY;
        let payload = magnitude >> (52 - self.fraction_bits) & self.payload;
        let sign = if bounded == 0 { self.zero_sign } else { self.sign };
        let sign = if is_nan { self.nan_sign } else { sign };
        let result = if is_nan { self.nan | payload } else { bounded };
        let is_missing = (is_nan & (self.nan == 0)) | ((magnitude == INFINITY) & !self.has_infinity);
        let is_out_of_range = (is_above | is_below) & (magnitude < INFINITY);
        (result | if is_negative { sign } else { 0 }, is_out_of_range, is_missing)
    }
}

/// The float32 that a `bfloat16` is; a NaN becomes quiet.
#[inline(always)]
pub(crate) fn float32_of_bfloat16(bits: u16) -> f32 {
    let is_nan = bits & 0x7fff > 0x7f80;
    let quiet = if is_nan { 0x0040_0000 } else { 0 };
    f32::from_bits(u32::from(bits) << 16 | quiet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Element, ElementType, NumberType, SmallFloat};
    use crate::kernel::exact::{Outside, Value};
    use crate::kernel::round::{NearestAway, NearestEven, TowardsNegative, TowardsPositive, TowardsZero};

    /// Compares with the exact path, which rounds integers of any width.
    fn agree<M: RoundingMode>(float: SmallFloat, value: f64) {
        let format = float.format();
        let exact =
            Value::of(value.to_bits(), NumberType::of(ElementType::Float64)).to_float(format, M::ROUNDING);
        let (bits, is_out_of_range, is_missing) = SmallTarget::new(format).encode::<M>(value);
        let context = format!("{value:e} ({:#x}) to {} {:?}", value.to_bits(), float.name(), M::ROUNDING);
        match exact {
            Ok(expected) => {
                assert_eq!((bits, is_out_of_range, is_missing), (expected, false, false), "{context}");
            }
            Err(outside @ (Outside::Below | Outside::Above)) => {
                assert!(is_out_of_range && !is_missing, "{context}");
                assert_eq!(Ok(bits), format.clamped(outside), "{context}");
            }
            Err(Outside::NotANumber | Outside::Infinite) => {
                assert!(is_missing && !is_out_of_range, "{context}");
            }
        }
    }

    fn agree_in_every_rounding(value: f64) {
        for float in SmallFloat::all() {
            for value in [value, -value] {
                agree::<NearestEven>(float, value);
                agree::<TowardsZero>(float, value);
                agree::<TowardsPositive>(float, value);
                agree::<TowardsNegative>(float, value);
                agree::<NearestAway>(float, value);
            }
        }
    }

    #[test]
    fn every_small_float_its_ties_and_their_neighbours_are_rounded_as_the_exact_path_does() {
        for float in SmallFloat::all() {
            let values: Vec<f64> = (0..float.format().sign()).filter_map(|bits| float.to_f64(bits)).collect();
            for (low, high) in values.iter().zip(&values[1..]) {
                let middle = low + (high - low) / 2.0;
                for value in
                    [*low, middle, middle.next_up(), middle.next_down(), low.next_up(), low.next_down()]
                {
                    agree_in_every_rounding(value);
                }
            }
        }
    }

    #[test]
    fn values_outside_of_every_small_float_are_told() {
        for exponent in -1074..1024 {
            for factor in [1.0, 1.25, 1.5, 1.75, 2.0 - f64::EPSILON] {
                agree_in_every_rounding(2_f64.powi(exponent) * factor);
            }
        }
        for value in
            [0.0, f64::INFINITY, f64::NAN, f64::MAX, f64::from_bits(1), f64::from_bits(0x7ff4_8000_0000_0000)]
        {
            agree_in_every_rounding(value);
        }
    }

    #[test]
    fn every_bfloat16_is_the_float32_of_its_bits() {
        for bits in 0..=u16::MAX {
            let number =
                Value::of(u64::from(bits), NumberType::small(SmallFloat::from_name("bfloat16").unwrap()));
            let float32 = NumberType::of(ElementType::Float32).float_format().unwrap();
            let expected = number.to_float(float32, Rounding::NearestEven);
            assert_eq!(Ok(float32_of_bfloat16(bits).to_bits64()), expected, "{bits:#x}");
        }
    }
}

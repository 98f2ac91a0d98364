//! Exact values, what an element's bits stand for, and rounding.

use super::{Kind, Rounding};

/// What the bits of an element stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    Nan,
    Infinite { negative: bool },
    Finite(Exact),
}

/// The value `magnitude * 2^exponent`, with a sign that zero has too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exact {
    pub(crate) negative: bool,
    pub(crate) magnitude: u128,
    pub(crate) exponent: i32,
    /// The absolute value is greater than `magnitude` says, by less than one unit of it. Only sums and
    /// quotients have it, and they have far more bits in `magnitude` than any type holds.
    pub(crate) more: bool,
}

impl Exact {
    pub(crate) fn is_zero(&self) -> bool {
        self.magnitude == 0 && !self.more
    }

    /// The exponent of the leading bit of a value that is not zero.
    pub(crate) fn leading_exponent(&self) -> i32 {
        assert!(self.magnitude != 0, "zero has no leading bit");
        self.exponent + 127 - self.magnitude.leading_zeros().cast_signed()
    }

    /// The absolute value in units of `2^unit`, rounded to a whole number of them.
    pub(crate) fn rounded_to(&self, unit: i32, rounding: Rounding) -> u128 {
        let discarded = unit - self.exponent;
        if discarded <= 0 {
            assert!(!self.more, "an inexact value must be rounded above its last bit");
            assert!(self.magnitude.leading_zeros().cast_signed() >= -discarded, "no room for the value");
            return self.magnitude << -discarded;
        }
        // From 128 on nothing of the magnitude is left above the unit, and 127 is more than any magnitude's half.
        let (whole, rest, half) = if discarded >= 128 {
            (0, self.magnitude, None)
        } else {
            let whole = self.magnitude >> discarded;
            (whole, self.magnitude - (whole << discarded), Some(1_u128 << (discarded - 1)))
        };
        // Where there is no half it lies above every u128, except 2^127 itself for `discarded` = 128.
        let against_half = match half {
            Some(half) => rest.cmp(&half),
            None if discarded == 128 => rest.cmp(&(1 << 127)),
            None => std::cmp::Ordering::Less,
        };
        let is_exact = rest == 0 && !self.more;
        let is_over_half = against_half.is_gt() || (against_half.is_eq() && self.more);
        let is_half = against_half.is_eq() && !self.more;
        let up = match rounding {
            Rounding::NearestEven => is_over_half || (is_half && whole % 2 == 1),
            Rounding::NearestAway => is_over_half || is_half,
            Rounding::TowardsZero => false,
            Rounding::TowardsPositive => !is_exact && !self.negative,
            Rounding::TowardsNegative => !is_exact && self.negative,
        };
        whole + u128::from(up)
    }
}

/// The low `width` bits of a `u64`, all set.
pub(crate) fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// What `bits` stand for in `kind`; bits above its width do not count.
pub(crate) fn number(bits: u64, kind: Kind) -> Number {
    let bits = bits & mask(kind.width());
    match kind {
        Kind::Int { signed, bits: width } => {
            let negative = signed && bits >> (width - 1) == 1;
            let magnitude = if negative { (1_u128 << width) - u128::from(bits) } else { u128::from(bits) };
            Number::Finite(Exact { negative, magnitude, exponent: 0, more: false })
        }
        Kind::Float { exponent_bits, mantissa_bits } => {
            let negative = bits >> (exponent_bits + mantissa_bits) == 1;
            let biased = (bits >> mantissa_bits) & mask(exponent_bits);
            let fraction = bits & mask(mantissa_bits);
            if biased == mask(exponent_bits) {
                return if fraction == 0 { Number::Infinite { negative } } else { Number::Nan };
            }
            let hidden = if biased == 0 { 0 } else { 1_u128 << mantissa_bits };
            let steps = i32::try_from(biased.max(1) - 1).expect("at most 11 bits");
            let exponent = least_unit(exponent_bits, mantissa_bits) + steps;
            Number::Finite(Exact {
                negative,
                magnitude: hidden + u128::from(fraction),
                exponent,
                more: false,
            })
        }
    }
}

/// The exponent of the least subnormal number.
fn least_unit(exponent_bits: u32, mantissa_bits: u32) -> i32 {
    let bias = (1_i32 << (exponent_bits - 1)) - 1;
    1 - bias - mantissa_bits.cast_signed()
}

/// The float nearest to `value` in the sense of `rounding`, as IEEE 754 has it: rounded once as if the exponent
/// were unbounded (subnormal numbers included), and `None` if the result is beyond the greatest finite number.
pub(crate) fn to_float(
    value: Exact,
    exponent_bits: u32,
    mantissa_bits: u32,
    rounding: Rounding,
) -> Option<u64> {
    let sign = u64::from(value.negative) << (exponent_bits + mantissa_bits);
    if value.is_zero() {
        return Some(sign);
    }
    let least = least_unit(exponent_bits, mantissa_bits);
    let mut unit = least.max(value.leading_exponent() - mantissa_bits.cast_signed());
    let mut significand = value.rounded_to(unit, rounding);
    if significand == 2 << mantissa_bits {
        significand /= 2;
        unit += 1;
    }
    let significand = u64::try_from(significand).expect("at most one bit more than the mantissa");
    if significand < 1 << mantissa_bits {
        return Some(sign | significand);
    }
    let biased = u64::try_from(unit - least + 1).expect("no unit is below the least");
    (biased < mask(exponent_bits))
        .then(|| sign | (biased << mantissa_bits) | (significand - (1 << mantissa_bits)))
}

/// An infinity of a float type.
pub(crate) fn infinity(negative: bool, exponent_bits: u32, mantissa_bits: u32) -> u64 {
    (u64::from(negative) << (exponent_bits + mantissa_bits)) | (mask(exponent_bits) << mantissa_bits)
}

/// The NaN that `"NaN"` means in metadata: positive, only the first bit of the mantissa set.
pub(crate) fn canonical_nan(exponent_bits: u32, mantissa_bits: u32) -> u64 {
    infinity(false, exponent_bits, mantissa_bits) | (1 << (mantissa_bits - 1))
}

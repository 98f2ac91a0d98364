//! Exact values, decoding of an element's bits, and rounding.

use super::{Fault, Float, Kind, Rounding, Special};

/// The value of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    Nan,
    Infinite { negative: bool },
    Finite(Exact),
}

/// The value `magnitude * 2^exponent`. Zero has a sign, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exact {
    pub(crate) negative: bool,
    pub(crate) magnitude: u128,
    pub(crate) exponent: i32,
    /// Whether the absolute value exceeds `magnitude` by less than one unit. Only sums and quotients set it, and their
    /// `magnitude` has far more bits than any type.
    pub(crate) more: bool,
}

impl Exact {
    pub(crate) fn is_zero(&self) -> bool {
        self.magnitude == 0 && !self.more
    }

    /// Returns the exponent of the leading bit. Panics for zero.
    pub(crate) fn leading_exponent(&self) -> i32 {
        assert!(self.magnitude != 0, "zero has no leading bit");
        self.exponent + 127 - self.magnitude.leading_zeros().cast_signed()
    }

    /// Returns the absolute value in units of `2^unit`, rounded to an integer.
    pub(crate) fn rounded_to(&self, unit: i32, rounding: Rounding) -> u128 {
        let discarded = unit - self.exponent;
        if discarded <= 0 {
            assert!(!self.more, "an inexact value must be rounded above its last bit");
            assert!(self.magnitude.leading_zeros().cast_signed() >= -discarded, "no room for the value");
            return self.magnitude << -discarded;
        }
        // From 128 on, no bit of the magnitude is above the unit.
        let (whole, rest, half) = if discarded >= 128 {
            (0, self.magnitude, None)
        } else {
            let whole = self.magnitude >> discarded;
            (whole, self.magnitude - (whole << discarded), Some(1_u128 << (discarded - 1)))
        };
        // A missing half is greater than every u128. For `discarded` = 128 it is 2^127.
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

/// Returns a mask of the low `width` bits.
pub(crate) fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// Decodes `bits` as `kind`. Bits above its width are ignored.
pub(crate) fn number(bits: u64, kind: Kind) -> Number {
    let bits = bits & mask(kind.width());
    match kind {
        Kind::Int { signed, bits: width } => {
            let negative = signed && bits >> (width - 1) == 1;
            let magnitude = if negative { (1_u128 << width) - u128::from(bits) } else { u128::from(bits) };
            Number::Finite(Exact { negative, magnitude, exponent: 0, more: false })
        }
        Kind::Float(float) => float_number(bits, float),
    }
}

fn float_number(bits: u64, float: Float) -> Number {
    let Float { exponent_bits, mantissa_bits, special, .. } = float;
    let least = least_unit(float);
    let of = |negative, magnitude, exponent| Number::Finite(Exact { negative, magnitude, exponent, more: false });
    if special == Special::Unsigned {
        let steps = i32::try_from(bits).expect("8 bits");
        return if bits == mask(exponent_bits) { Number::Nan } else { of(false, 1, least + steps) };
    }
    let negative = bits >> (exponent_bits + mantissa_bits) == 1;
    let biased = (bits >> mantissa_bits) & mask(exponent_bits);
    let fraction = if mantissa_bits == 0 { 0 } else { bits & mask(mantissa_bits) };
    if special == Special::Ieee && biased == mask(exponent_bits) {
        return if fraction == 0 { Number::Infinite { negative } } else { Number::Nan };
    }
    if special == Special::NanForAllOnes && biased == mask(exponent_bits) && fraction == mask(mantissa_bits) {
        return Number::Nan;
    }
    if special == Special::NanForNegativeZero && negative && biased == 0 && fraction == 0 {
        return Number::Nan;
    }
    let hidden = if biased == 0 { 0 } else { 1_u128 << mantissa_bits };
    let steps = i32::try_from(biased.max(1) - 1).expect("at most 11 bits");
    of(negative, hidden + u128::from(fraction), least + steps)
}

/// Returns the exponent of the least subnormal number, or of the least number in a type without subnormals.
fn least_unit(float: Float) -> i32 {
    if float.special == Special::Unsigned {
        return -float.bias;
    }
    1 - float.bias - float.mantissa_bits.cast_signed()
}

/// The end of the finite numbers of a type that a value exceeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beyond {
    Least,
    Greatest,
}

/// Rounds `value` to a float by `rounding`, as IEEE 754 defines it. It is rounded once as if the exponent were
/// unbounded (subnormal numbers included). A result outside the finite numbers is an error. Without subnormal numbers,
/// the exponent is unbounded at the lower end as well.
pub(crate) fn to_float(value: Exact, float: Float, rounding: Rounding) -> Result<u64, Beyond> {
    let Float { mantissa_bits, special, .. } = float;
    if special == Special::Unsigned {
        return to_power_of_two(value, float, rounding);
    }
    if value.is_zero() {
        return Ok(signed(0, value.negative, float));
    }
    let least = least_unit(float);
    let mut unit = least.max(value.leading_exponent() - mantissa_bits.cast_signed());
    let mut significand = value.rounded_to(unit, rounding);
    if significand == 2 << mantissa_bits {
        significand /= 2;
        unit += 1;
    }
    let significand = u64::try_from(significand).expect("at most one bit more than the mantissa");
    let magnitude = if significand < 1 << mantissa_bits {
        significand
    } else {
        let biased = u64::try_from(unit - least + 1).expect("no unit is below the least");
        (biased << mantissa_bits) | (significand - (1 << mantissa_bits))
    };
    if magnitude <= greatest(float) {
        return Ok(signed(magnitude, value.negative, float));
    }
    Err(if value.negative { Beyond::Least } else { Beyond::Greatest })
}

/// Rounds to a power of two. A tie has no even neighbour here: the larger magnitude wins (IEEE 754-2019, 4.3.1).
fn to_power_of_two(value: Exact, float: Float, rounding: Rounding) -> Result<u64, Beyond> {
    if value.negative || value.is_zero() {
        return Err(Beyond::Least);
    }
    let leading = value.leading_exponent();
    // 1 or 2 units of its own power of two.
    let rounded = value.rounded_to(leading, rounding);
    let exponent = if rounded == 2 { leading + 1 } else { leading };
    match u64::try_from(exponent + float.bias) {
        Err(_) => Err(Beyond::Least),
        Ok(bits) if bits > greatest(float) => Err(Beyond::Greatest),
        Ok(bits) => Ok(bits),
    }
}

/// Returns the greatest finite magnitude.
fn greatest(float: Float) -> u64 {
    let Float { exponent_bits, mantissa_bits, special, .. } = float;
    let all = mask(exponent_bits + mantissa_bits);
    match special {
        Special::Nothing | Special::NanForNegativeZero => all,
        Special::Ieee => (mask(exponent_bits) << mantissa_bits) - 1,
        Special::Unsigned | Special::NanForAllOnes => all - 1,
    }
}

fn signed(magnitude: u64, negative: bool, float: Float) -> u64 {
    let is_lost = magnitude == 0 && float.special == Special::NanForNegativeZero;
    let sign = u64::from(negative && !is_lost) << (float.exponent_bits + float.mantissa_bits);
    sign | magnitude
}

/// Returns the clamped value: an infinity, or the end of the range of a type without one.
pub(crate) fn clamped(beyond: Beyond, float: Float) -> u64 {
    let negative = beyond == Beyond::Least;
    match float.special {
        Special::Ieee => infinity(negative, float).expect("IEEE 754 has infinities"),
        Special::Unsigned if negative => 0,
        _ => signed(greatest(float), negative, float),
    }
}

/// Returns an infinity, or [`Fault::Infinite`] for a type without one.
pub(crate) fn infinity(negative: bool, float: Float) -> Result<u64, Fault> {
    let magnitude = mask(float.exponent_bits) << float.mantissa_bits;
    if float.special == Special::Ieee { Ok(signed(magnitude, negative, float)) } else { Err(Fault::Infinite) }
}

/// Returns the NaN for `"NaN"` in metadata. In IEEE 754 it is positive, with only the first bit of the mantissa set.
pub(crate) fn canonical_nan(float: Float) -> Option<u64> {
    match float.special {
        Special::Ieee => Some((mask(float.exponent_bits) << float.mantissa_bits) | (1 << (float.mantissa_bits - 1))),
        Special::Nothing => None,
        Special::NanForNegativeZero => Some(1 << (float.exponent_bits + float.mantissa_bits)),
        Special::NanForAllOnes => Some(mask(float.exponent_bits + float.mantissa_bits)),
        Special::Unsigned => Some(mask(float.exponent_bits)),
    }
}

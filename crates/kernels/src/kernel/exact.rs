//! The exact path: one value at a time, in integers, each result rounded once.
//!
//! A value is a sign, a 64-bit magnitude and a power of two, which represent every element of every type exactly. The
//! path converts the elements that the fast loops flag. It also defines the results that those loops have to equal.

use num_traits::AsPrimitive;

use super::{FaultKind, Rounding};
use crate::element::{FloatFormat, NumberType, integer_bits, integer_of};

/// A number without its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// `magnitude * 2^exponent`, with its sign. Zeros have a sign, too.
    Finite { negative: bool, magnitude: u64, exponent: i32 },
    /// An infinity.
    Infinite { negative: bool },
    /// NaN, with its payload aligned to the 52 bits of float64 (the quiet bit is the highest).
    NotANumber { negative: bool, payload: u64 },
}

/// A value rounded to an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundedInteger {
    pub(crate) negative: bool,
    /// The integer. `None` if its magnitude is 2^127 or more, or the exponent of the value is 64 or more. Such integers
    /// are all out of the range of every integer type.
    pub(crate) value: Option<i128>,
    /// The integer modulo 2^64, in two's complement.
    pub(crate) low: u64,
}

/// The reason why a float format does not have a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeError {
    /// The value is below the least finite value after rounding.
    Below,
    /// The value is above the greatest finite value after rounding.
    Above,
    /// The value is NaN, which the format does not have.
    NotANumber,
    /// The value is an infinity, which the format does not have.
    Infinite,
}

impl RangeError {
    /// Returns the fault to report if values are not clamped.
    pub(crate) const fn fault(self) -> FaultKind {
        match self {
            RangeError::Below | RangeError::Above => FaultKind::OutOfRange,
            RangeError::NotANumber => FaultKind::NotANumber,
            RangeError::Infinite => FaultKind::Infinite,
        }
    }
}

impl FloatFormat {
    /// Returns the clamped value of a finite value out of range: an infinity, or the least or greatest value.
    pub(crate) const fn clamped(self, outside: RangeError) -> Result<u64, RangeError> {
        let bound = if self.is_ieee() { self.infinity() } else { self.greatest() };
        match outside {
            // The pattern 0 is the least number of a format without a zero.
            RangeError::Below if self.is_unsigned() => Ok(0),
            RangeError::Below => Ok(bound | self.sign()),
            RangeError::Above => Ok(bound),
            RangeError::NotANumber | RangeError::Infinite => Err(outside),
        }
    }

    /// Returns a magnitude with its sign. -0 only if the format has it.
    const fn signed(self, negative: bool, magnitude: u64) -> u64 {
        let has_sign = negative && (self.has_negative_zero() || magnitude != 0);
        if has_sign { magnitude | self.sign() } else { magnitude }
    }

    /// Returns the bits of the value nearest to a float64, ties to even. Beyond the range it is an infinity. `None` if
    /// the format has no such value.
    pub fn nearest(self, value: f64) -> Option<u64> {
        let rounded = FloatFormat::BINARY64.value(value.to_bits()).to_float(self, Rounding::NearestEven);
        rounded.or_else(|outside| if self.is_ieee() { self.clamped(outside) } else { Err(outside) }).ok()
    }

    pub(crate) fn value(self, bits: u64) -> Value {
        let negative = bits & self.sign() != 0;
        let fraction = bits & ((1 << self.fraction_bits) - 1);
        if self.is_nan(bits) {
            let payload = if self.is_ieee() { fraction << (52 - self.fraction_bits) } else { 0 };
            return Value::NotANumber { negative: negative && self.has_signed_nan(), payload };
        }
        if self.is_ieee() && bits & !self.sign() == self.infinity() {
            return Value::Infinite { negative };
        }
        let biased = (bits & self.infinity()) >> self.fraction_bits;
        let is_normal = biased != 0 || self.is_unsigned();
        // Subnormal numbers have the exponent of the least normal ones.
        let steps = if self.is_unsigned() { biased } else { biased.max(1) - 1 };
        // At most 11 bits.
        let exponent = AsPrimitive::<i32>::as_(steps) + self.least_exponent() - self.fraction_bits.cast_signed();
        let hidden = if is_normal { 1 << self.fraction_bits } else { 0 };
        Value::Finite { negative, magnitude: fraction | hidden, exponent }
    }
}

impl Value {
    pub(crate) fn new(bits: u64, number_type: NumberType) -> Self {
        if let Some(format) = number_type.float_format() {
            return format.value(bits);
        }
        Value::from_integer(integer_of(bits, number_type.element()))
    }

    /// Returns the value of an integer of at most 64 bits and a sign.
    pub(crate) fn from_integer(integer: i128) -> Self {
        Value::Finite { negative: integer < 0, magnitude: integer.unsigned_abs().as_(), exponent: 0 }
    }

    /// Returns the nearest float64, or an infinity beyond its range. It is used for reports and differences.
    pub(crate) fn to_f64(self) -> f64 {
        match self.to_float(FloatFormat::BINARY64, Rounding::NearestEven) {
            Ok(bits) => f64::from_bits(bits),
            Err(RangeError::Below) => f64::NEG_INFINITY,
            Err(_) => f64::INFINITY,
        }
    }

    /// Rounds a finite value to an integer. Other values are a fault.
    pub(crate) fn to_integer(self, rounding: Rounding) -> Result<RoundedInteger, FaultKind> {
        let (negative, magnitude, exponent) = match self {
            Value::Finite { negative, magnitude, exponent } => (negative, magnitude, exponent),
            // Clamping and wrapping apply to finite values only (SEMANTICS: A2.9, B6).
            Value::Infinite { .. } => return Err(FaultKind::Infinite),
            Value::NotANumber { .. } => return Err(FaultKind::NotANumber),
        };
        let rounded = if exponent <= 0 {
            Some(shift_right(magnitude, exponent.unsigned_abs(), negative, rounding).into())
        } else if magnitude == 0 {
            Some(0)
        } else if exponent < 64 {
            // 64 bits of magnitude and a shift of at most 63 fit into 128 bits.
            Some(u128::from(magnitude) << exponent)
        } else {
            None
        };
        // Beyond the 127 bits of an i128 only the low bits are used, and a shift returns them.
        let low = match rounded {
            // Modulo 2^64.
            Some(integer) => integer.as_(),
            None => magnitude.checked_shl(exponent.unsigned_abs()).unwrap_or(0),
        };
        let signed = |integer: u128| {
            let integer = i128::try_from(integer).ok()?;
            Some(if negative { -integer } else { integer })
        };
        Ok(RoundedInteger {
            negative,
            value: rounded.and_then(signed),
            low: if negative { low.wrapping_neg() } else { low },
        })
    }

    /// Rounds once to a float format, as if its exponents were unlimited. A result outside the format is an error.
    ///
    /// The lower end of formats without subnormal numbers is rounded in the same way.
    pub(crate) fn to_float(self, format: FloatFormat, rounding: Rounding) -> Result<u64, RangeError> {
        let (negative, magnitude, exponent) = match self {
            Value::Finite { negative, magnitude, exponent } => (negative, magnitude, exponent),
            Value::Infinite { negative } if format.is_ieee() => {
                return Ok(format.signed(negative, format.infinity()));
            }
            Value::Infinite { .. } => return Err(RangeError::Infinite),
            Value::NotANumber { negative, payload } => {
                let nan = format.canonical_nan().ok_or(RangeError::NotANumber)?;
                // The sign and the leading payload stay, and the NaN becomes quiet (SEMANTICS: B11).
                let kept = if format.is_ieee() { payload >> (52 - format.fraction_bits) } else { 0 };
                return Ok(if format.has_signed_nan() { format.signed(negative, nan | kept) } else { nan });
            }
        };
        let is_unsigned = format.is_unsigned();
        if is_unsigned && (negative || magnitude == 0) {
            return Err(RangeError::Below);
        }
        if magnitude == 0 {
            return Ok(format.signed(negative, 0));
        }
        let leading = exponent + 63 - magnitude.leading_zeros().cast_signed();
        let least = format.least_exponent();
        let own = if is_unsigned { leading } else { leading.max(least) };
        let shift = own - format.fraction_bits.cast_signed() - exponent;
        let significand = if shift > 0 {
            shift_right(magnitude, shift.unsigned_abs(), negative, rounding)
        } else {
            // At most 53 bits, those of the widest significand: the leading bit decides the shift.
            magnitude << shift.unsigned_abs()
        };
        // A significand has at most 53 bits and a carry.
        let significand: i64 = significand.as_();
        // The hidden bit of the significand counts as one step of the exponent, and so does a carry. Without subnormal
        // numbers the least exponent itself is not a step.
        let steps = i64::from(own - least) << format.fraction_bits;
        let bits = steps + significand - i64::from(is_unsigned);
        match u64::try_from(bits) {
            Ok(bits) if bits <= format.greatest() => Ok(format.signed(negative, bits)),
            Ok(_) if !negative => Err(RangeError::Above),
            _ => Err(RangeError::Below),
        }
    }
}

/// Returns `magnitude / 2^shift`, rounded once.
fn shift_right(magnitude: u64, shift: u32, negative: bool, rounding: Rounding) -> u64 {
    let (floor, remainder, half) = match shift {
        0 => return magnitude,
        1..64 => (magnitude >> shift, magnitude & ((1 << shift) - 1), 1 << (shift - 1)),
        // All bits are dropped, and the highest of them is worth one half.
        64 => (0, magnitude, 1 << 63),
        // Less than one half.
        _ => (0, u64::from(magnitude != 0), 1 << 63),
    };
    let away = match rounding {
        Rounding::NearestEven => remainder > half || (remainder == half && floor & 1 == 1),
        Rounding::NearestAway => remainder >= half,
        Rounding::TowardsZero => false,
        Rounding::TowardsPositive => !negative && remainder > 0,
        Rounding::TowardsNegative => negative && remainder > 0,
    };
    floor + u64::from(away)
}

/// Returns the element bits of an integer modulo 2^bits of its logical type.
pub(crate) fn wrapped(low: u64, number_type: NumberType) -> u64 {
    let unused = 64 - number_type.bits();
    let logical = if number_type.element().is_signed_integer() {
        ((low << unused).cast_signed() >> unused).cast_unsigned()
    } else {
        low << unused >> unused
    };
    integer_bits(logical, number_type.element())
}

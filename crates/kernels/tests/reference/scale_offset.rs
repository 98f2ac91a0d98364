//! `scale_offset` of one element: two operations, each rounded once to the element's type.

use super::number::{Exact, Number, canonical_nan, infinity, mask, number, to_float};
use super::{Fault, Float, Kind, Rounding, Special};

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Returns `(x - offset) * scale`. An operation without its parameter is skipped.
pub(crate) fn scale_offset_encode(
    bits: u64,
    kind: Kind,
    offset: Option<u64>,
    scale: Option<u64>,
) -> Result<u64, Fault> {
    let shifted = apply(bits & mask(kind.width()), Operation::Subtract, offset, kind)?;
    apply(shifted, Operation::Multiply, scale, kind)
}

/// Returns `x / scale + offset`. An operation without its parameter is skipped.
pub(crate) fn scale_offset_decode(
    bits: u64,
    kind: Kind,
    offset: Option<u64>,
    scale: Option<u64>,
) -> Result<u64, Fault> {
    let divided = apply(bits & mask(kind.width()), Operation::Divide, scale, kind)?;
    apply(divided, Operation::Add, offset, kind)
}

fn apply(left: u64, operation: Operation, right: Option<u64>, kind: Kind) -> Result<u64, Fault> {
    let Some(right) = right else { return Ok(left) };
    match kind {
        Kind::Int { signed, bits } => integer(left, operation, right, signed, bits),
        Kind::Float(format) => float(left, operation, right, format),
    }
}

fn integer(left: u64, operation: Operation, right: u64, signed: bool, width: u32) -> Result<u64, Fault> {
    let value = |bits: u64| -> i128 {
        let bits = i128::from(bits & mask(width));
        if signed && bits >> (width - 1) == 1 { bits - (1 << width) } else { bits }
    };
    let (left, right) = (value(left), value(right));
    // At most 64 bits each, with a sign. Every result fits in i128, except the greatest product of two uint64.
    let result = match operation {
        Operation::Add => left.checked_add(right),
        Operation::Subtract => left.checked_sub(right),
        Operation::Multiply => left.checked_mul(right),
        Operation::Divide if right == 0 => return Err(Fault::ZeroScale),
        Operation::Divide if left % right != 0 => return Err(Fault::Inexact),
        Operation::Divide => left.checked_div(right),
    };
    let (least, greatest) =
        if signed { (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1) } else { (0, (1_i128 << width) - 1) };
    let result = result.filter(|result| (least..=greatest).contains(result)).ok_or(Fault::Overflow)?;
    let residue = if result < 0 { result + (1_i128 << width) } else { result };
    Ok(u64::try_from(residue).expect("in the range of the type"))
}

fn negated(number: Number) -> Number {
    match number {
        Number::Nan => Number::Nan,
        Number::Infinite { negative } => Number::Infinite { negative: !negative },
        Number::Finite(value) => Number::Finite(Exact { negative: !value.negative, ..value }),
    }
}

/// An IEEE 754 operation, rounded to nearest, ties to even. A finite input whose result is infinite or outside the type
/// is a fault. Infinities and NaNs of the input are propagated.
fn float(left: u64, operation: Operation, right: u64, format: Float) -> Result<u64, Fault> {
    let kind = Kind::Float(format);
    let quiet = if format.special == Special::Ieee { 1_u64 << (format.mantissa_bits - 1) } else { 0 };
    let (first, second) = (number(left, kind), number(right, kind));
    // x - y is x + (-y), also for zeros and infinities.
    let (operation, second) = match operation {
        Operation::Subtract => (Operation::Add, negated(second)),
        other => (other, second),
    };
    let is_negative = |number: Number| match number {
        Number::Nan => false,
        Number::Infinite { negative } => negative,
        Number::Finite(value) => value.negative,
    };
    let is_product_negative = is_negative(first) != is_negative(second);
    let nan = || canonical_nan(format).ok_or(Fault::Overflow);
    match (first, second) {
        (Number::Nan, _) => Ok(left | quiet),
        (_, Number::Nan) => Ok(right | quiet),
        (Number::Infinite { negative }, Number::Infinite { .. }) => match operation {
            Operation::Multiply => infinity(is_product_negative, format),
            Operation::Add | Operation::Subtract if first == second => infinity(negative, format),
            // inf / inf and inf - inf
            Operation::Divide | Operation::Add | Operation::Subtract => nan(),
        },
        (Number::Infinite { negative }, Number::Finite(value)) => match operation {
            Operation::Add | Operation::Subtract => infinity(negative, format),
            Operation::Multiply if value.is_zero() => nan(),
            Operation::Multiply | Operation::Divide => infinity(is_product_negative, format),
        },
        (Number::Finite(value), Number::Infinite { .. }) => match operation {
            Operation::Multiply if value.is_zero() => nan(),
            Operation::Divide => Ok(u64::from(is_product_negative) << (format.exponent_bits + format.mantissa_bits)),
            _ => Err(Fault::Overflow),
        },
        (Number::Finite(left), Number::Finite(right)) => {
            let result = match operation {
                Operation::Add | Operation::Subtract => sum(left, right),
                Operation::Multiply => product(left, right),
                Operation::Divide if right.is_zero() => return Err(Fault::ZeroScale),
                Operation::Divide => quotient(left, right),
            };
            to_float(result, format, Rounding::NearestEven).map_err(|_| Fault::Overflow)
        }
    }
}

/// Exact to at least 60 bits, with [`Exact::more`] for the bits below.
fn sum(left: Exact, right: Exact) -> Exact {
    match (left.is_zero(), right.is_zero()) {
        (true, true) => return Exact { negative: left.negative && right.negative, ..left },
        (true, false) => return right,
        (false, true) => return left,
        (false, false) => {}
    }
    let (great, small) =
        if left.leading_exponent() >= right.leading_exponent() { (left, right) } else { (right, left) };
    // The leading bit of the greater one is at 2^124, with space for a carry. Elements have at most 64 bits, so a
    // smaller one that loses bits is less than a 2^50th of it.
    let exponent = great.leading_exponent() - 124;
    let great_magnitude = great.magnitude << (great.exponent - exponent);
    let (small_magnitude, is_cut) = in_units_of(small, exponent);
    let (negative, magnitude) = if great.negative == small.negative {
        (great.negative, great_magnitude + small_magnitude)
    } else if great_magnitude >= small_magnitude {
        // The bits that were cut are subtracted as well: subtract one unit, then add the rest with `more`.
        (great.negative, great_magnitude - small_magnitude - u128::from(is_cut))
    } else {
        (small.negative, small_magnitude - great_magnitude)
    };
    // x + (-x) is +0 in every rounding except towards-negative.
    let negative = negative && (magnitude != 0 || is_cut);
    Exact { negative, magnitude, exponent, more: is_cut }
}

/// Returns the magnitude in units of `2^exponent`, and whether any bit was below them.
fn in_units_of(value: Exact, exponent: i32) -> (u128, bool) {
    let shift = (value.exponent - exponent).unsigned_abs();
    if value.exponent >= exponent {
        (value.magnitude << shift, false)
    } else {
        let kept = value.magnitude.checked_shr(shift).unwrap_or(0);
        (kept, kept.checked_shl(shift) != Some(value.magnitude))
    }
}

fn product(left: Exact, right: Exact) -> Exact {
    Exact {
        negative: left.negative != right.negative,
        magnitude: left.magnitude * right.magnitude,
        exponent: left.exponent + right.exponent,
        more: false,
    }
}

/// Exact to at least 63 bits, with [`Exact::more`] for the remainder.
fn quotient(left: Exact, right: Exact) -> Exact {
    let negative = left.negative != right.negative;
    if left.is_zero() {
        return Exact { negative, ..left };
    }
    let dividend_shift = left.magnitude.leading_zeros();
    let divisor_shift = right.magnitude.leading_zeros() - 64;
    let (dividend, divisor) = (left.magnitude << dividend_shift, right.magnitude << divisor_shift);
    Exact {
        negative,
        magnitude: dividend / divisor,
        exponent: (left.exponent - dividend_shift.cast_signed()) - (right.exponent - divisor_shift.cast_signed()),
        more: dividend % divisor != 0,
    }
}

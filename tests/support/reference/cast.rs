//! `cast_value`, one element: scalar map, exact value, rounding, range.

use super::number::{Exact, Number, canonical_nan, infinity, mask, number, to_float};
use super::{Fault, Kind, OutOfRange, Rounding};

/// The element of `target` that `bits` of `source` becomes.
///
/// `scalar_map` holds (key, value) bit patterns of the direction in question, in the order of the metadata.
pub(crate) fn cast(
    bits: u64,
    source: Kind,
    target: Kind,
    rounding: Rounding,
    out_of_range: OutOfRange,
    scalar_map: &[(u64, u64)],
) -> Result<u64, Fault> {
    let bits = bits & mask(source.width());
    if let Some(mapped) = mapped(bits, source, scalar_map) {
        return Ok(mapped & mask(target.width()));
    }
    if source == target {
        return Ok(bits);
    }
    match target {
        Kind::Int { signed, bits: width } => match number(bits, source) {
            Number::Nan => Err(Fault::NotANumber),
            Number::Infinite { .. } => Err(Fault::Infinite),
            Number::Finite(value) => to_integer(value, signed, width, rounding, out_of_range),
        },
        Kind::Float { exponent_bits, mantissa_bits } => match number(bits, source) {
            Number::Nan => Ok(nan(bits, source, exponent_bits, mantissa_bits)),
            Number::Infinite { negative } => Ok(infinity(negative, exponent_bits, mantissa_bits)),
            Number::Finite(value) => {
                match (to_float(value, exponent_bits, mantissa_bits, rounding), out_of_range) {
                    (Some(converted), _) => Ok(converted),
                    (None, OutOfRange::Clamp) => Ok(infinity(value.negative, exponent_bits, mantissa_bits)),
                    (None, OutOfRange::Error | OutOfRange::Wrap) => Err(Fault::OutOfRange),
                }
            }
        },
    }
}

/// What the scalar map makes of an element: exactly its bits first, else its value (`0.0` is `-0.0`; the
/// canonical NaN stands for every NaN, another NaN for itself alone). The first of equal keys wins.
fn mapped(bits: u64, source: Kind, scalar_map: &[(u64, u64)]) -> Option<u64> {
    let key_bits = |key: u64| key & mask(source.width());
    let same_bits = scalar_map.iter().find(|(key, _)| key_bits(*key) == bits);
    let same_value = || {
        let Kind::Float { exponent_bits, mantissa_bits } = source else { return None };
        scalar_map.iter().find(|(key, _)| match (number(key_bits(*key), source), number(bits, source)) {
            (Number::Nan, Number::Nan) => key_bits(*key) == canonical_nan(exponent_bits, mantissa_bits),
            (Number::Finite(key), Number::Finite(value)) => key.is_zero() && value.is_zero(),
            _ => false,
        })
    };
    same_bits.or_else(same_value).map(|(_, value)| *value)
}

fn to_integer(
    value: Exact,
    signed: bool,
    width: u32,
    rounding: Rounding,
    out_of_range: OutOfRange,
) -> Result<u64, Fault> {
    // A value from 2^100 on is a whole number, far beyond every type, and only its residue may be asked for.
    let is_huge = !value.is_zero() && value.leading_exponent() >= 100;
    let (absolute, residue) = if is_huge {
        let exponent = u32::try_from(value.exponent).ok();
        let exponent = exponent.expect("a float from 2^100 on has no fraction");
        let low = u64::try_from(value.magnitude).expect("elements have at most 64 bits of magnitude");
        (u128::MAX, low.checked_shl(exponent).unwrap_or(0))
    } else {
        let absolute = value.rounded_to(0, rounding);
        (absolute, low_64_bits(absolute))
    };
    let (least, greatest) = match (signed, value.negative) {
        (true, true) => (1_u64 << (width - 1), 1_u128 << (width - 1)),
        (true, false) => (mask(width) >> 1, (1_u128 << (width - 1)) - 1),
        (false, true) => (0, 0),
        (false, false) => (mask(width), u128::from(mask(width))),
    };
    let clamped = least;
    let signed_residue = if value.negative { residue.wrapping_neg() } else { residue } & mask(width);
    match out_of_range {
        _ if absolute <= greatest => Ok(signed_residue),
        OutOfRange::Error => Err(Fault::OutOfRange),
        OutOfRange::Clamp => Ok(clamped),
        OutOfRange::Wrap => Ok(signed_residue),
    }
}

fn low_64_bits(value: u128) -> u64 {
    u64::try_from(value & u128::from(u64::MAX)).expect("masked to 64 bits")
}

/// A NaN in another float type: the sign, the leading bits of the payload, and quiet.
fn nan(bits: u64, source: Kind, exponent_bits: u32, mantissa_bits: u32) -> u64 {
    let Kind::Float { exponent_bits: source_exponent_bits, mantissa_bits: source_mantissa_bits } = source
    else {
        unreachable!("integers have no NaN")
    };
    let negative = bits >> (source_exponent_bits + source_mantissa_bits) == 1;
    let fraction = bits & mask(source_mantissa_bits);
    let payload = if mantissa_bits >= source_mantissa_bits {
        fraction << (mantissa_bits - source_mantissa_bits)
    } else {
        fraction >> (source_mantissa_bits - mantissa_bits)
    };
    infinity(negative, exponent_bits, mantissa_bits) | payload | (1 << (mantissa_bits - 1))
}

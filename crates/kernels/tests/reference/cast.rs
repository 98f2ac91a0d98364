//! `cast_value` of one element: scalar map, exact value, rounding, range.

use super::number::{Exact, Number, canonical_nan, clamped, infinity, mask, number, to_float};
use super::{Fault, Float, Kind, OutOfRange, Rounding, Special};

/// Converts `bits` of `source` to an element of `target`.
///
/// `scalar_map` contains (key, value) bit patterns of this direction, in the order of the metadata.
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
        Kind::Float(float) => match number(bits, source) {
            Number::Nan => nan(bits, source, float),
            Number::Infinite { negative } => infinity(negative, float),
            Number::Finite(value) => match (to_float(value, float, rounding), out_of_range) {
                (Ok(converted), _) => Ok(converted),
                (Err(beyond), OutOfRange::Clamp) => Ok(clamped(beyond, float)),
                (Err(_), OutOfRange::Error | OutOfRange::Wrap) => Err(Fault::OutOfRange),
            },
        },
    }
}

/// Returns the value of the scalar map for an element. Equal bits match first, then equal values. `0.0` equals `-0.0`.
/// The canonical NaN matches every NaN, another NaN only itself. The first of equal keys wins.
fn mapped(bits: u64, source: Kind, scalar_map: &[(u64, u64)]) -> Option<u64> {
    let key_bits = |key: u64| key & mask(source.width());
    let same_bits = scalar_map.iter().find(|(key, _)| key_bits(*key) == bits);
    let same_value = || {
        let Kind::Float(float) = source else { return None };
        scalar_map.iter().find(|(key, _)| match (number(key_bits(*key), source), number(bits, source)) {
            (Number::Nan, Number::Nan) => Some(key_bits(*key)) == canonical_nan(float),
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
    // A value from 2^100 on is an integer, far outside every type. Only its residue is needed.
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

/// Converts a NaN to another float type: the sign, the leading bits of the payload, and quiet, if both types have them.
fn nan(bits: u64, source: Kind, target: Float) -> Result<u64, Fault> {
    let Kind::Float(source) = source else { unreachable!("integers have no NaN") };
    let canonical = canonical_nan(target).ok_or(Fault::NotANumber)?;
    if [source, target].iter().any(|float| !matches!(float.special, Special::Ieee | Special::NanForAllOnes)) {
        return Ok(canonical);
    }
    let negative = bits >> (source.exponent_bits + source.mantissa_bits) == 1;
    let sign = u64::from(negative) << (target.exponent_bits + target.mantissa_bits);
    if source.special != Special::Ieee || target.special != Special::Ieee {
        return Ok(canonical | sign);
    }
    let fraction = bits & mask(source.mantissa_bits);
    let payload = if target.mantissa_bits >= source.mantissa_bits {
        fraction << (target.mantissa_bits - source.mantissa_bits)
    } else {
        fraction >> (source.mantissa_bits - target.mantissa_bits)
    };
    Ok(canonical | payload | sign)
}

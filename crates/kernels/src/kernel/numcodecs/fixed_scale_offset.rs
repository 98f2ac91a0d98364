//! `fixedscaleoffset`: `around((x - offset) * scale)` cast to `astype`. Decoding is `(x / scale) + offset`, cast to
//! `dtype` last (SEMANTICS: A1.10).
//!
//! Floats are computed in their own type. Integers stay integers and wrap if the numbers of the configuration are
//! integers of the same type. A quotient of integers, and integers with a float, are float64. A value that does not fit
//! `astype` wraps, too, or becomes infinite, as in numpy. Only NaN, infinities and values too great to wrap are faults.

use num_traits::AsPrimitive;

use super::{ElementFilter, Number, NumpyCast, OverflowRule, PythonNumber, Real, float64};
use crate::element::{ElementType, NumberType};
use crate::kernel::FaultKind;
use crate::{with_element, with_float, with_integer};

/// Returns the float type in which a type divides.
fn quotient(number_type: NumberType) -> NumberType {
    if number_type.is_float() { number_type } else { NumberType::of(ElementType::Float64) }
}

/// Returns a number of a configuration as the nearest float64, as Python does.
fn float(number: PythonNumber) -> f64 {
    match number {
        PythonNumber::Integer(integer) => integer.as_(),
        PythonNumber::Float(float) => float,
    }
}

/// Returns a number of a configuration as an integer of the type. `None` if it is not one.
fn integer<T: Number>(number: PythonNumber) -> Option<T> {
    match number {
        PythonNumber::Integer(integer) if !T::TYPE.is_float() => num_traits::cast(integer),
        _ => None,
    }
}

/// Binds `fixedscaleoffset` to `dtype` and `astype`. `offset` is subtracted first, then the result is multiplied by
/// `scale`.
pub fn fixed_scale_offset(
    (decoded, encoded): (NumberType, NumberType),
    offset: PythonNumber,
    scale: PythonNumber,
) -> ElementFilter {
    let between = with_element!(decoded.element(), T => {
        let stays = integer::<T>(offset).is_some() && integer::<T>(scale).is_some();
        if stays { decoded } else { quotient(decoded) }
    });
    let encode = NumpyCast::new(between, encoded, OverflowRule::Numpy);
    let decode = NumpyCast::new(quotient(encoded), decoded, OverflowRule::Numpy);
    let encode = move |elements: &[u8], results: &mut [u8]| {
        with_integer!(
            decoded.element(),
            T => match (integer::<T>(offset), integer::<T>(scale)) {
                (Some(offset), Some(scale)) => {
                    encode.after_each(elements, results, |value: T| Ok(value.minus(offset).times(scale)))
                }
                // An offset of the same integer type is subtracted as integers.
                (Some(offset), _) => {
                    let scale = float(scale);
                    encode.after_each(elements, results, |value: T| Ok((float64(value.minus(offset)) * scale).rounded()))
                }
                _ => {
                    let (offset, scale) = (float(offset), float(scale));
                    encode.after_each(elements, results, |value: T| Ok(((float64(value) - offset) * scale).rounded()))
                }
            },
            else with_float!(
                decoded.element(),
                T => {
                    let (offset, scale) = (T::nearest(float(offset)), T::nearest(float(scale)));
                    encode.after_each(elements, results, |value: T| Ok(value.minus(offset).times(scale).rounded()))
                },
                else Ok(())
            )
        )
    };
    let decode = move |elements: &[u8], results: &mut [u8]| {
        with_float!(
            encoded.element(),
            T => {
                let (offset, scale) = (T::nearest(float(offset)), T::nearest(float(scale)));
                decode.after_each(elements, results, |value: T| Ok(value / scale + offset))
            },
            else with_integer!(
                encoded.element(),
                T => {
                    let (offset, scale) = (float(offset), float(scale));
                    decode.after_each(elements, results, |value: T| Ok(float64(value) / scale + offset))
                },
                else Ok(())
            )
        )
    };
    ElementFilter::new((decoded, encoded), encode, decode)
}

/// With fewer digits numcodecs itself fails with an overflow.
pub const LEAST_DIGITS: i32 = -308;

/// With more digits numcodecs itself fails with an overflow.
pub const GREATEST_DIGITS: i32 = 307;

/// Returns the exponent of the scale: the least integer that is not below `digits` times log2(10).
#[expect(clippy::cast_possible_truncation, reason = "for so few digits it is at most 1024")]
pub fn scale_exponent(digits: i32) -> i32 {
    (f64::from(digits) * std::f64::consts::LOG2_10).ceil() as i32
}

/// Binds `quantize` to the floats `dtype` and `astype`, and decimal digits from [`LEAST_DIGITS`] to
/// [`GREATEST_DIGITS`].
pub fn quantize((decoded, encoded): (NumberType, NumberType), digits: i32) -> ElementFilter {
    let scale = 2_f64.powi(scale_exponent(digits.clamp(LEAST_DIGITS, GREATEST_DIGITS)));
    let encode = NumpyCast::new(decoded, encoded, OverflowRule::Fault);
    let decode = NumpyCast::new(encoded, decoded, OverflowRule::Numpy);
    let encode = move |elements: &[u8], results: &mut [u8]| {
        with_float!(decoded.element(), T => {
            let scale = T::nearest(scale);
            encode.after_each(elements, results, |value: T| {
                let rounded = (scale * value).rounded() / scale;
                if rounded.is_finite() || !value.is_finite() { Ok(rounded) } else { Err(FaultKind::Overflow) }
            })
        }, else Ok(()))
    };
    ElementFilter::new((decoded, encoded), encode, move |elements, results| decode.convert(elements, results))
}

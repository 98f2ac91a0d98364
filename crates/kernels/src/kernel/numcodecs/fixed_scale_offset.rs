//! `fixedscaleoffset`: `around((x - offset) * scale)` cast to `astype`. Decoding is `(x / scale) + offset`, cast to
//! `dtype` last (SEMANTICS: A1.10).
//!
//! Floats are computed in their own type. Integers stay integers and wrap if the numbers of the configuration are
//! integers of the same type. A quotient of integers, and integers with a float, are float64. A value that does not fit
//! `astype` wraps, too, or becomes infinite, as in numpy. Only NaN, infinities and values too great to wrap are faults.

use std::sync::Arc;

use num_traits::AsPrimitive;

use super::cast::{Number, NumpyCast, OverflowRule, Real};
use super::{ElementFilter, FilterElements, PythonNumber};
use crate::element::{ElementType, NumberType};
use crate::kernel::{ElementFault, FaultKind};
use crate::{with_element, with_float, with_integer};

#[derive(Debug)]
struct FixedScaleOffset {
    decoded: NumberType,
    encoded: NumberType,
    offset: PythonNumber,
    scale: PythonNumber,
    encode: NumpyCast,
    decode: NumpyCast,
}

/// Returns the float type in which a type divides.
fn quotient(number_type: NumberType) -> NumberType {
    if number_type.is_float() { number_type } else { NumberType::of(ElementType::Float64) }
}

/// Returns a number of a configuration as a float64.
#[expect(clippy::cast_precision_loss, reason = "Python uses the nearest, too")]
fn float(number: PythonNumber) -> f64 {
    match number {
        PythonNumber::Integer(integer) => integer as f64,
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
    let encode = NumpyCast::new(between, encoded, OverflowRule::Wrapping);
    let decode = NumpyCast::new(quotient(encoded), decoded, OverflowRule::Numpy);
    Arc::new(FixedScaleOffset { decoded, encoded, offset, scale, encode, decode })
}

impl FilterElements for FixedScaleOffset {
    fn types(&self) -> (NumberType, NumberType) {
        (self.decoded, self.encoded)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        with_integer!(
            self.decoded.element(),
            T => match (integer::<T>(self.offset), integer::<T>(self.scale)) {
                (Some(offset), Some(scale)) => {
                    self.encode.after_each(decoded, encoded, |value: T| Ok(value.minus(offset).times(scale)))
                }
                (offset, _) => {
                    let scale = float(self.scale);
                    let scaled = |value: T| (self.difference(offset, value) * scale).rounded();
                    self.encode.after_each(decoded, encoded, |value| Ok(scaled(value)))
                }
            },
            else with_float!(
                self.decoded.element(),
                T => {
                    let (offset, scale) = (T::nearest(float(self.offset)), T::nearest(float(self.scale)));
                    let scaled = |value: T| value.minus(offset).times(scale).rounded();
                    self.encode.after_each(decoded, encoded, |value| Ok(scaled(value)))
                },
                else Ok(())
            )
        )
    }

    fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        with_float!(
            self.encoded.element(),
            T => {
                let (offset, scale) = (T::nearest(float(self.offset)), T::nearest(float(self.scale)));
                self.decode.after_each(encoded, decoded, |value: T| Ok(value / scale + offset))
            },
            else with_integer!(
                self.encoded.element(),
                T => {
                    let (offset, scale) = (float(self.offset), float(self.scale));
                    self.decode.after_each(encoded, decoded, |value: T| Ok(AsPrimitive::<f64>::as_(value) / scale + offset))
                },
                else Ok(())
            )
        )
    }
}

impl FixedScaleOffset {
    /// Returns an integer less the offset, as float64. An offset of the same integer type is subtracted as integers.
    fn difference<T: Number>(&self, offset: Option<T>, value: T) -> f64 {
        offset.map_or_else(|| value.as_() - float(self.offset), |offset| value.minus(offset).as_())
    }
}

/// With fewer digits numcodecs itself fails with an overflow.
pub const LEAST_DIGITS: i32 = -308;

/// With more digits numcodecs itself fails with an overflow.
pub const GREATEST_DIGITS: i32 = 307;

#[derive(Debug)]
struct Quantize {
    decoded: NumberType,
    encoded: NumberType,
    scale: f64,
    encode: NumpyCast,
    decode: NumpyCast,
}

/// Returns the exponent of the scale: the least integer that is not below `digits` times log2(10).
#[expect(clippy::cast_possible_truncation, reason = "for so few digits it is at most 1024")]
pub(super) fn scale_exponent(digits: i32) -> i32 {
    (f64::from(digits) * std::f64::consts::LOG2_10).ceil() as i32
}

/// Binds `quantize` to the floats `dtype` and `astype`, and decimal digits from [`LEAST_DIGITS`] to
/// [`GREATEST_DIGITS`].
pub fn quantize((decoded, encoded): (NumberType, NumberType), digits: i32) -> ElementFilter {
    let digits = digits.clamp(LEAST_DIGITS, GREATEST_DIGITS);
    Arc::new(Quantize {
        decoded,
        encoded,
        scale: 2_f64.powi(scale_exponent(digits)),
        encode: NumpyCast::new(decoded, encoded, OverflowRule::Fault),
        decode: NumpyCast::new(encoded, decoded, OverflowRule::Numpy),
    })
}

impl Quantize {
    fn round<T: Real>(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        let scale = T::nearest(self.scale);
        let round = |value: T| {
            let rounded = (scale * value).rounded() / scale;
            if rounded.is_finite() || !value.is_finite() { Ok(rounded) } else { Err(FaultKind::Overflow) }
        };
        self.encode.after_each(decoded, encoded, round)
    }
}

impl FilterElements for Quantize {
    fn types(&self) -> (NumberType, NumberType) {
        (self.decoded, self.encoded)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        with_float!(self.decoded.element(), T => self.round::<T>(decoded, encoded), else Ok(()))
    }

    fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        self.decode.convert(encoded, decoded)
    }
}

//! `fixedscaleoffset`: `around((x - offset) * scale)` cast to `astype`; back `(x / scale) + offset`, cast to `dtype`
//! last (SEMANTICS: A1.10).
//!
//! Floats calculate in their own type. Integers stay integers where the numbers of the configuration are integers of
//! the same type; a quotient of integers, and what meets a float, is float64.

use half::f16;

use super::PythonNumber;
use super::cast::{Excess, NumpyCast, map_elements};
use super::number::{Number, Real};
use crate::element::{ElementType, NumberType};
use crate::kernel::{ElementFault, FaultKind};
use crate::{with_element, with_float, with_integer};

/// A bound `fixedscaleoffset`.
#[derive(Debug, Clone)]
pub struct FixedScaleOffset {
    decoded: NumberType,
    encoded: NumberType,
    offset: PythonNumber,
    scale: PythonNumber,
    encode: NumpyCast,
    decode: NumpyCast,
}

/// The float type in which a type divides.
fn quotient(number_type: NumberType) -> NumberType {
    if number_type.is_float() { number_type } else { NumberType::of(ElementType::Float64) }
}

/// A number of a configuration as a float64.
#[expect(clippy::cast_precision_loss, reason = "the nearest is what Python takes")]
fn float(number: PythonNumber) -> f64 {
    match number {
        PythonNumber::Integer(integer) => integer as f64,
        PythonNumber::Float(float) => float,
    }
}

/// The integer of a type that a number of a configuration is.
fn integer<T: Number>(number: PythonNumber) -> Option<i128> {
    match number {
        PythonNumber::Integer(integer) => T::from_integer(integer).map(|_| integer),
        PythonNumber::Float(_) => None,
    }
}

impl FixedScaleOffset {
    pub(super) fn new(
        (decoded, encoded): (NumberType, NumberType),
        offset: PythonNumber,
        scale: PythonNumber,
    ) -> Self {
        let between = with_element!(decoded.element(), T => {
            let stays = integer::<T>(offset).is_some() && integer::<T>(scale).is_some();
            if stays { decoded } else { quotient(decoded) }
        });
        let encode = NumpyCast::new(between, encoded, Excess::Fault);
        let decode = NumpyCast::new(quotient(encoded), decoded, Excess::Numpy);
        FixedScaleOffset { decoded, encoded, offset, scale, encode, decode }
    }

    pub(super) fn types(&self) -> (NumberType, NumberType) {
        (self.decoded, self.encoded)
    }

    pub(super) fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        with_integer!(
            self.decoded.element(),
            T => match (integer::<T>(self.offset), integer::<T>(self.scale)) {
                (Some(offset), Some(scale)) => self.encode_integers::<T>(offset, scale, decoded, encoded),
                (offset, _) => self.encode_as_float64::<T>(offset, decoded, encoded),
            },
            else with_float!(
                self.decoded.element(),
                T => {
                    let (offset, scale) = (T::nearest(float(self.offset)), T::nearest(float(self.scale)));
                    self.encode_by::<T, T>(decoded, encoded, |value| {
                        let scaled = value.minus(offset).times(scale).rounded();
                        if scaled.is_finite() || !value.is_finite() { Ok(scaled) } else { Err(FaultKind::Overflow) }
                    })
                },
                else Ok(())
            )
        )
    }

    /// Calculates exactly: where numpy would wrap is a fault.
    fn encode_integers<T: Number>(
        &self,
        offset: i128,
        scale: i128,
        decoded: &[u8],
        encoded: &mut [u8],
    ) -> Result<(), ElementFault> {
        self.encode_by::<T, T>(decoded, encoded, |value| {
            let difference = value.to_integer().and_then(|value| T::from_integer(value.checked_sub(offset)?));
            let product = difference.and_then(|difference| difference.to_integer()?.checked_mul(scale));
            product.and_then(T::from_integer).ok_or(FaultKind::Overflow)
        })
    }

    /// Integers that meet a float: with an integer of their type first, as integers.
    fn encode_as_float64<T: Number>(
        &self,
        offset: Option<i128>,
        decoded: &[u8],
        encoded: &mut [u8],
    ) -> Result<(), ElementFault> {
        let scale = float(self.scale);
        self.encode_by::<T, f64>(decoded, encoded, |value| {
            let difference = match offset {
                None => value.to_f64() - float(self.offset),
                Some(offset) => {
                    let exact = value.to_integer().and_then(|value| value.checked_sub(offset));
                    exact.and_then(T::from_integer).ok_or(FaultKind::Overflow)?.to_f64()
                }
            };
            Ok((difference * scale).rounded())
        })
    }

    fn encode_by<S: Number, I: Number>(
        &self,
        decoded: &[u8],
        encoded: &mut [u8],
        mut scale: impl FnMut(S) -> Result<I, FaultKind>,
    ) -> Result<(), ElementFault> {
        self.encode.after(
            (decoded, size_of::<S>()),
            (encoded, self.encoded.size()),
            size_of::<I>(),
            |source, target| map_elements::<S, I>(source, target, &mut scale),
        )
    }

    pub(super) fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        match self.encoded.element() {
            ElementType::Float16 => self.decode_floats::<f16>(encoded, decoded),
            ElementType::Float32 => self.decode_floats::<f32>(encoded, decoded),
            ElementType::Float64 => self.decode_floats::<f64>(encoded, decoded),
            integers => with_element!(integers, T => {
                let (offset, scale) = (float(self.offset), float(self.scale));
                self.decode_by::<T, f64>(encoded, decoded, |value| value.to_f64() / scale + offset)
            }),
        }
    }

    fn decode_floats<T: Real>(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        let (offset, scale) = (T::nearest(float(self.offset)), T::nearest(float(self.scale)));
        self.decode_by::<T, T>(encoded, decoded, |value| value.over(scale).plus(offset))
    }

    fn decode_by<S: Number, I: Number>(
        &self,
        encoded: &[u8],
        decoded: &mut [u8],
        mut unscale: impl FnMut(S) -> I,
    ) -> Result<(), ElementFault> {
        self.decode.after(
            (encoded, size_of::<S>()),
            (decoded, self.decoded.size()),
            size_of::<I>(),
            |source, target| map_elements::<S, I>(source, target, |value| Ok(unscale(value))),
        )
    }
}

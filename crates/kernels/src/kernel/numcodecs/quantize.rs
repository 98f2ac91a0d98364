//! `quantize`: floats rounded to the power of two next below a number of decimal digits; decoding casts alone.

use std::sync::Arc;

use super::cast::{Excess, NumpyCast, map_elements};
use super::number::Real;
use super::{ElementFilter, FilterElements};
use crate::element::NumberType;
use crate::kernel::{ElementFault, FaultKind};
use crate::with_float;

/// With fewer digits numcodecs itself ends in an overflow.
pub const LEAST_DIGITS: i32 = -308;

/// With more digits numcodecs itself ends in an overflow.
pub const GREATEST_DIGITS: i32 = 307;

/// A bound `quantize`.
#[derive(Debug)]
struct Quantize {
    decoded: NumberType,
    encoded: NumberType,
    scale: f64,
    encode: NumpyCast,
    decode: NumpyCast,
}

/// The exponent of the scale: the least that is no less than `digits` times log2(10).
#[expect(clippy::cast_possible_truncation, reason = "of so few digits it is no more than 1024")]
pub(super) fn scale_exponent(digits: i32) -> i32 {
    (f64::from(digits) * std::f64::consts::LOG2_10).ceil() as i32
}

/// Binds `quantize` to `dtype` and `astype`, of floats, and decimal digits from [`LEAST_DIGITS`] to [`GREATEST_DIGITS`].
pub fn quantize((decoded, encoded): (NumberType, NumberType), digits: i32) -> ElementFilter {
    let digits = digits.clamp(LEAST_DIGITS, GREATEST_DIGITS);
    Arc::new(Quantize {
        decoded,
        encoded,
        scale: 2_f64.powi(scale_exponent(digits)),
        encode: NumpyCast::new(decoded, encoded, Excess::Fault),
        decode: NumpyCast::new(encoded, decoded, Excess::Numpy),
    })
}

impl Quantize {
    fn round<T: Real>(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        let scale = T::nearest(self.scale);
        let round = |value: T| {
            let rounded = scale.times(value).rounded().over(scale);
            if rounded.is_finite() || !value.is_finite() { Ok(rounded) } else { Err(FaultKind::Overflow) }
        };
        self.encode.after(
            (decoded, size_of::<T>()),
            (encoded, self.encoded.size()),
            size_of::<T>(),
            |source, target| map_elements::<T, T>(source, target, round),
        )
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

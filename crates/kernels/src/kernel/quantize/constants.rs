//! The numbers that the loop of a quantisation calculates with, and the float types that it measures in.

use num_traits::{Float as _, One as _, Zero as _};

use super::QuantizeOptions;
use crate::element::FloatFormat;
use crate::kernel::OutOfRange;
use crate::kernel::narrow::FloatElement;
use crate::kernel::round::WideFloat;

/// The constants of a loop, in the float type of the calculation.
#[derive(Clone, Copy)]
pub(super) struct Constants<S: FloatElement> {
    offset: S::Wide,
    /// The number that decoding adds. Without an offset it is -0.0, which changes nothing.
    added: S::Wide,
    scale: S::Wide,
    /// The reciprocal of the scale in two parts.
    reciprocal: (S::Wide, S::Wide),
    pub(super) codes: (S::Wide, S::Wide),
    pub(super) nan_code: S::Wide,
    /// True if finite values out of range get the first or the last code.
    pub(super) clamps: bool,
    pub(super) normalizer: f64,
    /// The greatest difference that the calculation represents exactly: all values are multiples of the source's least
    /// positive value.
    pub(super) exact_up_to: f64,
}

impl<S: FloatElement<Wide: Measured>> Constants<S> {
    pub(super) fn new(options: &QuantizeOptions, normalizer: f64) -> Self {
        let wide = |bits: u64| S::from_bits64(bits).widen();
        let scale = options.scale.map_or(S::Wide::one(), wide);
        Constants {
            offset: options.offset.map_or(S::Wide::zero(), wide),
            added: options.offset.map_or(S::Wide::neg_zero(), wide),
            scale,
            reciprocal: scale.split_reciprocal(),
            codes: (S::Wide::of_code(options.codes.0), S::Wide::of_code(options.codes.1)),
            nan_code: S::Wide::of_code(options.nan_code.unwrap_or(options.codes.0)),
            clamps: options.out_of_range == OutOfRange::Clamp,
            normalizer,
            exact_up_to: FloatFormat::from_element(S::TYPE)
                .map_or(0.0, |format| least(format) * S::Wide::INTEGRAL.as_f64()),
        }
    }

    /// Returns true if only NaN is scaled to NaN.
    pub(super) fn keep_numbers(&self) -> bool {
        self.offset.is_finite() && self.scale.is_finite() && self.scale != S::Wide::zero()
    }

    #[inline(always)]
    pub(super) fn scale(&self, x: S::Wide) -> S::Wide {
        S::round(S::round(x - self.offset) * self.scale)
    }

    /// Decodes a code by a division, or by a multiplication with a proved equal result.
    #[inline(always)]
    pub(super) fn decode(&self, code: S::Wide, divides: bool) -> S::Wide {
        let unscaled =
            if divides { code / self.scale } else { code.mul_add(self.reciprocal.0, code * self.reciprocal.1) };
        S::round(S::round(unscaled) + self.added)
    }
}

/// Returns the least positive number of a format. It is 0 for float64, where the power underflows.
fn least(format: FloatFormat) -> f64 {
    let exponent = format.least_exponent() - format.fraction_bits.cast_signed();
    2_f64.powi(exponent)
}

/// A float type that errors are measured in.
pub(super) trait Measured: WideFloat {
    /// True if differences are already those of float64.
    const IS_FLOAT64: bool;
    /// One and a half times [`WideFloat::INTEGRAL`]. A sum with it rounds to an integer, ties to even, in the last
    /// bits.
    const SHIFT: Self;
    /// The range of errors whose squares are far from underflow and overflow.
    const SQUARED: (Self, Self);
    /// Returns the reciprocal, and its rounding error.
    fn split_reciprocal(self) -> (Self, Self);
    /// Returns the two's complement of an integer.
    ///
    /// # Safety
    ///
    /// It must be within ±2^24 (float32) or ±2^53 (float64).
    unsafe fn integer_bits(self) -> u64;
    /// Returns a code of at most 53 bits, which this type represents exactly.
    #[expect(clippy::cast_precision_loss, reason = "the codes of the loop are exact in its float type")]
    fn of_code(code: i64) -> Self {
        Self::of_f64(code as f64)
    }
}

impl Measured for f32 {
    const IS_FLOAT64: bool = false;
    const SHIFT: f32 = 12_582_912.0;
    const SQUARED: (f32, f32) = (1e-12, 1e12);

    fn split_reciprocal(self) -> (f32, f32) {
        let nearest = 1.0 / self;
        // The product is exact in float64, and so is the difference.
        let scale = f64::from(self);
        (nearest, f32::of_f64((1.0 - f64::from(nearest) * scale) / scale))
    }

    #[inline(always)]
    unsafe fn integer_bits(self) -> u64 {
        // SAFETY: the caller guarantees that it is within ±2^24, and so within an i32.
        i64::from(unsafe { self.to_int_unchecked::<i32>() }).cast_unsigned()
    }
}

impl Measured for f64 {
    const IS_FLOAT64: bool = true;
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const SQUARED: (f64, f64) = (1e-120, 1e120);

    fn split_reciprocal(self) -> (f64, f64) {
        let nearest = 1.0 / self;
        (nearest, (-nearest).mul_add(self, 1.0) / self)
    }

    #[inline(always)]
    unsafe fn integer_bits(self) -> u64 {
        // SAFETY: the caller guarantees that it is within ±2^53, and so within an i64.
        unsafe { self.to_int_unchecked::<i64>() }.cast_unsigned()
    }
}

//! Rounding to an integer, the float types that the loops calculate with, and integers as the loops use them: truncated
//! to a size, and converted to floats without a second rounding.

use num_traits::{AsPrimitive, Float};

use super::Rounding;
use crate::element::Element;

/// An integer type that floats are truncated to.
pub(crate) trait OfFloat: Element {
    /// True if the float types may not represent its greatest value.
    const IS_WIDE: bool;
    /// # Safety
    ///
    /// `value` must be an integer in the range of the type, or of an i32 for 8 and 16 bits.
    unsafe fn of_f32(value: f32) -> Self;
    /// # Safety
    ///
    /// See [`Self::of_f32`].
    unsafe fn of_f64(value: f64) -> Self;
}

macro_rules! of_float {
    ($($type:ty, $through:ty, $is_wide:literal);*) => {$(
        // For 8 and 16 bits the low bits are the result.
        impl OfFloat for $type {
            const IS_WIDE: bool = $is_wide;
            #[inline(always)]
            unsafe fn of_f32(value: f32) -> $type {
                // SAFETY: the caller guarantees that it is in range.
                unsafe { value.to_int_unchecked::<$through>() }.as_()
            }
            #[inline(always)]
            unsafe fn of_f64(value: f64) -> $type {
                // SAFETY: the caller guarantees that it is in range.
                unsafe { value.to_int_unchecked::<$through>() }.as_()
            }
        }
    )*};
}

of_float!(u8, i32, false; u16, i32, false; i32, i32, true; u32, u32, true; i64, i64, true; u64, u64, true);

/// A rounding as a type, so that each has its own loop.
pub(crate) trait RoundingMode: Copy + Send + Sync + 'static {
    const ROUNDING: Rounding;
}

macro_rules! rounding_modes {
    ($($mode:ident),*) => {$(
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $mode;
        impl RoundingMode for $mode {
            const ROUNDING: Rounding = Rounding::$mode;
        }
    )*};
}

rounding_modes!(NearestEven, TowardsZero, TowardsPositive, TowardsNegative, NearestAway);

/// Runs an expression with a type name bound to the [`RoundingMode`] of a [`Rounding`].
macro_rules! with_rounding {
    ($rounding:expr, $M:ident => $body:expr) => {
        $crate::kernel::round::with_rounding!(
            [NearestEven, TowardsZero, TowardsPositive, TowardsNegative, NearestAway] $rounding, $M => $body
        )
    };
    ([$($mode:ident),*] $rounding:expr, $M:ident => $body:expr) => {
        match $rounding {
            $($crate::kernel::Rounding::$mode => {
                type $M = $crate::kernel::round::$mode;
                $body
            })*
        }
    };
}
pub(crate) use with_rounding;

/// A float type that machines calculate with: float32 or float64.
pub(crate) trait WideFloat: Element + Float {
    /// 2^23 or 2^52. Floats from here on are all integers, and adding a smaller magnitude rounds it to one.
    const INTEGRAL: Self;
    /// # Safety
    ///
    /// See [`OfFloat::of_f32`].
    unsafe fn to_integer<T: OfFloat>(self) -> T;
    /// Returns the nearest integer, ties to even.
    fn nearest_integer(self) -> Self;
    /// Returns the nearest value of this type.
    fn of_f64(value: f64) -> Self;
    fn as_f64(self) -> f64;
}

macro_rules! wide_float {
    ($type:ident, $integral:expr, $to_integer:ident) => {
        impl WideFloat for $type {
            const INTEGRAL: $type = $integral;

            #[inline(always)]
            unsafe fn to_integer<T: OfFloat>(self) -> T {
                // SAFETY: the contract is the same.
                unsafe { T::$to_integer(self) }
            }

            #[inline(always)]
            fn nearest_integer(self) -> $type {
                self.round_ties_even()
            }

            #[inline(always)]
            fn of_f64(value: f64) -> $type {
                value.as_()
            }

            #[inline(always)]
            fn as_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}

wide_float!(f32, 8_388_608.0, of_f32);
wide_float!(f64, 4_503_599_627_370_496.0, of_f64);

/// A rounding to an integer. Infinities and NaN stay. The sign of a zero is unspecified.
pub(crate) trait RoundToInteger<W>: Copy + Send + Sync + 'static {
    const IS_NEAREST_EVEN: bool;
    fn round<const ROUNDS: bool>(self, x: W) -> W;
}

impl<W: WideFloat> RoundToInteger<W> for NearestEven {
    const IS_NEAREST_EVEN: bool = true;

    #[inline(always)]
    fn round<const ROUNDS: bool>(self, x: W) -> W {
        if ROUNDS {
            return x.nearest_integer();
        }
        let magnitude = x.abs();
        let nearest = ((magnitude + W::INTEGRAL) - W::INTEGRAL).copysign(x);
        if magnitude < W::INTEGRAL { nearest } else { x }
    }
}

/// Any other rounding: away from zero if the fraction is at least a limit, else towards zero. One loop for all of them
/// compiles in a quarter of the time.
#[derive(Clone, Copy)]
pub(crate) struct ByFraction<W> {
    of_negative: W,
    of_positive: W,
}

impl<W: WideFloat> ByFraction<W> {
    /// `None` for the rounding to nearest, ties to even.
    pub(crate) fn new(rounding: Rounding) -> Option<Self> {
        // Every fraction is less than one, and a multiple of the least positive number.
        let (any, half, none) = (W::from_bits64(1), W::of_f64(0.5), W::one());
        let (of_negative, of_positive) = match rounding {
            Rounding::NearestEven => return None,
            Rounding::NearestAway => (half, half),
            Rounding::TowardsZero => (none, none),
            Rounding::TowardsPositive => (none, any),
            Rounding::TowardsNegative => (any, none),
        };
        Some(ByFraction { of_negative, of_positive })
    }
}

impl<W: WideFloat> RoundToInteger<W> for ByFraction<W> {
    const IS_NEAREST_EVEN: bool = false;

    #[inline(always)]
    fn round<const ROUNDS: bool>(self, x: W) -> W {
        let magnitude = x.abs();
        let down = if ROUNDS {
            magnitude.floor()
        } else {
            let nearest = (magnitude + W::INTEGRAL) - W::INTEGRAL;
            if nearest > magnitude { nearest - W::one() } else { nearest }
        };
        let limit = if x < W::zero() { self.of_negative } else { self.of_positive };
        // The difference is exact. Adding one half first would round 0.49999999999999994 up.
        let step = if magnitude - down >= limit { W::one() } else { W::zero() };
        let rounded = (down + step).copysign(x);
        // From `INTEGRAL` on, the sum above rounds away more than a fraction.
        if ROUNDS || magnitude < W::INTEGRAL { rounded } else { x }
    }
}

/// Runs an expression with a [`RoundToInteger`] for a [`Rounding`].
macro_rules! with_integer_rounding {
    ($rounding:expr, $value:ident => $body:expr) => {
        if let Some($value) = $crate::kernel::round::ByFraction::new($rounding) {
            $body
        } else {
            let $value = $crate::kernel::round::NearestEven;
            $body
        }
    };
}
pub(crate) use with_integer_rounding;

/// An integer element. `as_` to a float returns the nearest, ties to even. `as_` to an integer returns the low bits,
/// sign-extended if the target is wider.
pub(crate) trait IntegerElement:
    Element + AsPrimitive<f32> + AsPrimitive<f64> + AsPrimitive<u8> + AsPrimitive<u16> + AsPrimitive<u32> + AsPrimitive<u64>
{
    const BITS: u32;
    /// Returns the exact float32 of an integer of at most 20 bits. Greater magnitudes become ±2^20.
    fn limited_f32(self) -> f32;
    /// Returns the nearest float64, ties to even, and the exact difference from the integer.
    fn split_f64(self) -> (f64, f64);
}

macro_rules! integer_element {
    ($($type:ty: $half:ty),*) => {$(
        #[expect(clippy::allow_attributes, reason = "which lint applies depends on the type")]
        #[allow(
            clippy::cast_precision_loss, clippy::cast_lossless, clippy::cast_possible_truncation, clippy::cast_sign_loss,
            clippy::cast_possible_wrap,
            reason = "rounding and truncating are the contract"
        )]
        impl IntegerElement for $type {
            const BITS: u32 = <$type>::BITS;
            #[inline(always)]
            fn limited_f32(self) -> f32 {
                if Self::BITS <= 16 {
                    return self as f32;
                }
                let (least, greatest) = ((<$half>::MIN >> 11) as $type, 1_048_576_u64 as $type);
                (self.clamp(least, greatest) as i32) as f32
            }
            #[inline(always)]
            fn split_f64(self) -> (f64, f64) {
                if Self::BITS <= 32 {
                    return (self as f64, 0.0);
                }
                // Both halves are exact, and the lower is less than the upper, or the upper is 0. So the rest is exact,
                // too.
                let upper = f64::from((self as u64 >> 32) as u32 as $half) * 4_294_967_296.0;
                let lower = f64::from(self as u32);
                let sum = upper + lower;
                (sum, lower - (sum - upper))
            }
        }
    )*};
}

integer_element!(i8: i32, i16: i32, i32: i32, i64: i32, u8: u32, u16: u32, u32: u32, u64: u32);

/// Returns the float64 of an integer, rounded to odd. A second rounding to at least two bits fewer then equals a single
/// one.
#[inline(always)]
pub(crate) fn odd_f64<S: IntegerElement>(integer: S) -> f64 {
    let (nearest, rest) = integer.split_f64();
    let bits = nearest.to_bits();
    let towards = if (rest > 0.0) == (nearest > 0.0) { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f64::from_bits(if (rest == 0.0) | (bits & 1 == 1) { bits } else { towards })
}

/// Returns the float64 of an integer, rounded by `M`.
#[inline(always)]
pub(crate) fn rounded_f64<S: IntegerElement, M: RoundingMode>(integer: S) -> f64 {
    if S::BITS <= 32 || M::ROUNDING == Rounding::NearestEven {
        return integer.as_();
    }
    let (nearest, rest) = integer.split_f64();
    let is_positive = nearest > 0.0;
    let bits = nearest.to_bits();
    let (outwards, inwards) = (bits.wrapping_add(1), bits.wrapping_sub(1));
    let (upwards, downwards) = if is_positive { (outwards, inwards) } else { (inwards, outwards) };
    let rounded = match M::ROUNDING {
        Rounding::TowardsPositive if rest > 0.0 => upwards,
        Rounding::TowardsNegative if rest < 0.0 => downwards,
        Rounding::TowardsZero if (rest != 0.0) & ((rest > 0.0) != is_positive) => inwards,
        Rounding::TowardsPositive | Rounding::TowardsNegative | Rounding::TowardsZero => bits,
        Rounding::NearestAway | Rounding::NearestEven => {
            // The sum with twice the rest is exact only if the integer is half-way between two floats.
            let other = nearest + (rest + rest);
            let is_tie = other - nearest == rest + rest;
            if is_tie & (other.abs() > nearest.abs()) { other.to_bits() } else { bits }
        }
    };
    f64::from_bits(rounded)
}

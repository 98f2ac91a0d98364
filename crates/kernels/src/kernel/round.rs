//! Rounding to an integer, and the float types that the loops calculate with.

use num_traits::Float;

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
        #[expect(clippy::allow_attributes, reason = "which lint applies depends on the type")]
        #[allow(
            clippy::cast_possible_truncation, clippy::cast_sign_loss, trivial_numeric_casts,
            reason = "for 8 and 16 bits the low bits are the result"
        )]
        impl OfFloat for $type {
            const IS_WIDE: bool = $is_wide;
            #[inline(always)]
            unsafe fn of_f32(value: f32) -> $type {
                // SAFETY: the caller guarantees that it is in range.
                unsafe { value.to_int_unchecked::<$through>() as $type }
            }
            #[inline(always)]
            unsafe fn of_f64(value: f64) -> $type {
                // SAFETY: the caller guarantees that it is in range.
                unsafe { value.to_int_unchecked::<$through>() as $type }
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

            #[expect(clippy::allow_attributes, reason = "one of the two types is float64 itself")]
            #[allow(clippy::cast_possible_truncation, trivial_numeric_casts, reason = "rounding is the contract")]
            #[inline(always)]
            fn of_f64(value: f64) -> $type {
                value as $type
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

/// Rounds to an integer by an instruction.
#[inline(always)]
fn round_natively<W: WideFloat>(x: W, rounding: Rounding) -> W {
    match rounding {
        Rounding::NearestEven => x.nearest_integer(),
        Rounding::TowardsZero => x.trunc(),
        Rounding::TowardsPositive => x.ceil(),
        Rounding::TowardsNegative => x.floor(),
        Rounding::NearestAway => {
            // The difference is exact. Adding one half first would round 0.49999999999999994 up.
            let integer = x.trunc();
            let step = if (x - integer).abs() >= W::of_f64(0.5) { W::one() } else { W::zero() };
            integer + step.copysign(x)
        }
    }
}

/// Rounds to an integer. Infinities and NaN stay. The sign of a zero is unspecified.
#[inline(always)]
pub(crate) fn round<W: WideFloat, M: RoundingMode, const ROUNDS: bool>(x: W) -> W {
    if ROUNDS {
        return round_natively(x, M::ROUNDING);
    }
    let magnitude = x.abs();
    let nearest = (magnitude + W::INTEGRAL) - W::INTEGRAL;
    let down = if nearest > magnitude { nearest - W::one() } else { nearest };
    let rounded = match M::ROUNDING {
        Rounding::NearestEven => nearest.copysign(x),
        Rounding::TowardsZero => down.copysign(x),
        Rounding::NearestAway => {
            let away = if magnitude - down >= W::of_f64(0.5) { down + W::one() } else { down };
            away.copysign(x)
        }
        Rounding::TowardsPositive => {
            let nearest = nearest.copysign(x);
            if nearest < x { nearest + W::one() } else { nearest }
        }
        Rounding::TowardsNegative => {
            let nearest = nearest.copysign(x);
            if nearest > x { nearest - W::one() } else { nearest }
        }
    };
    if magnitude < W::INTEGRAL { rounded } else { x }
}

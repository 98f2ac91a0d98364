//! The arithmetic of numpy's types, each operation rounded once, or wrapping.

use half::f16;

use crate::element::Element;

/// A number of any type.
pub(super) trait Number: Element {
    /// Their sum; integers wrap.
    fn plus(self, other: Self) -> Self;
    /// Their difference; integers wrap.
    fn minus(self, other: Self) -> Self;
    /// Their product; integers wrap.
    fn times(self, other: Self) -> Self;
    /// The nearest float64.
    fn to_f64(self) -> f64;
    /// The integer that it is; `None` for floats.
    fn to_integer(self) -> Option<i128>;
    /// The integer of the type; `None` outside of it, and for floats.
    fn from_integer(integer: i128) -> Option<Self>;
}

/// A float.
pub(super) trait Real: Number {
    /// The nearest to a float64, as a weak Python float becomes one of the array's type.
    fn nearest(value: f64) -> Self;
    /// Their quotient.
    fn over(self, other: Self) -> Self;
    /// The nearest integer, ties to even.
    fn rounded(self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "rounding once is the contract")]
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn to_integer(self) -> Option<i128> {
                Some(i128::from(self))
            }
            fn from_integer(integer: i128) -> Option<Self> {
                Self::try_from(integer).ok()
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty, $value:ident => $nearest:expr, $to_f64:expr, $rounded:expr;)*) => {$(
        impl Number for $type {
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn to_f64(self) -> f64 {
                let $value = self;
                $to_f64
            }
            fn to_integer(self) -> Option<i128> {
                None
            }
            fn from_integer(_: i128) -> Option<Self> {
                None
            }
        }

        impl Real for $type {
            #[allow(clippy::cast_possible_truncation, reason = "rounding once is the contract")]
            fn nearest($value: f64) -> Self {
                $nearest
            }
            fn over(self, other: Self) -> Self {
                self / other
            }
            fn rounded(self) -> Self {
                let $value = self;
                $rounded
            }
            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);
floats!(
    f16, value => f16::from_f64(value), value.to_f64(), f16::from_f32(value.to_f32().round_ties_even());
    f32, value => value as f32, f64::from(value), value.round_ties_even();
    f64, value => value, value, value.round_ties_even();
);

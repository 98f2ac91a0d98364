//! The conversions of a cast: each gives the result of an element, and tells whether only the exact path knows it.

use std::marker::PhantomData;

use half::{bf16, f16};
use num_traits::AsPrimitive;

use crate::element::Element;
use crate::kernel::Rounding;
use crate::kernel::dispatch::Conversion;
use crate::kernel::integer::{IntegerElement, odd_f64, rounded_f64};
use crate::kernel::narrow::{ConvertFloat, FloatElement, odd_float32};
use crate::kernel::round::{OfFloat, RoundingMode, WideFloat, round};

/// The integers of a source that are no matter for the exact path, the least and the greatest.
#[derive(Clone, Copy)]
pub(super) struct Accepted<S>(pub(super) S, pub(super) S);

impl<S: Copy + PartialOrd> Accepted<S> {
    #[inline(always)]
    fn excludes(self, x: S) -> bool {
        (x < self.0) | (x > self.1)
    }
}

/// Integers to integers, or to the unsigned twin of their type.
#[derive(Clone, Copy)]
pub(super) struct IntegerToInteger<S, T> {
    pub(super) accepted: Accepted<S>,
    /// The bounds of the result.
    pub(super) bounds: (S, S),
    pub(super) target: PhantomData<T>,
}

impl<S: IntegerElement + AsPrimitive<T>, T: Element> Conversion for IntegerToInteger<S, T> {
    type Source = S;
    type Target = T;

    #[inline(always)]
    fn convert<const ROUNDS: bool>(self, x: S) -> (T, bool) {
        let bounded = if x < self.bounds.0 { self.bounds.0 } else { x };
        let bounded = if bounded > self.bounds.1 { self.bounds.1 } else { bounded };
        (bounded.as_(), self.accepted.excludes(x))
    }
}

/// Integers to floats; an integer source of fewer logical bits is tested besides.
#[derive(Clone, Copy)]
pub(super) struct IntegerToFloat<S, T, M> {
    pub(super) accepted: Accepted<S>,
    /// Whether overflow is a matter for the exact path.
    pub(super) is_checked: bool,
    pub(super) types: PhantomData<(T, M)>,
}

impl<S: IntegerElement, T: OfInteger, M: RoundingMode> Conversion for IntegerToFloat<S, T, M> {
    type Source = S;
    type Target = T;

    #[inline(always)]
    fn convert<const ROUNDS: bool>(self, x: S) -> (T, bool) {
        let (converted, is_out_of_range) = T::of_integer::<S, M>(x);
        (converted, self.accepted.excludes(x) | (is_out_of_range & self.is_checked))
    }
}

/// A float as the target of every integer.
pub(super) trait OfInteger: Element {
    fn of_integer<S: IntegerElement, M: RoundingMode>(integer: S) -> (Self, bool);
}

impl OfInteger for f16 {
    #[inline(always)]
    fn of_integer<S: IntegerElement, M: RoundingMode>(integer: S) -> (f16, bool) {
        integer.limited_f32().convert_float::<M>()
    }
}

impl OfInteger for bf16 {
    #[inline(always)]
    fn of_integer<S: IntegerElement, M: RoundingMode>(integer: S) -> (bf16, bool) {
        odd_f64(integer).convert_float::<M>()
    }
}

impl OfInteger for f32 {
    #[inline(always)]
    fn of_integer<S: IntegerElement, M: RoundingMode>(integer: S) -> (f32, bool) {
        if S::BITS <= 16 || M::ROUNDING == Rounding::NearestEven {
            (integer.as_(), false)
        } else {
            odd_f64(integer).convert_float::<M>()
        }
    }
}

impl OfInteger for f64 {
    #[inline(always)]
    fn of_integer<S: IntegerElement, M: RoundingMode>(integer: S) -> (f64, bool) {
        (rounded_f64::<S, M>(integer), false)
    }
}

/// Floats to other floats.
#[derive(Clone, Copy)]
pub(super) struct FloatToFloat<S, T, M> {
    /// Whether overflow is a matter for the exact path.
    pub(super) is_checked: bool,
    pub(super) types: PhantomData<(S, T, M)>,
}

impl<S: ConvertFloat<T>, T: Element, M: RoundingMode> Conversion for FloatToFloat<S, T, M> {
    type Source = S;
    type Target = T;

    #[inline(always)]
    fn convert<const ROUNDS: bool>(self, x: S) -> (T, bool) {
        let (converted, is_out_of_range) = x.convert_float::<M>();
        (converted, is_out_of_range & self.is_checked)
    }
}

/// The upper half of a float32, its last bit set where any of the lower half is: rounded to odd. A small float of a byte has
/// at most five bits of significand: its rounding is then the only one.
#[inline(always)]
fn key(value: f32) -> u16 {
    let bits = value.to_bits();
    (bits >> 16) as u16 | u16::from(bits & 0xffff != 0)
}

/// Floats to the [`key`] of what a table converts.
#[derive(Clone, Copy)]
pub(super) struct FloatToKey<S>(pub(super) PhantomData<S>);

impl Conversion for FloatToKey<f32> {
    type Source = f32;
    type Target = u16;

    #[inline(always)]
    fn convert<const ROUNDS: bool>(self, x: f32) -> (u16, bool) {
        (key(x), false)
    }
}

impl Conversion for FloatToKey<f64> {
    type Source = f64;
    type Target = u16;

    #[inline(always)]
    fn convert<const ROUNDS: bool>(self, x: f64) -> (u16, bool) {
        let is_beyond = (x.abs() > f64::from(f32::MAX)) & (x.abs() < f64::INFINITY);
        (key(odd_float32(x)), is_beyond)
    }
}

/// Integers to the [`key`] of what a table converts.
#[derive(Clone, Copy)]
pub(super) struct IntegerToKey<S>(pub(super) Accepted<S>);

impl<S: IntegerElement> Conversion for IntegerToKey<S> {
    type Source = S;
    type Target = u16;

    #[inline(always)]
    fn convert<const ROUNDS: bool>(self, x: S) -> (u16, bool) {
        (key(odd_float32(odd_f64(x))), self.0.excludes(x))
    }
}

/// Floats to integers; of 8 and 16 bits to the unsigned twin of their type.
#[derive(Clone, Copy)]
pub(super) struct FloatToInteger<S: FloatElement, T, M> {
    /// The floats that are no matter for the exact path, after rounding.
    pub(super) accepted: (S::Wide, S::Wide),
    /// The bounds of the result, in the range of `T`, or for 8 and 16 bits of an i32.
    pub(super) bounds: (S::Wide, S::Wide),
    /// The result of a float above its bound, which the float type may not hold.
    pub(super) greatest: T,
    /// The float that stands for NaN; NaN where there is none.
    pub(super) nan: S::Wide,
    pub(super) rounding: PhantomData<M>,
}

impl<S: FloatElement, T: OfFloat, M: RoundingMode> Conversion for FloatToInteger<S, T, M> {
    type Source = S;
    type Target = T;

    #[inline(always)]
    fn convert<const ROUNDS: bool>(self, x: S) -> (T, bool) {
        let x = x.widen();
        let x = if x == x { x } else { self.nan };
        let rounded = round::<S::Wide, M, ROUNDS>(x);
        // In this order NaN becomes the lower bound, and is never accepted.
        let bounded = if rounded > self.bounds.0 { rounded } else { self.bounds.0 };
        let bounded = if bounded < self.bounds.1 { bounded } else { self.bounds.1 };
        // SAFETY: the bounds lie in T's range, or for 8 and 16 bits in that of an i32; see `select`.
        let cut = unsafe { bounded.to_integer::<T>() };
        let cut = if T::IS_WIDE && rounded > self.bounds.1 { self.greatest } else { cut };
        (cut, !((rounded >= self.accepted.0) & (rounded <= self.accepted.1)))
    }
}

//! The loops of a cast. Each converts a tile, and tells whether the tile holds what only the exact path knows.

use std::marker::PhantomData;

use half::f16;

use crate::element::Element;
use crate::kernel::Rounding;
use crate::kernel::dispatch::{TileLoop, convert_each};
use crate::kernel::integer::{CutTo, IntegerElement, odd_f64, rounded_f64};
use crate::kernel::narrow::ConvertFloat;
use crate::kernel::round::{FloatElement, NearestEven, RoundingMode, WideFloat, round};
use crate::kernel::small_float::{SmallTarget, float32_of_bfloat16};

/// The constants of a cast's loop, as bits of the type that they are compared with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CastParameters {
    /// The values that are no matter for the exact path: of an integer source itself, of a float after rounding.
    pub(super) accepted: (u64, u64),
    /// The bounds of the result, in the same type.
    pub(super) bounds: (u64, u64),
    /// The target bits of a float above its bound, which the float type may not hold.
    pub(super) greatest: u64,
    /// The float that stands for NaN; NaN where there is none.
    pub(super) nan: u64,
    /// Whether a float target's overflow is a matter for the exact path.
    pub(super) is_checked: bool,
    /// The small float that is the target.
    pub(super) small: SmallTarget,
}

/// Bytes as they are.
pub(super) struct Copy;

impl TileLoop for Copy {
    type Parameters = CastParameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], _: &CastParameters) -> bool {
        target.copy_from_slice(source);
        false
    }
}

/// Integers to integers, or to the unsigned twin of their type.
pub(super) struct IntegerToInteger<S, T>(PhantomData<(S, T)>);

impl<S: IntegerElement + CutTo<T>, T: Element> TileLoop for IntegerToInteger<S, T> {
    type Parameters = CastParameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &CastParameters) -> bool {
        let accepted = (S::from_bits64(parameters.accepted.0), S::from_bits64(parameters.accepted.1));
        let bounds = (S::from_bits64(parameters.bounds.0), S::from_bits64(parameters.bounds.1));
        convert_each!(source, target, S => T, x => {
            let bounded = if x < bounds.0 { bounds.0 } else { x };
            let bounded = if bounded > bounds.1 { bounds.1 } else { bounded };
            (bounded.cut(), (x < accepted.0) | (x > accepted.1))
        })
    }
}

/// Integers to floats; an integer source of fewer logical bits is tested besides.
pub(super) struct IntegerToFloat<S, T, M>(PhantomData<(S, T, M)>);

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

impl OfInteger for f32 {
    #[inline(always)]
    fn of_integer<S: IntegerElement, M: RoundingMode>(integer: S) -> (f32, bool) {
        if S::BITS <= 16 || M::ROUNDING == Rounding::NearestEven {
            (integer.nearest_f32(), false)
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

impl<S: IntegerElement, T: OfInteger, M: RoundingMode> TileLoop for IntegerToFloat<S, T, M> {
    type Parameters = CastParameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &CastParameters) -> bool {
        let accepted = (S::from_bits64(parameters.accepted.0), S::from_bits64(parameters.accepted.1));
        let is_checked = parameters.is_checked;
        convert_each!(source, target, S => T, x => {
            let (converted, is_out_of_range) = T::of_integer::<S, M>(x);
            (converted, (x < accepted.0) | (x > accepted.1) | (is_out_of_range & is_checked))
        })
    }
}

/// Floats to other floats.
pub(super) struct FloatToFloat<S, T, M>(PhantomData<(S, T, M)>);

impl<S: ConvertFloat<T>, T: Element, M: RoundingMode> TileLoop for FloatToFloat<S, T, M> {
    type Parameters = CastParameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &CastParameters) -> bool {
        let is_checked = parameters.is_checked;
        convert_each!(source, target, S => T, x => {
            let (converted, is_out_of_range) = x.convert_float::<M>();
            (converted, is_out_of_range & is_checked)
        })
    }
}

/// `bfloat16` to `float32`.
pub(super) struct WidenBfloat16;

impl TileLoop for WidenBfloat16 {
    type Parameters = CastParameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], _: &CastParameters) -> bool {
        convert_each!(source, target, u16 => f32, x => (float32_of_bfloat16(x), false))
    }
}

/// A source of small floats: as `float64`, in which integers of 64 bits are rounded to odd.
pub(super) trait ToSmall: Element {
    fn to_f64(self) -> f64;
    /// Whether the exact path has to look at it.
    fn is_outside(self, accepted: (u64, u64)) -> bool;
}

macro_rules! integer_to_small {
    ($($type:ty),*) => {$(
        impl ToSmall for $type {
            #[inline(always)]
            fn to_f64(self) -> f64 {
                odd_f64(self)
            }
            #[inline(always)]
            fn is_outside(self, accepted: (u64, u64)) -> bool {
                (self < <$type>::from_bits64(accepted.0)) | (self > <$type>::from_bits64(accepted.1))
            }
        }
    )*};
}

integer_to_small!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! float_to_small {
    ($($type:ty: $value:ident => $wide:expr),*) => {$(
        impl ToSmall for $type {
            #[inline(always)]
            fn to_f64(self) -> f64 {
                let $value = self;
                $wide
            }
            #[inline(always)]
            fn is_outside(self, _: (u64, u64)) -> bool {
                false
            }
        }
    )*};
}

float_to_small!(
    f16: value => value.convert_float::<NearestEven>().0,
    f32: value => value.convert_float::<NearestEven>().0,
    f64: value => value
);

/// Numbers to small floats, by their bits.
pub(super) struct NumberToSmall<S, T, M>(PhantomData<(S, T, M)>);

impl<S: ToSmall, T: Element, M: RoundingMode> TileLoop for NumberToSmall<S, T, M> {
    type Parameters = CastParameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &CastParameters) -> bool {
        let CastParameters { accepted, is_checked, small, .. } = *parameters;
        convert_each!(source, target, S => T, x => {
            let (bits, is_out_of_range, is_missing) = small.encode::<M>(x.to_f64());
            (T::from_bits64(bits), x.is_outside(accepted) | (is_out_of_range & is_checked) | is_missing)
        })
    }
}

/// An integer type that floats are cut to.
pub(super) trait OfFloat: Element {
    /// Whether its greatest value may be none of the float type.
    const IS_WIDE: bool;
    /// # Safety
    /// `value` is an integer in the range of the type; for 8 and 16 bits, of an i32.
    unsafe fn of_f32(value: f32) -> Self;
    /// # Safety
    /// As for [`Self::of_f32`].
    unsafe fn of_f64(value: f64) -> Self;
}

macro_rules! of_float {
    ($($type:ty, $through:ty, $is_wide:literal);*) => {$(
        #[expect(clippy::allow_attributes, reason = "which lint applies depends on the type")]
        #[allow(
            clippy::cast_possible_truncation, clippy::cast_sign_loss, trivial_numeric_casts,
            reason = "of 8 and 16 bits the low ones are the result"
        )]
        impl OfFloat for $type {
            const IS_WIDE: bool = $is_wide;
            #[inline(always)]
            unsafe fn of_f32(value: f32) -> $type {
                // SAFETY: the caller says that it is in range.
                unsafe { value.to_int_unchecked::<$through>() as $type }
            }
            #[inline(always)]
            unsafe fn of_f64(value: f64) -> $type {
                // SAFETY: the caller says that it is in range.
                unsafe { value.to_int_unchecked::<$through>() as $type }
            }
        }
    )*};
}

of_float!(u8, i32, false; u16, i32, false; i32, i32, true; u32, u32, true; i64, i64, true; u64, u64, true);

/// A float type that is cut to integers.
pub(super) trait ToInteger: WideFloat {
    /// # Safety
    /// As for [`OfFloat::of_f32`].
    unsafe fn to_integer<T: OfFloat>(self) -> T;
}

impl ToInteger for f32 {
    #[inline(always)]
    unsafe fn to_integer<T: OfFloat>(self) -> T {
        // SAFETY: the contract is the same.
        unsafe { T::of_f32(self) }
    }
}

impl ToInteger for f64 {
    #[inline(always)]
    unsafe fn to_integer<T: OfFloat>(self) -> T {
        // SAFETY: the contract is the same.
        unsafe { T::of_f64(self) }
    }
}

/// Floats to integers; of 8 and 16 bits to the unsigned twin of their type.
pub(super) struct FloatToInteger<S, T, M>(PhantomData<(S, T, M)>);

impl<S: FloatElement<Wide: ToInteger>, T: OfFloat, M: RoundingMode> TileLoop for FloatToInteger<S, T, M> {
    type Parameters = CastParameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &CastParameters) -> bool {
        let number = |bits| S::Wide::from_bits64(bits);
        let accepted = (number(parameters.accepted.0), number(parameters.accepted.1));
        let bounds = (number(parameters.bounds.0), number(parameters.bounds.1));
        let nan = number(parameters.nan);
        let greatest = T::from_bits64(parameters.greatest);
        convert_each!(source, target, S => T, x => {
            let x = x.widen();
            let x = if x == x { x } else { nan };
            let rounded = round::<S::Wide, M, ROUNDS>(x);
            // In this order NaN becomes the lower bound, and is never accepted.
            let bounded = if rounded > bounds.0 { rounded } else { bounds.0 };
            let bounded = if bounded < bounds.1 { bounded } else { bounds.1 };
            // SAFETY: the bounds lie in T's range, or for 8 and 16 bits in that of an i32; see `select`.
            let cut = unsafe { bounded.to_integer::<T>() };
            let cut = if T::IS_WIDE && rounded > bounds.1 { greatest } else { cut };
            (cut, !((rounded >= accepted.0) & (rounded <= accepted.1)))
        })
    }
}

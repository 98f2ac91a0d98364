//! The conversions of a cast. Each returns the result of an element, and true if the element needs the exact path.

use std::marker::PhantomData;

use half::{bf16, f16};
use num_traits::AsPrimitive;

use super::CastOptions;
use crate::element::{Element, ElementType, FloatFormat, NumberType, integer_of, low_bits, with_bits};
use crate::kernel::dispatch::{Conversion, TileConversion};
use crate::kernel::exact::Value;
use crate::kernel::narrow::{ConvertFloat, FloatElement, odd_float32};
use crate::kernel::round::{
    IntegerElement, NearestEven, OfFloat, RoundToInteger, RoundingMode, WideFloat, odd_f64, rounded_f64,
    with_integer_rounding, with_rounding,
};
use crate::kernel::{OutOfRange, Rounding};
use crate::{with_float, with_integer};

/// The least and the greatest integer of a source that do not need the exact path.
#[derive(Clone, Copy)]
pub(super) struct Accepted<S>(pub(super) S, pub(super) S);

impl<S: Copy + PartialOrd> Accepted<S> {
    #[inline(always)]
    fn excludes(self, x: S) -> bool {
        (x < self.0) | (x > self.1)
    }
}

/// Integers to integers. The result may be of the unsigned type of the same size.
#[derive(Clone, Copy)]
struct IntegerToInteger<S, T> {
    pub(super) accepted: Accepted<S>,
    /// The range of the result.
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

/// Integers to floats. Sources of fewer logical bits are range-checked, too.
#[derive(Clone, Copy)]
struct IntegerToFloat<S, T, M> {
    pub(super) accepted: Accepted<S>,
    /// True if the exact path handles overflow.
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

/// A float that any integer can be converted to.
trait OfInteger: Element {
    fn of_integer<S: IntegerElement, M: RoundingMode>(integer: S) -> (Self, bool);
}

impl OfInteger for f16 {
    #[inline(always)]
    fn of_integer<S: IntegerElement, M: RoundingMode>(integer: S) -> (f16, bool) {
        // Integers beyond 2^20 are far beyond the range of float16. So it does not matter that they are limited.
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
struct FloatToFloat<S, T, M> {
    /// True if the exact path handles overflow.
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

/// Returns the upper half of a float32. Its last bit is set if any bit of the lower half is set, which rounds to odd. A
/// small float of one byte has at most five bits of significand. So rounding the key later has the result of a single
/// rounding. A `u16` as the result of a float conversion is this key.
#[inline(always)]
fn key(value: f32) -> u16 {
    let bits = value.to_bits();
    (bits >> 16) as u16 | u16::from(bits & 0xffff != 0)
}

impl ConvertFloat<u16> for f32 {
    #[inline(always)]
    fn convert_float<M: RoundingMode>(self) -> (u16, bool) {
        (key(self), false)
    }
}

impl ConvertFloat<u16> for f64 {
    #[inline(always)]
    fn convert_float<M: RoundingMode>(self) -> (u16, bool) {
        let is_beyond = (self.abs() > f64::from(f32::MAX)) & (self.abs() < f64::INFINITY);
        (key(odd_float32(self)), is_beyond)
    }
}

impl OfInteger for u16 {
    #[inline(always)]
    fn of_integer<S: IntegerElement, M: RoundingMode>(integer: S) -> (u16, bool) {
        (key(odd_float32(odd_f64(integer))), false)
    }
}

/// Floats to integers. Integers of 8 and 16 bits are converted to the unsigned type of that size.
#[derive(Clone, Copy)]
struct FloatToInteger<S: FloatElement, T, M> {
    /// The range of floats that do not need the exact path, after rounding.
    pub(super) accepted: (S::Wide, S::Wide),
    /// The range of the result, which fits `T`, or an i32 if `T` has 8 or 16 bits.
    pub(super) bounds: (S::Wide, S::Wide),
    /// The result of a float above the range. The float type may not represent it.
    pub(super) greatest: T,
    /// The float that replaces NaN. It is NaN if there is none.
    pub(super) nan: S::Wide,
    pub(super) rounding: M,
}

impl<S: FloatElement, T: OfFloat, M: RoundToInteger<S::Wide>> Conversion for FloatToInteger<S, T, M> {
    type Source = S;
    type Target = T;

    #[inline(always)]
    fn convert<const ROUNDS: bool>(self, x: S) -> (T, bool) {
        let x = x.widen();
        let x = if x == x { x } else { self.nan };
        let rounded = self.rounding.round::<ROUNDS>(x);
        // In this order NaN becomes the lower bound, and is never accepted.
        let bounded = if rounded > self.bounds.0 { rounded } else { self.bounds.0 };
        let bounded = if bounded < self.bounds.1 { bounded } else { self.bounds.1 };
        // SAFETY: the bounds are in T's range, or in that of an i32 for 8 and 16 bits, see `select`.
        let cut = unsafe { bounded.to_integer::<T>() };
        let cut = if T::IS_WIDE && rounded > self.bounds.1 { self.greatest } else { cut };
        (cut, !((rounded >= self.accepted.0) & (rounded <= self.accepted.1)))
    }
}

/// Returns the conversion for the options. It ignores the scalar map, except for the NaN entry in `nan_bits`.
pub(super) fn select(options: &CastOptions, nan_bits: Option<u64>) -> TileConversion {
    if options.source == options.target && options.source.is_float() {
        return TileConversion::copy();
    }
    with_float!(
        wide_element(options.source),
        S => if options.target.is_float() { to_float::<S>(options) } else { float_to_integer::<S>(options, nan_bits) },
        else with_integer!(
            options.source.element(),
            S => select_of_integer::<S>(options),
            else TileConversion::copy()
        )
    )
}

/// Returns the element type that the conversion starts from. For `bfloat16` it is `float32`, as [`first_step`] returns
/// it.
const fn wide_element(source: NumberType) -> ElementType {
    if source.small_float().is_some() { ElementType::Float32 } else { source.element() }
}

/// Returns a step before the conversion, and the bytes of an element after it. `bfloat16`, the only small float with
/// more than one byte, becomes `float32`. Values to convert by a table become its keys. `None` if there is no such
/// step.
pub(super) fn first_step(options: &CastOptions) -> Option<(TileConversion, usize)> {
    let CastOptions { source, target, .. } = *options;
    if source == target {
        return None;
    }
    if source.small_float().is_some() {
        let types = PhantomData::<(bf16, f32, NearestEven)>;
        return Some((TileConversion::of_each(FloatToFloat { is_checked: false, types }), 4));
    }
    let has_keys = target.small_float().is_some() && target.size() == 1;
    has_keys.then(|| (to_keys(options), 2))
}

fn to_keys(options: &CastOptions) -> TileConversion {
    match options.source.element() {
        ElementType::Float32 => float_to_key::<f32>(),
        ElementType::Float64 => float_to_key::<f64>(),
        integer => with_integer!(integer, S => {
            let types = PhantomData::<(u16, NearestEven)>;
            TileConversion::of_each(IntegerToFloat { accepted: ranges::<S>(options).0, is_checked: false, types })
        }, else TileConversion::copy()),
    }
}

fn float_to_key<S: ConvertFloat<u16>>() -> TileConversion {
    TileConversion::of_each(FloatToFloat { is_checked: true, types: PhantomData::<(S, u16, NearestEven)> })
}

fn select_of_integer<S: IntegerElement>(options: &CastOptions) -> TileConversion {
    if options.target.small_float().is_some() {
        return integer_to_float::<S, bf16>(options, false);
    }
    // Integers are exact in a float whose significand has at least as many bits: 11, 24 and 53.
    match options.target.element() {
        ElementType::Float16 => integer_to_float::<S, f16>(options, S::BITS <= 8),
        ElementType::Float32 => integer_to_float::<S, f32>(options, S::BITS <= 16),
        ElementType::Float64 => integer_to_float::<S, f64>(options, S::BITS <= 32),
        integer => with_bits!(integer.size(), T => {
            let (accepted, bounds) = ranges::<S>(options);
            TileConversion::of_each(IntegerToInteger { accepted, bounds, target: PhantomData::<T> })
        }),
    }
}

/// Makes a conversion. If every result is exact, one loop is enough for all roundings.
fn integer_to_float<S: IntegerElement, T: OfInteger>(options: &CastOptions, is_exact: bool) -> TileConversion {
    let accepted = ranges::<S>(options).0;
    // The loops return an infinity for overflow, which is the clamped value (SEMANTICS: A2.7). Any other rule needs the
    // exact path.
    let is_checked = options.out_of_range != OutOfRange::Clamp;
    let rounding = if is_exact { Rounding::NearestEven } else { options.rounding };
    with_rounding!(rounding, M => {
        TileConversion::of_each(IntegerToFloat { accepted, is_checked, types: PhantomData::<(T, M)> })
    })
}

/// Returns the integers of the source that do not need the exact path, and the range of the result.
fn ranges<S: IntegerElement>(options: &CastOptions) -> (Accepted<S>, (S, S)) {
    let CastOptions { source, target, out_of_range, .. } = *options;
    let own = source.integer_bounds().unwrap_or_default();
    let both = target.integer_bounds().map_or(own, |target| (own.0.max(target.0), own.1.min(target.1)));
    let whole = NumberType::of(source.element()).integer_bounds().unwrap_or_default();
    let (accepted, bounds) = match out_of_range {
        OutOfRange::Error => (both, both),
        OutOfRange::Clamp => (own, both),
        // Truncating to the size of the element wraps, if the type has no unused bits.
        OutOfRange::Wrap if target.is_whole() => (own, whole),
        OutOfRange::Wrap => (both, both),
    };
    let element = |integer| S::from_bits64(low_bits(integer, source));
    (Accepted(element(accepted.0), element(accepted.1)), (element(bounds.0), element(bounds.1)))
}

fn float_to_integer<S: FloatElement>(options: &CastOptions, nan_bits: Option<u64>) -> TileConversion {
    match options.target.element() {
        ElementType::Int8 | ElementType::UInt8 => rounded::<S, u8>(options, nan_bits),
        ElementType::Int16 | ElementType::UInt16 => rounded::<S, u16>(options, nan_bits),
        ElementType::Int32 => rounded::<S, i32>(options, nan_bits),
        ElementType::UInt32 => rounded::<S, u32>(options, nan_bits),
        ElementType::Int64 => rounded::<S, i64>(options, nan_bits),
        _ => rounded::<S, u64>(options, nan_bits),
    }
}

fn rounded<S: FloatElement, T: OfFloat>(options: &CastOptions, nan_bits: Option<u64>) -> TileConversion {
    let CastOptions { target, out_of_range, .. } = *options;
    let format = FloatFormat::from_element(<S::Wide as Element>::TYPE).unwrap_or(FloatFormat::BINARY64);
    let wide = |bits| <S::Wide as Element>::from_bits64(bits);
    // The nearest float to a bound inside the range. It is the bound itself if the float type can represent it.
    let inside = |integer| wide(Value::from_integer(integer).to_float(format, Rounding::TowardsZero).unwrap_or(0));
    let floats = |(least, greatest)| (inside(least), inside(greatest));
    let range = target.integer_bounds().unwrap_or_default();
    let greatest_float = format.infinity() - 1;
    let finite = (wide(format.sign() | greatest_float), wide(greatest_float));
    let through = NumberType::of(ElementType::Int32).integer_bounds().unwrap_or_default();
    let (accepted, bounds) = match out_of_range {
        OutOfRange::Error => (floats(range), floats(range)),
        OutOfRange::Clamp => (finite, floats(range)),
        // Codes of 8 and 16 bits are the low bits of an i32, so truncating wraps within its range.
        OutOfRange::Wrap if target.is_whole() && target.size() <= 2 => (floats(through), floats(through)),
        OutOfRange::Wrap => (floats(range), floats(range)),
    };
    let greatest = T::from_bits64(low_bits(range.1, target));
    let nan = wide(nan_bits.or(format.canonical_nan()).unwrap_or_default());
    with_integer_rounding!(options.rounding, rounding => {
        TileConversion::of_each(FloatToInteger::<S, T, _> { accepted, bounds, greatest, nan, rounding })
    })
}

fn to_float<S>(options: &CastOptions) -> TileConversion
where
    S: ConvertFloat<f16> + ConvertFloat<f32> + ConvertFloat<f64> + ConvertFloat<bf16>,
{
    match options.target.element() {
        ElementType::Float16 => float_to_float::<S, f16>(options),
        ElementType::Float32 => float_to_float::<S, f32>(options),
        ElementType::Float64 => float_to_float::<S, f64>(options),
        // The only small float with loops.
        _ => float_to_float::<S, bf16>(options),
    }
}

fn float_to_float<S: ConvertFloat<T>, T: Element>(options: &CastOptions) -> TileConversion {
    let is_checked = options.out_of_range != OutOfRange::Clamp;
    with_rounding!(options.rounding, M => {
        TileConversion::of_each(FloatToFloat { is_checked, types: PhantomData::<(S, T, M)> })
    })
}

/// Returns the bits of the integer that replaces NaN, as a float of the source's calculation. `None` if it is inexact.
pub(super) fn nan_bits(target_bits: u64, options: &CastOptions) -> Option<u64> {
    let source = options.source;
    let wide = if source.element() == ElementType::Float64 { source.element() } else { ElementType::Float32 };
    let code = Value::new(target_bits, options.target);
    let bits = code.to_float(FloatFormat::from_element(wide)?, Rounding::NearestEven).ok()?;
    let back = Value::new(bits, NumberType::of(wide)).to_integer(Rounding::NearestEven).ok()?;
    let integer = integer_of(target_bits, options.target.element());
    let (least, greatest) = options.target.integer_bounds()?;
    let is_exact = back.value == Some(integer) && (least..=greatest).contains(&integer);
    (is_exact && source.is_float()).then_some(bits)
}

//! The filters of numcodecs with its results: numpy's arithmetic, in numpy's types and order.
//!
//! Python numbers in a configuration are weak (NEP 50). They have the type of the array, but a float with integers is
//! computed in float64. A cast is that of numpy: an integer wraps, and so does a float, which loses its fraction. NaN and
//! floats outside 32 bits (64 for 64-bit types) have a result that depends on the machine. Here they are a fault, in
//! both directions. Encoding by all but `fixedscaleoffset` (SEMANTICS: A1.10) rejects more. numcodecs warns about these
//! values that "no checks are made and data may become corrupted". They are integers that decode to other ones, and
//! finite numbers that become infinite.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/>

use std::ops::{Add, Mul, Sub};
use std::sync::Arc;

use half::f16;
use num_traits::{AsPrimitive, Float};

use super::cast::{Cast, CastOptions};
use super::tile::{TileBuffer, for_each_tile};
use super::{ElementFault, FaultKind, OutOfRange, Rounding};
use crate::element::{Element, ElementType, NumberType};
use crate::{with_element, with_float, with_integer};

/// The element types of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumpyType {
    /// A byte. A cast converts any value but 0 to 1.
    Bool,
    /// A number of whole bytes.
    Number(NumberType),
}

/// A number in a configuration, as Python reads JSON.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PythonNumber {
    /// A number without fraction and exponent.
    Integer(i128),
    /// Any other number.
    Float(f64),
}

/// A filter of numcodecs bound to two types.
#[derive(Clone)]
pub struct ElementFilter {
    /// The types of decoded and encoded elements.
    pub types: (NumberType, NumberType),
    encode: Arc<ConvertElements>,
    decode: Arc<ConvertElements>,
    /// True for `delta`, the only filter that does not convert each element by itself.
    pub is_delta: bool,
}

/// Converts as many native-endian elements as both slices have.
type ConvertElements = dyn Fn(&[u8], &mut [u8]) -> Result<(), ElementFault> + Send + Sync;

impl std::fmt::Debug for ElementFilter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ElementFilter({} to {})", self.types.0, self.types.1)
    }
}

impl ElementFilter {
    fn new(
        types: (NumberType, NumberType),
        encode: impl Fn(&[u8], &mut [u8]) -> Result<(), ElementFault> + Send + Sync + 'static,
        decode: impl Fn(&[u8], &mut [u8]) -> Result<(), ElementFault> + Send + Sync + 'static,
    ) -> Self {
        ElementFilter { types, encode: Arc::new(encode), decode: Arc::new(decode), is_delta: false }
    }

    /// Encodes as many native-endian elements as both slices have.
    pub fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        (self.encode)(decoded, encoded)
    }

    /// Decodes as many native-endian elements as both slices have.
    pub fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        (self.decode)(encoded, decoded)
    }

    /// Returns true for integers of one type. Their differences by `delta` wrap.
    pub fn wraps_in_place(&self) -> bool {
        self.types.0 == self.types.1 && !self.types.0.is_float()
    }

    /// Returns true if `delta` of these types decodes every value exactly: integers whose sums are integers.
    pub fn is_exact(&self) -> bool {
        !self.types.0.is_float() && !promoted(self.types.0, self.types.1).is_float()
    }
}

impl NumpyType {
    /// Returns the number type. `bool` is a byte.
    pub const fn number(self) -> NumberType {
        if let NumpyType::Number(number) = self { number } else { NumberType::of(ElementType::UInt8) }
    }
}

/// The treatment of a value that the target cannot represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OverflowRule {
    /// As in numpy: integers wrap, floats become infinite. A float wraps to an integer type if it is within 32 bits, or
    /// 64 for 64-bit types, and is a fault otherwise.
    Numpy,
    /// Integers wrap if wrapping back restores them. Any other value is a fault.
    Reversible,
    Fault,
}

/// A cast between two types, or a copy if they are the same.
#[derive(Debug, Clone)]
struct NumpyCast {
    cast: Option<Cast>,
    /// The integer type that floats wrap to, if they do. Floats that numpy does not wrap to it are a fault.
    wraps: Option<NumberType>,
}

impl NumpyCast {
    fn new(source: NumberType, target: NumberType, excess: OverflowRule) -> Self {
        let are_integers = !source.is_float() && !target.is_float();
        let narrows = target.bits() < source.bits();
        let is_signed = target.element().is_signed_integer();
        let wraps = (excess == OverflowRule::Numpy && source.is_float() && !target.is_float()).then_some(target);
        let (source, out_of_range) = match excess {
            OverflowRule::Numpy if target.is_float() => (source, OutOfRange::Clamp),
            OverflowRule::Numpy => (source, OutOfRange::Wrap),
            // 65535 as an int16 is -1, which an int8 can represent and decode.
            OverflowRule::Reversible if are_integers && narrows => {
                (NumberType::integer(is_signed, source.bits()).unwrap_or(source), OutOfRange::Error)
            }
            OverflowRule::Reversible if are_integers => (source, OutOfRange::Wrap),
            _ => (source, OutOfRange::Error),
        };
        let rounding = if target.is_float() { Rounding::NearestEven } else { Rounding::TowardsZero };
        let options = CastOptions { source, target, rounding, out_of_range, scalar_map: Vec::new() };
        NumpyCast { cast: (source != target).then(|| Cast::new(options)), wraps }
    }

    /// Casts as many elements as both slices have.
    fn convert(&self, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        let Some(cast) = &self.cast else {
            let length = source.len().min(target.len());
            target[..length].copy_from_slice(&source[..length]);
            return Ok(());
        };
        if let Some(target) = self.wraps {
            with_float!(cast.options.source.element(), T => check_wrapping::<T>(source, target), else Ok(()))?;
        }
        cast.convert(source, target).map_err(|fault| match fault.kind {
            // There is no `out_of_range` that could be chosen.
            FaultKind::OutOfRange => ElementFault { kind: FaultKind::Overflow, ..fault },
            _ => fault,
        })
    }

    /// Runs `arithmetic` on each tile of elements of `source_size` bytes, and casts its results of type `R`.
    fn after<R: Element>(
        &self,
        (source, source_size): (&[u8], usize),
        target: &mut [u8],
        mut arithmetic: impl FnMut(&[u8], &mut [u8]) -> Result<(), ElementFault>,
    ) -> Result<(), ElementFault> {
        let mut scratch = TileBuffer::new();
        let target_size = self.cast.as_ref().map_or(size_of::<R>(), |cast| cast.options.target.size());
        for_each_tile((source, source_size), (target, target_size), |source, target, first| {
            let at = |fault: ElementFault| ElementFault { index: first + fault.index, ..fault };
            if self.cast.is_none() {
                return arithmetic(source, target).map_err(at);
            }
            let results = scratch.bytes_mut(source.len() / source_size * size_of::<R>());
            arithmetic(source, results).map_err(at)?;
            self.convert(results, target).map_err(at)
        })
    }

    /// Runs `each` on each element, and casts its results of type `R`.
    fn after_each<S: Element, R: Element>(
        &self,
        source: &[u8],
        target: &mut [u8],
        mut each: impl FnMut(S) -> Result<R, FaultKind>,
    ) -> Result<(), ElementFault> {
        self.after::<R>((source, size_of::<S>()), target, |source, target| map_elements(source, target, &mut each))
    }
}

/// Fails for finite floats that numpy does not wrap to an integer type, as their cast is undefined in C. The cast uses
/// a signed integer of 32 bits, or of 64 for 64-bit types. A value that the type itself has is valid, too.
fn check_wrapping<T: Number>(source: &[u8], target: NumberType) -> Result<(), ElementFault> {
    let through = if target.size() == 8 { 63 } else { 31 };
    let unsigned = if target.element().is_signed_integer() { 0 } else { target.bits() };
    let (least, beyond) = (-2_f64.powi(through), 2_f64.powi(through.max(unsigned.cast_signed())));
    let source = bytemuck::try_cast_slice::<u8, T>(source).unwrap_or_default();
    let is_undefined = |value: &T| {
        let value = float64(*value).trunc();
        value.is_finite() && !(least..beyond).contains(&value)
    };
    let fault = |index| Err(ElementFault { kind: FaultKind::Overflow, index });
    source.iter().position(is_undefined).map_or(Ok(()), fault)
}

/// Calls `each` on the elements of aligned tiles. The error has the index of the first fault.
fn map_elements<S: bytemuck::Pod, T: bytemuck::Pod>(
    source: &[u8],
    target: &mut [u8],
    mut each: impl FnMut(S) -> Result<T, FaultKind>,
) -> Result<(), ElementFault> {
    let source = bytemuck::try_cast_slice::<u8, S>(source).unwrap_or_default();
    let target = bytemuck::try_cast_slice_mut::<u8, T>(target).unwrap_or_default();
    for (index, (source, target)) in source.iter().zip(target).enumerate() {
        *target = each(*source).map_err(|kind| ElementFault { kind, index })?;
    }
    Ok(())
}

/// A number of any type. `as_` returns the nearest float64.
trait Number: Element + num_traits::NumCast + AsPrimitive<f64> {
    /// Returns the sum. Integers wrap.
    fn plus(self, other: Self) -> Self;
    /// Returns the difference. Integers wrap.
    fn minus(self, other: Self) -> Self;
    /// Returns the product. Integers wrap.
    fn times(self, other: Self) -> Self;
}

/// Returns the nearest float64.
fn float64(number: impl Number) -> f64 {
    number.as_()
}

trait Real: Number + Float {
    /// Returns the nearest value to a float64, as numpy converts a weak Python float to the array's type.
    fn nearest(value: f64) -> Self;
    /// Returns the nearest integer, ties to even.
    fn rounded(self) -> Self;
}

macro_rules! numbers {
    ($plus:ident, $minus:ident, $times:ident: $($type:ty),*) => {$(
        impl Number for $type {
            fn plus(self, other: Self) -> Self {
                self.$plus(other)
            }
            fn minus(self, other: Self) -> Self {
                self.$minus(other)
            }
            fn times(self, other: Self) -> Self {
                self.$times(other)
            }
        }
    )*};
}

numbers!(wrapping_add, wrapping_sub, wrapping_mul: i8, i16, i32, i64, u8, u16, u32, u64);
numbers!(add, sub, mul: f16, f32, f64);

impl<T: Number + Float> Real for T
where
    f64: AsPrimitive<T>,
{
    fn nearest(value: f64) -> Self {
        value.as_()
    }

    fn rounded(self) -> Self {
        // Both conversions are exact.
        self.as_().round_ties_even().as_()
    }
}

/// Binds `astype` to `decode_dtype` and `encode_dtype`.
pub fn as_type(decoded: NumpyType, encoded: NumpyType) -> ElementFilter {
    let (from, to) = (decoded.number(), encoded.number());
    let cast = |(source, target): (NumberType, NumberType), result, rule| {
        let cast = NumpyCast::new(source, target, rule);
        move |elements: &[u8], results: &mut [u8]| match result {
            NumpyType::Bool => truth(source, elements, results),
            NumpyType::Number(_) => cast.convert(elements, results),
        }
    };
    let encode = cast((from, to), encoded, OverflowRule::Reversible);
    ElementFilter::new((from, to), encode, cast((to, from), decoded, OverflowRule::Numpy))
}

/// Casts to bool. Every value but zero is true, including NaN.
fn truth(source_type: NumberType, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
    with_element!(source_type.element(), T => {
        for_each_tile((source, size_of::<T>()), (target, 1), |source, target, _| {
            map_elements::<T, u8>(source, target, |value| Ok(u8::from(float64(value) != 0.0)))
        })
    })
}

// `fixedscaleoffset`: `around((x - offset) * scale)` cast to `astype`. Decoding is `(x / scale) + offset`, cast to
// `dtype` last (SEMANTICS: A1.10).
//
// Floats are computed in their own type. Integers stay integers and wrap if the numbers of the configuration are
// integers of the same type. A quotient of integers, and integers with a float, are float64. A value that does not fit
// `astype` wraps, too, or becomes infinite, as in numpy. Only NaN, infinities and values too great to wrap are faults.

/// Returns the float type in which a type divides.
fn quotient(number_type: NumberType) -> NumberType {
    if number_type.is_float() { number_type } else { NumberType::of(ElementType::Float64) }
}

/// Returns a number of a configuration as the nearest float64, as Python does.
fn float(number: PythonNumber) -> f64 {
    match number {
        PythonNumber::Integer(integer) => integer.as_(),
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
    let encode = NumpyCast::new(between, encoded, OverflowRule::Numpy);
    let decode = NumpyCast::new(quotient(encoded), decoded, OverflowRule::Numpy);
    let encode = move |elements: &[u8], results: &mut [u8]| {
        with_integer!(
            decoded.element(),
            T => match (integer::<T>(offset), integer::<T>(scale)) {
                (Some(offset), Some(scale)) => {
                    encode.after_each(elements, results, |value: T| Ok(value.minus(offset).times(scale)))
                }
                // An offset of the same integer type is subtracted as integers.
                (Some(offset), _) => {
                    let scale = float(scale);
                    let scaled = |value: T| Ok((float64(value.minus(offset)) * scale).rounded());
                    encode.after_each(elements, results, scaled)
                }
                _ => {
                    let (offset, scale) = (float(offset), float(scale));
                    encode.after_each(elements, results, |value: T| Ok(((float64(value) - offset) * scale).rounded()))
                }
            },
            else with_float!(
                decoded.element(),
                T => {
                    let (offset, scale) = (T::nearest(float(offset)), T::nearest(float(scale)));
                    encode.after_each(elements, results, |value: T| Ok(value.minus(offset).times(scale).rounded()))
                },
                else Ok(())
            )
        )
    };
    let decode = move |elements: &[u8], results: &mut [u8]| {
        with_float!(
            encoded.element(),
            T => {
                let (offset, scale) = (T::nearest(float(offset)), T::nearest(float(scale)));
                decode.after_each(elements, results, |value: T| Ok(value / scale + offset))
            },
            else with_integer!(
                encoded.element(),
                T => {
                    let (offset, scale) = (float(offset), float(scale));
                    decode.after_each(elements, results, |value: T| Ok(float64(value) / scale + offset))
                },
                else Ok(())
            )
        )
    };
    ElementFilter::new((decoded, encoded), encode, decode)
}

/// With fewer digits numcodecs itself fails with an overflow.
pub const LEAST_DIGITS: i32 = -308;

/// With more digits numcodecs itself fails with an overflow.
pub const GREATEST_DIGITS: i32 = 307;

/// Returns the exponent of the scale: the least integer that is not below `digits` times log2(10).
#[expect(clippy::cast_possible_truncation, reason = "for so few digits it is at most 1024")]
pub fn scale_exponent(digits: i32) -> i32 {
    (f64::from(digits) * std::f64::consts::LOG2_10).ceil() as i32
}

/// Binds `quantize` to the floats `dtype` and `astype`, and decimal digits from [`LEAST_DIGITS`] to
/// [`GREATEST_DIGITS`].
pub fn quantize((decoded, encoded): (NumberType, NumberType), digits: i32) -> ElementFilter {
    let scale = 2_f64.powi(scale_exponent(digits.clamp(LEAST_DIGITS, GREATEST_DIGITS)));
    let encode = NumpyCast::new(decoded, encoded, OverflowRule::Fault);
    let decode = NumpyCast::new(encoded, decoded, OverflowRule::Numpy);
    let encode = move |elements: &[u8], results: &mut [u8]| {
        with_float!(decoded.element(), T => {
            let scale = T::nearest(scale);
            encode.after_each(elements, results, |value: T| {
                let rounded = (scale * value).rounded() / scale;
                if rounded.is_finite() || !value.is_finite() { Ok(rounded) } else { Err(FaultKind::Overflow) }
            })
        }, else Ok(()))
    };
    ElementFilter::new((decoded, encoded), encode, move |elements, results| decode.convert(elements, results))
}

// `delta`: the first element, then the difference of each to the one before it.
//
// Differences are computed in `dtype`, where integers wrap, and cast to `astype`. Decoding adds in the type that can
// represent both, or in float64 if no integer can. It casts every sum to `dtype` last (run, numpy 2.4).

/// Returns the least type that can represent two others, as numpy promotes them. It is float64 if there is none.
pub fn promoted(one: NumberType, other: NumberType) -> NumberType {
    let float = |bits: u32| match bits {
        ..=16 => NumberType::of(ElementType::Float16),
        17..=32 => NumberType::of(ElementType::Float32),
        _ => NumberType::of(ElementType::Float64),
    };
    let is_signed = |number: NumberType| number.element().is_signed_integer();
    // Bits of a float that can represent all integers of a type.
    let as_float = |number: NumberType| if number.is_float() { number.bits() } else { 2 * number.bits() };
    if one.is_float() || other.is_float() {
        return float(as_float(one).max(as_float(other)));
    }
    // An unsigned integer needs twice the bits with a sign.
    let as_signed = |number: NumberType| if is_signed(number) { number.bits() } else { 2 * number.bits() };
    let (signed, bits) = if is_signed(one) == is_signed(other) {
        (is_signed(one), one.bits().max(other.bits()))
    } else {
        (true, as_signed(one).max(as_signed(other)))
    };
    NumberType::integer(signed, bits).unwrap_or(NumberType::of(ElementType::Float64))
}

/// Binds `delta` to `dtype` and `astype`.
pub fn delta(decoded: NumberType, encoded: NumberType) -> ElementFilter {
    let sum = promoted(decoded, encoded);
    let after_difference = NumpyCast::new(decoded, encoded, OverflowRule::Reversible);
    let to_sum = NumpyCast::new(encoded, sum, OverflowRule::Numpy);
    let from_sum = NumpyCast::new(sum, decoded, OverflowRule::Numpy);
    // A sum that wraps corrects a difference that has wrapped. Floats do not wrap.
    let wraps = decoded.is_float() || !sum.is_float();
    let encode = move |elements: &[u8], results: &mut [u8]| {
        with_element!(decoded.element(), T => {
            after_difference.after_each(elements, results, differences::<T>(wraps))
        })
    };
    let decode = move |elements: &[u8], results: &mut [u8]| {
        with_element!(sum.element(), T => {
            let mut total: Option<T> = None;
            from_sum.after::<T>((elements, encoded.size()), results, |source, sums| {
                to_sum.convert(source, sums)?;
                for element in bytemuck::try_cast_slice_mut::<u8, T>(sums).unwrap_or_default() {
                    // The sum goes on over all tiles of the chunk.
                    let next = total.map_or(*element, |total| total.plus(*element));
                    (*element, total) = (next, Some(next));
                }
                Ok(())
            })
        })
    };
    ElementFilter { is_delta: true, ..ElementFilter::new((decoded, encoded), encode, decode) }
}

/// Returns the function that turns each element into its difference from the one before it.
fn differences<T: Number>(wraps: bool) -> impl FnMut(T) -> Result<T, FaultKind> {
    let mut previous: Option<T> = None;
    move |element| {
        let Some(last) = previous.replace(element) else { return Ok(element) };
        let exact = || element.to_i128().zip(last.to_i128()).map(|(one, other)| one - other);
        if wraps || exact().and_then(num_traits::cast::<i128, T>).is_some() {
            Ok(element.minus(last))
        } else {
            Err(FaultKind::Overflow)
        }
    }
}

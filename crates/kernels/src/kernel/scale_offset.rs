//! `scale_offset` over slices: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/scale_offset>.
//!
//! Encoding is `(x - offset) * scale`, decoding is `x / scale + offset`. These are two operations in the element's own
//! arithmetic, each rounded once, never fused. A result of either outside the range of the type is a fault.

use std::ops::{Add, Div, Mul, Sub};

use half::bf16;
use num_traits::{AsPrimitive, Float as _, One as _, WrappingAdd, WrappingMul, WrappingShr, WrappingSub, Zero as _};

use super::dispatch::ResultTable;
use super::dispatch::{Conversion, TileConversion};
use super::exact::Value;
use super::narrow::FloatElement;
use super::tile::{convert_each, for_each_tile};
use super::{ElementFault, FaultKind, Rounding};
use crate::element::{Element, ElementType, FloatFormat, NumberType, integer_of, is_of_type, low_bits};
use crate::{with_float, with_integer};

/// A bound `scale_offset`. Absent parameters skip their operation.
#[derive(Debug, Clone)]
pub struct ScaleOffset {
    /// The type of the elements, on both sides.
    pub number_type: NumberType,
    /// The bits of the offset, if there is one.
    pub offset: Option<u64>,
    /// The bits of the scale, if there is one.
    pub scale: Option<u64>,
    encode: Option<TileConversion>,
    decode: Option<TileConversion>,
}

impl ScaleOffset {
    /// Binds the codec. Bits are zero-extended to 64. The caller must have rejected a zero `scale`.
    pub fn new(number_type: NumberType, offset: Option<u64>, scale: Option<u64>) -> Self {
        let mut bound = ScaleOffset { number_type, offset, scale, encode: None, decode: None };
        (bound.encode, bound.decode) = (bound.select::<false>(), bound.select::<true>());
        bound
    }

    /// Computes `(x - offset) * scale`, each operation rounded once in the type.
    pub fn encode(&self, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        self.convert::<false>(source, target)
    }

    /// Computes `x / scale + offset`, each operation rounded once in the type.
    pub fn decode(&self, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        self.convert::<true>(source, target)
    }

    /// Encodes one value by the exact path.
    pub fn encode_one(&self, bits: u64) -> Result<u64, FaultKind> {
        self.convert_one::<false>(bits)
    }

    /// Decodes one value by the exact path.
    pub fn decode_one(&self, bits: u64) -> Result<u64, FaultKind> {
        self.convert_one::<true>(bits)
    }

    /// Returns the conversion of tiles that do not need the exact path. `None` if all tiles need it.
    fn select<const DECODE: bool>(&self) -> Option<TileConversion> {
        let number_type = self.number_type;
        if number_type.small_float().is_some() && number_type.size() == 1 {
            let own = self.clone();
            return Some(ResultTable::conversion((1, 1), move |bits| own.convert_one::<DECODE>(bits)));
        }
        if (self.offset, self.scale) == (None, None) && number_type.is_whole() {
            return Some(TileConversion::copy());
        }
        if number_type.small_float().is_some() {
            // The only small float without a table.
            return Some(self.floats::<bf16, DECODE>());
        }
        with_float!(
            number_type.element(),
            S => Some(self.floats::<S, DECODE>()),
            else with_integer!(number_type.element(), S => self.integers::<S, DECODE>(), else None)
        )
    }

    fn floats<S: FloatElement, const DECODE: bool>(&self) -> TileConversion {
        let wide = |bits: u64| S::from_bits64(bits).widen();
        // Adding -0.0 changes nothing, but adding 0.0 would change -0.0.
        let no_offset = if DECODE { S::Wide::neg_zero() } else { S::Wide::zero() };
        let (offset, scale) = (self.offset.map_or(no_offset, wide), self.scale.map_or(S::Wide::one(), wide));
        TileConversion::of_each(ScaledFloat::<S, DECODE> { offset, scale })
    }

    /// Returns a conversion in arithmetic modulo 2^N. It is right for a range of values for which no step overflows.
    /// `None` if this range is empty, or if the scale is 0.
    fn integers<S: Modular, const DECODE: bool>(&self) -> Option<TileConversion> {
        let (least, greatest) = self.number_type.integer_bounds()?;
        let (offset, scale) = self.integer_parameters();
        if scale == 0 {
            return None;
        }
        // The integers whose product with the scale is in range.
        let (first, last) = if scale > 0 { (least, greatest) } else { (greatest, least) };
        let factor = (divide_up(first, scale).max(least), divide_down(last, scale).min(greatest));
        // Encoding multiplies the value less the offset. Decoding adds the offset to the quotient, whose product is the
        // value.
        let accepted = if DECODE {
            (factor.0.max(least - offset), factor.1.min(greatest - offset))
        } else {
            ((factor.0 + offset).max(least), (factor.1 + offset).min(greatest))
        };
        // An empty range must not become another one when truncated to the type. The exact path finds the fault.
        if accepted.0 > accepted.1 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an inverse modulo 2^64")]
        let odd = (scale >> scale.trailing_zeros()) as u64;
        let (shift, inverse) = (scale.trailing_zeros(), S::from_bits64(inverse(odd)));
        let [offset, scale, first, last] =
            [offset, scale, accepted.0, accepted.1].map(|integer| S::from_bits64(low_bits(integer, self.number_type)));
        let accepted = (first, last);
        Some(TileConversion::of_each(ScaledInteger::<S, DECODE> { offset, scale, accepted, shift, inverse }))
    }

    fn convert<const DECODE: bool>(&self, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        let size = self.number_type.size();
        let fast = if DECODE { &self.decode } else { &self.encode };
        for_each_tile((source, size), (target, size), |source, target, first| {
            if fast.as_ref().is_some_and(|fast| !fast.run(source, target)) {
                return Ok(());
            }
            convert_each((source, size), (target, size), first, |bits| self.convert_one::<DECODE>(bits))
        })
    }

    fn convert_one<const DECODE: bool>(&self, bits: u64) -> Result<u64, FaultKind> {
        if !is_of_type(bits, self.number_type) {
            return Err(FaultKind::NotOfType);
        }
        if !self.number_type.is_float() {
            return self.integer::<DECODE>(bits);
        }
        if DECODE {
            let divided = self.operation(bits, self.scale, f64::div)?;
            self.operation(divided, self.offset, f64::add)
        } else {
            let shifted = self.operation(bits, self.offset, f64::sub)?;
            self.operation(shifted, self.scale, f64::mul)
        }
    }

    /// Runs one float operation, rounded once. Without its parameter it is skipped.
    fn operation(&self, bits: u64, parameter: Option<u64>, apply: Operation) -> Result<u64, FaultKind> {
        // Adding an absent offset as 0 would change -0.0 to 0.0 (SEMANTICS: B30).
        let Some(parameter) = parameter else { return Ok(bits) };
        if let Some(float) = self.number_type.small_float() {
            return self.small_operation(float.format, [bits, parameter], apply);
        }
        with_float!(self.number_type.element(), T => {
            // The float64 of a result can be rounded to 24 bits of significand or fewer without rounding twice.
            let [x, parameter]: [f64; 2] = [bits, parameter].map(|bits| T::from_bits64(bits).as_());
            let result: T = apply(x, parameter).as_();
            // An infinity of the input may pass, but a finite value must stay finite (SEMANTICS: B27).
            let became_infinite = x.is_finite() && AsPrimitive::<f64>::as_(result).is_infinite();
            if became_infinite { Err(FaultKind::Overflow) } else { Ok(result.to_bits64()) }
        }, else Ok(bits))
    }

    /// Runs one operation of a small float. NaN keeps its bits, but becomes quiet.
    ///
    /// The precision of float64 is more than twice that of a small float (at most 8 bits) plus two bits. So rounding to
    /// 53 bits and then to the small float equals one rounding, even for subnormal numbers.
    fn small_operation(&self, format: FloatFormat, operands: [u64; 2], apply: Operation) -> Result<u64, FaultKind> {
        let quiet = if format.is_ieee() { 1 << (format.fraction_bits - 1) } else { 0 };
        if let Some(nan) = operands.into_iter().find(|bits| format.is_nan(*bits)) {
            return Ok(nan | quiet);
        }
        let [x, parameter] = operands.map(|bits| Value::new(bits, self.number_type).to_f64());
        let result = apply(x, parameter);
        if result.is_nan() {
            // From infinities alone, which only types with NaN have.
            return format.canonical_nan().ok_or(FaultKind::Overflow);
        }
        if x.is_finite() && result.is_infinite() {
            return Err(FaultKind::Overflow);
        }
        let result = Value::new(result.to_bits(), NumberType::of(ElementType::Float64));
        result.to_float(format, Rounding::NearestEven).map_err(|_| FaultKind::Overflow)
    }

    /// Runs both steps in integers, each in the range of the type.
    fn integer<const DECODE: bool>(&self, bits: u64) -> Result<u64, FaultKind> {
        let (least, greatest) = self.number_type.integer_bounds().unwrap_or_default();
        let in_range =
            |value: Option<i128>| value.filter(|value| (least..=greatest).contains(value)).ok_or(FaultKind::Overflow);
        let x = integer_of(bits, self.number_type.element());
        let (offset, scale) = self.integer_parameters();
        // The intermediate value has to be in range, too, even if the final one is (SEMANTICS: A1.6, B26).
        let result = if DECODE {
            if x.checked_rem(scale) != Some(0) {
                return Err(FaultKind::Remainder);
            }
            let divided = in_range(x.checked_div(scale))?;
            in_range(divided.checked_add(offset))?
        } else {
            let shifted = in_range(x.checked_sub(offset))?;
            in_range(shifted.checked_mul(scale))?
        };
        Ok(low_bits(result, self.number_type))
    }

    /// Returns the offset and the scale of integers.
    fn integer_parameters(&self) -> (i128, i128) {
        let integer = |bits| integer_of(bits, self.number_type.element());
        (self.offset.map_or(0, integer), self.scale.map_or(1, integer))
    }
}

/// One of the four operations of the codec, on an element and its parameter.
type Operation = fn(f64, f64) -> f64;

fn divide_down(dividend: i128, divisor: i128) -> i128 {
    let quotient = dividend / divisor;
    if dividend % divisor != 0 && (dividend < 0) != (divisor < 0) { quotient - 1 } else { quotient }
}

fn divide_up(dividend: i128, divisor: i128) -> i128 {
    -divide_down(-dividend, divisor)
}

/// Returns the inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the number of correct
/// bits.
fn inverse(odd: u64) -> u64 {
    // `(3 * odd) ^ 2` is an inverse modulo 2^5, so the first value has 5 correct bits.
    (0..5)
        .fold(odd.wrapping_mul(3) ^ 2, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// Returns true if a result may be a fault. A step has overflowed only if a finite value became infinite or NaN.
#[inline(always)]
fn is_suspect<S: FloatElement>(before: S::Wide, after: S::Wide) -> bool {
    let is_finite = before.abs() < S::Wide::infinity();
    let became_infinite = !(after.abs() < S::Wide::infinity());
    if S::HAS_EXACT_NAN {
        // The exact path has rules for the NaN that infinities or a NaN parameter produce.
        (before == before) & became_infinite & (is_finite | (after != after))
    } else {
        is_finite & became_infinite
    }
}

#[derive(Clone, Copy)]
struct ScaledFloat<S: FloatElement, const DECODE: bool> {
    offset: S::Wide,
    scale: S::Wide,
}

impl<S: FloatElement, const DECODE: bool> Conversion for ScaledFloat<S, DECODE> {
    type Source = S;
    type Target = S;

    #[inline(always)]
    fn convert<const ROUNDS: bool>(self, x: S) -> (S, bool) {
        let x = x.widen();
        let result = if DECODE {
            S::round(S::round(x / self.scale) + self.offset)
        } else {
            S::round(S::round(x - self.offset) * self.scale)
        };
        (S::from_rounded(result), is_suspect::<S>(x, result))
    }
}

trait Modular: Element + WrappingAdd + WrappingSub + WrappingMul + WrappingShr {}

impl<T: Element + WrappingAdd + WrappingSub + WrappingMul + WrappingShr> Modular for T {}

#[derive(Clone, Copy)]
struct ScaledInteger<S, const DECODE: bool> {
    offset: S,
    scale: S,
    /// The range of values, or of the quotients of a decoding, for which no step overflows.
    accepted: (S, S),
    /// The number of trailing zeros of the scale, and the inverse modulo 2^N of the bits above them.
    shift: u32,
    inverse: S,
}

impl<S: Modular, const DECODE: bool> Conversion for ScaledInteger<S, DECODE> {
    type Source = S;
    type Target = S;

    #[inline(always)]
    fn convert<const ROUNDS: bool>(self, x: S) -> (S, bool) {
        let is_out_of_range = |x: S| (x < self.accepted.0) | (x > self.accepted.1);
        if !DECODE {
            return (x.wrapping_sub(&self.offset).wrapping_mul(&self.scale), is_out_of_range(x));
        }
        // It is the quotient if the division leaves no remainder. Only then its product with the scale is `x` again.
        let quotient = x.wrapping_shr(self.shift).wrapping_mul(&self.inverse);
        let has_remainder = quotient.wrapping_mul(&self.scale) != x;
        (quotient.wrapping_add(&self.offset), is_out_of_range(quotient) | has_remainder)
    }
}

//! The conversions of `scale_offset`. Each returns the result of an element, and true if there may be a fault.

use half::bf16;
use num_traits::{Float as _, One as _, WrappingAdd, WrappingMul, WrappingShr, WrappingSub, Zero as _};

use super::Direction;
use crate::element::{Element, NumberType, integer_of, low_bits};
use crate::kernel::dispatch::{Conversion, TileConversion};
use crate::kernel::narrow::FloatElement;
use crate::{with_float, with_integer};

/// The bits of offset and scale.
type Parameters = (Option<u64>, Option<u64>);

/// Returns the conversion of a direction. `None` if it needs the exact path.
pub(super) fn select(number_type: NumberType, parameters: Parameters, direction: Direction) -> Option<TileConversion> {
    if parameters == (None, None) && number_type.is_whole() {
        return Some(TileConversion::copy());
    }
    if number_type.small_float().is_some() {
        // The only small float without a table.
        return Some(floats::<bf16>(parameters, direction));
    }
    with_float!(
        number_type.element(),
        S => Some(floats::<S>(parameters, direction)),
        else with_integer!(
            number_type.element(),
            S => integers::<S>(number_type, parameters, direction),
            else None
        )
    )
}

fn floats<S: FloatElement>((offset, scale): Parameters, direction: Direction) -> TileConversion {
    let wide = |bits: u64| S::from_bits64(bits).widen();
    let scale = scale.map_or(S::Wide::one(), wide);
    match direction {
        Direction::Encode => {
            let offset = offset.map_or(S::Wide::zero(), wide);
            TileConversion::of_each(ScaledFloat::<S, false> { offset, scale })
        }
        Direction::Decode => {
            // Adding -0.0 changes nothing, but adding 0.0 would change -0.0.
            let offset = offset.map_or(S::Wide::neg_zero(), wide);
            TileConversion::of_each(ScaledFloat::<S, true> { offset, scale })
        }
    }
}

/// Returns a conversion in arithmetic modulo 2^N. It is right for a range of values for which no step overflows. `None`
/// if this range is empty, or if the scale is 0.
fn integers<S: Modular>(
    number_type: NumberType,
    (offset, scale): Parameters,
    direction: Direction,
) -> Option<TileConversion> {
    let (least, greatest) = number_type.integer_bounds()?;
    let element = number_type.element();
    let offset = offset.map_or(0, |bits| integer_of(bits, element));
    let scale = scale.map_or(1, |bits| integer_of(bits, element));
    if scale == 0 {
        return None;
    }
    // The integers whose product with the scale is in range.
    let (first, last) = if scale > 0 { (least, greatest) } else { (greatest, least) };
    let factor = (divide_up(first, scale).max(least), divide_down(last, scale).min(greatest));
    let accepted = match direction {
        Direction::Encode => ((factor.0 + offset).max(least), (factor.1 + offset).min(greatest)),
        Direction::Decode => (factor.0.max(least - offset), factor.1.min(greatest - offset)),
    };
    // An empty range must not become another one when truncated to the type. The exact path finds the fault.
    if accepted.0 > accepted.1 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an inverse modulo 2^64")]
    let odd = (scale >> scale.trailing_zeros()) as u64;
    let (shift, inverse) = (scale.trailing_zeros(), S::from_bits64(inverse(odd)));
    let [offset, scale, first, last] =
        [offset, scale, accepted.0, accepted.1].map(|integer| S::from_bits64(low_bits(integer, number_type)));
    let accepted = (first, last);
    Some(match direction {
        Direction::Encode => {
            TileConversion::of_each(ScaledInteger::<S, false> { offset, scale, accepted, shift, inverse })
        }
        Direction::Decode => {
            TileConversion::of_each(ScaledInteger::<S, true> { offset, scale, accepted, shift, inverse })
        }
    })
}

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

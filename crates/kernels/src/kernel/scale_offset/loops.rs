//! The loops of `scale_offset`. Each converts a tile, and tells whether a fault may be in it.

use std::marker::PhantomData;

use half::f16;

use super::Direction;
use crate::element::{Element, NumberType};
use crate::kernel::InstructionSet;
use crate::kernel::cast::low_bits;
use crate::kernel::dispatch::{TileKernel, TileLoop, convert_each};
use crate::kernel::exact::integer_of;
use crate::kernel::narrow::ConvertFloat;
use crate::kernel::round::{FloatElement, NearestEven, WideFloat};
use crate::kernel::small_float::{SmallTarget, float32_of_bfloat16};
use crate::{with_float, with_integer};

/// The constants of one direction, as bits of the type that is calculated in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parameters {
    /// What encoding subtracts and decoding adds.
    offset: u64,
    scale: u64,
    /// Of an integer: the values whose every step is in range; of a quotient, when decoding.
    accepted: (u64, u64),
    /// Of an integer scale: its trailing zeros, and the inverse modulo 2^N of what is above them.
    shift: u32,
    inverse: u64,
    /// The small float that is calculated in, by float64.
    small: SmallTarget,
}

/// A loop for one direction; it tells whether its tile needs the exact path.
pub(super) type Kernel = (TileKernel<Parameters, bool>, Parameters);

/// Picks the loop of a direction; `None` for a zero scale, which has been refused before.
pub(super) fn select(
    number_type: NumberType,
    (offset, scale): (Option<u64>, Option<u64>),
    direction: Direction,
    isa: InstructionSet,
) -> Option<Kernel> {
    if offset.is_none() && scale.is_none() && number_type.is_whole() {
        return Some((TileKernel::select::<Copy>(isa), Parameters::default()));
    }
    if let Some(float) = number_type.small_float() {
        let value = |bits: u64| float.to_f64(bits).unwrap_or(f64::NAN).to_bits();
        let parameters = Parameters {
            offset: offset.map_or_else(|| absent_offset::<f64>(direction).to_bits(), value),
            scale: scale.map_or(1_f64.to_bits(), value),
            small: SmallTarget::new(float.format()),
            ..Parameters::default()
        };
        return Some(match direction {
            Direction::Encode => (TileKernel::select::<EncodeBfloat16>(isa), parameters),
            Direction::Decode => (TileKernel::select::<DecodeBfloat16>(isa), parameters),
        });
    }
    with_float!(
        number_type.element(),
        S => {
            let parameters = float_parameters::<S>(offset, scale, direction);
            Some(match direction {
                Direction::Encode => (TileKernel::select::<EncodeFloat<S>>(isa), parameters),
                Direction::Decode => (TileKernel::select::<DecodeFloat<S>>(isa), parameters),
            })
        },
        else with_integer!(
            number_type.element(),
            S => {
                let parameters = integer_parameters(number_type, offset, scale, direction)?;
                Some(match direction {
                    Direction::Encode => (TileKernel::select::<EncodeInteger<S>>(isa), parameters),
                    Direction::Decode => (TileKernel::select::<DecodeInteger<S>>(isa), parameters),
                })
            },
            else None
        )
    )
}

fn float_parameters<S: FloatElement>(
    offset: Option<u64>,
    scale: Option<u64>,
    direction: Direction,
) -> Parameters {
    let absent = absent_offset::<S::Wide>(direction);
    let wide = |bits: u64| S::from_bits64(bits).widen();
    Parameters {
        offset: offset.map_or(absent, wide).to_bits64(),
        scale: scale.map_or(S::Wide::ONE, wide).to_bits64(),
        ..Parameters::default()
    }
}

/// The offset that changes nothing.
fn absent_offset<W: WideFloat>(direction: Direction) -> W {
    match direction {
        Direction::Encode => W::ZERO,
        // Adding -0.0 changes nothing; adding 0.0 would change -0.0.
        Direction::Decode => W::ZERO.with_sign_of(W::of_f64(-1.0)),
    }
}

/// Bounds that make every step of an integer fit: all of it is then arithmetic modulo 2^N.
fn integer_parameters(
    number_type: NumberType,
    offset: Option<u64>,
    scale: Option<u64>,
    direction: Direction,
) -> Option<Parameters> {
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
    // An empty range has to stay empty when it is cut to the type: the exact path knows why.
    if accepted.0 > accepted.1 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an inverse modulo 2^64")]
    let odd = (scale >> scale.trailing_zeros()) as u64;
    Some(Parameters {
        offset: low_bits(offset, number_type),
        scale: low_bits(scale, number_type),
        accepted: (low_bits(accepted.0, number_type), low_bits(accepted.1, number_type)),
        shift: scale.trailing_zeros(),
        inverse: inverse(odd),
        ..Parameters::default()
    })
}

fn divide_down(dividend: i128, divisor: i128) -> i128 {
    let quotient = dividend / divisor;
    if dividend % divisor != 0 && (dividend < 0) != (divisor < 0) { quotient - 1 } else { quotient }
}

fn divide_up(dividend: i128, divisor: i128) -> i128 {
    -divide_down(-dividend, divisor)
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits that are right.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd.wrapping_mul(3) ^ 2, |inverse, _| {
        inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)))
    })
}

struct Copy;

impl TileLoop for Copy {
    type Parameters = Parameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], _: &Parameters) -> bool {
        target.copy_from_slice(source);
        false
    }
}

/// A float type as the loops write it.
trait Settled: FloatElement {
    /// The element of a value that [`FloatElement::settle`] gave.
    fn of_settled(value: Self::Wide) -> Self;
}

impl Settled for f16 {
    #[inline(always)]
    fn of_settled(value: f32) -> f16 {
        value.convert_float::<NearestEven>().0
    }
}

impl Settled for f32 {
    #[inline(always)]
    fn of_settled(value: f32) -> f32 {
        value
    }
}

impl Settled for f64 {
    #[inline(always)]
    fn of_settled(value: f64) -> f64 {
        value
    }
}

/// Whether a finite value went in and none came out: only then a step can have overflowed.
#[inline(always)]
fn has_overflowed<W: WideFloat>(before: W, after: W) -> bool {
    (before.magnitude() < W::INFINITY) & !(after.magnitude() < W::INFINITY)
}

struct EncodeFloat<S>(PhantomData<S>);

impl<S: Settled> TileLoop for EncodeFloat<S> {
    type Parameters = Parameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &Parameters) -> bool {
        let offset = S::Wide::from_bits64(parameters.offset);
        let scale = S::Wide::from_bits64(parameters.scale);
        convert_each!(source, target, S => S, x => {
            let x = x.widen();
            let result = S::settle(S::settle(x - offset) * scale);
            (S::of_settled(result), has_overflowed(x, result))
        })
    }
}

struct DecodeFloat<S>(PhantomData<S>);

impl<S: Settled> TileLoop for DecodeFloat<S> {
    type Parameters = Parameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &Parameters) -> bool {
        let offset = S::Wide::from_bits64(parameters.offset);
        let scale = S::Wide::from_bits64(parameters.scale);
        convert_each!(source, target, S => S, x => {
            let x = x.widen();
            let result = S::settle(S::settle(x / scale) + offset);
            (S::of_settled(result), has_overflowed(x, result))
        })
    }
}

/// A result of one operation on `bfloat16`, rounded to it once: its bits, and as float64.
///
/// float64 has the precision that makes its own rounding before harmless; see the exact path.
#[expect(clippy::cast_possible_truncation, reason = "the bits of a bfloat16")]
#[inline(always)]
fn settle_bfloat16(result: f64, small: &SmallTarget) -> (u16, f64) {
    let bits = small.encode::<NearestEven>(result).0 as u16;
    (bits, widen_bfloat16(bits))
}

#[inline(always)]
fn widen_bfloat16(bits: u16) -> f64 {
    float32_of_bfloat16(bits).convert_float::<NearestEven>().0
}

/// Whether the exact path has to look at it: a finite value became none, or an infinity NaN.
#[inline(always)]
fn is_suspect(before: f64, after: f64) -> bool {
    has_overflowed(before, after) | ((before == before) & (after != after))
}

struct EncodeBfloat16;

impl TileLoop for EncodeBfloat16 {
    type Parameters = Parameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &Parameters) -> bool {
        let (offset, scale) = (f64::from_bits(parameters.offset), f64::from_bits(parameters.scale));
        convert_each!(source, target, u16 => u16, bits => {
            let x = widen_bfloat16(bits);
            let shifted = settle_bfloat16(x - offset, &parameters.small).1;
            let (result, scaled) = settle_bfloat16(shifted * scale, &parameters.small);
            (if x == x { result } else { bits | QUIET_BFLOAT16 }, is_suspect(x, scaled))
        })
    }
}

/// What makes a NaN quiet.
const QUIET_BFLOAT16: u16 = 0x40;

struct DecodeBfloat16;

impl TileLoop for DecodeBfloat16 {
    type Parameters = Parameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &Parameters) -> bool {
        let (offset, scale) = (f64::from_bits(parameters.offset), f64::from_bits(parameters.scale));
        convert_each!(source, target, u16 => u16, bits => {
            let x = widen_bfloat16(bits);
            let divided = settle_bfloat16(x / scale, &parameters.small).1;
            let (result, shifted) = settle_bfloat16(divided + offset, &parameters.small);
            (if x == x { result } else { bits | QUIET_BFLOAT16 }, is_suspect(x, shifted))
        })
    }
}

/// Arithmetic modulo 2^N.
trait Modular: Element {
    fn subtract(self, other: Self) -> Self;
    fn add(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn shift_right(self, shift: u32) -> Self;
}

macro_rules! modular {
    ($($type:ty),*) => {$(
        impl Modular for $type {
            #[inline(always)]
            fn subtract(self, other: $type) -> $type {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn add(self, other: $type) -> $type {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn multiply(self, other: $type) -> $type {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn shift_right(self, shift: u32) -> $type {
                self.wrapping_shr(shift)
            }
        }
    )*};
}

modular!(i8, i16, i32, i64, u8, u16, u32, u64);

struct EncodeInteger<S>(PhantomData<S>);

impl<S: Modular> TileLoop for EncodeInteger<S> {
    type Parameters = Parameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &Parameters) -> bool {
        let (offset, scale) = (S::from_bits64(parameters.offset), S::from_bits64(parameters.scale));
        let accepted = (S::from_bits64(parameters.accepted.0), S::from_bits64(parameters.accepted.1));
        convert_each!(source, target, S => S, x => {
            (x.subtract(offset).multiply(scale), (x < accepted.0) | (x > accepted.1))
        })
    }
}

struct DecodeInteger<S>(PhantomData<S>);

impl<S: Modular> TileLoop for DecodeInteger<S> {
    type Parameters = Parameters;
    type Outcome = bool;
    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], parameters: &Parameters) -> bool {
        let (offset, scale) = (S::from_bits64(parameters.offset), S::from_bits64(parameters.scale));
        let accepted = (S::from_bits64(parameters.accepted.0), S::from_bits64(parameters.accepted.1));
        let (shift, inverse) = (parameters.shift, S::from_bits64(parameters.inverse));
        convert_each!(source, target, S => S, x => {
            // Where the division leaves no remainder this is the quotient, and only then its product is `x` again.
            let quotient = x.shift_right(shift).multiply(inverse);
            let is_out_of_range = (quotient < accepted.0) | (quotient > accepted.1);
            (quotient.add(offset), is_out_of_range | (quotient.multiply(scale) != x))
        })
    }
}

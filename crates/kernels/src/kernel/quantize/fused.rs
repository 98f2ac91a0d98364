//! The fused loop of a quantisation. It encodes, decodes and measures a tile while it is in the first-level cache.
//!
//! It supports finite values in range, NaN with a code, and (separately) clamped values. The counts show if a tile
//! contains anything else, and the exact path then converts the tile.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use num_traits::{Float as _, One as _, Zero as _};

use super::{QuantizeFigures, QuantizeOptions};
use crate::element::{ElementType, FloatFormat};
use crate::kernel::OutOfRange;
use crate::kernel::dispatch::{TileKernel, TileLoop};
use crate::kernel::narrow::FloatElement;
use crate::kernel::round::{OfFloat, RoundingMode, WideFloat, round, with_rounding};
use crate::kernel::tile::TILE;
use crate::with_float;

/// A loop compiled for an instruction set. Its state is the figures so far. Only a tile that may exceed the greatest
/// errors is examined closely, so those of a tile are exact only if they exceed them. They are not finite if a decoded
/// value overflowed. Elements out of range are counted only if they are clamped.
pub(super) type FusedKernel = TileKernel<QuantizeFigures, QuantizeFigures>;

/// Selects the loop for the options. `None` if a code is not exact in the source's float type, or if -0.0 has its own
/// code.
pub(super) fn bind(options: &QuantizeOptions, normalizer: f64) -> Option<FusedKernel> {
    let (least, greatest) = options.target.integer_bounds()?;
    let exact = 1_i128 << options.source.significand_bits()?;
    let nan_code = options.nan_code.unwrap_or(options.codes.0);
    let is_exact = |code: i64| {
        let code = i128::from(code);
        (least..=greatest).contains(&code) && (-exact..=exact).contains(&code)
    };
    if ![options.codes.0, options.codes.1, nan_code].into_iter().all(is_exact)
        || options.codes.0 > options.codes.1
        || options.negative_zero_code.is_some()
    {
        return None;
    }
    with_float!(options.source.element(), S => {
        Some(select_code(options, Constants::<S>::new(options, normalizer)))
    }, else None)
}

/// Returns the least positive number of a format. It is 0 for float64, where the power underflows.
fn least(format: FloatFormat) -> f64 {
    let exponent = format.least_exponent() - format.fraction_bits.cast_signed();
    2_f64.powi(exponent)
}

/// Selects the loop by the size of a code. Codes have the same bits, signed or not. Only for 32 bits the instructions
/// to convert differ.
fn select_code<S: FloatElement<Wide: Measured>>(options: &QuantizeOptions, constants: Constants<S>) -> FusedKernel {
    match options.target.element() {
        ElementType::Int8 | ElementType::UInt8 => select_rounding::<S, u8>(options, constants),
        ElementType::Int16 | ElementType::UInt16 => select_rounding::<S, u16>(options, constants),
        ElementType::Int32 => select_rounding::<S, i32>(options, constants),
        ElementType::UInt32 => select_rounding::<S, u32>(options, constants),
        _ => select_rounding::<S, i64>(options, constants),
    }
}

fn select_rounding<S: FloatElement<Wide: Measured>, T: OfFloat>(
    options: &QuantizeOptions,
    constants: Constants<S>,
) -> FusedKernel {
    with_rounding!(options.rounding, M => {
        let types = PhantomData::<(T, M)>;
        if options.out_of_range == OutOfRange::Clamp {
            TileKernel::new(FusedLoop::<S, T, M, true> { constants, types })
        } else {
            TileKernel::new(FusedLoop::<S, T, M, false> { constants, types })
        }
    })
}

struct FusedLoop<S: FloatElement, T, M, const CLAMP: bool> {
    constants: Constants<S>,
    types: PhantomData<(T, M)>,
}

/// The constants of a loop, in the float type of the calculation.
#[derive(Clone, Copy)]
pub(super) struct Constants<S: FloatElement> {
    offset: S::Wide,
    /// The number that decoding adds. Without an offset it is -0.0, which changes nothing.
    added: S::Wide,
    scale: S::Wide,
    /// The reciprocal of the scale in two parts.
    reciprocal: (S::Wide, S::Wide),
    pub(super) codes: (S::Wide, S::Wide),
    pub(super) nan_code: S::Wide,
    pub(super) normalizer: f64,
    /// The greatest difference that the calculation represents exactly: all values are multiples of the source's least
    /// positive value.
    pub(super) exact_up_to: f64,
}

/// The intermediate results of one element.
struct Passed<W> {
    /// The scaled value, before rounding.
    scaled: W,
    /// Its code. For NaN it is the first code.
    code: W,
    is_in_range: bool,
    error: W,
}

impl<S: FloatElement<Wide: Measured>> Constants<S> {
    pub(super) fn new(options: &QuantizeOptions, normalizer: f64) -> Self {
        let wide = |bits: u64| S::from_bits64(bits).widen();
        let scale = options.scale.map_or(S::Wide::one(), wide);
        Constants {
            offset: options.offset.map_or(S::Wide::zero(), wide),
            added: options.offset.map_or(S::Wide::neg_zero(), wide),
            scale,
            reciprocal: scale.split_reciprocal(),
            codes: (S::Wide::of_code(options.codes.0), S::Wide::of_code(options.codes.1)),
            nan_code: S::Wide::of_code(options.nan_code.unwrap_or(options.codes.0)),
            normalizer,
            exact_up_to: FloatFormat::from_element(S::TYPE)
                .map_or(0.0, |format| least(format) * S::Wide::INTEGRAL.as_f64()),
        }
    }

    #[inline(always)]
    fn pass<M: RoundingMode, const ROUNDS: bool>(&self, x: S::Wide) -> Passed<S::Wide> {
        let scaled = self.scale(x);
        let rounded = round::<S::Wide, M, ROUNDS>(scaled);
        // In this order NaN becomes the first code, and never equals it.
        let code = if rounded > self.codes.0 { rounded } else { self.codes.0 };
        let code = if code < self.codes.1 { code } else { self.codes.1 };
        Passed { scaled, code, is_in_range: code == rounded, error: (self.decode(code, true) - x).abs() }
    }

    #[inline(always)]
    pub(super) fn scale(&self, x: S::Wide) -> S::Wide {
        S::round(S::round(x - self.offset) * self.scale)
    }

    /// Decodes a code by a division, or by a multiplication with a proved equal result.
    #[inline(always)]
    pub(super) fn decode(&self, code: S::Wide, divides: bool) -> S::Wide {
        let unscaled =
            if divides { code / self.scale } else { code.mul_add(self.reciprocal.0, code * self.reciprocal.1) };
        S::round(S::round(unscaled) + self.added)
    }
}

impl<S: FloatElement<Wide: Measured>, T: OfFloat, M: RoundingMode, const CLAMP: bool> TileLoop
    for FusedLoop<S, T, M, CLAMP>
{
    type State = QuantizeFigures;
    type Outcome = QuantizeFigures;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], target: &mut [u8], known: &QuantizeFigures) -> QuantizeFigures {
        let (Ok(source), Ok(target)) =
            (bytemuck::try_cast_slice::<u8, S>(source), bytemuck::try_cast_slice_mut::<u8, T>(target))
        else {
            return QuantizeFigures::default();
        };
        let (constants, zero) = (self.constants, S::Wide::zero());
        let mut errors = [const { MaybeUninit::<S::Wide>::uninit() }; TILE];
        let (mut in_range, mut nan, mut finite) = Default::default();
        let (mut greatest, mut greatest_clamped) = (zero.order(), zero.order());
        for ((x, code), error) in source.iter().zip(&mut *target).zip(&mut errors) {
            let x = x.widen();
            let passed = constants.pass::<M, ROUNDS>(x);
            let is_nan = x != x;
            let value = if is_nan { constants.nan_code } else { passed.code };
            // SAFETY: `value` is between the codes or is the NaN code. `bind` has checked that both are exact and in T.
            *code = unsafe { value.to_code() };
            let error_in_range = if passed.is_in_range { passed.error } else { zero };
            S::Wide::add(&mut in_range, passed.is_in_range);
            S::Wide::add(&mut nan, is_nan);
            greatest = greatest.max(error_in_range.order());
            if CLAMP {
                let is_finite = passed.scaled.abs() < S::Wide::infinity();
                S::Wide::add(&mut finite, is_finite);
                let clamped = if is_finite & !passed.is_in_range { passed.error } else { zero };
                greatest_clamped = greatest_clamped.max(clamped.order());
                // One of the two is 0, and the sign distinguishes them afterwards.
                error.write(error_in_range - clamped);
            } else {
                error.write(error_in_range);
            }
        }
        let count = source.len().min(target.len()).min(TILE);
        // SAFETY: the loop has written as many elements as the shortest of the three slices has.
        let errors = unsafe { &*(std::ptr::from_ref(&errors[..count]) as *const [S::Wide]) };
        let closer = ErrorRescan::<S, M, ROUNDS> { source, errors, constants, mode: PhantomData };
        let (in_range, nan) = (S::Wide::total(in_range), S::Wide::total(nan));
        let clamped = if CLAMP { S::Wide::total(finite).saturating_sub(in_range) } else { 0 };
        let max_abs_error = S::Wide::of_order(greatest);
        let max_clamped = S::Wide::of_order(greatest_clamped);
        QuantizeFigures {
            count: in_range + clamped + nan,
            nan,
            clamped,
            max_abs_error: closer.greatest(max_abs_error, max_abs_error, known.max_abs_error),
            max_abs_error_clamped: closer.greatest(max_clamped, zero - max_clamped, known.max_abs_error_clamped),
            sum_of_squares: S::Wide::sum_of_squares(errors, max_abs_error, constants.normalizer),
            normalizer: constants.normalizer,
            ..QuantizeFigures::default()
        }
    }
}

/// A tile after its loop, to examine the errors closely.
struct ErrorRescan<'a, S: FloatElement, M, const ROUNDS: bool> {
    source: &'a [S],
    errors: &'a [S::Wide],
    constants: Constants<S>,
    mode: PhantomData<M>,
}

impl<S: FloatElement<Wide: Measured>, M: RoundingMode, const ROUNDS: bool> ErrorRescan<'_, S, M, ROUNDS> {
    /// Returns the greatest error in float64. `found` is its float32 rounding, and `marked` is its value among the
    /// errors.
    ///
    /// A difference is exact in the type if it is not greater than either operand. (Both are multiples of the smaller
    /// one's last place.) Other differences are computed again in float64. An error up to `known` is not examined.
    #[inline(always)]
    fn greatest(&self, found: S::Wide, marked: S::Wide, known: f64) -> f64 {
        let rounded = found.as_f64();
        let may_exceed = rounded * (1.0 + f64::from(f32::EPSILON)) > known;
        if S::Wide::IS_FLOAT64 || !may_exceed || !rounded.is_finite() {
            return rounded;
        }
        let twice = found + found;
        let mut inexact = 0_u32;
        for (x, error) in self.source.iter().zip(self.errors) {
            inexact |= u32::from((*error == marked) & (x.widen().abs() < twice));
        }
        if inexact == 0 { rounded } else { self.greatest_exactly(marked) }
    }

    #[inline(never)]
    fn greatest_exactly(&self, marked: S::Wide) -> f64 {
        let mut greatest = 0_f64;
        for (x, error) in self.source.iter().zip(self.errors) {
            if *error == marked {
                let x = x.widen();
                // This function is compiled for the baseline, which lacks an instruction for it.
                let code = self.constants.pass::<M, false>(x).code;
                greatest = greatest.max((self.constants.decode(code, true).as_f64() - x.as_f64()).abs());
            }
        }
        greatest
    }
}

/// A float type that errors are measured in.
pub(super) trait Measured: WideFloat {
    /// True if differences are already those of float64.
    const IS_FLOAT64: bool;
    /// One and a half times [`WideFloat::INTEGRAL`]. A sum with it rounds to an integer, ties to even, in the last
    /// bits.
    const SHIFT: Self;
    /// The range of errors whose squares are far from underflow and overflow.
    const SQUARED: (Self, Self);
    /// The bits as an integer. Magnitudes sort in the same way, and a maximum of integers vectorises.
    type Order: Copy + Ord;
    /// A count as wide as the float.
    type Count: Copy + Default;
    fn order(self) -> Self::Order;
    fn of_order(order: Self::Order) -> Self;
    fn add(count: &mut Self::Count, condition: bool);
    fn total(count: Self::Count) -> u64;
    /// # Safety
    ///
    /// `self` must be an integer in the range of the type or of its signed twin. It must be within ±2^24 (float32) or
    /// ±2^53 (float64).
    unsafe fn to_code<T: OfFloat>(self) -> T;
    /// Returns the reciprocal, and its rounding error.
    fn split_reciprocal(self) -> (Self, Self);
    /// Returns a code of at most 53 bits, which this type represents exactly.
    #[expect(clippy::cast_precision_loss, reason = "the codes of the loop are exact in its float type")]
    fn of_code(code: i64) -> Self {
        Self::of_f64(code as f64)
    }
    /// Returns the sum of the squares of `error * normalizer`. A negative error counts as 0. `greatest` is the greatest
    /// error.
    fn sum_of_squares(errors: &[Self], greatest: Self, normalizer: f64) -> f64;
}

impl Measured for f32 {
    const IS_FLOAT64: bool = false;
    const SHIFT: f32 = 12_582_912.0;
    const SQUARED: (f32, f32) = (1e-12, 1e12);
    type Order = i32;
    type Count = u32;

    fn split_reciprocal(self) -> (f32, f32) {
        let nearest = 1.0 / self;
        // The product is exact in float64, and so is the difference.
        let scale = f64::from(self);
        (nearest, f32::of_f64((1.0 - f64::from(nearest) * scale) / scale))
    }

    #[inline(always)]
    fn order(self) -> i32 {
        self.to_bits().cast_signed()
    }
    #[inline(always)]
    fn of_order(order: i32) -> f32 {
        f32::from_bits(order.cast_unsigned())
    }
    #[inline(always)]
    fn add(count: &mut u32, condition: bool) {
        *count += u32::from(condition);
    }
    #[inline(always)]
    fn total(count: u32) -> u64 {
        u64::from(count)
    }
    #[inline(always)]
    unsafe fn to_code<T: OfFloat>(self) -> T {
        // SAFETY: the caller guarantees that it is within ±2^24, and so within an i32.
        let integer = unsafe { self.to_int_unchecked::<i32>() };
        T::from_bits64(i64::from(integer).cast_unsigned())
    }

    #[inline(always)]
    fn sum_of_squares(errors: &[f32], greatest: f32, normalizer: f64) -> f64 {
        // 16 additions in float32, then float64. With the rounding of the square the error is below 1e-6 of the root.
        const LANES: usize = 64;
        // Smaller squares would lose bits to gradual underflow.
        const LEAST_NORMALIZED: f64 = 1.0 / 1_099_511_627_776.0;
        let mut total = 0_f64;
        let blocks = errors.chunks_exact(LANES * 16);
        let rest = blocks.remainder();
        let narrow = f32::of_f64(normalizer);
        for block in blocks {
            let mut sums = [0_f32; LANES];
            for row in block.chunks_exact(LANES) {
                for (sum, error) in sums.iter_mut().zip(row) {
                    let normalized = if *error > 0.0 { *error } else { 0.0 } * narrow;
                    *sum += normalized * normalized;
                }
            }
            let mut folded = [0_f64; 8];
            for part in sums.chunks_exact(8) {
                for (folded, sum) in folded.iter_mut().zip(part) {
                    *folded += f64::from(*sum);
                }
            }
            total += folded.iter().sum::<f64>();
        }
        if greatest > 0.0 && (f64::from(greatest) * normalizer < LEAST_NORMALIZED || !total.is_finite()) {
            return sum_in_float64(errors, normalizer);
        }
        total + sum_in_float64(rest, normalizer)
    }
}

impl Measured for f64 {
    const IS_FLOAT64: bool = true;
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const SQUARED: (f64, f64) = (1e-120, 1e120);
    type Order = i64;
    type Count = u64;

    fn split_reciprocal(self) -> (f64, f64) {
        let nearest = 1.0 / self;
        (nearest, (-nearest).mul_add(self, 1.0) / self)
    }

    #[inline(always)]
    fn order(self) -> i64 {
        self.to_bits().cast_signed()
    }
    #[inline(always)]
    fn of_order(order: i64) -> f64 {
        f64::from_bits(order.cast_unsigned())
    }
    #[inline(always)]
    fn add(count: &mut u64, condition: bool) {
        *count += u64::from(condition);
    }
    #[inline(always)]
    fn total(count: u64) -> u64 {
        count
    }
    #[inline(always)]
    unsafe fn to_code<T: OfFloat>(self) -> T {
        // SAFETY: the intermediate integer has the range of the type and of its signed twin up to 2^53.
        unsafe { T::of_f64(self) }
    }

    #[inline(always)]
    fn sum_of_squares(errors: &[f64], _greatest: f64, normalizer: f64) -> f64 {
        const LANES: usize = 32;
        let mut sums = [0_f64; LANES];
        let rows = errors.chunks_exact(LANES);
        let rest = rows.remainder();
        for row in rows {
            for (sum, error) in sums.iter_mut().zip(row) {
                let normalized = if *error > 0.0 { *error } else { 0.0 } * normalizer;
                *sum += normalized * normalized;
            }
        }
        sums.iter().sum::<f64>() + sum_in_float64(rest, normalizer)
    }
}

fn sum_in_float64<W: WideFloat>(errors: &[W], normalizer: f64) -> f64 {
    let mut sum = 0.0;
    for error in errors {
        let normalized = error.as_f64().max(0.0) * normalizer;
        sum += normalized * normalized;
    }
    sum
}

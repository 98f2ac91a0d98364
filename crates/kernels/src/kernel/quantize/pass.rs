//! The loop of a quantisation. It encodes, decodes and measures elements in one pass.
//!
//! Most tiles contain only numbers in range and NaN. For them the loop tests no element for its range. Its figures of a
//! tile show if the tile contains anything else, and a slower variant then converts the tile. The exact path converts
//! what no variant can: infinities, overflow, and numbers out of range that are not clamped.

use std::hint::select_unpredictable as select;
use std::marker::PhantomData;
use std::ops::Add;

use num_traits::{Float as _, One as _, Zero as _};

use super::{QuantizeFigures, QuantizeOptions};
use crate::element::{Element, FloatFormat};
use crate::kernel::OutOfRange;
use crate::kernel::dispatch::{TileKernel, TileLoop, fold, prefetch};
use crate::kernel::narrow::FloatElement;
use crate::kernel::round::{RoundToInteger, WideFloat, with_integer_rounding};
use crate::{with_bits, with_float};

/// A loop compiled for an instruction set. `None` for a tile that it cannot convert. The figures are not finite if a
/// decoded value overflowed.
pub(super) type PassKernel = TileKernel<Option<QuantizeFigures>, PreviousTiles>;

/// Figures of the tiles before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PreviousTiles {
    /// The figures of all of them. The greatest errors of a tile are exact only if they exceed these.
    pub(super) all: QuantizeFigures,
    /// The figures of the last one. The next one is likely to contain what this one contained.
    pub(super) last: QuantizeFigures,
}

/// Elements that are computed in parallel.
const LANES: usize = 16;

/// Elements whose squares are added in their own type, 16 in each lane. In float32 the error is less than 1e-6.
const BLOCK: usize = 16 * LANES;

/// Selects the loop for the options. `None` if a code is not exact in the source's float type, if -0.0 has its own
/// code, or if a number may be scaled to NaN.
pub(super) fn bind(options: &QuantizeOptions, normalizer: f64) -> Option<PassKernel> {
    let (least, greatest) = options.target.integer_bounds()?;
    let exact = 1_i128 << options.source.significand_bits()?;
    let is_exact = |code: i64| (least.max(-exact)..=greatest.min(exact)).contains(&i128::from(code));
    let (first, last) = options.codes;
    let are_exact = [first, last, options.nan_code.unwrap_or(first)].into_iter().all(is_exact);
    if !are_exact || first > last || options.negative_zero_code.is_some() {
        return None;
    }
    with_float!(options.source.element(), S => {
        let constants = Constants::<S>::new(options, normalizer);
        let size = options.target.size();
        // There are too many codes of more bytes for a proof.
        let is_proved = size <= 2 && TileKernel::new(Proof(constants)).run(&[], &mut []);
        constants.keep_numbers().then(|| match size {
            1 if is_proved => select_rounding::<S, u8, false>(options, constants),
            2 if is_proved => select_rounding::<S, u16, false>(options, constants),
            _ => with_bits!(size, T => select_rounding::<S, T, true>(options, constants)),
        })
    }, else None)
}

fn select_rounding<S: FloatElement<Wide: Measured>, T: Element, const DIVIDES: bool>(
    options: &QuantizeOptions,
    constants: Constants<S>,
) -> PassKernel {
    with_integer_rounding!(options.rounding, rounding => {
        TileKernel::new(PassLoop::<S, T, _, DIVIDES> { constants, rounding, target: PhantomData })
    })
}

/// The proof that decoding without a division gives the result of dividing for every code.
struct Proof<S: FloatElement>(Constants<S>);

impl<S: FloatElement<Wide: Measured>> TileLoop for Proof<S> {
    type Outcome = bool;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, _: &[u8], _: &mut [u8], (): &()) -> bool {
        let constants = self.0;
        let (least, greatest) = constants.codes;
        // A float counts the codes: each is exact, and the loop needs no conversion.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`bind` has seen: they are few")]
        let count = (greatest.as_f64() - least.as_f64()) as u32;
        let mut differs = false;
        for step in 0..=count {
            let code = S::Wide::of_f64(f64::from(step)) + least;
            let decoded = constants.decode(code, true);
            differs |= !(decoded.abs() < S::Wide::infinity());
            // Without a fused multiply-add the loop divides in any case.
            differs |= ROUNDS & (constants.decode(code, false) != decoded);
        }
        !differs
    }
}

/// The loop of a source type, an unsigned type of the size of the codes, and a rounding.
///
/// `DIVIDES` is true without a [`Proof`]. The division then takes longer than what the variants for fewer values leave
/// out.
struct PassLoop<S: FloatElement, T, M, const DIVIDES: bool> {
    constants: Constants<S>,
    rounding: M,
    target: PhantomData<T>,
}

impl<S, T, M, const DIVIDES: bool> TileLoop<PreviousTiles> for PassLoop<S, T, M, DIVIDES>
where
    S: FloatElement<Wide: Measured>,
    T: Element,
    M: RoundToInteger<S::Wide>,
{
    type Outcome = Option<QuantizeFigures>;

    #[inline(always)]
    fn run<const ROUNDS: bool>(
        &self,
        source: &[u8],
        target: &mut [u8],
        seen: &PreviousTiles,
    ) -> Option<QuantizeFigures> {
        let source = bytemuck::try_cast_slice::<u8, S>(source).ok()?;
        let target = bytemuck::try_cast_slice_mut::<u8, T>(target).ok()?;
        let (constants, rounding) = (self.constants, self.rounding);
        let pass = Pass::<S, T, M, ROUNDS, DIVIDES> { constants, rounding, target: PhantomData };
        let clamps = self.constants.clamps;
        // A variant that cannot convert the tile has written wrong codes. The next one overwrites them.
        let mut expects_clamped = clamps && (DIVIDES || seen.last.clamped > 0);
        if !DIVIDES && !expects_clamped && seen.last.nan == 0 {
            let lanes = pass.tile::<false, false>(source, target);
            let figures = pass.figures::<false>(source, &lanes, seen);
            if figures.is_some() {
                return figures;
            }
            expects_clamped = clamps && !lanes.has_nan();
        }
        if !expects_clamped {
            let lanes = pass.tile::<true, false>(source, target);
            let figures = pass.figures::<false>(source, &lanes, seen);
            if figures.is_some() || !clamps {
                return figures;
            }
        }
        let lanes = pass.tile::<true, true>(source, target);
        pass.figures::<true>(source, &lanes, seen)
    }
}

/// The figures of a tile, by lane.
struct Lanes<W> {
    /// The least and greatest rounded number. If values are clamped, only the greatest magnitude.
    rounded: ([W; LANES], [W; LANES]),
    error: [W; LANES],
    error_clamped: [W; LANES],
    /// The sums of the squares of the errors in a block.
    squares: [W; LANES],
    /// The sums of the squares in all blocks before.
    sum_of_squares: [f64; LANES],
    nan: [u32; LANES],
    /// The elements out of range, and NaN.
    out_of_range: [u32; LANES],
}

impl<W: Measured> Lanes<W> {
    #[inline(always)]
    fn none() -> Self {
        let zeros = [W::zero(); LANES];
        Lanes {
            rounded: ([W::infinity(); LANES], [W::zero() - W::infinity(); LANES]),
            error: zeros,
            error_clamped: zeros,
            squares: zeros,
            sum_of_squares: [0.0; LANES],
            nan: [0; LANES],
            out_of_range: [0; LANES],
        }
    }

    /// Returns true if a variant without a code for NaN has found one. Only the squares show it: comparisons ignore it.
    #[inline(always)]
    fn has_nan(&self) -> bool {
        fold(&self.sum_of_squares, add).is_nan()
    }
}

/// The loop with its constants.
///
/// Its variants are two choices: with `NAN` there is a code for NaN, and with `CLAMP` values out of range get the
/// nearest code.
struct Pass<S: FloatElement, T, M, const ROUNDS: bool, const DIVIDES: bool> {
    constants: Constants<S>,
    rounding: M,
    target: PhantomData<T>,
}

impl<S, T, M, const ROUNDS: bool, const DIVIDES: bool> Pass<S, T, M, ROUNDS, DIVIDES>
where
    S: FloatElement<Wide: Measured>,
    T: Element,
    M: RoundToInteger<S::Wide>,
{
    /// True if codes are calculated with [`Measured::SHIFT`] added. The code is then in the last bits of the float.
    const IS_SHIFTED: bool = size_of::<T>() < size_of::<S::Wide>();

    #[inline(always)]
    fn shift() -> S::Wide {
        if Self::IS_SHIFTED { S::Wide::SHIFT } else { S::Wide::zero() }
    }

    /// Returns the first and the last code, shifted.
    #[inline(always)]
    fn codes(&self) -> (S::Wide, S::Wide) {
        (self.constants.codes.0 + Self::shift(), self.constants.codes.1 + Self::shift())
    }

    /// Returns the scaled and rounded value, shifted. If it is out of range, so is the result.
    #[inline(always)]
    fn rounded(&self, x: S::Wide) -> S::Wide {
        let scaled = self.constants.scale(x);
        // The addition itself rounds to nearest.
        let is_rounded_by_shift = Self::IS_SHIFTED && M::IS_NEAREST_EVEN;
        let rounded = if is_rounded_by_shift { scaled } else { self.rounding.round::<ROUNDS>(scaled) };
        if Self::IS_SHIFTED { rounded + Self::shift() } else { rounded }
    }

    /// Returns the code of a rounded value, and true if it is the value itself. NaN stays and is not itself.
    #[inline(always)]
    fn code<const CLAMP: bool>(&self, rounded: S::Wide) -> (S::Wide, bool) {
        if !CLAMP {
            return (rounded, rounded == rounded);
        }
        let (first, last) = self.codes();
        let code = lesser(last, greater(first, rounded));
        (code, code == rounded)
    }

    /// Returns the element of a shifted code.
    ///
    /// # Safety
    ///
    /// With both choices it must be a code or that of NaN.
    #[inline(always)]
    unsafe fn element<const NAN: bool, const CLAMP: bool>(code: S::Wide) -> T {
        if Self::IS_SHIFTED {
            return T::from_bits64(code.to_bits64());
        }
        let limit = S::Wide::INTEGRAL + S::Wide::INTEGRAL;
        let exact = if NAN && CLAMP { code } else { lesser(greater(code, -limit), limit) };
        // SAFETY: it is within the limits, NaN too. `bind` has seen that all codes are.
        T::from_bits64(unsafe { exact.integer_bits() })
    }

    /// Decodes a shifted code.
    #[inline(always)]
    fn decoded(&self, code: S::Wide) -> S::Wide {
        self.constants.decode(code - Self::shift(), DIVIDES || !ROUNDS)
    }

    /// Converts a tile.
    #[inline(always)]
    fn tile<const NAN: bool, const CLAMP: bool>(&self, source: &[S], target: &mut [T]) -> Lanes<S::Wide> {
        let mut lanes = Lanes::none();
        let rows = source.len().min(target.len()) / LANES * LANES;
        for (source, target) in source[..rows].chunks(BLOCK).zip(target.chunks_mut(BLOCK)) {
            self.block::<NAN, CLAMP>(source, target, &mut lanes);
        }
        let (rest, target) = (&source[rows..], &mut target[rows..]);
        if let Some(first) = rest.first() {
            // A row filled up with one of its elements. What the added elements have added is removed again.
            let (mut row, mut codes) = ([*first; LANES], [T::from_bits64(0); LANES]);
            row[..rest.len()].copy_from_slice(rest);
            let (squares, nan, out_of_range) = (lanes.sum_of_squares, lanes.nan, lanes.out_of_range);
            self.block::<NAN, CLAMP>(&row, &mut codes, &mut lanes);
            target.copy_from_slice(&codes[..rest.len()]);
            lanes.sum_of_squares[rest.len()..].copy_from_slice(&squares[rest.len()..]);
            lanes.nan[rest.len()..].copy_from_slice(&nan[rest.len()..]);
            lanes.out_of_range[rest.len()..].copy_from_slice(&out_of_range[rest.len()..]);
        }
        lanes
    }

    /// Converts the whole rows of a block.
    #[inline(always)]
    fn block<const NAN: bool, const CLAMP: bool>(&self, source: &[S], target: &mut [T], lanes: &mut Lanes<S::Wide>) {
        let (source, _) = source.as_chunks::<LANES>();
        let (target, _) = target.as_chunks_mut::<LANES>();
        lanes.squares = [S::Wide::zero(); LANES];
        for (source, target) in source.iter().zip(target) {
            prefetch(source);
            self.row::<NAN, CLAMP>(source, target, lanes);
        }
        for (sum, squares) in lanes.sum_of_squares.iter_mut().zip(lanes.squares) {
            *sum += squares.as_f64();
        }
    }

    #[inline(always)]
    fn row<const NAN: bool, const CLAMP: bool>(
        &self,
        source: &[S; LANES],
        target: &mut [T; LANES],
        lanes: &mut Lanes<S::Wide>,
    ) {
        let (zero, nan_code) = (S::Wide::zero(), self.constants.nan_code + Self::shift());
        for lane in 0..LANES {
            let x = source[lane].widen();
            let is_nan = x != x;
            let rounded = self.rounded(x);
            if CLAMP {
                lanes.rounded.1[lane] = greater(rounded.abs(), lanes.rounded.1[lane]);
            } else {
                lanes.rounded.0[lane] = lesser(rounded, lanes.rounded.0[lane]);
                lanes.rounded.1[lane] = greater(rounded, lanes.rounded.1[lane]);
            }
            let (code, is_in_range) = self.code::<CLAMP>(rounded);
            let stored = if NAN { select(is_nan, nan_code, code) } else { code };
            // SAFETY: with both choices the code is limited to those in range, or replaced by that of NaN.
            target[lane] = unsafe { Self::element::<NAN, CLAMP>(stored) };
            let error = (self.decoded(code) - x).abs();
            let in_range = if CLAMP { select(is_in_range, error, zero) } else { error };
            lanes.error[lane] = greater(in_range, lanes.error[lane]);
            let sum = lanes.squares[lane];
            let squares = if ROUNDS { in_range.mul_add(in_range, sum) } else { in_range * in_range + sum };
            // With `CLAMP`, NaN is not in range, so its square is 0 already.
            lanes.squares[lane] = if NAN && !CLAMP { select(is_nan, sum, squares) } else { squares };
            if NAN {
                lanes.nan[lane] += u32::from(is_nan);
            }
            if CLAMP {
                lanes.error_clamped[lane] = greater(select(is_in_range, zero, error), lanes.error_clamped[lane]);
                lanes.out_of_range[lane] += u32::from(!is_in_range);
            }
        }
    }

    /// Returns the figures of a tile. `None` if it contains a value without a code.
    #[inline(always)]
    fn figures<const CLAMP: bool>(
        &self,
        source: &[S],
        lanes: &Lanes<S::Wide>,
        seen: &PreviousTiles,
    ) -> Option<QuantizeFigures> {
        // Finite values can be clamped.
        let (first, last) = if CLAMP { (S::Wide::zero(), S::Wide::max_value()) } else { self.codes() };
        let is_convertible = fold(&lanes.rounded.0, lesser) >= first && fold(&lanes.rounded.1, greater) <= last;
        if !is_convertible || lanes.has_nan() {
            return None;
        }
        let errors = (fold(&lanes.error, greater), fold(&lanes.error_clamped, greater));
        let nan = u64::from(fold(&lanes.nan, add));
        let normalizer = self.constants.normalizer;
        let mut figures = QuantizeFigures {
            count: source.len() as u64,
            nan,
            clamped: u64::from(fold(&lanes.out_of_range, add)).saturating_sub(nan),
            max_abs_error: errors.0.as_f64(),
            max_abs_error_clamped: errors.1.as_f64(),
            sum_of_squares: fold(&lanes.sum_of_squares, add) * normalizer * normalizer,
            normalizer,
            ..QuantizeFigures::default()
        };
        let is_squared = errors.0 == S::Wide::zero() || (S::Wide::SQUARED.0..S::Wide::SQUARED.1).contains(&errors.0);
        if !is_squared || self.may_be_inexact::<CLAMP>(source, errors, &seen.all) {
            let exact = self.measured_in_float64::<CLAMP>(source);
            figures.max_abs_error = fold(&exact.error, greater);
            figures.max_abs_error_clamped = fold(&exact.error_clamped, greater);
            if !is_squared {
                figures.sum_of_squares = fold(&exact.squares, add);
            }
        }
        Some(figures)
    }

    /// Returns true if one of the greatest errors exceeds the known one and may differ from that in float64.
    ///
    /// A difference is exact in the type if one operand is zero, or if it is not greater than either. (Both are
    /// multiples of the smaller one's last place.)
    #[inline(always)]
    fn may_be_inexact<const CLAMP: bool>(
        &self,
        source: &[S],
        errors: (S::Wide, S::Wide),
        known: &QuantizeFigures,
    ) -> bool {
        let in_range = self.examined(errors.0, known.max_abs_error);
        let clamped = self.examined(errors.1, known.max_abs_error_clamped);
        let greatest = greater(in_range, clamped);
        let has_near = |has_near, x: &S| has_near | is_near(x.widen(), greatest);
        if greatest == S::Wide::zero() || !source.iter().fold(false, has_near) {
            return false;
        }
        let mut may_be_inexact = false;
        for x in source {
            let x = x.widen();
            let (code, is_in_range) = self.code::<CLAMP>(self.rounded(x));
            let greatest = select(is_in_range, in_range, clamped);
            may_be_inexact |= is_near(x, greatest) & ((self.decoded(code) - x).abs() == greatest);
        }
        may_be_inexact
    }

    /// Returns an error, or 0 if its value in float64 is known or does not matter.
    #[inline(always)]
    fn examined(&self, error: S::Wide, known: f64) -> S::Wide {
        let is_exact = S::Wide::IS_FLOAT64 || error.as_f64() <= self.constants.exact_up_to;
        // Rounding is monotonic: a rounded error below the known one is below it before rounding, too.
        if is_exact || error < S::Wide::of_f64(known) { S::Wide::zero() } else { error }
    }

    /// Measures all errors of a tile in float64, and adds their normalised squares.
    #[inline(always)]
    fn measured_in_float64<const CLAMP: bool>(&self, source: &[S]) -> Lanes<f64> {
        let (rows, rest) = source.as_chunks::<LANES>();
        let mut lanes = Lanes::none();
        for row in rows {
            for (lane, x) in row.iter().enumerate() {
                self.measure_in_float64::<CLAMP>(*x, lane, &mut lanes);
            }
        }
        for (lane, x) in rest.iter().enumerate() {
            self.measure_in_float64::<CLAMP>(*x, lane, &mut lanes);
        }
        lanes
    }

    #[inline(always)]
    fn measure_in_float64<const CLAMP: bool>(&self, x: S, lane: usize, lanes: &mut Lanes<f64>) {
        let x = x.widen();
        let (code, is_in_range) = self.code::<CLAMP>(self.rounded(x));
        let error = (self.decoded(code).as_f64() - x.as_f64()).abs();
        let in_range = select(is_in_range, error, 0.0);
        lanes.error[lane] = greater(in_range, lanes.error[lane]);
        let normalized = in_range * self.constants.normalizer;
        lanes.squares[lane] += normalized * normalized;
        if CLAMP {
            lanes.error_clamped[lane] = greater(select(is_in_range, 0.0, error), lanes.error_clamped[lane]);
        }
    }
}

/// Returns true if a value is so small that the error may be greater than it, or than its decoded code.
#[inline(always)]
fn is_near<W: WideFloat>(x: W, error: W) -> bool {
    (x != W::zero()) & (x.abs() < error + error + error)
}

/// Returns the lesser of two numbers. If one is NaN it is the second. The same holds for [`greater`].
#[inline(always)]
fn lesser<W: PartialOrd>(one: W, other: W) -> W {
    select(one < other, one, other)
}

#[inline(always)]
fn greater<W: PartialOrd>(one: W, other: W) -> W {
    select(one > other, one, other)
}

fn add<W: Add<Output = W>>(one: W, other: W) -> W {
    one + other
}

// The numbers that the loop of a quantisation calculates with, and the float types that it measures in.

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
    /// True if finite values out of range get the first or the last code.
    pub(super) clamps: bool,
    pub(super) normalizer: f64,
    /// The greatest difference that the calculation represents exactly: all values are multiples of the source's least
    /// positive value.
    pub(super) exact_up_to: f64,
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
            clamps: options.out_of_range == OutOfRange::Clamp,
            normalizer,
            exact_up_to: FloatFormat::from_element(S::TYPE)
                .map_or(0.0, |format| least(format) * S::Wide::INTEGRAL.as_f64()),
        }
    }

    /// Returns true if only NaN is scaled to NaN.
    pub(super) fn keep_numbers(&self) -> bool {
        self.offset.is_finite() && self.scale.is_finite() && self.scale != S::Wide::zero()
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

/// Returns the least positive number of a format. It is 0 for float64, where the power underflows.
fn least(format: FloatFormat) -> f64 {
    let exponent = format.least_exponent() - format.fraction_bits.cast_signed();
    2_f64.powi(exponent)
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
    /// Returns the reciprocal, and its rounding error.
    fn split_reciprocal(self) -> (Self, Self);
    /// Returns the two's complement of an integer.
    ///
    /// # Safety
    ///
    /// It must be within ±2^24 (float32) or ±2^53 (float64).
    unsafe fn integer_bits(self) -> u64;
    /// Returns a code of at most 53 bits, which this type represents exactly.
    #[expect(clippy::cast_precision_loss, reason = "the codes of the loop are exact in its float type")]
    fn of_code(code: i64) -> Self {
        Self::of_f64(code as f64)
    }
}

impl Measured for f32 {
    const IS_FLOAT64: bool = false;
    const SHIFT: f32 = 12_582_912.0;
    const SQUARED: (f32, f32) = (1e-12, 1e12);

    fn split_reciprocal(self) -> (f32, f32) {
        let nearest = 1.0 / self;
        // The product is exact in float64, and so is the difference.
        let scale = f64::from(self);
        (nearest, f32::of_f64((1.0 - f64::from(nearest) * scale) / scale))
    }

    #[inline(always)]
    unsafe fn integer_bits(self) -> u64 {
        // SAFETY: the caller guarantees that it is within ±2^24, and so within an i32.
        i64::from(unsafe { self.to_int_unchecked::<i32>() }).cast_unsigned()
    }
}

impl Measured for f64 {
    const IS_FLOAT64: bool = true;
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const SQUARED: (f64, f64) = (1e-120, 1e120);

    fn split_reciprocal(self) -> (f64, f64) {
        let nearest = 1.0 / self;
        (nearest, (-nearest).mul_add(self, 1.0) / self)
    }

    #[inline(always)]
    unsafe fn integer_bits(self) -> u64 {
        // SAFETY: the caller guarantees that it is within ±2^53, and so within an i64.
        unsafe { self.to_int_unchecked::<i64>() }.cast_unsigned()
    }
}

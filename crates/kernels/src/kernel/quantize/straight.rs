//! The straight loop of a quantisation, for finite values in range and NaN. Most tiles contain nothing else.
//!
//! It stores no errors, tests no element for its range, and does not divide. Its figures of a tile show if the tile
//! contains anything else. The loop of [`fused`](super::fused) then converts the tile.

use std::hint::select_unpredictable as select;
use std::marker::PhantomData;

use num_traits::{Float as _, Zero as _};

use super::fused::{Constants, Measured};
use super::{QuantizeFigures, QuantizeOptions};
use crate::element::Element;
use crate::kernel::Rounding;
use crate::kernel::dispatch::{TileKernel, TileLoop, prefetch};
use crate::kernel::narrow::FloatElement;
use crate::kernel::round::{RoundingMode, WideFloat, round, with_rounding};
use crate::with_float;

/// A loop compiled for an instruction set. `None` for a tile that it cannot convert.
pub(super) type StraightKernel = TileKernel<Option<QuantizeFigures>, Seen>;

/// What the tiles before have shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// The greatest error. That of a tile is exact only if it exceeds this one.
    pub(super) greatest: f64,
    /// True if the tile is likely to contain NaN. Otherwise the loop first tries to run without it.
    pub(super) expects_nan: bool,
}

/// Elements that are computed in parallel.
const LANES: usize = 16;

/// Elements whose squares are added in their own type, 16 in each lane. In float32 the error is less than 1e-6.
const BLOCK: usize = 16 * LANES;

/// The greatest magnitude of a code, well within the limit of [`Measured::SHIFT`].
const MOST: i64 = 1 << 20;

/// Selects the loop. `None` unless its result for every code is that of dividing, bit for bit.
pub(super) fn bind(options: &QuantizeOptions, normalizer: f64) -> Option<StraightKernel> {
    let (least, greatest) = options.codes;
    let nan_code = options.nan_code.unwrap_or(least);
    let is_inner = options.nan_code.is_some_and(|code| (least..=greatest).contains(&code));
    if is_inner || ![least, greatest, nan_code].into_iter().all(|code| (-MOST..=MOST).contains(&code)) {
        return None;
    }
    with_float!(options.source.element(), S => {
        let constants = Constants::<S>::new(options, normalizer);
        let is_proved = TileKernel::new(Proof(constants)).run(&[], &mut []);
        match options.target.size() {
            1 if is_proved => Some(select_rounding::<S, u8>(options, constants)),
            2 if is_proved => Some(select_rounding::<S, u16>(options, constants)),
            _ => None,
        }
    }, else None)
}

fn select_rounding<S: FloatElement<Wide: Measured>, T: Element>(
    options: &QuantizeOptions,
    constants: Constants<S>,
) -> StraightKernel {
    with_rounding!(options.rounding, M => {
        TileKernel::new(StraightLoop { constants, types: PhantomData::<(T, M)> })
    })
}

/// The proof that decoding without a division gives the result of dividing for every code.
struct Proof<S: FloatElement>(Constants<S>);

impl<S: FloatElement<Wide: Measured>> TileLoop for Proof<S> {
    type State = ();
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
            differs |= ROUNDS & (constants.decode(code, false) != decoded);
        }
        !differs
    }
}

/// The loop of a source type, an unsigned type of the size of the codes, and a rounding.
struct StraightLoop<S: FloatElement, T, M> {
    constants: Constants<S>,
    types: PhantomData<(T, M)>,
}

impl<S: FloatElement<Wide: Measured>, T: Element, M: RoundingMode> TileLoop for StraightLoop<S, T, M> {
    type State = Seen;
    type Outcome = Option<QuantizeFigures>;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], target: &mut [u8], before: &Seen) -> Option<QuantizeFigures> {
        let source = bytemuck::try_cast_slice::<u8, S>(source).ok()?;
        let target = bytemuck::try_cast_slice_mut::<u8, T>(target).ok()?;
        let pass = Pass::<S, M, ROUNDS> { constants: self.constants, mode: PhantomData };
        if !before.expects_nan {
            let lanes = pass.tile::<T, false>(source, target);
            // Only the squares show a NaN: comparisons ignore it.
            let squares = fold(&lanes.sum_of_squares, |one, other| one + other);
            if squares == squares {
                return pass.figures(source, &lanes, before.greatest);
            }
        }
        let lanes = pass.tile::<T, true>(source, target);
        pass.figures(source, &lanes, before.greatest)
    }
}

/// The figures of a tile, by lane.
struct Lanes<W> {
    /// The least and greatest shifted code of a number.
    shifted: ([W; LANES], [W; LANES]),
    error: [W; LANES],
    /// The sums of the squares of the errors in a block.
    squares: [W; LANES],
    /// The sums of the squares in all blocks before.
    sum_of_squares: [f64; LANES],
    nan: [u32; LANES],
}

impl<W: Measured> Lanes<W> {
    #[inline(always)]
    fn none() -> Self {
        let zeros = [W::zero(); LANES];
        Lanes {
            shifted: ([W::infinity(); LANES], [W::zero() - W::infinity(); LANES]),
            error: zeros,
            squares: zeros,
            sum_of_squares: [0.0; LANES],
            nan: [0; LANES],
        }
    }
}

/// The loop with its constants.
struct Pass<S: FloatElement, M, const ROUNDS: bool> {
    constants: Constants<S>,
    mode: PhantomData<M>,
}

impl<S: FloatElement<Wide: Measured>, M: RoundingMode, const ROUNDS: bool> Pass<S, M, ROUNDS> {
    /// Returns the code of a value, shifted.
    #[inline(always)]
    fn shifted(&self, x: S::Wide) -> S::Wide {
        let scaled = self.constants.scale(x);
        // The addition itself rounds to nearest.
        let rounded = if M::ROUNDING == Rounding::NearestEven { scaled } else { round::<_, M, ROUNDS>(scaled) };
        rounded + S::Wide::SHIFT
    }

    /// Decodes a shifted code.
    #[inline(always)]
    fn decoded(&self, shifted: S::Wide) -> S::Wide {
        self.constants.decode(shifted - S::Wide::SHIFT, !ROUNDS)
    }

    /// Converts a tile. Without `NAN`, a tile that contains NaN has no code for it, and its sum of squares is NaN.
    #[inline(always)]
    fn tile<T: Element, const NAN: bool>(&self, source: &[S], target: &mut [T]) -> Lanes<S::Wide> {
        let mut lanes = Lanes::none();
        let rows = source.len().min(target.len()) / LANES * LANES;
        for (source, target) in source[..rows].chunks(BLOCK).zip(target.chunks_mut(BLOCK)) {
            self.block::<T, NAN>(source, target, &mut lanes);
        }
        let (rest, target) = (&source[rows..], &mut target[rows..]);
        if let Some(first) = rest.first() {
            // A row filled up with one of its elements. The squares of the added elements are removed again.
            let (mut row, mut codes) = ([*first; LANES], [T::from_bits64(0); LANES]);
            row[..rest.len()].copy_from_slice(rest);
            let (squares, nan) = (lanes.sum_of_squares, lanes.nan);
            self.block::<T, NAN>(&row, &mut codes, &mut lanes);
            target.copy_from_slice(&codes[..rest.len()]);
            lanes.sum_of_squares[rest.len()..].copy_from_slice(&squares[rest.len()..]);
            lanes.nan[rest.len()..].copy_from_slice(&nan[rest.len()..]);
        }
        lanes
    }

    /// Converts the whole rows of a block.
    #[inline(always)]
    fn block<T: Element, const NAN: bool>(&self, source: &[S], target: &mut [T], lanes: &mut Lanes<S::Wide>) {
        let (source, _) = source.as_chunks::<LANES>();
        let (target, _) = target.as_chunks_mut::<LANES>();
        lanes.squares = [S::Wide::zero(); LANES];
        for (source, target) in source.iter().zip(target) {
            prefetch(source);
            self.row::<T, NAN>(source, target, lanes);
        }
        for (sum, squares) in lanes.sum_of_squares.iter_mut().zip(lanes.squares) {
            *sum += squares.as_f64();
        }
    }

    #[inline(always)]
    fn row<T: Element, const NAN: bool>(
        &self,
        source: &[S; LANES],
        target: &mut [T; LANES],
        lanes: &mut Lanes<S::Wide>,
    ) {
        let nan_code = self.constants.nan_code + S::Wide::SHIFT;
        for lane in 0..LANES {
            let x = source[lane].widen();
            let is_nan = x != x;
            let shifted = self.shifted(x);
            let (least, greatest) = (&mut lanes.shifted.0[lane], &mut lanes.shifted.1[lane]);
            *least = select(shifted < *least, shifted, *least);
            *greatest = select(shifted > *greatest, shifted, *greatest);
            let code = if NAN { select(is_nan, nan_code, shifted) } else { shifted };
            target[lane] = T::from_bits64(code.to_bits64());
            let error = (self.decoded(shifted) - x).abs();
            lanes.error[lane] = select(error > lanes.error[lane], error, lanes.error[lane]);
            let sum = lanes.squares[lane];
            let squares = if ROUNDS { error.mul_add(error, sum) } else { error * error + sum };
            lanes.squares[lane] = if NAN { select(is_nan, sum, squares) } else { squares };
            if NAN {
                lanes.nan[lane] += u32::from(is_nan);
            }
        }
    }

    /// Returns the figures of a tile. `None` if it contains a number out of range, or errors too small or great to be
    /// squared.
    #[inline(always)]
    fn figures(&self, source: &[S], lanes: &Lanes<S::Wide>, known: f64) -> Option<QuantizeFigures> {
        let codes = self.constants.codes;
        let least = fold(&lanes.shifted.0, |one, other| if one < other { one } else { other });
        let greatest = fold(&lanes.shifted.1, |one, other| if one > other { one } else { other });
        let error = fold(&lanes.error, |one, other| if one > other { one } else { other });
        let is_squared = S::Wide::SQUARED.0 < error && error < S::Wide::SQUARED.1;
        let is_in_range = least >= codes.0 + S::Wide::SHIFT && greatest <= codes.1 + S::Wide::SHIFT;
        if !is_in_range || !(is_squared || error == S::Wide::zero()) {
            return None;
        }
        let nan = u64::from(fold(&lanes.nan, |one, other| one + other));
        let normalizer = self.constants.normalizer;
        Some(QuantizeFigures {
            count: source.len() as u64,
            nan,
            max_abs_error: self.greatest_error(source, error, known),
            sum_of_squares: fold(&lanes.sum_of_squares, |one, other| one + other) * normalizer * normalizer,
            normalizer,
            ..QuantizeFigures::default()
        })
    }

    /// Returns the greatest error in float64, given its rounding to the float type. It is exact if it exceeds the known
    /// one.
    ///
    /// A difference is exact in the type if one operand is zero, or if it is not greater than either. (Both are
    /// multiples of the smaller one's last place.) Otherwise all differences are computed again in float64.
    #[inline(always)]
    fn greatest_error(&self, source: &[S], error: S::Wide, known: f64) -> f64 {
        let is_exact = S::Wide::IS_FLOAT64 || error.as_f64() <= self.constants.exact_up_to;
        // Rounding is monotonic: a rounded error below the known one is below it before rounding, too.
        if is_exact || error < S::Wide::of_f64(known) {
            return error.as_f64();
        }
        let twice = error + error;
        let is_near = |x: S::Wide| (x != S::Wide::zero()) & (x.abs() < twice + twice);
        let has_near = source.iter().fold(false, |has_near, x| has_near | is_near(x.widen()));
        if !has_near {
            return error.as_f64();
        }
        let mut may_be_inexact = false;
        for x in source {
            let x = x.widen();
            may_be_inexact |= is_near(x) & ((self.decoded(self.shifted(x)) - x).abs() == error);
        }
        if may_be_inexact { self.greatest_in_float64(source) } else { error.as_f64() }
    }

    #[inline(always)]
    fn greatest_in_float64(&self, source: &[S]) -> f64 {
        let (rows, rest) = source.as_chunks::<LANES>();
        let mut greatest = [0_f64; LANES];
        for row in rows {
            for (greatest, x) in greatest.iter_mut().zip(row) {
                let error = self.error_in_float64(x.widen());
                *greatest = select(error > *greatest, error, *greatest);
            }
        }
        let rest = rest.iter().map(|x| self.error_in_float64(x.widen()));
        rest.fold(fold(&greatest, f64::max), f64::max)
    }

    #[inline(always)]
    fn error_in_float64(&self, x: S::Wide) -> f64 {
        (self.decoded(self.shifted(x)).as_f64() - x.as_f64()).abs()
    }
}

/// Combines all lanes, half with half.
///
/// It is a separate function, so that the order of its steps does not determine the lanes of the loops.
#[inline(never)]
fn fold<T: Copy>(lanes: &[T; LANES], combine: impl Fn(T, T) -> T) -> T {
    let mut lanes = *lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

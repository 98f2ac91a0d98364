//! DSSIM, the structural similarity of two 2-D levels of numbers (Baker, Pinard and Hammerling 2023).
//!
//! Both levels are scaled to [0, 1] by their joint range and rounded to 256 values. Then SSIM (Wang et al. 2004) is taken of
//! each window of 11 x 11 points with Gaussian weights of sigma 1.5 and constants of 1e-8, and its mean over all points whose
//! window lies inside the level. A point that does not count is left out of windows, and is no middle of one.
//!
//! With the difference `d` of the two levels and `E` a window's weighted mean, both factors of SSIM are 1 less a fraction:
//! `1 - E(d)^2 / (E(x)^2 + E(y)^2 + C)` and `1 - (E(d^2) - E(d)^2) / (var(x) + var(y) + C)`. So a window without differences
//! has 1 exactly, and is not looked at, and others lose nothing where numbers that are nearly equal are subtracted.

use crate::kernel::InstructionSet;
use crate::kernel::dispatch::{BlockKernel, BlockLoop};

/// Points from the middle of a window to its edge.
pub const RADIUS: usize = 5;

/// Points of a window along each side.
pub const WINDOW: usize = 2 * RADIUS + 1;

/// The standard deviation of the weights, in points.
const SIGMA: f64 = 1.5;

/// The steps between the 256 values.
const STEPS: f64 = 255.0;

/// The constants of SSIM, 1e-8 of values in [0, 1]; the values here are in [0, 255].
const CONSTANT: f64 = 1e-8 * STEPS * STEPS;

/// Windows that are looked at together, along a row.
const TILE: usize = 64;

/// Points of a row that they reach over.
const REACH: usize = TILE + 2 * RADIUS;

/// The same in whole vectors.
const SPAN: usize = REACH.next_multiple_of(16);

/// The joint range of two levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelRange {
    /// The least value of both.
    pub least: f64,
    /// The greatest value of both.
    pub greatest: f64,
}

/// Rows of two levels, rounded to 256 values.
#[derive(Debug, Default)]
pub struct Band {
    width: usize,
    /// Of SOURCE and DEST, 0 where the point does not count.
    values: [Vec<u8>; 2],
    /// 1 where the point counts.
    counts: Vec<u8>,
    has_gaps: bool,
}

/// SSIM of some windows: their sum and number.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Similarity {
    /// The sum over windows.
    pub sum: f64,
    /// Windows whose middle counts.
    pub windows: u64,
}

impl Similarity {
    /// Adds the windows that follow.
    pub fn merge(&mut self, other: Similarity) {
        self.sum += other.sum;
        self.windows += other.windows;
    }

    /// The mean; `None` of no windows.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a count rounded to 53 bits is within the error of the sum"
    )]
    pub fn mean(&self) -> Option<f64> {
        (self.windows > 0).then(|| self.sum / self.windows as f64)
    }
}

impl Band {
    /// Begins a band of rows of `width` points.
    pub fn begin(&mut self, width: usize) {
        self.width = width;
        self.has_gaps = false;
        self.values.iter_mut().for_each(Vec::clear);
        self.counts.clear();
    }

    /// Appends points, row by row: `source` and `destination` have the same length.
    pub fn append(&mut self, scan: &SimilarityScan, source: &[f64], destination: &[f64], range: LevelRange) {
        let first = self.counts.len();
        let end = first + source.len().min(destination.len());
        let [x, y] = &mut self.values;
        x.resize(end, 0);
        y.resize(end, 0);
        self.counts.resize(end, 0);
        let work = Rounding {
            source,
            destination,
            range,
            x: &mut x[first..],
            y: &mut y[first..],
            counts: &mut self.counts[first..],
        };
        self.has_gaps |= scan.round.run(work);
    }

    /// Appends so many points that do not count.
    pub fn append_gap(&mut self, points: usize) {
        let end = self.counts.len() + points;
        self.values.iter_mut().for_each(|values| values.resize(end, 0));
        self.counts.resize(end, 0);
        self.has_gaps |= points > 0;
    }
}

/// The bound loops.
pub struct SimilarityScan {
    round: BlockKernel<RoundLoop>,
    whole: BlockKernel<WindowLoop<false>>,
    with_gaps: BlockKernel<WindowLoop<true>>,
    weights: [f64; RADIUS + 1],
}

impl std::fmt::Debug for SimilarityScan {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SimilarityScan").field("weights", &self.weights).finish_non_exhaustive()
    }
}

impl Default for SimilarityScan {
    fn default() -> Self {
        Self::with_instruction_set(InstructionSet::detect())
    }
}

impl SimilarityScan {
    /// The loops of one instruction set.
    pub fn with_instruction_set(set: InstructionSet) -> Self {
        // One dimension of the weights, from the middle out; those of a window are the products of two, and sum up to 1.
        let weights = [0_u32, 1, 2, 3, 4, 5].map(|distance| {
            let distance = f64::from(distance) / SIGMA;
            (-0.5 * distance * distance).exp()
        });
        let sum = weights[0] + 2.0 * weights[1..].iter().sum::<f64>();
        let weights = weights.map(|weight| weight / sum);
        SimilarityScan {
            round: BlockKernel::select(set),
            whole: BlockKernel::select(set),
            with_gaps: BlockKernel::select(set),
            weights,
        }
    }

    /// SSIM of all windows that lie inside a band.
    pub fn run(&self, band: &Band) -> Similarity {
        let mut all = Similarity::default();
        let rows = band.counts.len().checked_div(band.width).unwrap_or(0);
        if rows < WINDOW || band.width < WINDOW {
            return all;
        }
        let mut maps = Maps::default();
        for first in (0..band.width - 2 * RADIUS).step_by(TILE) {
            let work = Windows { band, first, rows, weights: &self.weights, maps: &mut maps };
            all.merge(if band.has_gaps { self.with_gaps.run(work) } else { self.whole.run(work) });
        }
        all
    }
}

/// A float64 so large that it has no fraction: adding it rounds to the nearest integer, ties to even.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Values to be rounded.
struct Rounding<'a> {
    source: &'a [f64],
    destination: &'a [f64],
    range: LevelRange,
    x: &'a mut [u8],
    y: &'a mut [u8],
    counts: &'a mut [u8],
}

/// The loop that scales and rounds; whether a point does not count.
struct RoundLoop;

impl BlockLoop for RoundLoop {
    type Work<'a> = Rounding<'a>;
    type Outcome = bool;

    #[inline(always)]
    fn run<const ROUNDS: bool>(work: Rounding<'_>) -> bool {
        let LevelRange { least, greatest } = work.range;
        let range = greatest - least;
        // Where the range is a point, all values are that, and 0.
        let range = if range > 0.0 { range } else { 1.0 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an integer from 0 to 255"
        )]
        let round = |value: f64| (((value - least) / range * STEPS + ROUNDER) - ROUNDER) as i32 as u8;
        let mut has_gaps = false;
        let values = work.source.iter().zip(work.destination);
        let rounded = work.x.iter_mut().zip(work.y.iter_mut()).zip(work.counts.iter_mut());
        for ((source, destination), ((x, y), counted)) in values.zip(rounded) {
            let counts = (source - source == 0.0) & (destination - destination == 0.0);
            *x = round(if counts { *source } else { least });
            *y = round(if counts { *destination } else { least });
            *counted = u8::from(counts);
            has_gaps |= !counts;
        }
        has_gaps
    }
}

/// What the means over windows are taken of, for the points of a tile: integers of less than 2^24, which float32 holds.
/// Rows of SOURCE, of the differences, their squares, the squares of both sides, and what counts.
#[derive(Debug, Default)]
struct Maps {
    points: [Vec<[f32; SPAN]>; 5],
    /// Whether a row has a difference.
    differs: Vec<bool>,
}

/// Windows of a band that begin at some columns.
struct Windows<'a> {
    band: &'a Band,
    /// The first column that they reach over.
    first: usize,
    rows: usize,
    weights: &'a [f64; RADIUS + 1],
    maps: &'a mut Maps,
}

/// The loop over windows, where all points count or not.
struct WindowLoop<const GAPS: bool>;

impl<const GAPS: bool> BlockLoop for WindowLoop<GAPS> {
    type Work<'a> = Windows<'a>;
    type Outcome = Similarity;

    #[inline(always)]
    fn run<const ROUNDS: bool>(work: Windows<'_>) -> Similarity {
        let Windows { band, first, rows, weights, maps } = work;
        let span = (band.width - first).min(REACH);
        let windows = span - 2 * RADIUS;
        fill::<GAPS>(maps, band, first, span, rows);
        let mut all = Similarity::default();
        let mut columns = [[0.0_f64; SPAN]; 5];
        for middle in RADIUS..rows - RADIUS {
            let start = middle * band.width + first + RADIUS;
            let counted = &band.counts[start..start + windows];
            let count =
                if GAPS { counted.iter().map(|counts| u64::from(*counts)).sum() } else { windows as u64 };
            all.windows += count;
            #[expect(clippy::cast_precision_loss, reason = "at most 64")]
            if !maps.differs[middle - RADIUS..=middle + RADIUS].contains(&true) {
                all.sum += count as f64;
                continue;
            }
            for (points, column) in maps.points.iter().zip(&mut columns).take(if GAPS { 5 } else { 4 }) {
                down::<ROUNDS>(&points[middle - RADIUS..=middle + RADIUS], weights, column);
            }
            // A closure over the maps would be compiled without the instructions of this loop.
            let x = across::<ROUNDS>(&columns[0], weights);
            let d = across::<ROUNDS>(&columns[1], weights);
            let d_squared = across::<ROUNDS>(&columns[2], weights);
            let squares = across::<ROUNDS>(&columns[3], weights);
            let counting = if GAPS { across::<ROUNDS>(&columns[4], weights) } else { [1.0; TILE] };
            let mut similar = [0.0; TILE];
            for place in 0..TILE {
                let share = if GAPS { 1.0 / counting[place] } else { 1.0 };
                let (x, d) = (x[place] * share, d[place] * share);
                let (d_squared, squares) = (d_squared[place] * share, squares[place] * share);
                let y = x - d;
                let means = x * x + y * y;
                let first = 1.0 - d * d / (means + CONSTANT);
                let second = 1.0 - (d_squared - d * d) / (squares - means + CONSTANT);
                similar[place] = first * second;
            }
            for (similar, counts) in similar.iter().zip(counted) {
                all.sum += if !GAPS || *counts == 1 { *similar } else { 0.0 };
            }
        }
        all
    }
}

/// Fills the maps for the columns of a tile.
#[inline(always)]
fn fill<const GAPS: bool>(maps: &mut Maps, band: &Band, first: usize, span: usize, rows: usize) {
    maps.differs.resize(rows, false);
    maps.points.iter_mut().for_each(|points| points.resize(rows, [0.0; SPAN]));
    let [values, differences, squared, squares, counts] = &mut maps.points;
    for row in 0..rows {
        let start = row * band.width + first;
        let (mut x, mut y) = ([0_u8; SPAN], [0_u8; SPAN]);
        x[..span].copy_from_slice(&band.values[0][start..start + span]);
        y[..span].copy_from_slice(&band.values[1][start..start + span]);
        maps.differs[row] = x != y;
        for place in 0..SPAN {
            let (x, y) = (f32::from(x[place]), f32::from(y[place]));
            let d = x - y;
            values[row][place] = x;
            differences[row][place] = d;
            squared[row][place] = d * d;
            squares[row][place] = x * x + y * y;
        }
        if GAPS {
            let counted = &band.counts[start..start + span];
            for (place, counted) in counts[row].iter_mut().zip(counted) {
                *place = f32::from(*counted);
            }
        }
    }
}

/// The weighted means down eleven rows. Row after row, so that each loop is one over neighbouring points.
#[inline(always)]
fn down<const ROUNDS: bool>(rows: &[[f32; SPAN]], weights: &[f64; RADIUS + 1], column: &mut [f64; SPAN]) {
    let Ok(rows) = <&[[f32; SPAN]; WINDOW]>::try_from(rows) else { return };
    for place in 0..SPAN {
        column[place] = f64::from(rows[RADIUS][place]) * weights[0];
    }
    for distance in 1..=RADIUS {
        let (above, below) = (&rows[RADIUS - distance], &rows[RADIUS + distance]);
        let weight = weights[distance];
        for place in 0..SPAN {
            // The sum of two integers of less than 2^23 is one of less than 2^24: exact.
            let both = f64::from(above[place] + below[place]);
            column[place] = multiply_add::<ROUNDS>(both, weight, column[place]);
        }
    }
}

/// The weighted means across eleven columns.
#[inline(always)]
fn across<const ROUNDS: bool>(columns: &[f64; SPAN], weights: &[f64; RADIUS + 1]) -> [f64; TILE] {
    let mut means = [0.0; TILE];
    for place in 0..TILE {
        means[place] = columns[place + RADIUS] * weights[0];
    }
    for distance in 1..=RADIUS {
        let weight = weights[distance];
        for place in 0..TILE {
            let both = columns[place + RADIUS - distance] + columns[place + RADIUS + distance];
            means[place] = multiply_add::<ROUNDS>(both, weight, means[place]);
        }
    }
    means
}

/// `a * b + c`, fused where that is an instruction.
#[inline(always)]
fn multiply_add<const ROUNDS: bool>(a: f64, b: f64, c: f64) -> f64 {
    if ROUNDS { a.mul_add(b, c) } else { a * b + c }
}

//! The loop over the windows of a band of two levels.

use std::ops::Range;

use super::sums::multiply_add;
use crate::kernel::dispatch::BlockLoop;

/// Points from the middle of a window to its edge.
pub const RADIUS: usize = 5;

/// Points of a window along each side.
pub const WINDOW: usize = 2 * RADIUS + 1;

/// The steps between the 256 values.
pub(super) const STEPS: f64 = 255.0;

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
    #[expect(clippy::cast_precision_loss, reason = "a count rounded to 53 bits is within the error of the sum")]
    pub fn mean(&self) -> Option<f64> {
        (self.windows > 0).then(|| self.sum / self.windows as f64)
    }
}

/// Rows of two levels that are rounded to 256 values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    /// Points of a row.
    pub width: usize,
    /// Of SOURCE and DEST, 0 where the point does not count.
    pub values: [&'a [u8]; 2],
    /// 1 where the point counts.
    pub counts: &'a [u8],
}

/// The constants of SSIM, 1e-8 of values in [0, 1]; the values here are in [0, 255].
const CONSTANT: f64 = 1e-8 * STEPS * STEPS;

/// Windows that are looked at together, along a row.
const TILE: usize = 64;

/// Points of a row that they reach over.
const REACH: usize = TILE + 2 * RADIUS;

/// The same in whole vectors.
const SPAN: usize = REACH.next_multiple_of(16);

/// The weights of one dimension, from the middle of a window out.
pub(super) type Weights = [f64; RADIUS + 1];

/// What the means over windows are taken of: SOURCE, the differences, their squares, the squares of both sides, and what
/// counts. All are integers of less than 2^24.
const MAPS: usize = 5;

/// Windows whose middles are in so many rows are looked at together, of [`REACHED_ROWS`].
const GROUP: usize = 4;
const REACHED_ROWS: usize = GROUP + 2 * RADIUS;

/// A tile's columns are [`LANES`] blocks of [`BLOCK`] columns. Neighbours in memory are the columns at one place of all
/// blocks, so that no loop has to move numbers from one lane of a vector into another.
const LANES: usize = 8;
const BLOCK: usize = TILE / LANES;
/// Columns that the windows of a block reach over.
const BLOCK_REACH: usize = BLOCK + 2 * RADIUS;

/// Numbers of a row of a tile, by their places in a block and the blocks. In memory it begins where a vector does.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Row([f64; TILE]);

/// The same with what the windows reach over.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct WideRow([f64; BLOCK_REACH * LANES]);

/// What the means of a tile are made of. These are variables of the loop, not parts of one thing in memory: so the compiler
/// knows that what is written is not what is read.
struct Maps<'a> {
    /// The means across the windows of some rows, as a ring: those of a row are at its number modulo the length.
    across: &'a mut [[Row; MAPS]; REACHED_ROWS],
    /// What they are taken of, for one row.
    points: &'a mut [WideRow; MAPS],
    /// The means over whole windows, for a group of rows.
    windows: &'a mut [[Row; GROUP]; MAPS],
    /// Whether the points of the rows count.
    counts: &'a mut [[u8; TILE]; REACHED_ROWS],
    /// The rows that are there.
    rows: &'a mut [usize; REACHED_ROWS],
}

/// The loop over the windows of a band of so many rows, where all points count or not.
pub(super) struct WindowLoop<const GAPS: bool>;

impl<const GAPS: bool> BlockLoop for WindowLoop<GAPS> {
    type Work<'a> = (Rows<'a>, usize, &'a Weights);
    type Outcome = Similarity;

    #[inline(always)]
    #[expect(clippy::large_stack_arrays, reason = "36 KiB, once for a band: a thread has 2 MiB")]
    fn run<const ROUNDS: bool>((band, rows, weights): (Rows<'_>, usize, &Weights)) -> Similarity {
        let mut maps = Maps {
            across: &mut [[Row([0.0; TILE]); MAPS]; REACHED_ROWS],
            points: &mut [WideRow([0.0; BLOCK_REACH * LANES]); MAPS],
            windows: &mut [[Row([0.0; TILE]); GROUP]; MAPS],
            counts: &mut [[1; TILE]; REACHED_ROWS],
            rows: &mut [usize::MAX; REACHED_ROWS],
        };
        let mut all = Similarity::default();
        for first in (0..band.width - 2 * RADIUS).step_by(TILE) {
            let columns = first..(first + REACH).min(band.width);
            all.merge(tile::<ROUNDS, GAPS>(band, columns, rows, weights, &mut maps));
        }
        all
    }
}

/// SSIM of the windows that lie in some columns.
#[inline(always)]
fn tile<const ROUNDS: bool, const GAPS: bool>(
    band: Rows<'_>,
    columns: Range<usize>,
    rows: usize,
    weights: &Weights,
    maps: &mut Maps<'_>,
) -> Similarity {
    let num_windows = columns.len() - 2 * RADIUS;
    let mut is_window = [0_u8; TILE];
    for (place, is_window) in is_window.iter_mut().enumerate() {
        *is_window = u8::from(place % LANES * BLOCK + place / LANES < num_windows);
    }
    maps.rows.fill(usize::MAX);
    let differs = differing_rows(band, columns.clone(), rows);
    let mut all = Similarity::default();
    let mut sums = [0.0; TILE];
    for top in (0..rows - 2 * RADIUS).step_by(GROUP) {
        let middles = GROUP.min(rows - 2 * RADIUS - top);
        let reached = top..top + middles + 2 * RADIUS;
        if !differs[reached.clone()].contains(&true) {
            for middle in top + RADIUS..top + RADIUS + middles {
                let start = middle * band.width + columns.start + RADIUS;
                let counted = &band.counts[start..start + num_windows];
                let count: u32 = counted.iter().map(|counts| u32::from(*counts)).sum();
                all.merge(Similarity { sum: f64::from(count), windows: u64::from(count) });
            }
            continue;
        }
        for row in reached {
            if maps.rows[row % REACHED_ROWS] != row {
                fill::<ROUNDS, GAPS>(maps, band, (row, columns.clone()), weights);
            }
        }
        for (map, means) in maps.windows.iter_mut().enumerate().take(if GAPS { MAPS } else { MAPS - 1 }) {
            let mut rows = [&maps.across[0][map]; REACHED_ROWS];
            for (offset, row) in rows.iter_mut().enumerate() {
                *row = &maps.across[(top + offset) % REACHED_ROWS][map];
            }
            down::<ROUNDS>(rows, weights, means);
        }
        for middle in 0..middles {
            let counts = &maps.counts[(top + middle + RADIUS) % REACHED_ROWS];
            let [x, d, d_squared, squares, counting] = &*maps.windows;
            let (x, d, counting) = (&x[middle].0, &d[middle].0, &counting[middle].0);
            let (d_squared, squares) = (&d_squared[middle].0, &squares[middle].0);
            let mut count = 0;
            for place in 0..TILE {
                let share = if GAPS { 1.0 / counting[place] } else { 1.0 };
                let (x, d) = (x[place] * share, d[place] * share);
                let (d_squared, squares) = (d_squared[place] * share, squares[place] * share);
                let y = x - d;
                let means = x * x + y * y;
                let (first, second) = (means + CONSTANT, squares - means + CONSTANT);
                // Both fractions as one, for one division.
                let similar = (first - d * d) * (second - (d_squared - d * d)) / (first * second);
                let is_window = is_window[place] & if GAPS { counts[place] } else { 1 };
                count += u32::from(is_window);
                sums[place] += if is_window == 1 { similar } else { 0.0 };
            }
            all.windows += u64::from(count);
        }
    }
    all.sum += sums.iter().sum::<f64>();
    all
}

/// Whether each row has a difference in some columns.
#[inline(always)]
fn differing_rows(band: Rows<'_>, columns: Range<usize>, rows: usize) -> Vec<bool> {
    let mut differs = Vec::with_capacity(rows);
    for row in 0..rows {
        let own = row * band.width + columns.start..row * band.width + columns.end;
        differs.push(band.values[0][own.clone()] != band.values[1][own]);
    }
    differs
}

/// Puts bytes of a row into the order of a tile, those first that the first window of each block reaches over.
#[inline(always)]
fn in_blocks(bytes: &[u8]) -> [u8; BLOCK_REACH * LANES] {
    let mut own = [0_u8; SPAN];
    own[..bytes.len()].copy_from_slice(bytes);
    let mut ordered = [0_u8; BLOCK_REACH * LANES];
    for place in 0..BLOCK_REACH {
        for lane in 0..LANES {
            ordered[place * LANES + lane] = own[lane * BLOCK + place];
        }
    }
    ordered
}

/// Fills the maps for a row, its means across windows.
#[inline(always)]
fn fill<const ROUNDS: bool, const GAPS: bool>(
    maps: &mut Maps<'_>,
    band: Rows<'_>,
    (row, columns): (usize, Range<usize>),
    weights: &Weights,
) {
    let own = row * band.width + columns.start..row * band.width + columns.end;
    let (x, y) = (in_blocks(&band.values[0][own.clone()]), in_blocks(&band.values[1][own.clone()]));
    let slot = row % REACHED_ROWS;
    maps.rows[slot] = row;
    let [values, differences, squared, squares, counting] = maps.points;
    if GAPS {
        let counts = in_blocks(&band.counts[own]);
        maps.counts[slot].copy_from_slice(&counts[RADIUS * LANES..][..TILE]);
        for (counting, counts) in counting.0.iter_mut().zip(counts) {
            *counting = f64::from(counts);
        }
    }
    for place in 0..BLOCK_REACH * LANES {
        let (x, y) = (f64::from(x[place]), f64::from(y[place]));
        let d = x - y;
        values.0[place] = x;
        differences.0[place] = d;
        squared.0[place] = d * d;
        squares.0[place] = x * x + y * y;
    }
    for (points, means) in maps.points.iter().zip(&mut maps.across[slot]).take(if GAPS { MAPS } else { MAPS - 1 }) {
        across::<ROUNDS>(points, weights, means);
    }
}

/// The weighted means across eleven columns, of all columns of the blocks.
#[inline(always)]
fn across<const ROUNDS: bool>(WideRow(points): &WideRow, weights: &Weights, Row(means): &mut Row) {
    for lane in 0..LANES {
        for place in 0..BLOCK {
            let at = place * LANES + lane;
            let mean = weighted::<ROUNDS>(
                weights,
                [
                    points[at],
                    points[at + LANES],
                    points[at + 2 * LANES],
                    points[at + 3 * LANES],
                    points[at + 4 * LANES],
                    points[at + 5 * LANES],
                    points[at + 6 * LANES],
                    points[at + 7 * LANES],
                    points[at + 8 * LANES],
                    points[at + 9 * LANES],
                    points[at + 10 * LANES],
                ],
            );
            means[at] = mean;
        }
    }
}

/// The weighted means down eleven rows, of a group of rows.
#[inline(always)]
fn down<const ROUNDS: bool>(rows: [&Row; REACHED_ROWS], weights: &Weights, means: &mut [Row; GROUP]) {
    for at in 0..TILE {
        let mut r = [0.0; REACHED_ROWS];
        for (number, row) in r.iter_mut().zip(rows) {
            *number = row.0[at];
        }
        means[0].0[at] =
            weighted::<ROUNDS>(weights, [r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10]]);
        means[1].0[at] =
            weighted::<ROUNDS>(weights, [r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11]]);
        means[2].0[at] =
            weighted::<ROUNDS>(weights, [r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12]]);
        means[3].0[at] =
            weighted::<ROUNDS>(weights, [r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13]]);
    }
}

/// The weighted mean of eleven numbers.
#[inline(always)]
fn weighted<const ROUNDS: bool>(weights: &Weights, numbers: [f64; WINDOW]) -> f64 {
    let mean = numbers[5] * weights[0];
    let mean = multiply_add::<ROUNDS>(numbers[4] + numbers[6], weights[1], mean);
    let mean = multiply_add::<ROUNDS>(numbers[3] + numbers[7], weights[2], mean);
    let mean = multiply_add::<ROUNDS>(numbers[2] + numbers[8], weights[3], mean);
    let mean = multiply_add::<ROUNDS>(numbers[1] + numbers[9], weights[4], mean);
    multiply_add::<ROUNDS>(numbers[0] + numbers[10], weights[5], mean)
}

//! DSSIM, the structural similarity of two 2-D levels of numbers (Baker, Pinard and Hammerling 2023).
//!
//! Both levels are scaled to [0, 1] by their joint range and rounded to 256 values. Then SSIM (Wang et al. 2004) is
//! computed for each window of 11 x 11 points. The Gaussian weights have sigma 1.5, and the constants are 1e-8. The
//! result is the mean over all points whose window is inside the level. A point that does not count is left out of
//! windows, and is not the middle of one.
//!
//! `d` is the difference of the two levels, and `E` a window's weighted mean. Both factors of SSIM are 1 less a
//! fraction: `1 - E(d)^2 / (E(x)^2 + E(y)^2 + C)` and `1 - (E(d^2) - E(d)^2) / (var(x) + var(y) + C)`. So a window
//! without differences has exactly 1 and is not computed. Other windows lose no digits by subtracting nearly equal
//! numbers.

use std::ops::Range;

use super::sums::multiply_add;
use crate::kernel::dispatch::{BlockKernel, BlockLoop};
use crate::kernel::double::approximate;

/// The standard deviation of the weights, in points.
const SIGMA: f64 = 1.5;

/// The joint range of two levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelRange {
    /// The least value of both levels.
    pub least: f64,
    /// The greatest value of both levels.
    pub greatest: f64,
}

/// Points from the middle of a window to its edge.
pub const RADIUS: usize = 5;

/// Points of a window along each side.
pub const WINDOW: usize = 2 * RADIUS + 1;

/// The number of steps between the 256 values.
const STEPS: f64 = 255.0;

/// Rows of two levels, rounded to 256 values.
#[derive(Debug, Default)]
pub struct Band {
    /// Points of a row.
    width: usize,
    /// The values of SOURCE and DEST. 0 if the point does not count.
    values: [Vec<u8>; 2],
    /// 1 if the point counts, else 0.
    counts: Vec<u8>,
    has_gaps: bool,
}

/// The SSIM of some windows: their sum and number.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Similarity {
    /// The sum of the SSIM of all windows.
    pub sum: f64,
    /// The windows whose middle point counts.
    pub windows: u64,
}

impl Similarity {
    /// Adds the windows that follow.
    pub fn merge(&mut self, other: Similarity) {
        self.sum += other.sum;
        self.windows += other.windows;
    }

    /// Returns the mean. `None` if there are no windows.
    pub fn mean(&self) -> Option<f64> {
        (self.windows > 0).then(|| self.sum / approximate(self.windows))
    }
}

impl Band {
    /// Starts a band of rows of `width` points.
    pub fn begin(&mut self, width: usize) {
        self.width = width;
        self.has_gaps = false;
        self.values.iter_mut().for_each(Vec::clear);
        self.counts.clear();
    }

    /// Returns the number of whole rows.
    fn rows(&self) -> usize {
        self.counts.len().checked_div(self.width).unwrap_or(0)
    }

    /// Appends points, row by row. `source` and `destination` have the same length.
    pub fn append(&mut self, scan: &SimilarityScan, source: &[f64], destination: &[f64], range: LevelRange) {
        let first = self.counts.len();
        let end = first + source.len().min(destination.len());
        if !(range.greatest - range.least).is_finite() {
            // The range is not a float64, but that of a quarter of each value is.
            let quarters = |values: &[f64]| values.iter().map(|value| value * 0.25).collect::<Vec<_>>();
            let range = LevelRange { least: range.least * 0.25, greatest: range.greatest * 0.25 };
            return self.append(scan, &quarters(source), &quarters(destination), range);
        }
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

    /// Returns the steps of SOURCE and DEST at each point. `None` if it does not count.
    pub fn points(&self) -> impl Iterator<Item = Option<[u8; 2]>> {
        let [x, y] = &self.values;
        x.iter().zip(y).zip(&self.counts).map(|((x, y), counts)| (*counts == 1).then_some([*x, *y]))
    }

    /// Appends the rows of another band.
    pub fn append_band(&mut self, other: &Band) {
        self.values.iter_mut().zip(&other.values).for_each(|(own, values)| own.extend_from_slice(values));
        self.counts.extend_from_slice(&other.counts);
        self.has_gaps |= other.has_gaps;
    }

    /// Appends `points` points that do not count.
    pub fn append_gap(&mut self, points: usize) {
        let end = self.counts.len() + points;
        self.values.iter_mut().for_each(|values| values.resize(end, 0));
        self.counts.resize(end, 0);
        self.has_gaps |= points > 0;
    }
}

/// The loops, selected for this processor.
#[derive(Debug)]
pub struct SimilarityScan {
    round: BlockKernel<RoundLoop>,
    whole: BlockKernel<WindowLoop<false>>,
    with_gaps: BlockKernel<WindowLoop<true>>,
    weights: Weights,
}

impl Default for SimilarityScan {
    fn default() -> Self {
        // The weights along one dimension, from the middle outwards. A weight of a window is the product of two, and
        // all sum up to 1.
        let weights = [0_u32, 1, 2, 3, 4, 5].map(|distance| {
            let distance = f64::from(distance) / SIGMA;
            (-0.5 * distance * distance).exp()
        });
        let sum = weights[0] + 2.0 * weights[1..].iter().sum::<f64>();
        let weights = weights.map(|weight| weight / sum);
        SimilarityScan {
            round: BlockKernel::default(),
            whole: BlockKernel::default(),
            with_gaps: BlockKernel::default(),
            weights,
        }
    }
}

impl SimilarityScan {
    /// Returns the SSIM of all windows inside a band.
    pub fn run(&self, band: &Band) -> Similarity {
        if band.rows() < WINDOW || band.width < WINDOW {
            return Similarity::default();
        }
        let work = (band, &self.weights);
        if band.has_gaps { self.with_gaps.run(work) } else { self.whole.run(work) }
    }
}

/// A float64 so large that it has no fraction: adding it rounds to the nearest integer, ties to even.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

struct Rounding<'a> {
    source: &'a [f64],
    destination: &'a [f64],
    range: LevelRange,
    x: &'a mut [u8],
    y: &'a mut [u8],
    counts: &'a mut [u8],
}

/// The loop that scales and rounds. It returns true if a point does not count.
struct RoundLoop;

/// Points that are rounded again if one of them is near the middle of two steps.
const ROUNDED: usize = 128;

impl BlockLoop for RoundLoop {
    type Work<'a> = Rounding<'a>;
    type Outcome = bool;

    #[inline(always)]
    fn run<const ROUNDS: bool>(work: Rounding<'_>) -> bool {
        let LevelRange { least, greatest } = work.range;
        let range = greatest - least;
        // If the range is a single value, all values become 0.
        let range = if range > 0.0 { range } else { 1.0 };
        let mut has_gaps = false;
        let values = work.source.chunks(ROUNDED).zip(work.destination.chunks(ROUNDED));
        let rounded = work.x.chunks_mut(ROUNDED).zip(work.y.chunks_mut(ROUNDED));
        for (((source, destination), (x, y)), counts) in values.zip(rounded).zip(work.counts.chunks_mut(ROUNDED)) {
            let (mut gaps, mut is_near) = (false, false);
            for (((source, destination), counts), (x, y)) in
                source.iter().zip(destination).zip(counts).zip(x.iter_mut().zip(y.iter_mut()))
            {
                let is_counted = (source - source == 0.0) & (destination - destination == 0.0);
                gaps |= !is_counted;
                *counts = u8::from(is_counted);
                for (value, code) in [(*source, x), (*destination, y)] {
                    let scaled = (if is_counted { value } else { least } - least) * (STEPS / range);
                    is_near |= !((scaled - (scaled + ROUNDER - ROUNDER)).abs() < 0.5 - 1e-9);
                    *code = code_of(scaled);
                }
            }
            has_gaps |= gaps;
            // A product with an inverse has an error of about 1e-13, which can decide between two equally near steps.
            if is_near {
                for ((source, destination), (x, y)) in source.iter().zip(destination).zip(x.iter_mut().zip(y)) {
                    let is_counted = (source - source == 0.0) & (destination - destination == 0.0);
                    let scaled = |value: f64| (if is_counted { value } else { least } - least) / range * STEPS;
                    (*x, *y) = (code_of(scaled(*source)), code_of(scaled(*destination)));
                }
            }
        }
        has_gaps
    }
}

/// Returns the nearest integer of a number from 0 to 255. It is the last bits of a sum too large for a fraction.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the integer is in the last eight bits")]
fn code_of(scaled: f64) -> u8 {
    (scaled + ROUNDER).to_bits() as u8
}

/// The constants of SSIM: 1e-8 for values in [0, 1], converted to values in [0, 255].
const CONSTANT: f64 = 1e-8 * STEPS * STEPS;

/// The number of windows along a row that are computed together.
const TILE: usize = 64;

/// The points of a row inside these windows.
const REACH: usize = TILE + 2 * RADIUS;

/// [`REACH`] rounded up to whole vectors.
const SPAN: usize = REACH.next_multiple_of(16);

/// The weights of one dimension, from the middle of a window outwards.
type Weights = [f64; RADIUS + 1];

/// The number of maps to average over windows. They are SOURCE, the differences, their squares, the squares of both
/// sides, and the points that count. All are integers below 2^24.
const MAPS: usize = 5;

/// The number of rows of window middles that are computed together. Their windows include [`REACHED_ROWS`] rows.
const GROUP: usize = 4;
const REACHED_ROWS: usize = GROUP + 2 * RADIUS;

/// The columns of a tile are [`LANES`] blocks of [`BLOCK`] columns. The columns with one index in all blocks are
/// neighbours in memory. So no loop has to move numbers from one lane of a vector into another.
const LANES: usize = 8;
const BLOCK: usize = TILE / LANES;
/// The columns inside the windows of a block.
const BLOCK_REACH: usize = BLOCK + 2 * RADIUS;

/// The numbers of a row of a tile, by their index in a block, then by block. It is aligned to vectors in memory.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Row([f64; TILE]);

/// A row with all columns inside the windows.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct WideRow([f64; BLOCK_REACH * LANES]);

/// The buffers for the means of a tile. They are separate variables of the loop, not parts of one object. So the
/// compiler knows that the written memory is not the read memory.
struct Maps<'a> {
    /// The means across the windows of some rows, as a ring. The index of a row is its number modulo the length.
    across: &'a mut [[Row; MAPS]; REACHED_ROWS],
    /// The values that are averaged, for one row.
    points: &'a mut [WideRow; MAPS],
    /// The means over whole windows, for a group of rows.
    windows: &'a mut [[Row; GROUP]; MAPS],
    /// 1 if the point of a row counts, else 0.
    counts: &'a mut [[u8; TILE]; REACHED_ROWS],
    /// The numbers of the rows that the ring contains.
    rows: &'a mut [usize; REACHED_ROWS],
}

/// The loop over the windows of a band of rows. Without `GAPS` all points count.
struct WindowLoop<const GAPS: bool>;

impl<const GAPS: bool> BlockLoop for WindowLoop<GAPS> {
    type Work<'a> = (&'a Band, &'a Weights);
    type Outcome = Similarity;

    #[inline(always)]
    #[expect(clippy::large_stack_arrays, reason = "36 KiB, once for a band: a thread has 2 MiB")]
    fn run<const ROUNDS: bool>((band, weights): (&Band, &Weights)) -> Similarity {
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
            all.merge(tile::<ROUNDS, GAPS>(band, columns, weights, &mut maps));
        }
        all
    }
}

/// Returns the SSIM of the windows in some columns.
#[inline(always)]
fn tile<const ROUNDS: bool, const GAPS: bool>(
    band: &Band,
    columns: Range<usize>,
    weights: &Weights,
    maps: &mut Maps<'_>,
) -> Similarity {
    let (rows, num_windows) = (band.rows(), columns.len() - 2 * RADIUS);
    let mut is_window = [0_u8; TILE];
    for (index, is_window) in is_window.iter_mut().enumerate() {
        *is_window = u8::from(index % LANES * BLOCK + index / LANES < num_windows);
    }
    // The ring contains rows of the columns before.
    maps.rows.fill(usize::MAX);
    let differs = differing_rows(band, columns.clone());
    let mut all = Similarity::default();
    let mut sums = [0.0; TILE];
    for top in (0..rows - 2 * RADIUS).step_by(GROUP) {
        let middles = GROUP.min(rows - 2 * RADIUS - top);
        let reached = top..top + middles + 2 * RADIUS;
        if !differs[reached.clone()].contains(&true) {
            let middles = top + RADIUS..top + RADIUS + middles;
            all.merge(equal_windows(band, middles, columns.start + RADIUS, num_windows));
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
            for index in 0..TILE {
                // This is infinite if no point of the window counts. Then its middle does not count either, and the
                // result is not used.
                let share = if GAPS { 1.0 / counting[index] } else { 1.0 };
                let (x, d) = (x[index] * share, d[index] * share);
                let (d_squared, squares) = (d_squared[index] * share, squares[index] * share);
                let y = x - d;
                let means = x * x + y * y;
                let (first, second) = (means + CONSTANT, squares - means + CONSTANT);
                // One fraction instead of two needs only one division.
                let similar = (first - d * d) * (second - (d_squared - d * d)) / (first * second);
                let is_window = is_window[index] & if GAPS { counts[index] } else { 1 };
                count += u32::from(is_window);
                sums[index] += if is_window == 1 { similar } else { 0.0 };
            }
            all.windows += u64::from(count);
        }
    }
    all.sum += sums.iter().sum::<f64>();
    all
}

/// Returns the SSIM of windows whose rows are the same in SOURCE and DEST: 1 each.
fn equal_windows(band: &Band, middles: Range<usize>, first: usize, num_windows: usize) -> Similarity {
    let counts = middles.flat_map(|middle| &band.counts[middle * band.width + first..][..num_windows]);
    let count: u32 = counts.map(|counts| u32::from(*counts)).sum();
    Similarity { sum: f64::from(count), windows: u64::from(count) }
}

/// Returns for each row whether SOURCE and DEST differ in some columns.
#[inline(always)]
fn differing_rows(band: &Band, columns: Range<usize>) -> Vec<bool> {
    let [x, y] = &band.values;
    let rows = x.chunks_exact(band.width).zip(y.chunks_exact(band.width));
    rows.map(|(x, y)| x[columns.clone()] != y[columns.clone()]).collect()
}

/// Reorders the bytes of a row for a tile. The first ones are those inside the first window of each block.
#[inline(always)]
fn in_blocks(bytes: &[u8]) -> [u8; BLOCK_REACH * LANES] {
    let mut own = [0_u8; SPAN];
    own[..bytes.len()].copy_from_slice(bytes);
    let mut ordered = [0_u8; BLOCK_REACH * LANES];
    for index in 0..BLOCK_REACH {
        for lane in 0..LANES {
            ordered[index * LANES + lane] = own[lane * BLOCK + index];
        }
    }
    ordered
}

/// Writes the maps of a row, and its means across windows.
#[inline(always)]
fn fill<const ROUNDS: bool, const GAPS: bool>(
    maps: &mut Maps<'_>,
    band: &Band,
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
    for index in 0..BLOCK_REACH * LANES {
        let (x, y) = (f64::from(x[index]), f64::from(y[index]));
        let d = x - y;
        values.0[index] = x;
        differences.0[index] = d;
        squared.0[index] = d * d;
        squares.0[index] = x * x + y * y;
    }
    for (points, means) in maps.points.iter().zip(&mut maps.across[slot]).take(if GAPS { MAPS } else { MAPS - 1 }) {
        across::<ROUNDS>(points, weights, means);
    }
}

/// Computes the weighted means across eleven columns, for all columns of the blocks.
#[inline(always)]
fn across<const ROUNDS: bool>(WideRow(points): &WideRow, weights: &Weights, Row(means): &mut Row) {
    for lane in 0..LANES {
        for index in 0..BLOCK {
            let at = index * LANES + lane;
            means[at] = weighted::<ROUNDS>(weights, |offset| points[at + offset * LANES]);
        }
    }
}

/// Computes the weighted means down eleven rows, for a group of rows.
#[inline(always)]
fn down<const ROUNDS: bool>(rows: [&Row; REACHED_ROWS], weights: &Weights, means: &mut [Row; GROUP]) {
    for at in 0..TILE {
        let mut r = [0.0; REACHED_ROWS];
        for (number, row) in r.iter_mut().zip(rows) {
            *number = row.0[at];
        }
        means[0].0[at] = weighted::<ROUNDS>(weights, |offset| r[offset]);
        means[1].0[at] = weighted::<ROUNDS>(weights, |offset| r[offset + 1]);
        means[2].0[at] = weighted::<ROUNDS>(weights, |offset| r[offset + 2]);
        means[3].0[at] = weighted::<ROUNDS>(weights, |offset| r[offset + 3]);
    }
}

/// Returns the weighted mean of eleven numbers.
#[inline(always)]
fn weighted<const ROUNDS: bool>(weights: &Weights, number: impl Fn(usize) -> f64) -> f64 {
    let mean = number(5) * weights[0];
    let mean = multiply_add::<ROUNDS>(number(4) + number(6), weights[1], mean);
    let mean = multiply_add::<ROUNDS>(number(3) + number(7), weights[2], mean);
    let mean = multiply_add::<ROUNDS>(number(2) + number(8), weights[3], mean);
    let mean = multiply_add::<ROUNDS>(number(1) + number(9), weights[4], mean);
    multiply_add::<ROUNDS>(number(0) + number(10), weights[5], mean)
}

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

pub use super::windows::{Band, RADIUS, Similarity, WINDOW};
use super::windows::{STEPS, Weights, WindowLoop};
use crate::kernel::dispatch::{BlockKernel, BlockLoop};

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

impl Band {
    /// Starts a band of rows of `width` points.
    pub fn begin(&mut self, width: usize) {
        self.width = width;
        self.has_gaps = false;
        self.values.iter_mut().for_each(Vec::clear);
        self.counts.clear();
    }

    /// Returns the number of whole rows.
    pub(super) fn rows(&self) -> usize {
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
    #[cfg(test)]
    pub(super) fn points(&self) -> impl Iterator<Item = Option<[u8; 2]>> {
        let [x, y] = &self.values;
        x.iter().zip(y).zip(&self.counts).map(|((x, y), counts)| (*counts == 1).then_some([*x, *y]))
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

//! Measures that are sums over points: bias, PSNR, Pearson's r, shares of points.
//!
//! The sums of a block are of distances from one of its own values. Blocks are merged by the formula of Chan, Golub and
//! `LeVeque` (1983), so that little cancels. Merged in one order, the figures are the same bits on any number of
//! threads.

use crate::kernel::dispatch::{BlockKernel, BlockLoop};
use crate::kernel::double::{Double, approximate};

/// A relative error above this counts as large (Baker et al. 2016, 10.5194/gmd-9-4381-2016).
pub const LARGE_RELATIVE_ERROR: f64 = 1e-4;

/// Points of a block: two blocks of float64 stay in a first-level cache.
const BLOCK: usize = 1024;

/// Sums in parallel, so that the compiler can use vectors.
const LANES: usize = 16;

/// The figures of pairs of points of SOURCE and DEST.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairSums {
    /// Pairs of finite values.
    pub points: u64,
    /// Pairs whose relative error is above [`LARGE_RELATIVE_ERROR`]. If SOURCE is 0, the absolute error counts.
    pub large_errors: u64,
    /// Points that are 0 in SOURCE.
    pub zeros: u64,
    /// Points that are 0 in SOURCE and in DEST.
    pub zeros_kept: u64,
    /// Points that are not 0 in SOURCE, with the same sign in DEST, where they are not 0 either.
    pub signs_kept: u64,
    /// The least and the greatest value of SOURCE. An empty range if there are no points.
    pub source: (f64, f64),
    /// The least and the greatest value of DEST.
    pub destination: (f64, f64),
    /// The exponent of the power of two that is the unit of the fields below. It keeps squares in the range of float64.
    /// It is the least exponent if there are no points or only zeros.
    unit: i32,
    /// The sum of the errors, DEST less SOURCE.
    errors: Double,
    /// The sum of their squares.
    squares: Double,
    /// The means of SOURCE and of the errors.
    means: (f64, f64),
    /// Sums of products of distances from the means: SOURCE with itself, SOURCE with the errors, the errors with
    /// themselves.
    moments: [f64; 3],
}

impl Default for PairSums {
    fn default() -> Self {
        let empty = (f64::INFINITY, f64::NEG_INFINITY);
        PairSums {
            points: 0,
            large_errors: 0,
            zeros: 0,
            zeros_kept: 0,
            signs_kept: 0,
            source: empty,
            destination: empty,
            unit: LEAST_UNIT,
            errors: Double::default(),
            squares: Double::default(),
            means: (0.0, 0.0),
            moments: [0.0; 3],
        }
    }
}

impl PairSums {
    /// Changes to a greater unit. Values that underflow are negligible next to the values that need that unit.
    fn convert(&mut self, unit: i32) {
        let factor = 2_f64.powi(self.unit - unit);
        self.unit = unit;
        self.errors = self.errors.times(factor);
        self.squares = self.squares.times(factor).times(factor);
        self.means = (self.means.0 * factor, self.means.1 * factor);
        self.moments = self.moments.map(|moment| moment * factor * factor);
    }

    /// Adds the figures of the points that follow.
    pub fn merge(&mut self, other: &PairSums) {
        if other.points == 0 {
            return;
        }
        let mut other = *other;
        if self.unit != other.unit {
            let unit = self.unit.max(other.unit);
            self.convert(unit);
            other.convert(unit);
        }
        let (mine, others) = (approximate(self.points), approximate(other.points));
        let (distance, error) = (other.means.0 - self.means.0, other.means.1 - self.means.1);
        let share = others / (mine + others);
        let weight = mine * share;
        let products = [distance * distance, distance * error, error * error];
        for ((moment, other), product) in self.moments.iter_mut().zip(other.moments).zip(products) {
            // There is no mean yet before the first points.
            *moment += other + if self.points == 0 { 0.0 } else { product * weight };
        }
        self.means = (self.means.0 + distance * share, self.means.1 + error * share);
        if self.points == 0 {
            self.means = other.means;
        }
        self.points += other.points;
        self.large_errors += other.large_errors;
        self.zeros += other.zeros;
        self.zeros_kept += other.zeros_kept;
        self.signs_kept += other.signs_kept;
        self.source = widened(self.source, other.source);
        self.destination = widened(self.destination, other.destination);
        self.errors = self.errors + other.errors;
        self.squares = self.squares + other.squares;
    }

    /// Returns the least and the greatest value of both sides. An empty range if there are no points.
    pub fn joint_range(&self) -> (f64, f64) {
        widened(self.source, self.destination)
    }

    /// Returns the mean of the errors, DEST less SOURCE. `None` if there are no points.
    pub fn bias(&self) -> Option<f64> {
        // Two factors, because the power itself may not be a float64.
        let half = self.unit / 2;
        let mean = self.mean_of(self.errors)?;
        Some(mean * 2_f64.powi(half) * 2_f64.powi(self.unit - half))
    }

    fn mean_of(&self, sum: Double) -> Option<f64> {
        (self.points > 0).then(|| sum.value() / approximate(self.points))
    }

    /// Returns the peak signal-to-noise ratio in dB, `20 log10(range / rms error)`. The peak is the range of SOURCE. It
    /// is infinite if there are no errors, and `None` if SOURCE is constant.
    pub fn psnr(&self) -> Option<f64> {
        let unit = 2_f64.powi(-self.unit);
        let range = self.source.1 * unit - self.source.0 * unit;
        // In squares of the unit.
        let mean_square = self.mean_of(self.squares)?;
        (range > 0.0).then(|| 20.0 * (range / mean_square.sqrt()).log10())
    }

    /// Returns Pearson's correlation coefficient. `None` if either side is constant.
    pub fn pearson(&self) -> Option<f64> {
        let is_constant = |range: (f64, f64)| range.0 >= range.1;
        if is_constant(self.source) || is_constant(self.destination) {
            return None;
        }
        let [source, cross, errors] = self.moments;
        // DEST as SOURCE plus the errors keeps digits that a covariance of nearly equal numbers would lose.
        let destination = source + 2.0 * cross + errors;
        Some(((1.0 + cross / source) * (source / destination).sqrt()).clamp(-1.0, 1.0))
    }

    /// Returns the share of points with a large relative error. `None` if there are no points.
    pub fn large_error_share(&self) -> Option<f64> {
        share(self.large_errors, self.points)
    }

    /// Returns the share of zeros that stay 0. It is 1 if there are none, and `None` if there are no points.
    pub fn zeros_kept_share(&self) -> Option<f64> {
        if self.points > 0 && self.zeros == 0 { Some(1.0) } else { share(self.zeros_kept, self.zeros) }
    }

    /// Returns the share of other numbers that keep their sign. It is 1 if there are none, and `None` if there are no
    /// points.
    pub fn signs_kept_share(&self) -> Option<f64> {
        let signed = self.points - self.zeros;
        if self.points > 0 && signed == 0 { Some(1.0) } else { share(self.signs_kept, signed) }
    }
}

/// Returns `part / all`. `None` if `all` is 0.
fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| approximate(part) / approximate(all))
}

fn widened(one: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    (one.0.min(other.0), one.1.max(other.1))
}

/// The loop over pairs, selected for this processor.
#[derive(Debug, Default)]
pub struct PairScan(BlockKernel<PairLoop>);

impl PairScan {
    /// Returns the figures of points. `source` and `destination` have the same length.
    pub fn run(&self, source: &[f64], destination: &[f64]) -> PairSums {
        let mut all = PairSums::default();
        for block in source.chunks(BLOCK).zip(destination.chunks(BLOCK)) {
            let mut sums = self.0.run(block);
            let (least, greatest) = sums.joint_range();
            let magnitude = least.abs().max(greatest.abs());
            if magnitude == 0.0 {
                sums.unit = LEAST_UNIT;
            } else if !PLAIN_MAGNITUDES.contains(&magnitude) && sums.points > 0 {
                sums = self.in_unit(block, unit_of(magnitude), &sums);
            }
            all.merge(&sums);
        }
        all
    }

    /// Returns the figures of a block in units of a power of two. Counts and ranges are those of the values.
    fn in_unit(&self, (source, destination): (&[f64], &[f64]), unit: i32, plain: &PairSums) -> PairSums {
        let factor = 2_f64.powi(-unit);
        let [source, destination] =
            [source, destination].map(|side| side.iter().map(|value| value * factor).collect::<Vec<_>>());
        let PairSums { errors, squares, means, moments, .. } = self.0.run((&source, &destination));
        PairSums { unit, errors, squares, means, moments, ..*plain }
    }
}

/// The greatest values of blocks whose squares, and those of their errors, are well inside the range of float64.
const PLAIN_MAGNITUDES: std::ops::Range<f64> = 1e-100..1e100;

/// The least exponent of a unit: that of the least normal float64.
const LEAST_UNIT: i32 = -1022;

/// Returns the exponent of the greatest power of two that is not above a magnitude, at least [`LEAST_UNIT`].
fn unit_of(magnitude: f64) -> i32 {
    let exponent = i32::try_from(magnitude.to_bits() >> 52).unwrap_or(0) - 1023;
    exponent.max(LEAST_UNIT)
}

struct PairLoop;

impl BlockLoop for PairLoop {
    type Work<'a> = (&'a [f64], &'a [f64]);
    type Outcome = PairSums;

    #[inline(always)]
    fn run<const ROUNDS: bool>((source, destination): (&[f64], &[f64])) -> PairSums {
        if let Some(sums) = plain_sums::<ROUNDS>(source, destination) {
            return sums;
        }
        // For infinities and NaN the difference is NaN.
        let counts = |x: f64, y: f64| (x - x == 0.0) & (y - y == 0.0);
        let pairs = || source.iter().zip(destination);
        let Some((pivot, first)) = pairs().find(|(x, y)| counts(**x, **y)) else {
            return PairSums::default();
        };
        let pivots = (*pivot, *first - *pivot);
        let mut lanes = Lanes::<LANES>::new();
        let (whole, rest) = source.as_chunks::<LANES>();
        let (whole_destination, rest_destination) = destination.as_chunks::<LANES>();
        for (x, y) in whole.iter().zip(whole_destination) {
            lanes.add(x, y, pivots);
        }
        // NaN does not count as a point, so it fills up the last vector.
        let (mut x, mut y) = ([f64::NAN; LANES], [f64::NAN; LANES]);
        x[..rest.len()].copy_from_slice(rest);
        y[..rest.len()].copy_from_slice(&rest_destination[..rest.len()]);
        lanes.add(&x, &y, pivots);
        lanes.sums(pivots)
    }
}

/// Numbers of SOURCE nearer to 0 have no relative error that a product can be compared with.
const LEAST_PLAIN: f64 = 1e-290;

/// The lanes of the loop over finite numbers.
const PLAIN: usize = 8;

/// Returns the figures of whole vectors of finite numbers without zeros in SOURCE. Their relative errors differ from
/// [`LARGE_RELATIVE_ERROR`] by more than the rounding of a division. All blocks of most arrays are such. `None` for any
/// other block.
#[inline(always)]
fn plain_sums<const ROUNDS: bool>(source: &[f64], destination: &[f64]) -> Option<PairSums> {
    let ((source, []), (destination, [])) = (source.as_chunks::<PLAIN>(), destination.as_chunks::<PLAIN>()) else {
        return None;
    };
    let pivot = source.first()?[0];
    let pivots = (pivot, destination.first()?[0] - pivot);
    // Separate arrays, and no more than there are registers.
    let (mut least_x, mut least_y) = ([f64::INFINITY; PLAIN], [f64::INFINITY; PLAIN]);
    let (mut greatest_x, mut greatest_y) = ([f64::NEG_INFINITY; PLAIN], [f64::NEG_INFINITY; PLAIN]);
    let (mut unsure, mut large, mut lost) = ([0_u64; PLAIN], [0_u64; PLAIN], [0_u64; PLAIN]);
    let (mut distances, mut errors) = ([0.0; PLAIN], [0.0; PLAIN]);
    let (mut squares, mut products, mut error_squares) = ([0.0; PLAIN], [0.0; PLAIN], [0.0; PLAIN]);
    for (x, y) in source.iter().zip(destination) {
        for lane in 0..PLAIN {
            let (x, y) = (x[lane], y[lane]);
            let error = y - x;
            let most = x.abs() * LARGE_RELATIVE_ERROR;
            let above = error.abs() - most;
            unsure[lane] |= u64::from((above.abs() <= most * 1e-14) | (x.abs() < LEAST_PLAIN));
            large[lane] += u64::from(above > 0.0);
            lost[lane] += u64::from(((x > 0.0) != (y > 0.0)) | (y == 0.0));
            least_x[lane] = if x < least_x[lane] { x } else { least_x[lane] };
            least_y[lane] = if y < least_y[lane] { y } else { least_y[lane] };
            greatest_x[lane] = if x > greatest_x[lane] { x } else { greatest_x[lane] };
            greatest_y[lane] = if y > greatest_y[lane] { y } else { greatest_y[lane] };
            let (distance, error) = (x - pivots.0, error - pivots.1);
            distances[lane] += distance;
            errors[lane] += error;
            squares[lane] = multiply_add::<ROUNDS>(distance, distance, squares[lane]);
            products[lane] = multiply_add::<ROUNDS>(distance, error, products[lane]);
            error_squares[lane] = multiply_add::<ROUNDS>(error, error, error_squares[lane]);
        }
    }
    let sums = [distances, errors, squares, products, error_squares];
    // A number that is not finite makes a sum that is not finite.
    let is_plain = unsure.iter().all(|unsure| *unsure == 0) && sums.as_flattened().iter().all(|sum| sum.is_finite());
    let (least, greatest) = ([least_x, least_y], [greatest_x, greatest_y]);
    let mut lanes = Lanes { large_errors: large, least, greatest, sums, ..Lanes::new() };
    lanes.points[0] = (source.len() * PLAIN) as u64;
    lanes.signs_kept[0] = lanes.points[0] - lost.iter().sum::<u64>();
    is_plain.then(|| lanes.sums(pivots))
}

/// Returns `a * b + c`, fused if the processor has the instruction.
#[inline(always)]
pub(super) fn multiply_add<const ROUNDS: bool>(a: f64, b: f64, c: f64) -> f64 {
    if ROUNDS { a.mul_add(b, c) } else { a * b + c }
}

/// The figures of a block's points, in lanes.
struct Lanes<const N: usize> {
    points: [u64; N],
    large_errors: [u64; N],
    zeros: [u64; N],
    zeros_kept: [u64; N],
    signs_kept: [u64; N],
    least: [[f64; N]; 2],
    greatest: [[f64; N]; 2],
    /// Sums of the distances of SOURCE and of the errors from their pivots, and of the products of those.
    sums: [[f64; N]; 5],
}

impl<const N: usize> Lanes<N> {
    #[inline(always)]
    fn new() -> Self {
        let zero = [0; N];
        Lanes {
            points: zero,
            large_errors: zero,
            zeros: zero,
            zeros_kept: zero,
            signs_kept: zero,
            least: [[f64::INFINITY; N]; 2],
            greatest: [[f64::NEG_INFINITY; N]; 2],
            sums: [[0.0; N]; 5],
        }
    }

    #[inline(always)]
    fn add(&mut self, source: &[f64; N], destination: &[f64; N], pivots: (f64, f64)) {
        for lane in 0..N {
            let (x, y) = (source[lane], destination[lane]);
            let counts = (x - x == 0.0) & (y - y == 0.0);
            let error = y - x;
            let relative = error.abs() / if x == 0.0 { 1.0 } else { x.abs() };
            self.points[lane] += u64::from(counts);
            self.large_errors[lane] += u64::from(counts & (relative > LARGE_RELATIVE_ERROR));
            self.zeros[lane] += u64::from(counts & (x == 0.0));
            self.zeros_kept[lane] += u64::from(counts & (x == 0.0) & (y == 0.0));
            let same_sign = ((x > 0.0) & (y > 0.0)) | ((x < 0.0) & (y < 0.0));
            self.signs_kept[lane] += u64::from(counts & same_sign);
            for (side, value) in [x, y].into_iter().enumerate() {
                let (least, greatest) = (&mut self.least[side][lane], &mut self.greatest[side][lane]);
                *least = if counts & (value < *least) { value } else { *least };
                *greatest = if counts & (value > *greatest) { value } else { *greatest };
            }
            let distance = if counts { x - pivots.0 } else { 0.0 };
            let error = if counts { error - pivots.1 } else { 0.0 };
            let terms = [distance, error, distance * distance, distance * error, error * error];
            for (sum, term) in self.sums.iter_mut().zip(terms) {
                sum[lane] += term;
            }
        }
    }

    #[inline(always)]
    fn sums(&self, pivots: (f64, f64)) -> PairSums {
        let total = |lanes: &[u64; N]| lanes.iter().sum::<u64>();
        let least = |side: usize| self.least[side].iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = |side: usize| self.greatest[side].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum = |index: usize| self.sums[index].iter().sum::<f64>();
        let points = total(&self.points);
        let count = approximate(points);
        let (distances, errors) = (sum(0), sum(1));
        // The errors are their distances from the pivot plus one pivot each.
        let error_sum = Double::from(pivots.1).times(count) + Double::from(errors);
        let crossed = Double::from(errors).times(2.0 * pivots.1);
        let error_squares = Double::from(sum(4)) + crossed + Double::from(pivots.1).times(count).times(pivots.1);
        PairSums {
            points,
            large_errors: total(&self.large_errors),
            zeros: total(&self.zeros),
            zeros_kept: total(&self.zeros_kept),
            signs_kept: total(&self.signs_kept),
            source: (least(0), greatest(0)),
            destination: (least(1), greatest(1)),
            unit: 0,
            errors: error_sum,
            squares: error_squares,
            means: (pivots.0 + distances / count, pivots.1 + errors / count),
            moments: [
                (sum(2) - distances * distances / count).max(0.0),
                sum(3) - distances * errors / count,
                (sum(4) - errors * errors / count).max(0.0),
            ],
        }
    }
}

//! The exact Kolmogorov-Smirnov statistic of SOURCE and DEST from one pass, for a DEST with few possible values.
//!
//! The statistic is the greatest distance of the two empirical distribution functions. The function of DEST changes
//! only at its possible values, so the distance is greatest at one of them or just before one. Most pairs of values
//! have no other possible value between them. Such a pair changes the distance at one point. The point is just before
//! the value of DEST if that of SOURCE is below, and at it if above. Two counters for each possible value are enough
//! for these pairs.

use std::f64::consts::PI;

use crate::element::FloatFormat;
use crate::kernel::dispatch::{BlockKernel, BlockLoop};
use crate::kernel::double::approximate;

/// The greatest number of possible values of DEST. Memory is proportional to it.
pub const MOST_VALUES: usize = 1 << 20;

/// Pairs whose counters are found at a time. They fit into a first-level cache.
const PAIRS: usize = 512;

/// The number of copies of the counters if there are few values. Neighbouring pairs often have one value, and with
/// copies the addition of one does not wait for that of the other.
const COPIES: usize = 4;
const MOST_COPIED: usize = 1 << 10;

/// Counters that nobody reads, for pairs that do not count.
const UNREAD: usize = 8;

/// The possible values of DEST.
#[derive(Debug)]
pub struct PossibleValues {
    /// In order, each once.
    values: Vec<f64>,
    scale: Scale,
    /// The least distance of two values on the scale. `None` if the scale does not separate them.
    least_distance: Option<f64>,
    kernel: BlockKernel<PlaceLoop>,
}

/// The counted pairs of values.
#[derive(Debug, Clone, Default)]
pub struct PairCounts {
    /// For each possible value of DEST, the pairs whose value of SOURCE is below and above it, with no other possible
    /// value in between. The copies follow one another, then the counters that nobody reads.
    near: Vec<u64>,
    /// For all other pairs, the values of SOURCE less those of DEST: before the first possible value, equal to it,
    /// between it and the second, and so on.
    far: Vec<i64>,
}

/// Numbers the possible values.
#[derive(Debug, Clone, Copy)]
enum Scale {
    /// A scale of about equal steps.
    Steps { origin: f64, inverse: f64 },
    /// A scale of the leading bits of a float64, after a multiplication by `factor`.
    Bits { factor: f64, unit: f64, zero: f64 },
}

impl Scale {
    /// Returns the approximate number of a possible value. For other values, a number in between.
    #[inline(always)]
    fn position(self, value: f64) -> f64 {
        // The bits of magnitudes sort as the magnitudes do. As the fraction of 2^52 they are a number without a
        // conversion.
        const INTEGRAL: f64 = 4_503_599_627_370_496.0;
        match self {
            Scale::Steps { origin, inverse } => (value - origin) * inverse,
            Scale::Bits { factor, unit, zero } => {
                let bits = (value.abs() * factor).to_bits() >> 11 | INTEGRAL.to_bits();
                ((f64::from_bits(bits) - INTEGRAL) * unit).copysign(value) + zero
            }
        }
    }
}

impl PossibleValues {
    /// Makes the possible values from those of codes, in any order. `None` if there are too many.
    pub fn of_codes(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        values.dedup_by(|next, value| next == value);
        let (first, last) = (*values.first()?, *values.last()?);
        // For a single value this is NaN. `find` then needs no position, since no other value is beyond either end.
        let inverse = approximate(values.len() as u64 - 1) / (last - first);
        (values.len() <= MOST_VALUES).then(|| Self::new(values, Scale::Steps { origin: first, inverse }))
    }

    /// Makes the finite values of an IEEE 754 format with `bits` explicit bits of the significand kept. `None` if there
    /// are too many.
    pub fn of_kept_bits(format: FloatFormat, bits: u32) -> Option<Self> {
        if 1 + format.exponent_bits + bits > MOST_VALUES.ilog2() {
            return None;
        }
        let magnitudes = ((1_u32 << format.exponent_bits) - 1) << bits;
        // The least normal number becomes that of float64, so that the leading bits of the products number all
        // magnitudes.
        let factor = 2_f64.powi(-1022 - format.least_exponent());
        let magnitude = |number: u32| f64::from_bits(u64::from(number) << (52 - bits)) / factor;
        let negative = (1..magnitudes).rev().map(|number| -magnitude(number));
        // `position` drops 11 of the 52 bits of the fraction. So neighbours are 2^(41 - bits) apart there.
        let unit = f64::from(1_u32 << bits) / 2_f64.powi(41);
        let scale = Scale::Bits { factor, unit, zero: f64::from(magnitudes - 1) };
        Some(Self::new(negative.chain((0..magnitudes).map(magnitude)).collect(), scale))
    }

    fn new(values: Vec<f64>, scale: Scale) -> Self {
        /// More than the imprecision of a position.
        const SLACK: f64 = 1e-6;
        let mut least_distance = Some(1.0);
        for (number, pair) in (0_u32..).zip(values.windows(2)) {
            let [one, next] = [pair[0], pair[1]].map(|value| scale.position(value));
            let is_own = |position: f64, number: u32| (position - f64::from(number)).abs() < 0.49;
            least_distance = least_distance
                .filter(|_| is_own(one, number) && is_own(next, number + 1))
                .map(|least| (next - one - SLACK).min(least));
        }
        PossibleValues { values, scale, least_distance, kernel: BlockKernel::default() }
    }

    /// Returns the number of copies of the counters, a power of two.
    fn copies(&self) -> usize {
        if self.values.len() <= MOST_COPIED { COPIES } else { 1 }
    }

    /// Returns the number of counters of all values, in one copy.
    fn counters(&self) -> usize {
        2 * self.values.len()
    }

    /// Counts the pairs of two finite values.
    pub fn count(&self, source: &[f64], destination: &[f64], counts: &mut PairCounts) {
        let Some(least_distance) = self.least_distance else {
            return self.count_far(source, destination, counts);
        };
        counts.near.resize(self.copies() * self.counters() + UNREAD, 0);
        let mut found = [0; PAIRS];
        for (x, y) in source.chunks(PAIRS).zip(destination.chunks(PAIRS)) {
            if self.kernel.run((x, y, (self, least_distance), &mut found)) {
                self.count_far(x, y, counts);
                continue;
            }
            for counter in &found[..x.len()] {
                if let Some(count) = counts.near.get_mut(*counter as usize) {
                    *count += 1;
                }
            }
        }
    }

    /// Counts pairs one by one, at any distance of their values.
    fn count_far(&self, source: &[f64], destination: &[f64], counts: &mut PairCounts) {
        counts.far.resize(self.counters() + 1, 0);
        let is_counted = |(x, y): &(&f64, &f64)| x != y && x.is_finite() && y.is_finite();
        for (x, y) in source.iter().zip(destination).filter(is_counted) {
            counts.far[self.bin(*x)] += 1;
            counts.far[self.bin(*y)] -= 1;
        }
    }

    /// Returns twice the number of possible values below, and one more for a value that is possible itself.
    fn bin(&self, value: f64) -> usize {
        let number = self.values.partition_point(|own| *own < value);
        2 * number + usize::from(self.values.get(number) == Some(&value))
    }

    /// Returns the greatest distance of the distribution functions, in values.
    pub fn distance(&self, counts: PairCounts) -> u64 {
        let (mut bins, counters) = (counts.far, self.counters());
        bins.resize(counters + 1, 0);
        for (counter, count) in counts.near.iter().take(self.copies() * counters).enumerate() {
            let (number, is_above) = (counter % counters / 2, counter % 2);
            bins[2 * number + 2 * is_above] += count.cast_signed();
            bins[2 * number + 1] -= count.cast_signed();
        }
        let distances = bins.iter().scan(0_i64, |distance, change| {
            *distance += change;
            Some(distance.unsigned_abs())
        });
        distances.max().unwrap_or(0)
    }
}

impl PairCounts {
    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &PairCounts) {
        self.near.resize(self.near.len().max(other.near.len()), 0);
        self.near.iter_mut().zip(&other.near).for_each(|(own, count)| *own += count);
        self.far.resize(self.far.len().max(other.far.len()), 0);
        self.far.iter_mut().zip(&other.far).for_each(|(own, count)| *own += count);
    }
}

/// The loop that finds the counter of each pair. It returns true if another possible value may be between those of a
/// pair.
struct PlaceLoop;

impl BlockLoop for PlaceLoop {
    /// The pairs, the possible values with their least distance, and the indices of the counters.
    type Work<'a> = (&'a [f64], &'a [f64], (&'a PossibleValues, f64), &'a mut [u32; PAIRS]);
    type Outcome = bool;

    #[inline(always)]
    fn run<const ROUNDS: bool>(work: Self::Work<'_>) -> bool {
        // One loop for each: a loop that chose for each pair would not be vectorised.
        match work.2.0.scale {
            Scale::Steps { origin, inverse } => find(Scale::Steps { origin, inverse }, work),
            Scale::Bits { factor, unit, zero } => find(Scale::Bits { factor, unit, zero }, work),
        }
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "indices are few, and the integer is in the last bits")]
fn find(scale: Scale, (x, y, (possible, least_distance), found): <PlaceLoop as BlockLoop>::Work<'_>) -> bool {
    // A float64 so large that it has no fraction: adding it rounds to an integer, in the last bits.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    let (counters, copies) = (possible.counters() as u32, possible.copies() as u32);
    let last = f64::from(counters / 2 - 1);
    let unread = counters * copies;
    let mut is_any_far = false;
    for (index, ((x, y), counter)) in (0_u32..).zip(x.iter().zip(y).zip(found)) {
        let position = scale.position(*y);
        let at = if position > 0.0 { position } else { 0.0 };
        let at = (if at < last { at } else { last }) + ROUNDER;
        let is_counted = (x - x == 0.0) & (y - y == 0.0) & (x != y);
        // There are no other values beyond the ends.
        let is_near = ((scale.position(*x) - position).abs() < least_distance)
            | ((at == ROUNDER) & (x < y))
            | ((at == last + ROUNDER) & (x > y))
            | !is_counted;
        is_any_far |= !is_near;
        let own = at.to_bits() as u32 * 2 + u32::from(x > y) + (index & (copies - 1)) * counters;
        *counter = if is_counted { own } else { unread + index % UNREAD as u32 };
    }
    is_any_far
}

/// The most values of a sample for which the p-value is exact.
const MOST_EXACT: u64 = 10_000;

/// Returns the p-value of the two-sample test of `count` values each, whose distribution functions differ by `distance`
/// values. It is the probability that samples of one distribution differ at least so much.
///
/// Up to 10,000 values it is exact, as a count of paths (Gnedenko and Korolyuk 1951). Above, it is that of one sample
/// of half as many values against its distribution. The approximations are those that Simard and L'Ecuyer (2011,
/// 10.18637/jss.v039.i11) recommend for such numbers. `scipy.stats.ks_2samp` does this, too. The error is less than
/// 1e-9.
pub fn p_value(count: u64, distance: u64) -> f64 {
    if distance == 0 {
        return 1.0;
    }
    let p = if count <= MOST_EXACT { exact(count, distance) } else { asymptotic(count, distance) };
    p.clamp(0.0, 1.0)
}

/// Returns the share of all orders of both samples in which the functions differ so much:
/// `2 (C(2n, n-h) - C(2n, n-2h) + C(2n, n-3h) - ...) / C(2n, n)`, each binomial as a multiple of the one before.
fn exact(count: u64, distance: u64) -> f64 {
    let mut p = 0.0;
    for multiple in (0..=count / distance).rev() {
        let passed = multiple * distance;
        let factors = (0..distance).map(|step| {
            // The last binomial is 0. A factor of it may be below 0, but only after a factor of 0.
            approximate(count.saturating_sub(passed + step)) / approximate(count + passed + step + 1)
        });
        p = factors.product::<f64>() * (1.0 - p);
    }
    2.0 * p
}

/// The square of `z` from which the two sides of the distribution are never exceeded at once (Simard and L'Ecuyer,
/// section 3.4).
const TWO_SIDED: f64 = 2.2;

/// The square of `z` from which the p-value is less than the least float64.
const NEVER: f64 = 370.0;

/// The `z` up to which the p-value is more than 1 - 1e-300.
const ALWAYS: f64 = 0.042;

/// Returns the p-value of one sample of half as many values.
fn asymptotic(count: u64, distance: u64) -> f64 {
    let half = (approximate(count) / 2.0).round_ties_even();
    let statistic = approximate(distance) / approximate(count);
    let z = statistic * half.sqrt();
    match z * z {
        square if square >= NEVER => 0.0,
        square if square >= TWO_SIDED => 2.0 * one_sided(half, z),
        _ if z < ALWAYS || statistic * half <= 1.0 => 1.0,
        _ => 1.0 - pelz_good(half, z),
    }
}

/// Returns the p-value of the one-sided statistic `z / sqrt(n)` (Lauwerier 1963), with terms up to `n^(-3/2)`.
fn one_sided(n: f64, z: f64) -> f64 {
    let (root, square) = (n.sqrt(), z * z);
    let first = -2.0 * z / (3.0 * root);
    let second = 2.0 * square / (3.0 * n) * (1.0 - 2.0 * square / 3.0);
    let third = 4.0 * z / (9.0 * n * root) * (0.2 - 19.0 * square / 15.0 + 2.0 * square * square / 3.0);
    (-2.0 * square).exp() * (1.0 + first + second + third)
}

/// Returns the distribution function of the statistic at `z / sqrt(n)` (Pelz and Good 1976): its limit and three terms
/// in `1 / sqrt(n)`, as sums over Jacobi's theta functions.
fn pelz_good(n: f64, z: f64) -> f64 {
    let power = |exponent: i32| z.powi(exponent);
    let (square, pi_square) = (z * z, PI * PI);
    let mut terms = [0.0; 4];
    // Terms beyond these are below the last bit.
    let most = (16.0 * z / PI).ceil();
    let mut number = most;
    // The smallest terms come first, so that the sum keeps their digits.
    while number >= 1.0 {
        let odd = (2.0 * number - 1.0).powi(2) * pi_square / 4.0;
        let weight = (-odd / (2.0 * square)).exp();
        let even = number * number * pi_square;
        let even_weight = (-even / (2.0 * square)).exp();
        terms[0] += weight / z;
        terms[1] += weight * (odd - square) / (6.0 * power(4));
        let second =
            6.0 * power(6) + 2.0 * power(4) + (2.0 * power(4) - 5.0 * square) * odd + (1.0 - 2.0 * square) * odd * odd;
        terms[2] += weight * second / (72.0 * power(7)) - even_weight * even / (36.0 * power(3));
        let third = (5.0 - 30.0 * square) * odd.powi(3)
            + (-60.0 * square + 212.0 * power(4)) * odd * odd
            + (135.0 * power(4) - 96.0 * power(6)) * odd
            - 30.0 * power(6)
            - 90.0 * power(8);
        terms[3] +=
            weight * third / (6480.0 * power(10)) + even_weight * even * (3.0 * square - even) / (216.0 * power(6));
        number -= 1.0;
    }
    let root = n.sqrt();
    let sum = terms[0] + terms[1] / root + terms[2] / n + terms[3] / (n * root);
    sum * (2.0 * PI).sqrt()
}

//! The Kolmogorov-Smirnov statistic of SOURCE and DEST, exactly, from one pass, where DEST can hold few different values.
//!
//! The statistic is the greatest distance of the two empirical distribution functions. That of DEST changes only at its
//! possible values, so the distance is greatest at one of them or just before one. A pair of values between which no other
//! possible value lies changes the distance at one place: just before the value of DEST, if that of SOURCE is below it, or at
//! it, if that of SOURCE is above. Nearly all pairs are such, and two counters for each possible value are enough for them.

use crate::element::FloatFormat;
use crate::kernel::dispatch::{BlockKernel, BlockLoop};

/// The greatest number of possible values of DEST: memory is in proportion to it.
pub const MOST_VALUES: usize = 1 << 20;

/// Pairs whose counters are found at a time: they stay in a first-level cache.
const PAIRS: usize = 512;

/// Few values have their counters so many times, for neighbouring pairs, which often are of one value: the addition of one
/// does not wait for that of the other.
const COPIES: usize = 4;
const MOST_COPIED: usize = 1 << 10;

/// Counters that nobody reads, for pairs that do not count.
const UNREAD: usize = 8;

/// The values that DEST may hold.
#[derive(Debug)]
pub struct PossibleValues {
    /// In order, each once.
    values: Vec<f64>,
    scale: Scale,
    /// The least distance of two values on the scale; `None` where it does not tell them apart.
    least_distance: Option<f64>,
    kernel: BlockKernel<PlaceLoop>,
}

/// The pairs of values that were counted.
#[derive(Debug, Clone, Default)]
pub struct PairCounts {
    /// For each possible value of DEST, the pairs whose value of SOURCE is below and above it, with no other possible value in
    /// between. Copies of this follow one another, then what nobody reads.
    near: Vec<u64>,
    /// Of all other pairs, values of SOURCE less those of DEST: before the first possible value, equal to it, between it and
    /// the second, and so on.
    far: Vec<i64>,
}

/// Numbers the possible values.
trait Number: Copy {
    /// The number of a possible value, or nearly so; of other values, a number in between.
    fn position(self, value: f64) -> f64;
}

/// About equal steps.
#[derive(Debug, Clone, Copy)]
struct Steps {
    origin: f64,
    inverse: f64,
}

/// Leading bits of a float64, after a multiplication by `factor`.
#[derive(Debug, Clone, Copy)]
struct Bits {
    factor: f64,
    unit: f64,
    zero: f64,
}

#[derive(Debug, Clone, Copy)]
enum Scale {
    Steps(Steps),
    Bits(Bits),
}

impl Number for Steps {
    #[inline(always)]
    fn position(self, value: f64) -> f64 {
        (value - self.origin) * self.inverse
    }
}

impl Number for Bits {
    #[inline(always)]
    fn position(self, value: f64) -> f64 {
        // The bits of magnitudes are in their order. As the fraction of 2^52 they are a number without a conversion.
        const INTEGRAL: f64 = 4_503_599_627_370_496.0;
        let bits = (value.abs() * self.factor).to_bits() >> 11 | INTEGRAL.to_bits();
        ((f64::from_bits(bits) - INTEGRAL) * self.unit).copysign(value) + self.zero
    }
}

impl Number for Scale {
    fn position(self, value: f64) -> f64 {
        match self {
            Scale::Steps(steps) => steps.position(value),
            Scale::Bits(bits) => bits.position(value),
        }
    }
}

impl PossibleValues {
    /// The values of codes, in any order; `None` where they are too many.
    pub fn of_codes(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        values.dedup_by(|next, value| next == value);
        let (first, last) = (*values.first()?, *values.last()?);
        #[expect(clippy::cast_precision_loss, reason = "compared with the most that there may be")]
        let inverse = (values.len() - 1) as f64 / (last - first);
        (values.len() <= MOST_VALUES).then(|| Self::new(values, Scale::Steps(Steps { origin: first, inverse })))
    }

    /// The finite values of an IEEE 754 format of whose significand `bits` explicit bits are kept; `None` where they are too
    /// many.
    pub fn of_kept_bits(format: FloatFormat, bits: u32) -> Option<Self> {
        if 1 + format.exponent_bits + bits > MOST_VALUES.ilog2() {
            return None;
        }
        let magnitudes = ((1_u32 << format.exponent_bits) - 1) << bits;
        // This makes the least normal number that of float64: the leading bits of the products number all magnitudes.
        let factor = 2_f64.powi(-1022 - format.least_exponent());
        let magnitude = |number: u32| f64::from_bits(u64::from(number) << (52 - bits)) / factor;
        let negative = (1..magnitudes).rev().map(|number| -magnitude(number));
        let unit = f64::from(1_u32 << bits) / 2_f64.powi(41);
        let scale = Scale::Bits(Bits { factor, unit, zero: f64::from(magnitudes - 1) });
        Some(Self::new(negative.chain((0..magnitudes).map(magnitude)).collect(), scale))
    }

    fn new(values: Vec<f64>, scale: Scale) -> Self {
        /// More than what a position lacks in precision.
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

    fn copies(&self) -> usize {
        if self.values.len() <= MOST_COPIED { COPIES } else { 1 }
    }

    /// Counters of all values, once.
    fn counters(&self) -> usize {
        2 * self.values.len()
    }

    /// Counts the pairs that are both finite.
    #[expect(clippy::cast_possible_truncation, reason = "a few times the number of values")]
    pub fn count(&self, source: &[f64], destination: &[f64], counts: &mut PairCounts) {
        let Some(least_distance) = self.least_distance else {
            return self.count_far(source, destination, counts);
        };
        let (counters, copies) = (self.counters(), self.copies());
        counts.near.resize(copies * counters + UNREAD, 0);
        let places =
            Places { scale: self.scale, last: self.values.len() as u32 - 1, least_distance, copies: copies as u32 };
        let mut found = [0; PAIRS];
        for (x, y) in source.chunks(PAIRS).zip(destination.chunks(PAIRS)) {
            if self.kernel.run((x, y, &places, &mut found)) {
                self.count_far(x, y, counts);
                continue;
            }
            for place in &found[..x.len()] {
                if let Some(count) = counts.near.get_mut(*place as usize) {
                    *count += 1;
                }
            }
        }
    }

    /// Counts pairs one by one, however far their values are apart.
    fn count_far(&self, source: &[f64], destination: &[f64], counts: &mut PairCounts) {
        counts.far.resize(self.counters() + 1, 0);
        let is_counted = |(x, y): &(&f64, &f64)| x != y && x.is_finite() && y.is_finite();
        for (x, y) in source.iter().zip(destination).filter(is_counted) {
            counts.far[self.bin(*x)] += 1;
            counts.far[self.bin(*y)] -= 1;
        }
    }

    /// Twice the number of possible values below, and one more for a value that is one.
    fn bin(&self, value: f64) -> usize {
        let number = self.values.partition_point(|own| *own < value);
        2 * number + usize::from(self.values.get(number) == Some(&value))
    }

    /// The greatest distance of the distribution functions, in values.
    pub fn distance(&self, counts: PairCounts) -> u64 {
        let (mut bins, counters) = (counts.far, self.counters());
        bins.resize(counters + 1, 0);
        for (place, count) in counts.near.iter().take(self.copies() * counters).enumerate() {
            let (number, is_above) = (place % counters / 2, place % 2);
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
    /// Adds what another thread counted.
    pub fn merge(&mut self, other: &PairCounts) {
        self.near.resize(self.near.len().max(other.near.len()), 0);
        self.near.iter_mut().zip(&other.near).for_each(|(own, count)| *own += count);
        self.far.resize(self.far.len().max(other.far.len()), 0);
        self.far.iter_mut().zip(&other.far).for_each(|(own, count)| *own += count);
    }
}

/// What counters are found by.
struct Places {
    scale: Scale,
    /// The number of the last possible value.
    last: u32,
    least_distance: f64,
    /// A power of two.
    copies: u32,
}

/// The loop that finds the counter of each pair. It tells whether another possible value may lie between those of a pair.
struct PlaceLoop;

impl BlockLoop for PlaceLoop {
    type Work<'a> = (&'a [f64], &'a [f64], &'a Places, &'a mut [u32; PAIRS]);
    type Outcome = bool;

    #[inline(always)]
    fn run<const ROUNDS: bool>((x, y, places, found): Self::Work<'_>) -> bool {
        // Each is a loop of its own: one that chose for each pair would not be vectorised.
        match places.scale {
            Scale::Steps(scale) => find(x, y, scale, places, found),
            Scale::Bits(scale) => find(x, y, scale, places, found),
        }
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the integer is in the last bits")]
fn find(x: &[f64], y: &[f64], scale: impl Number, places: &Places, found: &mut [u32; PAIRS]) -> bool {
    // A float64 so large that it has no fraction: adding it rounds to an integer, in the last bits.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    let last = f64::from(places.last);
    let counters = 2 * (places.last + 1);
    let unread = counters * places.copies;
    let (least_distance, copies) = (places.least_distance, places.copies - 1);
    let mut is_any_far = false;
    for (index, ((x, y), place)) in (0_u32..).zip(x.iter().zip(y).zip(found)) {
        let position = scale.position(*y);
        let at = if position > 0.0 { position } else { 0.0 };
        let at = (if at < last { at } else { last }) + ROUNDER;
        let is_counted = (x - x == 0.0) & (y - y == 0.0) & (x != y);
        // Beyond the ends there are no other values.
        let is_near = ((scale.position(*x) - position).abs() < least_distance)
            | ((at == ROUNDER) & (x < y))
            | ((at == last + ROUNDER) & (x > y))
            | !is_counted;
        is_any_far |= !is_near;
        let own = at.to_bits() as u32 * 2 + u32::from(x > y) + (index & copies) * counters;
        *place = if is_counted { own } else { unread + index % UNREAD as u32 };
    }
    is_any_far
}

//! Computes information in bits from counts.

use super::BitPairs;
use crate::kernel::double::approximate;

/// The bitwise real information along a dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Information {
    /// The pairs from which it was computed.
    pub pairs: u64,
    /// Information in bits, from 0 to 1, by position from the most significant on.
    pub by_position: Vec<f64>,
    /// The information that random bits seem to have in this number of pairs, in one case of a hundred. No more than
    /// this counts as none.
    pub insignificant: f64,
}

/// The quantile of the standard normal distribution at 0.995: 99 % of it are within ±this value.
const QUANTILE_99: f64 = 2.575_829_303_548_900_4;

/// The number of last positions. Their information is assumed to be only chance and rounding.
const TAIL: usize = 4;

/// A position must have more than this factor times the information of the last ones.
const BEYOND_TAIL: f64 = 1.5;

impl BitPairs {
    /// Returns the information of elements of `width` bits. It is 0 if there is no pair.
    pub fn information(&self, width: usize) -> Information {
        let count = approximate(self.pairs);
        let of = |position: usize| {
            if self.pairs == 0 {
                return 0.0;
            }
            let (first, second, both) = (self.first[position], self.second[position], self.both[position]);
            let neither = self.pairs - first - (second - both);
            let share = |count_of: u64| approximate(count_of) / count;
            let (one, other) = (share(first), share(second));
            let term = |joint: u64, of_one: f64, of_other: f64| {
                let joint = share(joint);
                if joint == 0.0 { 0.0 } else { joint * (joint / (of_one * of_other)).ln() }
            };
            let sum = term(neither, 1.0 - one, 1.0 - other)
                + term(second - both, 1.0 - one, other)
                + term(first - both, one, 1.0 - other)
                + term(both, one, other);
            (sum / std::f64::consts::LN_2).clamp(0.0, 1.0)
        };
        Information {
            pairs: self.pairs,
            by_position: (0..width.min(super::POSITIONS)).rev().map(of).collect(),
            insignificant: free_entropy(count),
        }
    }
}

/// Returns the entropy that `count` coin tosses may seem to lack. The share of heads is the end of the interval with 99
/// of 100 such series. (The binomial distribution is approximated by a normal one.)
fn free_entropy(count: f64) -> f64 {
    if count == 0.0 {
        return 1.0;
    }
    let heads = (0.5 + QUANTILE_99 / (2.0 * count.sqrt())).min(1.0);
    let entropy = |share: f64| if share > 0.0 { -share * share.log2() } else { 0.0 };
    1.0 - entropy(heads) - entropy(1.0 - heads)
}

impl Information {
    /// Returns the information that chance does not explain. A position has none if it shows no more than random bits.
    /// Nor has it any if it shows no more than 1.5 times the most of the last four.
    pub fn real(&self) -> Vec<f64> {
        let tail = self.by_position.iter().rev().take(TAIL).copied().fold(0.0, f64::max);
        let least = self.insignificant.max(tail * BEYOND_TAIL);
        self.by_position.iter().map(|found| if *found > least { *found } else { 0.0 }).collect()
    }

    /// Returns the fewest positions from the most significant on that contain more than this share of the real
    /// information. `None` if there is none.
    pub fn kept(&self, share: f64) -> Option<usize> {
        let real = self.real();
        let total: f64 = real.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let mut sum = 0.0;
        let passed = real.iter().position(|found| {
            sum += found;
            sum / total > share
        });
        // Sums of the same numbers in the same order: the last reaches the total.
        let last = || real.iter().rposition(|found| *found > 0.0).unwrap_or(0);
        Some(passed.unwrap_or_else(last) + 1)
    }
}

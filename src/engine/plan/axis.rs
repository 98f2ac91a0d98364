//! One dimension of a plan: where blocks cut it, and how many source chunks those cuts make more than one block read.

use crate::grid::{gcd, lcm};

/// A dimension of the array, cut into source chunks and into objects of the destination, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    /// Length of the array.
    pub length: u64,
    /// Elements of the first source chunk in front of it: fewer than a chunk has.
    pub skipped: u64,
    /// Length of a source chunk.
    pub source: u64,
    /// Length of what a block holds whole numbers of, or a whole number of which it takes to hold a block.
    pub unit: u64,
}

/// Lengths that are tried by trial division are no larger than this.
const MOST_TRIED: u64 = 1000;

impl Axis {
    /// Source chunks along the dimension.
    pub(super) fn chunks(self) -> u64 {
        if self.length == 0 { 0 } else { self.length.saturating_add(self.skipped).div_ceil(self.source) }
    }

    /// Source chunks that blocks of `block` elements read, summed over the blocks: each cut inside a source chunk
    /// makes one more.
    pub(super) fn reads(self, block: u64) -> u64 {
        let cuts = self.length.div_ceil(block).saturating_sub(1);
        self.chunks().saturating_add(cuts - self.aligned(block, cuts))
    }

    /// The number of those of the first `cuts` multiples of `block` that lie between two source chunks: the k of 1 to `cuts` with
    /// `k * block + skipped` a multiple of a chunk's length.
    fn aligned(self, block: u64, cuts: u64) -> u64 {
        let common = gcd(block, self.source);
        if !self.skipped.is_multiple_of(common) {
            return 0;
        }
        let period = self.source / common;
        let first = match self.skipped / common {
            0 => period,
            ahead => {
                let step = inverse(block / common % period, period);
                let first = u128::from(period - ahead) * u128::from(step) % u128::from(period);
                u64::try_from(first).unwrap_or(0)
            }
        };
        if first > cuts { 0 } else { (cuts - first) / period + 1 }
    }

    /// The numbers of units that a block may hold: those that cut fewer source chunks than others do, ascending. The last holds
    /// the whole dimension.
    pub(super) fn multiples(self) -> Vec<u64> {
        let all = self.length.div_ceil(self.unit).max(1);
        let period = lcm(self.unit, self.source).map_or(all, |period| (period / self.unit).min(all));
        let mut multiples = vec![1, all];
        let powers = |first: u64| std::iter::successors(Some(first), |power| power.checked_mul(2));
        multiples.extend(powers(1).take_while(|power| *power < all));
        multiples.extend(powers(period).take_while(|power| *power < all));
        multiples.extend(divisors(period));
        multiples.sort_unstable();
        multiples.dedup();
        multiples
    }
}

/// The inverse of `number` modulo `modulus`, which has no factor in common with it (the extended Euclidean algorithm).
fn inverse(number: u64, modulus: u64) -> u64 {
    let (mut rest, mut next) = (i128::from(modulus), i128::from(number));
    let (mut factor, mut next_factor) = (0_i128, 1_i128);
    while next != 0 {
        let quotient = rest / next;
        (rest, next) = (next, rest - quotient * next);
        (factor, next_factor) = (next_factor, factor - quotient * next_factor);
    }
    u64::try_from(factor.rem_euclid(i128::from(modulus))).unwrap_or(0)
}

/// Divisors of a number, as far as trial division up to a bound finds them.
pub(super) fn divisors(number: u64) -> Vec<u64> {
    let found = (1..=MOST_TRIED.min(number)).filter(|divisor| number.is_multiple_of(*divisor));
    let mut divisors: Vec<u64> = found.flat_map(|divisor| [divisor, number / divisor]).collect();
    divisors.sort_unstable();
    divisors.dedup();
    divisors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_those_counted_block_by_block() {
        for (length, source, unit) in
            [(12, 4, 3), (13, 5, 2), (7, 10, 3), (100, 7, 7), (1, 1, 1), (64, 16, 5), (90, 12, 9)]
        {
            for skipped in 0..source {
                let axis = Axis { length, skipped, source, unit };
                for multiple in axis.multiples() {
                    let block = multiple * unit;
                    let starts = (0..length).step_by(usize::try_from(block).unwrap());
                    let counted: u64 = starts
                        .map(|start| (start, (start + block).min(length)))
                        .map(|(start, end)| (end + skipped).div_ceil(source) - (start + skipped) / source)
                        .sum();
                    assert_eq!(axis.reads(block), counted, "{axis:?} in blocks of {block}");
                }
                assert_eq!(axis.reads(length.next_multiple_of(unit)), axis.chunks());
            }
        }
    }

    #[test]
    fn multiples_of_a_huge_axis_are_few() {
        let axis = Axis { length: u64::MAX / 2, skipped: 3, source: 1 << 40, unit: 999_983 };
        assert!(axis.multiples().len() < 1000);
    }
}

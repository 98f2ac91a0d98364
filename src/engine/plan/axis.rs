//! Dimension of a plan. It counts how many source chunks are read again because a block boundary cuts them.

use crate::grid::{gcd, lcm};

/// Dimension of the array with its source chunks and destination objects, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct Axis {
    /// Length of the array.
    pub length: u64,
    /// Number of skipped elements of the first source chunk. It is less than a chunk.
    pub skipped: u64,
    /// Length of a source chunk.
    pub source: u64,
    /// Length of an object. A block consists of whole objects, or an object of whole blocks.
    pub unit: u64,
}

/// Largest divisor that trial division tries.
const MOST_TRIED: u64 = 1000;

impl Axis {
    /// Returns the number of source chunks along the dimension.
    pub(in crate::engine) fn chunks(self) -> u64 {
        if self.length == 0 { 0 } else { self.length.saturating_add(self.skipped).div_ceil(self.source) }
    }

    /// Returns the number of source chunks that blocks of `block` elements read, summed over the blocks. Each boundary
    /// inside a source chunk adds one.
    pub(in crate::engine) fn reads(self, block: u64) -> u64 {
        let cuts = self.length.div_ceil(block).saturating_sub(1);
        self.chunks().saturating_add(cuts - self.aligned(block, cuts))
    }

    /// Returns how many of the first `cuts` multiples of `block` are also boundaries of source chunks. So it counts the
    /// k from 1 to `cuts` with `k * block + skipped` a multiple of the chunk length.
    fn aligned(self, block: u64, cuts: u64) -> u64 {
        let common = gcd(block, self.source);
        // Every multiple of `block` is a multiple of `common`, as is the chunk length.
        if !self.skipped.is_multiple_of(common) {
            return 0;
        }
        let period = self.source / common;
        let first = match self.skipped / common {
            0 => period,
            ahead => {
                // The first k solves `k * block + skipped = 0` modulo the chunk length, after a division by `common`.
                let step = inverse(block / common % period, period);
                let first = u128::from(period - ahead) * u128::from(step) % u128::from(period);
                u64::try_from(first).unwrap_or(0)
            }
        };
        if first > cuts { 0 } else { (cuts - first) / period + 1 }
    }

    /// Returns the numbers of units in a block that are worth trying, ascending. They cut fewer source chunks than
    /// others. The last one covers the whole dimension.
    pub(super) fn multiples(self) -> Vec<u64> {
        let all = self.length.div_ceil(self.unit).max(1);
        let period = lcm(self.unit, self.source).map_or(all, |period| (period / self.unit).min(all));
        let mut multiples = vec![1, all];
        let powers = |first: u64| std::iter::successors(Some(first), |power| power.checked_mul(2));
        multiples.extend(powers(1).take_while(|power| *power < all));
        // Without skipped elements, blocks of whole periods end at boundaries of source chunks.
        multiples.extend(powers(period).take_while(|power| *power < all));
        multiples.extend(divisors(period));
        multiples.sort_unstable();
        multiples.dedup();
        multiples
    }
}

/// Returns the inverse of `number` modulo `modulus` by the extended Euclidean algorithm. The two must be coprime.
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

/// Returns the divisors of a number that trial division up to a limit finds.
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

//! Plans of the work if the chunk grids of source and destination differ. They are computed from shapes and sizes only.
//!
//! The destination is cut into *blocks* that fit into memory decoded. Each is read from all overlapping source chunks,
//! and written as a whole. A block consists of whole objects of the destination. If a shard is larger than the budget,
//! a block is a part of it. It then has consecutive inner chunks in the shard's own order, as shards are written in
//! that order. All blocks of a plan have the same shape, except at the edges. So repeated reads can be counted without
//! a loop over them.

mod staged;
#[cfg(test)]
mod tests;

use super::{Groups, Transfer, cells_in_order};
use crate::array::ChunkSet;
use crate::diagnostic::quantity::bytes;
use crate::grid::{Grid, Region, gcd, lcm, volume, zip_with};
pub use staged::{MOST_AMPLIFICATION, StagedCosts, StagedPlan, StagingShape};

/// Grids of source and destination, in elements. A *subchunk* is the smallest part that can be decoded alone: an inner
/// chunk, or a chunk without shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grids {
    /// Shape of the destination array.
    pub shape: Vec<u64>,
    /// Number of source elements before it, along each dimension.
    pub skipped: Vec<u64>,
    /// Shape of a subchunk of the source.
    pub source_subchunk: Vec<u64>,
    /// Shape of a subchunk of the destination.
    pub destination_subchunk: Vec<u64>,
    /// Shape of a stored object of the destination. It consists of whole subchunks.
    pub destination_object: Vec<u64>,
    /// Order of the dimensions of the subchunks in an object, as indices of the array's dimensions.
    pub order: Vec<usize>,
}

/// Memory costs of a block, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Cost of an element in memory.
    pub element: u64,
    /// Cost of a subchunk of the destination in addition to its elements.
    pub subchunk: u64,
    /// Cost of a thread in addition to the block: a subchunk of either side in its codecs.
    pub worker: u64,
}

/// Division of the array into blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RechunkPlan {
    /// The grids.
    pub grids: Grids,
    /// The memory costs of its blocks.
    pub costs: Costs,
    /// Shape of a block in elements.
    pub block_shape: Vec<u64>,
}

/// The budget is too small for a single subchunk of either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} are needed for one chunk of either side", bytes(*.least))]
pub struct BudgetTooSmall {
    /// Smallest possible budget in bytes.
    pub least: u64,
}

impl RechunkPlan {
    /// Returns the plan with the fewest reads of source subchunks within `budget` bytes. If several have as few,
    /// returns the one with the smallest blocks.
    pub fn new(grids: Grids, costs: Costs, budget: u64) -> Result<Self, BudgetTooSmall> {
        Self::in_groups(grids, costs, budget, 1)
    }

    /// Like [`RechunkPlan::new`], with at least `least_groups` groups of objects, if there are as many objects.
    pub fn in_groups(grids: Grids, costs: Costs, budget: u64, least_groups: u64) -> Result<Self, BudgetTooSmall> {
        let least = RechunkPlan { block_shape: grids.destination_subchunk.clone(), grids, costs };
        if least.unit_bytes() > budget {
            return Err(BudgetTooSmall { least: least.unit_bytes() });
        }
        let whole = least.with_block(least.grids.destination_object.clone()).grown(budget, least_groups);
        let parts = parts(&least.grids).into_iter().map(|block| least.with_block(block));
        let plans = parts.chain([whole]).filter(|plan| plan.unit_bytes() <= budget);
        Ok(plans.min_by_key(|plan| (plan.reads(), plan.block_bytes())).unwrap_or(least))
    }

    /// Returns the plan for given blocks, such as those of an earlier plan. Returns `None` if they do not fit these
    /// grids.
    pub fn of_blocks(grids: Grids, costs: Costs, block: Vec<u64>, budget: u64) -> Option<Result<Self, BudgetTooSmall>> {
        let objects = &grids.destination_object;
        let holds_objects = |(block, object): (&u64, &u64)| *block > 0 && block.is_multiple_of(*object);
        let is_whole = block.len() == objects.len() && block.iter().zip(objects).all(holds_objects);
        if !is_whole && !parts(&grids).contains(&block) {
            return None;
        }
        let plan = RechunkPlan { grids, costs, block_shape: block };
        let least = plan.unit_bytes();
        Some(if least > budget { Err(BudgetTooSmall { least }) } else { Ok(plan) })
    }

    /// Returns the size of a block's decoded subchunks in bytes.
    pub fn block_bytes(&self) -> u64 {
        let Grids { shape, destination_subchunk: subchunk, .. } = &self.grids;
        let whole = zip_with(shape, subchunk, |length, subchunk| {
            length.max(1).checked_next_multiple_of(subchunk).unwrap_or(u64::MAX)
        });
        let extents = zip_with(&self.block_shape, &whole, u64::min);
        let subchunks = volume(&zip_with(&extents, subchunk, |extent, subchunk| extent / subchunk));
        let elements = volume(&extents).saturating_mul(self.costs.element);
        elements.saturating_add(subchunks.saturating_mul(self.costs.subchunk))
    }

    /// Returns the memory of a block and one thread in bytes.
    pub fn unit_bytes(&self) -> u64 {
        self.block_bytes().saturating_add(self.costs.worker)
    }

    /// Returns the number of reads of source subchunks if all exist. Each counts once per block that it overlaps.
    pub fn reads(&self) -> u128 {
        self.product(Axis::reads)
    }

    /// Returns the number of source subchunks.
    pub fn source_subchunks(&self) -> u128 {
        self.product(|axis, _| axis.chunks())
    }

    /// Returns the mean number of reads of a source subchunk. It is 1 if each is read once.
    pub fn read_amplification(&self) -> f64 {
        let subchunks = self.source_subchunks();
        // Twelve digits are exact, whatever the counts.
        if subchunks == 0 { 1.0 } else { approximate(self.reads()) / approximate(subchunks) }
    }

    /// Returns the groups of destination objects that are written together. Each has whole objects, of one block or of
    /// several consecutive ones. So no two groups write to the same object.
    pub fn groups(&self) -> Groups {
        let Grids { shape, destination_object: object, .. } = &self.grids;
        let per_group = zip_with(&self.group_shape(), object, |group, object| group / object);
        Groups::of_shape(Grid::regular(shape, object), per_group)
    }

    /// Returns the number of groups.
    pub fn num_groups(&self) -> u64 {
        volume(&zip_with(&self.grids.shape, &self.group_shape(), u64::div_ceil))
    }

    /// Returns the groups that a transfer must write. With `objects`, only groups that contain some of them.
    pub fn groups_among(&self, transfer: &Transfer, objects: Option<&ChunkSet>) -> ChunkSet {
        let groups = objects.map(|objects| self.groups().of(objects));
        transfer.overlapped_among(&Grid::regular(&self.grids.shape, &self.group_shape()), groups.as_ref())
    }

    /// Returns the shape of a group in elements.
    pub fn group_shape(&self) -> Vec<u64> {
        zip_with(&self.block_shape, &self.grids.destination_object, u64::max)
    }

    /// Returns the blocks of a group, in the order of their subchunks in an object.
    pub fn blocks(&self, group: u64) -> Vec<Region> {
        let group = self.groups().region(group).common(&Region::whole(&self.grids.shape));
        let blocks = Region::whole(&zip_with(&group.shape, &self.block_shape, u64::div_ceil));
        cells_in_order(blocks, self.grids.order.clone())
            .map(|position| Region::chunk(&position, &self.block_shape).moved_by(&group.start).common(&group))
            .collect()
    }

    fn product(&self, count: impl Fn(Axis, u64) -> u64) -> u128 {
        let counts = self.axes().zip(&self.block_shape).map(|(axis, block)| u128::from(count(axis, *block)));
        counts.fold(1, u128::saturating_mul)
    }

    fn axes(&self) -> impl Iterator<Item = Axis> {
        let Grids { shape, skipped, source_subchunk, destination_object, .. } = &self.grids;
        let pairs = shape.iter().zip(skipped).zip(source_subchunk).zip(destination_object);
        pairs.map(|(((&length, skipped), &source), &unit)| {
            let skipped = skipped % source.max(1);
            Axis { length, skipped, source, unit }
        })
    }

    fn with_block(&self, block_shape: Vec<u64>) -> RechunkPlan {
        RechunkPlan { grids: self.grids.clone(), costs: self.costs, block_shape }
    }

    /// Enlarges blocks of whole objects step by step. Each step enlarges the dimension that saves the most reads for
    /// its memory.
    fn grown(mut self, budget: u64, least_groups: u64) -> RechunkPlan {
        let axes: Vec<(Axis, Vec<u64>)> = self.axes().map(|axis| (axis, axis.multiples())).collect();
        loop {
            let mut best: Option<(f64, RechunkPlan)> = None;
            for (dimension, (axis, multiples)) in axes.iter().enumerate() {
                let (own, reads) = (self.block_shape[dimension], axis.reads(self.block_shape[dimension]));
                let blocks = multiples.iter().filter_map(|multiple| multiple.checked_mul(axis.unit));
                for block in blocks.filter(|block| *block > own && axis.reads(*block) < reads) {
                    let mut larger = self.clone();
                    larger.block_shape[dimension] = block;
                    if larger.unit_bytes() > budget || larger.num_groups() < least_groups {
                        continue;
                    }
                    let ratio = |a: u64, b: u64| approximate(a.into()) / approximate(b.into());
                    // Logarithms, because reads and memory are products over the dimensions.
                    let saved = ratio(reads, axis.reads(block)).ln();
                    let cost = ratio(larger.block_bytes(), self.block_bytes()).ln();
                    let gain = saved / cost.max(f64::MIN_POSITIVE);
                    if best.as_ref().is_none_or(|(most, _)| gain > *most) {
                        best = Some((gain, larger));
                    }
                }
            }
            let Some((_, larger)) = best else { return self };
            self = larger;
        }
    }
}

/// Returns the blocks that are parts of an object. They have one subchunk along the slowest dimensions, and the whole
/// object along the fastest ones. Along one dimension between, they have a divisor of the object's subchunks.
fn parts(grids: &Grids) -> Vec<Vec<u64>> {
    let Grids { destination_subchunk, destination_object, order, .. } = grids;
    let mut parts = Vec::new();
    let mut block = destination_subchunk.clone();
    for &dimension in order.iter().rev() {
        let (subchunk, object) = (destination_subchunk[dimension], destination_object[dimension]);
        for subchunks in divisors(object / subchunk) {
            block[dimension] = subchunks * subchunk;
            parts.push(block.clone());
        }
    }
    parts
}

#[expect(clippy::cast_precision_loss, reason = "for ratios that are shown or compared, where 53 bits are enough")]
fn approximate(count: u128) -> f64 {
    count as f64
}

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
mod axis_tests {
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

//! How an array is cut into work where the chunk grids of both sides differ. Pure: shapes and sizes in, a plan out.
//!
//! The destination is cut into *blocks* that are held in memory decoded; each is read from all source chunks that
//! overlap it and written whole. A block holds whole objects of the destination; where a shard is larger than the
//! budget, a block is a part of one: inner chunks that follow each other in the shard's own order, so that shards are
//! written from their first inner chunk to their last. All blocks of a plan have the same shape (but at the edges),
//! so that what is read more than once can be counted without walking them.

mod axis;
mod staged;
#[cfg(test)]
mod tests;

use super::Groups;
use crate::diagnostic::quantity::bytes;
use crate::grid::{Grid, Region, volume, zip_with};
use axis::{Axis, divisors};

pub use staged::{MOST_AMPLIFICATION, StagedCosts, StagedPlan, StagingShape};

/// Both grids of an array, in elements. A *subchunk* is what is decoded alone: an inner chunk, or a chunk without shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grids {
    /// The shape of the array that is written.
    pub shape: Vec<u64>,
    /// Elements of the source in front of it, along each dimension.
    pub skipped: Vec<u64>,
    /// The shape of a subchunk of the source.
    pub source_subchunk: Vec<u64>,
    /// The shape of a subchunk of the destination.
    pub destination_subchunk: Vec<u64>,
    /// The shape of a stored object of the destination: a whole number of subchunks.
    pub destination_object: Vec<u64>,
    /// The array's dimension at each dimension of the order in which subchunks lie in an object.
    pub order: Vec<usize>,
}

/// The costs of a block, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// An element as it is held.
    pub element: u64,
    /// A subchunk of the destination beside its elements.
    pub subchunk: u64,
    /// Bytes that a thread needs beside the block: a subchunk of either side on its way through the codecs.
    pub worker: u64,
}

/// The cut of the array into blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RechunkPlan {
    /// The grids that are cut.
    pub grids: Grids,
    costs: Costs,
    /// Elements of a block along each dimension.
    pub block_shape: Vec<u64>,
}

/// The budget does not hold a single subchunk of either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} are needed for one chunk of either side", bytes(*.least))]
pub struct BudgetTooSmall {
    /// The least budget that would do, in bytes.
    pub least: u64,
}

impl RechunkPlan {
    /// The plan that reads the fewest source subchunks within `budget` bytes; of those, the one with the smallest blocks.
    pub fn new(grids: Grids, costs: Costs, budget: u64) -> Result<Self, BudgetTooSmall> {
        Self::in_groups(grids, costs, budget, 1)
    }

    /// The same of so many groups of objects at least, where there are as many objects.
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

    /// The plan of blocks that are given: those of a plan that was made before. `None` where they are no blocks of these
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

    /// Bytes of a block: its subchunks, decoded.
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

    /// Bytes that a block and one thread need.
    pub fn unit_bytes(&self) -> u64 {
        self.block_bytes().saturating_add(self.costs.worker)
    }

    /// Bytes that each further thread needs at the same block.
    pub fn worker_bytes(&self) -> u64 {
        self.costs.worker
    }

    /// Source subchunks that are read, each as often as blocks overlap it, if all are there.
    pub fn reads(&self) -> u128 {
        self.product(Axis::reads)
    }

    /// Source subchunks of the grid.
    pub fn source_subchunks(&self) -> u128 {
        self.product(|axis, _| axis.chunks())
    }

    /// Source subchunks read by source subchunks of the grid; 1 where each is read once.
    pub fn read_amplification(&self) -> f64 {
        let subchunks = self.source_subchunks();
        // Twelve digits are exact, whatever the counts.
        if subchunks == 0 { 1.0 } else { approximate(self.reads()) / approximate(subchunks) }
    }

    /// The objects of the destination in groups that are written together: whole ones, of one block or of several that
    /// follow each other. No two groups write to the same object.
    pub fn groups(&self) -> Groups {
        let Grids { shape, destination_object: object, .. } = &self.grids;
        let per_group = zip_with(&self.group_shape(), object, |group, object| group / object);
        Groups::of_shape(Grid::regular(shape, object), per_group)
    }

    /// The number of groups.
    pub fn num_groups(&self) -> u64 {
        volume(&zip_with(&self.grids.shape, &self.group_shape(), u64::div_ceil))
    }

    /// Elements of a group along each dimension.
    pub fn group_shape(&self) -> Vec<u64> {
        zip_with(&self.block_shape, &self.grids.destination_object, u64::max)
    }

    /// The blocks of a group, in the order in which their subchunks lie in an object.
    pub fn blocks(&self, group: u64) -> Vec<Region> {
        let (order, whole) = (&self.grids.order, Region::whole(&self.grids.shape));
        let group = self.groups().region(group).common(&whole);
        let blocks = zip_with(&group.shape, &self.block_shape, u64::div_ceil);
        let in_order: Vec<u64> = order.iter().map(|dimension| blocks[*dimension]).collect();
        let block = |place: Vec<u64>| {
            let mut position = vec![0; order.len()];
            place.iter().zip(order).for_each(|(index, dimension)| position[*dimension] = *index);
            Region::chunk(&position, &self.block_shape).moved_by(&group.start).common(&group)
        };
        Region::whole(&in_order).cells().map(block).collect()
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

    /// Grows blocks of whole objects, each time along the dimension where the bytes that it costs save most reads.
    fn grown(self, budget: u64, least_groups: u64) -> RechunkPlan {
        let mut plan = self;
        let axes: Vec<(Axis, Vec<u64>)> = plan.axes().map(|axis| (axis, axis.multiples())).collect();
        loop {
            let mut best: Option<(f64, RechunkPlan)> = None;
            for (dimension, (axis, multiples)) in axes.iter().enumerate() {
                let (own, reads) = (plan.block_shape[dimension], axis.reads(plan.block_shape[dimension]));
                let blocks = multiples.iter().filter_map(|multiple| multiple.checked_mul(axis.unit));
                for block in blocks.filter(|block| *block > own && axis.reads(*block) < reads) {
                    let mut larger = plan.clone();
                    larger.block_shape[dimension] = block;
                    if larger.unit_bytes() > budget || larger.num_groups() < least_groups {
                        continue;
                    }
                    let ratio = |a: u64, b: u64| approximate(a.into()) / approximate(b.into());
                    let saved = ratio(reads, axis.reads(block)).ln();
                    let cost = ratio(larger.block_bytes(), plan.block_bytes()).ln();
                    let gain = saved / cost.max(f64::MIN_POSITIVE);
                    if best.as_ref().is_none_or(|(most, _)| gain > *most) {
                        best = Some((gain, larger));
                    }
                }
            }
            let Some((_, larger)) = best else { return plan };
            plan = larger;
        }
    }
}

/// Blocks that are parts of an object: one subchunk along the dimensions that vary slowest, a divisor of the object's along
/// one, all of the object's along those that vary fastest.
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

#[expect(clippy::cast_precision_loss, reason = "for ratios that are shown or compared, where 53 bits do")]
fn approximate(count: u128) -> f64 {
    count as f64
}

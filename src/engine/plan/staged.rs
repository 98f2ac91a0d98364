//! Plans of two passes through intermediate data, if one pass would read the source too often. An example is a transposing
//! rechunk. The first pass writes blocks of source subchunks as shards of intermediate subchunks. The second pass reads
//! these in blocks of the destination. An intermediate subchunk is the common part of a block of each pass, so that neither
//! reads it twice. For `(1, Y, X)` to `(T, 1, 1)` with memory for `n` elements it has `n / (Y * X)` by `n / T` elements.

use serde::{Deserialize, Serialize};

use super::{BudgetTooSmall, Costs, Grids, RechunkPlan, approximate, parts};
use crate::grid::{gcd, volume, zip_with};

/// Grid of the intermediate data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagingShape {
    /// Shape of a subchunk in elements.
    pub subchunk: Vec<u64>,
    /// Shape of a shard in elements. It consists of whole subchunks.
    pub shard: Vec<u64>,
}

/// Memory costs of the blocks of both passes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StagedCosts {
    /// Cost of an element in memory and in the intermediate data.
    pub element: u64,
    /// Cost of a subchunk of a block in addition to its elements.
    pub subchunk: u64,
    /// Cost of a thread in each pass, without what depends on the intermediate grid.
    pub workers: [u64; 2],
    /// Number of intermediate subchunks that it keeps in each pass in addition to the block.
    pub subchunks: [u64; 2],
    /// Cost of each subchunk of a shard for a thread in the first pass.
    pub entry: u64,
}

/// Plan of both passes.
#[derive(Debug, Clone)]
pub struct StagedPlan {
    /// Grid of the intermediate data.
    pub shape: StagingShape,
    /// First pass: from the source to the intermediate data.
    pub first: RechunkPlan,
    /// Second pass: from the intermediate data to the destination.
    pub second: RechunkPlan,
}

/// Cost of one read or write of a subchunk, expressed in bytes.
const SUBCHUNK_OVERHEAD: u64 = 16 << 10;

/// Amplification limit. A plan that reads no more than this many times its input is preferred.
pub const MOST_AMPLIFICATION: f64 = 2.0;

/// Most subchunks of a shard. It keeps the index small compared with them.
const MOST_SUBCHUNKS_OF_A_SHARD: u64 = 1 << 16;

impl StagedPlan {
    /// Returns the plan that moves the fewest bytes within `budget`, and rereads little. Returns `None` if two passes
    /// need more memory.
    pub fn new(grids: &Grids, costs: StagedCosts, budget: u64) -> Option<Self> {
        let shapes = shapes(grids, costs, budget).into_iter();
        let plans = shapes.filter_map(|shape| StagedPlan::of_shape(grids, costs, shape, budget).ok());
        // A source that is read only once is preferred. Few large reads of intermediate data are worth some unneeded
        // bytes, but not many.
        let rank = |plan: &StagedPlan| {
            let is_read_again = plan.first.reads() > plan.first.source_subchunks();
            (is_read_again, plan.read_amplification() > MOST_AMPLIFICATION, plan.cost())
        };
        // Costs are floats, which have no total order. Among equal plans the first one is taken, so the result is
        // fixed.
        plans.map(|plan| (rank(&plan), plan)).reduce(|a, b| if b.0 < a.0 { b } else { a }).map(|(_, plan)| plan)
    }

    /// Returns the plan for a given intermediate grid. A resumed run uses that of the earlier run, perhaps with another
    /// budget.
    pub fn of_shape(grids: &Grids, costs: StagedCosts, shape: StagingShape, most: u64) -> Result<Self, BudgetTooSmall> {
        let subchunk_bytes = volume(&shape.subchunk).saturating_mul(costs.element);
        let entries = num_subchunks(&shape).saturating_mul(costs.entry);
        let StagedCosts { element, subchunk, workers, subchunks, .. } = costs;
        let worker = |pass: usize| workers[pass].saturating_add(subchunks[pass].saturating_mul(subchunk_bytes));
        let first = Costs { element, subchunk, worker: worker(0).saturating_add(entries) };
        let (destination_subchunk, destination_object) = (shape.subchunk.clone(), shape.shard.clone());
        let order = (0..grids.shape.len()).collect();
        let into = Grids { destination_subchunk, destination_object, order, ..grids.clone() };
        let first = RechunkPlan::new(into, first, most)?;
        let second = Costs { element, subchunk, worker: worker(1) };
        // The first pass does not write skipped elements, so the intermediate data begin with the destination.
        let skipped = vec![0; grids.shape.len()];
        let out = Grids { source_subchunk: shape.subchunk.clone(), skipped, ..grids.clone() };
        let second = RechunkPlan::new(out, second, most)?;
        Ok(StagedPlan { shape, first, second })
    }

    /// Returns the read amplification of the pass with more of it.
    pub fn read_amplification(&self) -> f64 {
        self.first.read_amplification().max(self.second.read_amplification())
    }

    /// Returns the bytes that are read and written, including the overhead of subchunks.
    fn cost(&self) -> f64 {
        let (first, second) = (&self.first, &self.second);
        let subchunk = |plan: &RechunkPlan| {
            let bytes = volume(&plan.grids.source_subchunk).saturating_mul(plan.costs.element);
            approximate(bytes.saturating_add(SUBCHUNK_OVERHEAD).into())
        };
        approximate(first.reads()) * subchunk(first)
            + approximate(second.source_subchunks() + second.reads()) * subchunk(second)
    }
}

impl StagingShape {
    /// Returns true if this grid is valid for the intermediate data of an array of `shape`.
    pub fn fits(&self, shape: &[u64]) -> bool {
        let StagingShape { subchunk, shard } = self;
        let is_whole = |(shard, subchunk): (&u64, &u64)| *shard > 0 && *subchunk > 0 && shard.is_multiple_of(*subchunk);
        [subchunk.len(), shard.len()] == [shape.len(); 2]
            && shard.iter().zip(subchunk).all(is_whole)
            && num_subchunks(self) <= MOST_SUBCHUNKS_OF_A_SHARD
    }
}

fn num_subchunks(shape: &StagingShape) -> u64 {
    volume(&zip_with(&shape.shard, &shape.subchunk, |shard, subchunk| shard / subchunk))
}

/// Returns intermediate grids worth trying. They are the common parts of blocks of both passes. Blocks grow along the
/// dimensions in several orders, and leave more or less of the budget to threads.
fn shapes(grids: &Grids, costs: StagedCosts, budget: u64) -> Vec<StagingShape> {
    const SHARES: [u64; 4] = [12, 8, 4, 2]; // In sixteenths.
    let available = costs.workers.map(|worker| budget.saturating_sub(worker) / costs.element.max(1));
    let orders = orders(grids);
    let mut shapes = Vec::new();
    for share in SHARES {
        let [first_most, second_most] = available.map(|bytes| (bytes / 16).saturating_mul(share).max(1));
        for (first_order, second_order) in orders.iter().flat_map(|a| orders.iter().map(move |b| (a, b))) {
            let least = least_written(grids, second_most);
            let first = shrunk(&grids.source_subchunk, &grids.shape, first_most, first_order);
            let first = grown(&first, &least, &grids.shape, first_most, first_order);
            let second = grown(&least, &first, &grids.shape, second_most, second_order);
            // With the divisor neither pass cuts a subchunk. With the shorter length it may, but there are fewer
            // subchunks.
            for common in [gcd, u64::min] {
                let shape = common_shape(&first, &second, &grids.shape, common);
                if num_subchunks(&shape) <= MOST_SUBCHUNKS_OF_A_SHARD && !shapes.contains(&shape) {
                    shapes.push(shape);
                }
            }
        }
    }
    shapes
}

/// Returns orders of dimensions to try: forwards, backwards, and by the ratio of the destination object to the source
/// subchunk. The largest ratio is first.
fn orders(grids: &Grids) -> Vec<Vec<usize>> {
    let forth: Vec<usize> = (0..grids.shape.len()).collect();
    let back = forth.iter().rev().copied().collect();
    let mut by_ratio = forth.clone();
    by_ratio.sort_by_key(|&dimension| {
        let (object, subchunk) = (grids.destination_object[dimension], grids.source_subchunk[dimension]);
        // A ratio in fixed point, as a float is no sort key.
        std::cmp::Reverse(u128::from(object) * (1 << 32) / u128::from(subchunk.max(1)))
    });
    vec![forth, back, by_ratio]
}

/// Returns the smallest efficient write of the second pass: an object, or its largest part of at most `most` elements.
fn least_written(grids: &Grids, most: u64) -> Vec<u64> {
    let held = |block: &Vec<u64>| clipped_volume(block, &grids.shape);
    if held(&grids.destination_object) <= most {
        return grids.destination_object.clone();
    }
    let parts = parts(grids).into_iter().filter(|part| held(part) <= most);
    parts.max_by_key(held).unwrap_or_else(|| grids.destination_subchunk.clone())
}

/// Returns the number of elements of a block inside the array.
fn clipped_volume(block: &[u64], shape: &[u64]) -> u64 {
    volume(&zip_with(block, shape, |length, axis| length.min(axis.max(1))))
}

/// Halves a block until it has at most `most` elements.
fn shrunk(block: &[u64], shape: &[u64], most: u64, order: &[usize]) -> Vec<u64> {
    let mut block = block.to_vec();
    for &dimension in order {
        while clipped_volume(&block, shape) > most && block[dimension] > 1 {
            block[dimension] = block[dimension].div_ceil(2);
        }
    }
    block
}

/// Returns multiples of a block towards `other`, one dimension after the other, of at most `most` elements. Divisors of
/// `other` are preferred.
fn grown(block: &[u64], other: &[u64], shape: &[u64], most: u64, order: &[usize]) -> Vec<u64> {
    const TRIED: u64 = 1000;
    let mut block = block.to_vec();
    for &dimension in order {
        let unit = block[dimension];
        let wanted = other[dimension].min(shape[dimension]).div_ceil(unit);
        let fits = most / clipped_volume(&block, shape).max(1);
        let multiple = wanted.min(fits).max(1);
        let lowest = multiple.div_ceil(2).max(multiple.saturating_sub(TRIED));
        let divides = |multiple: &u64| other[dimension].is_multiple_of(multiple * unit);
        block[dimension] = unit * (lowest..=multiple).rev().find(divides).unwrap_or(multiple);
    }
    block
}

/// Returns the subchunks that make up blocks of both passes, and the blocks of the first pass as shards.
fn common_shape(first: &[u64], second: &[u64], shape: &[u64], common: fn(u64, u64) -> u64) -> StagingShape {
    let axes = first.iter().zip(second).zip(shape);
    let (subchunk, shard) = axes
        .map(|((&first, &second), &length)| {
            let length = length.max(1);
            // A block that covers the whole axis has no boundary inside the array.
            let subchunk = match (first >= length, second >= length) {
                (true, true) => length,
                (true, false) => second,
                (false, true) => first,
                (false, false) => common(first, second),
            };
            let shard = if first >= length { length.next_multiple_of(subchunk) } else { first / subchunk * subchunk };
            (subchunk, shard)
        })
        .unzip();
    StagingShape { subchunk, shard }
}

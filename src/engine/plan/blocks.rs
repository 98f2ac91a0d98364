//! The blocks of a plan, one after the other.

use super::RechunkPlan;
use std::ops::Range;

use crate::array::chunk_set::{ChunkSet, ChunkSetBuilder};
use crate::codec::region::{ravel, unravel};
use crate::grid::cells;

/// A box of subchunks of the destination, cut at the edge of the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its first element.
    pub start: Vec<u64>,
    /// After its last element, inside the array.
    pub end: Vec<u64>,
}

impl Block {
    /// The same box of an array in front of which so many more elements lie.
    #[must_use]
    pub fn moved_by(&self, skipped: &[u64]) -> Block {
        let [start, end] = [&self.start, &self.end]
            .map(|bounds| bounds.iter().zip(skipped).map(|(bound, skipped)| bound + skipped).collect());
        Block { start, end }
    }

    /// Which part of a box of `shape` elements at `start` the block needs: its first element and its end in the box.
    pub fn inside(&self, start: &[u64], shape: &[u64]) -> [Vec<u64>; 2] {
        [&self.start, &self.end].map(|bounds| {
            let bounds = bounds.iter().zip(start).zip(shape);
            bounds.map(|((bound, start), length)| bound.saturating_sub(*start).min(*length)).collect()
        })
    }

    /// The array's indices of an element of it, by its place in C order.
    pub fn position(&self, place: u64) -> Vec<u64> {
        let shape: Vec<u64> = self.start.iter().zip(&self.end).map(|(start, end)| end - start).collect();
        unravel(place, &shape).iter().zip(&self.start).map(|(index, start)| index + start).collect()
    }
}

impl RechunkPlan {
    /// How many groups there are; no two write to the same object.
    pub fn num_groups(&self) -> u64 {
        self.group_grid_shape().iter().fold(1_u64, |product, length| product.saturating_mul(*length))
    }

    /// Elements of a group along each dimension.
    pub fn group_shape(&self) -> Vec<u64> {
        let objects = &self.grids.destination_object;
        self.block_shape.iter().zip(objects).map(|(block, object)| *block.max(object)).collect()
    }

    fn group_grid_shape(&self) -> Vec<u64> {
        self.grids
            .shape
            .iter()
            .zip(self.group_shape())
            .map(|(length, group)| length.div_ceil(group))
            .collect()
    }

    /// A group by its number: objects of the destination that are written together, whole ones, of one block or of several that
    /// follow each other.
    fn group(&self, number: u64) -> Block {
        let shape = self.group_shape();
        let position = unravel(number, &self.group_grid_shape());
        let start: Vec<u64> = position.iter().zip(&shape).map(|(index, length)| index * length).collect();
        let end = self.ends(&start, &shape);
        Block { start, end }
    }

    /// The first object of a group, by its linear index in a grid of this shape.
    pub fn first_object(&self, group: u64, grid: &[u64]) -> u64 {
        ravel(&self.group(group).subchunks(&self.grids.destination_object).0, grid)
    }

    /// The groups of some objects, which are given by their linear indices in a grid of this shape.
    pub fn groups_of(&self, objects: &ChunkSet, grid: &[u64]) -> ChunkSet {
        let (shape, groups) = (self.group_shape(), self.group_grid_shape());
        let mut found = ChunkSetBuilder::default();
        let mut last = None;
        for object in objects.iter() {
            let lengths = self.grids.destination_object.iter().zip(&shape);
            let position: Vec<u64> = unravel(object, grid)
                .iter()
                .zip(lengths)
                .map(|(index, (of, group))| index * of / group)
                .collect();
            let group = ravel(&position, &groups);
            if last.replace(group) != Some(group) {
                found.insert(group);
            }
        }
        found.finish()
    }

    /// The objects of a group by their linear indices in a grid of this shape.
    pub fn objects(&self, group: u64, grid: &[u64]) -> Vec<Range<u64>> {
        let (first, mut counts) = self.group(group).subchunks(&self.grids.destination_object);
        // Along the last dimension they follow each other.
        let run = counts.last_mut().map_or(1, |last| std::mem::replace(last, 1));
        let starts = cells(&first, &counts).map(|position| ravel(&position, grid));
        starts.map(|start| start..start + run).filter(|range| !range.is_empty()).collect()
    }

    /// The end of a box inside the array.
    fn ends(&self, start: &[u64], shape: &[u64]) -> Vec<u64> {
        let ends = start.iter().zip(shape).zip(&self.grids.shape);
        ends.map(|((start, length), array)| start.saturating_add(*length).min(*array)).collect()
    }

    /// The blocks of a group, in the order in which their subchunks lie in an object.
    pub fn blocks(&self, group: u64) -> Vec<Block> {
        let (group, order) = (self.group(group), &self.grids.order);
        let counts: Vec<u64> = order
            .iter()
            .map(|&dimension| {
                (group.end[dimension] - group.start[dimension]).div_ceil(self.block_shape[dimension])
            })
            .collect();
        let block = |position: Vec<u64>| {
            let mut start = group.start.clone();
            for (index, &dimension) in position.iter().zip(order) {
                start[dimension] += index * self.block_shape[dimension];
            }
            let end = self.ends(&start, &self.block_shape);
            Block { start, end }
        };
        cells(&vec![0; counts.len()], &counts).map(block).collect()
    }
}

impl Block {
    /// The subchunks of a grid that overlap the block: the first position, and how many along each dimension.
    pub fn subchunks(&self, subchunk: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let first: Vec<u64> =
            self.start.iter().zip(subchunk).map(|(start, subchunk)| start / subchunk).collect();
        let counts = self.end.iter().zip(subchunk).zip(&first);
        let counts = counts.map(|((end, subchunk), first)| end.div_ceil(*subchunk) - first).collect();
        (first, counts)
    }
}

//! The blocks of a plan, one after the other.

use std::ops::Range;

use super::RechunkPlan;
use crate::array::chunk_set::{ChunkSet, ChunkSetBuilder};
use crate::grid::{Region, ravel, unravel};

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
    fn group(&self, number: u64) -> Region {
        let group = Region::chunk(&unravel(number, &self.group_grid_shape()), &self.group_shape());
        group.common(&Region::whole(&self.grids.shape))
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
        let mut objects = self.group(group).chunks(&self.grids.destination_object);
        // Along the last dimension they follow each other.
        let run = objects.shape.last_mut().map_or(1, |last| std::mem::replace(last, 1));
        let starts = objects.cells().map(|position| ravel(&position, grid));
        starts.map(|start| start..start + run).filter(|range| !range.is_empty()).collect()
    }

    /// The blocks of a group, in the order in which their subchunks lie in an object.
    pub fn blocks(&self, group: u64) -> Vec<Region> {
        let (group, order) = (self.group(group), &self.grids.order);
        let blocks: Vec<u64> =
            group.shape.iter().zip(&self.block_shape).map(|(group, block)| group.div_ceil(*block)).collect();
        let in_order: Vec<u64> = order.iter().map(|dimension| blocks[*dimension]).collect();
        let block = |place: Vec<u64>| {
            let mut position = vec![0; order.len()];
            place.iter().zip(order).for_each(|(index, dimension)| position[*dimension] = *index);
            Region::chunk(&position, &self.block_shape).moved_by(&group.start).common(&group)
        };
        Region::whole(&in_order).cells().map(block).collect()
    }
}

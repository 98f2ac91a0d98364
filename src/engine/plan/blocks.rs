//! The blocks of a plan, one after the other.

use super::{Grids, RechunkPlan};
use crate::engine::groups::Groups;
use crate::grid::{Grid, Region, volume, zip_with};

impl RechunkPlan {
    /// The objects of the destination in groups that are written together: whole ones, of one block or of several that
    /// follow each other. No two groups write to the same object.
    pub fn groups(&self) -> Groups {
        let Grids { shape, destination_object: object, .. } = &self.grids;
        let per_group = zip_with(&self.group_shape(), object, |group, object| group / object);
        Groups::of_shape(Grid::regular(shape, object), per_group)
    }

    /// How many groups there are.
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
}

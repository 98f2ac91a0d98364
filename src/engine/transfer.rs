//! Transfer from one stored array to another, by any route. Also groups of objects of an array. Each is a box of
//! objects that are done together.

use std::borrow::Cow;
use std::ops::Range;

use crate::array::{ChunkSet, ChunkSetBuilder, StoredArray};
use crate::codec::contiguous_runs;
use crate::grid::{Grid, Region, ravel, unravel, volume, zip_with};

/// Transfer from one stored array to another.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// The array that is read.
    pub source: StoredArray,
    /// The array that is written.
    pub destination: StoredArray,
    /// Element of the destination's type that replaces absent ones, if they must not stay absent.
    pub absent_element: Option<Vec<u8>>,
    /// Original array, if the source is intermediate data.
    pub origin: Option<StoredArray>,
}

impl Transfer {
    /// Returns the size of the source elements of a destination object in bytes. Both sides must have the same
    /// subchunks.
    pub fn object_bytes(&self) -> u64 {
        let subchunks = self.destination.layout.as_ref().map_or(1, |layout| layout.sharding.num_inner_chunks());
        subchunks.saturating_mul(self.source.subchunk_chain().decoded_bytes())
    }

    /// Returns true if both sides have the same boxes as subchunks.
    pub fn has_same_subchunks(&self) -> bool {
        self.source.skips_whole_subchunks() && self.source.has_subchunks_of(&self.destination)
    }

    /// Returns the chunks of a grid that overlap a present object, or all chunks if none may stay absent.
    ///
    /// A grid can be far larger than the stored data, so it is not walked as a whole. If `among` has fewer chunks than
    /// are present, only these are checked.
    pub fn overlapped_among(&self, grid: &Grid, among: Option<&ChunkSet>) -> ChunkSet {
        let (metadata, present) = (&self.source.metadata, self.source.objects());
        let is_same = !metadata.skips() && grid.has_chunks_of(&metadata.grid);
        let full = || ChunkSet::full(volume(&grid.counts()));
        let all = match among {
            _ if self.absent_element.is_some() => full(),
            _ if is_same => present,
            _ if present.len() == metadata.num_chunks() => full(),
            Some(some) if some.len() < present.len() => {
                let region = |index| self.in_source(&grid.region_of(&unravel(index, &grid.counts())));
                let is_present = |index| self.source.objects_in(&region(index)).any(|object| present.contains(object));
                return some.iter().filter(|index| is_present(*index)).collect();
            }
            _ => self.under(grid, &present),
        };
        if let Some(some) = among { all.common(some) } else { all }
    }

    /// Returns the grid of boxes of `shape` elements.
    pub fn grid_of(&self, shape: &[u64]) -> Grid {
        Grid::regular(&self.destination.metadata.shape, shape)
    }

    /// Converts a box of the destination to the source, and crops it to the array.
    pub fn in_source(&self, region: &Region) -> Region {
        self.source.inside(&region.moved_by(&self.source.metadata.skipped))
    }

    /// Returns the chunks of a grid that overlap some objects of the source.
    fn under(&self, grid: &Grid, present: &ChunkSet) -> ChunkSet {
        let (metadata, counts) = (&self.source.metadata, grid.counts());
        let mut overlapped = ChunkSetBuilder::default();
        for object in present.iter() {
            let region = self.source.inside(&self.source.region_of(object)).relative_to(&metadata.skipped);
            // An object may claim more elements than a loop can count.
            index_runs(grid.chunks_in(&region), &counts).for_each(|run| overlapped.insert_run(run));
        }
        overlapped.finish()
    }

    /// Returns the source subchunk of a destination subchunk. Both sides must have the same boxes.
    pub fn source_subchunk<'a>(&self, subchunk: &'a [u64]) -> Cow<'a, [u64]> {
        if !self.source.metadata.skips() {
            return Cow::Borrowed(subchunk);
        }
        let skipped = self.source.metadata.skipped.iter().zip(self.source.subchunk_shape());
        subchunk.iter().zip(skipped).map(|(index, (skipped, length))| index + skipped / length).collect()
    }
}

/// Most objects in a group, so that no thread spends too long on one.
const MOST_OBJECTS: u64 = 1 << 16;

/// Smallest number of groups, if there are as many objects. Threads share them.
const LEAST_GROUPS: u64 = 16;

/// Returns the linear indices of a box of chunks in a grid of `counts` chunks, as few runs in C order.
pub(super) fn index_runs(chunks: Region, counts: &[u64]) -> impl Iterator<Item = Range<u64>> {
    contiguous_runs(counts, chunks, [1, u64::MAX]).map(move |run| {
        let first = ravel(&run.start, counts);
        first..first.saturating_add(run.num_elements())
    })
}

/// Objects of an array in groups.
#[derive(Debug, Clone)]
pub struct Groups {
    grid: Grid,
    /// Number of objects along each dimension.
    objects: Vec<u64>,
    /// Number of objects along each dimension that need the same subchunks of the source.
    under: Vec<u64>,
    /// Largest number of objects of a group along each dimension.
    shape: Vec<u64>,
}

impl Groups {
    /// Groups the objects of `array` that need the same subchunks of `read`. One thread does a whole group, and decodes
    /// each of these subchunks once.
    pub fn new(array: &StoredArray, read: &StoredArray) -> Self {
        Self::of_grid(array.metadata.grid.clone(), read.subchunk_shape())
    }

    /// Groups objects in boxes of this shape.
    pub fn of_shape(grid: Grid, shape: Vec<u64>) -> Self {
        Groups { objects: grid.counts(), under: shape.clone(), grid, shape }
    }

    pub(super) fn of_grid(grid: Grid, subchunk: &[u64]) -> Self {
        let objects = grid.counts();
        let under = zip_with(subchunk, grid.largest(), |subchunk, object| subchunk.div_ceil(object.max(1)).max(1));
        let mut left = (volume(&objects) / LEAST_GROUPS).clamp(1, MOST_OBJECTS);
        let mut shape = under.clone();
        // The last dimensions are kept long, so that a group has few runs of objects.
        for length in shape.iter_mut().rev() {
            *length = left.min(*length);
            left /= *length;
        }
        Groups { grid, objects, under, shape }
    }

    /// Returns the groups that contain some of these objects.
    pub fn of(&self, objects: &ChunkSet) -> ChunkSet {
        let grid = self.counts();
        if self.shape.iter().all(|length| *length == 1) {
            return objects.clone();
        }
        if objects.len() == volume(&self.objects) {
            return ChunkSet::full(volume(&grid));
        }
        let (row, step) = (self.objects.last().unwrap_or(&1), self.shape.last().unwrap_or(&1));
        let mut found = ChunkSetBuilder::default();
        for (mut object, end) in objects.runs() {
            while object < end {
                let position = unravel(object, &self.objects);
                found.insert(ravel(&zip_with(&position, &self.shape, |at, length| at / length), &grid));
                // The following objects of the row are in the same group, up to its edge.
                let at = position.last().unwrap_or(&0);
                object += (at - at % step + step).min(*row) - at;
            }
        }
        found.finish()
    }

    /// Returns the objects of a group in C order, as runs.
    pub fn objects(&self, group: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        index_runs(self.extent(group), &self.objects)
    }

    /// Returns the box of a group in elements.
    pub fn region(&self, group: u64) -> Region {
        let objects = self.extent(group);
        let last: Vec<u64> = objects.end().iter().map(|end| end.saturating_sub(1)).collect();
        Region::between(self.grid.start_of(&objects.start), &self.grid.region_of(&last).end())
    }

    /// Returns the first element of the objects that need the same subchunks as `object`. It does not depend on the
    /// size of groups.
    pub(super) fn start_beside(&self, object: u64) -> Vec<u64> {
        let position = unravel(object, &self.objects);
        self.grid.start_of(&zip_with(&position, &self.under, |at, under| at - at % under))
    }

    /// Returns the number of elements, along each dimension, of the objects that need the same subchunks.
    pub(super) fn lengths(&self) -> Vec<u64> {
        zip_with(&self.under, self.grid.largest(), u64::saturating_mul)
    }

    /// Returns the objects of a group, as a box of their grid.
    fn extent(&self, group: u64) -> Region {
        let position = unravel(group, &self.counts());
        Region::chunk(&position, &self.shape).common(&Region::whole(&self.objects))
    }

    /// Returns the number of groups along each dimension.
    fn counts(&self) -> Vec<u64> {
        zip_with(&self.objects, &self.shape, u64::div_ceil)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_each_object_once_and_those_of_one_subchunk_together() {
        for (shape, object, subchunk) in [
            ([40, 60], [1, 60], [10, 7]),
            ([40, 60], [3, 4], [40, 60]),
            ([41, 61], [10, 10], [2, 50]),
            ([5, 6], [5, 6], [1, 1]),
            ([0, 6], [5, 6], [1, 1]),
        ] {
            let groups = Groups::of_grid(Grid::regular(&shape, &object), &subchunk);
            let total = volume(&groups.objects);
            let some: ChunkSet = (0..total).filter(|object| object % 7 < 4).collect();
            for objects in [ChunkSet::full(total), some] {
                let of_groups = groups.of(&objects);
                let mut found: Vec<u64> = of_groups.iter().flat_map(|group| groups.objects(group).flatten()).collect();
                assert!(
                    of_groups
                        .iter()
                        .all(|group| groups.objects(group).flatten().any(|object| objects.contains(object)))
                );
                found.retain(|object| objects.contains(*object));
                found.sort_unstable();
                assert!(found.iter().copied().eq(objects.iter()), "{shape:?} {object:?} {subchunk:?}");
            }
        }
        let groups = Groups::of_grid(Grid::regular(&[4000, 4000], &[1, 10]), &[100, 100]);
        assert_eq!(groups.shape, [100, 10]);
        assert_eq!((groups.lengths(), groups.start_beside(400 * 150 + 37)), (vec![100, 100], vec![100, 300]));
        assert_eq!(groups.region(41), Region { start: vec![100, 100], shape: vec![100, 100] });
        // A huge shape is not iterated over.
        let groups = Groups::of_grid(Grid::regular(&[1 << 50], &[1]), &[1 << 40]);
        assert_eq!(groups.of(&ChunkSet::full(1 << 50)).len(), (1 << 50) / MOST_OBJECTS);
    }
}

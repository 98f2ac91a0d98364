//! Transfer from one stored array to another, by any route.

use std::borrow::Cow;

use super::groups::index_runs;
use crate::array::{ChunkSet, ChunkSetBuilder, StoredArray};
use crate::grid::{Grid, Region, unravel, volume};

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

//! From one stored array to another: what is read, what is written, whatever route it takes.

use crate::array::chunk_set::{ChunkSet, ChunkSetBuilder};
use crate::array::stored::StoredArray;
use crate::codec::region::{advance, ravel, unravel};
use crate::grid::Grid;

/// From one stored array to another.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// What is read.
    pub source: StoredArray,
    /// What is written.
    pub destination: StoredArray,
    /// An element of the destination's type that absent ones become, where they may not stay absent.
    pub absent_element: Option<Vec<u8>>,
    /// The array that the source is intermediate data of.
    pub origin: Option<StoredArray>,
}

impl Transfer {
    /// Which boxes of a grid of `shape` elements each overlap an object that is there; all where none may stay absent.
    pub fn overlapped(&self, shape: &[u64]) -> ChunkSet {
        self.overlapped_by(&self.grid_of(shape))
    }

    /// The grid of boxes of `shape` elements.
    pub fn grid_of(&self, shape: &[u64]) -> Grid {
        Grid::regular(&self.source.metadata.shape, shape)
    }

    /// Which chunks of a grid overlap an object that is there; all where none may stay absent.
    ///
    /// A grid may be far larger than what is stored: it is not walked then.
    pub fn overlapped_by(&self, grid: &Grid) -> ChunkSet {
        self.overlapped_among(grid, None)
    }

    /// The same of some chunks of the grid, where these are given: no others are looked at, if they are fewer than those that
    /// are there.
    pub fn overlapped_among(&self, grid: &Grid, among: Option<&ChunkSet>) -> ChunkSet {
        let (side, present) = (&self.source.metadata, self.source.objects());
        let is_quick = self.absent_element.is_some()
            || grid.has_chunks_of(&side.grid)
            || present.len() == side.num_chunks();
        match among {
            Some(among) if !is_quick && among.len() < present.len() => {
                among.iter().filter(|index| self.overlaps(grid, *index, &present)).collect()
            }
            Some(among) => self.overlapped_of_all(grid, present).common(among),
            None => self.overlapped_of_all(grid, present),
        }
    }

    /// Whether a chunk of a grid overlaps an object of those that are there.
    fn overlaps(&self, grid: &Grid, index: u64, present: &ChunkSet) -> bool {
        let region = grid.region_of(&unravel(index, &grid.counts()));
        let side = &self.source.metadata;
        let ends = region.end().into_iter().zip(&side.shape);
        let end: Vec<u64> = ends.map(|(end, length)| end.min(*length)).collect();
        let (first, extent) = side.grid.chunks_in(&region.start, &end);
        if extent.contains(&0) {
            return false;
        }
        let counts = side.grid.counts();
        let mut place = vec![0; extent.len()];
        loop {
            let position: Vec<u64> = place.iter().zip(&first).map(|(index, first)| index + first).collect();
            if present.contains(ravel(&position, &counts)) {
                return true;
            }
            if !advance(&mut place, &extent) {
                return false;
            }
        }
    }

    fn overlapped_of_all(&self, grid: &Grid, present: ChunkSet) -> ChunkSet {
        let side = &self.source.metadata;
        if self.absent_element.is_none() && grid.has_chunks_of(&side.grid) {
            return present;
        }
        let counts = grid.counts();
        let total = counts.iter().fold(1_u64, |all, length| all.saturating_mul(*length));
        if self.absent_element.is_some() || present.len() == side.num_chunks() {
            return ChunkSet::full(total);
        }
        let mut overlapped = ChunkSetBuilder::default();
        for object in present.iter() {
            let start = self.source.start_of(object);
            let shape = self.source.shape_of(object);
            let ends = start.iter().zip(&*shape).zip(&side.shape);
            let end: Vec<u64> =
                ends.map(|((start, of), length)| start.saturating_add(*of).min(*length)).collect();
            let (first, extent) = grid.chunks_in(&start, &end);
            let mut place = vec![0; extent.len()];
            loop {
                let position: Vec<u64> =
                    place.iter().zip(&first).map(|(index, first)| index + first).collect();
                overlapped.insert(ravel(&position, &counts));
                if !advance(&mut place, &extent) {
                    break;
                }
            }
        }
        overlapped.finish()
    }

    /// Objects that are written although the source does not have them, at least.
    pub fn num_filled(&self) -> u64 {
        let total: u64 = self.destination.metadata.num_chunks();
        if self.absent_element.is_some() { total.saturating_sub(self.source.objects().len()) } else { 0 }
    }
}

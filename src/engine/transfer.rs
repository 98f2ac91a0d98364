//! From one stored array to another: what is read, what is written, whatever route it takes.

use super::plan::Block;
use crate::array::chunk_set::{ChunkSet, ChunkSetBuilder};
use crate::array::stored::StoredArray;
use crate::codec::region::{advance, ravel};

/// From one stored array to another.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// What is read.
    pub source: StoredArray,
    /// What is written.
    pub destination: StoredArray,
    /// The objects of the source that are there.
    pub present: ChunkSet,
    /// An element of the destination's type that absent ones become, where they may not stay absent.
    pub absent_element: Option<Vec<u8>>,
    /// What the source is intermediate data of.
    pub origin: Option<Origin>,
}

/// The array that intermediate data are made of.
#[derive(Debug, Clone)]
pub struct Origin {
    /// It.
    pub side: StoredArray,
    /// Its objects that are there.
    pub present: ChunkSet,
}

impl Transfer {
    /// Which boxes of a grid of `shape` elements each overlap an object that is there; all where none may stay absent.
    ///
    /// A grid may be far larger than what is stored: it is not walked then.
    pub fn overlapped(&self, shape: &[u64]) -> ChunkSet {
        let side = &self.source.metadata;
        let grid: Vec<u64> = side.shape.iter().zip(shape).map(|(length, of)| length.div_ceil(*of)).collect();
        let total = grid.iter().fold(1_u64, |all, length| all.saturating_mul(*length));
        let objects: u64 = side.num_chunks();
        if shape == side.largest_chunk() && self.absent_element.is_none() {
            return self.present.clone();
        }
        if self.absent_element.is_some() || self.present.len() == objects {
            return ChunkSet::full(total);
        }
        let mut overlapped = ChunkSetBuilder::default();
        for object in self.present.iter() {
            let start = self.source.start_of(object);
            let ends = start.iter().zip(side.largest_chunk()).zip(&side.shape);
            let end = ends.map(|((start, of), length)| start.saturating_add(*of).min(*length)).collect();
            let (first, counts) = Block { start, end }.subchunks(shape);
            let mut place = vec![0; counts.len()];
            loop {
                let position: Vec<u64> =
                    place.iter().zip(&first).map(|(index, first)| index + first).collect();
                overlapped.insert(ravel(&position, &grid));
                if !advance(&mut place, &counts) {
                    break;
                }
            }
        }
        overlapped.finish()
    }

    /// Objects that are written although the source does not have them, at least.
    pub fn num_filled(&self) -> u64 {
        let total: u64 = self.destination.metadata.num_chunks();
        if self.absent_element.is_some() { total.saturating_sub(self.present.len()) } else { 0 }
    }
}

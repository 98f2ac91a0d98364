//! A block of the destination in memory: the elements of its subchunks, each subchunk by itself, so that threads fill
//! different subchunks at once and each can be encoded as it lies.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::plan::Block;
use super::subchunk_encoder::SubchunkEncoder;
use crate::array::fault::Fault;
use crate::codec::region::{RegionCopy, advance, as_index, elements_to_end, ravel, unravel};

/// The subchunks of a block. The buffers are used again for the next.
#[derive(Debug, Default)]
pub(super) struct DecodedBlock {
    block: Option<Block>,
    /// Elements that the source has in front of what is written.
    skipped: Vec<u64>,
    subchunk_shape: Vec<u64>,
    first: Vec<u64>,
    counts: Vec<u64>,
    subchunks: Vec<Mutex<DecodedSubchunk>>,
}

/// The elements of a subchunk.
#[derive(Debug, Default)]
pub(super) struct DecodedSubchunk {
    /// In C order, up to the last that lies inside the array: all that follows it is padding, which costs no memory.
    pub(super) elements: Vec<u8>,
    /// Whether any of it is stored in the source.
    pub(super) is_stored: bool,
}

impl DecodedBlock {
    /// Begins another block of subchunks of this shape, read from a source that has so many `skipped` elements in front of
    /// what is written.
    pub(super) fn begin(&mut self, block: &Block, subchunk_shape: &[u64], skipped: &[u64]) {
        self.skipped = skipped.to_vec();
        (self.first, self.counts) = block.subchunks(subchunk_shape);
        self.subchunk_shape = subchunk_shape.to_vec();
        self.block = Some(block.clone());
        let count = self.num_subchunks();
        if self.subchunks.len() < count {
            self.subchunks.resize_with(count, Mutex::default);
        }
    }

    /// Subchunks of the block.
    pub(super) fn num_subchunks(&self) -> usize {
        as_index(self.counts.iter().product())
    }

    /// The position of a subchunk in the grid of the destination.
    pub(super) fn position(&self, item: usize) -> Vec<u64> {
        let place = unravel(item as u64, &self.counts);
        place.iter().zip(&self.first).map(|(index, first)| index + first).collect()
    }

    /// Which of the block's subchunks stands at a position of the grid.
    pub(super) fn item(&self, subchunk: &[u64]) -> usize {
        let place: Vec<u64> = subchunk.iter().zip(&self.first).map(|(index, first)| index - first).collect();
        as_index(ravel(&place, &self.counts))
    }

    /// The subchunks of the block that lie in an object: the first, and how many along each dimension.
    pub(super) fn subchunks_of(&self, object: &[u64], per_object: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let first = object.iter().zip(per_object).map(|(index, count)| index * count).collect();
        common((&self.first, &self.counts), &(first, per_object.to_vec()))
    }

    /// A subchunk.
    pub(super) fn lock(&self, item: usize) -> MutexGuard<'_, DecodedSubchunk> {
        self.subchunks[item].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of a subchunk that lies inside the array, and its shape.
    fn inside(&self, item: usize) -> (Block, Vec<u64>) {
        let position = self.position(item);
        let start: Vec<u64> = position.iter().zip(&self.subchunk_shape).map(|(p, l)| p * l).collect();
        let ends = self.block.as_ref().map_or(&[][..], |block| &block.end);
        let valid = start.iter().zip(&self.subchunk_shape).zip(ends);
        let valid: Vec<u64> =
            valid.map(|((start, length), end)| (*length).min(end.saturating_sub(*start))).collect();
        let end = start.iter().zip(&valid).map(|(start, length)| start + length).collect();
        (Block { start, end }, valid)
    }

    /// Makes room for a subchunk, and fills it as if nothing were stored, unless `may_be_absent` tells of the part inside
    /// the array that all of it is.
    pub(super) fn prepare(
        &self,
        item: usize,
        encoder: &SubchunkEncoder,
        may_be_absent: impl Fn(&Block) -> bool,
    ) {
        let (part, valid) = self.inside(item);
        let mut subchunk = self.lock(item);
        let inside = elements_to_end(&valid, &self.subchunk_shape);
        subchunk.elements.resize(as_index(inside) * encoder.element_size(), 0);
        subchunk.is_stored = false;
        let has_gaps = valid.iter().product::<u64>() != inside;
        if has_gaps || may_be_absent(&part) {
            encoder.fill(&mut subchunk.elements, &self.subchunk_shape, &valid);
        }
    }

    /// Takes a subchunk of nothing but absent elements for one that is not stored, unless `is_stored` tells otherwise of
    /// the part of it inside the array: subchunks of intermediate data hold what is stored and what is not.
    pub(super) fn reconsider(
        &self,
        item: usize,
        encoder: &SubchunkEncoder,
        is_stored: impl FnOnce(&Block) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        let (part, valid) = self.inside(item);
        let mut subchunk = self.lock(item);
        if subchunk.is_stored && encoder.is_absent(&subchunk.elements, &self.subchunk_shape, &valid) {
            subchunk.is_stored = is_stored(&part)?;
        }
        Ok(())
    }

    /// Which part of a box of the source, of `shape` elements at `start`, the block needs: its first element and its end
    /// in the box.
    pub(super) fn needed(&self, start: &[u64], shape: &[u64]) -> [Vec<u64>; 2] {
        let nothing = || [(); 2].map(|()| vec![0; shape.len()]);
        self.block.as_ref().map_or_else(nothing, |block| block.moved_by(&self.skipped).inside(start, shape))
    }

    /// Copies elements of the source, a box of `shape` at `start`, into the subchunks that it overlaps.
    pub(super) fn scatter(&self, elements: &[u8], start: &[u64], shape: &[u64], element_size: usize) {
        let Some(block) = &self.block else { return };
        let mut part = Block { start: Vec::with_capacity(start.len()), end: Vec::with_capacity(start.len()) };
        for dimension in 0..start.len() {
            let (first, skipped) = (start[dimension], self.skipped[dimension]);
            let (from, end) = (first.max(block.start[dimension] + skipped), block.end[dimension] + skipped);
            let end = (first + shape[dimension]).min(end);
            if from >= end {
                return;
            }
            // From here on as it is written.
            part.start.push(from - skipped);
            part.end.push(end - skipped);
        }
        let (first, counts) = part.subchunks(&self.subchunk_shape);
        let mut place = vec![0; counts.len()];
        // Subchunks may be as small as an element: nothing is allocated for each.
        let [mut source_start, mut target_start, mut extent] = [(); 3].map(|()| vec![0; counts.len()]);
        loop {
            let mut item = 0;
            for dimension in 0..counts.len() {
                let subchunk = first[dimension] + place[dimension];
                let length = self.subchunk_shape[dimension];
                let low = part.start[dimension].max(subchunk * length);
                let high = part.end[dimension].min((subchunk + 1) * length);
                source_start[dimension] = low + self.skipped[dimension] - start[dimension];
                target_start[dimension] = low - subchunk * length;
                extent[dimension] = high - low;
                item = item * self.counts[dimension] + (subchunk - self.first[dimension]);
            }
            let mut subchunk = self.lock(as_index(item));
            RegionCopy {
                source_shape: shape,
                source_start: &source_start,
                target_shape: &self.subchunk_shape,
                target_start: &target_start,
                extent: &extent,
                element_size,
            }
            .run(elements, &mut subchunk.elements);
            subchunk.is_stored = true;
            drop(subchunk);
            if !advance(&mut place, &counts) {
                return;
            }
        }
    }
}

/// What two boxes of subchunks have in common, each its first and how many it has along each dimension.
pub(super) fn common(
    (first, counts): (&[u64], &[u64]),
    other: &(Vec<u64>, Vec<u64>),
) -> (Vec<u64>, Vec<u64>) {
    let bounds = first.iter().zip(counts).zip(other.0.iter().zip(&other.1));
    bounds
        .map(|((first, count), (other, others))| {
            let low = *first.max(other);
            (low, (first + count).min(other + others).saturating_sub(low))
        })
        .unzip()
}

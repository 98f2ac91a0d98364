//! A block of the destination in memory: the elements of its subchunks, each subchunk by itself, so that threads fill
//! different subchunks at once and each can be encoded as it lies.

use std::sync::{Mutex, MutexGuard};

use crate::array::{Result, StoredArray};
use crate::codec::{advance, as_index, copy_box, elements_to_end, fill_box, is_filled_with, repeat};
use crate::grid::Region;
use crate::store::held;

/// Bytes of padding that are written at once.
pub(super) const PADDING: usize = 1 << 16;

/// The elements of a decoded subchunk where nothing is stored.
#[derive(Debug, Clone)]
pub(super) struct Filling {
    /// An absent element.
    pub(super) absent: Vec<u8>,
    /// The elements beyond the edge of the array: as many as are worth writing at once.
    pub(super) padding: Vec<u8>,
}

impl Filling {
    /// Absent elements of an array, and the same beyond its edge.
    pub(super) fn of(array: &StoredArray) -> Self {
        let absent = array.fill_value();
        Filling { padding: absent.repeat(PADDING.div_ceil(absent.len().max(1))), absent }
    }

    /// Bytes of an element.
    pub(super) fn element_size(&self) -> usize {
        self.absent.len()
    }

    /// Fills a subchunk, up to its last element inside the array, as if nothing were stored; `valid` of it lies there.
    pub(super) fn fill(&self, elements: &mut [u8], shape: &[u64], valid: &[u64]) {
        repeat(elements, &self.padding);
        if self.padding.starts_with(&self.absent) || valid.contains(&0) {
            return;
        }
        fill_box(elements, shape, (&vec![0; shape.len()], valid), &self.absent);
    }

    /// True if a subchunk of which `valid` lies inside the array holds there only what absent elements are.
    pub(super) fn is_absent(&self, elements: &[u8], shape: &[u64], valid: &[u64]) -> bool {
        if !elements.starts_with(&self.absent) {
            return false;
        }
        if shape == valid {
            return is_filled_with(elements, &self.absent);
        }
        let mut filled = vec![0; elements.len()];
        self.fill(&mut filled, shape, valid);
        elements == filled
    }
}

/// The subchunks of a block. The buffers are used again for the next.
#[derive(Debug, Default)]
pub(super) struct DecodedBlock {
    /// The block, as a box of what is written.
    block: Region,
    /// Elements that the source has in front of what is written.
    skipped: Vec<u64>,
    subchunk_shape: Vec<u64>,
    /// Its subchunks, as a box of their grid.
    pub(super) subchunks: Region,
    decoded: Vec<Mutex<DecodedSubchunk>>,
}

/// The elements of a subchunk.
#[derive(Debug, Default)]
pub(super) struct DecodedSubchunk {
    /// In C order, up to the last that lies inside the array: all that follows it is padding, which costs no memory.
    pub(super) elements: Vec<u8>,
    /// True if any of it is stored in the source.
    pub(super) is_stored: bool,
}

impl DecodedBlock {
    /// Begins another block of subchunks of this shape, read from a source that has so many `skipped` elements in front of
    /// what is written.
    pub(super) fn begin(&mut self, block: &Region, subchunk_shape: &[u64], skipped: &[u64]) {
        self.skipped = skipped.to_vec();
        self.subchunks = block.chunks(subchunk_shape);
        self.subchunk_shape = subchunk_shape.to_vec();
        self.block = block.clone();
        let count = self.num_subchunks();
        if self.decoded.len() < count {
            self.decoded.resize_with(count, Mutex::default);
        }
    }

    /// Subchunks of the block.
    pub(super) fn num_subchunks(&self) -> usize {
        as_index(self.subchunks.num_elements())
    }

    /// The position of a subchunk in the grid of the destination.
    pub(super) fn position(&self, item: usize) -> Vec<u64> {
        self.subchunks.position(item as u64)
    }

    /// The number in the block of the subchunk at a position of the grid.
    pub(super) fn item(&self, subchunk: &[u64]) -> usize {
        let place = subchunk.iter().zip(&self.subchunks.start).zip(&self.subchunks.shape);
        as_index(place.fold(0, |item, ((index, first), count)| item * count + (index - first)))
    }

    /// A subchunk.
    pub(super) fn lock(&self, item: usize) -> MutexGuard<'_, DecodedSubchunk> {
        held(&self.decoded[item])
    }

    /// The part of a subchunk that lies inside the array.
    fn inside(&self, item: usize) -> Region {
        Region::chunk(&self.position(item), &self.subchunk_shape).common(&self.block)
    }

    /// Makes room for a subchunk, and fills it as if nothing were stored, unless `may_be_absent` tells of the part inside
    /// the array that all of it is.
    pub(super) fn prepare(&self, item: usize, filling: &Filling, may_be_absent: impl Fn(&Region) -> bool) {
        let part = self.inside(item);
        let mut subchunk = self.lock(item);
        let inside = elements_to_end(&part.shape, &self.subchunk_shape);
        subchunk.elements.resize(as_index(inside) * filling.element_size(), 0);
        subchunk.is_stored = false;
        let has_gaps = part.num_elements() != inside;
        if has_gaps || may_be_absent(&part) {
            filling.fill(&mut subchunk.elements, &self.subchunk_shape, &part.shape);
        }
    }

    /// Takes a subchunk of nothing but absent elements for one that is not stored, unless `is_stored` tells otherwise of
    /// the part of it inside the array: subchunks of intermediate data hold what is stored and what is not.
    pub(super) fn reconsider(
        &self,
        item: usize,
        filling: &Filling,
        is_stored: impl FnOnce(&Region) -> Result<bool>,
    ) -> Result<()> {
        let part = self.inside(item);
        let mut subchunk = self.lock(item);
        if subchunk.is_stored && filling.is_absent(&subchunk.elements, &self.subchunk_shape, &part.shape) {
            subchunk.is_stored = is_stored(&part)?;
        }
        Ok(())
    }

    /// The part of a box of the source that the block needs.
    pub(super) fn needed(&self, region: &Region) -> Region {
        self.block.moved_by(&self.skipped).common(region)
    }

    /// Copies elements of the source, a box of it, into the subchunks that it overlaps.
    pub(super) fn scatter(&self, elements: &[u8], source: &Region, element_size: usize) {
        let part = self.needed(source);
        if part.is_empty() {
            return;
        }
        // From here on as it is written.
        let part = part.relative_to(&self.skipped);
        let end = part.end();
        let Region { start: first, shape: counts } = part.chunks(&self.subchunk_shape);
        let mut place = vec![0; counts.len()];
        // Subchunks may be as small as an element: nothing is allocated for each.
        let [mut source_start, mut target_start, mut extent] = [(); 3].map(|()| vec![0; counts.len()]);
        loop {
            let mut item = 0;
            for dimension in 0..counts.len() {
                let subchunk = first[dimension] + place[dimension];
                let length = self.subchunk_shape[dimension];
                let low = part.start[dimension].max(subchunk * length);
                let high = end[dimension].min((subchunk + 1) * length);
                source_start[dimension] = low + self.skipped[dimension] - source.start[dimension];
                target_start[dimension] = low - subchunk * length;
                extent[dimension] = high - low;
                item = item * self.subchunks.shape[dimension] + (subchunk - self.subchunks.start[dimension]);
            }
            let mut subchunk = self.lock(as_index(item));
            let target = (&mut subchunk.elements[..], &self.subchunk_shape[..], &target_start[..]);
            copy_box((elements, &source.shape, &source_start), target, &extent, element_size);
            subchunk.is_stored = true;
            drop(subchunk);
            if !advance(&mut place, &counts) {
                return;
            }
        }
    }
}

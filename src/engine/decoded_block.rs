//! Block of the destination in memory. The elements of each subchunk are stored separately. So threads can fill
//! different subchunks at once, and each can be encoded without a copy.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::array::StoredArray;
use crate::codec::{advance, as_index, copy_box, elements_to_end, fill_box, is_filled_with, repeat};
use crate::grid::Region;
use crate::store::held;

/// Bytes of padding that are written at once.
pub(super) const PADDING: usize = 1 << 16;

/// Elements of a decoded subchunk where nothing is stored.
#[derive(Debug, Clone)]
pub(super) struct Filling {
    /// Absent element.
    pub(super) absent: Vec<u8>,
    /// Elements beyond the edge of the array, as many as are written at once.
    pub(super) padding: Vec<u8>,
}

impl Filling {
    /// Returns the filling of an array, with its fill value also beyond the edge.
    pub(super) fn new(array: &StoredArray) -> Self {
        let absent = array.fill_value();
        Filling { padding: absent.repeat(PADDING.div_ceil(absent.len().max(1))), absent }
    }

    /// Returns the size of an element in bytes.
    pub(super) fn element_size(&self) -> usize {
        self.absent.len()
    }

    /// Fills a subchunk as if nothing were stored. `valid` is the shape of its part inside the array. The elements end
    /// with the last one inside.
    pub(super) fn fill(&self, elements: &mut [u8], shape: &[u64], valid: &[u64]) {
        repeat(elements, &self.padding);
        // The padding is then the absent element itself, and fills both parts.
        if self.padding.starts_with(&self.absent) || valid.contains(&0) {
            return;
        }
        fill_box(elements, shape, valid, &self.absent);
    }

    /// Returns true if the part `valid` of a subchunk inside the array contains only absent elements.
    fn is_absent(&self, elements: &[u8], shape: &[u64], valid: &[u64]) -> bool {
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

/// Subchunks of a block. The buffers are reused for the next block.
#[derive(Debug, Default)]
pub(super) struct DecodedBlock {
    /// Block, as a box of the destination.
    block: Region,
    /// Number of elements that the source has before the destination, along each dimension.
    skipped: Vec<u64>,
    subchunk_shape: Vec<u64>,
    /// Subchunks of the block, as a box of their grid.
    pub(super) subchunks: Region,
    decoded: Vec<Mutex<DecodedSubchunk>>,
}

/// Elements of a subchunk.
#[derive(Debug, Default)]
pub(super) struct DecodedSubchunk {
    /// Elements in C order, up to the last one inside the array. The padding after it needs no memory.
    pub(super) elements: Vec<u8>,
    /// True if any element is stored in the source.
    pub(super) is_stored: bool,
}

impl DecodedBlock {
    /// Starts another block with subchunks of this shape. `skipped` is the number of elements that the source has
    /// before the destination.
    pub(super) fn begin(&mut self, block: &Region, subchunk_shape: &[u64], skipped: &[u64]) -> &Self {
        self.skipped = skipped.to_vec();
        self.subchunks = block.chunks(subchunk_shape);
        self.subchunk_shape = subchunk_shape.to_vec();
        self.block = block.clone();
        let count = self.num_subchunks();
        if self.decoded.len() < count {
            self.decoded.resize_with(count, Mutex::default);
        }
        self
    }

    /// Returns the number of subchunks.
    pub(super) fn num_subchunks(&self) -> usize {
        as_index(self.subchunks.num_elements())
    }

    /// Returns the position of a subchunk in the grid of the destination.
    pub(super) fn position(&self, item: usize) -> Vec<u64> {
        self.subchunks.position(item as u64)
    }

    /// Returns the index in the block of the subchunk at a position of the grid.
    pub(super) fn item(&self, subchunk: &[u64]) -> usize {
        let indices = subchunk.iter().zip(&self.subchunks.start).zip(&self.subchunks.shape);
        as_index(indices.fold(0, |item, ((index, first), count)| item * count + (index - first)))
    }

    /// Returns the subchunks, in C order.
    pub(super) fn decoded(&mut self) -> Vec<&DecodedSubchunk> {
        let count = self.num_subchunks();
        let decoded = self.decoded[..count].iter_mut();
        decoded.map(|subchunk| &*subchunk.get_mut().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    pub(super) fn lock(&self, item: usize) -> MutexGuard<'_, DecodedSubchunk> {
        held(&self.decoded[item])
    }

    /// Returns the part of a subchunk inside the array.
    fn inside(&self, item: usize) -> Region {
        Region::chunk(&self.position(item), &self.subchunk_shape).common(&self.block)
    }

    /// Allocates a subchunk, and fills it as if nothing were stored. Does not fill it if all its elements will be read:
    /// none is beyond the edge, and `may_be_absent` is false.
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

    /// Returns the part inside the array of a subchunk that is stored, but has only absent elements.
    pub(super) fn only_absent(&self, item: usize, filling: &Filling) -> Option<Region> {
        let (part, subchunk) = (self.inside(item), self.lock(item));
        let is_stored = subchunk.is_stored;
        (is_stored && filling.is_absent(&subchunk.elements, &self.subchunk_shape, &part.shape)).then_some(part)
    }

    /// Returns the block as a box of the source.
    pub(super) fn in_source(&self) -> Region {
        self.block.moved_by(&self.skipped)
    }

    /// Copies a box of elements of the source into the subchunks that it overlaps.
    pub(super) fn scatter(&self, elements: &[u8], source: &Region, element_size: usize) {
        let part = self.in_source().common(source);
        if part.is_empty() {
            return;
        }
        // From here on, in coordinates of the destination.
        let part = part.relative_to(&self.skipped);
        let end = part.end();
        let Region { start: first, shape: counts } = part.chunks(&self.subchunk_shape);
        let mut cell = vec![0; counts.len()];
        // Subchunks may have only one element, so nothing is allocated for each.
        let [mut source_start, mut target_start, mut extent] = [(); 3].map(|()| vec![0; counts.len()]);
        loop {
            let mut item = 0;
            for dimension in 0..counts.len() {
                let subchunk = first[dimension] + cell[dimension];
                let length = self.subchunk_shape[dimension];
                let low = part.start[dimension].max(subchunk * length);
                let high = end[dimension].min((subchunk + 1) * length);
                source_start[dimension] = low + self.skipped[dimension] - source.start[dimension];
                target_start[dimension] = low - subchunk * length;
                extent[dimension] = high - low;
                item = item * self.subchunks.shape[dimension] + (subchunk - self.subchunks.start[dimension]);
            }
            // Several source subchunks may overlap this one, and other threads copy those.
            let mut subchunk = self.lock(as_index(item));
            let target = (&mut subchunk.elements[..], &self.subchunk_shape[..], &target_start[..]);
            copy_box((elements, &source.shape, &source_start), target, &extent, element_size);
            subchunk.is_stored = true;
            drop(subchunk);
            if !advance(&mut cell, &counts) {
                return;
            }
        }
    }
}

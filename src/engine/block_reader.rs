//! Blocks of the destination in memory, read from the source. The elements of each subchunk are stored separately. So
//! threads can fill different subchunks at once, and each can be encoded without a copy.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Buffers, Progress, Workers, guarded, reads_of_box, reads_of_object, stays_open};
use crate::array::{Fault, ReadBuffers, Result, StoredArray, SubchunkSource};
use crate::codec::{
    BoundChain, ChainFault, advance, as_index, contiguous_runs, copy_box, elements_to_end, fill_box, is_filled_with,
    repeat,
};
use crate::grid::{Region, ravel};
use crate::store::{Part, held};

/// Smallest and largest read of an object that is not encoded, in bytes. A smaller one is not worth a call, and the
/// largest leaves space in a level 2 cache.
const PIECE_BYTES: [u64; 2] = [1 << 15, 1 << 18];

impl StoredArray {
    /// Returns the shape of the smallest part of a subchunk that can be read alone. Neighbours in the same row must be
    /// read too. It is the whole subchunk, or any part of an object that is not encoded.
    pub fn part_shape(&self) -> Vec<u64> {
        let (chain, shape) = (&self.chain, self.subchunk_shape());
        // The objects of a rectilinear grid have several shapes, so no shape of a part fits all of them.
        let size = chain.decoded().data_type.size().filter(|_| self.has_plain_chunks() && self.is_regular());
        let least = size.map(|size| PIECE_BYTES[0] / size as u64);
        let piece = least.and_then(|least| contiguous_runs(shape, Region::whole(shape), [1, least]).next());
        piece.map_or_else(|| shape.to_vec(), |piece| piece.shape)
    }
}

pub(super) struct BlockReader<'a, 'p> {
    pub(super) source: &'p SubchunkSource<'a>,
    /// Subchunks of the original array, if the source is intermediate data.
    pub(super) origin: Option<&'p SubchunkSource<'a>>,
    /// Elements where nothing is stored.
    pub(super) filling: &'p Filling,
    /// Progress, counted in subchunks, whatever their sizes.
    pub(super) progress: &'p dyn Progress,
}

impl BlockReader<'_, '_> {
    /// Reads all source subchunks that overlap a block that has begun. Returns their encoded size in bytes.
    pub(super) fn read<V: Default + Send>(&self, decoded: &DecodedBlock, workers: &Workers<'_, V>) -> Result<u64> {
        let count = decoded.num_subchunks() as u64;
        let prepare = |_: &mut _, item| {
            decoded.prepare(as_index(item), self.filling, |part| self.may_be_absent(part));
            Ok(())
        };
        workers.each(count, prepare, |_, ()| ())?;
        let bytes = self.read_all(decoded, workers)?;
        if let Some(origin) = self.origin {
            // Intermediate data contain all elements, stored or not.
            let reconsider = |buffers: &mut Buffers<V>, item| {
                let Some(part) = decoded.only_absent(as_index(item), self.filling) else { return Ok(()) };
                let part = part.moved_by(&origin.array.metadata.skipped);
                let subchunks = origin.array.subchunk_grid.chunks_in(&part).cells();
                let mut stored = subchunks.map(|subchunk| origin.holds(&subchunk, &mut buffers.source));
                let is_stored = stored.find(|stored| !matches!(stored, Ok(false))).unwrap_or(Ok(false))?;
                decoded.lock(as_index(item)).is_stored = is_stored;
                Ok(())
            };
            workers.each(count, reconsider, |_, ()| ())?;
        }
        Ok(bytes)
    }

    /// Calls `each` with the first read of each object for a block.
    pub(super) fn reads(&self, block: &Region, each: &mut dyn FnMut(&str, Part)) {
        let (source, size) = (self.source, self.filling.element_size() as u64);
        let array = source.array;
        if array.layout.is_some() && !source.reads_indexes() {
            return; // A read of an index entry is too small to announce.
        }
        let block = &block.moved_by(&array.metadata.skipped);
        if !array.has_plain_chunks() {
            return reads_of_box(array, block, stays_open(array), each);
        }
        for object in array.objects_in(block) {
            let whole = array.region_of(object);
            let needed = block.common(&whole);
            // Of objects that are not encoded, only the needed part is read.
            if needed == whole.within(&whole.start, &array.metadata.shape) {
                reads_of_object(array, object, true, each);
            } else if array.may_hold(object) {
                let key = array.key(object);
                for (_, offset, length) in pieces(&whole.shape, needed.relative_to(&whole.start), size) {
                    each(&key, Part::Range { offset, length });
                }
            }
        }
    }

    fn read_all<V: Default + Send>(&self, to: &DecodedBlock, workers: &Workers<'_, V>) -> Result<u64> {
        let (array, block) = (self.source.array, to.in_source());
        let subchunks = array.subchunk_grid.chunks_in(&block);
        self.progress.start("", Some(subchunks.num_elements()));
        if !self.source.reads_indexes() {
            return self.read_box(&subchunks, to, workers);
        }
        // Shard by shard, so that each index is read only once.
        let mut bytes = 0;
        for object in array.objects_in(&block) {
            let subchunks = subchunks.common(&array.subchunks_of(object));
            // On a worker, as this may read the index into its buffers.
            let expect = |buffers: &mut Buffers<V>, _| self.source.expect(&subchunks, &mut buffers.source);
            workers.each(1, expect, |_, ()| ())?;
            bytes += self.read_box(&subchunks, to, workers)?;
        }
        Ok(bytes)
    }

    /// Reads a box of subchunks.
    fn read_box<V: Default + Send>(&self, part: &Region, to: &DecodedBlock, workers: &Workers<'_, V>) -> Result<u64> {
        let mut bytes = 0;
        let read = |buffers: &mut Buffers<V>, item| {
            let subchunk = part.position(item);
            let read = guarded(|| self.read_subchunk(&subchunk, to, &mut buffers.source));
            self.progress.advance(1);
            read.map_err(|fault| self.source.located(fault, &subchunk))
        };
        workers.each(part.num_elements(), read, |_, read| bytes += read)?;
        Ok(bytes)
    }

    /// Returns true if a part of the box may be absent.
    fn may_be_absent(&self, block: &Region) -> bool {
        let array = self.source.array;
        // Any inner chunk may be absent, which only the index of its shard shows.
        array.layout.is_some() || array.may_lack() || self.has_object(block, false)
    }

    /// Returns true if an object that overlaps the block exists, or, with `is_there` false, is missing.
    pub(super) fn has_object(&self, block: &Region, is_there: bool) -> bool {
        let source = self.source.array;
        let block = block.moved_by(&source.metadata.skipped);
        source.objects_in(&block).any(|object| source.may_hold(object) == is_there)
    }

    fn read_subchunk(&self, subchunk: &[u64], decoded: &DecodedBlock, buffers: &mut ReadBuffers) -> Result<u64> {
        let array = self.source.array;
        let chain = array.chain_of_subchunk(subchunk)?;
        if array.has_plain_chunks() {
            return self.read_elements(subchunk, &chain, decoded, &mut buffers.bytes);
        }
        let region = array.inside(&array.subchunk_grid.region_of(subchunk));
        buffers.bytes_read = 0;
        if let Some(elements) = buffers.read_subchunk(self.source, subchunk, &region)? {
            decoded.scatter(elements, &region, self.filling.element_size());
        }
        Ok(buffers.bytes_read)
    }

    /// Reads the part of an object for a block in pieces, without decoding. So they are still in the level 2 cache when
    /// they are copied.
    fn read_elements(&self, subchunk: &[u64], chain: &BoundChain, to: &DecodedBlock, own: &mut Vec<u8>) -> Result<u64> {
        let array = self.source.array;
        let object = array.object_of(subchunk);
        let located = |fault: Fault| self.source.located(fault, subchunk);
        let Some(reader) = array.open_object(object).map_err(located)? else { return Ok(0) };
        let (region, size) = (array.subchunk_grid.region_of(subchunk), self.filling.element_size() as u64);
        let (expected, found) = (chain.decoded_bytes(), reader.length());
        if expected != found {
            return Err(located(Fault::Chain(ChainFault::of_stored_size(&reader, expected))));
        }
        let mut bytes = 0;
        let needed = to.in_source().common(&region).relative_to(&region.start);
        for (piece, offset, length) in pieces(&region.shape, needed, size) {
            reader.read_at(offset, length, own).map_err(|error| located(error.into()))?;
            bytes += length;
            let piece = piece.moved_by(&region.start);
            to.scatter(own, &piece, self.filling.element_size());
        }
        Ok(bytes)
    }
}

/// Returns the pieces of a part of an object that is not encoded. Each is a box with its offset and length in bytes.
fn pieces(shape: &[u64], needed: Region, element_size: u64) -> impl Iterator<Item = (Region, u64, u64)> {
    contiguous_runs(shape, needed, PIECE_BYTES.map(|bytes| bytes / element_size)).map(move |piece| {
        let (offset, length) = (ravel(&piece.start, shape) * element_size, piece.num_elements() * element_size);
        (piece, offset, length)
    })
}

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

//! Reads blocks of the destination from the source.

use super::{Buffers, DecodedBlock, Filling, Progress, Workers, guarded, reads_of_box, reads_of_object, stays_open};
use crate::array::{Fault, ReadBuffers, Result, StoredArray, SubchunkSource};
use crate::codec::{BoundChain, ChainFault, as_index, contiguous_runs};
use crate::grid::{Region, ravel};
use crate::store::Part;

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

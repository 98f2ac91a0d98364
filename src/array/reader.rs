//! Reads of subchunks, encoded or as elements. A subchunk is the smallest part that can be decoded alone. It is an
//! inner chunk of a shard that can be streamed, else a stored object. Its position counts through the whole array, not
//! through its object. Elements beyond the edge of the array are cut off.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::{Fault, MOST_OPEN_SHARDS, ObjectOf, PIECE, ReadBuffers, Result, ShardLayout, StoredArray};
use crate::codec::{
    BoundChain, ChainFault, ChainFaultKind, CodecError, ForShape, IndexEntry, advance, as_index,
    value_program::ProgramFault,
};
use crate::grid::{Region, ravel, zip_with};
use crate::store::{ObjectReader, StoreError, held};

/// Result of a read of an object in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPieces {
    /// All elements were passed on.
    Given,
    /// The object is absent.
    Absent,
    /// The object must be read as a whole.
    NotGiven,
}

impl ReadBuffers {
    /// Returns the elements of the subchunk at a position, or `None` if it is absent.
    pub fn read_subchunk(
        &mut self,
        subchunks: &SubchunkSource<'_>,
        position: &[u64],
        subchunk: &Region,
    ) -> Result<Option<&[u8]>> {
        if !subchunks.read(position, self)? {
            return Ok(None);
        }
        self.bytes_read += self.bytes.len() as u64;
        let array = subchunks.array;
        let chain = array.chain_of_subchunk(position)?;
        self.decode(&chain, chain.bytes_index()..chain.codecs().len())?;
        Ok(Some(self.elements(&chain, subchunk, || array.subchunk_grid.start_of(position))?))
    }

    /// Decodes the other codecs, and crops the elements to `subchunk`. `start` returns the start of the stored
    /// subchunk.
    fn elements(&mut self, chain: &BoundChain, subchunk: &Region, start: impl Fn() -> Vec<u64>) -> Result<&[u8]> {
        self.decode(chain, chain.num_noop_codecs()..chain.bytes_index()).map_err(|fault| fault.moved_by(&start()))?;
        let bytes = &mut self.bytes;
        chain.check_before(0, bytes.len())?;
        let array = chain.decoded();
        if subchunk.shape != array.shape {
            let first = subchunk.offset_in(&start());
            crop(bytes, &array.shape, (&first, &subchunk.shape), array.data_type.size().unwrap_or(1));
        }
        // After the crop, as elements beyond the edge need not be values of the data type.
        chain.check_values(bytes, &subchunk.shape, &subchunk.shape).map_err(|fault| fault.moved_by(&subchunk.start))?;
        Ok(bytes)
    }

    /// Decodes some codecs, with alternating buffers.
    fn decode(&mut self, chain: &BoundChain, range: Range<usize>) -> Result<(), ChainFault> {
        let ReadBuffers { bytes, spare, workspace, .. } = self;
        for index in range.rev() {
            chain.decode_codec(index, bytes, spare, workspace)?;
            std::mem::swap(bytes, spare);
        }
        Ok(())
    }
}

/// Reads an object of `expected` bytes. Calls `visit` with each piece and its offset. A piece stays in the level 2
/// cache.
pub fn each_piece_of(
    reader: &mut ObjectReader,
    expected: u64,
    buffer: &mut Vec<u8>,
    mut visit: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    buffer.resize(PIECE.min(as_index(expected)), 0);
    let mut offset = 0;
    while offset < expected {
        let length = as_index((expected - offset).min(PIECE as u64));
        let filled = reader.read_piece(offset, &mut buffer[..length])?;
        if filled < length {
            let kind = ChainFaultKind::Size { expected, found: offset + filled as u64 };
            return Err(Fault::Chain(ChainFault::new("0", "bytes", kind)));
        }
        visit(offset, &buffer[..length])?;
        offset += length as u64;
    }
    Ok(())
}

/// Converts the fault of a program in a subchunk to one with the element's position in the array.
pub fn element_fault(subchunk: &Region, found: &ProgramFault) -> Fault {
    let ProgramFault { fault, bits, types, .. } = *found;
    let position = Some(subchunk.position(fault.index as u64).into_boxed_slice());
    Fault::Chain(ChainFault::new("-", "cast_value", CodecError::Element { fault, position, bits, types }))
}

impl StoredArray {
    /// Calls `visit` with the bytes of an object in pieces during the read. Passes nothing on if the object is encoded,
    /// is not completely inside the array, is to be cached, or has a data type with invalid values.
    pub fn each_piece(
        &self,
        index: u64,
        buffers: &mut ReadBuffers,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<InPieces> {
        let object = self.region_of(index);
        // Pieces are consecutive bytes. Elements beyond the edge would be among them. An encoded object is not opened
        // here: it may have been requested in advance, and is read once.
        if !self.has_plain_chunks() || self.inside(&object) != object {
            return Ok(InPieces::NotGiven);
        }
        // A cached chunk must be in memory as a whole.
        if self.cache.wants(&self.chain, as_index(self.chunk_bytes())) || self.keeps_some_of(index) {
            return Ok(InPieces::NotGiven);
        }
        let chain = self.chain_of(index)?;
        let Some(mut reader) = self.open_object(index)? else { return Ok(InPieces::Absent) };
        let length = reader.length();
        // The read of the whole object reports the wrong size.
        if length != chain.decoded_bytes() {
            return Ok(InPieces::NotGiven);
        }
        each_piece_of(&mut reader, length, &mut buffers.bytes, |_, piece| visit(piece))?;
        buffers.bytes_read += length;
        Ok(InPieces::Given)
    }
}

impl OpenedObject<'_> {
    /// Returns the units of the object that overlap a box of the array, as a box of their grid.
    pub fn subchunks_in(&self, region: &Region) -> Region {
        self.subchunks.common(&self.array.subchunk_grid.chunks_in(region))
    }

    /// Returns the box of a unit, cropped to the array.
    pub fn region_of(&self, position: &[u64]) -> Region {
        self.array.inside(&self.array.subchunk_grid.region_of(position))
    }

    /// Returns the elements of a unit, cropped to `part`, or `None` if it is absent. Uses the array's cache, and adds
    /// the unit to it if wanted.
    pub fn read<'b>(&self, position: &[u64], part: &Region, buffers: &'b mut ReadBuffers) -> Result<Option<&'b [u8]>> {
        let (chain, cache) = (&*self.array.chain_of_subchunk(&self.subchunks.start)?, &self.array.cache);
        if let Some(chunk) = cache.get(position) {
            // The cached bytes are the elements if no other codec changes them and nothing is cropped.
            if chain.num_noop_codecs() == chain.bytes_index() && part.shape == chain.decoded().shape {
                return Ok(Some(&buffers.kept.insert(chunk).bytes));
            }
            buffers.bytes.clear();
            buffers.bytes.extend_from_slice(&chunk.bytes);
        } else {
            if self.fetch(position, buffers)?.is_none() {
                return Ok(None);
            }
            let stored = buffers.bytes.len() as u64;
            buffers.bytes_read += stored;
            buffers.decode(chain, chain.bytes_index()..chain.codecs().len())?;
            cache.keep(position, chain, &buffers.bytes, stored);
        }
        Ok(Some(buffers.elements(chain, part, || self.array.subchunk_grid.start_of(position))?))
    }
}

/// Crops an array of `shape` in place to the box of shape `kept` at `first`. No row moves towards the end.
pub fn crop(bytes: &mut Vec<u8>, shape: &[u64], (first, kept): (&[u64], &[u64]), element_size: usize) {
    let row = as_index(kept.last().copied().unwrap_or(1)) * element_size;
    let mut indices = vec![0; kept.len()];
    let outer = kept.len().saturating_sub(1);
    let origin = ravel(first, shape);
    let mut to = 0;
    if kept.contains(&0) {
        bytes.clear();
        return;
    }
    loop {
        let from = as_index(origin + ravel(&indices, shape)) * element_size;
        if from != to {
            bytes.copy_within(from..from + row, to);
        }
        to += row;
        if !advance(&mut indices[..outer], kept) {
            break;
        }
    }
    bytes.truncate(to);
}

impl StoredArray {
    /// Returns true if the cache contains the first or the last subchunk of an object. Earlier passes cache them in
    /// order.
    pub fn keeps_some_of(&self, object: u64) -> bool {
        let subchunks = self.subchunks_of(object);
        let last = subchunks.end().iter().map(|end| end.saturating_sub(1)).collect();
        [subchunks.start, last].iter().any(|position| self.cache.get(position).is_some())
    }

    /// Returns true if a read may find an object absent. Either the existing objects are not known, or refused objects
    /// count as absent.
    pub fn may_lack(&self) -> bool {
        self.present.is_none() || self.node.refused_is_absent()
    }

    /// Opens an object for reads of parts. Returns `None` if it is absent.
    pub fn open_object(&self, object: u64) -> Result<Option<ObjectReader>> {
        if !self.may_hold(object) {
            return Ok(None);
        }
        let key = self.key(object);
        let most = self.chain_of(object)?.max_encoded_bytes();
        match self.node.open(&key, most)? {
            None => self.missing.absent(object, (&self.node, &key), self.present.as_ref()).map(|()| None),
            found => Ok(found),
        }
    }

    /// Reads an object into the buffers. Returns false if it is absent. Fails if it is larger than the memory of the
    /// workspace. If that is unlimited, the limit is the chain's largest output.
    pub fn read_object(&self, object: u64, buffers: &mut ReadBuffers) -> Result<bool> {
        if !self.may_hold(object) {
            return Ok(false);
        }
        let key = self.key(object);
        let largest = || self.chain_of(object).map(|chain| chain.max_encoded_bytes());
        // The metadata give no bound for chunks of variable size, so their limit is the memory of the thread.
        let limit = buffers.workspace.limit;
        let bound = limit.map_or_else(largest, Ok)?;
        let found = self.node.read_into(&key, bound, &mut buffers.bytes).map_err(|error| match error {
            StoreError::TooLarge { found, .. } if limit.is_some() => Fault::Memory { needed: found },
            error => Fault::Store(error),
        })?;
        if !found {
            self.missing.absent(object, (&self.node, &key), self.present.as_ref())?;
        }
        Ok(found)
    }

    /// Opens an object whose subchunks are read. Reads the index of a shard that can be streamed, unless its entries
    /// are read one by one (`by_entries`). All subchunks of an absent shard are absent.
    pub fn open_subchunks(&self, object: u64, by_entries: bool, buffers: &mut ReadBuffers) -> Result<OpenedObject<'_>> {
        let (layout, subchunks) = (self.layout_of(object)?, self.subchunks_of(object));
        let reader = if layout.is_some() { self.open_object(object)? } else { None };
        let index = match (&layout, &reader) {
            (Some(layout), Some(reader)) if !by_entries => Some(layout.read_index(reader, buffers)?),
            _ => None,
        };
        Ok(OpenedObject { array: self, object, subchunks, layout, reader, index })
    }
}

/// Open object whose subchunks are read.
pub struct OpenedObject<'a> {
    pub(super) array: &'a StoredArray,
    object: u64,
    /// Subchunks of the object, as a box of their grid.
    pub subchunks: Region,
    /// Layout of the shard. `None` means that the object is a single subchunk.
    layout: Option<ForShape<'a, ShardLayout>>,
    /// Reader of a shard. `None` means that it is absent.
    reader: Option<ObjectReader>,
    /// Index of the shard. `None` means that each entry is read when it is needed.
    index: Option<Vec<IndexEntry>>,
}

impl OpenedObject<'_> {
    /// Returns true for a shard that is absent.
    pub fn is_absent(&self) -> bool {
        self.layout.is_some() && self.reader.is_none()
    }

    /// Returns the offset and the length in bytes of an inner chunk, or `None` if it is absent.
    pub fn entry(&self, subchunk: &[u64], buffers: &mut ReadBuffers) -> Result<IndexEntry> {
        let (Some(layout), Some(reader)) = (&self.layout, &self.reader) else { return Ok(None) };
        let number = layout.entry_of(subchunk, &self.subchunks.start);
        match &self.index {
            Some(index) => Ok(index.get(number).copied().flatten()),
            None => layout.read_entry(reader, number, buffers),
        }
    }

    /// Reads an encoded subchunk. Returns its offset in the object, or `None` if it is absent. Fails if it is larger
    /// than the memory of the workspace. If that is unlimited, the limit is the chain's largest output.
    pub fn fetch(&self, subchunk: &[u64], buffers: &mut ReadBuffers) -> Result<Option<u64>> {
        let Some(layout) = &self.layout else { return Ok(self.array.read_object(self.object, buffers)?.then_some(0)) };
        let entry = self.entry(subchunk, buffers)?;
        let Some((reader, (offset, length))) = self.reader.as_ref().zip(entry) else { return Ok(None) };
        let limit = buffers.workspace.limit;
        let bound = limit.unwrap_or_else(|| layout.subchunk.max_encoded_bytes());
        if length > bound {
            if limit.is_some() {
                return Err(Fault::Memory { needed: length });
            }
            let inside = zip_with(subchunk, &self.subchunks.start, |index, first| index - first);
            let found = format!("inner chunk {inside:?} at byte {offset} holds {length} bytes");
            return Err(Fault::Other(format!("{found}, at most {bound} expected")));
        }
        reader.read_at(offset, length, &mut buffers.bytes)?;
        Ok(Some(offset))
    }

    /// Announces reads of a box of inner chunks to the store.
    fn expect(&self, subchunks: &Region) {
        let (Some(layout), Some(reader), Some(index)) = (&self.layout, &self.reader, &self.index) else { return };
        reader.prefetch(&|| {
            let number = |subchunk: Vec<u64>| layout.entry_of(&subchunk, &self.subchunks.start);
            subchunks.cells().filter_map(|subchunk| index.get(number(subchunk)).copied().flatten()).collect()
        });
    }

    /// Announces reads of all units that overlap the selection.
    pub fn expect_all(&self) {
        // Cached units are not read again.
        if self.index.is_some() && !self.array.keeps_some_of(self.object) {
            self.expect(&self.subchunks_in(&self.array.selection()));
        }
    }

    /// Returns the size of the encoded index in bytes, or 0 if it was not read as a whole.
    pub fn index_bytes(&self) -> u64 {
        self.layout.as_ref().filter(|_| self.index.is_some()).map_or(0, |layout| layout.sharding.index_bytes)
    }
}

/// Reader of an array's encoded subchunks by position. It keeps the latest shards open, and threads share it.
pub struct SubchunkSource<'a> {
    /// The array.
    pub array: &'a StoredArray,
    /// The array in faults.
    of: ObjectOf,
    /// True if only few entries of each index are needed, so that each is read alone.
    pub reads_entries: bool,
    /// True if all inner chunks of an open shard are read.
    pub reads_all: bool,
    /// Latest shards, newest first.
    opened: Mutex<VecDeque<(u64, Arc<OpenedObject<'a>>)>>,
    /// Size in bytes of the indexes that were read.
    index_bytes: AtomicU64,
}

impl<'a> SubchunkSource<'a> {
    /// Creates a reader of an array.
    pub fn new(array: &'a StoredArray) -> Self {
        let (opened, index_bytes) = (Mutex::default(), AtomicU64::new(0));
        SubchunkSource { array, of: ObjectOf::Source, reads_entries: false, reads_all: false, opened, index_bytes }
    }

    /// Creates a reader of the array that is named as the destination in faults.
    pub fn of_destination(array: &'a StoredArray) -> Self {
        SubchunkSource { of: ObjectOf::Destination, ..Self::new(array) }
    }

    /// Adds the object of a subchunk to a fault, unless it has an object.
    pub fn located(&self, fault: Fault, subchunk: &[u64]) -> Fault {
        fault.of(self.of, self.array.object_of(subchunk))
    }

    /// Returns true if subchunks should be read shard by shard, because the whole index of each is read.
    pub fn reads_indexes(&self) -> bool {
        self.array.layout.is_some() && !self.reads_entries
    }

    /// Returns the size in bytes of the indexes that were read.
    pub fn index_bytes(&self) -> u64 {
        self.index_bytes.load(Ordering::Relaxed)
    }

    /// Announces reads of a box of subchunks in one shard, if the store needs hints.
    pub fn expect(&self, subchunks: &Region, buffers: &mut ReadBuffers) -> Result<()> {
        if self.array.node.prefetch_limit().is_none() || subchunks.is_empty() {
            return Ok(());
        }
        let expect = |object| Ok(self.shard(object, buffers)?.inspect(|shard| shard.expect(subchunks)).is_some());
        self.look_up(&subchunks.start, expect).map(drop)
    }

    /// Reads an encoded subchunk. Returns false if it is absent. Fails if it is larger than the memory of the
    /// workspace. If that is unlimited, the limit is the chain's largest output.
    pub fn read(&self, subchunk: &[u64], buffers: &mut ReadBuffers) -> Result<bool> {
        self.look_up(subchunk, |object| match self.shard(object, buffers)? {
            Some(shard) => Ok(shard.fetch(subchunk, buffers)?.is_some()),
            None => self.array.read_object(object, buffers),
        })
    }

    /// Returns true if the shard's index contains a subchunk. Without shards, returns true if the object may exist.
    pub fn holds(&self, subchunk: &[u64], buffers: &mut ReadBuffers) -> Result<bool> {
        self.look_up(subchunk, |object| match self.shard(object, buffers)? {
            Some(shard) => Ok(shard.entry(subchunk, buffers)?.is_some()),
            None => Ok(true),
        })
    }

    /// Calls `look` with the object of a subchunk if it may exist.
    fn look_up(&self, subchunk: &[u64], look: impl FnOnce(u64) -> Result<bool>) -> Result<bool> {
        let object = self.array.object_of(subchunk);
        if !self.array.may_hold(object) {
            return Ok(false);
        }
        look(object).map_err(|fault| fault.of(self.of, object))
    }

    /// Returns an open shard, or opens it. Returns `None` if the array has no streamed shards.
    fn shard(&self, object: u64, buffers: &mut ReadBuffers) -> Result<Option<Arc<OpenedObject<'a>>>> {
        if self.array.layout.is_none() {
            return Ok(None);
        }
        let kept = || held(&self.opened);
        if let Some((_, shard)) = kept().iter().find(|(index, _)| *index == object) {
            return Ok(Some(shard.clone()));
        }
        // The list is not locked meanwhile, so threads can open different shards at once.
        let shard = Arc::new(self.array.open_subchunks(object, self.reads_entries, buffers)?);
        let mut kept = kept();
        // If two threads open a shard at once, it is counted once, and both share it.
        if let Some((_, known)) = kept.iter().find(|(index, _)| *index == object) {
            return Ok(Some(known.clone()));
        }
        if self.reads_all {
            shard.expect_all();
        }
        self.index_bytes.fetch_add(shard.index_bytes(), Ordering::Relaxed);
        kept.truncate(MOST_OPEN_SHARDS - 1);
        kept.push_front((object, shard.clone()));
        Ok(Some(shard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crop_keeps_a_box() {
        let mut bytes: Vec<u8> = (0..48).collect();
        crop(&mut bytes, &[2, 3, 4], (&[0, 0, 0], &[2, 2, 3]), 2);
        let expected = [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13];
        let second = expected.map(|byte| byte + 24);
        assert_eq!(bytes, [expected, second].concat());
        crop(&mut bytes, &[], (&[], &[]), 1);
        assert_eq!(bytes, [0]);
        let mut bytes: Vec<u8> = (0..12).collect();
        crop(&mut bytes, &[3, 4], (&[1, 2], &[2, 2]), 1);
        assert_eq!(bytes, [6, 7, 10, 11]);
    }
}

//! Shards as streams of inner chunks: read by range, written in order, never whole in memory.

use super::{Fault, ReadBuffers, Result};
use crate::codec::{
    BoundChain, BoundCodec, BoundSharding, ByShape, ChainFault, ChainFaultKind, Codec, IndexEntry, OfShape, Role,
    Workspace, as_index,
};
use crate::grid::{ravel, zip_with};
use crate::pipeline::IndexLocation;
use crate::store::{ObjectReader, ObjectWriter, StoreError};

/// A chain whose shards can be streamed: array->array codecs, then `sharding_indexed`, then nothing.
#[derive(Debug, Clone)]
pub struct ShardLayout {
    /// The codec.
    pub sharding: BoundSharding,
    /// Its place in the chain.
    pub place: usize,
    /// The chain of an inner chunk from the array itself: the codecs in front of the shard, then those inside.
    pub subchunk: BoundChain,
    /// The array's dimension that stands at each dimension of the shard.
    pub order: Vec<usize>,
    /// The layouts of shards of other shapes.
    by_shape: ByShape<ShardLayout>,
}

impl ShardLayout {
    /// The place of `sharding_indexed` in a chain that can be streamed.
    pub fn place_in(chain: &BoundChain) -> Option<usize> {
        let place = chain.num_array_to_array();
        let Codec::Sharding(sharding) = &chain.codecs().get(place)?.codec else { return None };
        // A shard inside a shard is decoded whole.
        let is_shard = |codec: &BoundCodec| matches!(codec.codec, Codec::Sharding(_));
        let is_nested = sharding.inner().codecs().iter().any(is_shard);
        (place + 1 == chain.codecs().len() && !is_nested).then_some(place)
    }

    /// The layout, from the chain and the chain of its subchunks.
    pub fn new(chain: &BoundChain, subchunk: BoundChain) -> Option<Self> {
        let place = Self::place_in(chain)?;
        let Codec::Sharding(sharding) = &chain.codecs()[place].codec else { return None };
        let mut order: Vec<usize> = (0..chain.decoded().shape.len()).collect();
        for codec in &chain.codecs()[..place] {
            if let Role::Transpose(permutation) = codec.codec.role() {
                order = permutation.iter().map(|dimension| order[*dimension]).collect();
            }
        }
        let by_shape = ByShape::default();
        Some(ShardLayout { sharding: (**sharding).clone(), place, subchunk, order, by_shape })
    }

    /// Lets `cast_value` take the nearest code from now on, in inner chunks.
    pub fn encode_to_nearest(&mut self) {
        self.by_shape = ByShape::default();
        self.subchunk.encode_to_nearest();
    }

    /// The layout of shards of another shape, by the chain that is bound for them; `None` where that cannot be streamed.
    pub fn for_chain(&self, chain: &BoundChain) -> Option<OfShape<'_, ShardLayout>> {
        let make = || ShardLayout::new(chain, self.subchunk.clone()).ok_or(());
        self.by_shape.get(&chain.decoded().shape, make).ok().map(OfShape::Made)
    }

    /// The entry of a subchunk in the index.
    pub fn entry_of(&self, subchunk: &[u64]) -> usize {
        let inner: Vec<u64> = self.order.iter().map(|dimension| subchunk[*dimension]).collect();
        as_index(ravel(&inner, self.sharding.grid_shape()))
    }

    /// Reads and decodes the index of an opened shard.
    pub fn read_index(&self, reader: &ObjectReader, buffers: &mut ReadBuffers) -> Result<Vec<IndexEntry>> {
        let fault = |kind| self.fault(kind);
        let (offset, length) = self.sharding.index_range(reader.length()).map_err(fault)?;
        reader.read_at(offset, length, &mut buffers.bytes)?;
        self.sharding.decode_index(&buffers.bytes, reader.length(), &mut buffers.workspace).map_err(fault)
    }

    /// Reads one entry of the index of an opened shard, all of it where the entry cannot be read by itself.
    pub fn read_entry(&self, reader: &ObjectReader, entry: usize, buffers: &mut ReadBuffers) -> Result<IndexEntry> {
        let Some((offset, length)) = self.sharding.entry_range(entry, reader.length()) else {
            return Ok(self.read_index(reader, buffers)?.get(entry).copied().flatten());
        };
        reader.read_at(offset, length, &mut buffers.bytes)?;
        self.sharding.decode_entry(entry, &buffers.bytes, reader.length()).map_err(|kind| self.fault(kind))
    }

    fn fault(&self, kind: ChainFaultKind) -> Fault {
        Fault::Chain(ChainFault { place: self.place.to_string().into(), codec: "sharding_indexed".to_owned(), kind })
    }
}

/// A shard being written: inner chunks as they come, then the index.
#[derive(Debug)]
pub struct ShardWriter<'a> {
    layout: OfShape<'a, ShardLayout>,
    /// The position in the array of its first inner chunk.
    first: Vec<u64>,
    writer: ObjectWriter,
    entries: Vec<IndexEntry>,
    position: u64,
    buffered: Vec<u8>,
}

/// Small inner chunks are gathered up to this many bytes before they are written.
const GATHER: usize = 1 << 18;

impl<'a> ShardWriter<'a> {
    /// Begins a shard in a new object.
    pub fn new(layout: OfShape<'a, ShardLayout>, first: Vec<u64>, mut writer: ObjectWriter) -> Result<Self> {
        let sharding = &layout.sharding;
        let position = match sharding.index_location() {
            IndexLocation::Start => sharding.index_bytes(),
            IndexLocation::End => 0,
        };
        writer.append(&vec![0; as_index(position)])?;
        let entries = vec![None; as_index(sharding.num_inner_chunks())];
        Ok(ShardWriter { layout, first, writer, entries, position, buffered: Vec::new() })
    }

    /// Appends the inner chunk at a position in the array; one that never comes is absent.
    pub fn append(&mut self, subchunk: &[u64], encoded: &[u8]) -> Result<(), StoreError> {
        let entry = self.layout.entry_of(&zip_with(subchunk, &self.first, |index, first| index - first));
        let length = encoded.len() as u64;
        self.entries[entry] = Some((self.position, length));
        self.position += length;
        if self.buffered.len() + encoded.len() > GATHER {
            self.flush()?;
        }
        if encoded.len() > GATHER {
            return self.writer.append(encoded);
        }
        self.buffered.extend_from_slice(encoded);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.writer.append(&self.buffered)?;
        self.buffered.clear();
        Ok(())
    }

    /// Writes the index; the size of the shard in bytes.
    pub fn finish(mut self) -> Result<u64> {
        let mut index = Vec::new();
        let sharding = &self.layout.sharding;
        sharding.encode_index(&self.entries, &mut index, &mut Workspace::default()).map_err(|kind| {
            Fault::Chain(ChainFault { place: "-".into(), codec: "sharding_indexed".to_owned(), kind })
        })?;
        self.flush()?;
        let length = match self.layout.sharding.index_location() {
            IndexLocation::Start => {
                self.writer.write_at_start(&index)?;
                self.position
            }
            IndexLocation::End => {
                self.writer.append(&index)?;
                self.position + index.len() as u64
            }
        };
        self.writer.finish()?;
        Ok(length)
    }
}

//! Shards as streams of inner chunks. They are read by ranges and written sequentially, never as a whole.

use super::{Fault, ReadBuffers, Result};
use crate::codec::{
    BoundChain, BoundCodec, BoundSharding, ChainFault, ChainFaultKind, Codec, ForShape, IndexEntry, PerShape,
    Workspace, as_index, conversion,
};
use crate::grid::ravel;
use crate::pipeline::IndexLocation;
use crate::store::{ObjectReader, ObjectWriter, StoreError};

/// Layout of shards that can be streamed. Their chain consists of array->array codecs, then `sharding_indexed` as the
/// last codec.
#[derive(Debug, Clone)]
pub struct ShardLayout {
    /// The sharding codec.
    pub sharding: BoundSharding,
    /// Index of that codec in the chain.
    pub codec_index: usize,
    /// Chain of an inner chunk from the array: the codecs before `sharding_indexed`, then the inner ones.
    pub subchunk: BoundChain,
    /// Array dimension for each dimension of the shard.
    pub order: Vec<usize>,
    /// Layouts for shards of other shapes.
    by_shape: PerShape<ShardLayout>,
}

impl ShardLayout {
    /// Returns the index of `sharding_indexed` in the chain, or `None` if its shards cannot be streamed.
    pub fn index_in(chain: &BoundChain) -> Option<usize> {
        let codec_index = chain.num_array_to_array();
        let Codec::Sharding(sharding) = &chain.codecs().get(codec_index)?.codec else { return None };
        // A nested shard is decoded as a whole.
        let is_shard = |codec: &BoundCodec| matches!(codec.codec, Codec::Sharding(_));
        let is_nested = sharding.inner.codecs().iter().any(is_shard);
        let is_streamed = codec_index + 1 == chain.codecs().len() && !is_nested;
        (is_streamed && Self::keeps_fill_value(chain, codec_index, sharding)).then_some(codec_index)
    }

    /// Returns true if absent inner chunks contain the fill value of the array. They contain that of the codec's input,
    /// so the codecs before it must decode one to the other.
    fn keeps_fill_value(chain: &BoundChain, codec_index: usize, sharding: &BoundSharding) -> bool {
        let programs = codec_index.checked_sub(1).and_then(|last| conversion::value_programs(chain, last));
        let Some(([_, decode], fill)) = programs.zip(chain.decoded().fill_value.as_ref()) else { return true };
        let absent = sharding.inner.decoded().fill_value.as_ref();
        absent.and_then(|absent| decode.run_alone(&absent.0)).is_some_and(|decoded| decoded == fill.0)
    }

    /// Creates the layout from the chain and the chain of its subchunks. Returns `None` if it cannot be streamed.
    pub fn new(chain: &BoundChain, subchunk: BoundChain) -> Option<Self> {
        let codec_index = Self::index_in(chain)?;
        let Codec::Sharding(sharding) = &chain.codecs()[codec_index].codec else { return None };
        let order = (0..chain.decoded().shape.len()).collect();
        let before = chain.codecs()[..codec_index].iter();
        let order = before.fold(order, |order, codec| codec.codec.effect().order_after(order));
        let by_shape = PerShape::default();
        Some(ShardLayout { sharding: (**sharding).clone(), codec_index, subchunk, order, by_shape })
    }

    /// Makes `cast_value` encode to the nearest code in inner chunks.
    pub fn encode_to_nearest(&mut self) {
        self.by_shape = PerShape::default();
        self.subchunk.encode_to_nearest();
    }

    /// Returns the layout for shards of another shape, from their chain. Returns `None` if they cannot be streamed.
    pub fn for_chain(&self, chain: &BoundChain) -> Option<ForShape<'_, ShardLayout>> {
        let make = || ShardLayout::new(chain, self.subchunk.clone()).ok_or(());
        self.by_shape.get(&chain.decoded().shape, make).ok().map(ForShape::Made)
    }

    /// Returns the number of a subchunk's entry in the index of the shard whose first subchunk is `first`.
    pub fn entry_of(&self, subchunk: &[u64], first: &[u64]) -> usize {
        let inner: Vec<u64> = self.order.iter().map(|dimension| subchunk[*dimension] - first[*dimension]).collect();
        as_index(ravel(&inner, &self.sharding.grid_shape))
    }

    /// Reads and decodes the index of an open shard.
    pub fn read_index(&self, reader: &ObjectReader, buffers: &mut ReadBuffers) -> Result<Vec<IndexEntry>> {
        let fault = |kind| self.fault(kind);
        let (offset, length) = self.sharding.index_range(reader.length()).map_err(fault)?;
        reader.read_at(offset, length, &mut buffers.bytes)?;
        self.sharding.decode_index(&buffers.bytes, reader.length(), &mut buffers.workspace).map_err(fault)
    }

    /// Reads one entry of the index. If it cannot be read alone, reads the whole index.
    pub fn read_entry(&self, reader: &ObjectReader, entry: usize, buffers: &mut ReadBuffers) -> Result<IndexEntry> {
        let Some((offset, length)) = self.sharding.entry_range(entry, reader.length()) else {
            return Ok(self.read_index(reader, buffers)?.get(entry).copied().flatten());
        };
        reader.read_at(offset, length, &mut buffers.bytes)?;
        self.sharding.decode_entry(entry, &buffers.bytes, reader.length()).map_err(|kind| self.fault(kind))
    }

    fn fault(&self, kind: ChainFaultKind) -> Fault {
        Fault::Chain(ChainFault::new(self.codec_index.to_string(), "sharding_indexed", kind))
    }
}

/// Shard that is being written: first the inner chunks in any order, then the index.
#[derive(Debug)]
pub struct ShardWriter<'a> {
    layout: ForShape<'a, ShardLayout>,
    /// Position of its first inner chunk in the array.
    first: Vec<u64>,
    writer: ObjectWriter,
    entries: Vec<IndexEntry>,
    position: u64,
    buffered: Vec<u8>,
}

/// Small inner chunks are collected up to this many bytes before a write.
const GATHER: usize = 1 << 18;

impl<'a> ShardWriter<'a> {
    /// Starts a shard in a new object.
    pub fn new(layout: ForShape<'a, ShardLayout>, first: Vec<u64>, mut writer: ObjectWriter) -> Result<Self> {
        let sharding = &layout.sharding;
        let position = match sharding.index_location {
            IndexLocation::Start => sharding.index_bytes,
            IndexLocation::End => 0,
        };
        // An index at the start is known only at the end. Until then these bytes reserve its space.
        writer.append(&vec![0; as_index(position)])?;
        let entries = vec![None; as_index(sharding.num_inner_chunks())];
        Ok(ShardWriter { layout, first, writer, entries, position, buffered: Vec::new() })
    }

    /// Appends the inner chunk at a position in the array. Inner chunks that are never appended are absent.
    pub fn append(&mut self, subchunk: &[u64], encoded: &[u8]) -> Result<(), StoreError> {
        let entry = self.layout.entry_of(subchunk, &self.first);
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

    /// Writes the index. Returns the size of the shard in bytes.
    pub fn finish(mut self) -> Result<u64> {
        let mut index = Vec::new();
        let sharding = &self.layout.sharding;
        sharding
            .encode_index(&self.entries, &mut index, &mut Workspace::default())
            .map_err(|kind| Fault::Chain(ChainFault::new("-", "sharding_indexed", kind).of_encoding()))?;
        self.flush()?;
        let length = match self.layout.sharding.index_location {
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

//! Stored array: its node, grid and codec chain, and which of its chunks exist. Also computes the boxes and shapes of
//! its objects and subchunks. Shards are streams of inner chunks. They are read by ranges and written sequentially,
//! never as a whole.
//!
//! In a regular grid all have one shape, which needs no lookup. All shards of a rectilinear grid have inner chunks of
//! the same shape.

use std::sync::{Arc, Mutex};

use super::{ArrayCache, ChunkSet, ChunkSetBuilder, Fault, PIECE, ReadBuffers, Result, position};
use crate::codec::{
    BindError, BoundChain, BoundCodec, BoundSharding, ChainFault, ChainFaultKind, ChunkWriting, Codec, ForShape,
    IndexEntry, PerShape, Workspace, as_index, conversion,
};
use crate::grid::{Grid, Region, ravel};
use crate::metadata::ArrayMetadata;
use crate::pipeline::IndexLocation;
use crate::store::{Node, ObjectReader, ObjectWriter, StoreError, held};

/// Most shards that are kept open, with their indexes.
pub const MOST_OPEN_SHARDS: usize = 16;

/// Stored array.
#[derive(Debug, Clone)]
pub struct StoredArray {
    /// Node of the array.
    pub node: Node,
    /// Metadata of the array.
    pub metadata: ArrayMetadata,
    /// Codec chain of a stored object.
    pub chain: BoundChain,
    /// Layout of the shards, if they can be streamed.
    pub layout: Option<ShardLayout>,
    /// Grid of the subchunks: of the inner chunks of streamed shards, else of the objects.
    pub subchunk_grid: Grid,
    /// Existing objects of the grid. `None` means that they are not known, and each key is tried.
    pub present: Option<ChunkSet>,
    /// Objects that reads found absent, if `present` is `None`.
    pub missing: Missing,
    /// Chunks that an earlier pass has read.
    pub cache: ArrayCache,
}

/// Objects that reads found absent. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Missing(Arc<Mutex<ChunkSetBuilder>>);

impl Missing {
    /// Records an absent object. Fails if it was listed, unless refused objects count as absent.
    pub fn absent(&self, object: u64, (node, key): (&Node, &str), present: Option<&ChunkSet>) -> Result<()> {
        if present.is_none() {
            held(&self.0).insert(object);
        } else if !node.refused_is_absent() {
            return Err(node.vanished(key).into());
        }
        Ok(())
    }

    /// Returns the number of recorded objects.
    pub fn count(&self) -> u64 {
        let mut found = held(&self.0);
        let all = std::mem::take(&mut *found).finish();
        let count = all.len();
        found.insert_all(&all);
        count
    }
}

impl StoredArray {
    /// Creates an array whose existing objects are not known.
    pub fn new(node: Node, metadata: ArrayMetadata, chain: BoundChain, layout: Option<ShardLayout>) -> StoredArray {
        let inner = layout.as_ref().map(|layout| Grid::regular(&metadata.shape, &layout.subchunk.decoded().shape));
        let subchunk_grid = inner.unwrap_or_else(|| metadata.grid.clone());
        let (present, missing, cache) = (None, Missing::default(), ArrayCache::default());
        StoredArray { node, metadata, chain, layout, subchunk_grid, present, missing, cache }
    }

    /// Returns the array with shards that are decoded as a whole.
    #[must_use]
    pub fn without_layout(self) -> Self {
        StoredArray { layout: None, subchunk_grid: self.metadata.grid.clone(), ..self }
    }

    /// Returns the array with its existing objects.
    #[must_use]
    pub fn with_present(self, present: Option<&ChunkSet>) -> Self {
        StoredArray { present: present.cloned(), ..self }
    }

    /// Returns the existing objects, or the whole grid if they are not known.
    pub fn objects(&self) -> ChunkSet {
        self.present.clone().unwrap_or_else(|| ChunkSet::full(self.metadata.num_chunks()))
    }

    /// Returns true if an object may exist.
    pub fn may_hold(&self, object: u64) -> bool {
        self.present.as_ref().is_none_or(|present| present.contains(object))
    }

    /// Returns the size of a decoded object in bytes.
    pub fn chunk_bytes(&self) -> u64 {
        self.chain.decoded().num_bytes().unwrap_or(0)
    }

    /// Returns the key of an object of the grid.
    pub fn key(&self, index: u64) -> String {
        self.metadata.chunk_key_encoding.key(&position(index, &self.metadata))
    }

    /// Returns the shape of the part of a box inside the array, or `None` if the whole box is inside.
    pub fn cropped(&self, region: &Region) -> Option<Vec<u64>> {
        let valid = region.within(&region.start, &self.metadata.shape).shape;
        (valid != region.shape).then_some(valid)
    }

    /// Returns the first element of an object of the grid.
    pub fn start_of(&self, index: u64) -> Vec<u64> {
        self.metadata.grid.start_of(&position(index, &self.metadata))
    }

    /// Returns the codec chain of a subchunk.
    pub fn subchunk_chain(&self) -> &BoundChain {
        self.layout.as_ref().map_or(&self.chain, |layout| &layout.subchunk)
    }

    /// Returns the bytes of the fill value, or zeros if the metadata have none.
    pub fn fill_value(&self) -> Vec<u8> {
        let decoded = self.chain.decoded();
        let zeros = || vec![0; decoded.data_type.size().unwrap_or(1)];
        decoded.fill_value.as_ref().map_or_else(zeros, |fill_value| fill_value.0.clone())
    }

    /// Makes `cast_value` encode to the nearest code, also inside shards.
    pub fn encode_to_nearest(&mut self) {
        self.chain.write_with(ChunkWriting { to_nearest: true, ..self.chain.writing });
        if let Some(layout) = &mut self.layout {
            layout.encode_to_nearest();
        }
    }

    /// Returns the number of elements of a subchunk along each dimension.
    pub fn subchunk_shape(&self) -> &[u64] {
        &self.subchunk_chain().decoded().shape
    }

    /// Returns the order of the dimensions of the subchunks in an object, as indices of the array's dimensions.
    pub fn subchunk_order(&self) -> Vec<usize> {
        self.layout.as_ref().map_or_else(|| (0..self.metadata.shape.len()).collect(), |layout| layout.order.clone())
    }

    /// Returns the object that contains a subchunk.
    pub fn object_of(&self, subchunk: &[u64]) -> u64 {
        let grid = &self.metadata.grid;
        if self.layout.is_none() {
            return ravel(subchunk, &grid.counts());
        }
        let start = self.subchunk_grid.start_of(subchunk);
        let object: Vec<u64> = grid.axes().iter().zip(&start).map(|(axis, start)| axis.chunk_of(*start)).collect();
        ravel(&object, &grid.counts())
    }

    /// Returns true if only whole subchunks are skipped. The rest then has the same subchunks as an array of its own.
    pub fn skips_whole_subchunks(&self) -> bool {
        let skipped = &self.metadata.skipped;
        let is_whole = |(skipped, length): (&u64, &u64)| skipped.is_multiple_of((*length).max(1));
        !self.metadata.skips() || (self.layout.is_some() && skipped.iter().zip(self.subchunk_shape()).all(is_whole))
    }

    /// Returns the memory of a shard's index in bytes, encoded and decoded. It is 0 without streamed shards.
    pub fn index_bytes(&self) -> u64 {
        let Some(layout) = &self.layout else { return 0 };
        let entries = layout.sharding.num_inner_chunks().saturating_mul(size_of::<IndexEntry>() as u64);
        entries.saturating_add(layout.sharding.index_bytes.saturating_mul(3))
    }

    /// Returns the memory of a thread for the read of a subchunk, in bytes. It contains both buffers of the largest
    /// codec, the memory of the codecs, and the index of a shard.
    pub fn reading_bytes(&self) -> u64 {
        let chain = self.subchunk_chain();
        let buffers = chain.max_representation_bytes().saturating_mul(2);
        buffers.saturating_add(chain.context_bytes()).saturating_add(self.index_bytes())
    }

    /// Like [`StoredArray::reading_bytes`], if elements can be read in pieces. This needs chunks that are not encoded.
    pub fn reading_bytes_in_pieces(&self) -> u64 {
        if self.has_plain_chunks() && !self.has_edges() {
            return self.chunk_bytes().min(PIECE as u64);
        }
        self.reading_bytes()
    }

    /// Returns true if the bytes of an object are its elements, so that any part of it can be read. Elements that may
    /// be invalid are checked chunk by chunk.
    pub fn has_plain_chunks(&self) -> bool {
        self.layout.is_none() && self.chain.is_plain() && !self.chain.checks_values()
    }

    /// Returns true if chunks may reach beyond the edge of the array, or begin before its selected part.
    pub fn has_edges(&self) -> bool {
        let mut axes = self.metadata.shape.iter().zip(self.subchunk_shape());
        !self.is_regular()
            || self.metadata.skips()
            || axes.any(|(length, chunk)| !length.is_multiple_of((*chunk).max(1)))
    }

    /// Returns the most shards that are kept open while the shards of `other` are written.
    pub fn num_open_shards(&self, other: &StoredArray) -> u64 {
        let same = !self.metadata.skips() && self.metadata.grid.has_chunks_of(&other.metadata.grid);
        // With the same grid, a source shard is read only for the shard at the same position.
        self.metadata.num_chunks().clamp(1, if same { 1 } else { MOST_OPEN_SHARDS as u64 })
    }

    /// Returns true if all objects have the same shape.
    pub fn is_regular(&self) -> bool {
        self.metadata.grid.uniform().is_some()
    }

    /// Returns the box of an object of the grid, including its part beyond the edge.
    pub fn region_of(&self, object: u64) -> Region {
        self.metadata.grid.region_of(&position(object, &self.metadata))
    }

    /// Returns the codec chain of an object of the grid.
    pub fn chain_of(&self, index: u64) -> Result<ForShape<'_, BoundChain>> {
        if self.is_regular() {
            return Ok(ForShape::Same(&self.chain));
        }
        let shape = self.metadata.grid.shape_of(&position(index, &self.metadata));
        self.chain.for_shape(&shape).map_err(|error| unbound(&error))
    }

    /// Returns the layout of an object of the grid, or `None` without streamed shards.
    pub fn layout_of(&self, index: u64) -> Result<Option<ForShape<'_, ShardLayout>>> {
        let Some(layout) = &self.layout else { return Ok(None) };
        if self.is_regular() {
            return Ok(Some(ForShape::Same(layout)));
        }
        let refused = || Fault::Other("the shard is not cut like the other shards of its array".to_owned());
        layout.for_chain(&*self.chain_of(index)?).map(Some).ok_or_else(refused)
    }

    /// Returns the codec chain of a subchunk at a position.
    pub fn chain_of_subchunk(&self, subchunk: &[u64]) -> Result<ForShape<'_, BoundChain>> {
        match &self.layout {
            Some(layout) => Ok(ForShape::Same(&layout.subchunk)),
            None => self.chain.for_chunk(&self.metadata.grid, subchunk).map_err(|error| unbound(&error)),
        }
    }

    /// Returns the selected part of the array.
    pub fn selection(&self) -> Region {
        Region::between(self.metadata.skipped.clone(), &self.metadata.shape)
    }

    /// Returns the part of a box inside the selected part of the array. Its shape may contain zeros.
    #[must_use]
    pub fn inside(&self, region: &Region) -> Region {
        region.within(&self.metadata.skipped, &self.metadata.shape)
    }

    /// Returns the objects of the grid that overlap a box inside the array.
    pub fn objects_in(&self, region: &Region) -> impl Iterator<Item = u64> + use<> {
        let grid = self.metadata.grid.counts();
        self.metadata.grid.chunks_in(region).cells().map(move |position| ravel(&position, &grid))
    }

    /// Returns true if the selection contains the whole part of an object inside the array.
    pub fn takes_whole(&self, object: u64) -> bool {
        let region = self.region_of(object);
        let is_skipped = region.start.iter().zip(&self.metadata.skipped).any(|(start, skipped)| start < skipped);
        !is_skipped && !self.metadata.cuts(&region)
    }

    /// Returns true if both arrays have the same boxes as subchunks.
    pub fn has_subchunks_of(&self, other: &StoredArray) -> bool {
        let [own, others] = [self, other].map(|side| &side.subchunk_grid);
        own.uniform().is_some() == others.uniform().is_some() && own.has_chunks_of(others)
    }

    /// Returns the subchunks of an object, as a box of their grid.
    pub fn subchunks_of(&self, object: u64) -> Region {
        if self.layout.is_some() {
            return self.region_of(object).chunks(self.subchunk_shape());
        }
        let start = position(object, &self.metadata);
        Region { shape: vec![1; start.len()], start }
    }
}

/// Returns a chunk full of one element.
pub fn filled(element: &[u8], chain: &BoundChain) -> Vec<u8> {
    element.repeat(as_index(chain.decoded().num_elements().unwrap_or(0)))
}

/// Moves the position of a faulty element from the chunk to the array.
pub fn at(fault: ChainFault, start: &[u64]) -> Fault {
    Fault::Chain(fault.moved_by(start))
}

/// Returns the fault of a chunk whose shape its codecs do not support.
pub fn unbound(error: &BindError) -> Fault {
    Fault::Other(format!("the chunk cannot be decoded: {error}"))
}

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
        self.subchunk.write_with(ChunkWriting { to_nearest: true, ..self.subchunk.writing });
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

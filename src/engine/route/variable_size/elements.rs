//! Boxes of variable-size elements, read from the subchunks that contain them. Also tracks the memory of a thread, as
//! the size of such subchunks is known only after decoding.

use std::borrow::Cow;

use lru::LruCache;

use crate::array::{Fault, ReadBuffers, Result, StoredArray, SubchunkSource, position};
use crate::codec::elements::RANGE_BYTES;
use crate::codec::{ChainFault, ChainFaultKind, ForShape, Recoding, VlenChain, VlenElements, Workspace, as_index};
use crate::grid::{Region, volume};
use crate::memory::fallibly;

/// Returns the chain that splits and builds a subchunk. It is shared if all subchunks have the same shape.
pub(super) fn chain_of<'c>(array: &StoredArray, subchunk: &[u64], chain: &'c VlenChain) -> Result<Cow<'c, VlenChain>> {
    match array.chain_of_subchunk(subchunk)? {
        ForShape::Same(_) => Ok(Cow::Borrowed(chain)),
        ForShape::Made(own) => VlenChain::new(&own).map(Cow::Owned).ok_or_else(not_taken_apart),
    }
}

pub(super) fn not_taken_apart() -> Fault {
    Fault::Other("its chunks are not cut".to_owned())
}

/// Reader of boxes of elements.
pub struct ElementReader<'p, 'a> {
    source: &'p SubchunkSource<'a>,
    /// `None` for elements of fixed length, which are read without their padding.
    chain: Option<VlenChain>,
    /// Fill value of the array.
    pub fill: Vec<u8>,
    /// Number of the array among those that a thread reads.
    number: usize,
}

impl<'p, 'a> ElementReader<'p, 'a> {
    /// Creates a reader. Returns `None` if the subchunks cannot be split into elements. A thread that reads several
    /// arrays must use a different number for each.
    pub fn new(source: &'p SubchunkSource<'a>, number: usize) -> Option<Self> {
        let chain = VlenChain::new(source.array.subchunk_chain());
        let fill = match &chain {
            Some(chain) => chain.fill_value().to_vec(),
            None => source.array.chain.decoded().data_type.without_padding(&source.array.fill_value())?,
        };
        Some(ElementReader { source, chain, fill, number })
    }

    /// Reads a box inside the selected part of the array. Counts the encoded bytes of its subchunks. If several boxes
    /// share a subchunk, it counts only for the box that contains its first element, from element `from` on.
    pub fn read(&self, block: &Region, from: &[u64], buffers: &mut VariableSizeBuffers) -> Result<VlenElements> {
        let (array, skipped) = (self.source.array, &self.source.array.metadata.skipped);
        let block = &block.moved_by(skipped);
        let counts_it = |subchunk: &[u64]| {
            let first = array.subchunk_grid.region_of(subchunk).start.into_iter().zip(from.iter().zip(skipped));
            let first = first.map(|(start, (from, skipped))| start.max(from.saturating_add(*skipped)));
            first.zip(&block.start).all(|(first, start)| *start <= first)
        };
        let count = volume(&block.shape);
        let fill = &self.fill;
        let subchunks = self.source.array.subchunk_grid.chunks_in(block);
        if let Err(fault) = buffers.take(count.saturating_mul(RANGE_BYTES).saturating_add(fill.len() as u64), 0) {
            // A chunk that claims more elements than it contains is a fault of the chunk, not of the memory.
            self.load(&subchunks.start, buffers)?;
            return Err(fault);
        }
        let mut elements = VlenElements { bytes: fill.clone(), ranges: Vec::new() };
        fallibly(|| elements.ranges.try_reserve_exact(as_index(count)))
            .map_err(|_| Fault::Memory { needed: count.saturating_mul(RANGE_BYTES) })?;
        elements.ranges.resize(as_index(count), (0, u32::try_from(fill.len()).unwrap_or(0)));
        self.each_within(&subchunks, |subchunk| {
            if let Some(length) = self.load(subchunk, buffers)? {
                buffers.source.bytes_read += if counts_it(subchunk) { length } else { 0 };
                self.gather(subchunk, block, buffers, &mut elements)?;
            }
            Ok(())
        })?;
        Ok(elements)
    }

    /// Visits the subchunks of a box that may exist. If fewer chunks are stored than the box contains, visits the
    /// stored ones.
    fn each_within(&self, subchunks: &Region, mut visit: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let array = self.source.array;
        let count = volume(&subchunks.shape);
        if let Some(present) = array.present.as_ref().filter(|_| array.layout.is_none())
            && present.len() < count
        {
            let present = present.iter().map(|object| position(object, &array.metadata));
            return present.filter(|subchunk| subchunks.contains(subchunk)).try_for_each(|subchunk| visit(&subchunk));
        }
        subchunks.cells().try_for_each(|subchunk| visit(&subchunk))
    }

    /// Makes a subchunk the most recent one in the cache. Returns its encoded size in bytes, or `None` if it is absent.
    fn load(&self, subchunk: &[u64], buffers: &mut VariableSizeBuffers) -> Result<Option<u64>> {
        let key = (self.number, subchunk.to_vec());
        if let Some(kept) = buffers.subchunks.by_key.get(&key) {
            return Ok(Some(kept.encoded));
        }
        let Some(chain) = &self.chain else { return self.load_fixed(key, buffers) };
        if !buffers.read(self.source, subchunk)? {
            return Ok(None);
        }
        let encoded = buffers.source.bytes.len() as u64;
        let array = self.source.array;
        let located = |fault: Fault| self.source.located(fault, subchunk);
        let chain = &*chain_of(array, subchunk, chain)?;
        let bytes = buffers.decode(chain).map_err(located)?;
        let mut ranges = Vec::new();
        // A length of 4 bytes precedes each element, so the chunk has no more elements, whatever it claims.
        let needed = chain.vlen.num_elements.min(bytes.len() as u64 / 4).saturating_mul(RANGE_BYTES);
        buffers.take(needed, 0)?;
        fallibly(|| ranges.try_reserve_exact(as_index(needed / RANGE_BYTES))).map_err(|_| Fault::Memory { needed })?;
        chain.ranges(&bytes, &mut ranges).map_err(|fault| located(Fault::Chain(fault)))?;
        let elements = VlenElements { bytes, ranges };
        buffers.keep(key, DecodedSubchunk { elements, encoded });
        Ok(Some(encoded))
    }

    /// Does the same with a subchunk of elements of fixed length. Its encoded size is counted when it is read.
    fn load_fixed(&self, key: SubchunkKey, buffers: &mut VariableSizeBuffers) -> Result<Option<u64>> {
        let (array, subchunk, before) = (self.source.array, &key.1, buffers.held);
        let located = |fault: Fault| self.source.located(fault, subchunk);
        let region = array.subchunk_grid.region_of(subchunk);
        let decoded = array.chain_of_subchunk(subchunk)?.decoded().clone();
        let (count, bytes) = (volume(&region.shape), decoded.num_bytes().unwrap_or(u64::MAX));
        // No text is longer in UTF-8 than in UTF-32.
        let own = count.saturating_mul(RANGE_BYTES).saturating_add(bytes);
        buffers.take(own.saturating_add(array.reading_bytes()), 0)?;
        // The memory of this read is reserved already.
        buffers.source.workspace.limit = None;
        let Some(stored) = buffers.source.read_subchunk(self.source, subchunk, &region).map_err(located)? else {
            buffers.held = before;
            return Ok(None);
        };
        let mut elements = VlenElements::default();
        fallibly(|| elements.ranges.try_reserve_exact(as_index(count)))
            .and_then(|()| fallibly(|| elements.bytes.try_reserve_exact(as_index(bytes))))
            .map_err(|_| Fault::Memory { needed: own })?;
        for element in stored.chunks_exact(decoded.data_type.size().unwrap_or(1).max(1)) {
            let element = decoded.data_type.without_padding(element);
            let element = element.ok_or_else(|| located(Fault::Other("an element is not text".to_owned())))?;
            elements.ranges.push((elements.bytes.len(), u32::try_from(element.len()).unwrap_or(u32::MAX)));
            elements.bytes.extend(element);
        }
        let subchunk = DecodedSubchunk { elements, encoded: 0 };
        buffers.held = before.saturating_add(subchunk.element_bytes());
        buffers.keep(key, subchunk);
        Ok(Some(0))
    }

    /// Copies the elements that a box shares with the most recent subchunk.
    fn gather(
        &self,
        subchunk: &[u64],
        block: &Region,
        buffers: &mut VariableSizeBuffers,
        elements: &mut VlenElements,
    ) -> Result<()> {
        let array = self.source.array;
        let region = array.subchunk_grid.region_of(subchunk);
        let strides = match &self.chain {
            Some(chain) => chain_of(array, subchunk, chain)?.strides(),
            None => (1..=region.shape.len()).map(|after| as_index(volume(&region.shape[after..]))).collect(),
        };
        let mut rows = region.common(block);
        // An array without dimensions has one row of one element.
        let row_length = as_index(rows.shape.last_mut().map_or(1, |last| std::mem::replace(last, 1)));
        let step = strides.last().copied().unwrap_or(0);
        // Indices of each common element in the subchunk and in the box, in C order.
        let pairs = || {
            rows.cells().flat_map(|row| {
                let offsets = row.iter().zip(&region.start).zip(&*strides);
                let from: usize = offsets.map(|((index, first), stride)| as_index(index - first) * stride).sum();
                let indices = row.iter().zip(&block.start).zip(&block.shape);
                let to = as_index(indices.fold(0, |to, ((index, first), length)| to * length + (index - first)));
                (0..row_length).map(move |nth| (from + nth * step, to + nth))
            })
        };
        let Some((_, loaded)) = buffers.subchunks.by_key.peek_mru() else { return Ok(()) };
        let length: u64 = pairs().map(|(from, _)| loaded.elements.element(from).len() as u64).sum();
        // A growing buffer may allocate twice its length.
        buffers.take(length.saturating_mul(2), 1)?;
        fallibly(|| elements.bytes.try_reserve(as_index(length))).map_err(|_| Fault::Memory { needed: length })?;
        let Some((_, loaded)) = buffers.subchunks.by_key.peek_mru() else { return Ok(()) };
        for (from, to) in pairs() {
            let element = loaded.elements.element(from);
            elements.ranges[to] = (elements.bytes.len(), u32::try_from(element.len()).unwrap_or(u32::MAX));
            elements.bytes.extend_from_slice(element);
        }
        Ok(())
    }
}

/// Most bytes that a thread keeps in addition to the current subchunk.
pub const BETWEEN_SUBCHUNKS: u64 = 1280 << 10;

/// Subchunk that is split into elements, for the next box that needs it.
struct DecodedSubchunk {
    elements: VlenElements,
    /// Encoded size in bytes.
    encoded: u64,
}

impl DecodedSubchunk {
    /// Returns the memory of the elements in bytes.
    fn element_bytes(&self) -> u64 {
        let ranges = (self.elements.ranges.capacity() as u64).saturating_mul(RANGE_BYTES);
        ranges.saturating_add(self.elements.bytes.capacity() as u64)
    }

    /// Returns the memory of the subchunk in bytes, with its cache entry.
    fn bytes(&self) -> u64 {
        const BESIDE: u64 = 256;
        self.element_bytes().saturating_add(BESIDE)
    }
}

/// Number of the array, and position of the subchunk in it.
type SubchunkKey = (usize, Vec<u64>);

/// Cache of a thread's subchunks. The least recently used one is dropped first.
struct SubchunkCache {
    by_key: LruCache<SubchunkKey, DecodedSubchunk>,
    bytes: u64,
}

impl Default for SubchunkCache {
    fn default() -> Self {
        SubchunkCache { by_key: LruCache::unbounded(), bytes: 0 }
    }
}

impl SubchunkCache {
    /// Drops the least recently used subchunk, unless only `last` are left. Returns true if one was dropped.
    fn drop_first(&mut self, last: usize) -> bool {
        let dropped = if self.by_key.len() > last { self.by_key.pop_lru() } else { None };
        self.bytes -= dropped.as_ref().map_or(0, |(_, dropped)| dropped.bytes());
        dropped.is_some()
    }
}

/// Buffers of a thread, reused for all subchunks.
#[derive(Default)]
pub struct VariableSizeBuffers {
    /// Memory limit in bytes.
    most: u64,
    /// Bytes that are used for any subchunk.
    base: u64,
    /// Bytes that are used for the current subchunk, without the cache.
    held: u64,
    /// Most bytes that were used at once since the buffers were last empty or small.
    peak: u64,
    subchunks: SubchunkCache,
    /// Encoded subchunk of the source.
    pub source: ReadBuffers,
    /// Subchunk of the source after the codecs that differ are decoded.
    pub kept: Vec<u8>,
    /// Encoded subchunk of the destination.
    pub written: Vec<u8>,
}

impl VariableSizeBuffers {
    /// Starts an object with a memory limit. `base` bytes of it are used for any subchunk.
    pub(super) fn begin(&mut self, bytes: u64, base: u64) {
        (self.most, self.held, self.base) = (bytes, 0, base);
    }

    /// Returns the number of free bytes.
    fn left(&self) -> u64 {
        self.most.saturating_sub(self.with_held(0))
    }

    /// Returns `bytes` plus the used bytes.
    fn with_held(&self, bytes: u64) -> u64 {
        [self.held, self.base, self.subchunks.bytes].into_iter().fold(bytes, u64::saturating_add)
    }

    /// Starts a subchunk.
    pub fn next(&mut self) {
        self.drop_large();
        // The cache leaves some memory free, so that the next subchunks rarely fail at the first attempt.
        while self.subchunks.bytes > self.most / 4 * 3 && self.subchunks.drop_first(0) {}
        self.held = 0;
    }

    /// Drops the buffers and codec contexts if they may have more bytes than are kept.
    fn drop_large(&mut self) {
        if std::mem::take(&mut self.peak) > BETWEEN_SUBCHUNKS {
            let bytes_read = self.source.bytes_read;
            (self.source, self.kept, self.written) = Default::default();
            self.source.bytes_read = bytes_read;
        }
    }

    /// Reserves memory. Drops cached subchunks if necessary, but not the latest `last`. Fails if too few bytes are
    /// free.
    pub(super) fn take(&mut self, bytes: u64, last: usize) -> Result<()> {
        while bytes > self.left() && self.subchunks.drop_first(last) {}
        if bytes > self.left() {
            return Err(Fault::Memory { needed: self.with_held(bytes) });
        }
        self.held += bytes;
        self.peak = self.peak.max(self.held);
        Ok(())
    }

    /// Adds a subchunk whose memory is reserved to the cache, as the most recent one.
    fn keep(&mut self, key: SubchunkKey, subchunk: DecodedSubchunk) {
        self.held = self.held.saturating_sub(subchunk.element_bytes());
        self.subchunks.bytes += subchunk.bytes();
        self.subchunks.by_key.put(key, subchunk);
    }

    /// Reads an encoded subchunk. Returns false if it is absent.
    pub fn read(&mut self, source: &SubchunkSource<'_>, subchunk: &[u64]) -> Result<bool> {
        loop {
            self.source.workspace.limit = Some(self.left());
            match source.read(subchunk, &mut self.source) {
                Err(fault) if fault.is_of_memory() && self.subchunks.drop_first(0) => {}
                Err(fault) => return Err(self.in_all(fault)),
                Ok(false) => return Ok(false),
                Ok(true) => return self.take(self.source.bytes.len() as u64, 0).map(|()| true),
            }
        }
    }

    /// Decodes the bytes->bytes codecs of the encoded subchunk. Afterwards only the memory of the result is reserved.
    fn decode(&mut self, chain: &VlenChain) -> Result<Vec<u8>> {
        let before = self.held.saturating_sub(self.source.bytes.len() as u64);
        let decode = |encoded: &[u8], kept: &mut _, work: &mut _| chain.decode(encoded, kept, work);
        self.decode_with(chain.num_buffers(), |bytes| chain.context_bytes(bytes), decode)?;
        let mut framed = std::mem::take(&mut self.kept);
        // The memory of a cached subchunk is counted by capacity.
        framed.shrink_to_fit();
        self.drop_large();
        self.held = before.saturating_add(framed.len() as u64);
        Ok(framed)
    }

    /// Decodes the codecs that differ, of the source or of the destination.
    pub fn decode_recoded(&mut self, recoding: &Recoding, is_source: bool) -> Result<()> {
        let decode = |encoded: &[u8], kept: &mut _, work: &mut _| recoding.decode(is_source, encoded, kept, work);
        self.decode_with(recoding.num_buffers(), |bytes| recoding.context_bytes(bytes), decode)
    }

    /// Decodes codecs that need `buffers` buffers at once, and contexts.
    fn decode_with(
        &mut self,
        buffers: u64,
        context_bytes: impl Fn(u64) -> u64,
        decode: impl Fn(&[u8], &mut Vec<u8>, &mut Workspace) -> Result<(), ChainFault>,
    ) -> Result<()> {
        loop {
            // Each of the buffers may become as large as the decoded chunk.
            self.source.workspace.limit = Some(self.left() / buffers);
            let Err(fault) = decode(&self.source.bytes, &mut self.kept, &mut self.source.workspace) else {
                let cost = Self::cost(self.kept.len() as u64, buffers, context_bytes);
                return self.take(cost, 0);
            };
            let ChainFaultKind::Limit { limit, found } = fault.kind else { return Err(fault.into()) };
            if !self.subchunks.drop_first(0) {
                // If the codec does not report the size, twice the memory may be enough.
                let bytes = found.unwrap_or_else(|| limit.saturating_mul(2));
                let cost = Self::cost(bytes, buffers, context_bytes);
                return Err(Fault::Memory { needed: self.with_held(cost) });
            }
        }
    }

    /// Encodes the codecs of the destination that replace the decoded ones.
    pub fn encode_recoded(&mut self, recoding: &Recoding) -> Result<()> {
        Ok(recoding.encode(&self.kept, &mut self.written, &mut self.source.workspace)?)
    }

    /// Encodes a subchunk from the elements of a box of shape `valid` at its origin. The other elements are `fill`.
    pub fn encode(&mut self, chain: &VlenChain, elements: &VlenElements, valid: &[u64], fill: &[u8]) -> Result<()> {
        // The encoded form is not much longer than the input.
        let bytes = chain.framed_bytes(elements, fill);
        let cost = Self::cost(bytes, chain.num_buffers() + 1, |bytes| chain.context_bytes(bytes));
        self.take(cost, 0)?;
        self.kept.clear();
        fallibly(|| self.kept.try_reserve_exact(as_index(bytes))).map_err(|_| Fault::Memory { needed: bytes })?;
        chain.frame(elements, valid, fill, &mut self.kept)?;
        Ok(chain.encode(&self.kept, &mut self.written, &mut self.source.workspace)?)
    }

    /// Returns the memory of the buffers for a chunk of `bytes` bytes, and of the codec contexts.
    fn cost(bytes: u64, buffers: u64, context_bytes: impl Fn(u64) -> u64) -> u64 {
        // A compressor's context grows by powers of two.
        let contexts = context_bytes(2_u64.saturating_pow(bytes.max(1).ilog2() + 1));
        bytes.saturating_mul(buffers).saturating_add(contexts)
    }

    /// Adds the used memory to a memory fault.
    fn in_all(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Memory { needed } => Fault::Memory { needed: self.with_held(needed) },
            Fault::At { of, index, fault } => Fault::At { of, index, fault: Box::new(self.in_all(*fault)) },
            fault => fault,
        }
    }
}

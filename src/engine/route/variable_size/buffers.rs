//! What a thread holds while it does subchunks whose size only reading tells, counted as it grows.

use lru::LruCache;

use crate::array::{Fault, ReadBuffers, Result, SubchunkSource};
use crate::codec::elements::PLACE_BYTES;
use crate::codec::kinds::Contexts;
use crate::codec::region::as_index;
use crate::codec::{ChainFault, ChainFaultKind, Recoding, VlenChain, VlenElements, Workspace};
use crate::memory::fallibly;

/// Buffers that are larger are not kept from one subchunk to the next.
const KEPT: usize = 128 << 10;

/// The same of what all compressors hold.
const KEPT_CONTEXTS: u64 = 512 << 10;

/// Bytes that a thread may hold beside the subchunk that it does.
pub const BETWEEN_SUBCHUNKS: u64 = 6 * KEPT as u64 + KEPT_CONTEXTS;

/// A subchunk that was taken apart, for the next box that needs it.
#[derive(Debug)]
pub(super) struct DecodedSubchunk {
    pub(super) elements: VlenElements,
    /// Its encoded bytes.
    pub(super) encoded: u64,
}

impl DecodedSubchunk {
    /// Bytes of its elements.
    fn element_bytes(&self) -> u64 {
        let places = (self.elements.places.capacity() as u64).saturating_mul(PLACE_BYTES);
        places.saturating_add(self.elements.bytes.capacity() as u64)
    }

    /// Bytes that it takes, with its place among the others.
    fn bytes(&self) -> u64 {
        const BESIDE: u64 = 256;
        self.element_bytes().saturating_add(BESIDE)
    }
}

/// The array of a subchunk, and its position there.
pub(super) type SubchunkKey = (usize, Vec<u64>);

/// The subchunks that a thread keeps. Those go first that were used longest ago.
#[derive(Debug)]
pub(super) struct SubchunkCache {
    pub(super) by_key: LruCache<SubchunkKey, DecodedSubchunk>,
    bytes: u64,
}

impl Default for SubchunkCache {
    fn default() -> Self {
        SubchunkCache { by_key: LruCache::unbounded(), bytes: 0 }
    }
}

impl SubchunkCache {
    /// Drops the subchunk that was used longest ago, unless it is one of the last few; whether it did.
    fn drop_first(&mut self, last: usize) -> bool {
        let dropped = if self.by_key.len() > last { self.by_key.pop_lru() } else { None };
        self.bytes -= dropped.as_ref().map_or(0, |(_, dropped)| dropped.bytes());
        dropped.is_some()
    }
}

/// Buffers that a thread keeps from subchunk to subchunk.
#[derive(Debug, Default)]
pub struct VariableSizeBuffers {
    /// Bytes that may be held.
    most: u64,
    /// Those that are held whatever the subchunk.
    beside: u64,
    /// Those that are held for the one that is done, beside subchunks that are kept.
    held: u64,
    /// The most bytes that compressors held for a subchunk.
    held_contexts: u64,
    pub(super) subchunks: SubchunkCache,
    /// For a subchunk of the source, as it is encoded.
    pub source: ReadBuffers,
    /// The same without the codecs that differ.
    pub kept: Vec<u8>,
    /// An encoded subchunk of the destination.
    pub written: Vec<u8>,
}

impl VariableSizeBuffers {
    /// Begins an object, for which so many bytes may be held, some of them whatever the subchunk.
    pub(super) fn begin(&mut self, bytes: u64, beside: u64) {
        (self.most, self.held, self.beside) = (bytes, 0, beside);
    }

    /// Bytes that are free.
    fn left(&self) -> u64 {
        self.most.saturating_sub(self.with_held(0))
    }

    /// So many bytes, and those that are held.
    fn with_held(&self, bytes: u64) -> u64 {
        [self.held, self.beside, self.subchunks.bytes].into_iter().fold(bytes, u64::saturating_add)
    }

    /// Begins a subchunk.
    pub fn next(&mut self) {
        for buffer in [&mut self.source.bytes, &mut self.kept, &mut self.written] {
            if buffer.capacity() > KEPT {
                *buffer = Vec::new();
            }
        }
        self.source.workspace.trim(KEPT);
        if self.held_contexts > KEPT_CONTEXTS {
            self.source.workspace.contexts = Contexts::new();
            self.held_contexts = 0;
        }
        // Subchunks that are kept leave some room to the others, so that these are not read in vain at first.
        while self.subchunks.bytes > self.most / 4 * 3 && self.subchunks.drop_first(0) {}
        self.held = 0;
    }

    /// Takes so many bytes, if they are free, or would be without subchunks that are only kept: all but the last few.
    pub(super) fn take(&mut self, bytes: u64, last: usize) -> Result<()> {
        while bytes > self.left() && self.subchunks.drop_first(last) {}
        if bytes > self.left() {
            return Err(Fault::Memory { needed: self.with_held(bytes) });
        }
        self.held += bytes;
        Ok(())
    }

    /// Keeps a subchunk whose bytes were taken, which is used now.
    pub(super) fn keep(&mut self, key: SubchunkKey, subchunk: DecodedSubchunk) {
        self.held = self.held.saturating_sub(subchunk.element_bytes());
        self.subchunks.bytes += subchunk.bytes();
        self.subchunks.by_key.put(key, subchunk);
    }

    /// Reads an encoded subchunk; false where it is absent.
    pub fn read(&mut self, source: &SubchunkSource<'_>, subchunk: &[u64]) -> Result<bool> {
        loop {
            self.source.workspace.room = Some(self.left());
            match source.read(subchunk, &mut self.source) {
                Err(fault) if fault.is_of_memory() && self.subchunks.drop_first(0) => {}
                Err(fault) => return Err(self.in_all(fault)),
                Ok(false) => return Ok(false),
                Ok(true) => return self.take(self.source.bytes.len() as u64, 0).map(|()| true),
            }
        }
    }

    /// Undoes the codecs of the encoded subchunk that turn bytes into bytes. Of what it takes only that is held which
    /// comes of it.
    pub(super) fn decode(&mut self, chain: &VlenChain) -> Result<Vec<u8>> {
        let before = self.held.saturating_sub(self.source.bytes.len() as u64);
        let undo = |encoded: &[u8], kept: &mut _, work: &mut _| chain.undo(encoded, kept, work);
        self.undo_with(chain.num_buffers(), |bytes| chain.context_bytes(bytes), undo)?;
        let mut framed = std::mem::take(&mut self.kept);
        framed.shrink_to_fit();
        if self.source.bytes.capacity() > KEPT {
            self.source.bytes = Vec::new();
        }
        self.source.workspace.trim(KEPT);
        self.held = before.saturating_add(framed.len() as u64);
        Ok(framed)
    }

    /// Undoes the codecs of the encoded subchunk that differ, those of the source or those of the destination.
    pub fn undo(&mut self, recoding: &Recoding, is_source: bool) -> Result<()> {
        let undo = |encoded: &[u8], kept: &mut _, work: &mut _| recoding.undo(is_source, encoded, kept, work);
        self.undo_with(recoding.num_buffers(), |bytes| recoding.context_bytes(bytes), undo)
    }

    /// Undoes codecs that hold so many buffers at a time, and contexts.
    fn undo_with(
        &mut self,
        buffers: u64,
        context_bytes: impl Fn(u64) -> u64,
        undo: impl Fn(&[u8], &mut Vec<u8>, &mut Workspace) -> Result<(), ChainFault>,
    ) -> Result<()> {
        loop {
            self.source.workspace.room = Some(self.left() / buffers);
            let Err(fault) = undo(&self.source.bytes, &mut self.kept, &mut self.source.workspace) else {
                let cost = self.cost(self.kept.len() as u64, buffers, context_bytes);
                return self.take(cost, 0);
            };
            let ChainFaultKind::Room { room, found } = fault.kind else { return Err(fault.into()) };
            if !self.subchunks.drop_first(0) {
                // Where the codec does not tell, twice as much may do.
                let bytes = found.unwrap_or_else(|| room.saturating_mul(2));
                let cost = self.cost(bytes, buffers, context_bytes);
                return Err(Fault::Memory { needed: self.with_held(cost) });
            }
        }
    }

    /// Does what the destination has in their place.
    pub fn redo(&mut self, recoding: &Recoding) -> Result<()> {
        Ok(recoding.redo(&self.kept, &mut self.written, &mut self.source.workspace)?)
    }

    /// Encodes a subchunk of elements that fill a box of shape `valid` at its origin; the others are `fill`.
    pub fn encode(&mut self, chain: &VlenChain, elements: &VlenElements, valid: &[u64], fill: &[u8]) -> Result<()> {
        // What comes of it is no longer than what went in by much.
        let bytes = chain.framed_bytes(elements, fill);
        let cost = self.cost(bytes, chain.num_buffers() + 1, |bytes| chain.context_bytes(bytes));
        self.take(cost, 0)?;
        self.kept.clear();
        fallibly(|| self.kept.try_reserve_exact(as_index(bytes))).map_err(|_| Fault::Memory { needed: bytes })?;
        chain.frame(elements, valid, fill, &mut self.kept)?;
        Ok(chain.redo(&self.kept, &mut self.written, &mut self.source.workspace)?)
    }

    /// The memory of buffers for a chunk of so many bytes, and of the codecs beside them.
    fn cost(&mut self, bytes: u64, buffers: u64, context_bytes: impl Fn(u64) -> u64) -> u64 {
        // A compressor's context grows by powers of two.
        let contexts = context_bytes(2_u64.saturating_pow(bytes.max(1).ilog2() + 1));
        self.held_contexts = self.held_contexts.max(contexts);
        bytes.saturating_mul(buffers).saturating_add(contexts)
    }

    /// A fault of memory, with what is held already.
    fn in_all(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Memory { needed } => Fault::Memory { needed: self.with_held(needed) },
            Fault::At { of, index, fault } => Fault::At { of, index, fault: Box::new(self.in_all(*fault)) },
            fault => fault,
        }
    }
}

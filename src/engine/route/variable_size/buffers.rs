//! What a thread holds while it does subchunks whose size only reading tells, counted as it grows.

use super::cache::SubchunkCache;
use crate::array::fault::Fault;
use crate::array::subchunks::SubchunkSource;
use crate::codec::chain::Workspace;
use crate::codec::elements::{VlenChain, VlenElements};
use crate::codec::kinds::Contexts;
use crate::codec::{ChainFault, ChainFaultKind, Recoding};
use crate::memory::fallibly;

/// Buffers that are larger are not kept from one subchunk to the next.
const KEPT: usize = 128 << 10;

/// The same of what all compressors hold.
const KEPT_CONTEXTS: u64 = 512 << 10;

/// What a thread may hold beside the subchunk that it does.
pub const BETWEEN_SUBCHUNKS: u64 = 6 * KEPT as u64 + KEPT_CONTEXTS;

/// What a thread keeps from subchunk to subchunk.
#[derive(Debug, Default)]
pub struct VariableSizeBuffers {
    /// Bytes that may be held, and those that are.
    most: u64,
    held: u64,
    /// Held whatever the subchunk.
    beside: u64,
    /// What compressors held for a subchunk, at most.
    held_contexts: u64,
    /// Subchunks that were taken apart.
    pub(super) subchunks: SubchunkCache,
    /// An encoded subchunk of the source.
    pub encoded: Vec<u8>,
    /// The same without the codecs that differ.
    pub kept: Vec<u8>,
    /// An encoded subchunk of the destination.
    pub written: Vec<u8>,
    /// For the codecs.
    pub workspace: Workspace,
}

impl VariableSizeBuffers {
    /// Begins an object, for which so many bytes may be held, some of them whatever the subchunk.
    pub(super) fn begin(&mut self, bytes: u64, beside: u64) {
        (self.most, self.held, self.beside) = (bytes, beside, beside);
    }

    /// Bytes that are free.
    fn left(&self) -> u64 {
        self.most.saturating_sub(self.held)
    }

    /// The fault of so many bytes that are not free.
    fn missing(&self, bytes: u64) -> Fault {
        Fault::Memory { needed: self.held.saturating_add(bytes) }
    }

    /// Begins a subchunk.
    pub fn next(&mut self) {
        for buffer in [&mut self.encoded, &mut self.kept, &mut self.written] {
            if buffer.capacity() > KEPT {
                *buffer = Vec::new();
            }
        }
        self.workspace.trim(KEPT);
        if self.held_contexts > KEPT_CONTEXTS {
            self.workspace.contexts = Contexts::new();
            self.held_contexts = 0;
        }
        // Subchunks that are kept leave some room to the others, so that these are not read in vain at first.
        while self.subchunks.bytes() > self.most / 4 * 3 {
            self.subchunks.drop_first();
        }
        self.held = self.beside.saturating_add(self.subchunks.bytes());
    }

    /// Takes so many bytes, if they are free, or would be without subchunks that are only kept: all but the last few.
    pub(super) fn take(&mut self, bytes: u64, last: usize) -> Result<(), Fault> {
        while bytes > self.left() && self.subchunks.len() > last {
            self.drop_subchunk();
        }
        if bytes > self.left() {
            return Err(self.missing(bytes));
        }
        self.held += bytes;
        Ok(())
    }

    fn drop_subchunk(&mut self) {
        self.held = self.held.saturating_sub(self.subchunks.drop_first());
    }

    /// Undoes the codecs of the encoded subchunk that turn bytes into bytes. Of what it takes only that is held which
    /// comes of it.
    pub(super) fn decode(&mut self, chain: &VlenChain) -> Result<Vec<u8>, Fault> {
        let buffers = chain.num_buffers();
        let mut framed = Vec::new();
        let undone = loop {
            self.workspace.room = Some(self.left() / buffers);
            match chain.undo(&self.encoded, &mut framed, &mut self.workspace) {
                Err(fault)
                    if self.subchunks.len() > 0 && matches!(fault.kind, ChainFaultKind::Room { .. }) =>
                {
                    self.drop_subchunk();
                }
                undone => break undone,
            }
        };
        let context_bytes = |bytes| chain.context_bytes(bytes);
        undone.map_err(|fault| self.as_memory(fault, buffers, context_bytes))?;
        framed.shrink_to_fit();
        let cost = self.cost(framed.len() as u64, buffers, context_bytes);
        self.take(cost, 0)?;
        let encoded = self.encoded.len() as u64;
        if self.encoded.capacity() > KEPT {
            self.encoded = Vec::new();
        }
        self.workspace.trim(KEPT);
        let held = self.held.saturating_sub(cost).saturating_sub(encoded);
        self.held = held.saturating_add(framed.len() as u64);
        Ok(framed)
    }

    /// Encodes a subchunk of elements that fill a box of shape `valid` at its origin; the others are `fill`.
    pub fn encode(
        &mut self,
        chain: &VlenChain,
        elements: &VlenElements,
        valid: &[u64],
        fill: &[u8],
    ) -> Result<(), Fault> {
        // What comes of it is no longer than what went in by much.
        let bytes = chain.framed_bytes(elements, fill);
        let cost = self.cost(bytes, chain.num_buffers() + 1, |bytes| chain.context_bytes(bytes));
        self.take(cost, 0)?;
        self.kept.clear();
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        fallibly(|| self.kept.try_reserve_exact(size)).map_err(|_| Fault::Memory { needed: bytes })?;
        chain.frame(elements, valid, fill, &mut self.kept)?;
        Ok(chain.redo(&self.kept, &mut self.written, &mut self.workspace)?)
    }

    /// Reads an encoded subchunk; false where it is absent.
    pub fn read(&mut self, source: &SubchunkSource<'_>, subchunk: &[u64]) -> Result<bool, Fault> {
        loop {
            self.workspace.room = Some(self.left());
            match source.read(subchunk, &mut self.encoded, &mut self.workspace) {
                Err(fault) if self.subchunks.len() > 0 && fault.is_of_memory() => self.drop_subchunk(),
                Err(fault) => return Err(self.with_held(fault)),
                Ok(false) => return Ok(false),
                Ok(true) => {
                    self.take(self.encoded.len() as u64, 0)?;
                    return Ok(true);
                }
            }
        }
    }

    /// Undoes the codecs of the encoded subchunk that differ, those of the source or those of the destination.
    pub fn undo(&mut self, recoding: &Recoding, is_source: bool) -> Result<(), Fault> {
        self.workspace.room = Some(self.left() / recoding.num_buffers());
        let undone = recoding.undo(is_source, &self.encoded, &mut self.kept, &mut self.workspace);
        let context_bytes = |bytes| recoding.context_bytes(bytes);
        undone.map_err(|fault| self.as_memory(fault, recoding.num_buffers(), context_bytes))?;
        let cost = self.cost(self.kept.len() as u64, recoding.num_buffers(), context_bytes);
        self.take(cost, usize::MAX)
    }

    /// Does what the destination has in their place.
    pub fn redo(&mut self, recoding: &Recoding) -> Result<(), Fault> {
        Ok(recoding.redo(&self.kept, &mut self.written, &mut self.workspace)?)
    }

    /// What buffers for a chunk of so many bytes take, and the codecs beside them.
    fn cost(&mut self, bytes: u64, buffers: u64, context_bytes: impl Fn(u64) -> u64) -> u64 {
        // A compressor's context grows by powers of two.
        let contexts = context_bytes(2_u64.saturating_pow(bytes.max(1).ilog2() + 1));
        self.held_contexts = self.held_contexts.max(contexts);
        bytes.saturating_mul(buffers).saturating_add(contexts)
    }

    /// The fault of a chunk that there is no room for; any other stays what it is.
    fn as_memory(&mut self, fault: ChainFault, buffers: u64, context_bytes: impl Fn(u64) -> u64) -> Fault {
        match fault.kind {
            // Where the codec does not tell, twice as much may do.
            ChainFaultKind::Room { room, found } => {
                let bytes = found.unwrap_or_else(|| room.saturating_mul(2));
                let cost = self.cost(bytes, buffers, context_bytes);
                self.missing(cost)
            }
            _ => Fault::Chain(fault),
        }
    }

    /// A fault of memory, with what is held already.
    fn with_held(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Memory { needed } => self.missing(needed),
            Fault::At { of, index, fault } => {
                Fault::At { of, index, fault: Box::new(self.with_held(*fault)) }
            }
            fault => fault,
        }
    }
}

//! What a thread holds while it does cells whose size only reading tells, counted as it grows.

use std::collections::BTreeMap;

use crate::codec::bytes_to_bytes::Contexts;
use crate::codec::chain::Workspace;
use crate::codec::{ChainFaultKind, Recoding};
use crate::engine::cells::CellSource;
use crate::engine::driver::Fault;

/// Buffers that are larger are not kept from one cell to the next.
const KEPT: usize = 128 << 10;

/// The same of what all compressors hold.
const KEPT_CONTEXTS: u64 = 512 << 10;

/// What a thread may hold beside the cell that it does.
pub const BETWEEN_CELLS: u64 = 6 * KEPT as u64 + KEPT_CONTEXTS;

/// Bytes that may be held, and those that are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Room {
    bytes: u64,
    held: u64,
}

impl Room {
    /// Bytes that are free.
    fn left(self) -> u64 {
        self.bytes.saturating_sub(self.held)
    }

    /// Takes so many bytes, if they are free.
    fn take(&mut self, bytes: u64) -> Result<(), Fault> {
        if bytes > self.left() {
            return Err(self.missing(bytes));
        }
        self.held += bytes;
        Ok(())
    }

    /// The fault of so many bytes that are not free.
    fn missing(self, bytes: u64) -> Fault {
        Fault::Memory { needed: self.held.saturating_add(bytes) }
    }
}

/// What a thread keeps from cell to cell.
#[derive(Debug, Default)]
pub struct MeasuredBuffers {
    room: Room,
    /// Held whatever the cell.
    beside: u64,
    /// What compressors held for a cell, at most.
    held_contexts: u64,
    /// What they hold for chunks of up to 2^n bytes.
    known_contexts: BTreeMap<u32, u64>,
    /// An encoded cell of the source.
    pub encoded: Vec<u8>,
    /// The same without the codecs that differ.
    pub kept: Vec<u8>,
    /// An encoded cell of the destination.
    pub written: Vec<u8>,
    /// For the codecs.
    pub workspace: Workspace,
}

impl MeasuredBuffers {
    /// Begins an object, for which so many bytes may be held, some of them whatever the cell.
    pub(super) fn begin(&mut self, bytes: u64, beside: u64) {
        self.beside = beside;
        self.room = Room { bytes, held: beside };
    }

    /// Begins a cell.
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
        self.room.held = self.beside;
    }

    /// Reads an encoded cell; false where it is absent.
    pub fn read(&mut self, source: &CellSource<'_>, cell: &[u64]) -> Result<bool, Fault> {
        self.workspace.room = Some(self.room.left());
        if !source
            .read(cell, &mut self.encoded, &mut self.workspace)
            .map_err(|fault| self.with_held(fault))?
        {
            return Ok(false);
        }
        self.room.take(self.encoded.len() as u64)?;
        Ok(true)
    }

    /// Undoes the codecs of the encoded cell that differ, those of the source or those of the destination.
    pub fn undo(&mut self, recoding: &Recoding, is_source: bool) -> Result<(), Fault> {
        self.workspace.room = Some(self.room.left() / recoding.num_buffers());
        let undone = recoding.undo(is_source, &self.encoded, &mut self.kept, &mut self.workspace);
        if let Err(fault) = undone {
            return Err(match fault.kind {
                // Where the codec does not tell, twice as much may do.
                ChainFaultKind::Room { room, found } => {
                    let cost = self.cost(recoding, found.unwrap_or_else(|| room.saturating_mul(2)));
                    self.room.missing(cost)
                }
                _ => Fault::Chain(fault),
            });
        }
        let cost = self.cost(recoding, self.kept.len() as u64);
        self.room.take(cost)
    }

    /// Does what the destination has in their place.
    pub fn redo(&mut self, recoding: &Recoding) -> Result<(), Fault> {
        Ok(recoding.redo(&self.kept, &mut self.written, &mut self.workspace)?)
    }

    /// What it takes to recode a chunk of so many bytes.
    fn cost(&mut self, recoding: &Recoding, bytes: u64) -> u64 {
        let size = bytes.max(1).ilog2() + 1;
        let contexts = self.known_contexts.entry(size);
        let contexts = *contexts.or_insert_with(|| recoding.context_bytes(2_u64.saturating_pow(size)));
        self.held_contexts = self.held_contexts.max(contexts);
        bytes.saturating_mul(recoding.num_buffers()).saturating_add(contexts)
    }

    /// A fault of memory, with what is held already.
    fn with_held(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Memory { needed } => self.room.missing(needed),
            Fault::At { of, index, fault } => {
                Fault::At { of, index, fault: Box::new(self.with_held(*fault)) }
            }
            fault => fault,
        }
    }
}

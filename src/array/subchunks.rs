//! The one place where encoded subchunks are read. A subchunk is what is decoded alone: an inner chunk of a shard that
//! can be streamed, else a stored object as it is. They are counted through the whole array, whatever object they lie in.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::fault::Fault;
use super::shard::ShardLayout;
use super::stored::{MOST_OPEN_SHARDS, StoredArray};
use crate::codec::chain::{OfShape, Workspace};
use crate::codec::sharding::IndexEntry;
use crate::grid::Region;
use crate::store::{ObjectReader, StoreError};

impl StoredArray {
    /// Whether an earlier pass has kept the first subchunk of an object, or the last: what is kept is taken in their order.
    pub fn keeps_some_of(&self, object: u64) -> bool {
        let subchunks = self.subchunks_of(object);
        let last = subchunks.end().iter().map(|end| end.saturating_sub(1)).collect();
        [subchunks.start, last].iter().any(|position| self.cache.get(position).is_some())
    }

    /// Whether objects may turn out to be absent when they are read: which are there is not known, or those that are refused
    /// are absent.
    pub fn may_lack(&self) -> bool {
        self.present.is_none() || self.node.takes_refused_for_absent()
    }

    /// Opens an object that is read in parts; `None` where it is absent.
    pub fn open_object(&self, object: u64) -> Result<Option<ObjectReader>, Fault> {
        if !self.may_hold(object) {
            return Ok(None);
        }
        let key = self.key(object);
        let most = self.chain_of(object)?.max_encoded_bytes();
        match self.node.open(&key, most)? {
            None => self.absent(object, &key).map(|()| None),
            found => Ok(found),
        }
    }

    /// An error where an object that is known to be there is absent.
    fn absent(&self, object: u64, key: &str) -> Result<(), Fault> {
        if !self.may_lack() {
            return Err(self.node.vanished(key).into());
        }
        if self.present.is_none() {
            self.missing.note(object);
        }
        Ok(())
    }

    /// Reads an object into `bytes`; false where it is absent. More than the workspace has room for, or else than the
    /// chain can make, is a fault.
    pub fn read_object(
        &self,
        object: u64,
        bytes: &mut Vec<u8>,
        workspace: &Workspace,
    ) -> Result<bool, Fault> {
        if !self.may_hold(object) {
            return Ok(false);
        }
        let key = self.key(object);
        let largest = || self.chain_of(object).map(|chain| chain.max_encoded_bytes());
        let bound = workspace.room.map_or_else(largest, Ok)?;
        let found = self.node.read_into(&key, bound, bytes).map_err(|error| match error {
            StoreError::TooLarge { found, .. } if workspace.room.is_some() => Fault::Memory { needed: found },
            error => Fault::Store(error),
        })?;
        if !found {
            self.absent(object, &key)?;
        }
        Ok(found)
    }

    /// Opens a shard, and reads its index, unless `reads_entries` one by one; `None` where the array has no shards that
    /// can be streamed.
    pub fn open_shard(
        &self,
        object: u64,
        reads_entries: bool,
        buffer: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<Option<OpenedShard<'_>>, Fault> {
        let Some(layout) = self.layout_of(object)? else { return Ok(None) };
        let reader = self.open_object(object)?;
        let index = match &reader {
            Some(reader) if !reads_entries => Some(layout.read_index(reader, buffer, workspace)?),
            _ => None,
        };
        Ok(Some(OpenedShard { layout, reader, index }))
    }
}

/// A shard whose inner chunks are read.
#[derive(Debug)]
pub struct OpenedShard<'a> {
    /// How it is streamed.
    pub layout: OfShape<'a, ShardLayout>,
    /// `None` where the shard is absent.
    reader: Option<ObjectReader>,
    /// `None` where entries are read one by one.
    index: Option<Vec<IndexEntry>>,
}

impl OpenedShard<'_> {
    /// Where the inner chunk at a position in the shard lies: its first byte, and how many it has; `None` where it is
    /// absent.
    pub fn entry(
        &self,
        inside: &[u64],
        buffer: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<IndexEntry, Fault> {
        let number = self.layout.entry_of(inside);
        match (&self.index, &self.reader) {
            (Some(index), _) => Ok(index.get(number).copied().flatten()),
            (None, Some(reader)) => self.layout.read_entry(reader, number, buffer, workspace),
            (None, None) => Ok(None),
        }
    }

    /// Reads the encoded inner chunk at a position in the shard into `bytes`; where it lies in the shard, or `None` where
    /// it is absent. More than the workspace has room for, or else than its chain can make, is a fault.
    pub fn read(
        &self,
        inside: &[u64],
        bytes: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<Option<u64>, Fault> {
        let (Some(reader), Some((offset, length))) = (&self.reader, self.entry(inside, bytes, workspace)?)
        else {
            return Ok(None);
        };
        let bound = workspace.room.unwrap_or_else(|| self.layout.subchunk.max_encoded_bytes());
        if length > bound {
            return Err(match workspace.room {
                Some(_) => Fault::Memory { needed: length },
                None => Fault::Other(format!(
                    "inner chunk {inside:?} at byte {offset} holds {length} bytes, at most {bound} expected"
                )),
            });
        }
        reader.read_at(offset, length, bytes)?;
        Ok(Some(offset))
    }

    /// Tells the store that a box of inner chunks will be read, by their positions in the shard.
    pub fn expect(&self, inside: &Region) {
        let (Some(reader), Some(index)) = (&self.reader, &self.index) else { return };
        reader.expect(&|| {
            let entry = |inside: Vec<u64>| index.get(self.layout.entry_of(&inside)).copied().flatten();
            inside.cells().filter_map(entry).collect()
        });
    }

    /// Bytes of the index, where all of it was read.
    pub(super) fn index_bytes(&self) -> u64 {
        self.index.as_ref().map_or(0, |_| self.layout.sharding.index_bytes())
    }
}

/// Encoded subchunks of an array by their positions, the last shards kept open. Threads share it.
#[derive(Debug)]
pub struct SubchunkSource<'a> {
    side: &'a StoredArray,
    /// Whether entries of shard indexes are read one by one: few of each are wanted.
    reads_entries: bool,
    /// Whether all of a shard is read while it is open.
    reads_all: bool,
    /// The shards that were used last, the latest first.
    opened: Mutex<VecDeque<(u64, Arc<OpenedShard<'a>>)>>,
    /// Bytes of the indexes that were read.
    index_bytes: AtomicU64,
}

impl<'a> SubchunkSource<'a> {
    /// The subchunks of an array.
    pub fn new(side: &'a StoredArray) -> Self {
        let (opened, index_bytes) = (Mutex::default(), AtomicU64::new(0));
        SubchunkSource { side, reads_entries: false, reads_all: false, opened, index_bytes }
    }

    /// The same, where all inner chunks of a shard are read while it is open.
    #[must_use]
    pub fn reading_all(self, reads_all: bool) -> Self {
        SubchunkSource { reads_all, ..self }
    }

    /// The same, reading entries of shard indexes one by one.
    #[must_use]
    pub fn reading_entries(self) -> Self {
        SubchunkSource { reads_entries: true, ..self }
    }

    /// Whether subchunks are best read shard by shard, since the whole index of each is read.
    pub fn reads_indexes(&self) -> bool {
        self.side.layout.is_some() && !self.reads_entries
    }

    /// The array.
    pub fn side(&self) -> &'a StoredArray {
        self.side
    }

    /// Bytes of the indexes that were read.
    pub fn index_bytes(&self) -> u64 {
        self.index_bytes.load(Ordering::Relaxed)
    }

    /// Tells the store that a box of subchunks in one shard will be read, where it wants to know.
    pub fn expect(
        &self,
        subchunks: &Region,
        bytes: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), Fault> {
        if self.side.node.wants_hints().is_none() || subchunks.is_empty() {
            return Ok(());
        }
        let expect = |object, inside: &[u64]| {
            let inside = Region { start: inside.to_vec(), shape: subchunks.shape.clone() };
            let shard = self.shard(object, bytes, workspace)?;
            Ok(shard.inspect(|shard| shard.expect(&inside)).is_some())
        };
        self.look_up(&subchunks.start, expect).map(drop)
    }

    /// Reads an encoded subchunk into `bytes`; false where it is absent. More than the workspace has room for, or else
    /// than the chain can make, is a fault.
    pub fn read(
        &self,
        subchunk: &[u64],
        bytes: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<bool, Fault> {
        self.look_up(subchunk, |object, inside| match self.shard(object, bytes, workspace)? {
            Some(shard) => Ok(shard.read(inside, bytes, workspace)?.is_some()),
            None => self.side.read_object(object, bytes, workspace),
        })
    }

    /// Whether a subchunk is stored, by the index of its shard, for which there are buffers; else whether it may be.
    pub fn holds(
        &self,
        subchunk: &[u64],
        bytes: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<bool, Fault> {
        self.look_up(subchunk, |object, inside| match self.shard(object, bytes, workspace)? {
            Some(shard) => Ok(shard.entry(inside, bytes, workspace)?.is_some()),
            None => Ok(true),
        })
    }

    /// Looks for a subchunk in its object, if that may be there.
    fn look_up(
        &self,
        subchunk: &[u64],
        look: impl FnOnce(u64, &[u64]) -> Result<bool, Fault>,
    ) -> Result<bool, Fault> {
        let (object, inside) = self.side.object_of(subchunk);
        if !self.side.may_hold(object) {
            return Ok(false);
        }
        look(object, &inside).map_err(|fault| fault.of_source(object))
    }

    /// An opened shard, from those that are kept or from the store; `None` where the array has none.
    fn shard(
        &self,
        object: u64,
        buffer: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<Option<Arc<OpenedShard<'a>>>, Fault> {
        if self.side.layout.is_none() {
            return Ok(None);
        }
        let kept = || self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, shard)) = kept().iter().find(|(index, _)| *index == object) {
            return Ok(Some(shard.clone()));
        }
        let shard = self.side.open_shard(object, self.reads_entries, buffer, workspace)?;
        let Some(shard) = shard.map(Arc::new) else { return Ok(None) };
        let mut kept = kept();
        // Two threads that open a shard at once count it once, and share it from then on.
        if let Some((_, known)) = kept.iter().find(|(index, _)| *index == object) {
            return Ok(Some(known.clone()));
        }
        // What an earlier pass has is not read again.
        if self.reads_all && !self.side.keeps_some_of(object) {
            shard.expect(&self.side.taken_of(object));
        }
        self.index_bytes.fetch_add(shard.index_bytes(), Ordering::Relaxed);
        kept.truncate(MOST_OPEN_SHARDS - 1);
        kept.push_front((object, shard.clone()));
        Ok(Some(shard))
    }
}

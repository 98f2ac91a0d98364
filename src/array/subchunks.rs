//! The subchunks of an array, what is decoded alone: the inner chunks of shards that can be streamed, else the stored
//! objects themselves. They are counted through the whole array, whatever object they lie in.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::fault::Fault;
use super::stored::{MOST_OPEN_SHARDS, StoredArray};
use crate::codec::chain::Workspace;
use crate::codec::sharding::IndexEntry;
use crate::store::{ObjectReader, StoreError};

/// Encoded subchunks of an array by their positions. Threads share it.
#[derive(Debug)]
pub struct SubchunkSource<'a> {
    side: &'a StoredArray,
    /// Whether entries of shard indexes are read one by one: few of each are wanted.
    reads_entries: bool,
    /// The shards that were used last, the latest first.
    opened: Mutex<VecDeque<(u64, Arc<OpenedShard>)>>,
    /// Bytes of the indexes that were read.
    index_bytes: AtomicU64,
}

#[derive(Debug)]
struct OpenedShard {
    /// `None` where the shard is absent.
    reader: Option<ObjectReader>,
    /// `None` where entries are read one by one.
    index: Option<Vec<IndexEntry>>,
}

impl<'a> SubchunkSource<'a> {
    /// The subchunks of an array.
    pub fn new(side: &'a StoredArray) -> Self {
        let (opened, index_bytes) = (Mutex::default(), AtomicU64::new(0));
        SubchunkSource { side, reads_entries: false, opened, index_bytes }
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

    /// Whether a subchunk may be there.
    pub fn may_hold_subchunk(&self, subchunk: &[u64]) -> bool {
        self.side.may_hold(self.side.object_of(subchunk).0)
    }

    /// Reads an encoded subchunk into `bytes`; false where it is absent. More than the workspace has room for, or else
    /// than the chain can make, is a fault.
    pub fn read(
        &self,
        subchunk: &[u64],
        bytes: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<bool, Fault> {
        let (object, inside) = self.side.object_of(subchunk);
        if !self.side.may_hold(object) {
            return Ok(false);
        }
        self.read_of(object, &inside, bytes, workspace).map_err(|fault| fault.of_source(object))
    }

    /// Whether a subchunk is stored, by the index of its shard, for which there are buffers; else whether it may be.
    pub fn holds(
        &self,
        subchunk: &[u64],
        bytes: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<bool, Fault> {
        let (object, inside) = self.side.object_of(subchunk);
        if !self.side.may_hold(object) {
            return Ok(false);
        }
        let Some(layout) = self.side.layout_of(object).map_err(|fault| fault.of_source(object))? else {
            return Ok(true);
        };
        let shard = self.open(object, bytes, workspace).map_err(|fault| fault.of_source(object))?;
        let index = shard.index.as_deref().unwrap_or_default();
        Ok(index.get(layout.entry_of(&inside)).copied().flatten().is_some())
    }

    fn read_of(
        &self,
        object: u64,
        inside: &[u64],
        bytes: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<bool, Fault> {
        let side = self.side;
        let Some(layout) = side.layout_of(object)? else {
            let key = side.key(object);
            let largest = || side.chain_of(object).map(|chain| chain.max_encoded_bytes());
            let bound = workspace.room.map_or_else(largest, Ok)?;
            let found = side.node.read_into(&key, bound, bytes).map_err(|error| match error {
                StoreError::TooLarge { found, .. } if workspace.room.is_some() => {
                    Fault::Memory { needed: found }
                }
                error => Fault::Store(error),
            })?;
            return if found || side.present.is_none() { Ok(found) } else { Err(Fault::vanished(&key)) };
        };
        let shard = self.open(object, bytes, workspace)?;
        let Some(reader) = &shard.reader else { return Ok(false) };
        let number = layout.entry_of(inside);
        let entry = match &shard.index {
            Some(index) => index.get(number).copied().flatten(),
            None => layout.read_entry(reader, number, bytes, workspace)?,
        };
        let Some((offset, length)) = entry else { return Ok(false) };
        let bound = workspace.room.unwrap_or_else(|| layout.subchunk.max_encoded_bytes());
        if length > bound {
            return Err(match workspace.room {
                Some(_) => Fault::Memory { needed: length },
                None => Fault::Other(format!(
                    "inner chunk {inside:?} holds {length} bytes, at most {bound} expected"
                )),
            });
        }
        reader.read_at(offset, length, bytes)?;
        Ok(true)
    }

    /// Opens the object of an array without shards, to be read in parts; `None` where it is absent.
    pub fn open_object(&self, object: u64) -> Result<Option<ObjectReader>, Fault> {
        if !self.side.may_hold(object) {
            return Ok(None);
        }
        let key = self.side.key(object);
        match self.side.node.open(&key)? {
            None if self.side.present.is_some() => Err(Fault::vanished(&key)),
            found => Ok(found),
        }
    }

    /// An opened shard with its index, from those that are kept or from the store.
    fn open(
        &self,
        object: u64,
        buffer: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<Arc<OpenedShard>, Fault> {
        let kept = || self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, shard)) = kept().iter().find(|(index, _)| *index == object) {
            return Ok(shard.clone());
        }
        let key = self.side.key(object);
        let reader = self.side.node.open(&key)?;
        let layout = self.side.layout_of(object)?;
        let index = match (&reader, &layout) {
            (None, _) if self.side.present.is_some() => return Err(Fault::vanished(&key)),
            _ if self.reads_entries => None,
            (Some(reader), Some(layout)) => Some(layout.read_index(reader, buffer, workspace)?),
            _ => Some(Vec::new()),
        };
        let shard = Arc::new(OpenedShard { reader, index });
        let mut kept = kept();
        if kept.iter().all(|(index, _)| *index != object) {
            // Two threads that open a shard at once count it once.
            let layout = layout.filter(|_| shard.index.is_some());
            let bytes = layout.map_or(0, |layout| layout.sharding.index_bytes());
            self.index_bytes.fetch_add(bytes, Ordering::Relaxed);
            kept.truncate(MOST_OPEN_SHARDS - 1);
            kept.push_front((object, shard.clone()));
        }
        Ok(shard)
    }
}

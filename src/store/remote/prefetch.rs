//! Parts of objects that are requested before they are read, and objects that are read in parts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::task::JoinHandle;

use super::{Client, GetRequest, StoreResponse};
use crate::store::{Part, ReadObject, Result, StoreError, held};

/// Bytes that may have arrived unread before no more parts are requested.
pub(super) const MOST_BYTES: u64 = 32 << 20;
/// Most bytes of a part that is requested in advance.
const MOST_OF_ONE: u64 = 16 << 20;
/// Length of the suffix that is read when an object is opened. It contains the index of most shards, and the whole of a
/// small object.
pub(super) const FIRST: u64 = 64 << 10;
/// Largest gap between parts of a sequential read.
const GAP: u64 = 1 << 20;
/// Most bytes of a request for parts of a sequential read that was not announced.
const MOST_AHEAD: u64 = 16 << 20;
/// Most bytes of a request for adjacent announced parts, unless one part is larger. The next constant is the number of
/// such requests that are sent in advance.
const MOST_TOGETHER: u64 = 2 << 20;
const REQUESTS_AHEAD: usize = 8;
/// Most bytes that an open object keeps. Threads that share it read near one position, or near two.
const MOST_KEPT: u64 = 32 << 20;

/// Part that was requested and may have arrived. Dropping it cancels the request.
pub(super) struct Prefetched {
    key: String,
    part: Part,
    task: JoinHandle<Result<Option<StoreResponse>>>,
    /// Number of bytes that have arrived.
    bytes: Arc<AtomicU64>,
}

impl Client {
    /// Requests a part that will be read soon. Does nothing if it is already requested, or if a limit is reached.
    pub(super) fn prefetch(self: &Arc<Self>, key: &str, part: Part) {
        let length = match part {
            // The size of a whole object is not known before the answer. The request itself has a limit.
            Part::Whole => 0,
            Part::Range { length, .. } | Part::Last(length) => length,
        };
        let mut parts = held(&self.prefetched);
        if parts.iter().any(|asked| asked.part == part && asked.key == key) {
            return;
        }
        let come: u64 = parts.iter().map(|asked| asked.bytes.load(Ordering::Acquire)).sum();
        if length > MOST_OF_ONE || come >= MOST_BYTES || parts.len() >= self.options.requests.get().saturating_mul(4) {
            return;
        }
        let (client, name, bytes) = (self.clone(), key.to_owned(), Arc::new(AtomicU64::new(0)));
        let counted = bytes.clone();
        let task = self.runtime.spawn(async move {
            let fetched = client.fetch(GetRequest { key: &name, part, most: MOST_OF_ONE, version: None }).await;
            if let Ok(Some(fetched)) = &fetched {
                counted.store(fetched.body.len() as u64, Ordering::Release);
            }
            fetched
        });
        parts.push(Prefetched { key: key.to_owned(), part, task, bytes });
    }

    /// Waits for a requested part. If `part` is `None`, waits for the first part of the object, as every answer has its
    /// size. Returns `None` if the part must be read now. It was not requested, or it is too large.
    pub(super) fn take(&self, key: &str, part: Option<Part>) -> Option<Result<Option<StoreResponse>>> {
        let mut asked = {
            let mut parts = held(&self.prefetched);
            let index = parts.iter().position(|asked| asked.is_of(key, part))?;
            parts.remove(index)
        };
        let fetched = self.wait(&mut asked.task).ok();
        // The announced request had a lower limit than this read may have.
        fetched.filter(|fetched| !matches!(fetched, Err(StoreError::TooLarge { .. })))
    }

    /// Drops a requested part, or all parts of an object that is being changed.
    pub(super) fn forget(&self, key: &str, part: Option<Part>) {
        held(&self.prefetched).retain(|asked| !asked.is_of(key, part));
    }
}

impl Prefetched {
    fn is_of(&self, key: &str, part: Option<Part>) -> bool {
        part.is_none_or(|part| self.part == part) && self.key == key
    }
}

impl Drop for Prefetched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Object with a known size and some bytes.
pub(super) struct RemoteReader {
    client: Arc<Client>,
    key: String,
    length: u64,
    version: Option<String>,
    /// Bytes from the first request.
    first: StoreResponse,
    /// Locked while announced bytes are awaited.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Latest answers, newest first, each with the number of its announced bytes that are still unread.
    kept: Vec<(Arc<StoreResponse>, Option<u64>)>,
    /// Lengths of the parts that will be read, by offset. Adjacent parts are merged.
    plan: BTreeMap<u64, u64>,
    /// True if parts were announced. Then no further bytes are read.
    is_planned: bool,
    /// End of the last part that was read.
    end: u64,
    /// Number of bytes in the next request beyond the wanted ones.
    ahead: u64,
}

impl State {
    /// Returns the kept answer that contains a part, and counts the part as read.
    fn kept(&mut self, offset: u64, length: u64) -> Option<Arc<StoreResponse>> {
        let index = self.kept.iter().position(|(bytes, _)| bytes.bytes_at(offset, length).is_some())?;
        let (bytes, left) = &mut self.kept[index];
        let bytes = bytes.clone();
        *left = left.map(|left| left.saturating_sub(length));
        if *left == Some(0) {
            self.kept.remove(index);
        }
        Some(bytes)
    }

    fn keep(&mut self, bytes: StoreResponse, left: Option<u64>) -> Arc<StoreResponse> {
        let bytes = Arc::new(bytes);
        if left != Some(0) {
            self.kept.insert(0, (bytes.clone(), left));
        }
        let mut total = 0;
        self.kept.retain(|(bytes, _)| {
            total += bytes.body.len() as u64;
            total <= MOST_KEPT
        });
        bytes
    }

    /// Returns the number of bytes to request for a part. It grows with each part of a sequential read.
    fn wanted(&mut self, offset: u64, length: u64) -> u64 {
        let follows = self.end > 0 && offset >= self.end && offset - self.end <= GAP;
        self.ahead = if follows { self.ahead.saturating_mul(4).clamp(GAP, MOST_AHEAD) } else { 0 };
        if self.is_planned { length } else { length.max(self.ahead) }
    }
}

impl RemoteReader {
    /// Creates a reader from the first answer.
    pub(super) fn new(client: Arc<Client>, key: String, first: StoreResponse) -> Self {
        let (length, version) = (first.object_bytes.unwrap_or(0), first.version());
        RemoteReader { client, key, length, version, first, state: Mutex::default() }
    }

    /// Requests the next announced parts.
    fn ask(&self, state: &State) {
        for (&offset, &length) in state.plan.iter().take(REQUESTS_AHEAD) {
            self.client.prefetch(&self.key, Part::Range { offset, length });
        }
    }

    /// Returns an answer that contains a part. It is kept, or announced with other parts, or requested now.
    fn bytes_for(&self, offset: u64, length: u64) -> Result<Arc<StoreResponse>> {
        let mut state = held(&self.state);
        if let Some(bytes) = state.kept(offset, length) {
            return Ok(bytes);
        }
        let planned = state.plan.range(..=offset).next_back().map(|(first, length)| (*first, *length));
        let planned = planned.filter(|(first, whole)| first + whole >= offset + length);
        if let Some((first, _)) = planned {
            state.plan.remove(&first);
            self.ask(&state);
        }
        let (first, whole) = planned.unwrap_or((offset, length));
        // A requested part of a different version is requested again.
        let part = Part::Range { offset: first, length: whole };
        let come = self.client.take(&self.key, Some(part)).transpose()?.flatten();
        let come = come.filter(|come| self.version.is_none() || come.version() == self.version);
        if come.is_some() || planned.is_some() {
            let bytes = come.map_or_else(|| self.fetch(first, whole), Ok)?;
            return Ok(state.keep(bytes, Some(whole - length)));
        }
        let wanted = state.wanted(offset, length).min(self.length - offset);
        // Reads that were not announced do not wait for each other.
        drop(state);
        let bytes = self.fetch(offset, wanted)?;
        Ok(held(&self.state).keep(bytes, None))
    }

    fn fetch(&self, offset: u64, length: u64) -> Result<StoreResponse> {
        let (part, version) = (Part::Range { offset, length }, self.version.as_deref());
        let wanted = GetRequest { key: &self.key, part, most: length, version };
        let gone = || self.client.error("read", &self.key, "it was removed while it was read", "run the command again");
        self.client.wait(self.client.fetch(wanted))?.ok_or_else(gone)
    }
}

/// Cancels the requests of announced parts that were not read.
impl Drop for RemoteReader {
    fn drop(&mut self) {
        for (offset, length) in std::mem::take(&mut held(&self.state).plan) {
            self.client.forget(&self.key, Some(Part::Range { offset, length }));
        }
    }
}

impl ReadObject for RemoteReader {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        Part::Range { offset, length }.of(self.length, u64::MAX, || self.client.shown(&self.key))?;
        bytes.clear();
        if let Some(found) = self.first.bytes_at(offset, length) {
            bytes.extend_from_slice(found);
            return Ok(());
        }
        let come = self.bytes_for(offset, length)?;
        bytes.extend_from_slice(come.bytes_at(offset, length).unwrap_or_default());
        held(&self.state).end = offset + length;
        Ok(())
    }

    fn prefetch(&self, parts: &dyn Fn() -> Vec<(u64, u64)>) {
        if self.first.body.len() as u64 >= self.length {
            return;
        }
        let mut parts = parts();
        let is_inside = |offset: u64, length| offset.checked_add(length).is_some_and(|end| end <= self.length);
        parts.retain(|(offset, length)| is_inside(*offset, *length) && self.first.bytes_at(*offset, *length).is_none());
        parts.sort_unstable();
        parts.dedup();
        let mut pieces: Vec<(u64, u64)> = Vec::new();
        for (offset, length) in parts {
            match pieces.last_mut() {
                Some((first, of)) if *first + *of == offset && *of + length <= MOST_TOGETHER => *of += length,
                _ => pieces.push((offset, length)),
            }
        }
        let mut state = held(&self.state);
        state.is_planned = true;
        for (offset, length) in pieces {
            state.plan.entry(offset).or_insert(length);
        }
        self.ask(&state);
    }
}

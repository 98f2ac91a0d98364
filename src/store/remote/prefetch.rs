//! Parts of objects that will be read soon, which are asked for before they are wanted; and objects that are read in parts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::task::JoinHandle;

use super::{Answer, Client, GetRequest};
use crate::store::{Part, ReadObject, Result, StoreError, held};

/// Bytes that may have come and not been taken before no more is asked for.
pub(super) const MOST_BYTES: u64 = 32 << 20;
/// The most bytes of one part; what holds more is read when it is wanted.
const MOST_OF_ONE: u64 = 16 << 20;
/// Bytes that the first request for an object that is opened asks for, from the end: the index of most shards, and all of a
/// small object.
pub(super) const FIRST: u64 = 64 << 10;
/// Parts that follow each other this closely may be of one run through the object.
const GAP: u64 = 1 << 20;
/// The most bytes of one request for parts that follow each other and were not planned.
const MOST_AHEAD: u64 = 16 << 20;
/// The most bytes of one request for planned parts that touch each other, unless one of them has more; and how many such
/// requests are made ahead of the one that is read.
const MOST_TOGETHER: u64 = 2 << 20;
const REQUESTS_AHEAD: usize = 8;
/// Bytes that an open object keeps of what has come: threads that share it are at the same place, or at two near each other.
const MOST_KEPT: u64 = 32 << 20;

/// A part that is under way, or has come. It is given up where it is dropped.
#[derive(Debug)]
pub(super) struct Prefetched {
    key: String,
    part: Part,
    task: JoinHandle<Result<Option<Answer>>>,
    /// Bytes that have come.
    bytes: Arc<AtomicU64>,
}

impl Client {
    /// Asks for a part that will be read soon, unless it is under way or there is no room.
    pub(super) fn prefetch(self: &Arc<Self>, key: &str, part: Part) {
        let length = match part {
            Part::Whole => 0,
            Part::Range { length, .. } | Part::Last(length) => length,
        };
        let mut parts = held(&self.prefetched);
        if parts.iter().any(|asked| asked.part == part && asked.key == key) {
            return;
        }
        let come: u64 = parts.iter().map(|asked| asked.bytes.load(Ordering::Acquire)).sum();
        if length > MOST_OF_ONE || come >= MOST_BYTES || parts.len() >= self.requests.saturating_mul(4) {
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

    /// Waits for a part that was asked for, or for the first that was of the object: any tells how large it is. `None` where
    /// none was, or it must be read when it is wanted, such as for being too large.
    pub(super) fn take(&self, key: &str, part: Option<Part>) -> Option<Result<Option<Answer>>> {
        let mut asked = {
            let mut parts = held(&self.prefetched);
            let place = parts.iter().position(|asked| asked.is_of(key, part))?;
            parts.remove(place)
        };
        let fetched = self.wait(&mut asked.task).ok();
        fetched.filter(|fetched| !matches!(fetched, Err(StoreError::TooLarge { .. })))
    }

    /// Forgets a part that was asked for, or all of an object that is being changed.
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

/// An object of which the size is known, and some bytes.
#[derive(Debug)]
pub(super) struct RemoteReader {
    client: Arc<Client>,
    key: String,
    length: u64,
    version: Option<String>,
    /// The bytes that the first request brought.
    first: Answer,
    /// Held while planned bytes come.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that came last, the latest first, and how many of them are yet to be read where they were planned.
    kept: Vec<(Arc<Answer>, Option<u64>)>,
    /// Parts that will be read, those that touch each other as one: their lengths by their first bytes.
    plan: BTreeMap<u64, u64>,
    /// Nothing is read beyond what is asked for.
    is_planned: bool,
    /// Where the last part that was read ended.
    end: u64,
    /// Bytes that the next request asks for beyond what is wanted.
    ahead: u64,
}

impl State {
    /// The kept bytes that hold a part, which is read now.
    fn kept(&mut self, offset: u64, length: u64) -> Option<Arc<Answer>> {
        let place = self.kept.iter().position(|(bytes, _)| bytes.bytes_at(offset, length).is_some())?;
        let (bytes, left) = &mut self.kept[place];
        let bytes = bytes.clone();
        *left = left.map(|left| left.saturating_sub(length));
        if *left == Some(0) {
            self.kept.remove(place);
        }
        Some(bytes)
    }

    fn keep(&mut self, bytes: Answer, left: Option<u64>) -> Arc<Answer> {
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

    /// The number of bytes to ask for where `length` from `offset` are wanted: more each time where parts follow each other.
    fn wanted(&mut self, offset: u64, length: u64) -> u64 {
        let follows = self.end > 0 && offset >= self.end && offset - self.end <= GAP;
        self.ahead = if follows { self.ahead.saturating_mul(4).clamp(GAP, MOST_AHEAD) } else { 0 };
        if self.is_planned { length } else { length.max(self.ahead) }
    }
}

impl RemoteReader {
    /// A reader of an object of which some bytes have come.
    pub(super) fn new(client: Arc<Client>, key: String, first: Answer) -> Self {
        let (length, version) = (first.object_bytes.unwrap_or(0), first.version());
        RemoteReader { client, key, length, version, first, state: Mutex::default() }
    }

    /// Asks for the first pieces of the plan, as far as that is done ahead.
    fn ask(&self, state: &State) {
        for (&offset, &length) in state.plan.iter().take(REQUESTS_AHEAD) {
            self.client.prefetch(&self.key, Part::Range { offset, length });
        }
    }

    /// Bytes that hold a part: what was planned to come with it, or was told of before, or is asked for now.
    fn bytes_for(&self, offset: u64, length: u64) -> Result<Arc<Answer>> {
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
        // Of another version than is being read, it is asked for again.
        let part = Part::Range { offset: first, length: whole };
        let come = self.client.take(&self.key, Some(part)).transpose()?.flatten();
        let come = come.filter(|come| self.version.is_none() || come.version() == self.version);
        if come.is_some() || planned.is_some() {
            let bytes = come.map_or_else(|| self.fetch(first, whole), Ok)?;
            return Ok(state.keep(bytes, Some(whole - length)));
        }
        let wanted = state.wanted(offset, length).min(self.length - offset);
        drop(state);
        let bytes = self.fetch(offset, wanted)?;
        Ok(held(&self.state).keep(bytes, None))
    }

    fn fetch(&self, offset: u64, length: u64) -> Result<Answer> {
        let (part, version) = (Part::Range { offset, length }, self.version.as_deref());
        let wanted = GetRequest { key: &self.key, part, most: length, version };
        let gone = || self.client.error("read", &self.key, "it was removed while it was read", "run the command again");
        self.client.wait(self.client.fetch(wanted))?.ok_or_else(gone)
    }
}

/// Parts that were asked for and not read are given up.
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
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(StoreError::too_short(self.client.shown(&self.key), self.length, (offset, length)));
        }
        bytes.clear();
        let wanted = usize::try_from(length).unwrap_or(usize::MAX);
        if let Some(found) = self.first.bytes_at(offset, length) {
            bytes.extend_from_slice(&found[..wanted]);
            return Ok(());
        }
        let come = self.bytes_for(offset, length)?;
        bytes.extend_from_slice(come.bytes_at(offset, length).map_or(&[], |found| &found[..wanted]));
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

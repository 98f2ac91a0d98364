//! Parts of objects that will be read soon, which are asked for before they are wanted; and objects that are read in parts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::task::JoinHandle;

use super::client::{Client, GetRequest, GetResult};
use crate::store::held;
use crate::store::object::ReadObject;
use crate::store::{Part, Result, StoreError};

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

/// Parts that are under way, and those that have come.
#[derive(Debug)]
pub(super) struct Prefetch {
    most: usize,
    /// In the order in which they were asked for.
    parts: Mutex<Vec<Prefetched>>,
}

/// A part that is under way, or has come. It is given up where it is dropped.
#[derive(Debug)]
struct Prefetched {
    key: String,
    part: Part,
    task: JoinHandle<Result<Option<GetResult>>>,
    /// Bytes that have come.
    bytes: Arc<AtomicU64>,
}

impl Prefetch {
    pub(super) fn new(requests: usize) -> Self {
        Prefetch { most: requests.saturating_mul(4), parts: Mutex::default() }
    }

    /// Asks for a part, unless it is under way or there is no room.
    pub(super) fn ask(&self, client: &Arc<Client>, key: &str, part: Part) {
        let length = match part {
            Part::Whole => 0,
            Part::Range { length, .. } | Part::Last(length) => length,
        };
        let mut parts = held(&self.parts);
        if parts.iter().any(|asked| asked.part == part && asked.key == key) {
            return;
        }
        let come: u64 = parts.iter().map(|asked| asked.bytes.load(Ordering::Acquire)).sum();
        if length > MOST_OF_ONE || come >= MOST_BYTES || parts.len() >= self.most {
            return;
        }
        let (fetching, name, bytes) = (client.clone(), key.to_owned(), Arc::new(AtomicU64::new(0)));
        let counted = bytes.clone();
        let task = client.runtime.spawn(async move {
            let wanted = GetRequest { key: &name, part, most: MOST_OF_ONE, of: MOST_OF_ONE, version: None };
            let fetched = fetching.fetch(wanted).await;
            if let Ok(Some(fetched)) = &fetched {
                counted.store(fetched.bytes.len() as u64, Ordering::Release);
            }
            fetched
        });
        parts.push(Prefetched { key: key.to_owned(), part, task, bytes });
    }

    /// Takes a part that was asked for, or the first that was of the object: any tells how large it is.
    fn take(&self, key: &str, part: Option<Part>) -> Option<Prefetched> {
        let mut parts = held(&self.parts);
        let is_it = |asked: &Prefetched| part.is_none_or(|part| asked.part == part) && asked.key == key;
        let place = parts.iter().position(is_it)?;
        Some(parts.remove(place))
    }

    /// Forgets what was asked for of an object, which is being changed.
    pub(super) fn forget(&self, key: &str) {
        held(&self.parts).retain(|asked| asked.key != key);
    }
}

impl Prefetched {
    /// Waits for it; `None` where it did not come and must be read when it is wanted, such as for being too large.
    async fn come(mut self) -> Option<Result<Option<GetResult>>> {
        let fetched = (&mut self.task).await.ok();
        fetched.filter(|fetched| !matches!(fetched, Err(StoreError::TooLarge { .. })))
    }
}

impl Client {
    /// Waits for a part that was asked for, or for the first that was of the object, if any was.
    pub(super) fn take(&self, key: &str, part: Option<Part>) -> Option<Result<Option<GetResult>>> {
        self.wait(self.prefetch.take(key, part)?.come())
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
    first: Arc<Stretch>,
    /// Held while planned bytes come.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Stretches that were read last, the latest first; of planned ones, the number of bytes that are yet to be read.
    kept: Vec<(Arc<Stretch>, Option<u64>)>,
    /// Parts that will be read, those that touch each other as one: their lengths by their first bytes.
    plan: BTreeMap<u64, u64>,
    /// Nothing is read beyond what is asked for.
    is_planned: bool,
    /// Where the last part that was read ended.
    end: u64,
    /// Bytes that the next request asks for beyond what is wanted.
    ahead: u64,
}

/// Bytes of an object from an offset on.
#[derive(Debug, Default)]
struct Stretch {
    offset: u64,
    bytes: Vec<u8>,
}

impl Stretch {
    /// Its bytes from an offset on, if they are `length` or more.
    fn from(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..).filter(|bytes| bytes.len() as u64 >= length)
    }
}

impl State {
    /// The kept stretch that holds a part, which is read now.
    fn kept(&mut self, offset: u64, length: u64) -> Option<Arc<Stretch>> {
        let place = self.kept.iter().position(|(stretch, _)| stretch.from(offset, length).is_some())?;
        let (stretch, left) = &mut self.kept[place];
        let stretch = stretch.clone();
        *left = left.map(|left| left.saturating_sub(length));
        if *left == Some(0) {
            self.kept.remove(place);
        }
        Some(stretch)
    }

    fn keep(&mut self, stretch: Stretch, left: Option<u64>) -> Arc<Stretch> {
        let stretch = Arc::new(stretch);
        if left != Some(0) {
            self.kept.insert(0, (stretch.clone(), left));
        }
        let mut total = 0;
        self.kept.retain(|(stretch, _)| {
            total += stretch.bytes.len() as u64;
            total <= MOST_KEPT
        });
        stretch
    }
}

impl RemoteReader {
    /// A reader of an object of which some bytes have come.
    pub(super) fn new(client: Arc<Client>, key: String, fetched: GetResult) -> Self {
        let GetResult { offset, bytes, object_bytes: length, version } = fetched;
        let first = Arc::new(Stretch { offset, bytes });
        RemoteReader { client, key, length, version, first, state: Mutex::default() }
    }

    /// Asks for the first pieces of the plan, as far as that is done ahead.
    fn ask(&self, state: &State) {
        for (&offset, &length) in state.plan.iter().take(REQUESTS_AHEAD) {
            self.client.prefetch.ask(&self.client, &self.key, Part::Range { offset, length });
        }
    }

    /// A stretch that holds a part: what was planned to come with it, or was told of before, or is asked for now.
    fn stretch(&self, offset: u64, length: u64) -> Result<Arc<Stretch>> {
        let mut state = held(&self.state);
        if let Some(stretch) = state.kept(offset, length) {
            return Ok(stretch);
        }
        let piece = state.plan.range(..=offset).next_back().map(|(first, length)| (*first, *length));
        if let Some((first, whole)) = piece.filter(|(first, whole)| first + whole >= offset + length) {
            state.plan.remove(&first);
            self.ask(&state);
            let stretch = self.come(first, whole)?.map_or_else(|| self.fetch(first, whole), Ok)?;
            return Ok(state.keep(stretch, Some(whole - length)));
        }
        if let Some(stretch) = self.come(offset, length)? {
            return Ok(state.keep(stretch, Some(0)));
        }
        let wanted = if state.is_planned { length } else { self.wanted(&mut state, offset, length) };
        drop(state);
        let stretch = self.fetch(offset, wanted)?;
        Ok(held(&self.state).keep(stretch, None))
    }

    /// Takes a part that was asked for before, unless it is of another version than is being read.
    fn come(&self, offset: u64, length: u64) -> Result<Option<Stretch>> {
        let come = self.client.take(&self.key, Some(Part::Range { offset, length })).transpose()?.flatten();
        let come = come.filter(|come| self.version.is_none() || come.version == self.version);
        Ok(come.map(|come| Stretch { offset: come.offset, bytes: come.bytes }))
    }

    fn fetch(&self, offset: u64, length: u64) -> Result<Stretch> {
        let (part, version) = (Part::Range { offset, length }, self.version.as_deref());
        let wanted = GetRequest { key: &self.key, part, most: length, of: self.length, version };
        let fetched = self.client.wait(self.client.fetch(wanted))?;
        let gone = || self.client.error("read", &self.key, "it went away while it was read", "run the command again");
        Ok(Stretch { offset, bytes: fetched.ok_or_else(gone)?.bytes })
    }

    /// The number of bytes to ask for where `length` from `offset` are wanted: more each time where parts follow each other.
    fn wanted(&self, state: &mut State, offset: u64, length: u64) -> u64 {
        let follows = state.end > 0 && offset >= state.end && offset - state.end <= GAP;
        state.ahead = if follows { state.ahead.saturating_mul(4).clamp(GAP, MOST_AHEAD) } else { 0 };
        length.max(state.ahead).min(self.length - offset)
    }
}

/// Parts that were asked for and not read are given up.
impl Drop for RemoteReader {
    fn drop(&mut self) {
        for (offset, length) in std::mem::take(&mut held(&self.state).plan) {
            self.client.prefetch.take(&self.key, Some(Part::Range { offset, length }));
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
        if let Some(found) = self.first.from(offset, length) {
            bytes.extend_from_slice(&found[..wanted]);
            return Ok(());
        }
        let stretch = self.stretch(offset, length)?;
        bytes.extend_from_slice(stretch.from(offset, length).map_or(&[], |found| &found[..wanted]));
        held(&self.state).end = offset + length;
        Ok(())
    }

    fn prefetch(&self, parts: &dyn Fn() -> Vec<(u64, u64)>) {
        if self.first.bytes.len() as u64 >= self.length {
            return;
        }
        let mut parts = parts();
        let is_inside = |offset: u64, length| offset.checked_add(length).is_some_and(|end| end <= self.length);
        parts.retain(|(offset, length)| is_inside(*offset, *length) && self.first.from(*offset, *length).is_none());
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

//! Objects that are read in parts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::client::{Client, GetRequest, GetResult};
use crate::store::object::ReadObject;
use crate::store::{Part, StoreError};

/// Bytes that the first request asks for, from the end: the index of most shards, and all of a small object.
pub(super) const FIRST: u64 = 64 << 10;
/// Parts that follow each other this closely may be of one run through the object.
const GAP: u64 = 1 << 20;
/// The most bytes of one request for parts that follow each other and were not planned.
const MOST_AHEAD: u64 = 16 << 20;
/// The most bytes of one request for planned parts that touch each other, unless one of them has more; and how many such
/// requests are made ahead of the one that is read.
const MOST_TOGETHER: u64 = 2 << 20;
const REQUESTS_AHEAD: usize = 8;
/// Stretches that are kept of what was not planned: threads that share an object are at one, or at two that follow each other.
const STRETCHES: usize = 2;
/// Planned stretches that are kept until all of them was read, at most.
const PLANNED: usize = 16;

/// An object of which the size is known, and some bytes.
#[derive(Debug)]
pub(super) struct RemoteReader {
    client: Arc<Client>,
    key: String,
    length: u64,
    version: Option<String>,
    /// What the first request brought: bytes from an offset on.
    first: Stretch,
    /// What was read last, and more.
    recent: Mutex<Recent>,
    /// What will be read together; held while some of it comes.
    plan: Mutex<Plan>,
    /// Where the next piece begins.
    place: u64,
}

/// Parts that will be read, those that touch each other as one, by their first bytes: their lengths, and whether they are
/// asked for.
#[derive(Debug, Default)]
struct Plan {
    pieces: BTreeMap<u64, (u64, bool)>,
    /// Nothing is read beyond what is asked for.
    is_made: bool,
}

/// Bytes of an object from an offset on.
#[derive(Debug, Default)]
struct Stretch {
    offset: u64,
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Recent {
    /// The latest first; of those that were planned, how many bytes are yet to be read.
    stretches: VecDeque<(Arc<Stretch>, Option<u64>)>,
    /// Where the last part that was asked for ended.
    end: u64,
    /// Bytes that the next request asks for beyond what is wanted.
    ahead: u64,
}

impl Recent {
    /// The stretch that holds a part, which is read now.
    fn with(&mut self, offset: u64, length: u64) -> Option<Arc<Stretch>> {
        let place = self.stretches.iter().position(|(stretch, _)| stretch.part(offset, length).is_some())?;
        let (stretch, left) = &mut self.stretches[place];
        let stretch = stretch.clone();
        *left = left.map(|left| left.saturating_sub(length));
        if *left == Some(0) {
            self.stretches.remove(place);
        }
        Some(stretch)
    }

    /// Keeps a stretch of which a part is read now.
    fn push(&mut self, stretch: Stretch, left: Option<u64>) -> Arc<Stretch> {
        let stretch = Arc::new(stretch);
        if left != Some(0) {
            self.stretches.push_front((stretch.clone(), left));
        }
        let (mut planned, mut others) = (0, 0);
        self.stretches.retain(|(_, left)| {
            let (kind, most) =
                if left.is_some() { (&mut planned, PLANNED) } else { (&mut others, STRETCHES) };
            *kind += 1;
            *kind <= most
        });
        stretch
    }
}

impl Stretch {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// A part of it.
    fn part(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
    }
}

impl RemoteReader {
    /// A reader of an object of which some bytes have come.
    pub(super) fn new(client: Arc<Client>, key: String, fetched: GetResult) -> Self {
        let GetResult { offset, bytes, object_bytes, version } = fetched;
        RemoteReader {
            client,
            key,
            length: object_bytes,
            version,
            first: Stretch { offset, bytes },
            recent: Mutex::default(),
            plan: Mutex::default(),
            place: 0,
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the first pieces of the plan, as far as that is done ahead.
    fn ask(&self, plan: &mut Plan) {
        for (&offset, (length, is_asked_for)) in plan.pieces.iter_mut().take(REQUESTS_AHEAD) {
            if self.client.ahead.room() == 0 {
                return;
            }
            if !*is_asked_for {
                let part = Part::Range { offset, length: *length };
                *is_asked_for = self.client.ahead.ask(&self.client, &self.key, part);
            }
        }
    }

    /// A stretch that holds a part: what was planned to come with it, or what is asked for now.
    fn stretch_with(&self, offset: u64, length: u64) -> Result<Arc<Stretch>, StoreError> {
        let mut plan = self.plan();
        // Another thread may have waited for it meanwhile.
        if let Some(stretch) = self.recent().with(offset, length) {
            return Ok(stretch);
        }
        let piece = plan.pieces.range(..=offset).next_back().map(|(first, (length, _))| (*first, *length));
        let Some((first, whole)) = piece.filter(|(first, whole)| first + whole >= offset + length) else {
            let length = if plan.is_made { length } else { self.wanted(offset, length) };
            drop(plan);
            let stretch = self.fetch(offset, length)?;
            return Ok(self.recent().push(stretch, None));
        };
        plan.pieces.remove(&first);
        let coming = self.client.ahead.take(&self.key, Part::Range { offset: first, length: whole });
        self.ask(&mut plan);
        let come = match coming {
            Some(coming) => self.client.wait(coming.come()).transpose()?.flatten(),
            None => None,
        };
        // What was asked for before may be of another version than is being read.
        let come = come.filter(|come| self.version.is_none() || come.version == self.version);
        let come = come.map(|come| Stretch { offset: come.offset, bytes: come.bytes });
        let stretch = come.map_or_else(|| self.fetch(first, whole), Ok)?;
        let left = (stretch.bytes.len() as u64).saturating_sub(length);
        Ok(self.recent().push(stretch, Some(left)))
    }

    fn fetch(&self, offset: u64, length: u64) -> Result<Stretch, StoreError> {
        let wanted = GetRequest {
            key: &self.key,
            part: Part::Range { offset, length },
            most: length,
            of: self.length,
            version: self.version.as_deref(),
        };
        let fetched = self.client.wait(self.client.fetch(wanted))?;
        let gone = || {
            self.client.error("read", &self.key, "it went away while it was read", "run the command again")
        };
        Ok(Stretch { offset, bytes: fetched.ok_or_else(gone)?.bytes })
    }

    /// How many bytes to ask for where `length` from `offset` are wanted: more each time where parts follow each other.
    fn wanted(&self, offset: u64, length: u64) -> u64 {
        let mut recent = self.recent();
        let follows = recent.end > 0 && offset >= recent.end && offset - recent.end <= GAP;
        recent.ahead = if follows { recent.ahead.saturating_mul(4).clamp(GAP, MOST_AHEAD) } else { 0 };
        // What the first request brought does not come again.
        let end = if offset < self.first.offset { self.first.offset } else { self.length };
        length.max(recent.ahead.min(end.saturating_sub(offset))).min(self.length - offset)
    }
}

/// What was asked for and not read is given up.
impl Drop for RemoteReader {
    fn drop(&mut self) {
        for (offset, (length, _)) in std::mem::take(&mut *self.plan()).pieces {
            self.client.ahead.give_up(&self.key, Part::Range { offset, length });
        }
    }
}

impl ReadObject for RemoteReader {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(StoreError::too_short(self.client.shown(&self.key), self.length, (offset, length)));
        }
        bytes.clear();
        if let Some(part) = self.first.part(offset, length) {
            bytes.extend_from_slice(part);
            return Ok(());
        }
        let known = self.recent().with(offset, length);
        let stretch = match known {
            Some(stretch) => stretch,
            None => self.stretch_with(offset, length)?,
        };
        bytes.extend_from_slice(stretch.part(offset, length).unwrap_or_default());
        self.recent().end = offset + length;
        Ok(())
    }

    fn expect(&self, parts: &dyn Fn() -> Vec<(u64, u64)>) {
        if self.first.bytes.len() as u64 >= self.length {
            return;
        }
        let mut parts = parts();
        parts.retain(|(offset, length)| self.first.part(*offset, *length).is_none());
        parts.sort_unstable();
        parts.dedup();
        let mut pieces: Vec<(u64, u64)> = Vec::new();
        for (offset, length) in parts {
            match pieces.last_mut() {
                Some((first, of)) if *first + *of == offset && *of + length <= MOST_TOGETHER => *of += length,
                _ => pieces.push((offset, length)),
            }
        }
        let mut plan = self.plan();
        plan.is_made = true;
        for (offset, length) in pieces {
            plan.pieces.entry(offset).or_insert((length, false));
        }
        self.ask(&mut plan);
    }

    fn read_next(&mut self, piece: &mut [u8]) -> Result<usize, StoreError> {
        let (mut filled, mut bytes) = (0, Vec::new());
        while filled < piece.len() && self.place < self.length {
            // What has come is not asked for again with what follows it.
            let mut ends = vec![self.first.offset, self.first.end(), self.length];
            ends.extend(self.recent().stretches.iter().map(|(stretch, _)| stretch.end()));
            let end = ends.into_iter().filter(|end| *end > self.place).min().unwrap_or(self.length);
            let length = (end - self.place).min((piece.len() - filled) as u64);
            self.read_at(self.place, length, &mut bytes)?;
            piece[filled..filled + bytes.len()].copy_from_slice(&bytes);
            (filled, self.place) = (filled + bytes.len(), self.place + length);
        }
        Ok(filled)
    }
}

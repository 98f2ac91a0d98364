//! Objects that are read in parts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ahead::{Ahead, Coming};
use super::client::{Client, Fetched, Wanted};
use super::explain::Attempt;
use super::runtime::runtime;
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
/// Bytes of one request where the object is read from its beginning on.
const PIECE: u64 = 8 << 20;

/// An object of which the size is known, and some bytes.
#[derive(Debug)]
pub(super) struct RemoteReader {
    client: Arc<Client>,
    /// Where parts of it may have been asked for.
    asked_for: Arc<Ahead>,
    key: String,
    /// As messages name it.
    object: String,
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

/// Parts that will be read, those that touch each other as one, by their first bytes.
#[derive(Debug, Default)]
struct Plan {
    pieces: BTreeMap<u64, Piece>,
    /// Nothing is read beyond what is asked for.
    is_made: bool,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    length: u64,
    is_asked_for: bool,
}

impl Plan {
    /// Takes out the piece that holds a part.
    fn take(&mut self, offset: u64, length: u64) -> Option<(u64, Piece)> {
        let (first, piece) = self.pieces.range(..=offset).next_back()?;
        let (first, piece) = (*first, *piece);
        let holds = first + piece.length >= offset + length;
        holds.then(|| self.pieces.remove(&first)).flatten().map(|piece| (first, piece))
    }
}

/// Bytes of an object from an offset on.
#[derive(Debug, Default)]
struct Stretch {
    offset: u64,
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Recent {
    /// The latest first.
    stretches: VecDeque<Arc<Stretch>>,
    /// Those that were planned, and how many bytes of each are yet to be read.
    planned: VecDeque<(Arc<Stretch>, u64)>,
    /// Where the last part that was asked for ended.
    end: u64,
    /// Bytes that the next request asks for beyond what is wanted.
    ahead: u64,
}

impl Recent {
    /// The stretch that holds a part, which is read now.
    fn with(&mut self, offset: u64, length: u64) -> Option<Arc<Stretch>> {
        let planned = self.planned.iter().position(|(stretch, _)| stretch.part(offset, length).is_some());
        let Some(place) = planned else {
            return self.stretches.iter().find(|stretch| stretch.part(offset, length).is_some()).cloned();
        };
        let (stretch, left) = &mut self.planned[place];
        let stretch = stretch.clone();
        *left = left.saturating_sub(length);
        if *left == 0 {
            self.planned.remove(place);
        }
        Some(stretch)
    }

    fn push(&mut self, stretch: Stretch) -> Arc<Stretch> {
        let stretch = Arc::new(stretch);
        self.stretches.truncate(STRETCHES - 1);
        self.stretches.push_front(stretch.clone());
        stretch
    }

    /// Keeps a planned stretch of which a part is read now.
    fn push_planned(&mut self, stretch: Stretch, read: u64) -> Arc<Stretch> {
        let left = (stretch.bytes.len() as u64).saturating_sub(read);
        let stretch = Arc::new(stretch);
        if left > 0 {
            self.planned.truncate(PLANNED - 1);
            self.planned.push_front((stretch.clone(), left));
        }
        stretch
    }
}

impl Stretch {
    /// A part of it.
    fn part(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
    }
}

impl RemoteReader {
    /// A reader of an object of which some bytes have come.
    pub(super) fn new(
        (client, asked_for): (Arc<Client>, Arc<Ahead>),
        (key, object): (String, String),
        fetched: Fetched,
    ) -> Self {
        let Fetched { offset, bytes, object_bytes, version } = fetched;
        RemoteReader {
            client,
            asked_for,
            key,
            object,
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
        let Ok(runtime) = runtime() else { return };
        for (offset, piece) in plan.pieces.iter_mut().take(REQUESTS_AHEAD) {
            if self.asked_for.room() == 0 {
                return;
            }
            if !piece.is_asked_for {
                let part = Part::Range { offset: *offset, length: piece.length };
                let names = (self.key.clone(), self.object.clone());
                piece.is_asked_for = self.asked_for.ask(runtime, &self.client, names, part);
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
        let Some((first, piece)) = plan.take(offset, length) else {
            let length = if plan.is_made { length } else { self.asked(offset, length) };
            drop(plan);
            return Ok(self.recent().push(self.fetch(offset, length)?));
        };
        let part = Part::Range { offset: first, length: piece.length };
        let coming = if piece.is_asked_for { self.asked_for.take(&self.key, part) } else { None };
        self.ask(&mut plan);
        let stretch = self.come(coming)?.map_or_else(|| self.fetch(first, piece.length), Ok)?;
        Ok(self.recent().push_planned(stretch, length))
    }

    fn fetch(&self, offset: u64, length: u64) -> Result<Stretch, StoreError> {
        let attempt = Attempt { action: "read", object: &self.object };
        let wanted = Wanted {
            key: &self.key,
            object: &self.object,
            part: Part::Range { offset, length },
            most: length,
            of: self.length,
            version: self.version.as_deref(),
        };
        let runtime = runtime().map_err(|source| io("read", &self.object, source))?;
        let fetched = runtime.block_on(self.client.fetch(wanted))?;
        let gone = || attempt.error("it went away while it was read", "run the command again");
        Ok(Stretch { offset, bytes: fetched.ok_or_else(gone)?.bytes })
    }

    /// Waits for a part that was asked for before; `None` where none was, or of another version than is being read.
    fn come(&self, coming: Option<Coming>) -> Result<Option<Stretch>, StoreError> {
        let Some(coming) = coming else { return Ok(None) };
        let runtime = runtime().map_err(|source| io("read", &self.object, source))?;
        let come = runtime.block_on(coming.come()).transpose()?.flatten();
        let is_same = |come: &Fetched| self.version.is_none() || come.version == self.version;
        Ok(come.filter(is_same).map(|come| Stretch { offset: come.offset, bytes: come.bytes }))
    }

    /// How many bytes to ask for where `length` from `offset` are wanted: more each time where parts follow each other.
    fn asked(&self, offset: u64, length: u64) -> u64 {
        let mut recent = self.recent();
        let follows = recent.end > 0 && offset >= recent.end && offset - recent.end <= GAP;
        recent.ahead = if follows { recent.ahead.saturating_mul(4).clamp(GAP, MOST_AHEAD) } else { 0 };
        length.max(recent.ahead).min(self.length - offset)
    }
}

/// An error of the system.
pub(super) fn io(action: &'static str, object: &str, source: std::io::Error) -> StoreError {
    StoreError::Io { action, object: object.to_owned(), source }
}

/// What was asked for and not read is given up.
impl Drop for RemoteReader {
    fn drop(&mut self) {
        for (offset, Piece { length, .. }) in std::mem::take(&mut *self.plan()).pieces {
            self.asked_for.give_up(&self.key, Part::Range { offset, length });
        }
    }
}

impl ReadObject for RemoteReader {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(StoreError::too_short(self.object.clone(), self.length, (offset, length)));
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
            plan.pieces.entry(offset).or_insert(Piece { length, is_asked_for: false });
        }
        self.ask(&mut plan);
    }

    fn read_next(&mut self, piece: &mut [u8]) -> Result<usize, StoreError> {
        let mut filled = 0;
        while filled < piece.len() && self.place < self.length {
            let wanted = (piece.len() - filled) as u64;
            let recent = self.recent().with(self.place, 1);
            let first = Some(&self.first).filter(|first| first.part(self.place, 1).is_some());
            let Some(stretch) = first.or(recent.as_deref()) else {
                let end = if self.first.bytes.is_empty() { self.length } else { self.first.offset };
                let end = if end > self.place { end } else { self.length };
                let fetched = self.fetch(self.place, PIECE.max(wanted).min(PIECE).min(end - self.place))?;
                self.recent().push(fetched);
                continue;
            };
            let left = stretch.offset + stretch.bytes.len() as u64 - self.place;
            let length = wanted.min(left);
            let Some(part) = stretch.part(self.place, length) else { break };
            piece[filled..filled + part.len()].copy_from_slice(part);
            filled += part.len();
            self.place += length;
        }
        Ok(filled)
    }
}

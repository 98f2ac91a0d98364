//! Objects that are read in parts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::client::{Client, Fetched, Wanted};
use super::explain::Attempt;
use super::runtime::runtime;
use crate::store::object::ReadObject;
use crate::store::{Part, StoreError};

/// Bytes that the first request asks for, from the end: the index of most shards, and all of a small object.
pub(super) const FIRST: u64 = 64 << 10;
/// Parts that lie no further apart than this are asked for together.
const GAP: u64 = 1 << 20;
/// The most bytes of one request for parts that follow each other.
const MOST_AHEAD: u64 = 16 << 20;
/// Bytes of one request where the object is read from its beginning on.
const PIECE: u64 = 8 << 20;

/// An object of which the size is known, and some bytes.
#[derive(Debug)]
pub(super) struct RemoteReader {
    client: Arc<Client>,
    key: String,
    /// As messages name it.
    object: String,
    length: u64,
    version: Option<String>,
    /// What the first request brought: bytes from an offset on.
    first: Stretch,
    /// What was read last, and more.
    recent: Mutex<Recent>,
    /// Where the next piece begins.
    place: u64,
}

/// Bytes of an object from an offset on.
#[derive(Debug, Default)]
struct Stretch {
    offset: u64,
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Recent {
    stretch: Arc<Stretch>,
    /// Where the last part that was asked for ended.
    end: u64,
    /// Bytes that the next request asks for beyond what is wanted.
    ahead: u64,
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
    pub(super) fn new(client: Arc<Client>, (key, object): (String, String), fetched: Fetched) -> Self {
        let Fetched { offset, bytes, object_bytes, version } = fetched;
        RemoteReader {
            client,
            key,
            object,
            length: object_bytes,
            version,
            first: Stretch { offset, bytes },
            recent: Mutex::default(),
            place: 0,
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch(&self, offset: u64, length: u64) -> Result<Stretch, StoreError> {
        let attempt = Attempt { action: "read", object: &self.object };
        let wanted = Wanted {
            key: &self.key,
            object: &self.object,
            part: Part::Range { offset, length },
            most: length,
            version: self.version.as_deref(),
        };
        let runtime = runtime().map_err(|source| io("read", &self.object, source))?;
        let fetched = runtime.block_on(self.client.fetch(wanted))?;
        let gone = || attempt.error("it went away while it was read", "run the command again");
        Ok(Stretch { offset, bytes: fetched.ok_or_else(gone)?.bytes })
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

impl ReadObject for RemoteReader {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(StoreError::TooLarge {
                object: self.object.clone(),
                found: length,
                bound: self.length,
            });
        }
        bytes.clear();
        if let Some(part) = self.first.part(offset, length) {
            bytes.extend_from_slice(part);
            return Ok(());
        }
        let recent = self.recent().stretch.clone();
        if let Some(part) = recent.part(offset, length) {
            bytes.extend_from_slice(part);
            self.recent().end = offset + length;
            return Ok(());
        }
        let stretch = self.fetch(offset, self.asked(offset, length))?;
        if let Some(part) = stretch.part(offset, length) {
            bytes.extend_from_slice(part);
        }
        let mut recent = self.recent();
        recent.end = offset + length;
        recent.stretch = Arc::new(stretch);
        Ok(())
    }

    fn read_next(&mut self, piece: &mut [u8]) -> Result<usize, StoreError> {
        let mut filled = 0;
        while filled < piece.len() && self.place < self.length {
            let wanted = (piece.len() - filled) as u64;
            let recent = self.recent().stretch.clone();
            let stretch = [&self.first, &*recent].into_iter().find(|part| part.part(self.place, 1).is_some());
            let Some(stretch) = stretch else {
                let end = if self.first.bytes.is_empty() { self.length } else { self.first.offset };
                let end = if end > self.place { end } else { self.length };
                let fetched = self.fetch(self.place, PIECE.max(wanted).min(PIECE).min(end - self.place))?;
                self.recent().stretch = Arc::new(fetched);
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

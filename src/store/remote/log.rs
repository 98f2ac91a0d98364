//! Logs as numbered objects, each of some whole lines: an object cannot grow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::{Client, Wanted};
use super::listing::Listed;
use super::reader::io;
use super::runtime::runtime;
use super::writes::Writes;
use crate::store::{Lock, Log, Part, StoreError};

/// Lines are written after this time at the latest, once all is acknowledged that they tell of.
const WRITTEN_AFTER: Duration = Duration::from_secs(5);

/// A log below a key.
#[derive(Debug)]
pub(super) struct RemoteLog {
    client: Arc<Client>,
    writes: Arc<Writes>,
    /// With what the keys of its objects begin.
    prefix: String,
    /// As messages name it.
    object: String,
    /// The number of the next object.
    next: u64,
    /// Lines that are not written yet.
    lines: Vec<u8>,
    written: Instant,
}

impl RemoteLog {
    /// Opens a log; `None` where there is none.
    pub(super) fn open(
        client: Arc<Client>,
        writes: Arc<Writes>,
        (key, object): (String, String),
    ) -> Result<Option<Self>, StoreError> {
        let (prefix, lines, written) = (format!("{key}/"), Vec::new(), Instant::now());
        let mut log = RemoteLog { client, writes, prefix, object, next: 0, lines, written };
        let parts = log.parts()?;
        let Some((last, _)) = parts.last() else { return Ok(None) };
        let number = last.strip_prefix(log.prefix.as_str()).and_then(|number| number.parse::<u64>().ok());
        log.next = number.map_or(0, |number| number + 1);
        Ok(Some(log))
    }

    /// Begins an empty log.
    pub(super) fn begin(
        client: Arc<Client>,
        writes: Arc<Writes>,
        (key, object): (String, String),
    ) -> Result<Self, StoreError> {
        let (prefix, lines, written) = (format!("{key}/"), Vec::new(), Instant::now());
        let mut log = RemoteLog { client, writes, prefix, object, next: 0, lines, written };
        log.write(Vec::new())?;
        Ok(log)
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        runtime().map_err(|source| io("reach", &self.object, source))?.block_on(answer)
    }

    fn key(&self, number: u64) -> String {
        format!("{}{number:08}", self.prefix)
    }

    /// Its objects with their sizes, in their order.
    fn parts(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let listed = Listed { prefix: &self.prefix, by_folder: false, most: None };
        let (mut parts, mut next) = (Vec::new(), None);
        loop {
            let page = self.wait(self.client.list(listed, &self.object, next.as_deref()))?;
            parts.extend(page.objects);
            match page.next {
                Some(following) if next.as_ref() != Some(&following) => next = Some(following),
                _ => break,
            }
        }
        parts.sort();
        Ok(parts)
    }

    fn write(&mut self, bytes: Vec<u8>) -> Result<(), StoreError> {
        let key = self.key(self.next);
        self.wait(self.client.put((&key, &self.object), bytes, false))?;
        self.next += 1;
        Ok(())
    }

    /// Writes the lines that wait, once all that was written before is acknowledged.
    fn flush(&mut self) -> Result<(), StoreError> {
        self.written = Instant::now();
        if self.lines.is_empty() {
            return Ok(());
        }
        self.writes.finish(runtime().map_err(|source| io("reach", &self.object, source))?)?;
        let lines = std::mem::take(&mut self.lines);
        self.write(lines)
    }

    fn fetch(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        let wanted = Wanted { key, object: &self.object, part: Part::Whole, most, version: None };
        Ok(self.wait(self.client.fetch(wanted))?.map(|fetched| fetched.bytes).unwrap_or_default())
    }
}

impl Log for RemoteLog {
    /// Who holds it is noted in its lines.
    fn lock(&self) -> Result<Lock, StoreError> {
        Ok(Lock::Unsupported)
    }

    fn is_in_place(&self) -> bool {
        let first = self.key(0);
        matches!(self.wait(self.client.size(&first, &self.object)), Ok(Some(_)))
    }

    fn read(&mut self, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        let parts = self.parts()?;
        let found = parts.iter().fold(0_u64, |total, (_, bytes)| total.saturating_add(*bytes));
        if found > max_bytes {
            return Err(StoreError::TooLarge { object: self.object.clone(), found, bound: max_bytes });
        }
        let mut all = Vec::new();
        for (key, _) in parts {
            all.extend(self.fetch(&key, max_bytes)?);
        }
        Ok(all)
    }

    fn read_beginning(&mut self, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        let most = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let mut beginning = Vec::new();
        for (key, bytes) in self.parts()? {
            if beginning.len() >= most {
                break;
            }
            beginning.extend(self.fetch(&key, bytes)?);
        }
        beginning.truncate(most);
        Ok(beginning)
    }

    /// What is cut off goes first: a process that dies on the way loses lines, and believes no wrong ones.
    fn truncate(&mut self, length: u64) -> Result<(), StoreError> {
        self.lines.clear();
        let parts = self.parts()?;
        let mut end = parts.iter().fold(0_u64, |total, (_, bytes)| total.saturating_add(*bytes));
        for (key, bytes) in parts.iter().rev() {
            if end <= length {
                break;
            }
            let start = end - bytes;
            if start >= length && *key != self.key(0) {
                self.wait(self.client.delete(key, &self.object))?;
            } else {
                let mut kept = self.fetch(key, *bytes)?;
                kept.truncate(usize::try_from(length.saturating_sub(start)).unwrap_or(usize::MAX));
                self.wait(self.client.put((key, &self.object), kept, false))?;
            }
            end = start;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let is_first = self.next <= 1;
        self.lines.extend_from_slice(bytes);
        if is_first || self.written.elapsed() >= WRITTEN_AFTER { self.flush() } else { Ok(()) }
    }

    /// Lines that were appended are acknowledged when they are written; the others are not noted yet.
    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

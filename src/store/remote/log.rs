//! Logs as numbered objects, each of some whole lines: an object cannot grow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::{Client, Listed, Wanted};
use super::lock::{Asked, RemoteLock};
use super::reader::io;
use super::runtime::runtime;
use crate::store::{Asker, Lock, Log, Part, StoreError};

/// Lines are written after this time at the latest, and after a tenth of the time since the log was opened: so much of its
/// work is done again where the process is killed.
const WRITTEN_AFTER: Duration = Duration::from_secs(5);

/// A log below a key. It is locked by an object beside it, where the store has what locks need.
#[derive(Debug)]
pub(super) struct RemoteLog {
    client: Arc<Client>,
    /// With what the keys of its objects begin.
    prefix: String,
    /// As messages name it.
    object: String,
    /// The number of the next object.
    next: u64,
    /// Its objects with their sizes, in their order, as long as nobody else can change them: from when it is locked.
    known: Option<Vec<(String, u64)>>,
    /// Lines that are not written yet.
    lines: Vec<u8>,
    opened: Instant,
    written: Instant,
    is_in_place: bool,
    lock: Option<RemoteLock>,
}

impl RemoteLog {
    /// Opens a log; `None` where there is none.
    pub(super) fn open(client: Arc<Client>, names: (String, String)) -> Result<Option<Self>, StoreError> {
        let mut log = Self::new(client, names);
        log.find_next()?;
        Ok((log.next > 0).then_some(log))
    }

    /// A log that is not there yet: the first line that is appended makes it.
    pub(super) fn new(client: Arc<Client>, (key, object): (String, String)) -> Self {
        let now = Instant::now();
        RemoteLog {
            client,
            prefix: format!("{key}/"),
            object,
            next: 0,
            known: None,
            lines: Vec::new(),
            opened: now,
            written: now,
            is_in_place: true,
            lock: None,
        }
    }

    /// Finds the number of the next object.
    fn find_next(&mut self) -> Result<(), StoreError> {
        let parts = self.parts()?;
        self.known = self.lock.is_some().then(|| parts.clone());
        let last = parts.last().and_then(|(last, _)| last.strip_prefix(self.prefix.as_str()));
        let number = last.map(|number| number.parse::<u64>().unwrap_or(0));
        self.next = number.map_or(0, |number| number + 1);
        Ok(())
    }

    /// The lock object, beside the log: its key, and its name in messages.
    fn lock_names(&self) -> (String, String) {
        let beside = |name: &str| match name.trim_end_matches('/').rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/lock"),
            None => "lock".to_owned(),
        };
        (beside(&self.prefix), beside(&self.object))
    }

    fn check_lock(&self) -> Result<(), StoreError> {
        self.lock.as_ref().map_or(Ok(()), RemoteLock::check)
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        runtime().map_err(|source| io("reach", &self.object, source))?.block_on(answer)
    }

    fn key(&self, number: u64) -> String {
        format!("{}{number:08}", self.prefix)
    }

    /// Its objects with their sizes, in their order.
    fn parts(&self) -> Result<Vec<(String, u64)>, StoreError> {
        if let Some(known) = &self.known {
            return Ok(known.clone());
        }
        let listed = Listed { prefix: &self.prefix, ..Listed::default() };
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
        let (key, length) = (self.key(self.next), bytes.len() as u64);
        self.wait(self.client.put((&key, &self.object), bytes))?;
        self.next += 1;
        if let Some(known) = &mut self.known {
            known.push((key, length));
        }
        Ok(())
    }

    /// Writes the lines that wait.
    fn flush(&mut self) -> Result<(), StoreError> {
        self.written = Instant::now();
        if self.lines.is_empty() {
            return Ok(());
        }
        // Not where another run writes there by now.
        self.check_lock()?;
        let lines = std::mem::take(&mut self.lines);
        self.write(lines)
    }

    fn fetch(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        let wanted = Wanted { key, object: &self.object, part: Part::Whole, most, of: most, version: None };
        Ok(self.wait(self.client.fetch(wanted))?.map(|fetched| fetched.bytes).unwrap_or_default())
    }
}

impl Log for RemoteLog {
    /// Where the store does not heed conditions, who holds it is noted in its lines alone.
    fn lock(&mut self, asker: &Asker<'_>) -> Result<Lock, StoreError> {
        let asked = RemoteLock::ask(self.client.clone(), self.lock_names(), asker);
        match self.wait(asked)? {
            Asked::Ours(lock) => self.lock = Some(lock),
            Asked::Elsewhere(holding) => return Ok(Lock::Elsewhere(Some(holding))),
            Asked::Unsupported => return Ok(Lock::Unsupported),
        }
        // Whoever had it may have gone on, or have ended and removed it.
        let was_there = self.next > 0;
        self.find_next()?;
        self.is_in_place = !was_there || self.next > 0;
        Ok(Lock::Held)
    }

    fn is_in_place(&self) -> bool {
        self.is_in_place
    }

    fn is_lost(&self) -> bool {
        self.lock.as_ref().is_some_and(RemoteLock::is_lost)
    }

    fn confirm(&mut self) -> Result<bool, StoreError> {
        if let Some(lock) = &self.lock {
            self.wait(lock.confirm())?;
        }
        Ok(true)
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
        self.check_lock()?;
        let mut parts = self.parts()?;
        // Should this end on the way, they are listed again.
        self.known = None;
        let mut end = parts.iter().fold(0_u64, |total, (_, bytes)| total.saturating_add(*bytes));
        while let Some((key, bytes)) = parts.last().cloned().filter(|_| end > length) {
            let start = end - bytes;
            if start >= length {
                self.wait(self.client.delete(&key, &self.object))?;
                parts.pop();
            } else {
                let mut kept = self.fetch(&key, bytes)?;
                kept.truncate(usize::try_from(length.saturating_sub(start)).unwrap_or(usize::MAX));
                self.wait(self.client.put((&key, &self.object), kept))?;
                if let Some((_, bytes)) = parts.last_mut() {
                    *bytes = length - start;
                }
                break;
            }
            end = start;
        }
        if self.lock.is_some() {
            self.known = Some(parts);
        }
        self.find_next()
    }

    /// The first lines are written at once: without them nothing is known of what else lies there. An object for each unit
    /// would be as many requests as the units themselves.
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let is_first = self.next <= 1;
        self.lines.extend_from_slice(bytes);
        let wait = WRITTEN_AFTER.min(self.opened.elapsed() / 10);
        if is_first || self.written.elapsed() >= wait { self.flush() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.check_lock()
    }
}

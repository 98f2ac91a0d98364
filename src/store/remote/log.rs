//! Logs as numbered objects, each of some whole lines: an object cannot grow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::lock::RemoteLock;
use super::{Client, GetRequest};
use crate::store::{Asker, Lock, Log, Part, Result, StoreError};

/// Lines are written after this time at the latest, and after a tenth of the time since the log was opened: so much of its
/// work is done again where the process is killed.
const WRITTEN_AFTER: Duration = Duration::from_secs(5);

/// A log below a key. It is locked by an object beside it, where the store has what locks need.
#[derive(Debug)]
pub(super) struct RemoteLog {
    client: Arc<Client>,
    key: String,
    /// The keys of its objects and their sizes in bytes, in their order. Once it is locked, nobody else changes them.
    parts: Vec<(String, u64)>,
    /// Lines that are not written yet.
    lines: Vec<u8>,
    opened: Instant,
    written: Instant,
    lock: Option<RemoteLock>,
}

impl RemoteLog {
    /// A log, which the first line that is appended makes where it is not there. What there is is found once it is locked.
    pub(super) fn new(client: Arc<Client>, key: String) -> Self {
        let (parts, lines, now) = (Vec::new(), Vec::new(), Instant::now());
        RemoteLog { client, key, parts, lines, opened: now, written: now, lock: None }
    }

    fn check_lock(&self) -> Result<()> {
        self.lock.as_ref().map_or(Ok(()), |lock| lock.owner.check())
    }

    /// Writes the lines that wait.
    fn flush(&mut self) -> Result<()> {
        self.written = Instant::now();
        if self.lines.is_empty() {
            return Ok(());
        }
        // Not where another run writes there by now.
        self.check_lock()?;
        let last = self.parts.last().and_then(|(last, _)| last.rsplit('/').next()?.parse::<u64>().ok());
        let key = format!("{}/{:08}", self.key, last.map_or(self.parts.len() as u64, |last| last + 1));
        let lines = std::mem::take(&mut self.lines);
        let length = lines.len() as u64;
        self.client.wait(self.client.put(&key, lines))?;
        self.parts.push((key, length));
        Ok(())
    }
}

impl Log for RemoteLog {
    /// Where the store does not heed conditions, who holds it is noted in its lines alone.
    fn lock(&mut self, asker: &Asker<'_>) -> Result<Lock> {
        let folder = self.key.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let asked = RemoteLock::ask(self.client.clone(), format!("{folder}lock"), asker);
        let (lock, own) = self.client.wait(asked)?;
        self.lock = own;
        if matches!(lock, Lock::Elsewhere(_)) {
            return Ok(lock);
        }
        self.parts = self.client.wait(self.client.objects(&format!("{}/", self.key)))?;
        self.parts.sort();
        Ok(lock)
    }

    fn is_lost(&self) -> bool {
        self.lock.as_ref().is_some_and(|lock| lock.owner.is_lost())
    }

    fn confirm(&mut self) -> Result<bool> {
        if let Some(lock) = &self.lock {
            self.client.wait(lock.owner.confirm())?;
        }
        Ok(true)
    }

    fn read(&mut self, max_bytes: u64) -> Result<Vec<u8>> {
        let found = self.parts.iter().fold(0_u64, |total, (_, bytes)| total.saturating_add(*bytes));
        StoreError::check_size(found, max_bytes, || self.client.shown(&self.key))?;
        // Nothing where its first object is not there, which goes first where a log is removed: what was done since may be
        // removed, too.
        let begins = self.parts.first().is_some_and(|(first, _)| first.ends_with("/00000000"));
        let mut lines = Vec::new();
        for (key, bytes) in self.parts.iter().filter(|_| begins) {
            let wanted = GetRequest { key, part: Part::Whole, most: *bytes, version: None };
            let fetched = self.client.wait(self.client.fetch(wanted))?;
            lines.extend(fetched.map(|fetched| fetched.body).unwrap_or_default());
        }
        Ok(lines)
    }

    /// The lines of an object were acknowledged: they are cut off only where all are. They go from the end: a process that dies on the
    /// way loses lines, and believes no wrong ones.
    fn cut(&mut self, length: u64) -> Result<()> {
        self.lines.clear();
        self.check_lock()?;
        while length == 0
            && let Some((key, _)) = self.parts.pop()
        {
            self.client.wait(self.client.delete(&key))?;
        }
        Ok(())
    }

    /// The first lines are written at once: without them nothing is known of what else lies there. An object for each unit
    /// would be as many requests as the units themselves.
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let is_first = self.parts.len() <= 1;
        self.lines.extend_from_slice(bytes);
        let wait = WRITTEN_AFTER.min(self.opened.elapsed() / 10);
        if is_first || self.written.elapsed() >= wait { self.flush() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.check_lock()
    }
}

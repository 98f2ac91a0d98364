//! Logs in buckets. An object cannot grow, so a log is a series of numbered objects, each of whole lines.
//!
//! A log is locked by an object next to it, if the store supports conditional writes. The lock is created only if there
//! is none, and replaced only by a writer that knows its version. Its owner renews it, else it expires.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use object_store::{GetOptions, PutMode, UpdateVersion};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use super::{Client, GetRequest, PutOutcome, seconds};
use crate::store::{LOCK_EXPIRES_AFTER, Lock, LockRequest, Log, Part, Result, StoreError, held, machine};

/// Longest delay before lines are written. It is also at most a tenth of the time since the log was opened. This is the
/// work that is repeated after the process is killed.
const WRITTEN_AFTER: Duration = Duration::from_secs(5);

/// Log below a key, with a lock if the store supports one.
pub(super) struct RemoteLog {
    client: Arc<Client>,
    key: String,
    /// Keys of the log's objects and their sizes in bytes, in order. They are known after the lock, and only this
    /// process changes them then.
    parts: Vec<(String, u64)>,
    /// Lines that are not written yet.
    lines: Vec<u8>,
    opened: Instant,
    written: Instant,
    /// Lock of this process, and the task that renews it.
    lock: Option<(Arc<LockOwner>, JoinHandle<()>)>,
}

impl RemoteLog {
    /// Creates a log without a request. The first append creates its object if the log is absent. `lock` finds existing
    /// objects.
    pub(super) fn new(client: Arc<Client>, key: String) -> Self {
        let (parts, lines, now) = (Vec::new(), Vec::new(), Instant::now());
        RemoteLog { client, key, parts, lines, opened: now, written: now, lock: None }
    }

    /// Finds the objects of the log.
    fn find_parts(&mut self) -> Result<()> {
        self.parts = self.client.wait(self.client.objects(&format!("{}/", self.key)))?;
        self.parts.sort();
        Ok(())
    }

    fn check_lock(&self) -> Result<()> {
        match &self.lock {
            Some((owner, _)) if owner.is_lost() => Err(self.client.error("keep", &owner.key, LOST, LOST_HELP)),
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.written = Instant::now();
        if self.lines.is_empty() {
            return Ok(());
        }
        // Another run may have taken the lock and write there.
        self.check_lock()?;
        let last = self.parts.last().and_then(|(last, _)| last.rsplit('/').next()?.parse::<u64>().ok());
        // Eight digits, so that keys sort like their numbers.
        let key = format!("{}/{:08}", self.key, last.map_or(self.parts.len() as u64, |last| last + 1));
        let lines = std::mem::take(&mut self.lines);
        let length = lines.len() as u64;
        self.client.wait(self.client.put(&key, lines))?;
        self.parts.push((key, length));
        Ok(())
    }
}

impl Log for RemoteLog {
    /// Locks the log. If the store does not support conditions, only the lines of the log record the owner.
    fn lock(&mut self, asker: &LockRequest<'_>) -> Result<Lock> {
        let folder = self.key.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let asked = LockOwner::ask(self.client.clone(), format!("{folder}lock"), asker);
        let (lock, owner) = self.client.wait(asked)?;
        if let Some(owner) = owner {
            held(&self.client.service.locks).push(Arc::downgrade(&owner));
            let renewing = self.client.runtime.spawn(owner.clone().renew_until_lost());
            self.lock = Some((owner, renewing));
        }
        if matches!(lock, Lock::Elsewhere(_)) {
            return Ok(lock);
        }
        // While the lock is held, no other process changes the log, so this list stays right.
        self.find_parts().map(|()| lock)
    }

    fn is_lost(&self) -> bool {
        self.lock.as_ref().is_some_and(|(owner, _)| owner.is_lost())
    }

    /// Asks the store whether this process still has the lock.
    fn confirm(&mut self) -> Result<bool> {
        if let Some((owner, _)) = self.lock.as_ref().filter(|(owner, _)| !owner.is_lost())
            && !self.client.wait(owner.renew())?
        {
            owner.lose();
        }
        self.check_lock().map(|()| true)
    }

    fn read(&mut self, max_bytes: u64) -> Result<Vec<u8>> {
        if self.lock.is_none() && self.parts.is_empty() {
            self.find_parts()?;
        }
        let found = self.parts.iter().fold(0_u64, |total, (_, bytes)| total.saturating_add(*bytes));
        StoreError::check_size(found, max_bytes, || self.client.shown(&self.key))?;
        // A removal of a log starts with its first object. Without it the log counts as empty, as later results may be
        // removed.
        let begins = self.parts.first().is_some_and(|(first, _)| first.ends_with("/00000000"));
        let mut lines = Vec::new();
        for (key, bytes) in self.parts.iter().filter(|_| begins) {
            let wanted = GetRequest { key, part: Part::Whole, most: *bytes, version: None };
            let fetched = self.client.wait(self.client.fetch(wanted))?;
            lines.extend(fetched.map(|fetched| fetched.body).unwrap_or_default());
        }
        Ok(lines)
    }

    /// Removes the whole log if `length` is 0, else only pending lines. Written lines were acknowledged as objects. The
    /// last object is removed first: if the process dies, lines are lost but none is wrong.
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

    /// Appends lines. The first ones are written at once, as they identify everything else in the folder. Later lines
    /// are collected: an object for each unit would double the number of requests.
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

const RENEWED_EACH: Duration = Duration::from_secs(15);
/// Delay after a failed renewal.
const TRIED_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Time after a renewal in which the lock surely belongs to this process. A request that starts within it ends before
/// the lock can expire.
const KNOWN_FOR: Duration = Duration::from_secs(20);
/// Most bytes of a lock object.
const MOST_BYTES: u64 = 64 << 10;
/// Number of attempts to get a lock that is removed meanwhile.
const ATTEMPTS: usize = 3;

pub(super) const LOST: &str =
    "another run took this lock, because this run did not renew it in time, or the lock was removed";
pub(super) const LOST_HELP: &str =
    "check which runs write there, then continue with `--resume`, or run the part again with `--partition`";

/// Lock of this process.
pub(super) struct LockOwner {
    client: Arc<Client>,
    pub(super) key: String,
    text: Text,
    /// True if another process has the lock, or it was released.
    is_lost: AtomicBool,
    /// Start of the last request that confirmed the lock, by both clocks. One stops while the machine sleeps, and the
    /// other can be set.
    known: Mutex<(Instant, SystemTime)>,
}

/// Contents of the lock object. One of another format has no known owner. It is respected until it expires.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Text {
    id: String,
    note: String,
}

/// Existing lock, from an answer of the server.
#[derive(Debug, Default)]
struct LockState {
    text: Text,
    version: Option<UpdateVersion>,
    /// Seconds since the last renewal, if known.
    ///
    /// The server's clock is the same for all processes. Clocks of two machines may differ by more than the lifetime of
    /// a lock.
    idle: Option<u64>,
}

impl LockOwner {
    /// Requests the lock. It is unsupported if the server rejects or ignores conditions.
    async fn ask(client: Arc<Client>, key: String, asker: &LockRequest<'_>) -> Result<(Lock, Option<Arc<Self>>)> {
        let text = Text { id: machine::unique_name(), note: asker.note.to_owned() };
        let known = Mutex::new((Instant::now(), SystemTime::now()));
        let owner = LockOwner { client, key, text, is_lost: AtomicBool::new(false), known };
        for _ in 0..ATTEMPTS {
            let is_made = match owner.write(PutMode::Create).await? {
                PutOutcome::Unsupported => return Ok((Lock::Unsupported, None)),
                PutOutcome::Done => true,
                PutOutcome::Refused => match owner.standing().await? {
                    // It was removed meanwhile.
                    None => continue,
                    // The answer to an earlier attempt was lost.
                    Some(standing) if standing.is_of(&owner) => true,
                    Some(standing) if !standing.is_free(asker) => return Ok((standing.holding(), None)),
                    // If it is refused, another process was faster.
                    Some(standing) => matches!(owner.replace(standing).await?, PutOutcome::Done),
                },
            };
            // A server may accept conditions but ignore them. The second creation must be refused.
            if is_made && !matches!(owner.write(PutMode::Create).await?, PutOutcome::Refused) {
                owner.client.delete(&owner.key).await?;
                return Ok((Lock::Unsupported, None));
            }
            if is_made {
                return Ok((Lock::Held, Some(Arc::new(owner))));
            }
        }
        Ok((owner.standing().await?.unwrap_or_default().holding(), None))
    }

    async fn renew_until_lost(self: Arc<Self>) {
        let mut wait = RENEWED_EACH;
        loop {
            tokio::time::sleep(wait).await;
            wait = match self.renew().await {
                Ok(true) => RENEWED_EACH,
                Ok(false) => return self.lose(),
                // If the store does not answer, the next renewal shows whether the lock still exists.
                Err(_) => TRIED_AGAIN_AFTER,
            };
        }
    }

    pub(super) fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Returns true if no check is needed before a change. If the lock is not known to be valid, nothing that it guards
    /// may be changed.
    pub(super) fn is_known(&self) -> bool {
        let (instant, time) = *held(&self.known);
        self.is_lost() || instant.elapsed().max(time.elapsed().unwrap_or_default()) < KNOWN_FOR
    }

    /// Renews the lock. Returns false if another process has it, or it was removed.
    async fn renew(&self) -> Result<bool> {
        let renewed = (Instant::now(), SystemTime::now());
        let Some(standing) = self.standing().await?.filter(|standing| standing.is_of(self)) else { return Ok(false) };
        match self.replace(standing).await? {
            PutOutcome::Done => {}
            // The answer to an earlier attempt may be lost.
            PutOutcome::Refused => {
                if !self.standing().await?.is_some_and(|standing| standing.is_of(self)) {
                    return Ok(false);
                }
            }
            // Another process may take the lock before this request, which then overwrites that lock. The other process
            // notices at its next renewal.
            PutOutcome::Unsupported => self.client.put(&self.key, self.bytes()).await?,
        }
        *held(&self.known) = renewed;
        Ok(true)
    }

    /// Returns true if only the owner may change a key. These are all keys of the lock's node except the lock.
    pub(super) fn guards(&self, key: &str) -> bool {
        let folder = self.key.rfind(".zarrcast/").map_or("", |end| &self.key[..end]);
        key.starts_with(folder) && self.key != key
    }

    /// Removes the lock unless another process has it. A renewal task may keep the owner alive a little longer.
    pub(super) async fn release(&self) -> Result<()> {
        if self.is_lost() {
            return Ok(());
        }
        self.client.service.forget_lock(&self.key);
        self.lose();
        if self.standing().await?.is_some_and(|standing| standing.is_of(self)) {
            self.client.delete(&self.key).await?;
        }
        Ok(())
    }

    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.text).unwrap_or_default()
    }

    async fn write(&self, mode: PutMode) -> Result<PutOutcome> {
        self.client.put_if("lock", &self.key, self.bytes(), mode).await
    }

    /// Replaces the existing lock unless another process is faster.
    async fn replace(&self, standing: LockState) -> Result<PutOutcome> {
        match standing.version {
            Some(version) => self.write(PutMode::Update(version)).await,
            None => Ok(PutOutcome::Unsupported),
        }
    }

    /// Reads the existing lock. Returns `None` if there is none.
    async fn standing(&self) -> Result<Option<LockState>> {
        let answer = match self.client.get(&self.key, MOST_BYTES, GetOptions::default()).await {
            Ok(answer) => answer,
            Err(failure) if failure.status() == Some(404) => return Ok(None),
            Err(failure) => return Err(self.client.failed("look at", &self.key, failure)),
        };
        let text = serde_json::from_slice(&answer.body).unwrap_or_default();
        let header = |name| answer.header(name).map(str::to_owned);
        // Google numbers its versions, other stores have tags.
        let (e_tag, version) = (header("etag"), header("x-goog-generation"));
        let version = (e_tag.is_some() || version.is_some()).then_some(UpdateVersion { e_tag, version });
        let time = |name| answer.header(name).and_then(seconds);
        let idle = time("date").zip(time("last-modified")).map(|(now, renewed)| now.saturating_sub(renewed));
        Ok(Some(LockState { text, version, idle }))
    }
}

impl LockState {
    fn is_of(&self, owner: &LockOwner) -> bool {
        self.text.id == owner.text.id
    }

    /// Returns true if the owner has certainly ended, or has not renewed the lock in time.
    fn is_free(&self, asker: &LockRequest<'_>) -> bool {
        self.idle.is_some_and(|idle| idle > LOCK_EXPIRES_AFTER) || (asker.has_ended)(&self.text.note)
    }

    fn holding(self) -> Lock {
        Lock::Elsewhere(Some(self.text.note))
    }
}

/// Releases the lock when the log ends, whatever else is left there.
impl Drop for RemoteLog {
    fn drop(&mut self) {
        let Some((owner, renewing)) = self.lock.take() else { return };
        // A renewal in flight could write the lock again after its removal.
        renewing.abort();
        // If this fails, the lock expires.
        let _ = self.client.wait(owner.release());
    }
}

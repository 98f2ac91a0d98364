//! Logs as numbered objects, each of some whole lines: an object cannot grow. They are locked by an object beside them, where the
//! store heeds conditions: it is made only where there is none, and replaced only by who knows which version of it stands there.
//! Its holder renews it; one that is not renewed expires.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::join;
use object_store::{GetOptions, PutMode, UpdateVersion};
use reqwest::header::{DATE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use super::{Client, GetRequest, PutOutcome, header, seconds};
use crate::store::{Asker, Holding, Lock, Log, Part, Result, StoreError, held, machine};

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

/// A lock whose holder gave no sign for so many seconds is anybody's.
const EXPIRES_AFTER: u64 = 60;
const RENEWED_EACH: Duration = Duration::from_secs(15);
/// Where a renewal failed, it is tried again after this time.
const TRIED_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// So long after its last renewal a lock is taken for this process's. A request that begins then ends before others may take
/// the lock over.
const KNOWN_FOR: Duration = Duration::from_secs(20);
/// The most bytes of a lock.
const MOST_BYTES: u64 = 64 << 10;
/// The number of attempts to get a lock that goes while it is looked at.
const ATTEMPTS: usize = 3;

pub(super) const LOST: &str =
    "another run took this lock, because this run did not renew it in time, or the lock was removed";
pub(super) const LOST_HELP: &str =
    "check which runs write there, then continue with `--resume`, or run the part again with `--partition`";

/// A lock that this process has until it is dropped.
#[derive(Debug)]
struct RemoteLock {
    pub(super) owner: Arc<LockOwner>,
    renewing: JoinHandle<()>,
}

#[derive(Debug)]
pub(super) struct LockOwner {
    client: Arc<Client>,
    pub(super) key: String,
    text: Text,
    /// True if the server replaces it only where its version is the one that is named.
    heeds_versions: bool,
    /// The lock is another's, or was given up.
    is_lost: AtomicBool,
    known: Mutex<Known>,
}

/// What is known since the last request that found the lock to be this process's.
#[derive(Debug)]
struct Known {
    version: Option<UpdateVersion>,
    /// When that request began, by both clocks: one of them stands still while the machine sleeps, the other one can be set.
    renewed: (Instant, SystemTime),
}

/// The contents of the object.
#[derive(Debug, Serialize, Deserialize)]
struct Text {
    /// Tells this lock from any other.
    id: String,
    /// Who has it.
    note: String,
    expires_after: u64,
    /// When it was taken, by the clock of the server; `None` as long as that has said nothing.
    taken: Option<u64>,
}

/// A lock that is none of this program is nobody's until it has expired.
impl Default for Text {
    fn default() -> Self {
        Text { id: String::new(), note: String::new(), expires_after: EXPIRES_AFTER, taken: None }
    }
}

/// A lock that stands there, as an answer tells.
#[derive(Debug, Default)]
struct LockState {
    text: Text,
    version: Option<UpdateVersion>,
    /// Seconds since it was renewed, and the present time.
    ///
    /// Both by the clock of the server, which is one for all who ask; those of two machines may differ by more than a
    /// lock lasts.
    idle: Option<u64>,
    now: Option<u64>,
}

impl RemoteLock {
    /// Asks for a lock. The store has none where the server does not take conditions, or does not heed them.
    pub(super) async fn ask(client: Arc<Client>, key: String, asker: &Asker<'_>) -> Result<(Lock, Option<RemoteLock>)> {
        let (id, note) = (machine::unique_name(), asker.note.to_owned());
        let text = Text { id, note, expires_after: EXPIRES_AFTER, taken: None };
        let known = Mutex::new(Known { version: None, renewed: (Instant::now(), SystemTime::now()) });
        let is_lost = AtomicBool::new(false);
        let owner = LockOwner { client, key, text, heeds_versions: false, is_lost, known };
        for _ in 0..ATTEMPTS {
            match owner.write(PutMode::Create).await? {
                PutOutcome::Unsupported => return Ok((Lock::Unsupported, None)),
                PutOutcome::Done(headers) => return owner.made(LockState::of(&headers)).await,
                PutOutcome::Refused => {}
            }
            // It may have gone meanwhile.
            let Some(standing) = owner.standing().await? else { continue };
            if standing.is_of(&owner) {
                // The answer to the first attempt was lost.
                return owner.made(standing).await;
            }
            let Some(version) = standing.version.clone().filter(|_| standing.is_free(asker)) else {
                return Ok((standing.holding(), None));
            };
            if let PutOutcome::Done(headers) = owner.write(PutMode::Update(version)).await? {
                return owner.made(LockState::of(&headers)).await;
            }
            // Another was faster.
        }
        Ok((owner.standing().await?.unwrap_or_default().holding(), None))
    }
}

impl LockOwner {
    /// The lock stands there as this process wrote it: finds out what the server heeds, and begins to renew it.
    async fn made(mut self, written: LockState) -> Result<(Lock, Option<RemoteLock>)> {
        // A server that takes conditions and overwrites all the same gives no locks: the second time must be refused. Both
        // conditions are tried out at once.
        let (again, elsewhere) = join(self.write(PutMode::Create), self.write(PutMode::Update(no_version()))).await;
        if !matches!(again?, PutOutcome::Refused) {
            self.client.delete(&self.key).await?;
            return Ok((Lock::Unsupported, None));
        }
        self.text.taken = written.now;
        let elsewhere = elsewhere?;
        self.heeds_versions = matches!(elsewhere, PutOutcome::Refused);
        held(&self.known).version = match elsewhere {
            PutOutcome::Done(headers) => LockState::of(&headers).version,
            _ => written.version,
        };
        let owner = Arc::new(self);
        held(&owner.client.service.locks).push(Arc::downgrade(&owner));
        let renewed = owner.clone();
        let renewing = owner.client.runtime.spawn(async move {
            // The first time at once, so that it says when it was taken.
            let mut wait = Duration::ZERO;
            loop {
                tokio::time::sleep(wait).await;
                wait = match renewed.renew().await {
                    Ok(true) => RENEWED_EACH,
                    Ok(false) => return renewed.lose(),
                    // Whether it is still there shows once the store answers again.
                    Err(_) => TRIED_AGAIN_AFTER,
                };
            }
        });
        Ok((Lock::Held, Some(RemoteLock { owner, renewing })))
    }

    pub(super) fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Finds out whether this process still has it.
    pub(super) async fn confirm(&self) -> Result<()> {
        if !self.is_lost() && !self.renew().await? {
            self.lose();
        }
        self.check()
    }

    /// The error of a lock that is lost.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_lost() { Err(self.client.error("keep", &self.key, LOST, LOST_HELP)) } else { Ok(()) }
    }

    /// True if nothing has to be found out before something is changed: as long as the lock is not known to be this
    /// process's, nothing is changed of what it guards.
    pub(super) fn is_known(&self) -> bool {
        let (instant, time) = held(&self.known).renewed;
        self.is_lost() || instant.elapsed().max(time.elapsed().unwrap_or_default()) < KNOWN_FOR
    }

    /// Gives a sign; false where the lock is another's.
    async fn renew(&self) -> Result<bool> {
        let renewed = (Instant::now(), SystemTime::now());
        let known = held(&self.known).version.clone().filter(|_| self.heeds_versions);
        let mut version = None;
        if let Some(known) = known
            && let PutOutcome::Done(headers) = self.write(PutMode::Update(known)).await?
        {
            version = LockState::of(&headers).version;
        }
        if version.is_none() {
            // The answer to a renewal may have been lost. Where versions are not heeded, another that takes the lock between
            // this and the next request has it taken away, and finds that out by its own next renewal.
            let Some(standing) = self.standing().await?.filter(|found| found.is_of(self)) else { return Ok(false) };
            version = standing.version;
            if !self.heeds_versions {
                self.client.put(&self.key, self.bytes()).await?;
            }
        }
        *held(&self.known) = Known { version, renewed };
        Ok(true)
    }

    /// True if only who has the lock changes an object: all of the place that it lies in, but itself.
    pub(super) fn guards(&self, key: &str) -> bool {
        let place = self.key.rfind(".zarrcast/").map_or("", |end| &self.key[..end]);
        key.starts_with(place) && self.key != key
    }

    /// Removes the lock, unless it is another's. A task that renews it may hold it a while longer.
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

    /// The lock as it stands there; `None` where there is none.
    async fn standing(&self) -> Result<Option<LockState>> {
        let answer = match self.client.get(&self.key, MOST_BYTES, GetOptions::default()).await {
            Ok(answer) => answer,
            Err(failure) if failure.status() == Some(404) => return Ok(None),
            Err(failure) => return Err(self.client.failed("look at", &self.key, failure)),
        };
        let text = serde_json::from_slice(&answer.body).unwrap_or_default();
        Ok(Some(LockState { text, ..LockState::of(&answer.headers) }))
    }
}

impl LockState {
    /// As far as headers tell it.
    fn of(headers: &HeaderMap) -> Self {
        let text = |name| header(headers, name).map(str::to_owned);
        let time = |name| header(headers, name).and_then(seconds);
        let version = UpdateVersion { e_tag: text(ETAG), version: text(HeaderName::from_static("x-goog-generation")) };
        let (now, renewed) = (time(DATE), time(LAST_MODIFIED));
        let version = Some(version).filter(|version| version.e_tag.is_some() || version.version.is_some());
        let idle = now.zip(renewed).map(|(now, renewed)| now.saturating_sub(renewed));
        LockState { text: Text::default(), version, idle, now }
    }

    fn is_of(&self, owner: &LockOwner) -> bool {
        self.text.id == owner.text.id
    }

    /// True if its holder is known to have ended, or has given no sign for too long.
    fn is_free(&self, asker: &Asker<'_>) -> bool {
        self.idle.is_some_and(|idle| idle > self.text.expires_after) || (asker.has_ended)(&self.text.note)
    }

    fn holding(self) -> Lock {
        let Text { note, expires_after, taken, .. } = self.text;
        let age = self.now.zip(taken).map(|(now, taken)| now.saturating_sub(taken));
        Lock::Elsewhere(Some(Holding { note, age, expires_after }))
    }
}

/// The lock goes where its holder ends, whatever else is left there.
impl Drop for RemoteLock {
    fn drop(&mut self) {
        self.renewing.abort();
        // Where this fails, it expires.
        let _ = self.owner.client.wait(self.owner.release());
    }
}

/// The version of no object: Google counts its versions, the others have tags.
fn no_version() -> UpdateVersion {
    UpdateVersion { e_tag: Some("\"00000000000000000000000000000000\"".to_owned()), version: Some("1".to_owned()) }
}

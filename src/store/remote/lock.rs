//! Locks as objects, where the store heeds conditions: one is made only where there is none, and replaced only by who knows
//! which version of it stands there. Its holder renews it; one that is not renewed expires.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join;
use object_store::{GetOptions, PutMode, UpdateVersion};
use reqwest::header::{DATE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use super::answer::header;
use super::client::{Client, PutOutcome};
use super::lease::{LOST, LOST_HELP, Lease, Moment};
use super::service::seconds;
use crate::store::{Asker, Holding, StoreError, machine};

/// A lock whose holder gave no sign for so many seconds is anybody's.
const EXPIRES_AFTER: u64 = 60;
const RENEWED_EACH: Duration = Duration::from_secs(15);
/// Where a renewal failed, it is tried again after this time.
const TRIED_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// The most bytes of a lock.
const MOST_BYTES: u64 = 64 << 10;
/// How often a lock is asked for that goes while it is looked at.
const ATTEMPTS: usize = 3;

/// A lock that this process has until it is dropped.
#[derive(Debug)]
pub(super) struct RemoteLock {
    held: Arc<LockOwner>,
    renewing: JoinHandle<()>,
}

/// What became of asking for a lock.
#[derive(Debug)]
pub(super) enum LockOutcome {
    Ours(RemoteLock),
    Elsewhere(Holding),
    /// The server takes conditions and does not heed them, or does not take them.
    Unsupported,
}

#[derive(Debug)]
pub(super) struct LockOwner {
    client: Arc<Client>,
    key: String,
    text: Text,
    /// Whether the server replaces it only where its version is the one that is named.
    heeds_versions: bool,
    version: Mutex<Option<UpdateVersion>>,
    pub(super) lease: Arc<Lease>,
}

/// What stands in the object.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Text {
    /// Tells this lock from any other.
    id: String,
    /// Who has it.
    note: String,
    expires_after: u64,
    /// When it was taken, by the clock of the server; `None` as long as that has said nothing.
    taken: Option<u64>,
}

/// A lock that stands there.
#[derive(Debug)]
struct LockState {
    /// `None` where it is none of this program.
    text: Option<Text>,
    version: Option<UpdateVersion>,
    /// Seconds since it was renewed, and the present time.
    ///
    /// Both by the clock of the server, which is one for all who ask; those of two machines may differ by more than a
    /// lock lasts.
    idle: Option<u64>,
    now: Option<u64>,
}

impl RemoteLock {
    /// Asks for a lock.
    pub(super) async fn ask(
        client: Arc<Client>,
        key: String,
        asker: &Asker<'_>,
    ) -> Result<LockOutcome, StoreError> {
        let text = Text {
            id: machine::unique_name(),
            note: asker.note.to_owned(),
            expires_after: EXPIRES_AFTER,
            taken: None,
        };
        let held = LockOwner::new(client, key, text);
        for _ in 0..ATTEMPTS {
            match held.write(PutMode::Create).await? {
                PutOutcome::Unsupported => return Ok(LockOutcome::Unsupported),
                PutOutcome::Done(headers) => {
                    return held.made(version(&headers), time(&headers, DATE)).await;
                }
                PutOutcome::Refused => {}
            }
            // It may have gone meanwhile.
            let Some(standing) = held.standing().await? else { continue };
            let is_own = standing.text.as_ref().is_some_and(|text| text.id == held.text.id);
            if is_own {
                // The answer to the first attempt was lost.
                return held.made(standing.version, standing.now).await;
            }
            if !standing.is_free(asker) {
                return Ok(LockOutcome::Elsewhere(standing.holding()));
            }
            let Some(version) = standing.version else {
                return Ok(LockOutcome::Elsewhere(standing.holding()));
            };
            if let PutOutcome::Done(headers) = held.write(PutMode::Update(version)).await? {
                return held.made(self::version(&headers), time(&headers, DATE)).await;
            }
            // Another was faster.
        }
        held.elsewhere().await
    }

    /// Whether another has it by now.
    pub(super) fn is_lost(&self) -> bool {
        self.held.lease.is_lost()
    }

    /// Finds out whether this process still has it.
    pub(super) async fn confirm(&self) -> Result<(), StoreError> {
        if !self.is_lost() && !self.held.renew().await? {
            self.held.lease.lose();
        }
        self.check()
    }

    /// The error of a lock that is lost.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if !self.is_lost() {
            return Ok(());
        }
        Err(self.held.client.error("keep", &self.held.key, LOST, LOST_HELP))
    }
}

impl LockOwner {
    /// A text for a place, where no version of it is known.
    fn new(client: Arc<Client>, key: String, text: Text) -> Self {
        LockOwner {
            client,
            key,
            text,
            heeds_versions: false,
            version: Mutex::default(),
            lease: Arc::new(Lease::new()),
        }
    }

    /// The lock stands there as this process wrote it: finds out what the server heeds, and begins to renew it.
    async fn made(
        mut self,
        mut version: Option<UpdateVersion>,
        now: Option<u64>,
    ) -> Result<LockOutcome, StoreError> {
        let client = self.client.clone();
        // A server that takes conditions and overwrites all the same gives no locks: the second time must be refused. Both
        // conditions are tried out at once.
        let (again, elsewhere) =
            join(self.write(PutMode::Create), self.write(PutMode::Update(no_version()))).await;
        if !matches!(again?, PutOutcome::Refused) {
            client.delete(&self.key).await?;
            return Ok(LockOutcome::Unsupported);
        }
        self.text.taken = now;
        self.heeds_versions = match elsewhere? {
            PutOutcome::Refused => true,
            PutOutcome::Done(headers) => {
                version = self::version(&headers);
                false
            }
            PutOutcome::Unsupported => false,
        };
        *self.version() = version;
        let held = Arc::new(self);
        held.client.hold(&held);
        let renewed = held.clone();
        let renewing = client.runtime.spawn(async move {
            // The first time at once, so that it says when it was taken.
            let mut wait = Duration::ZERO;
            loop {
                tokio::time::sleep(wait).await;
                wait = match renewed.renew().await {
                    Ok(true) => RENEWED_EACH,
                    Ok(false) => return renewed.lease.lose(),
                    // Whether it is still there shows once the store answers again.
                    Err(_) => TRIED_AGAIN_AFTER,
                };
            }
        });
        Ok(LockOutcome::Ours(RemoteLock { held, renewing }))
    }

    /// Another has it.
    async fn elsewhere(&self) -> Result<LockOutcome, StoreError> {
        let unknown = Holding { note: String::new(), age: None, expires_after: EXPIRES_AFTER };
        Ok(LockOutcome::Elsewhere(self.standing().await?.map_or(unknown, LockState::holding)))
    }

    fn version(&self) -> std::sync::MutexGuard<'_, Option<UpdateVersion>> {
        self.version.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a sign; false where the lock is another's.
    async fn renew(&self) -> Result<bool, StoreError> {
        let begun = Moment::now();
        let is_own = self.sign().await?;
        if is_own {
            self.lease.renewed(begun);
        }
        Ok(is_own)
    }

    async fn sign(&self) -> Result<bool, StoreError> {
        let known = self.version().clone().filter(|_| self.heeds_versions);
        if let Some(known) = known
            && let PutOutcome::Done(headers) = self.write(PutMode::Update(known)).await?
            && let Some(version) = version(&headers)
        {
            *self.version() = Some(version);
            return Ok(true);
        }
        // The answer to a renewal may have been lost. Where versions are not heeded, another that takes the lock between
        // this and the next request has it taken away, and finds that out by its own next renewal.
        match self.standing().await? {
            Some(LockState { text: Some(text), version, .. }) if text.id == self.text.id => {
                *self.version() = version;
                if !self.heeds_versions {
                    self.client.put(&self.key, self.bytes()).await?;
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    pub(super) fn is_at(&self, key: &str) -> bool {
        self.key == key
    }

    /// Whether only who has the lock changes an object: all of the place that it lies in, but itself.
    pub(super) fn guards(&self, key: &str) -> bool {
        let place = self.key.rfind(".zarrcast/").map_or("", |end| &self.key[..end]);
        key.starts_with(place) && !self.is_at(key)
    }

    /// Removes the lock, unless it is another's.
    pub(super) async fn release(&self) -> Result<(), StoreError> {
        if self.lease.is_lost() {
            return Ok(());
        }
        self.client.unguard(self);
        self.lease.lose();
        let is_own =
            |standing: &LockState| standing.text.as_ref().is_some_and(|text| text.id == self.text.id);
        if self.standing().await?.as_ref().is_some_and(is_own) {
            self.client.delete(&self.key).await?;
        }
        Ok(())
    }

    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.text).unwrap_or_default()
    }

    async fn write(&self, mode: PutMode) -> Result<PutOutcome, StoreError> {
        self.client.put_if("lock", &self.key, self.bytes(), mode).await
    }

    /// The lock as it stands there; `None` where there is none.
    async fn standing(&self) -> Result<Option<LockState>, StoreError> {
        let answer = match self.client.get(&self.key, MOST_BYTES, GetOptions::default()).await {
            Ok(answer) => answer,
            Err(failure) if failure.status() == Some(404) => return Ok(None),
            Err(failure) => return Err(self.client.failed("look at", &self.key, failure)),
        };
        let now = time(&answer.headers, DATE);
        let renewed = time(&answer.headers, LAST_MODIFIED);
        Ok(Some(LockState {
            text: serde_json::from_slice(&answer.body).ok(),
            version: version(&answer.headers),
            idle: now.zip(renewed).map(|(now, renewed)| now.saturating_sub(renewed)),
            now,
        }))
    }
}

impl LockState {
    /// Whether its holder is known to have ended, or has given no sign for too long.
    fn is_free(&self, asker: &Asker<'_>) -> bool {
        let expires_after = self.text.as_ref().map_or(EXPIRES_AFTER, |text| text.expires_after);
        let has_expired = self.idle.is_some_and(|idle| idle > expires_after);
        has_expired || self.text.as_ref().is_some_and(|text| (asker.has_ended)(&text.note))
    }

    fn holding(self) -> Holding {
        let taken = self.text.as_ref().and_then(|text| text.taken);
        let age = self.now.zip(taken).map(|(now, taken)| now.saturating_sub(taken));
        let expires_after = self.text.as_ref().map_or(EXPIRES_AFTER, |text| text.expires_after);
        Holding { note: self.text.map(|text| text.note).unwrap_or_default(), age, expires_after }
    }
}

/// The lock goes where its holder ends, whatever else is left there.
impl Drop for RemoteLock {
    fn drop(&mut self) {
        self.renewing.abort();
        // Where this fails, it expires.
        let _ = self.held.client.wait(self.held.release());
    }
}

/// The version of no object: Google counts its versions, the others have tags.
fn no_version() -> UpdateVersion {
    let tag = "\"00000000000000000000000000000000\"".to_owned();
    UpdateVersion { e_tag: Some(tag), version: Some("1".to_owned()) }
}

fn version(headers: &HeaderMap) -> Option<UpdateVersion> {
    let text = |name| header(headers, name).map(str::to_owned);
    let generation = HeaderName::from_static("x-goog-generation");
    let version = UpdateVersion { e_tag: text(ETAG), version: text(generation) };
    (version.e_tag.is_some() || version.version.is_some()).then_some(version)
}

fn time(headers: &HeaderMap, name: HeaderName) -> Option<u64> {
    header(headers, name).and_then(seconds)
}

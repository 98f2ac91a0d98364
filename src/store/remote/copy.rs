//! Objects that a server copies itself inside a bucket: their bytes do not come here.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::RemoteStore;
use super::address::Kind;
use super::client::{Client, GetRequest};
use crate::store::{Key, Part, StoreError, copy_in_pieces};

/// Larger objects are not copied by one request anywhere: 5 GB.
const MOST_COPIED: u64 = 5_000_000_000;
/// Objects of more bytes are read and written in pieces where the server does not copy them.
const MOST_RELAYED: u64 = 8 << 20;

/// How often the server is asked to copy an object, and how much longer it is waited each time before the next.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// What became of a request to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyOutcome {
    Done,
    /// Not this time.
    Failed,
    /// The server does not copy.
    Declined,
}

impl RemoteStore {
    /// Whether the server may copy objects of another store: both are of one bucket, and reached by the same user.
    ///
    /// Not where refused objects count as absent: that shows when they are read.
    pub(super) fn may_copy_from(&self, source: &RemoteStore) -> bool {
        let is_same = self.address == source.address && self.options == source.options;
        is_same
            && self.address.kind != Kind::Http
            && !self.options.anonymous
            && !self.options.refused_is_absent
    }

    /// Has the server copy an object; where it does not, the object is read and written.
    pub(super) fn copy_inside(
        &self,
        source: &RemoteStore,
        (from, to): (&Key<'_>, &Key<'_>),
        most: u64,
    ) -> Result<Option<u64>, StoreError> {
        source.client()?.writes.finish_of(from.as_str())?;
        let Some(bytes) = source.size_among_others(from)? else { return Ok(None) };
        if bytes > most {
            return Err(StoreError::TooLarge {
                object: source.client()?.shown(from.as_str()),
                found: bytes,
                bound: most,
            });
        }
        let copy = Copy {
            client: self.client()?.clone(),
            from: from.as_str().to_owned(),
            to: self.changing(to)?,
            bytes,
        };
        let (mut copies, mut is_copied) = (false, false);
        if bytes <= MOST_COPIED {
            (copies, is_copied) = self.server_copies(&copy)?;
        }
        if is_copied {
            return Ok(Some(bytes));
        }
        if !copies && bytes > MOST_RELAYED {
            return copy_in_pieces(self, source, (from, to), most);
        }
        let (key, here) = (copy.to.clone(), if copies { 0 } else { bytes });
        self.client()?
            .writes
            .begin(&key, here, async move { if copies { copy.run().await } else { copy.relay().await } })?;
        Ok(Some(bytes))
    }

    /// Whether the server copies objects, and whether it has copied this one: the first that is asked for tells, and others
    /// wait for it.
    fn server_copies(&self, copy: &Copy) -> Result<(bool, bool), StoreError> {
        let mut known = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = *known {
            return Ok((known, false));
        }
        let outcome = copy.client.wait(copy.ask())?;
        Ok((*known.insert(outcome != CopyOutcome::Declined), outcome == CopyOutcome::Done))
    }
}

/// An object that is to be copied.
#[derive(Debug)]
struct Copy {
    client: Arc<Client>,
    from: String,
    to: String,
    bytes: u64,
}

impl Copy {
    fn error(&self, why: &str, help: &str) -> StoreError {
        self.client.error("copy", &self.from, why, help)
    }

    async fn run(&self) -> Result<(), StoreError> {
        for attempt in 1..=ATTEMPTS {
            match self.ask().await? {
                CopyOutcome::Done => return Ok(()),
                CopyOutcome::Declined => break,
                // An error behind the status of a success is the store's own, and passes.
                CopyOutcome::Failed => tokio::time::sleep(PAUSE * attempt).await,
            }
        }
        self.relay().await
    }

    /// Asks the server to copy it.
    async fn ask(&self) -> Result<CopyOutcome, StoreError> {
        let answer = self.client.copy(&self.from, &self.to, self.bytes).await?;
        Ok(match answer {
            None => CopyOutcome::Done,
            // It may go on behind this, and would come over what is written instead.
            Some(answer) if answer.headers.contains_key("x-ms-copy-id") => {
                return Err(self.error("the store copies it later", "copy by way of a local folder"));
            }
            // What was removed meanwhile is found out where it is read; an error behind the status of a success passes.
            Some(answer) => match answer.status.as_u16() {
                404 | 409 | 412 => CopyOutcome::Failed,
                200..300 if answer.code().is_some() => CopyOutcome::Failed,
                _ => CopyOutcome::Declined,
            },
        })
    }

    /// Reads and writes it.
    async fn relay(&self) -> Result<(), StoreError> {
        let key = self.from.as_str();
        if self.bytes > MOST_RELAYED {
            return Err(self.error("the server did not copy it as it did others", "run the command again"));
        }
        let wanted =
            GetRequest { key, part: Part::Whole, most: MOST_RELAYED, of: MOST_RELAYED, version: None };
        let Some(fetched) = self.client.fetch(wanted).await? else {
            return Err(self.error("it was removed while it was copied", "run the command again"));
        };
        self.client.put(&self.to, fetched.bytes).await
    }
}

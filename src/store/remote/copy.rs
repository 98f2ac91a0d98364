//! Objects that a server copies itself, between buckets too: their bytes do not come here.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use reqwest::Method;

use super::RemoteStore;
use super::address::Service;
use super::body::header;
use super::client::{Client, Wanted};
use super::explain::Attempt;
use super::transport::{Answer, Request};
use super::upload::{ANSWER, element, with_body};
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
enum Copied {
    Done,
    /// Not this time.
    Failed,
    /// The server does not copy.
    Declined,
}

impl RemoteStore {
    /// Whether the server may copy objects of another store: both are reached in the same way, and by the same user.
    ///
    /// Not where refused objects count as absent: that shows when they are read.
    pub(super) fn may_copy_from(&self, source: &RemoteStore) -> bool {
        let is_same = self.address.service == source.address.service && self.options == source.options;
        is_same
            && self.address.service != Service::Http
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
        source.writes.finish_of(self.runtime()?, &source.whole_key(from))?;
        let Some(bytes) = source.size_among_others(from)? else { return Ok(None) };
        if bytes > most {
            return Err(StoreError::TooLarge { object: source.shown(from), found: bytes, bound: most });
        }
        let copy = Copy {
            clients: [source.client()?.clone(), self.client()?.clone()],
            from: (source.whole_key(from), source.shown(from)),
            to: self.names(to)?,
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
        let (key, here) = (copy.to.0.clone(), if copies { 0 } else { bytes });
        self.writes.begin(self.runtime()?, &key, here, async move {
            if copies { copy.run().await } else { copy.relay().await }
        })?;
        Ok(Some(bytes))
    }

    /// Whether the server copies objects, and whether it has copied this one: the first that is asked for tells, and others
    /// wait for it.
    fn server_copies(&self, copy: &Copy) -> Result<(bool, bool), StoreError> {
        let mut known = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = *known {
            return Ok((known, false));
        }
        let outcome = self.wait(copy.ask())?;
        Ok((*known.insert(outcome != Copied::Declined), outcome == Copied::Done))
    }
}

/// An object that is to be copied.
#[derive(Debug)]
struct Copy {
    /// Of the source and of the destination.
    clients: [Arc<Client>; 2],
    /// Key and name in messages.
    from: (String, String),
    to: (String, String),
    bytes: u64,
}

impl Copy {
    async fn run(&self) -> Result<(), StoreError> {
        for attempt in 1..=ATTEMPTS {
            match self.ask().await? {
                Copied::Done => return Ok(()),
                Copied::Declined => break,
                // An error behind the status of a success is the store's own, and passes.
                Copied::Failed => tokio::time::sleep(PAUSE * attempt).await,
            }
        }
        self.relay().await
    }

    /// Asks the server to copy it.
    async fn ask(&self) -> Result<Copied, StoreError> {
        let [source, destination] = &self.clients;
        let attempt = Attempt { action: "copy", object: &self.from.1 };
        let Some((name, value)) = source.backend.copy_source(&self.from.0) else {
            return Ok(Copied::Declined);
        };
        let request = Request::new(Method::PUT, Some(&self.to.0)).with_header(name, value);
        let request = Request { moves: self.bytes, ..with_body(request, Vec::new()) };
        let answer = destination.send(attempt, &request, ANSWER).await?;
        let outcome = match answer.status.as_u16() {
            200..300 => copied(&answer, destination.backend.service()),
            // What was removed meanwhile is found out where it is read.
            404 | 409 | 412 => Copied::Failed,
            _ => Copied::Declined,
        };
        if let Some(id) = header(&answer.headers, "x-ms-copy-id").filter(|_| outcome != Copied::Done) {
            // It may go on behind this, and would come over what is written instead.
            let abort = Request::new(Method::PUT, Some(&self.to.0))
                .with_query("comp", "copy")
                .with_query("copyid", id)
                .with_header("x-ms-copy-action", "abort");
            destination.send(attempt, &with_body(abort, Vec::new()), ANSWER).await?;
        }
        Ok(outcome)
    }

    /// Reads and writes it.
    async fn relay(&self) -> Result<(), StoreError> {
        let [source, destination] = &self.clients;
        let (key, object) = (self.from.0.as_str(), self.from.1.as_str());
        if self.bytes > MOST_RELAYED {
            let attempt = Attempt { action: "copy", object };
            return Err(attempt.error("the server did not copy it as it did others", "run the command again"));
        }
        let wanted =
            Wanted { key, object, part: Part::Whole, most: MOST_RELAYED, of: MOST_RELAYED, version: None };
        let Some(fetched) = source.fetch(wanted).await? else {
            let attempt = Attempt { action: "copy", object };
            return Err(attempt.error("it was removed while it was copied", "run the command again"));
        };
        destination.put((&self.to.0, &self.to.1), fetched.bytes).await
    }
}

/// What an answer with the status of a success says.
fn copied(answer: &Answer, service: Service) -> Copied {
    if service == Service::Azure {
        return match header(&answer.headers, "x-ms-copy-status") {
            Some("success") => Copied::Done,
            // What is copied later may come over what is written later.
            _ => Copied::Declined,
        };
    }
    // The store answers before it knows: an error may follow the status of a success.
    if element(&answer.body, "Code").is_some() {
        return Copied::Failed;
    }
    // A server that does not know the header has written an empty object.
    let is_told = std::str::from_utf8(&answer.body).is_ok_and(|text| text.contains("CopyObjectResult"));
    if is_told { Copied::Done } else { Copied::Declined }
}

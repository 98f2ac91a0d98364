//! A bucket or a web server: objects and listings by their whole keys, without blocking.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Method;
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, ETAG, LAST_MODIFIED};

use super::address::{Address, Service};
use super::backend::Backend;
use super::body::{Keep, header};
use super::configuration;
use super::explain::{Attempt, is_refused, lacks_bucket};
use super::let_go::Open;
use super::listing::{self, Listed, MOST_PAGE_BYTES, Page};
use super::reader::FIRST;
use super::transport::{Answer, Failure, Request, Transport};
use crate::store::{Part, RemoteOptions, StoreError};

/// Encodings that change the bytes. Some stores keep names of others with their objects, such as `aws-chunked`.
const ENCODINGS: [&str; 6] = ["gzip", "x-gzip", "deflate", "compress", "br", "zstd"];

/// A bucket or a web server.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) backend: Backend,
    transport: Transport,
    refused_is_absent: bool,
    /// The keys of what was refused and counts as absent.
    refused: Mutex<BTreeSet<String>>,
    /// With what keys begin that the server does not list.
    unlisted: Mutex<BTreeSet<String>>,
    /// Whether the server gives the last bytes of objects.
    gives_ends: AtomicBool,
    /// Whether it removes many objects by one request.
    pub(super) deletes_together: AtomicBool,
    /// What is let go of where the process ends.
    pub(super) open: Open,
}

/// What was read of an object.
#[derive(Debug)]
pub(super) struct Fetched {
    /// Where the bytes begin in the object.
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) object_bytes: u64,
    /// Which version of the object it is, where the store says.
    pub(super) version: Option<String>,
}

/// A part that is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) key: &'a str,
    /// As messages name it.
    pub(super) object: &'a str,
    pub(super) part: Part,
    /// The most bytes of it.
    pub(super) most: u64,
    /// The most bytes of the whole object, where only reading it tells how many it has.
    pub(super) of: u64,
    /// The version that it must be, where parts of it have been read.
    pub(super) version: Option<&'a str>,
}

impl Client {
    /// A client of an address, without its path; an error names what is missing, such as credentials.
    pub(super) fn new(address: &Address, options: &RemoteOptions) -> Result<Self, String> {
        Ok(Client {
            backend: configuration::backend(address, options)?,
            // Azure has no ranges from the end.
            gives_ends: AtomicBool::new(address.service != Service::Azure),
            deletes_together: AtomicBool::new(matches!(address.service, Service::S3 | Service::Google)),
            transport: Transport::new(options.requests.get())?,
            refused_is_absent: options.refused_is_absent,
            refused: Mutex::default(),
            unlisted: Mutex::default(),
            open: Open::default(),
        })
    }

    /// Makes a request; an answer of whatever status.
    pub(super) async fn send(
        &self,
        attempt: Attempt<'_>,
        request: &Request,
        keep: Keep,
    ) -> Result<Answer, StoreError> {
        let bound = match keep {
            Keep::All { most } => most,
            Keep::Range { .. } | Keep::Last { .. } => u64::MAX,
        };
        let leases = self.open.leases(request);
        let answer = self.transport.send(&self.backend, (request, &leases), keep).await;
        answer.map_err(|failure| attempt.failed(failure, bound, self.backend.service()))
    }

    /// Reads a part of an object; `None` where it is absent.
    pub(super) async fn fetch(&self, wanted: Wanted<'_>) -> Result<Option<Fetched>, StoreError> {
        let Wanted { key, object, part, most, version, of } = wanted;
        let too_large = |found| StoreError::TooLarge { object: object.to_owned(), found, bound: most };
        let empty = |object_bytes| Fetched { offset: 0, bytes: Vec::new(), object_bytes, version: None };
        let (keep, range) = match part {
            Part::Whole => (Keep::All { most }, None),
            Part::Range { length, .. } if length > most => return Err(too_large(length)),
            Part::Range { length: 0, .. } | Part::Last(0) => {
                return Ok(self.size(key, object).await?.map(empty));
            }
            Part::Range { offset, length } => {
                let last = offset.saturating_add(length - 1);
                (Keep::Range { offset, length }, Some(format!("bytes={offset}-{last}")))
            }
            Part::Last(length) if !self.gives_ends.load(Ordering::Relaxed) => {
                return self.fetch_end(wanted, length).await;
            }
            Part::Last(length) => (Keep::Last { length, most: of }, Some(format!("bytes=-{length}"))),
        };
        let mut request = Request::new(Method::GET, Some(key));
        if let Some(range) = range {
            request = request.with_header("range", range);
        }
        request = of_version(request, version);
        let attempt = Attempt { action: "read", object };
        let answer = match (self.transport.send(&self.backend, (&request, &[]), keep).await, part) {
            (Err(Failure::NotFromEnd), Part::Last(length)) => {
                self.gives_ends.store(false, Ordering::Relaxed);
                return self.fetch_end(wanted, length).await;
            }
            (answer, _) => {
                let bound = if matches!(part, Part::Last(_)) { of } else { most };
                answer.map_err(|failure| attempt.failed(failure, bound, self.backend.service()))?
            }
        };
        if let (500, Part::Last(length)) = (answer.status.as_u16(), part) {
            let found = self.fetch_end(wanted, length).await?;
            // It fails where more bytes are asked for than there are, and so at every small object.
            self.gives_ends.store(false, Ordering::Relaxed);
            return Ok(found);
        }
        match answer.status.as_u16() {
            _ if answer.has_content() => check_content(attempt, &answer, version)?,
            412 if version.is_some() => return Err(changed(attempt)),
            416 if matches!(part, Part::Last(_)) => match answer.object_bytes {
                // Nothing is a part of an empty object.
                Some(0) => return Ok(Some(empty(0))),
                _ => return Box::pin(self.fetch(Wanted { part: Part::Whole, ..wanted })).await,
            },
            416 => return Err(ends_before(attempt, part, answer.object_bytes)),
            _ => return self.absent(key, attempt, &answer),
        }
        let object_bytes = answer.object_bytes.unwrap_or(answer.body.len() as u64);
        if answer.body.len() as u64 > most {
            return Err(too_large(answer.body.len() as u64));
        }
        if let Part::Range { length, .. } = part
            && (answer.body.len() as u64) < length
        {
            return Err(ends_before(attempt, part, Some(object_bytes)));
        }
        let version = version_of(&answer);
        let offset = match part {
            Part::Whole => 0,
            Part::Range { offset, .. } => offset,
            Part::Last(_) => object_bytes.saturating_sub(answer.body.len() as u64),
        };
        Ok(Some(Fetched { offset, version, bytes: answer.body, object_bytes }))
    }

    /// Reads the last bytes of an object at a server that counts none from the end: the first bytes tell its size, and are
    /// all of a small one.
    async fn fetch_end(&self, wanted: Wanted<'_>, length: u64) -> Result<Option<Fetched>, StoreError> {
        let first = length.min(FIRST);
        let attempt = Attempt { action: "read", object: wanted.object };
        let mut request = Request::new(Method::GET, Some(wanted.key));
        request = request.with_header("range", format!("bytes=0-{}", first.saturating_sub(1)));
        request = of_version(request, wanted.version);
        let answer = self.send(attempt, &request, Keep::Range { offset: 0, length: first }).await?;
        match answer.status.as_u16() {
            _ if answer.has_content() => check_content(attempt, &answer, wanted.version)?,
            412 if wanted.version.is_some() => return Err(changed(attempt)),
            // Nothing is a part of an empty object.
            416 => return Ok(Some(Fetched { offset: 0, bytes: Vec::new(), object_bytes: 0, version: None })),
            _ => return self.absent(wanted.key, attempt, &answer),
        }
        let object_bytes = answer.object_bytes.unwrap_or(answer.body.len() as u64);
        let version = version_of(&answer);
        if object_bytes == answer.body.len() as u64 && object_bytes <= wanted.most {
            return Ok(Some(Fetched { offset: 0, bytes: answer.body, object_bytes, version }));
        }
        let length = length.min(object_bytes);
        let part = Part::Range { offset: object_bytes - length, length };
        Box::pin(self.fetch(Wanted { part, version: version.as_deref(), ..wanted })).await
    }

    /// The size of an object in bytes; `None` where it is absent.
    pub(super) async fn size(&self, key: &str, object: &str) -> Result<Option<u64>, StoreError> {
        let attempt = Attempt { action: "look at", object };
        let request = Request::new(Method::HEAD, Some(key));
        let answer = self.send(attempt, &request, Keep::All { most: u64::MAX }).await?;
        if answer.has_content() && answer.headers.contains_key(CONTENT_LENGTH) {
            return Ok(answer.object_bytes);
        }
        if answer.status.is_success() || matches!(answer.status.as_u16(), 400 | 403 | 405 | 501) {
            // Some servers know no HEAD, or do not say why they refuse it.
            let request = Request::new(Method::GET, Some(key)).with_header("range", "bytes=0-0");
            let answer = self.send(attempt, &request, Keep::Range { offset: 0, length: 1 }).await?;
            return match answer.status.as_u16() {
                _ if answer.has_content() => Ok(answer.object_bytes),
                416 => Ok(Some(answer.object_bytes.unwrap_or(0))),
                _ => self.absent(key, attempt, &answer),
            };
        }
        self.absent(key, attempt, &answer)
    }

    /// `None` for what an answer says to be absent, or the error that it is.
    fn absent<T>(&self, key: &str, attempt: Attempt<'_>, answer: &Answer) -> Result<Option<T>, StoreError> {
        if matches!(answer.status.as_u16(), 404 | 410) && !lacks_bucket(answer) {
            return Ok(None);
        }
        let name = key.rsplit('/').next().unwrap_or(key);
        // Whether a node is there is not decided by who may read it: without it, what is left would be another hierarchy.
        let is_node = matches!(name, "zarr.json" | ".zarray" | ".zgroup");
        if self.refused_is_absent && is_refused(answer) && !is_node {
            if !matches!(name, ".zattrs" | ".zmetadata") {
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned());
            }
            return Ok(None);
        }
        Err(attempt.answered(answer, &self.backend))
    }

    /// The first of all keys that begin with `prefix`.
    pub(super) async fn first_key(
        self: Arc<Self>,
        prefix: String,
        object: String,
    ) -> Result<Option<String>, StoreError> {
        let listed = Listed { prefix: &prefix, by_folder: false, most: Some(1) };
        let mut next: Option<String> = None;
        loop {
            let page = self.list(listed, &object, next.as_deref()).await?;
            if let Some((first, _)) = page.objects.into_iter().next() {
                return Ok(Some(first));
            }
            // Some pages are empty, and not the last.
            if page.next.is_none() || page.next == next {
                return Ok(None);
            }
            next = page.next;
        }
    }

    /// How many objects whose keys begin with `prefix` were refused and count as absent.
    pub(super) fn num_refused(&self, prefix: &str) -> u64 {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.range(prefix.to_owned()..).take_while(|key| key.starts_with(prefix)).count() as u64
    }

    /// Whether the server has refused to list the keys that begin with `prefix`.
    pub(super) fn refuses_to_list(&self, prefix: &str) -> bool {
        let unlisted = self.unlisted.lock().unwrap_or_else(PoisonError::into_inner);
        unlisted.iter().any(|refused| prefix.starts_with(refused))
    }

    /// A page of a listing.
    pub(super) async fn list(
        &self,
        listed: Listed<'_>,
        object: &str,
        next: Option<&str>,
    ) -> Result<Page, StoreError> {
        let attempt = Attempt { action: "list", object };
        let service = self.backend.service();
        if service == Service::Http {
            return Err(attempt.error(
                "a web server does not tell what it holds",
                "name a node; of a hierarchy, consolidated metadata tell what is in it",
            ));
        }
        let request = listing::request(service, listed, next);
        self.page(attempt, listed.prefix, &request).await
    }

    /// The page that a request asks for.
    pub(super) async fn page(
        &self,
        attempt: Attempt<'_>,
        prefix: &str,
        request: &Request,
    ) -> Result<Page, StoreError> {
        let service = self.backend.service();
        let answer = self.send(attempt, request, Keep::All { most: MOST_PAGE_BYTES }).await?;
        if !answer.status.is_success() {
            // Who may not list may be allowed to read.
            if matches!(answer.status.as_u16(), 401 | 403 | 404 | 405 | 501) && !lacks_bucket(&answer) {
                let mut unlisted = self.unlisted.lock().unwrap_or_else(PoisonError::into_inner);
                unlisted.insert(prefix.to_owned());
            }
            return Err(attempt.answered(&answer, &self.backend));
        }
        listing::page(service, prefix, &answer.body).ok_or_else(|| {
            attempt.error(
                "the answer is no listing",
                "check that the address is that of a store, and its endpoint",
            )
        })
    }
}

/// The version of an object that an answer is about: its tag, else its date, which is compared as weak tags are.
fn version_of(answer: &Answer) -> Option<String> {
    let date = || Some(format!("W/{}", header(&answer.headers, LAST_MODIFIED.as_str())?));
    header(&answer.headers, ETAG.as_str()).map(str::to_owned).or_else(date)
}

/// The request for this version alone. A weak tag matches nothing, so it is compared with that of the answer.
fn of_version(request: Request, version: Option<&str>) -> Request {
    match version.filter(|version| !version.starts_with("W/")) {
        Some(version) => request.with_header("if-match", version),
        None => request,
    }
}

/// Refuses bytes of another version than is being read, and bytes that are compressed for the way.
fn check_content(attempt: Attempt<'_>, answer: &Answer, version: Option<&str>) -> Result<(), StoreError> {
    // Servers that know no conditions give what they have.
    if version.zip(version_of(answer).as_deref()).is_some_and(|(wanted, found)| wanted != found) {
        return Err(changed(attempt));
    }
    let encoding = header(&answer.headers, CONTENT_ENCODING.as_str()).unwrap_or_default();
    if encoding.split(',').any(|name| ENCODINGS.contains(&name.trim().to_ascii_lowercase().as_str())) {
        return Err(attempt.error(
            format!("it comes with `Content-Encoding: {encoding}`, which was not asked for"),
            "have the server send it as it is stored, without that header",
        ));
    }
    Ok(())
}

fn changed(attempt: Attempt<'_>) -> StoreError {
    attempt.error("it changed while it was read", "run the command again")
}

fn ends_before(attempt: Attempt<'_>, part: Part, found: Option<u64>) -> StoreError {
    match (part, found) {
        (Part::Range { offset, length }, Some(found)) => {
            StoreError::too_short(attempt.object.to_owned(), found, (offset, length))
        }
        _ => attempt.error("it holds fewer bytes than were expected", "write the object again"),
    }
}

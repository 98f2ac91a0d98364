//! A bucket or a web server: objects and listings by their whole keys, without blocking.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};
use reqwest::StatusCode;
use tokio::runtime::Runtime;

use super::copy::Sizes;
use super::{
    Address, Answer, Call, FIRST, Failure, InFlightWrites, Kind, Page, Prefetched, Service, Who, configuration,
    is_refused, lacks_bucket, runtime,
};
use crate::store::{Part, RemoteOptions, Result, StoreError, held};

/// Encodings that change the bytes. Some stores keep names of others with their objects, such as `aws-chunked`.
const ENCODINGS: [&str; 6] = ["gzip", "x-gzip", "deflate", "compress", "br", "zstd"];
/// The most bytes of a page of a listing: a thousand keys of a thousand letters, each of which may be written in six.
const MOST_PAGE_BYTES: u64 = 16 << 20;

/// Calls of `object_store` for buckets beside those for single objects.
pub(super) trait Bucket: MultipartStore + PaginatedListStore {}
impl<T: MultipartStore + PaginatedListStore> Bucket for T {}

/// The stores of `object_store` at one address.
pub(super) struct Stores {
    pub(super) objects: Arc<dyn ObjectStore>,
    /// Removes objects by one request each, where the store has such.
    pub(super) one_by_one: Arc<dyn ObjectStore>,
    /// `None` for web servers.
    pub(super) bucket: Option<Arc<dyn Bucket>>,
}

impl Stores {
    pub(super) fn of_bucket<T: ObjectStore + Bucket>(bucket: T) -> Self {
        let bucket = Arc::new(bucket);
        Stores { objects: bucket.clone(), one_by_one: bucket.clone(), bucket: Some(bucket) }
    }
}

/// A bucket or a web server.
pub(super) struct Client {
    /// As messages name it.
    name: String,
    pub(super) who: Who,
    pub(super) runtime: &'static Runtime,
    pub(super) stores: Stores,
    pub(super) service: Arc<Service>,
    refused_is_absent: bool,
    /// The keys of what was refused and counts as absent.
    refused: Mutex<BTreeSet<String>>,
    /// With what keys begin that the server does not list.
    unlisted: Mutex<BTreeSet<String>>,
    /// True if the server copies objects, once it has been asked to.
    pub(super) copies: Mutex<Option<bool>>,
    pub(super) sizes: Mutex<Sizes>,
    /// The most requests in flight.
    pub(super) requests: usize,
    /// Parts that will be read soon, in the order in which they were asked for.
    pub(super) prefetched: Mutex<Vec<Prefetched>>,
    pub(super) writes: InFlightWrites,
    /// True if the server gives the last bytes of objects.
    gives_ends: AtomicBool,
    /// True if it removes many objects by one request.
    pub(super) deletes_together: AtomicBool,
}

/// Without what may be a secret.
impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("service", &self.service).finish_non_exhaustive()
    }
}

/// A part that is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct GetRequest<'a> {
    pub(super) key: &'a str,
    pub(super) part: Part,
    /// The most bytes of the object where all of it is read, which may be the only way to learn how many it has.
    pub(super) most: u64,
    /// The version that it must be, where parts of it have been read.
    pub(super) version: Option<&'a str>,
}

/// The result of reading no bytes of an object.
fn empty(object_bytes: u64) -> Answer {
    Answer { object_bytes: Some(object_bytes), ..Answer::default() }
}

/// The path of a key.
pub(super) fn path(key: &str) -> object_store::Result<Path> {
    Ok(Path::parse(key)?)
}

impl Client {
    /// A client of a bucket or of a path of a web server; an error names what is missing, such as credentials.
    pub(super) fn new(address: &Address, options: &RemoteOptions) -> Result<Self, String> {
        let (stores, service, is_anonymous) = configuration::connect(address, options)?;
        let runtime = runtime().map_err(|error| error.to_string())?;
        Ok(Client {
            name: address.shown(),
            who: Who { kind: address.kind, is_anonymous },
            runtime,
            requests: options.requests.get(),
            prefetched: Mutex::default(),
            writes: InFlightWrites::new(runtime, options.requests.get()),
            stores,
            service,
            // Azure has no ranges from the end.
            gives_ends: AtomicBool::new(address.kind != Kind::Azure),
            deletes_together: AtomicBool::new(address.kind != Kind::Google),
            refused_is_absent: options.refused_is_absent,
            copies: Mutex::default(),
            sizes: Mutex::default(),
            refused: Mutex::default(),
            unlisted: Mutex::default(),
        })
    }

    /// An object as messages name it.
    pub(super) fn shown(&self, key: &str) -> String {
        if key.is_empty() { self.name.clone() } else { format!("{}/{key}", self.name) }
    }

    /// Waits for what has no other thread to do it.
    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// The calls of a bucket that web servers do not have.
    pub(super) fn bucket(&self) -> object_store::Result<&Arc<dyn Bucket>> {
        let none = object_store::Error::NotImplemented { operation: String::new(), implementer: String::new() };
        self.stores.bucket.as_ref().ok_or(none)
    }

    /// Reads an object, or a part of it; of one that does not say how many bytes it has, at most `most`.
    pub(super) async fn get(&self, key: &str, most: u64, options: GetOptions) -> Result<Answer, Failure> {
        let mut call = Call::of(Some(key), most);
        call.range.clone_from(&options.range);
        let work = async { self.stores.objects.get_opts(&path(key)?, options).await };
        self.service.read(call, work).await
    }

    /// Reads a part of an object; `None` where it is absent.
    pub(super) async fn fetch(&self, wanted: GetRequest<'_>) -> Result<Option<Answer>> {
        let range = match wanted.part {
            Part::Whole => None,
            Part::Range { length: 0, .. } | Part::Last(0) => {
                return Ok(self.size(wanted.key).await?.map(empty));
            }
            Part::Range { offset, length } => Some(GetRange::Bounded(offset..offset.saturating_add(length))),
            Part::Last(length) if !self.gives_ends.load(Ordering::Relaxed) => {
                return self.fetch_end(wanted, length).await;
            }
            Part::Last(length) => Some(GetRange::Suffix(length)),
        };
        let most = if matches!(wanted.part, Part::Range { .. }) { u64::MAX } else { wanted.most };
        let failure = match self.get(wanted.key, most, of_version(range, wanted.version)).await {
            Ok(answer) => return self.found(wanted, answer).map(Some),
            Err(failure) => failure,
        };
        match (wanted.part, failure.status(), &failure) {
            // Some fail where more bytes are asked for than there are, and so at every small object.
            (Part::Last(length), Some(200 | 206 | 500), _) => {
                let found = self.fetch_end(wanted, length).await?;
                self.gives_ends.store(false, Ordering::Relaxed);
                Ok(found)
            }
            (Part::Last(length), Some(416), Failure::Answered(answer)) if answer.object_bytes != Some(0) => {
                let most = wanted.most.min(length);
                Box::pin(self.fetch(GetRequest { part: Part::Whole, most, ..wanted })).await
            }
            _ => self.not_read(wanted, failure),
        }
    }

    /// The result of a request that read nothing.
    fn not_read(&self, wanted: GetRequest<'_>, failure: Failure) -> Result<Option<Answer>> {
        match (wanted.part, failure.status(), &failure) {
            // Nothing is a part of an empty object.
            (Part::Last(_), Some(416), _) => Ok(Some(empty(0))),
            (part, _, Failure::Answered(answer)) if answer.status == StatusCode::RANGE_NOT_SATISFIABLE => {
                Err(self.ends_before(wanted.key, part, answer.object_bytes))
            }
            (_, Some(412), _) if wanted.version.is_some() => Err(self.changed(wanted.key)),
            _ => self.absent("read", wanted.key, failure),
        }
    }

    /// Checks that an answer has all that was asked for, of the version that is wanted and as it is stored.
    fn found(&self, wanted: GetRequest<'_>, answer: Answer) -> Result<Answer> {
        // Servers that know no conditions give what they have.
        if wanted.version.zip(answer.version()).is_some_and(|(wanted, found)| wanted != found) {
            return Err(self.changed(wanted.key));
        }
        let encoding = answer.header("content-encoding").unwrap_or_default();
        if encoding.split(',').any(|name| ENCODINGS.contains(&name.trim().to_ascii_lowercase().as_str())) {
            let why = format!("it is sent with `Content-Encoding: {encoding}`, which was not requested");
            let help = "configure the server to send it as it is stored, without that header";
            return Err(self.error("read", wanted.key, why, help));
        }
        if matches!(wanted.part, Part::Range { length, .. } if answer.body.len() as u64 != length) {
            return Err(self.ends_before(wanted.key, wanted.part, answer.object_bytes));
        }
        Ok(answer)
    }

    /// Reads the last bytes of an object at a server that counts none from the end: the first bytes tell its size, and are
    /// all of a small one.
    async fn fetch_end(&self, wanted: GetRequest<'_>, length: u64) -> Result<Option<Answer>> {
        let range = Some(GetRange::Bounded(0..length.min(FIRST)));
        let answer = match self.get(wanted.key, wanted.most, of_version(range, wanted.version)).await {
            Ok(answer) => self.found(wanted, answer)?,
            Err(failure) => return self.not_read(wanted, failure),
        };
        let object_bytes = answer.object_bytes.unwrap_or(0);
        if object_bytes == answer.body.len() as u64 {
            return Ok(Some(answer));
        }
        let (length, version) = (length.min(object_bytes), answer.version());
        let part = Part::Range { offset: object_bytes - length, length };
        Box::pin(self.fetch(GetRequest { part, version: version.as_deref(), ..wanted })).await
    }

    /// The size of an object in bytes; `None` where it is absent.
    pub(super) async fn size(&self, key: &str) -> Result<Option<u64>> {
        let answered = self.get(key, u64::MAX, GetOptions { head: true, ..GetOptions::default() }).await;
        let failure = match answered {
            Ok(Answer { object_bytes: Some(bytes), .. }) => return Ok(Some(bytes)),
            Err(failure) if !matches!(failure.status(), Some(400 | 403 | 405 | 501)) => failure,
            // Some servers know no HEAD, or do not say why they refuse it.
            _ => match self.get(key, u64::MAX, of_version(Some(GetRange::Bounded(0..1)), None)).await {
                Ok(answer) => return Ok(answer.object_bytes),
                Err(Failure::Answered(answer)) if answer.status.as_u16() == 416 => {
                    return Ok(Some(answer.object_bytes.unwrap_or(0)));
                }
                Err(failure) => failure,
            },
        };
        self.absent("look at", key, failure)
    }

    /// `None` for what an answer says to be absent, or the error that it is.
    fn absent<T>(&self, action: &'static str, key: &str, failure: Failure) -> Result<Option<T>> {
        if let Failure::Answered(answer) = &failure {
            if matches!(answer.status.as_u16(), 404 | 410) && !lacks_bucket(answer) {
                return Ok(None);
            }
            let name = key.rsplit('/').next().unwrap_or(key);
            // Whether a node is there is not decided by who may read it: without it, what is left would be another hierarchy.
            let is_node = matches!(name, "zarr.json" | ".zarray" | ".zgroup");
            if self.refused_is_absent && is_refused(answer) && !is_node {
                if !matches!(name, ".zattrs" | ".zmetadata") {
                    held(&self.refused).insert(key.to_owned());
                }
                return Ok(None);
            }
        }
        Err(self.failed(action, key, failure))
    }

    fn changed(&self, key: &str) -> StoreError {
        self.error("read", key, "it changed while it was read", "run the command again")
    }

    /// The first of all keys that begin with `prefix`.
    pub(super) async fn first_key(&self, prefix: &str) -> Result<Option<String>> {
        let mut first = None;
        // Some pages are empty, and not the last.
        let visit = |page: Page| {
            first = page.objects.into_iter().map(|(key, _)| key).chain(page.left_out).next();
            if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        self.pages(prefix, PaginatedListOptions { max_keys: Some(1), ..PaginatedListOptions::default() }, visit)
            .await?;
        Ok(first)
    }

    /// All objects whose keys begin with `prefix`, and their sizes in bytes.
    pub(super) async fn objects(&self, prefix: &str) -> Result<Vec<(String, u64)>> {
        let mut objects = Vec::new();
        let visit = |page: Page| {
            objects.extend(page.objects);
            ControlFlow::Continue(())
        };
        self.pages(prefix, PaginatedListOptions::default(), visit).await?;
        Ok(objects)
    }

    /// The number of objects whose keys begin with `prefix` and that were refused and count as absent.
    pub(super) fn num_refused(&self, prefix: &str) -> u64 {
        held(&self.refused).range(prefix.to_owned()..).take_while(|key| key.starts_with(prefix)).count() as u64
    }

    /// True if the server has refused to list the keys that begin with `prefix`.
    pub(super) fn refuses_to_list(&self, prefix: &str) -> bool {
        held(&self.unlisted).iter().any(|refused| prefix.starts_with(refused))
    }

    /// A page of the keys that begin with `prefix`.
    pub(super) async fn list(&self, prefix: &str, options: PaginatedListOptions) -> Result<Page> {
        let below = prefix.trim_end_matches('/');
        let Ok(bucket) = self.bucket() else {
            let help = "name a node; a hierarchy needs consolidated metadata, which list its nodes";
            return Err(self.error("list", below, "a web server cannot list its files", help));
        };
        let work = bucket.list_paginated(Some(prefix).filter(|prefix| !prefix.is_empty()), options);
        let answer = self.service.read(Call::of(None, MOST_PAGE_BYTES), work).await.map_err(|failure| {
            // Who may not list may be allowed to read.
            if let Failure::Answered(answer) = &failure
                && matches!(answer.status.as_u16(), 401 | 403 | 404 | 405 | 501)
                && !lacks_bucket(answer)
            {
                held(&self.unlisted).insert(prefix.to_owned());
            }
            self.failed("list", below, failure)
        })?;
        let Some(mut page) = Page::parse(&answer.body) else {
            let help = "check that the address is that of a store, and its endpoint";
            return Err(self.error("list", below, "the answer is not a listing", help));
        };
        page.objects.retain(|(key, _)| key.starts_with(prefix));
        page.folders.retain(|key| key.starts_with(prefix));
        page.left_out.retain(|key| key.starts_with(prefix));
        Ok(page)
    }

    /// Gives each page of a listing to `visit`, until that breaks off.
    pub(super) async fn pages(
        &self,
        prefix: &str,
        mut options: PaginatedListOptions,
        mut visit: impl FnMut(Page) -> ControlFlow<()>,
    ) -> Result<()> {
        loop {
            let mut page = self.list(prefix, options.clone()).await?;
            let next = page.next.take();
            if visit(page).is_break() || next.is_none() {
                return Ok(());
            }
            if next == options.page_token {
                let why = "the listing repeats without end";
                let below = prefix.trim_end_matches('/');
                return Err(self.error("list", below, why, "report it to whoever runs the store"));
            }
            options.page_token = next;
        }
    }

    fn ends_before(&self, key: &str, part: Part, found: Option<u64>) -> StoreError {
        match (part, found) {
            (Part::Range { offset, length }, Some(found)) => {
                StoreError::too_short(self.shown(key), found, (offset, length))
            }
            _ => self.error("read", key, "it has fewer bytes than expected", "write the object again"),
        }
    }
}

/// A request for a part of this version alone. A weak tag matches nothing, so it is compared with that of the answer.
fn of_version(range: Option<GetRange>, version: Option<&str>) -> GetOptions {
    let if_match = version.filter(|version| !version.starts_with("W/")).map(str::to_owned);
    GetOptions { range, if_match, ..GetOptions::default() }
}

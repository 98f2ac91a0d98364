//! Client of a bucket or a web server. Its calls are asynchronous and use whole keys. Also pages of listings of S3 and
//! Google (`ListBucketResult`) and Azure (`EnumerationResults`).

use std::collections::{BTreeSet, HashMap};
use std::future::ready;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::stream::{Stream, TryStreamExt, iter, try_unfold};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};
use once_cell::sync::OnceCell;
use reqwest::StatusCode;
use serde::Deserialize;
use tokio::runtime::Runtime;

use super::change::Sizes;
use super::{
    Address, Answer, Call, CallResult, FIRST, Failure, InFlightWrites, Kind, Prefetched, Service, StoreResponse, cause,
    configuration, is_refused, lacks_bucket, runtime,
};
use crate::store::{EntryKind, Key, Part, RemoteOptions, Result, StoreError, held};

/// Content encodings that change the bytes. Some stores also keep unrelated names, such as `aws-chunked`.
const ENCODINGS: [&str; 6] = ["gzip", "x-gzip", "deflate", "compress", "br", "zstd"];
/// Most bytes of a page of a listing. It allows 1000 keys of 1000 characters, each escaped by up to six bytes.
const MOST_PAGE_BYTES: u64 = 16 << 20;

/// Calls of `object_store` that only buckets have.
pub(super) trait Bucket: MultipartStore + PaginatedListStore {}
impl<T: MultipartStore + PaginatedListStore> Bucket for T {}

/// Stores of `object_store` for one address.
pub(super) struct Stores {
    pub(super) objects: Arc<dyn ObjectStore>,
    /// Store that removes each object with its own request.
    pub(super) one_by_one: Arc<dyn ObjectStore>,
    /// `None` for a web server.
    pub(super) bucket: Option<Arc<dyn Bucket>>,
    /// True if requests are not signed.
    pub(super) is_anonymous: bool,
}

impl Stores {
    /// Returns the stores of a bucket that was built.
    pub(super) fn of_bucket<T: ObjectStore + Bucket>(built: CallResult<T>, is_anonymous: bool) -> Result<Self, String> {
        let bucket = Arc::new(built.map_err(|error| cause(&error))?);
        Ok(Stores { objects: bucket.clone(), one_by_one: bucket.clone(), bucket: Some(bucket), is_anonymous })
    }
}

pub(super) struct Client {
    /// Name in messages.
    name: String,
    pub(super) options: RemoteOptions,
    pub(super) runtime: &'static Runtime,
    pub(super) stores: Stores,
    pub(super) service: Arc<Service>,
    /// Keys of refused objects that count as absent.
    refused: Mutex<BTreeSet<String>>,
    /// Prefixes that the server refuses to list.
    unlisted: Mutex<BTreeSet<String>>,
    /// True if the server copies objects. Empty until the first copy.
    pub(super) copies: OnceCell<bool>,
    pub(super) sizes: Mutex<Sizes>,
    /// Objects of which many parts are read, and their versions. The version is empty until the first answer.
    versions: Mutex<HashMap<String, Option<String>>>,
    /// Announced parts, in the order of their requests.
    pub(super) prefetched: Mutex<Vec<Prefetched>>,
    pub(super) writes: Arc<InFlightWrites>,
    /// True if the server supports suffix ranges.
    gives_ends: AtomicBool,
    /// True if the server supports bulk removal.
    pub(super) deletes_together: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct GetRequest<'a> {
    pub(super) key: &'a str,
    pub(super) part: Part,
    /// Most bytes of the object if all of it is read. Its size may be unknown before.
    pub(super) most: u64,
    /// Required version, if parts of the object have been read before.
    pub(super) version: Option<&'a str>,
}

/// Returns an answer without bytes for an object of this size.
fn empty(object_bytes: u64) -> StoreResponse {
    StoreResponse { object_bytes: Some(object_bytes), ..StoreResponse::default() }
}

pub(super) fn path(key: &str) -> object_store::Result<Path> {
    Ok(Path::parse(key)?)
}

impl Client {
    /// Creates a client. Fails if something is missing, such as credentials.
    pub(super) fn new(address: &Address, options: &RemoteOptions) -> Result<Self, String> {
        let (stores, service) = configuration::connect(address, options)?;
        let runtime = runtime().map_err(|error| error.to_string())?;
        Ok(Client {
            name: address.shown(),
            options: options.clone(),
            runtime,
            prefetched: Mutex::default(),
            writes: InFlightWrites::new(runtime, options.requests.get()),
            stores,
            service,
            // Azure has no suffix ranges.
            gives_ends: AtomicBool::new(address.kind != Kind::Azure),
            // `object_store` has no bulk removal for Google.
            deletes_together: AtomicBool::new(address.kind != Kind::Google),
            copies: OnceCell::new(),
            sizes: Mutex::default(),
            versions: Mutex::default(),
            refused: Mutex::default(),
            unlisted: Mutex::default(),
        })
    }

    /// Returns the name of an object in messages.
    pub(super) fn shown(&self, key: &str) -> String {
        if key.is_empty() { self.name.clone() } else { format!("{}/{key}", self.name) }
    }

    /// Runs a future on this thread until it completes.
    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Returns the calls that only buckets have, or an error for a web server.
    pub(super) fn bucket(&self) -> object_store::Result<&Arc<dyn Bucket>> {
        let none = object_store::Error::NotImplemented { operation: String::new(), implementer: String::new() };
        self.stores.bucket.as_ref().ok_or(none)
    }

    /// Reads an object or a part of it. If the answer has no length, it may have at most `most` bytes.
    pub(super) async fn get(&self, key: &str, most: u64, options: GetOptions) -> Answer {
        let mut call = Call::new(Some(key), most);
        call.range.clone_from(&options.range);
        let work = async { self.stores.objects.get_opts(&path(key)?, options).await };
        self.service.run(call, work).await.map(|(_, answer)| answer)
    }

    /// Reads a part of an object. Returns `None` if the object is absent.
    pub(super) async fn fetch(&self, wanted: GetRequest<'_>) -> Result<Option<StoreResponse>> {
        let range = match wanted.part {
            Part::Whole => None,
            // HTTP has no empty range, so only the size is requested.
            Part::Range { length: 0, .. } | Part::Last(0) => {
                return Ok(self.size(wanted.key).await?.map(empty));
            }
            Part::Range { offset, length } => Some(GetRange::Bounded(offset..offset.saturating_add(length))),
            Part::Last(length) if !self.gives_ends.load(Ordering::Relaxed) => {
                return self.fetch_end(wanted, length).await;
            }
            Part::Last(length) => Some(GetRange::Suffix(length)),
        };
        // A server that ignores ranges sends the whole object, which may be larger than the part.
        let most = if matches!(wanted.part, Part::Range { .. }) { u64::MAX } else { wanted.most };
        let failure = match self.get(wanted.key, most, of_version(range, wanted.version)).await {
            Ok(answer) => return self.found(wanted, answer).map(Some),
            Err(failure) => failure,
        };
        match (wanted.part, failure.status()) {
            // Some servers fail if the suffix is longer than the object, and so for every small object. An object of no
            // bytes has no suffix.
            (Part::Last(length), Some(status @ (200 | 206 | 416 | 500))) => {
                // If this fails too, the suffix was not the reason, and suffixes stay in use.
                let found = self.fetch_end(wanted, length).await?;
                self.gives_ends.fetch_and(status == 416, Ordering::Relaxed);
                Ok(found)
            }
            _ => self.not_read(wanted, failure),
        }
    }

    /// Converts a failed read of a part to its result.
    fn not_read(&self, wanted: GetRequest<'_>, failure: Failure) -> Result<Option<StoreResponse>> {
        match (wanted.part, failure.status(), &failure) {
            // A suffix of an empty object is empty.
            (Part::Last(_), Some(416), _) => Ok(Some(empty(0))),
            (part, _, Failure::Answered(answer)) if answer.status == StatusCode::RANGE_NOT_SATISFIABLE => {
                Err(self.ends_before(wanted.key, part, answer.object_bytes))
            }
            (_, Some(412), _) if wanted.version.is_some() => Err(self.changed(wanted.key)),
            _ => self.absent("read", wanted.key, failure),
        }
    }

    /// Checks that an answer has all requested bytes, the required version and no content encoding.
    fn found(&self, wanted: GetRequest<'_>, answer: StoreResponse) -> Result<StoreResponse> {
        // Servers that ignore conditions send any version.
        if wanted.version.zip(answer.version()).is_some_and(|(wanted, found)| wanted != found) {
            return Err(self.changed(wanted.key));
        }
        if let Some(kept) = held(&self.versions).get_mut(wanted.key) {
            let found = answer.version();
            if kept.is_some() && found.is_some() && *kept != found {
                return Err(self.changed(wanted.key));
            }
            *kept = kept.take().or(found);
        }
        let encoding = answer.header("content-encoding").unwrap_or_default();
        if encoding.split(',').any(|name| ENCODINGS.contains(&name.trim().to_ascii_lowercase().as_str())) {
            let why = format!("it is sent with `Content-Encoding: {encoding}`, which was not requested");
            let help = "configure the server to send the stored bytes, without that header";
            return Err(self.error("read", wanted.key, why, help));
        }
        if matches!(wanted.part, Part::Range { length, .. } if answer.body.len() as u64 != length) {
            return Err(self.ends_before(wanted.key, wanted.part, answer.object_bytes));
        }
        Ok(answer)
    }

    /// Reads the last bytes of an object without a suffix range. The answer for the first bytes contains the size of
    /// the object, and the whole of a small one.
    async fn fetch_end(&self, wanted: GetRequest<'_>, length: u64) -> Result<Option<StoreResponse>> {
        let range = Some(GetRange::Bounded(0..length.min(FIRST)));
        let answer = match self.get(wanted.key, wanted.most, of_version(range, wanted.version)).await {
            Ok(answer) => self.found(wanted, answer)?,
            Err(failure) => return self.not_read(wanted, failure),
        };
        let object_bytes = match answer.object_bytes {
            Some(bytes) => bytes,
            None => self.size(wanted.key).await?.ok_or_else(|| self.changed(wanted.key))?,
        };
        if object_bytes == answer.body.len() as u64 {
            return Ok(Some(answer));
        }
        let (length, version) = (length.min(object_bytes), answer.version());
        let part = Part::Range { offset: object_bytes - length, length };
        Box::pin(self.fetch(GetRequest { part, version: version.as_deref(), ..wanted })).await
    }

    /// Returns the size of an object in bytes, or `None` if it is absent.
    pub(super) async fn size(&self, key: &str) -> Result<Option<u64>> {
        let answered = self.get(key, u64::MAX, GetOptions { head: true, ..GetOptions::default() }).await;
        let failure = match answered {
            Ok(StoreResponse { object_bytes: Some(bytes), .. }) => return Ok(Some(bytes)),
            Err(failure) if !matches!(failure.status(), Some(400 | 403 | 405 | 501)) => failure,
            // Some servers do not support HEAD, or give no reason for refusing it.
            _ => match self.get(key, u64::MAX, of_version(Some(GetRange::Bounded(0..1)), None)).await {
                Ok(answer) => {
                    let why = "the server does not tell its size";
                    let untold = || self.error("look at", key, why, "report it to whoever runs the server");
                    return answer.object_bytes.map(Some).ok_or_else(untold);
                }
                Err(Failure::Answered(answer)) if answer.status.as_u16() == 416 => {
                    return Ok(Some(answer.object_bytes.unwrap_or(0)));
                }
                Err(failure) => failure,
            },
        };
        self.absent("look at", key, failure)
    }

    /// Returns `None` if an answer reports an absent object, else its error.
    fn absent<T>(&self, action: &'static str, key: &str, failure: Failure) -> Result<Option<T>> {
        if let Failure::Answered(answer) = &failure {
            if matches!(answer.status.as_u16(), 404 | 410) && !lacks_bucket(answer) {
                return Ok(None);
            }
            let name = key.rsplit('/').next().unwrap_or(key);
            // A refused document must not count as an absent node: the rest would be a different hierarchy.
            let is_node = matches!(name, "zarr.json" | ".zarray" | ".zgroup");
            if self.options.refused_is_absent && is_refused(answer) && !is_node {
                if !matches!(name, ".zattrs" | ".zmetadata") {
                    held(&self.refused).insert(key.to_owned());
                }
                return Ok(None);
            }
        }
        Err(self.failed(action, key, failure))
    }

    /// Remembers the version of the first answer for an object. Later reads of another version fail.
    pub(super) fn keep_version(&self, key: &str) {
        held(&self.versions).entry(key.to_owned()).or_default();
    }

    fn changed(&self, key: &str) -> StoreError {
        self.error("read", key, "it changed while it was read", "run the command again")
    }

    /// Returns the first key with a prefix.
    pub(super) async fn first_key(&self, prefix: &str) -> Result<Option<String>> {
        let options = PaginatedListOptions { max_keys: Some(1), ..PaginatedListOptions::default() };
        let first = |page: Page| page.entries.into_iter().next().map(|(key, ..)| key);
        // A page may be empty without being the last.
        let mut keys = pin!(self.pages(prefix, options).try_filter_map(|page| ready(Ok(first(page)))));
        keys.try_next().await
    }

    /// Returns all objects with a prefix, and their sizes in bytes.
    pub(super) async fn objects(&self, prefix: &str) -> Result<Vec<(String, u64)>> {
        let pages = self.pages(prefix, PaginatedListOptions::default());
        pages.map_ok(|page| iter(page.objects().map(Ok))).try_flatten().try_collect().await
    }

    /// Returns the number of refused objects with a prefix that count as absent.
    pub(super) fn num_refused(&self, prefix: &str) -> u64 {
        held(&self.refused).range(prefix.to_owned()..).take_while(|key| key.starts_with(prefix)).count() as u64
    }

    /// Returns true if the server has refused to list this prefix or a shorter one.
    pub(super) fn refuses_to_list(&self, prefix: &str) -> bool {
        held(&self.unlisted).iter().any(|refused| prefix.starts_with(refused))
    }

    /// Returns one page of the keys with a prefix.
    pub(super) async fn list(&self, prefix: &str, options: PaginatedListOptions) -> Result<Page> {
        let below = prefix.trim_end_matches('/');
        let Ok(bucket) = self.bucket() else {
            let help = "name a node; a hierarchy needs consolidated metadata, which list its nodes";
            return Err(self.error("list", below, "a web server cannot list its files", help));
        };
        let work = bucket.list_paginated(Some(prefix).filter(|prefix| !prefix.is_empty()), options);
        let (_, answer) = self.service.run(Call::new(None, MOST_PAGE_BYTES), work).await.map_err(|failure| {
            // A user who may not list may still be allowed to read.
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
        // A server may ignore the prefix. Keys elsewhere are not keys of the node.
        page.entries.retain(|(key, ..)| key.starts_with(prefix));
        Ok(page)
    }

    /// Returns the pages of a listing. Each is requested when it is polled.
    pub(super) fn pages(&self, prefix: &str, options: PaginatedListOptions) -> impl Stream<Item = Result<Page>> {
        try_unfold(Some(options), async move |options| {
            let Some(options) = options else { return Ok(None) };
            let mut page = self.list(prefix, options.clone()).await?;
            let next = page.next.take();
            if next.is_some() && next == options.page_token {
                let (below, why) = (prefix.trim_end_matches('/'), "the listing repeats without end");
                return Err(self.error("list", below, why, "report it to whoever runs the store"));
            }
            let rest = next.map(|next| PaginatedListOptions { page_token: Some(next), ..options });
            Ok(Some((page, rest)))
        })
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

/// Returns options for one version of an object. A weak tag never matches `If-Match`, so the answer's tag is compared.
fn of_version(range: Option<GetRange>, version: Option<&str>) -> GetOptions {
    let if_match = version.filter(|version| !version.starts_with("W/")).map(str::to_owned);
    GetOptions { range, if_match, ..GetOptions::default() }
}

/// Page of a listing with whole keys.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Objects with their sizes in bytes, and folders. Those with invalid keys are [`EntryKind::Unnamed`].
    pub(super) entries: Vec<(String, EntryKind, Option<u64>)>,
    /// Token of the next page, if there is one.
    pub(super) next: Option<String>,
}

/// XML document of a page. Azure has its entries in `Blobs`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Document {
    contents: Vec<Entry>,
    common_prefixes: Vec<Entry>,
    blobs: Blobs,
    #[serde(alias = "NextMarker")]
    next_continuation_token: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Blobs {
    blob: Vec<Entry>,
    blob_prefix: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(alias = "Name", alias = "Prefix")]
    key: Name,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    properties: Properties,
}

#[derive(Debug, Deserialize)]
struct Name {
    #[serde(rename = "@Encoded", default)]
    is_encoded: bool,
    #[serde(rename = "$text", default)]
    text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Properties {
    #[serde(rename = "Content-Length")]
    bytes: u64,
    #[serde(rename = "ResourceType")]
    kind: String,
}

impl Name {
    /// Returns the key. A percent-encoded name contains characters that XML cannot, so the result is an invalid key.
    fn key(self) -> String {
        if self.is_encoded { format!("{}\u{1}", self.text) } else { self.text }
    }
}

impl Page {
    /// Parses the body of an answer. Returns `None` if it is not a listing.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        // The parser ignores the name of the root, and would read any document as an empty page.
        ["<ListBucketResult", "<EnumerationResults"].iter().find(|name| text.contains(**name))?;
        let document: Document = quick_xml::de::from_str(text.trim_start_matches('\u{feff}')).ok()?;
        let objects = document.contents.into_iter().chain(document.blobs.blob);
        // Azure lists real folders also as objects. Their contents have entries of their own.
        let objects = objects.filter(|entry| entry.properties.kind != "directory");
        // S3 and Google have the size in one element, and Azure in the other. The missing one is 0.
        let objects = objects.map(|entry| (entry.key.key(), entry.size.max(entry.properties.bytes)));
        let folders = document.common_prefixes.into_iter().chain(document.blobs.blob_prefix);
        let mut entries = Vec::new();
        for (key, bytes) in objects {
            if Key::new(&key).is_ok() {
                entries.push((key, EntryKind::File, Some(bytes)));
            } else if bytes > 0 || !key.ends_with('/') {
                // Other tools create empty objects to make a folder visible.
                entries.push((key, EntryKind::Unnamed, None));
            }
        }
        for key in folders.map(|entry| entry.key.key()) {
            match key.strip_suffix('/').filter(|folder| Key::new(folder).is_ok()) {
                Some(folder) => entries.push((folder.to_owned(), EntryKind::Folder, None)),
                None => entries.push((key, EntryKind::Unnamed, None)),
            }
        }
        Some(Page { entries, next: document.next_continuation_token.filter(|next| !next.is_empty()) })
    }

    /// Returns the keys and the sizes in bytes of the objects.
    pub(super) fn objects(self) -> impl Iterator<Item = (String, u64)> {
        self.entries.into_iter().filter_map(|(key, _, bytes)| Some((key, bytes?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(page: &Page, of: EntryKind) -> Vec<&str> {
        page.entries.iter().filter(|(_, kind, _)| *kind == of).map(|(key, ..)| key.as_str()).collect()
    }

    #[test]
    fn keys_that_are_no_paths_are_apart_from_others() {
        let entry = |key: &str, bytes: u64| format!("<Contents><Key>{key}</Key><Size>{bytes}</Size></Contents>");
        let folder = |key: &str| format!("<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>");
        let entries = [
            entry("a/b&amp; c", 0),
            folder("a/c/"),
            entry("a/[ä]%2F", 7),
            entry("a/", 0),
            entry("a/c/", 0),
            entry("a//x", 1),
            entry("/a", 1),
            entry("a/../b", 1),
            entry("a&#1;", 1),
            entry("d/", 3),
            folder("a//"),
        ];
        let text =
            format!("<?xml version=\"1.0\"?><ListBucketResult><Name>b</Name>{}</ListBucketResult>", entries.concat());
        let page = Page::parse(text.as_bytes()).unwrap();
        assert_eq!((keys(&page, EntryKind::Folder), &page.next), (vec!["a/c"], &None));
        assert_eq!(keys(&page, EntryKind::Unnamed), ["a//x", "/a", "a/../b", "a\u{1}", "d/", "a//"]);
        assert!(page.objects().eq([("a/b& c".to_owned(), 0), ("a/[ä]%2F".to_owned(), 7)]));
        let text = "\u{feff}<EnumerationResults><Blobs><Blob><Name>a</Name><Properties><Content-Length>3</Content-Length>\
            </Properties></Blob><BlobPrefix><Name>c/</Name></BlobPrefix><Blob><Name Encoded=\"true\">b%01</Name><Properties>\
            <Content-Length>1</Content-Length></Properties></Blob><Blob><Name>c</Name><Properties><ResourceType>directory\
            </ResourceType></Properties></Blob></Blobs><NextMarker>m</NextMarker></EnumerationResults>";
        let page = Page::parse(text.as_bytes()).unwrap();
        assert_eq!((keys(&page, EntryKind::Unnamed), keys(&page, EntryKind::Folder)), (vec!["b%01\u{1}"], vec!["c"]));
        assert_eq!(page.next.as_deref(), Some("m"));
        assert!(page.objects().eq([("a".to_owned(), 3)]));
    }

    #[test]
    fn page_that_is_none_is_not_an_empty_one() {
        for text in ["", "<html></html>", "<Error><Code>AccessDenied</Code></Error>", "{}", "<ListBucketResult><Blob"] {
            assert!(Page::parse(text.as_bytes()).is_none(), "{text}");
        }
        assert!(Page::parse(b"<ListBucketResult/>").is_some());
        assert!(Page::parse(b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>").is_some());
    }
}

//! Changes in a bucket: objects are written, copied by the server itself, and removed. Also checks whether a web server
//! shows the objects that would be removed.
//!
//! Hierarchies are removed object by object. The order ensures that no incomplete node can be opened. It also ensures
//! that a later run can always recognise the rest.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::ready;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt, stream};
use object_store::list::PaginatedListOptions;
use object_store::multipart::PartId;
use object_store::{GetOptions, GetRange, ObjectStoreExt, PutMode};
use tokio::task::{AbortHandle, JoinHandle};

use super::{Call, CallResult, Client, Failure, Kind, RemoteStore, path};
use crate::store::location::percent_decoded;
use crate::store::{Key, Network, Node, Put, RUN_FOLDER, Relation, Result, Store, StoreError, Tree, held, machine};

/// Most time that the process waits at its end for uploads and locks to be released.
const PATIENCE: Duration = Duration::from_secs(3);
/// Most bytes of an answer to a change.
const MOST_ANSWER: u64 = 1 << 20;

/// Upload of a part, which returns the id of the part.
pub(super) type UploadedPart = JoinHandle<Result<PartId>>;

/// Result of a conditional write.
pub(super) enum PutOutcome {
    Done,
    /// The condition was not met.
    Refused,
    /// The server does not support conditions.
    Unsupported,
}

impl Client {
    async fn change<T>(&self, action: &'static str, key: &str, work: impl Future<Output = CallResult<T>>) -> Result<T> {
        let done = self.service.change(Call::new(Some(key), MOST_ANSWER), work).await;
        done.map_err(|failure| self.failed(action, key, failure))
    }

    pub(super) async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        let work = async { self.stores.objects.put(&path(key)?, bytes.into()).await };
        self.change("write", key, work).await.map(drop)
    }

    pub(super) async fn put_if(
        &self,
        action: &'static str,
        key: &str,
        bytes: Vec<u8>,
        mode: PutMode,
    ) -> Result<PutOutcome> {
        let is_update = matches!(mode, PutMode::Update(_));
        let work = async { self.stores.objects.put_opts(&path(key)?, bytes.into(), mode.into()).await };
        let Err(failure) = self.service.change(Call::new(Some(key), MOST_ANSWER), work).await else {
            return Ok(PutOutcome::Done);
        };
        match failure.status() {
            // The object was removed, so it does not have the required version.
            Some(404) if is_update => Ok(PutOutcome::Refused),
            Some(304 | 409 | 412) => Ok(PutOutcome::Refused),
            Some(400 | 405 | 501) => Ok(PutOutcome::Unsupported),
            _ => Err(self.failed(action, key, failure)),
        }
    }

    /// Removes an object. It is no error if it does not exist.
    pub(super) async fn delete(&self, key: &str) -> Result<()> {
        let work = async { self.stores.one_by_one.delete(&path(key)?).await };
        match self.service.change(Call::new(Some(key), MOST_ANSWER), work).await {
            Err(failure) if failure.status() != Some(404) => return Err(self.failed("remove", key, failure)),
            _ => self.service.forget_lock(key),
        }
        Ok(())
    }

    /// Removes objects by bulk requests if the store supports them. Returns the keys that are left. Their removal one
    /// by one shows the reason.
    async fn delete_together(&self, keys: &[String]) -> Vec<String> {
        if !self.deletes_together.load(Ordering::Relaxed) || keys.len() < 2 {
            return keys.to_vec();
        }
        let paths: Vec<_> = keys.iter().map(|key| path(key)).collect();
        let removed = self.stores.objects.delete_stream(stream::iter(paths).boxed());
        let mut gone = BTreeSet::new();
        let work = removed.for_each(|removed| {
            gone.extend(removed.ok().map(String::from));
            ready(())
        });
        // This is the result of only one of several requests, so it is ignored.
        let _ = self.service.run(Call::new(None, MOST_NAMES), work.map(Ok)).await;
        if gone.is_empty() {
            self.deletes_together.store(false, Ordering::Relaxed);
        }
        for key in &gone {
            self.service.forget_lock(key);
        }
        keys.iter().filter(|key| !gone.contains(*key)).cloned().collect()
    }

    /// Starts the removal of an object, which continues after this call.
    pub(super) fn begin_delete(self: &Arc<Self>, key: String) -> Result<()> {
        let client = self.clone();
        self.writes.begin(&key.clone(), 0, async move { client.delete(&key).await })
    }

    /// Starts a multipart upload. Returns its id.
    pub(super) async fn begin_upload(&self, key: &str) -> Result<String> {
        let id = self.change("write", key, async { self.bucket()?.create_multipart(&path(key)?).await }).await?;
        // Azure has no upload ids. It discards uncommitted blocks itself.
        if !id.is_empty() {
            held(&self.service.uploads).insert((key.to_owned(), id.clone()), Vec::new());
        }
        Ok(id)
    }

    /// Starts the upload of a part. Parts are numbered from 0. The task returns the id of the part.
    pub(super) fn begin_part(self: &Arc<Self>, key: &str, id: &str, number: usize, bytes: Vec<u8>) -> UploadedPart {
        let upload = (key.to_owned(), id.to_owned());
        let (client, (key, id)) = (self.clone(), upload.clone());
        let part = self.runtime.spawn(async move {
            let put = async { client.bucket()?.put_part(&path(&key)?, &id, number, bytes.into()).await };
            client.change("write", &key, put).await
        });
        if let Some(parts) = held(&self.service.uploads).get_mut(&upload) {
            parts.retain(|part| !part.is_finished());
            parts.push(part.abort_handle());
        }
        part
    }

    /// Completes an upload. The object exists afterwards.
    pub(super) async fn end_upload(&self, key: &str, id: &String, parts: Vec<PartId>) -> Result<()> {
        self.change("write", key, async { self.bucket()?.complete_multipart(&path(key)?, id, parts).await }).await?;
        held(&self.service.uploads).remove(&(key.to_owned(), id.clone()));
        Ok(())
    }

    /// Aborts an upload and its parts in flight. The server frees its parts.
    pub(super) async fn abort_upload(&self, key: &str, id: &String) -> Result<()> {
        // A part that arrives after the abort would remain in the store.
        let upload = (key.to_owned(), id.clone());
        held(&self.service.uploads).get(&upload).into_iter().flatten().for_each(AbortHandle::abort);
        let mut call = Call::new(Some(key), MOST_ANSWER);
        // The process may end soon, so the abort must not wait for parts in flight.
        call.is_urgent = true;
        let abort = async { self.bucket()?.abort_multipart(&path(key)?, id).await };
        self.service.change(call, abort).await.map_err(|failure| self.failed("remove", key, failure))?;
        held(&self.service.uploads).remove(&upload);
        Ok(())
    }

    /// Aborts the incomplete uploads, then releases the locks.
    pub(super) async fn release_on_exit(&self) {
        let uploads: Vec<_> = held(&self.service.uploads).keys().cloned().collect();
        let locks = std::mem::take(&mut *held(&self.service.locks));
        let all = async {
            // If this fails, the store's own lifecycle rules remove the upload.
            join_all(uploads.iter().map(|(key, id)| self.abort_upload(key, id))).await;
            for lock in locks.iter().filter_map(Weak::upgrade) {
                // If this fails, the lock expires.
                let _ = lock.release().await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, all).await;
    }
}

/// Most bytes of an answer to a bulk removal.
const MOST_NAMES: u64 = 16 << 20;

/// Objects in the first bulk removal: the most of Azure (`Blob Batch`). S3 allows 1000, and `object_store` uses that.
const FIRST_TOGETHER: usize = 256;

impl RemoteStore {
    /// Removes everything below a key except what is below `kept`.
    pub(super) fn remove_all(&self, key: &Key<'_>, kept: Option<&Key<'_>>) -> Result<()> {
        self.check_writable("remove", key)?;
        let (client, prefix) = (self.client()?, key.prefix());
        let kept = kept.map(Key::prefix);
        // A listing does not show objects whose writes are in flight.
        client.writes.finish()?;
        let found = client.wait(client.objects(&prefix))?.into_iter().map(|(key, _)| key);
        let is_kept = |key: &String| kept.as_ref().is_some_and(|kept| key.starts_with(kept));
        let mut keys: Vec<String> = found.filter(|key| !is_kept(key)).collect();
        keys.sort_by_cached_key(|key| turn(key));
        for keys in keys.chunk_by(|key, next| turn(key) == turn(next)) {
            // The first request shows whether the store supports bulk removal.
            let (first, rest) = keys.split_at(keys.len().min(FIRST_TOGETHER));
            let mut left = client.wait(client.delete_together(first));
            left.extend(client.wait(client.delete_together(rest)));
            for key in left {
                client.begin_delete(key)?;
            }
            // The order of the ranks holds only if all objects of one are gone before the next begins.
            client.writes.finish()?;
        }
        Ok(())
    }
}

/// Returns the rank of an object in a removal. Lower ranks are removed first.
fn turn(key: &str) -> (u8, usize) {
    let name = key.rsplit('/').next().unwrap_or(key);
    // The files of a run identify the rest of a hierarchy, so they are removed last.
    if key.contains("/.zarrcast/") || key.starts_with(".zarrcast/") {
        return match name {
            // A lock alone shows that nothing was started.
            "lock" => (2, 0),
            // Without the first object of the log the others are ignored. A log with other gaps would be wrong.
            "00000000" => (3, 0),
            _ => (4, 0),
        };
    }
    // Once the first document is removed, the node no longer opens. Parents are removed before children.
    let is_document = name == "zarr.json" || name.starts_with(".z");
    if is_document { (0, key.matches('/').count()) } else { (1, 0) }
}

/// Largest object that every server copies with one request: 5 GB.
const MOST_COPIED: u64 = 5_000_000_000;
/// Number of attempts at a copy by the server. The pause grows with each attempt.
const COPY_ATTEMPTS: u32 = 3;
const COPY_PAUSE: Duration = Duration::from_millis(100);

/// Most sizes in the cache. With their keys they need about 20 MB.
const MOST_SIZES: usize = 200_000;
/// Time until a listing expires.
const SIZES_KEPT: Duration = Duration::from_mins(1);

/// Cache of sizes in bytes from listings for copies, by whole keys, and the time of the last one. Each entry is removed
/// when it is used.
#[derive(Debug, Default)]
pub(super) struct Sizes(HashMap<String, u64>, Option<Instant>);

impl RemoteStore {
    /// Copies an object by the server. If the server declines, the object is read and written.
    pub(super) fn copy_inside(&self, (from, to): (&Key<'_>, &Key<'_>), most: u64) -> Result<Option<u64>> {
        let client = self.client()?;
        client.writes.finish_of(from.as_str())?;
        let Some(bytes) = client.size_among_others(from.as_str())? else { return Ok(None) };
        StoreError::check_size(bytes, most, || client.shown(from.as_str()))?;
        self.changing("copy", to)?;
        // The first copy shows whether the server copies, so other threads wait for it.
        let mut is_done = false;
        let copies = bytes <= MOST_COPIED
            && *client.copies.get_or_try_init(|| {
                is_done = client.wait(client.copy(from.as_str(), to.as_str(), bytes))?;
                Ok(is_done)
            })?;
        if !copies {
            return self.copy_in_pieces(self, (from, to), most);
        }
        if !is_done {
            let (copying, from, target) = (client.clone(), from.as_str().to_owned(), to.as_str().to_owned());
            let declined = "the server copied others, but not this object";
            let copy = async move {
                let help = "run the command again, or copy it through a local folder";
                let failed = || copying.error("copy", &from, declined, help);
                copying.copy(&from, &target, bytes).await?.then_some(()).ok_or_else(failed)
            };
            // The bytes stay on the server, so they do not count towards the limit of bytes in flight.
            client.writes.begin(to.as_str(), 0, copy)?;
        }
        Ok(Some(bytes))
    }

    /// Returns the decoded path of a key on a web server.
    fn path_of(&self, key: &Key<'_>) -> String {
        let base = percent_decoded(&self.address.path).unwrap_or_default();
        let separator = if base.is_empty() || key.is_root() { "" } else { "/" };
        format!("{base}{separator}{}", key.as_str())
    }

    /// Returns true if an object has this text.
    fn is_text(&self, key: &Key<'_>, text: &str) -> Result<bool> {
        let client = self.client()?;
        match client.wait(client.get(key.as_str(), text.len() as u64, GetOptions::default())) {
            Ok(answer) => Ok(answer.body == text.as_bytes()),
            Err(Failure::Answered(_) | Failure::TooLarge { .. }) => Ok(false),
            Err(failure) => Err(client.failed("look at", key.as_str(), failure)),
        }
    }

    /// Requests the description of an object. Returns `None` if the server answers with an error status.
    fn describe(&self, key: &Key<'_>) -> Result<Option<Description>> {
        let client = self.client()?;
        // Some addresses are signed for GET only, so HEAD is not used.
        let options = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
        let answer = match client.wait(client.get(key.as_str(), u64::MAX, options)) {
            Ok(answer) => answer,
            Err(Failure::Answered(_)) => return Ok(None),
            Err(failure) => return Err(client.failed("look at", key.as_str(), failure)),
        };
        let text = |name| answer.header(name).map(str::to_owned);
        Ok(Some([answer.object_bytes.map(|bytes| bytes.to_string()), text("etag"), text("last-modified")]))
    }
}

impl Client {
    /// Returns the size of an object in bytes, or `None` if it is absent. Copies go through keys in order, so one page
    /// of a listing has the sizes of many neighbours. Otherwise each would need a request of its own.
    fn size_among_others(&self, key: &str) -> Result<Option<u64>> {
        // Other threads wait for the page, as it may contain their objects.
        let mut known = held(&self.sizes);
        if known.1.is_some_and(|listed| listed.elapsed() > SIZES_KEPT) {
            *known = Sizes::default();
        }
        if let Some(bytes) = known.0.remove(key) {
            return Ok(Some(bytes));
        }
        let (folder, name) = key.split_at(key.rfind('/').map_or(0, |slash| slash + 1));
        let is_azure = self.service.kind == Kind::Azure;
        let (mut prefix, mut offset) = (folder, just_before(key));
        if is_azure {
            // Azure cannot list from a given key. Neighbours share a prefix.
            let in_common = name.char_indices().rev().nth(1).map_or(0, |(offset, _)| offset);
            (prefix, offset) = (&key[..folder.len() + in_common], None);
        }
        let mut listed = None;
        if !self.refuses_to_list(folder) && (offset.is_some() || is_azure) {
            let page = self.wait(self.list(prefix, PaginatedListOptions { offset, ..Default::default() }))?;
            if known.0.len() + page.entries.len() > MOST_SIZES {
                known.0.clear();
            }
            known.0.extend(page.objects());
            known.1 = Some(Instant::now());
            listed = known.0.remove(key);
        }
        // Other threads need not wait for the request of a single size.
        drop(known);
        // A server may ignore the start key. The object can still exist.
        listed.map_or_else(|| self.wait(self.size(key)), |bytes| Ok(Some(bytes)))
    }

    /// Copies an object of `bytes` bytes by the server. Returns false if the server does not copy it.
    async fn copy(&self, from: &str, to: &str, bytes: u64) -> Result<bool> {
        for attempt in 1..=COPY_ATTEMPTS {
            let work = async { self.stores.objects.copy(&path(from)?, &path(to)?).await };
            let mut call = Call::new(Some(to), MOST_ANSWER);
            call.copied = Some(bytes);
            let answer = match self.service.change(call, work).await {
                Ok(()) => return Ok(true),
                Err(Failure::Answered(answer)) => answer,
                Err(failure) => return Err(self.failed("copy", from, failure)),
            };
            // The copy may still happen later, and would overwrite what is written instead.
            if answer.headers.contains_key("x-ms-copy-id") {
                return Err(self.error("copy", from, "the store postpones the copy", "copy it through a local folder"));
            }
            // An error in the body of a success is an internal error of the store, and temporary.
            let is_passing = match answer.status.as_u16() {
                404 | 409 | 412 => true,
                status => (200..300).contains(&status) && answer.code().is_some(),
            };
            if !is_passing {
                break;
            }
            tokio::time::sleep(COPY_PAUSE * attempt).await;
        }
        Ok(false)
    }
}

/// Returns a key that sorts after the key's predecessors and before the key. `None` means a key that is rarely a
/// chunk's.
fn just_before(key: &str) -> Option<String> {
    let last = key.chars().last().filter(char::is_ascii_alphanumeric)?;
    Some(format!("{}{}~", &key[..key.len() - 1], char::from(u8::try_from(last).ok()? - 1)))
}

/// Documents by which two nodes are compared.
const DOCUMENTS: [&str; 3] = ["zarr.json", ".zarray", ".zgroup"];

/// Size, tag and date of an object, if the server sends them.
type Description = [Option<String>; 3];

/// Returns the store of a node in a bucket, and that of another one on a web server with the outermost file that
/// contains it. Returns `None` unless there is one of each.
fn bucket_and_web<'n>(node: &'n Node, other: &'n Node) -> Option<(&'n RemoteStore, &'n RemoteStore, &'n Node)> {
    let file = std::iter::successors(Some(other), |node| node.container()).last()?;
    let (bucket, web) = (node.store.network()?.as_remote(), file.store.network()?.as_remote());
    (web.address.kind == Kind::Http && bucket.address.kind != Kind::Http).then_some((bucket, web, file))
}

/// Compares the position of a node on a web server with a node in a bucket. Returns `None` unless there is one of each.
pub(crate) fn relation(node: &Node, other: &Node) -> Result<Option<Relation>> {
    let Some((bucket, web, file)) = bucket_and_web(node, other) else { return Ok(None) };
    for (below_web, below_own) in pairs(&web.path_of(&file.prefix), node.prefix.as_str()) {
        for name in DOCUMENTS.into_iter().chain([""]) {
            let web_key = below(&file.prefix, [&below_web, name])?;
            let own_key = below(&node.prefix, [&below_own, name])?;
            if is_same_object((web, &web_key), (bucket, &own_key))? {
                return Ok(Some(Relation::new(below_own.is_empty(), below_web.is_empty())));
            }
        }
    }
    Ok(Some(Relation::Apart))
}

/// Returns true if two objects exist and none of their known properties differs.
fn is_same_object(
    (web, web_key): (&RemoteStore, &Key<'_>),
    (bucket, own_key): (&RemoteStore, &Key<'_>),
) -> Result<bool> {
    let Some(found) = web.describe(web_key)? else { return Ok(false) };
    let is_same = |own: Description| own.iter().zip(&found).all(|(a, b)| a.is_none() || b.is_none() || a == b);
    Ok(bucket.describe(own_key)?.is_some_and(is_same))
}

/// Returns true if a web server shows a node of a bucket under any path, as SOURCE or a target of it, inside it or
/// around it. Their root documents are compared. Then an object is written in the node for a moment, and searched on
/// the server.
pub(crate) fn is_shown(node: &Node, source: &Node, targets: &[Node]) -> Result<bool> {
    let Some(bucket) = node.store.network().map(Network::as_remote) else { return Ok(false) };
    let mut places = BTreeMap::new();
    for (index, other) in std::iter::once(source).chain(targets).enumerate() {
        let Some((_, web, file)) = bucket_and_web(node, other) else { continue };
        // Only SOURCE can contain nodes. The others are files.
        let is_folder = index == 0 && std::ptr::eq(file, other);
        for name in DOCUMENTS.iter().filter(|_| is_folder) {
            let keys = (below(&file.prefix, ["", name])?, below(&node.prefix, ["", name])?);
            if is_same_object((web, &keys.0), (bucket, &keys.1))? {
                return Ok(true);
            }
        }
        let own = node.prefix.as_str();
        let ends = std::iter::once(0).chain(own.match_indices('/').map(|(slash, _)| slash + 1));
        for inside in ends.map(|start| &own[start..]).filter(|inside| is_folder && !inside.is_empty()) {
            places.extend(file.child(inside).map(|place| (place.name(), place)));
        }
        let folders = web.address.path.rmatch_indices('/').map(|(slash, _)| &web.address.path[..slash]);
        let folders = folders.chain([""]).map(|path| super::node(&web.address.with_path(path), &web.options));
        let around = std::iter::successors(Some(file.clone()), Node::parent).chain(folders);
        places.extend(around.skip(usize::from(!is_folder)).map(|place| (place.name(), place)));
    }
    if places.is_empty() {
        return Ok(false);
    }
    let name = machine::unique_name();
    let probe = RUN_FOLDER.join(&name)?;
    let key = node.prefix.below(&probe);
    bucket.put(&key, name.as_bytes(), Put::Durable)?;
    let mut shown = places.values().map(|place| {
        let remote = place.store.network().map(Network::as_remote);
        remote.map_or(Ok(false), |remote| remote.is_text(&place.prefix.below(&probe), &name))
    });
    let found = shown.find(|shown| !matches!(shown, Ok(false))).unwrap_or(Ok(false));
    bucket.remove(&key, Tree::Object)?;
    bucket.sync(&key)?;
    found
}

/// Returns the possible nestings of two paths with common names. Each is the rest of the web server's path, and the
/// rest of the key in the bucket.
fn pairs(web: &str, own: &str) -> Vec<(String, String)> {
    let names = |path: &str| path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let (web, own): (Vec<String>, Vec<String>) = (names(web), names(own));
    let may_be_same = web.is_empty() || web.last() == own.last();
    let same = may_be_same.then(<(String, String)>::default);
    let inside = (0..web.len()).filter_map(|first| web[first..].strip_prefix(&own[..]));
    let inside = inside.filter(|rest| !rest.is_empty()).map(|rest| (String::new(), rest.join("/")));
    let around = (1..own.len()).filter(|end| web.ends_with(&own[..*end]));
    let around = around.map(|end| (own[end..].join("/"), String::new()));
    same.into_iter().chain(inside).chain(around).collect()
}

fn below(prefix: &Key<'_>, names: [&str; 2]) -> Result<Key<'static>> {
    let mut names = names.into_iter().filter(|name| !name.is_empty());
    names.try_fold(prefix.clone().into_owned(), |key, name| Ok(key.join(name)?.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_go_first_and_what_a_run_keeps_last() {
        let expected = [
            "a/.zgroup",
            "a/b/zarr.json",
            "a/c/0",
            "a/.zarrcast/lock",
            "a/.zarrcast/journal/00000000",
            "a/.zarrcast/journal/00000001",
        ];
        let mut keys = expected;
        keys.reverse();
        keys.sort_by_cached_key(|key| turn(key));
        assert_eq!(keys, expected);
    }

    #[test]
    fn key_just_before_another_comes_before_it_and_behind_its_neighbours() {
        for (neighbour, key) in [("c/11/9", "c/12"), ("c/8", "c/9"), ("a/c", "a/c0"), ("c/a/zz", "c/b")] {
            let before = just_before(key).unwrap();
            assert!(neighbour < before.as_str() && before.as_str() < key, "{neighbour} {before} {key}");
        }
        assert_eq!(just_before("c/ä"), None);
    }

    #[test]
    fn paths_that_may_lead_to_one_object_are_compared() {
        let found = |web, own| {
            let pairs = pairs(web, own);
            pairs.into_iter().map(|(a, b)| format!("{a}|{b}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("bucket/a", "a"), "|");
        assert_eq!(found("", "a/b"), "|");
        assert_eq!(found("bucket/a/b/c/0", "a/b"), "|c/0");
        assert_eq!(found("bucket/a", "a/b/c"), "b/c|");
        assert_eq!(found("bucket/x", "a"), "");
        assert_eq!(found("bucket", "a"), "");
    }
}

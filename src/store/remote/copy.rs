//! Copies inside a bucket by the server itself, without a download. Also checks whether a web address shows objects of
//! a bucket. As a bucket has many addresses, the objects are compared.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use object_store::list::PaginatedListOptions;
use object_store::{GetOptions, GetRange, ObjectStoreExt};

use super::change::MOST_ANSWER;
use super::{Call, Client, Failure, GetRequest, Kind, RemoteStore, path, percent_decoded};
use crate::store::{
    Key, Network, Node, Part, Put, RUN_FOLDER, Relation, Result, Store, StoreError, Tree, held, machine,
};

/// Largest object that every server copies with one request: 5 GB.
const MOST_COPIED: u64 = 5_000_000_000;
/// Largest object in bytes that is copied through memory as a whole if the server copied others, but not this one. A
/// larger one is an error.
const MOST_RELAYED: u64 = 8 << 20;

/// Number of attempts at a copy by the server. The pause grows with each attempt.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// Most sizes in the cache. With their keys they need about 20 MB.
const MOST_SIZES: usize = 200_000;
/// Time until a listing expires.
const SIZES_KEPT: Duration = Duration::from_mins(1);

/// Cache of sizes in bytes from a listing, by whole keys, and its time. Each entry is removed when it is used.
#[derive(Debug, Default)]
pub(super) struct Sizes(HashMap<String, u64>, Option<Instant>);

/// Result of a request to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyOutcome {
    Done,
    /// The request must be sent, or sent again.
    Pending,
    /// The server does not copy this object.
    Declined,
}

impl RemoteStore {
    /// Copies an object by the server. If the server declines, the object is read and written.
    pub(super) fn copy_inside(&self, (from, to): (&Key<'_>, &Key<'_>), most: u64) -> Result<Option<u64>> {
        let client = self.client()?;
        client.writes.finish_of(from.as_str())?;
        let Some(bytes) = client.size_among_others(from.as_str())? else { return Ok(None) };
        StoreError::check_size(bytes, most, || client.shown(from.as_str()))?;
        self.changing("copy", to)?;
        // The first request shows whether the server copies, so other threads wait for it.
        let mut first = CopyOutcome::Pending;
        let copies = bytes <= MOST_COPIED
            && *client.copies.get_or_try_init(|| {
                first = client.wait(client.ask_to_copy(from.as_str(), to.as_str(), bytes))?;
                Ok(first != CopyOutcome::Declined)
            })?;
        if !copies {
            return self.copy_in_pieces(self, (from, to), most);
        }
        if first == CopyOutcome::Pending {
            let (copying, from, target) = (client.clone(), from.as_str().to_owned(), to.as_str().to_owned());
            let copy = async move { copying.copy(&from, &target, bytes).await };
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
        let (bytes, answer) = match client.wait(client.get(key.as_str(), u64::MAX, options)) {
            Ok(answer) => (answer.object_bytes, answer),
            Err(Failure::Answered(answer)) if answer.status.as_u16() == 416 => (Some(0), *answer),
            Err(Failure::Answered(_)) => return Ok(None),
            Err(failure) => return Err(client.failed("look at", key.as_str(), failure)),
        };
        let text = |name| answer.header(name).map(str::to_owned);
        Ok(Some([bytes.map(|bytes| bytes.to_string()), text("etag"), text("last-modified")]))
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
        let (mut prefix, mut after) = (folder, just_before(key));
        if is_azure {
            // Azure cannot list from a given key. Neighbours share a prefix.
            let in_common = name.char_indices().rev().nth(1).map_or(0, |(offset, _)| offset);
            (prefix, after) = (&key[..folder.len() + in_common], None);
        }
        let mut listed = None;
        if !self.refuses_to_list(folder) && (after.is_some() || is_azure) {
            let options = PaginatedListOptions { offset: after, ..PaginatedListOptions::default() };
            let page = self.wait(self.list(prefix, options))?;
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

    /// Copies an object of `bytes` bytes by the server, or through memory if the server declines.
    async fn copy(&self, from: &str, to: &str, bytes: u64) -> Result<()> {
        for attempt in 1..=ATTEMPTS {
            match self.ask_to_copy(from, to, bytes).await? {
                CopyOutcome::Done => return Ok(()),
                CopyOutcome::Declined => break,
                // An error in the body of a success is an internal error of the store, and temporary.
                CopyOutcome::Pending => tokio::time::sleep(PAUSE * attempt).await,
            }
        }
        let failed = |why: &str| Err(self.error("copy", from, why, "run the command again"));
        if bytes > MOST_RELAYED {
            return failed("the server copied others, but not this object");
        }
        let wanted = GetRequest { key: from, part: Part::Whole, most: MOST_RELAYED, version: None };
        match self.fetch(wanted).await? {
            Some(fetched) => self.put(to, fetched.body).await,
            None => failed("it was removed while it was copied"),
        }
    }

    /// Sends one request to copy an object of `bytes` bytes.
    async fn ask_to_copy(&self, from: &str, to: &str, bytes: u64) -> Result<CopyOutcome> {
        let work = async { self.stores.objects.copy(&path(from)?, &path(to)?).await };
        let mut call = Call::new(Some(to), MOST_ANSWER);
        call.copied = Some(bytes);
        let answer = match self.service.change(call, work).await {
            Ok(_) => return Ok(CopyOutcome::Done),
            Err(Failure::Answered(answer)) => answer,
            Err(failure) => return Err(self.failed("copy", from, failure)),
        };
        // The copy may still happen later, and would overwrite what is written instead.
        if answer.headers.contains_key("x-ms-copy-id") {
            return Err(self.error("copy", from, "the store postpones the copy", "copy it through a local folder"));
        }
        // An object that was removed meanwhile is detected by the read.
        let is_passing = match answer.status.as_u16() {
            404 | 409 | 412 => true,
            status => (200..300).contains(&status) && answer.code().is_some(),
        };
        Ok(if is_passing { CopyOutcome::Pending } else { CopyOutcome::Declined })
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
    let file = std::iter::successors(Some(other), |node| node.store.container()).last()?;
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
    use super::{pairs, *};

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

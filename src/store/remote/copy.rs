//! Copies inside a bucket by the server itself, without a download. Also checks whether a web address shows objects of
//! a bucket. As a bucket has many addresses, the objects are compared.

use std::collections::BTreeMap;
use std::time::Duration;

use object_store::list::PaginatedListOptions;
use object_store::{GetOptions, GetRange, ObjectStoreExt};

use super::change::MOST_ANSWER;
use super::{Call, Client, Failure, GetRequest, Kind, RemoteStore, path};
use crate::store::{Key, Network, Node, Part, Put, RUN_FOLDER, Result, Store, StoreError, Tree, held, machine};

/// Largest object that every server copies with one request: 5 GB.
const MOST_COPIED: u64 = 5_000_000_000;
/// Largest object in bytes that is copied through memory as a whole if the server copied others, but not this one. A
/// larger one is an error.
const MOST_RELAYED: u64 = 8 << 20;

/// Number of attempts at a copy by the server. The pause grows with each attempt.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

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
        if let Some(bytes) = known.remove(key) {
            return Ok(Some(bytes));
        }
        let (folder, name) = key.split_at(key.rfind('/').map_or(0, |slash| slash + 1));
        let (mut prefix, mut offset) = (folder, just_before(key));
        if self.service.kind == Kind::Azure {
            // Azure cannot list from a given key. Neighbours share a prefix.
            let in_common = name.char_indices().rev().nth(1).map_or(0, |(offset, _)| offset);
            (prefix, offset) = (&key[..folder.len() + in_common], None);
        }
        let mut listed = None;
        if !self.refuses_to_list(folder) {
            let page = self.wait(self.list(prefix, PaginatedListOptions { offset, ..Default::default() }))?;
            *known = page.objects().collect();
            listed = known.remove(key);
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

fn remote(node: &Node) -> Option<&RemoteStore> {
    node.store.network().map(Network::as_remote)
}

/// Size, tag and date of an object, if the server sends them.
type Description = [Option<String>; 3];

/// Returns true if a web server shows a node of a bucket under any path, as SOURCE or a target of it, inside it or
/// around it. Their root documents are compared. Then an object is written in the node for a moment, and searched on
/// the server.
pub(crate) fn is_shown(node: &Node, source: &Node, targets: &[Node]) -> Result<bool> {
    let Some(bucket) = remote(node) else { return Ok(false) };
    let mut places = BTreeMap::new();
    for (index, other) in std::iter::once(source).chain(targets).enumerate() {
        // The outermost file that contains the other node, such as a zip file, is an object of the server.
        let Some(file) = std::iter::successors(Some(other), |node| node.store.container()).last() else { continue };
        let Some(web) = remote(file).filter(|web| web.address.kind == Kind::Http) else { continue };
        // Only SOURCE can contain nodes. The others are files.
        let is_folder = index == 0 && std::ptr::eq(file, other);
        for name in ["zarr.json", ".zarray", ".zgroup"].iter().filter(|_| is_folder) {
            let Some(found) = web.describe(&file.prefix.join(name)?)? else { continue };
            let is_same = |own: Description| own.iter().zip(&found).all(|(a, b)| a.is_none() || b.is_none() || a == b);
            if bucket.describe(&node.prefix.join(name)?)?.is_some_and(is_same) {
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
    let shows = |place: &Node| remote(place).map_or(Ok(false), |web| web.is_text(&place.prefix.below(&probe), &name));
    let found = places.values().map(shows).find(|shown| !matches!(shown, Ok(false))).unwrap_or(Ok(false));
    bucket.remove(&key, Tree::Object)?;
    bucket.sync(&key)?;
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_just_before_another_comes_before_it_and_behind_its_neighbours() {
        for (neighbour, key) in [("c/11/9", "c/12"), ("c/8", "c/9"), ("a/c", "a/c0"), ("c/a/zz", "c/b")] {
            let before = just_before(key).unwrap();
            assert!(neighbour < before.as_str() && before.as_str() < key, "{neighbour} {before} {key}");
        }
        assert_eq!(just_before("c/ä"), None);
    }
}

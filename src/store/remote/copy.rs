//! Objects that a server copies itself inside a bucket: their bytes do not come here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::RemoteStore;
use super::address::Kind;
use super::client::{Client, GetRequest, ListRequest};
use crate::store::held;
use crate::store::{Key, Part, Result, Store, StoreError, copy_in_pieces};

/// Larger objects are not copied by one request anywhere: 5 GB.
const MOST_COPIED: u64 = 5_000_000_000;
/// Objects of more bytes are read and written in pieces where the server does not copy them.
const MOST_RELAYED: u64 = 8 << 20;

/// The number of attempts to have the server copy an object, and the pause before the second, which grows.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// The most sizes that are kept: some 20 MB with their keys.
const MOST_SIZES: usize = 200_000;
/// A listing counts for this time.
const SIZES_KEPT: Duration = Duration::from_mins(1);

/// Sizes in bytes that a listing told, by whole keys, until each is asked for; and when.
#[derive(Debug, Default)]
pub(super) struct Sizes(HashMap<String, u64>, Option<Instant>);

/// The outcome of a request to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyOutcome {
    Done,
    /// Not this time.
    Failed,
    /// The server does not copy.
    Declined,
}

impl RemoteStore {
    /// True if the server may copy objects of another store: both are of one bucket, and reached by the same user, and it has
    /// not shown that it copies none.
    ///
    /// Not where refused objects count as absent: that shows when they are read.
    pub(super) fn may_copy_from(&self, source: &RemoteStore) -> bool {
        let is_same = self.address == source.address && self.options == source.options;
        is_same
            && self.address.kind != Kind::Http
            && !self.options.anonymous
            && !self.options.refused_is_absent
            && *held(&self.copies) != Some(false)
    }

    /// Has the server copy an object; where it does not, the object is read and written.
    pub(super) fn copy_inside(
        &self,
        source: &RemoteStore,
        (from, to): (&Key<'_>, &Key<'_>),
        most: u64,
    ) -> Result<Option<u64>> {
        let client = source.client()?;
        client.writes.finish_of(from.as_str())?;
        let Some(bytes) = source.size_among_others(from)? else { return Ok(None) };
        StoreError::check_size(bytes, most, || client.shown(from.as_str()))?;
        let (client, key) = self.changing("copy", to)?;
        let copy = Copy { client: client.clone(), from: from.as_str().to_owned(), to: key.clone(), bytes };
        let (copies, is_copied) = if bytes <= MOST_COPIED { self.server_copies(&copy)? } else { (false, false) };
        if !copies {
            return copy_in_pieces(self, source, (from, to), most);
        }
        if !is_copied {
            client.writes.begin(&key, 0, async move { copy.run().await })?;
        }
        Ok(Some(bytes))
    }

    /// Returns whether the server copies objects, and whether it has copied this one: the first that is asked for tells, and others
    /// wait for it.
    fn server_copies(&self, copy: &Copy) -> Result<(bool, bool)> {
        let mut known = held(&self.copies);
        if let Some(known) = *known {
            return Ok((known, false));
        }
        let outcome = copy.client.wait(copy.ask())?;
        Ok((*known.insert(outcome != CopyOutcome::Declined), outcome == CopyOutcome::Done))
    }

    /// The size of an object in bytes; `None` where it is absent. Objects are copied one after the other: a page of a listing
    /// tells of its neighbours as well, each of which would take a request of its own.
    fn size_among_others(&self, key: &Key<'_>) -> Result<Option<u64>> {
        let (client, whole) = (self.client()?, key.as_str());
        // Others wait for the page: it may tell what they ask.
        let mut known = held(&self.sizes);
        if known.1.is_some_and(|listed| listed.elapsed() > SIZES_KEPT) {
            *known = Sizes::default();
        }
        if let Some(bytes) = known.0.remove(whole) {
            return Ok(Some(bytes));
        }
        let (folder, name) = whole.split_at(whole.rfind('/').map_or(0, |slash| slash + 1));
        let (prefix, after) = if self.address.kind == Kind::Azure {
            // It lists from no key on; neighbours have their beginning in common.
            let in_common = name.char_indices().rev().nth(1).map_or(0, |(place, _)| place);
            (&whole[..folder.len() + in_common], None)
        } else {
            (folder, just_before(whole))
        };
        if client.refuses_to_list(folder) || (after.is_none() && self.address.kind != Kind::Azure) {
            drop(known);
            return self.size(key);
        }
        let listed = ListRequest { prefix, after: after.as_deref(), ..ListRequest::default() };
        let page = client.wait(client.list(listed, None))?;
        if known.0.len() + page.objects.len() > MOST_SIZES {
            known.0.clear();
        }
        known.0.extend(page.objects);
        known.1 = Some(Instant::now());
        let listed = known.0.remove(whole);
        drop(known);
        // A server that lists from another place than it was asked for may have it nevertheless.
        listed.map_or_else(|| self.size(key), |bytes| Ok(Some(bytes)))
    }
}

/// A key that comes before another, and behind its neighbours before it; `None` for keys that are rarely those of chunks.
fn just_before(key: &str) -> Option<String> {
    let last = key.chars().last().filter(char::is_ascii_alphanumeric)?;
    Some(format!("{}{}~", &key[..key.len() - 1], char::from(u8::try_from(last).ok()? - 1)))
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

    async fn run(&self) -> Result<()> {
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
    async fn ask(&self) -> Result<CopyOutcome> {
        let Some(answer) = self.client.copy(&self.from, &self.to, self.bytes).await? else {
            return Ok(CopyOutcome::Done);
        };
        // It may go on behind this, and would come over what is written instead.
        if answer.headers.contains_key("x-ms-copy-id") {
            return Err(self.error("the store copies it later", "copy by way of a local folder"));
        }
        // What was removed meanwhile is found out where it is read.
        let is_passing = match answer.status.as_u16() {
            404 | 409 | 412 => true,
            status => (200..300).contains(&status) && answer.code().is_some(),
        };
        Ok(if is_passing { CopyOutcome::Failed } else { CopyOutcome::Declined })
    }

    /// Reads and writes it.
    async fn relay(&self) -> Result<()> {
        if self.bytes > MOST_RELAYED {
            return Err(self.error("the server did not copy it as it did others", "run the command again"));
        }
        let (part, most) = (Part::Whole, MOST_RELAYED);
        let wanted = GetRequest { key: &self.from, part, most, of: most, version: None };
        let Some(fetched) = self.client.fetch(wanted).await? else {
            return Err(self.error("it was removed while it was copied", "run the command again"));
        };
        self.client.put(&self.to, fetched.bytes).await
    }
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

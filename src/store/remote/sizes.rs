//! The sizes of objects that are copied one after the other: a page of a listing tells of many, where each would take a
//! request of its own.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::RemoteStore;
use super::address::Kind;
use super::client::ListRequest;
use crate::store::{Key, Store, StoreError};

/// The most sizes that are kept: some 20 MB with their keys.
const MOST: usize = 200_000;
/// What was listed counts for this time.
const KEPT: Duration = Duration::from_mins(1);

/// Sizes in bytes that a listing told, by whole keys, until each is asked for.
#[derive(Debug, Default)]
pub(super) struct Sizes(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    bytes: HashMap<String, u64>,
    listed: Option<Instant>,
}

impl RemoteStore {
    /// The size of an object in bytes, which a listing tells of its neighbours as well; `None` where it is absent.
    pub(super) fn size_among_others(&self, key: &Key<'_>) -> Result<Option<u64>, StoreError> {
        let whole = key.as_str().to_owned();
        let mut known = self.sizes.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.listed.is_some_and(|listed| listed.elapsed() > KEPT) {
            *known = Known::default();
        }
        if let Some(bytes) = known.bytes.remove(&whole) {
            return Ok(Some(bytes));
        }
        // Others wait for this page: it may tell what they ask.
        let client = self.client()?;
        let (folder, name) = whole.split_at(whole.rfind('/').map_or(0, |slash| slash + 1));
        if client.refuses_to_list(folder) {
            drop(known);
            return self.size(key);
        }
        // Azure lists from no key on; its neighbours have their beginning in common with it.
        let is_azure = self.address.kind == Kind::Azure;
        let in_common = name.char_indices().rev().nth(1).map_or(0, |(place, _)| place);
        let prefix = if is_azure { &whole[..folder.len() + in_common] } else { folder };
        let after = just_before(&whole).filter(|_| !is_azure);
        if !is_azure && after.is_none() {
            drop(known);
            return self.size(key);
        }
        let listed = ListRequest { prefix, after: after.as_deref(), ..ListRequest::default() };
        let page = client.wait(client.list(listed, None))?;
        if known.bytes.len() + page.objects.len() > MOST {
            known.bytes.clear();
        }
        known.bytes.extend(page.objects);
        known.listed = Some(Instant::now());
        let listed = known.bytes.remove(&whole);
        drop(known);
        // A server that lists from another place than it was asked for may have it nevertheless.
        listed.map_or_else(|| self.size(key), |bytes| Ok(Some(bytes)))
    }
}

/// A key that comes before another, and behind its neighbours before it; `None` for keys that are rarely those of chunks.
fn just_before(key: &str) -> Option<String> {
    let (last, rest) = key.as_bytes().split_last()?;
    if !last.is_ascii_alphanumeric() {
        return None;
    }
    let rest = std::str::from_utf8(rest).ok()?;
    Some(format!("{rest}{}~", char::from(last - 1)))
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

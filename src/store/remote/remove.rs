//! What lies below a key goes object by object, in an order in which nothing opens that is not whole, and nothing is left
//! that no run knows to go on with.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;

use super::RemoteStore;
use super::address::Kind;
use super::client::{Client, ListRequest};
use crate::store::{Key, Result};

/// Objects that one request removes at the most (Amazon S3, `DeleteObjects`).
const MOST_TOGETHER: usize = 1000;
/// The same of Azure (`Blob Batch`).
const MOST_BLOBS: usize = 256;

impl RemoteStore {
    /// Removes all that lies below a key but what lies below `kept`.
    pub(super) fn remove_all(&self, key: &Key<'_>, kept: Option<&Key<'_>>) -> Result<()> {
        self.check_writable("remove", key)?;
        let (client, prefix) = (self.client()?, key.prefix());
        let kept = kept.map(Key::prefix);
        let mut keys = Vec::new();
        self.pages(ListRequest { prefix: &prefix, ..ListRequest::default() }, |page| {
            let found = page.objects.into_iter().map(|(key, _)| key);
            keys.extend(found.filter(|key| !kept.as_ref().is_some_and(|kept| key.starts_with(kept))));
            ControlFlow::Continue(())
        })?;
        keys.sort_by_cached_key(|key| turn(key));
        for keys in keys.chunk_by(|key, next| turn(key) == turn(next)) {
            for key in self.remove_together(client, keys) {
                let (removing, removed) = (client.clone(), key.clone());
                client.writes.begin(&key, 0, async move {
                    removing.delete(&removed).await?;
                    removing.service.open.forget(&removed);
                    Ok(())
                })?;
            }
            client.writes.finish()?;
        }
        Ok(())
    }

    /// Removes objects by requests for many of them, where the store has such; those that are left.
    fn remove_together(&self, client: &Arc<Client>, keys: &[String]) -> Vec<String> {
        if !client.deletes_together.load(Ordering::Relaxed) || keys.len() < 2 {
            return keys.to_vec();
        }
        let most = if self.address.kind == Kind::Azure { MOST_BLOBS } else { MOST_TOGETHER };
        let mut pieces = keys.chunks(most);
        // The first tells whether the store does it at all; the rest then go beside each other.
        let first = client.wait(join_all(pieces.next().map(|keys| client.delete_together(keys))));
        let rest = client.wait(join_all(pieces.map(|keys| client.delete_together(keys))));
        first.into_iter().chain(rest).flatten().collect()
    }
}

/// When an object goes: those of lower numbers before others.
fn turn(key: &str) -> (u8, usize) {
    let name = key.rsplit('/').next().unwrap_or(key);
    // As long as what a run keeps is there, what is left is known for what it is.
    if key.contains("/.zarrcast/") || key.starts_with(".zarrcast/") {
        return match name {
            // Alone it says that nothing was begun.
            "lock" => (2, 0),
            // The beginning of the log, without which the rest says nothing: some of its lines without others would be wrong.
            "00000000" => (3, 0),
            _ => (4, 0),
        };
    }
    // From the first document on nothing opens. Those above go before those below.
    let is_document = name == "zarr.json" || name.starts_with(".z");
    if is_document { (0, key.matches('/').count()) } else { (1, 0) }
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
}

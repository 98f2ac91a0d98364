//! What lies below a key goes object by object, in an order in which nothing opens that is not whole, and nothing is left
//! that no run knows to go on with.

use std::collections::BTreeSet;
use std::future::ready;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use futures_util::{FutureExt, StreamExt, stream};
use object_store::list::PaginatedListOptions;

use super::RemoteStore;
use super::address::Kind;
use super::client::{Client, path};
use super::listing::Page;
use super::service::Call;
use crate::store::{Key, Result};

/// The most bytes of an answer that names objects.
const MOST_ANSWER: u64 = 16 << 20;

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
        client.writes.finish()?;
        let visit = |page: Page| {
            let found = page.objects.into_iter().map(|(key, _)| key);
            keys.extend(found.filter(|key| !kept.as_ref().is_some_and(|kept| key.starts_with(kept))));
            ControlFlow::Continue(())
        };
        client.wait(client.pages(&prefix, PaginatedListOptions::default(), visit))?;
        keys.sort_by_cached_key(|key| turn(key));
        for keys in keys.chunk_by(|key, next| turn(key) == turn(next)) {
            // The first request tells whether the store takes many at all.
            let most = if self.address.kind == Kind::Azure { MOST_BLOBS } else { MOST_TOGETHER };
            let (first, rest) = keys.split_at(keys.len().min(most));
            let mut left = client.wait(client.delete_together(first));
            left.extend(client.wait(client.delete_together(rest)));
            for key in left {
                let (removing, removed) = (client.clone(), key.clone());
                client.writes.begin(&key, 0, async move {
                    removing.delete(&removed).await?;
                    removing.service.forget_lock(&removed);
                    Ok(())
                })?;
            }
            client.writes.finish()?;
        }
        Ok(())
    }
}

impl Client {
    /// Removes objects by requests for many of them, where the store has such; those that are left. Why they are left shows when
    /// each is removed by itself.
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
        // The outcome is that of one of several requests.
        let _ = self.service.read(Call::of(None, MOST_ANSWER), work.map(Ok)).await;
        if gone.is_empty() {
            self.deletes_together.store(false, Ordering::Relaxed);
        }
        for key in &gone {
            self.service.forget_lock(key);
        }
        keys.iter().filter(|key| !gone.contains(*key)).cloned().collect()
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

//! What lies below a key goes object by object, in an order in which nothing opens that is not whole, and nothing is left
//! that no run knows to go on with.

use std::ops::ControlFlow;

use super::RemoteStore;
use super::listing::Listed;
use crate::store::{Key, StoreError};

/// When an object goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// From then on nothing opens. The documents above go before those below.
    Document {
        depth: usize,
    },
    Chunk,
    /// What a run keeps beside what it writes: as long as it is there, what is left is known for what it is. A lock alone
    /// says that nothing was begun.
    Lock,
    /// The beginning of its log, without which the rest says nothing: some of its lines without others would be wrong.
    LogBeginning,
    LogRest,
}

impl RemoteStore {
    /// Removes all that lies below a key but what lies below `kept`.
    pub(super) fn remove_all(&self, key: &Key<'_>, kept: Option<&Key<'_>>) -> Result<(), StoreError> {
        self.check_writable("remove", key)?;
        let (client, runtime, prefix) = (self.client()?, self.runtime()?, self.prefix(key));
        let kept = kept.map(|kept| self.prefix(kept));
        let mut keys = Vec::new();
        self.pages(key, Listed { prefix: &prefix, by_folder: false, most: None }, |page| {
            let found = page.objects.into_iter().map(|(key, _)| key);
            keys.extend(found.filter(|key| !kept.as_ref().is_some_and(|kept| key.starts_with(kept))));
            ControlFlow::Continue(())
        })?;
        keys.sort_by_cached_key(|key| turn(key));
        let mut last = None;
        for key in keys {
            let now = turn(&key);
            if last.is_some_and(|last| last != now) {
                self.writes.finish(runtime)?;
            }
            last = Some(now);
            let (client, object) = (client.clone(), format!("{}/{key}", self.address.shown_root()));
            let removed = key.clone();
            self.writes.begin(runtime, &key, 0, async move {
                client.delete(&removed, &object).await?;
                client.forget(&removed);
                Ok(())
            })?;
        }
        self.writes.finish(runtime)
    }
}

fn turn(key: &str) -> Turn {
    let name = key.rsplit('/').next().unwrap_or(key);
    if key.contains("/.zarrcast/") || key.starts_with(".zarrcast/") {
        return match name {
            "lock" => Turn::Lock,
            "00000000" => Turn::LogBeginning,
            _ => Turn::LogRest,
        };
    }
    let is_document = name == "zarr.json" || name.starts_with(".z");
    if is_document { Turn::Document { depth: key.matches('/').count() } } else { Turn::Chunk }
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

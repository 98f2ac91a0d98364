//! Changes in a bucket: objects are written, copied and removed.
//!
//! Hierarchies are removed object by object. The order ensures that no incomplete node can be opened. It also ensures
//! that a later run can always recognise the rest.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt, stream};
use object_store::multipart::PartId;
use object_store::{ObjectStoreExt, PutMode};
use tokio::task::{AbortHandle, JoinHandle};

use super::{Call, CallResult, Client, Kind, RemoteStore, path};
use crate::store::{Key, Result, held};

/// Most time that the process waits at its end for uploads and locks to be released.
const PATIENCE: Duration = Duration::from_secs(3);
/// Most bytes of an answer to a change.
pub(super) const MOST_ANSWER: u64 = 1 << 20;

/// Upload of a part, which returns the id of the part.
pub(super) type UploadedPart = JoinHandle<Result<PartId>>;

/// Result of a conditional write.
#[derive(Debug)]
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
        done.map(|(made, _)| made).map_err(|failure| self.failed(action, key, failure))
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

/// Most objects in one bulk removal of Amazon S3 (`DeleteObjects`).
const MOST_TOGETHER: usize = 1000;
/// Most objects in one bulk removal of Azure (`Blob Batch`).
const MOST_BLOBS: usize = 256;

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
            let most = if self.address.kind == Kind::Azure { MOST_BLOBS } else { MOST_TOGETHER };
            let (first, rest) = keys.split_at(keys.len().min(most));
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

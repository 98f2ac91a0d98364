//! What is changed in a bucket: objects that are written, copied and removed.

use std::sync::Weak;
use std::time::Duration;

use object_store::multipart::PartId;
use object_store::{ObjectStoreExt, PutMode};
use reqwest::header::HeaderMap;

use super::answer::Answer;
use super::client::{Client, path};
use super::errors::Failure;
use super::service::Call;
use crate::store::{Result, held};

/// The process waits no longer than this at its end for what it lets go of.
const PATIENCE: Duration = Duration::from_secs(3);
/// The most bytes of an answer that is a document.
const MOST_ANSWER: u64 = 1 << 20;

/// The outcome of writing an object under a condition.
#[derive(Debug)]
pub(super) enum PutOutcome {
    Done(HeaderMap),
    /// The condition does not hold.
    Refused,
    /// The server takes no conditions.
    Unsupported,
}

impl Client {
    /// Makes a request that changes an object.
    async fn change<T>(
        &self,
        action: &'static str,
        key: &str,
        work: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T> {
        let done = self.service.change(Call::of(Some(key), MOST_ANSWER), work).await;
        done.map(|(made, _)| made).map_err(|failure| self.failed(action, key, failure))
    }

    /// Writes a whole object.
    pub(super) async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        let work = async { self.stores.objects.put(&path(key)?, bytes.into()).await };
        self.change("write", key, work).await.map(drop)
    }

    /// Writes a whole object under a condition.
    pub(super) async fn put_if(
        &self,
        action: &'static str,
        key: &str,
        bytes: Vec<u8>,
        mode: PutMode,
    ) -> Result<PutOutcome> {
        let is_update = matches!(mode, PutMode::Update(_));
        let work = async { self.stores.objects.put_opts(&path(key)?, bytes.into(), mode.into()).await };
        let failure = match self.service.change(Call::of(Some(key), MOST_ANSWER), work).await {
            Ok((_, headers)) => return Ok(PutOutcome::Done(headers)),
            Err(failure) => failure,
        };
        match failure.status() {
            Some(404) if is_update => Ok(PutOutcome::Refused),
            Some(304 | 409 | 412) => Ok(PutOutcome::Refused),
            Some(400 | 405 | 501) => Ok(PutOutcome::Unsupported),
            _ => Err(self.failed(action, key, failure)),
        }
    }

    /// Has the server copy an object of so many bytes; its answer where it does not.
    pub(super) async fn copy(&self, from: &str, to: &str, bytes: u64) -> Result<Option<Box<Answer>>> {
        let work = async { self.stores.objects.copy(&path(from)?, &path(to)?).await };
        let mut call = Call::of(Some(to), MOST_ANSWER);
        call.copied = Some(bytes);
        match self.service.change(call, work).await {
            Ok(_) => Ok(None),
            Err(Failure::Answered(answer)) => Ok(Some(answer)),
            Err(failure) => Err(self.failed("copy", from, failure)),
        }
    }

    /// Removes an object, if there is one.
    pub(super) async fn delete(&self, key: &str) -> Result<()> {
        let work = async { self.stores.one_by_one.delete(&path(key)?).await };
        match self.service.change(Call::of(Some(key), MOST_ANSWER), work).await {
            Err(failure) if failure.status() != Some(404) => Err(self.failed("remove", key, failure)),
            _ => Ok(()),
        }
    }

    /// Begins an upload in parts; what names it.
    pub(super) async fn begin_upload(&self, key: &str) -> Result<String> {
        let id = self.change("write", key, async { self.bucket()?.create_multipart(&path(key)?).await }).await?;
        // Of Azure, blocks that no list names go by themselves.
        if !id.is_empty() {
            held(&self.service.uploads).push((key.to_owned(), id.clone()));
        }
        Ok(id)
    }

    /// Uploads a part, which are counted from 0; what names it when the upload ends.
    pub(super) async fn upload_part(&self, key: &str, id: &String, number: usize, bytes: Vec<u8>) -> Result<PartId> {
        self.change("write", key, async { self.bucket()?.put_part(&path(key)?, id, number, bytes.into()).await }).await
    }

    /// Ends an upload: the object is there, whole.
    pub(super) async fn end_upload(&self, key: &str, id: &String, parts: Vec<PartId>) -> Result<()> {
        self.change("write", key, async { self.bucket()?.complete_multipart(&path(key)?, id, parts).await }).await?;
        self.forget_upload(key, id);
        Ok(())
    }

    /// Gives an upload up: its parts take no room any more.
    pub(super) async fn abort_upload(&self, key: &str, id: &String) -> Result<()> {
        self.change("remove", key, async { self.bucket()?.abort_multipart(&path(key)?, id).await }).await?;
        self.forget_upload(key, id);
        Ok(())
    }

    fn forget_upload(&self, key: &str, id: &str) {
        held(&self.service.uploads).retain(|(other, name)| other != key || name != id);
    }

    /// Gives up the uploads that are not complete, and then the locks.
    pub(super) async fn release_on_exit(&self) {
        let uploads = std::mem::take(&mut *held(&self.service.uploads));
        let locks = std::mem::take(&mut *held(&self.service.locks));
        let all = async {
            for (key, id) in uploads {
                // Where this fails, the store's own rules clear it away.
                let _ = self.abort_upload(&key, &id).await;
            }
            for lock in locks.iter().filter_map(Weak::upgrade) {
                // Where this fails, it expires.
                let _ = lock.release().await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, all).await;
    }
}

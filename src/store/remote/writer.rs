//! Objects that are written in order: small ones by one request, others in parts.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::multipart::PartId;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::client::Client;
use super::reader::io;
use super::runtime::runtime;
use super::writes::Writes;
use crate::store::StoreError;
use crate::store::object::WriteObject;

/// Objects of more bytes are written in parts of so many.
const PART: usize = 8 << 20;
const _: () = assert!(PART as u64 == crate::store::UPLOAD_PART_BYTES);
/// Parts are twice as large after so many: there may be ten thousand of them.
const PARTS_OF_A_SIZE: usize = 1000;
/// Parts that are under way end within this time, or are given up with their object.
const PARTS_TO_END: Duration = Duration::from_millis(750);
/// Parts of one object that are under way.
const MOST_PARTS: usize = 4;

/// An object that is being written.
pub(super) struct RemoteWriter {
    client: Arc<Client>,
    writes: Arc<Writes>,
    key: String,
    /// As messages name it.
    object: String,
    /// Its first bytes, which may be written again until it is finished.
    first: Vec<u8>,
    /// The bytes of the next part.
    next: Vec<u8>,
    /// What names the upload in parts.
    upload: Option<String>,
    under_way: VecDeque<JoinHandle<Result<PartId, StoreError>>>,
    /// What names the parts that are done, from the second on.
    done: Vec<PartId>,
}

impl fmt::Debug for RemoteWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteWriter").field(&self.object).finish()
    }
}

impl RemoteWriter {
    pub(super) fn new(client: Arc<Client>, writes: Arc<Writes>, (key, object): (String, String)) -> Self {
        RemoteWriter {
            client,
            writes,
            key,
            object,
            first: Vec::new(),
            next: Vec::new(),
            upload: None,
            under_way: VecDeque::new(),
            done: Vec::new(),
        }
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        runtime().map_err(|source| io("reach", &self.object, source))?.block_on(answer)
    }

    /// Sends the next part on its way.
    fn send(&mut self) -> Result<(), StoreError> {
        let upload = if let Some(upload) = &self.upload {
            upload.clone()
        } else {
            let begun = self.wait(self.client.begin_upload((&self.key, &self.object)))?;
            self.upload.insert(begun).clone()
        };
        while self.under_way.len() >= MOST_PARTS {
            self.end_oldest()?;
        }
        let (client, bytes) = (self.client.clone(), std::mem::take(&mut self.next));
        // The first part goes last.
        let number = self.done.len() + self.under_way.len() + 1;
        let runtime = runtime().map_err(|source| io("reach", &self.object, source))?;
        let (key, object) = (self.key.clone(), self.object.clone());
        let part =
            runtime.spawn(async move { client.upload_part((&key, &object), &upload, number, bytes).await });
        self.under_way.push_back(part);
        Ok(())
    }

    fn end_oldest(&mut self) -> Result<(), StoreError> {
        let Some(part) = self.under_way.pop_front() else { return Ok(()) };
        let object = self.object.clone();
        let ended = |error| io("write", &object, std::io::Error::other(error));
        let tag = self.wait(async { part.await.map_err(ended)? })?;
        self.done.push(tag);
        Ok(())
    }

    fn end_upload(&mut self) -> Result<(), StoreError> {
        if !self.next.is_empty() {
            self.send()?;
        }
        while !self.under_way.is_empty() {
            self.end_oldest()?;
        }
        let Some(upload) = self.upload.clone() else { return Ok(()) };
        let first = std::mem::take(&mut self.first);
        let names = (self.key.as_str(), self.object.as_str());
        let mut parts = vec![self.wait(self.client.upload_part(names, &upload, 0, first))?];
        parts.append(&mut self.done);
        self.wait(self.client.end_upload((&self.key, &self.object), &upload, parts))?;
        self.upload = None;
        Ok(())
    }
}

impl WriteObject for RemoteWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let (first, mut rest) = bytes.split_at(bytes.len().min(PART.saturating_sub(self.first.len())));
        self.first.extend_from_slice(first);
        while !rest.is_empty() {
            let parts = self.done.len() + self.under_way.len();
            let size = PART << (parts / PARTS_OF_A_SIZE).min(8);
            let (part, following) = rest.split_at(rest.len().min(size - self.next.len()));
            self.next.extend_from_slice(part);
            rest = following;
            if self.next.len() >= size {
                self.send()?;
            }
        }
        Ok(())
    }

    fn write_at_start(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(start) = self.first.get_mut(..bytes.len()) else {
            let why = format!("its first {} bytes cannot be written again, at most {PART}", bytes.len());
            return Err(io("write", &self.object, std::io::Error::other(why)));
        };
        start.copy_from_slice(bytes);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), StoreError> {
        if self.upload.is_some() || !self.next.is_empty() {
            return self.end_upload();
        }
        let runtime = runtime().map_err(|source| io("reach", &self.object, source))?;
        let (client, bytes) = (self.client.clone(), std::mem::take(&mut self.first));
        let (key, object) = (self.key.clone(), self.object.clone());
        self.writes.begin(runtime, &self.key, bytes.len() as u64, async move {
            client.put((&key, &object), bytes).await
        })
    }
}

/// An upload that was not ended is given up.
impl Drop for RemoteWriter {
    fn drop(&mut self) {
        let (Some(upload), Ok(runtime)) = (self.upload.take(), runtime()) else { return };
        runtime.block_on(async {
            let deadline = Instant::now() + PARTS_TO_END;
            for mut part in self.under_way.drain(..) {
                // A part that the store takes behind the end of its upload would stay.
                if timeout_at(deadline, &mut part).await.is_err() {
                    part.abort();
                }
            }
            // Where this fails, too, the store's own rules clear it away.
            let _ = self.client.abort_upload(&self.key, &upload).await;
        });
    }
}

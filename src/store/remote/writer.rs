//! Objects that are written in order: small ones by one request, others in parts.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::multipart::PartId;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::client::Client;
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
    key: String,
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
        f.debug_tuple("RemoteWriter").field(&self.key).finish()
    }
}

impl RemoteWriter {
    pub(super) fn new(client: Arc<Client>, key: String) -> Self {
        RemoteWriter {
            client,
            key,
            first: Vec::new(),
            next: Vec::new(),
            upload: None,
            under_way: VecDeque::new(),
            done: Vec::new(),
        }
    }

    /// Sends the next part on its way.
    fn send(&mut self) -> Result<(), StoreError> {
        let upload = if let Some(upload) = &self.upload {
            upload.clone()
        } else {
            let begun = self.client.wait(self.client.begin_upload(&self.key))?;
            self.upload.insert(begun).clone()
        };
        while self.under_way.len() >= MOST_PARTS {
            self.end_oldest()?;
        }
        let (client, key, bytes) = (self.client.clone(), self.key.clone(), std::mem::take(&mut self.next));
        // The first part goes last.
        let number = self.done.len() + self.under_way.len() + 1;
        let part = async move { client.upload_part(&key, &upload, number, bytes).await };
        self.under_way.push_back(self.client.runtime.spawn(part));
        Ok(())
    }

    fn end_oldest(&mut self) -> Result<(), StoreError> {
        let Some(part) = self.under_way.pop_front() else { return Ok(()) };
        let part = self.client.wait(self.client.ended("write", &self.key, part))?;
        self.done.push(part);
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
        let (client, key) = (&self.client, self.key.as_str());
        let mut parts = vec![client.wait(client.upload_part(key, &upload, 0, first))?];
        parts.append(&mut self.done);
        client.wait(client.end_upload(key, &upload, parts))?;
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
            let (object, source) = (self.client.shown(&self.key), std::io::Error::other(why));
            return Err(StoreError::Io { action: "write", object, source });
        };
        start.copy_from_slice(bytes);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), StoreError> {
        if self.upload.is_some() || !self.next.is_empty() {
            return self.end_upload();
        }
        let (client, key, bytes) = (self.client.clone(), self.key.clone(), std::mem::take(&mut self.first));
        let length = bytes.len() as u64;
        self.client.writes.begin(&self.key, length, async move { client.put(&key, bytes).await })
    }
}

/// An upload that was not ended is given up.
impl Drop for RemoteWriter {
    fn drop(&mut self) {
        let Some(upload) = self.upload.take() else { return };
        let client = self.client.clone();
        client.wait(async {
            let deadline = Instant::now() + PARTS_TO_END;
            for mut part in self.under_way.drain(..) {
                // A part that the store takes behind the end of its upload would stay.
                if timeout_at(deadline, &mut part).await.is_err() {
                    part.abort();
                }
            }
            // Where this fails, too, the store's own rules clear it away.
            let _ = client.abort_upload(&self.key, &upload).await;
        });
    }
}

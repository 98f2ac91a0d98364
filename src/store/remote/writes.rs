//! Objects that are being written. Requests continue while the next object is prepared, and are confirmed by a sync.
//! Small objects need one request, others are uploaded in parts.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use object_store::multipart::PartId;
use tokio::runtime::Runtime;
use tokio::task::JoinError;
use tokio::time::timeout;

use super::Client;
use super::change::UploadedPart;
use crate::store::{Result, StoreError, WriteObject, held};

/// Most bytes in flight, of objects that are written with one request.
const MOST_BYTES: u64 = 32 << 20;
/// Part size in bytes, and the largest object that is written with one request.
const PART: usize = 8 << 20;
const _: () = assert!(PART as u64 == crate::store::UPLOAD_PART_BYTES);
/// Number of parts after which the part size doubles, as an upload has at most 10,000 parts.
const PARTS_OF_A_SIZE: usize = 1000;
/// Time for the parts in flight to end before their upload is aborted.
const PARTS_TO_END: Duration = Duration::from_millis(750);
/// Most parts of one object in flight.
const MOST_PARTS: usize = 4;

pub(super) struct InFlightWrites {
    runtime: &'static Runtime,
    most: usize,
    state: Mutex<State>,
    /// Notified after each write.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Keys and sizes in bytes of writes in flight, by their numbers. `None` marks a failed write.
    writes: BTreeMap<u64, Option<(String, u64)>>,
    /// Number of writes that have started, and the number of the next one.
    begun: u64,
    /// First error until it is returned.
    failed: Option<StoreError>,
}

impl State {
    fn holds(&self, key: &str) -> bool {
        self.writes.values().flatten().any(|(other, _)| other == key)
    }
}

impl InFlightWrites {
    pub(super) fn new(runtime: &'static Runtime, requests: usize) -> Arc<Self> {
        let (most, state, ended) = (requests.saturating_mul(2), Mutex::default(), Condvar::new());
        Arc::new(InFlightWrites { runtime, most, state, ended })
    }

    /// Starts a write of an object of `bytes` bytes as soon as the limits allow it. Returns the error of an earlier
    /// write.
    pub(super) fn begin(
        self: &Arc<Self>,
        key: &str,
        bytes: u64,
        write: impl Future<Output = Result<()>> + Send + 'static,
    ) -> Result<()> {
        let mut state = self.wait_until(|state| {
            let under_way = || state.writes.values().flatten().map(|(_, bytes)| *bytes);
            let sum: u64 = under_way().sum();
            // An object above the limit is written when nothing else is in flight. Two writes of one key could end in
            // any order, so the second waits.
            (sum == 0 || sum.saturating_add(bytes) <= MOST_BYTES)
                && under_way().count() < self.most
                && !state.holds(key)
        })?;
        let (number, key) = (state.begun, key.to_owned());
        state.begun += 1;
        state.writes.insert(number, Some((key.clone(), bytes)));
        drop(state);
        // A second task waits for the write, so that a panic of the write also becomes an error.
        let (shared, task) = (self.clone(), self.runtime.spawn(write));
        self.runtime.spawn(async move {
            let outcome = task.await.unwrap_or_else(|error| Err(ended_early(key, error)));
            let mut state = held(&shared.state);
            state.writes.remove(&number);
            if let Err(error) = outcome {
                // The mark stays, so that a unit with a failed write never counts as done.
                state.writes.insert(number, None);
                state.failed.get_or_insert(error);
            }
            drop(state);
            shared.ended.notify_all();
        });
        Ok(())
    }

    /// Waits for all writes that have started, from any thread. Does not wait for later ones.
    pub(super) fn finish(&self) -> Result<()> {
        let begun = self.next();
        self.wait_until(|state| state.writes.range(..begun).all(|(_, write)| write.is_none())).map(drop)
    }

    pub(super) fn next(&self) -> u64 {
        held(&self.state).begun
    }

    /// Returns true if all writes of these numbers have succeeded.
    pub(super) fn are_done(&self, writes: Range<u64>) -> bool {
        held(&self.state).writes.range(writes).next().is_none()
    }

    /// Returns true if an object is being written.
    pub(super) fn holds(&self, key: &str) -> bool {
        held(&self.state).holds(key)
    }

    /// Waits until an object is not being written.
    pub(super) fn finish_of(&self, key: &str) -> Result<()> {
        self.wait_until(|state| !state.holds(key)).map(drop)
    }

    fn wait_until(&self, is_enough: impl Fn(&State) -> bool) -> Result<MutexGuard<'_, State>> {
        let mut state = held(&self.state);
        loop {
            if let Some(error) = state.failed.take() {
                return Err(error);
            }
            if is_enough(&state) {
                return Ok(state);
            }
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Returns the error of a task that panicked.
fn ended_early(object: String, error: JoinError) -> StoreError {
    StoreError::io("write", object, std::io::Error::other(error))
}

pub(super) struct RemoteWriter {
    client: Arc<Client>,
    key: String,
    /// First part, which may be overwritten until the object is finished.
    first: Vec<u8>,
    next: Vec<u8>,
    upload: Option<String>,
    under_way: VecDeque<UploadedPart>,
    /// Ids of the complete parts, from the second part on.
    done: Vec<PartId>,
}

impl RemoteWriter {
    pub(super) fn new(client: Arc<Client>, key: String) -> Self {
        let (first, next, upload) = (Vec::new(), Vec::new(), None);
        RemoteWriter { client, key, first, next, upload, under_way: VecDeque::new(), done: Vec::new() }
    }

    /// Starts the upload of the next part.
    fn send(&mut self) -> Result<()> {
        let begin = || self.client.wait(self.client.begin_upload(&self.key));
        let upload = self.upload.clone().map_or_else(begin, Ok)?;
        self.upload = Some(upload.clone());
        while self.under_way.len() >= MOST_PARTS {
            self.end_oldest()?;
        }
        // The first part is uploaded last.
        let number = self.done.len() + self.under_way.len() + 1;
        let bytes = std::mem::take(&mut self.next);
        self.under_way.push_back(self.client.begin_part(&self.key, &upload, number, bytes));
        Ok(())
    }

    fn end_oldest(&mut self) -> Result<()> {
        let Some(part) = self.under_way.pop_front() else { return Ok(()) };
        self.done.push(self.end(part)?);
        Ok(())
    }

    fn end(&self, part: UploadedPart) -> Result<PartId> {
        self.client.wait(part).map_err(|error| ended_early(self.client.shown(&self.key), error))?
    }

    fn end_upload(&mut self) -> Result<()> {
        if !self.next.is_empty() {
            self.send()?;
        }
        while !self.under_way.is_empty() {
            self.end_oldest()?;
        }
        let Some(upload) = &self.upload else { return Ok(()) };
        let first = self.client.begin_part(&self.key, upload, 0, std::mem::take(&mut self.first));
        let mut parts = vec![self.end(first)?];
        parts.append(&mut self.done);
        self.client.wait(self.client.end_upload(&self.key, upload, parts))?;
        self.upload = None;
        Ok(())
    }
}

impl WriteObject for RemoteWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
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

    fn write_at_start(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(start) = self.first.get_mut(..bytes.len()) else {
            let why = format!("its first {} bytes cannot be written again, at most {PART}", bytes.len());
            return Err(StoreError::io("write", self.client.shown(&self.key), std::io::Error::other(why)));
        };
        start.copy_from_slice(bytes);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.upload.is_some() || !self.next.is_empty() {
            return self.end_upload();
        }
        let (client, key, bytes) = (self.client.clone(), self.key.clone(), std::mem::take(&mut self.first));
        self.client.writes.begin(&self.key, bytes.len() as u64, async move { client.put(&key, bytes).await })
    }
}

/// Aborts an upload that was not completed.
impl Drop for RemoteWriter {
    fn drop(&mut self) {
        let Some(upload) = self.upload.take() else { return };
        let client = self.client.clone();
        client.wait(async {
            let _ = timeout(PARTS_TO_END, join_all(&mut self.under_way)).await;
            // If this fails too, the store's own lifecycle rules remove the upload.
            let _ = client.abort_upload(&self.key, &upload).await;
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::{Arc, InFlightWrites, StoreError};
    use crate::store::remote::service::runtime;

    fn failed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        let source = std::io::Error::other(source);
        StoreError::Io { action: "write", object: "c/0".to_owned(), source }
    }

    /// A run notes the writes of two threads after each has waited for the store. Neither may return too early.
    #[test]
    fn write_that_one_thread_waits_for_is_waited_for_by_others() {
        let runtime = runtime().unwrap();
        let writes = InFlightWrites::new(runtime, 4);
        let (end, ended) = oneshot::channel::<()>();
        let is_written = Arc::new(AtomicBool::new(false));
        let written = is_written.clone();
        let write = async move {
            ended.await.unwrap();
            written.store(true, Ordering::SeqCst);
            Ok(())
        };
        writes.begin("c/0", 1, write).unwrap();
        let (done, waiting) = mpsc::channel();
        let wait = || {
            let (writes, done, is_written) = (writes.clone(), done.clone(), is_written.clone());
            std::thread::spawn(move || {
                writes.finish().unwrap();
                done.send(is_written.load(Ordering::SeqCst)).unwrap();
            })
        };
        let first = wait();
        let second = wait();
        waiting.recv_timeout(Duration::from_millis(50)).unwrap_err();
        end.send(()).unwrap();
        assert!(waiting.recv().unwrap() && waiting.recv().unwrap());
        first.join().unwrap();
        second.join().unwrap();
        assert!(!writes.holds("c/0"));
    }

    /// A write counts as done as soon as the store has it, independent of other writes. A failed one never does.
    #[test]
    fn write_counts_as_done_when_it_has_succeeded() {
        let runtime = runtime().unwrap();
        let writes = InFlightWrites::new(runtime, 4);
        let (_hold, held) = oneshot::channel::<()>();
        let hangs = async move { held.await.map_err(failed) };
        writes.begin("c/0", 1, hangs).unwrap();
        writes.begin("c/1", 1, async { Ok(()) }).unwrap();
        // The last one, because the next write to begin gets its error.
        writes.begin("c/2", 1, async { Err(failed("no")) }).unwrap();
        while !writes.are_done(1..2) {
            std::thread::yield_now();
        }
        assert!(!writes.are_done(0..1) && !writes.are_done(2..3) && !writes.are_done(0..3));
        assert!(writes.are_done(3..3));
    }
}

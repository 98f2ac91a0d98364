//! Objects that are being written: requests go on while the next object is made, and are acknowledged when the store is
//! settled.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::store::StoreError;

/// Bytes that may be under way.
const MOST_BYTES: u64 = 32 << 20;

/// What is being written.
#[derive(Debug)]
pub(super) struct Writes {
    most: usize,
    pending: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    /// In the order in which they began.
    writes: VecDeque<Write>,
    keys: HashSet<String>,
    bytes: u64,
    /// What failed first, until somebody is told.
    failed: Option<StoreError>,
    /// How many have failed, whoever was told.
    failures: u64,
}

#[derive(Debug)]
struct Write {
    key: String,
    bytes: u64,
    task: JoinHandle<Result<(), StoreError>>,
}

impl Writes {
    pub(super) fn new(requests: usize) -> Self {
        Writes { most: requests.saturating_mul(2), pending: Mutex::default() }
    }

    /// Begins to write an object of so many bytes, once there is room. The error is that of an earlier one.
    pub(super) fn begin(
        &self,
        runtime: &Runtime,
        key: &str,
        bytes: u64,
        write: impl Future<Output = Result<(), StoreError>> + Send + 'static,
    ) -> Result<(), StoreError> {
        self.finish_until(runtime, |pending| {
            let has_room = pending.bytes == 0 || pending.bytes.saturating_add(bytes) <= MOST_BYTES;
            has_room && pending.writes.len() < self.most && !pending.keys.contains(key)
        })?;
        let mut pending = self.pending();
        pending.bytes += bytes;
        pending.keys.insert(key.to_owned());
        let task = runtime.spawn(write);
        pending.writes.push_back(Write { key: key.to_owned(), bytes, task });
        Ok(())
    }

    /// Waits until all that has begun is done.
    pub(super) fn finish(&self, runtime: &Runtime) -> Result<(), StoreError> {
        self.finish_until(runtime, |pending| pending.writes.is_empty())
    }

    /// How many writes have failed so far, of which others may have been told.
    pub(super) fn failures(&self) -> u64 {
        self.pending().failures
    }

    /// Whether an object is being written.
    pub(super) fn holds(&self, key: &str) -> bool {
        self.pending().keys.contains(key)
    }

    /// Waits until an object is not being written.
    pub(super) fn finish_of(&self, runtime: &Runtime, key: &str) -> Result<(), StoreError> {
        self.finish_until(runtime, |pending| !pending.keys.contains(key))
    }

    fn finish_until(
        &self,
        runtime: &Runtime,
        is_enough: impl Fn(&Pending) -> bool,
    ) -> Result<(), StoreError> {
        loop {
            let first = {
                let mut pending = self.pending();
                if let Some(error) = pending.failed.take() {
                    return Err(error);
                }
                if is_enough(&pending) {
                    return Ok(());
                }
                pending.writes.pop_front()
            };
            let Some(Write { key, bytes, task }) = first else {
                // Another thread waits for what is left.
                std::thread::yield_now();
                continue;
            };
            let outcome = runtime.block_on(task).unwrap_or_else(|error| {
                let source = std::io::Error::other(error);
                Err(StoreError::Io { action: "write", object: key.clone(), source })
            });
            let mut pending = self.pending();
            pending.bytes -= bytes;
            pending.keys.remove(&key);
            if let Err(error) = outcome {
                pending.failures += 1;
                pending.failed = pending.failed.take().or(Some(error));
            }
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Objects that are being written: requests go on while the next object is made, and are acknowledged when the store is
//! settled.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::store::StoreError;

/// Bytes that may be under way.
const MOST_BYTES: u64 = 32 << 20;

/// What is being written.
#[derive(Debug)]
pub(super) struct Writes {
    runtime: &'static Runtime,
    most: usize,
    pending: Mutex<Pending>,
    /// The numbers of all that have not succeeded yet, or have failed.
    unwritten: Arc<Mutex<BTreeSet<u64>>>,
    /// Told of each that ends, for those who wait for one that another thread waits for too.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    /// In the order in which they began, but for those that a thread waits for.
    writes: VecDeque<Write>,
    /// Keys and numbers of all that nobody has seen the end of.
    keys: HashSet<String>,
    numbers: BTreeSet<u64>,
    /// How many have begun, which numbers the next.
    begun: u64,
    bytes: u64,
    /// What failed first, until somebody is told.
    failed: Option<StoreError>,
}

#[derive(Debug)]
struct Write {
    number: u64,
    key: String,
    bytes: u64,
    task: JoinHandle<Result<(), StoreError>>,
}

impl Writes {
    pub(super) fn new(runtime: &'static Runtime, requests: usize) -> Self {
        let (pending, unwritten) = (Mutex::default(), Arc::default());
        Writes { runtime, most: requests.saturating_mul(2), pending, unwritten, ended: Condvar::new() }
    }

    /// Begins to write an object of so many bytes, once there is room. The error is that of an earlier one.
    pub(super) fn begin(
        &self,
        key: &str,
        bytes: u64,
        write: impl Future<Output = Result<(), StoreError>> + Send + 'static,
    ) -> Result<(), StoreError> {
        self.finish_until(|pending| {
            let has_room = pending.bytes == 0 || pending.bytes.saturating_add(bytes) <= MOST_BYTES;
            has_room && pending.writes.len() < self.most && !pending.keys.contains(key)
        })?;
        let mut pending = self.pending();
        pending.bytes += bytes;
        pending.keys.insert(key.to_owned());
        let number = pending.begun;
        pending.begun += 1;
        pending.numbers.insert(number);
        held(&self.unwritten).insert(number);
        let unwritten = self.unwritten.clone();
        let task = self.runtime.spawn(async move {
            let outcome = write.await;
            if outcome.is_ok() {
                held(&unwritten).remove(&number);
            }
            outcome
        });
        pending.writes.push_back(Write { number, key: key.to_owned(), bytes, task });
        Ok(())
    }

    /// Waits until all that has begun is done, whoever began it. What others begin meanwhile is not waited for.
    pub(super) fn finish(&self) -> Result<(), StoreError> {
        let begun = self.pending().begun;
        self.finish_until(|pending| pending.numbers.first().is_none_or(|first| *first >= begun))
    }

    /// The number of the next write.
    pub(super) fn next(&self) -> u64 {
        self.pending().begun
    }

    /// Whether all writes of these numbers have ended well.
    pub(super) fn are_done(&self, writes: Range<u64>) -> bool {
        held(&self.unwritten).range(writes).next().is_none()
    }

    /// Whether an object is being written.
    pub(super) fn holds(&self, key: &str) -> bool {
        self.pending().keys.contains(key)
    }

    /// Waits until an object is not being written.
    pub(super) fn finish_of(&self, key: &str) -> Result<(), StoreError> {
        self.finish_until(|pending| !pending.keys.contains(key))
    }

    fn finish_until(&self, is_enough: impl Fn(&Pending) -> bool) -> Result<(), StoreError> {
        loop {
            let first = {
                let mut pending = self.pending();
                if let Some(error) = pending.failed.take() {
                    return Err(error);
                }
                if is_enough(&pending) {
                    return Ok(());
                }
                let first = pending.writes.pop_front();
                if first.is_none() {
                    // Other threads wait for what is left.
                    drop(self.ended.wait(pending).unwrap_or_else(PoisonError::into_inner));
                }
                first
            };
            let Some(Write { number, key, bytes, task }) = first else { continue };
            let outcome = self.runtime.block_on(task).unwrap_or_else(|error| {
                let source = std::io::Error::other(error);
                Err(StoreError::Io { action: "write", object: key.clone(), source })
            });
            let mut pending = self.pending();
            pending.bytes -= bytes;
            pending.keys.remove(&key);
            pending.numbers.remove(&number);
            if let Err(error) = outcome {
                pending.failed = pending.failed.take().or(Some(error));
            }
            self.ended.notify_all();
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        held(&self.pending)
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::{Arc, StoreError, Writes};
    use crate::store::remote::runtime::runtime;

    fn failed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        let source = std::io::Error::other(source);
        StoreError::Io { action: "write", object: "c/0".to_owned(), source }
    }

    /// A run notes what two threads have written once each has settled the store: neither may be told so early.
    #[test]
    fn write_that_one_thread_waits_for_is_waited_for_by_others() {
        let runtime = runtime().unwrap();
        let writes = Arc::new(Writes::new(runtime, 4));
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
        while !writes.pending().writes.is_empty() {
            std::thread::yield_now();
        }
        let second = wait();
        waiting.recv_timeout(Duration::from_millis(50)).unwrap_err();
        end.send(()).unwrap();
        assert!(waiting.recv().unwrap() && waiting.recv().unwrap());
        first.join().unwrap();
        second.join().unwrap();
        assert!(!writes.holds("c/0"));
    }

    /// What is at the store counts at once, whoever waits for it and whatever else is under way; what has failed never does.
    #[test]
    fn write_counts_as_done_when_it_has_succeeded() {
        let runtime = runtime().unwrap();
        let writes = Writes::new(runtime, 4);
        let (_hold, held) = oneshot::channel::<()>();
        let hangs = async move { held.await.map_err(failed) };
        writes.begin("c/0", 1, hangs).unwrap();
        let fails = async { Err(failed("no")) };
        writes.begin("c/1", 1, fails).unwrap();
        writes.begin("c/2", 1, async { Ok(()) }).unwrap();
        while !writes.are_done(2..writes.next()) {
            std::thread::yield_now();
        }
        assert!(!writes.are_done(0..1) && !writes.are_done(1..2) && !writes.are_done(0..3));
        assert!(writes.are_done(3..3));
    }
}

//! Parts of objects that will be read soon: asked for before they are wanted.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinHandle;

use super::client::{Client, GetRequest, GetResult};
use crate::store::{Part, StoreError};

/// Bytes that may have come and not been taken before no more is asked for.
pub(super) const MOST_BYTES: u64 = 32 << 20;
/// The most bytes of one part; what holds more is read when it is wanted.
const MOST_OF_ONE: u64 = 16 << 20;

/// A part that is under way, or has come.
#[derive(Debug)]
pub(super) struct Prefetch {
    task: JoinHandle<Result<Option<GetResult>, StoreError>>,
    bytes: Arc<ByteCount>,
}

/// Bytes of one part that have come, counted until it is taken.
#[derive(Debug)]
struct ByteCount {
    total: Arc<AtomicU64>,
    own: AtomicU64,
}

impl Drop for ByteCount {
    fn drop(&mut self) {
        self.total.fetch_sub(self.own.load(Ordering::Acquire), Ordering::AcqRel);
    }
}

/// What is under way and what has come, by whole key and part.
#[derive(Debug)]
pub(super) struct Ahead {
    most: usize,
    parts: Mutex<Parts>,
    bytes: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Parts {
    coming: HashMap<(String, Part), Prefetch>,
    /// In the order in which they were asked for; some may have been taken.
    order: VecDeque<(String, Part)>,
}

impl Ahead {
    pub(super) fn new(requests: usize) -> Self {
        Ahead { most: requests.saturating_mul(4), parts: Mutex::default(), bytes: Arc::default() }
    }

    /// How many more parts may be asked for.
    pub(super) fn room(&self) -> usize {
        if self.bytes.load(Ordering::Acquire) >= MOST_BYTES {
            return 0;
        }
        self.most.saturating_sub(self.parts().coming.len())
    }

    /// Asks for a part, unless it is under way; whether it is then. The oldest of too many that nobody wanted is given up.
    pub(super) fn ask(&self, client: &Arc<Client>, key: &str, part: Part) -> bool {
        let length = match part {
            Part::Whole => 0,
            Part::Range { length, .. } | Part::Last(length) => length,
        };
        if length > MOST_OF_ONE || self.bytes.load(Ordering::Acquire) >= MOST_BYTES {
            return false;
        }
        let mut parts = self.parts();
        let name = (key.to_owned(), part);
        if parts.coming.contains_key(&name) {
            return true;
        }
        while parts.coming.len() >= self.most {
            let Some(oldest) = parts.order.pop_front() else { break };
            if let Some(given_up) = parts.coming.remove(&oldest) {
                given_up.task.abort();
            }
        }
        let (total, fetching, key) = (self.bytes.clone(), client.clone(), key.to_owned());
        let bytes = Arc::new(ByteCount { total, own: AtomicU64::new(0) });
        let counted = bytes.clone();
        let task = client.runtime.spawn(async move {
            let wanted = GetRequest { key: &key, part, most: MOST_OF_ONE, of: MOST_OF_ONE, version: None };
            let fetched = fetching.fetch(wanted).await;
            if let Ok(Some(fetched)) = &fetched {
                let length = fetched.bytes.len() as u64;
                counted.own.store(length, Ordering::Release);
                counted.total.fetch_add(length, Ordering::AcqRel);
            }
            fetched
        });
        parts.coming.insert(name.clone(), Prefetch { task, bytes });
        parts.order.push_back(name);
        if parts.order.len() > self.most.saturating_mul(8) {
            let Parts { coming, order } = &mut *parts;
            order.retain(|name| coming.contains_key(name));
        }
        true
    }

    /// Takes a part that was asked for.
    pub(super) fn take(&self, key: &str, part: Part) -> Option<Prefetch> {
        self.parts().coming.remove(&(key.to_owned(), part))
    }

    /// Takes the part of an object that was asked for first: any tells how large it is.
    pub(super) fn take_any(&self, key: &str) -> Option<Prefetch> {
        let mut parts = self.parts();
        let of_it = parts.order.iter().filter(|name| name.0 == key);
        let found = of_it.into_iter().find(|name| parts.coming.contains_key(*name)).cloned()?;
        parts.coming.remove(&found)
    }

    /// Gives up a part that was asked for, if it was.
    pub(super) fn give_up(&self, key: &str, part: Part) {
        if let Some(coming) = self.take(key, part) {
            coming.task.abort();
        }
    }

    /// Forgets what was asked for of an object, which is being changed.
    pub(super) fn forget(&self, key: &str) {
        self.parts().coming.retain(|(other, _), coming| {
            let is_kept = other != key;
            if !is_kept {
                coming.task.abort();
            }
            is_kept
        });
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Prefetch {
    /// Waits for it; `None` where it did not come and must be read when it is wanted, such as for being too large.
    pub(super) async fn come(self) -> Option<Result<Option<GetResult>, StoreError>> {
        let fetched = self.task.await.ok();
        drop(self.bytes);
        fetched.filter(|fetched| !matches!(fetched, Err(StoreError::TooLarge { .. })))
    }
}

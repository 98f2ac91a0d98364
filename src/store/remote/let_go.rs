//! What would be left in a store where the process ended now: uploads that are not complete, and locks.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use object_store::client::HttpRequest;
use reqwest::Method;

use super::client::Client;
use super::lease::Lease;
use super::lock::LockOwner;

/// The process waits no longer than this for what it lets go of.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is open.
#[derive(Debug, Default)]
pub(super) struct OpenUploads {
    /// By their keys and the names that the store gave them.
    uploads: Mutex<Vec<(String, String)>>,
    locks: Mutex<Vec<Weak<LockOwner>>>,
}

impl OpenUploads {
    pub(super) fn begin(&self, key: &str, id: &str) {
        // Of Azure, blocks that no list names go by themselves.
        if !id.is_empty() {
            let mut uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
            uploads.push((key.to_owned(), id.to_owned()));
        }
    }

    /// What must be known before a request is made: that the locks which guard what it changes are this process's.
    pub(super) fn leases(&self, request: &HttpRequest, key: Option<&str>) -> Vec<Arc<Lease>> {
        let gives_up = request.method() == Method::DELETE && request.uri().query().is_some();
        if matches!(*request.method(), Method::GET | Method::HEAD) || gives_up {
            return Vec::new();
        }
        let locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let guards = |lock: &Arc<LockOwner>| key.is_none_or(|key| lock.guards(key));
        locks.iter().filter_map(Weak::upgrade).filter(guards).map(|lock| lock.lease.clone()).collect()
    }

    pub(super) fn end(&self, key: &str, id: &str) {
        let mut uploads = self.uploads.lock().unwrap_or_else(PoisonError::into_inner);
        uploads.retain(|(other, name)| other != key || name != id);
    }
}

impl Client {
    /// A lock is held until it is released.
    pub(super) fn hold(&self, lock: &Arc<LockOwner>) {
        let mut locks = self.service.open.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|lock| lock.strong_count() > 0);
        locks.push(Arc::downgrade(lock));
    }

    /// A lock was removed with all that lay beside it: there is nothing left to release.
    pub(super) fn forget(&self, key: &str) {
        let mut locks = self.service.open.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|lock| {
            let lock = lock.upgrade();
            let gone = lock.as_ref().filter(|lock| lock.is_at(key));
            gone.inspect(|lock| lock.lease.lose());
            lock.is_some() && gone.is_none()
        });
    }

    /// A lock is given back: what is changed from now on needs it no more. A task that renews it may hold it a while longer.
    pub(super) fn unguard(&self, lock: &LockOwner) {
        let mut locks = self.service.open.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = |other: Arc<LockOwner>| !Arc::ptr_eq(&other.lease, &lock.lease);
        locks.retain(|other| other.upgrade().is_some_and(is_other));
    }

    /// Gives up the uploads that are not complete, and then the locks.
    pub(super) async fn let_go(&self) {
        let uploads =
            std::mem::take(&mut *self.service.open.uploads.lock().unwrap_or_else(PoisonError::into_inner));
        let locks =
            std::mem::take(&mut *self.service.open.locks.lock().unwrap_or_else(PoisonError::into_inner));
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

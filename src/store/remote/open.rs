//! What would be left in a store where the process ended now: uploads that are not complete, and locks.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use object_store::client::HttpRequest;
use reqwest::Method;

use super::client::Client;
use super::lock::LockOwner;
use crate::store::held;

/// The process waits no longer than this for what it lets go of.
const PATIENCE: Duration = Duration::from_secs(3);

/// The open uploads and locks of a store.
#[derive(Debug, Default)]
pub(super) struct OpenUploads(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By their keys and the names that the store gave them.
    uploads: Vec<(String, String)>,
    locks: Vec<Weak<LockOwner>>,
}

impl OpenUploads {
    pub(super) fn begin(&self, key: &str, id: &str) {
        // Of Azure, blocks that no list names go by themselves.
        if !id.is_empty() {
            held(&self.0).uploads.push((key.to_owned(), id.to_owned()));
        }
    }

    pub(super) fn end(&self, key: &str, id: &str) {
        held(&self.0).uploads.retain(|(other, name)| other != key || name != id);
    }

    /// A lock is held until it is released.
    pub(super) fn hold(&self, lock: &Arc<LockOwner>) {
        held(&self.0).locks.push(Arc::downgrade(lock));
    }

    /// The locks that this process must hold before a request is made: those that guard what it changes.
    pub(super) fn locks_for(&self, request: &HttpRequest, key: Option<&str>) -> Vec<Arc<LockOwner>> {
        let gives_up = request.method() == Method::DELETE && request.uri().query().is_some();
        if matches!(*request.method(), Method::GET | Method::HEAD) || gives_up {
            return Vec::new();
        }
        let guards = |lock: &Arc<LockOwner>| key.is_none_or(|key| lock.guards(key));
        held(&self.0).locks.iter().filter_map(Weak::upgrade).filter(guards).collect()
    }

    /// A lock is given back, or was removed with all that lay beside it: nothing that is changed from now on needs it.
    pub(super) fn forget(&self, key: &str) {
        held(&self.0).locks.retain(|lock| match lock.upgrade() {
            Some(lock) if lock.key == key => {
                lock.lose();
                false
            }
            other => other.is_some(),
        });
    }
}

impl Client {
    /// Gives up the uploads that are not complete, and then the locks.
    pub(super) async fn release_on_exit(&self) {
        let State { uploads, locks } = std::mem::take(&mut *held(&self.service.open.0));
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

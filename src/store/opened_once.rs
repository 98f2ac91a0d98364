//! What is read of a file that is a store, once it is asked for.

use std::sync::{Mutex, OnceLock, PoisonError};

use super::StoreError;

/// What was opened, by whichever thread came first.
#[derive(Debug)]
pub(super) struct OpenedOnce<T> {
    opened: OnceLock<T>,
    opening: Mutex<()>,
}

impl<T> Default for OpenedOnce<T> {
    fn default() -> Self {
        OpenedOnce { opened: OnceLock::new(), opening: Mutex::default() }
    }
}

impl<T> OpenedOnce<T> {
    /// What was opened before.
    pub(super) fn get(&self) -> Option<&T> {
        self.opened.get()
    }

    /// The same, or else what `open` gives, which one thread does at a time. Neither an error nor nothing is kept.
    pub(super) fn get_or_open(
        &self,
        open: impl FnOnce() -> Result<Option<T>, StoreError>,
    ) -> Result<Option<&T>, StoreError> {
        if let Some(opened) = self.opened.get() {
            return Ok(Some(opened));
        }
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = self.opened.get() {
            return Ok(Some(opened));
        }
        Ok(open()?.map(|opened| self.opened.get_or_init(|| opened)))
    }
}

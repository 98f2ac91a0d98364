//! What is read of a file that is a store, once it is asked for.

use once_cell::sync::OnceCell;

use super::Result;

/// Returns the value that was opened before, or else opens it, by one thread at a time. Neither an error nor nothing is kept.
pub(super) fn get_or_open<T>(opened: &OnceCell<T>, open: impl FnOnce() -> Result<Option<T>>) -> Result<Option<&T>> {
    match opened.get_or_try_init(|| open().map_err(Some)?.ok_or(None)) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) => error.map_or(Ok(None), Err),
    }
}

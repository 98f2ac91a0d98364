//! Logs: objects that grow by whole lines, and are locked by the process that writes them.

use std::fmt::Debug;

use super::StoreError;

/// A log that is open. It is unlocked when it is dropped, or its process ends.
pub trait Log: Debug + Send + Sync {
    /// Locks it, unless another process has.
    fn lock(&self) -> Result<Lock, StoreError>;

    /// Whether it still stands at its key: another process may have removed it before it was locked here.
    fn is_in_place(&self) -> bool;

    /// All of it, if that is at most `max_bytes`.
    fn read(&mut self, max_bytes: u64) -> Result<Vec<u8>, StoreError>;

    /// Its first bytes, at most `max_bytes`.
    fn read_beginning(&mut self, max_bytes: u64) -> Result<Vec<u8>, StoreError>;

    /// Cuts it to its first `length` bytes; what is appended follows them.
    fn truncate(&mut self, length: u64) -> Result<(), StoreError>;

    /// Appends bytes at the place of the last write.
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Makes it durable.
    fn sync(&self) -> Result<(), StoreError>;
}

/// Whose a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// This process's.
    Held,
    /// Another process's.
    Elsewhere,
    /// The store has no locks.
    Unsupported,
}

//! Logs: objects that grow by whole lines, and are locked by the process that writes them.

use std::fmt::Debug;

use super::Result;

/// A log that is open. It is unlocked when it is dropped, or its process ends.
pub trait Log: Debug + Send + Sync {
    /// Locks it, unless another process has, or had until now and has removed it.
    fn lock(&mut self, asker: &Asker<'_>) -> Result<Lock>;

    /// True if the lock was lost: another process has it by now, and what lies there is that one's; or it was removed.
    fn is_lost(&self) -> bool;

    /// True if it is this process's still, for certain: the store is asked.
    fn confirm(&mut self) -> Result<bool> {
        Ok(!self.is_lost())
    }

    /// All of it, if that is at most `max_bytes`.
    fn read(&mut self, max_bytes: u64) -> Result<Vec<u8>>;

    /// Cuts it to its first `length` bytes; what is appended follows them, and nothing of what others append, who may have it
    /// open where nothing keeps them out.
    fn cut(&mut self, length: u64) -> Result<()>;

    /// Appends whole lines.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Makes it durable.
    fn sync(&mut self) -> Result<()>;
}

/// A log that keeps nothing: what lies in memory ends with its process.
#[derive(Debug)]
pub(super) struct NoLog;

impl Log for NoLog {
    fn lock(&mut self, _asker: &Asker<'_>) -> Result<Lock> {
        Ok(Lock::Held)
    }

    fn is_lost(&self) -> bool {
        false
    }

    fn read(&mut self, _max_bytes: u64) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn cut(&mut self, _length: u64) -> Result<()> {
        Ok(())
    }

    fn append(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Who asks for a lock. Locks of the operating system need nothing of that; other stores note it.
pub struct Asker<'a> {
    /// Names the asker to others.
    pub note: &'a str,
    /// True if the one that a note names is known to have ended.
    pub has_ended: &'a dyn Fn(&str) -> bool,
}

/// The holder of a log's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lock {
    /// This process's.
    Held,
    /// Another process's, by its note where there is one.
    Elsewhere(Option<Holding>),
    /// The store has no locks.
    Unsupported,
}

/// The lock of another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The note of its holder.
    pub note: String,
    /// Seconds since it was taken, where that is known.
    pub age: Option<u64>,
    /// Seconds without a sign of its holder, after which it is taken over.
    pub expires_after: u64,
}

/// Whoever asks for locks of the operating system.
#[cfg(test)]
pub(crate) const NOBODY: Asker<'static> = Asker { note: "", has_ended: &|_| false };

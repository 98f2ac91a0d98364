//! Errors of work on chunks. Also requests to stop, from a signal or from a program that uses the library. The driver
//! checks for them before each unit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::codec::ChainFault;
use crate::diagnostic::quantity::bytes;
use crate::store::{StoreError, held};

/// The result of work on a chunk.
pub type Result<T, E = Fault> = std::result::Result<T, E>;

/// Reason why the work on a chunk ended.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A codec failed.
    #[error(transparent)]
    Chain(#[from] ChainFault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another fault of the chunk.
    #[error("{0}")]
    Other(String),
    /// There is too little memory for the chunk.
    #[error("{} of memory are needed", bytes(*.needed))]
    Memory {
        /// Needed memory in bytes, as far as it is known.
        needed: u64,
    },
    /// A bug in this program or in a library.
    #[error("an internal error: {0}")]
    Panic(String),
    /// The work was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A fault of one object, if the work concerns several objects.
    #[error("{fault}")]
    At {
        /// The array of the object.
        of: ObjectOf,
        /// Linear index of the object in the grid of that array.
        index: u64,
        /// The fault.
        fault: Box<Fault>,
    },
}

/// Array of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectOf {
    /// The array that is read.
    Source,
    /// The intermediate data of two passes.
    Staging,
    /// The array that is written.
    Destination,
}

impl Fault {
    fn cause(&self) -> &Fault {
        if let Fault::At { fault, .. } = self { fault.cause() } else { self }
    }

    /// Returns true if a value of an intact chunk cannot be written as requested.
    pub fn is_of_value(&self) -> bool {
        matches!(self.cause(), Fault::Chain(fault) if fault.element().is_some())
    }

    /// Returns true if the data are at fault. After a panic, too little memory, a failed store or an interruption the
    /// chunk may be valid.
    pub fn is_of_data(&self) -> bool {
        match self.cause() {
            Fault::Chain(fault) => fault.missing_memory().is_none(),
            Fault::Store(error) => error.is_data_fault(),
            cause => matches!(cause, Fault::Other(_)),
        }
    }

    /// Returns true if more memory would help.
    pub fn is_of_memory(&self) -> bool {
        match self.cause() {
            Fault::Chain(fault) => fault.missing_memory().is_some(),
            cause => matches!(cause, Fault::Memory { .. }),
        }
    }

    /// Returns true if the store does not accept the credentials. It then returns no other object either.
    pub fn is_unauthorized(&self) -> bool {
        matches!(self.cause(), Fault::Store(error) if error.is_unauthorized())
    }

    /// Adds an object of the source to the fault, unless it has an object.
    #[must_use]
    pub fn of_source(self, index: u64) -> Fault {
        self.of(ObjectOf::Source, index)
    }

    /// Adds an object of the destination to the fault, unless it has an object.
    #[must_use]
    pub fn of_destination(self, index: u64) -> Fault {
        self.of(ObjectOf::Destination, index)
    }

    pub(super) fn of(self, of: ObjectOf, index: u64) -> Fault {
        match self {
            // The innermost object is the most exact one. An interruption is the fault of no object.
            known @ (Fault::At { .. } | Fault::Interrupted(_)) => known,
            fault => Fault::At { of, index, fault: Box::new(fault) },
        }
    }

    /// Converts the fault of a pass to one of the whole job. The array `from` of the pass is the array `to` of the job.
    #[must_use]
    pub fn moved(self, from: ObjectOf, to: ObjectOf) -> Fault {
        match self {
            Fault::At { of, index, fault } if of == from => Fault::At { of: to, index, fault },
            fault => fault,
        }
    }
}

/// First chunk, in the order of the set, whose work failed.
#[derive(Debug)]
pub struct ChunkFault {
    /// Linear index in the grid.
    pub index: u64,
    /// The fault.
    pub fault: Fault,
}

impl ChunkFault {
    /// Adds the chunk as an object of the destination to the fault, unless it has an object.
    #[must_use]
    pub fn of_destination(self) -> ChunkFault {
        ChunkFault { index: self.index, fault: self.fault.of_destination(self.index) }
    }
}

/// Request to stop. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    raised: AtomicBool,
    /// Running work that a stop would leave unfinished.
    unfinished: Mutex<Option<UnfinishedWork>>,
}

/// State that remains if the work is stopped at once.
struct UnfinishedWork {
    /// Sentence for the user, with the next step.
    what: String,
    cleanup: Option<CleanupFn>,
}

/// Callback that removes the results of unfinished work, even while it is running.
pub type CleanupFn = Box<dyn Fn() + Send>;

impl std::fmt::Debug for UnfinishedWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.what.fmt(f)
    }
}

/// The work was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Guard of work that must not be stopped at once.
pub struct Unfinished(Interrupt);

impl Interrupt {
    /// Asks the work to stop. Returns what an immediate stop would leave unfinished, if the caller should wait for it.
    pub fn raise(&self) -> Option<String> {
        // With the lock, so that work that begins later sees the request.
        let unfinished = held(&self.0.unfinished);
        self.0.raised.store(true, Ordering::SeqCst);
        unfinished.as_ref().map(|left| left.what.clone())
    }

    /// Removes the results of unfinished work if they are useless. Called before the process ends without waiting.
    pub fn clear(&self) {
        let unfinished = held(&self.0.unfinished);
        if let Some(cleanup) = unfinished.as_ref().and_then(|left| left.cleanup.as_ref()) {
            cleanup();
        }
    }

    /// Fails if a stop was requested.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.0.raised.load(Ordering::SeqCst) { Err(Interrupted) } else { Ok(()) }
    }

    /// Begins work that must be finished or cleaned up. `what` describes what an immediate stop would leave. Fails if a
    /// stop was already requested.
    pub fn begin(&self, what: impl Into<String>, cleanup: Option<CleanupFn>) -> Result<Unfinished, Interrupted> {
        // The lock is held during the check. A concurrent `raise` then either is seen here, or sees this work.
        let mut unfinished = held(&self.0.unfinished);
        self.check()?;
        *unfinished = Some(UnfinishedWork { what: what.into(), cleanup });
        Ok(Unfinished(self.clone()))
    }
}

impl Unfinished {
    /// Sets the callback for an immediate stop.
    pub fn set_cleanup(&self, cleanup: CleanupFn) {
        if let Some(left) = &mut *held(&self.0.0.unfinished) {
            left.cleanup = Some(cleanup);
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        *held(&self.0.0.unfinished) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_tells_what_is_unfinished_and_lets_nothing_begin() {
        let interrupt = Interrupt::default();
        assert!(interrupt.check().is_ok());
        let begun = interrupt.begin("`a`", None).unwrap();
        assert_eq!(interrupt.clone().raise().as_deref(), Some("`a`"));
        assert_eq!(interrupt.check(), Err(Interrupted));
        drop(begun);
        assert_eq!(interrupt.raise(), None);
        assert!(interrupt.begin("`b`", None).is_err());
    }
}

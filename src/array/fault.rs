//! Why the work on a chunk ended, and at which; and a request to stop, from a signal or a program that uses the library, which the
//! driver heeds before each unit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::codec::ChainFault;
use crate::diagnostic::quantity::bytes;
use crate::store::{StoreError, held};

/// The result of work on a chunk.
pub type Result<T, E = Fault> = std::result::Result<T, E>;

/// Why the work on a chunk ended.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A codec failed on it.
    #[error(transparent)]
    Chain(#[from] ChainFault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something else about the chunk.
    #[error("{0}")]
    Other(String),
    /// There is too little memory for it.
    #[error("{} of memory are needed", bytes(*.needed))]
    Memory {
        /// As far as is known.
        needed: u64,
    },
    /// A bug, here or in a library.
    #[error("an internal error: {0}")]
    Panic(String),
    /// The work was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A fault of one object, where the work is on several of both sides.
    #[error("{fault}")]
    At {
        /// The array that the object is of.
        of: ObjectOf,
        /// Its linear index in the grid of its side.
        index: u64,
        /// Why.
        fault: Box<Fault>,
    },
}

/// The array that an object belongs to.
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
    /// The fault itself, whatever object it is of.
    fn cause(&self) -> &Fault {
        if let Fault::At { fault, .. } = self { fault.cause() } else { self }
    }

    /// True if a value of an intact chunk cannot be written as it was asked for.
    pub fn is_of_value(&self) -> bool {
        matches!(self.cause(), Fault::Chain(fault) if fault.element().is_some())
    }

    /// True if it tells something of the data. A panic, too little memory, a store that fails and an interruption do
    /// not: the chunk may be right.
    pub fn is_of_data(&self) -> bool {
        match self.cause() {
            Fault::Chain(fault) => fault.missing_memory().is_none(),
            Fault::Store(error) => error.is_data_fault(),
            cause => matches!(cause, Fault::Other(_)),
        }
    }

    /// True if more memory would do.
    pub fn is_of_memory(&self) -> bool {
        match self.cause() {
            Fault::Chain(fault) => fault.missing_memory().is_some(),
            cause => matches!(cause, Fault::Memory { .. }),
        }
    }

    /// The fault as one of an object of the source, unless its object is known.
    #[must_use]
    pub fn of_source(self, index: u64) -> Fault {
        self.of(ObjectOf::Source, index)
    }

    /// The fault as one of an object of the destination, unless its object is known.
    #[must_use]
    pub fn of_destination(self, index: u64) -> Fault {
        self.of(ObjectOf::Destination, index)
    }

    /// The fault as one of an object of the source, or of the destination.
    #[must_use]
    pub fn in_object(self, is_source: bool, index: u64) -> Fault {
        if is_source { self.of_source(index) } else { self.of_destination(index) }
    }

    fn of(self, of: ObjectOf, index: u64) -> Fault {
        match self {
            known @ (Fault::At { .. } | Fault::Interrupted(_)) => known,
            fault => Fault::At { of, index, fault: Box::new(fault) },
        }
    }

    /// The fault of a pass as one of the whole job: the pass's objects of `from` are the job's of `to`.
    #[must_use]
    pub fn moved(self, from: ObjectOf, to: ObjectOf) -> Fault {
        match self {
            Fault::At { of, index, fault } if of == from => Fault::At { of: to, index, fault },
            fault => fault,
        }
    }
}

/// The first chunk, in the order of the set, on which the work failed.
#[derive(Debug)]
pub struct ChunkFault {
    /// Its linear index in the grid.
    pub index: u64,
    /// Why.
    pub fault: Fault,
}

/// A request to stop that all its clones share. By default nobody has made it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    raised: AtomicBool,
    /// The work that would be left unfinished now, where there is any.
    unfinished: Mutex<Option<Left>>,
}

/// The state that is left where work is stopped at once.
struct Left {
    /// A sentence for the user, with the next step.
    what: String,
    clearing: Option<Clearing>,
}

/// Removes what unfinished work has made, whoever is still at it.
pub type Clearing = Box<dyn Fn() + Send>;

impl std::fmt::Debug for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.what.fmt(f)
    }
}

/// The work was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// While it lives, stopping at once would leave something unfinished.
#[derive(Debug)]
pub struct Unfinished {
    interrupt: Interrupt,
}

impl Interrupt {
    /// Asks the work to stop; what it would leave unfinished if it were stopped at once, which is worth waiting for.
    pub fn raise(&self) -> Option<String> {
        // Under the lock: whoever begins something from now on sees the request.
        let unfinished = held(&self.shared.unfinished);
        self.shared.raised.store(true, Ordering::SeqCst);
        unfinished.as_ref().map(|left| left.what.clone())
    }

    /// Removes what the work has made, where that is of no use unfinished: before the process ends without it.
    pub fn clear(&self) {
        let unfinished = held(&self.shared.unfinished);
        if let Some(clearing) = unfinished.as_ref().and_then(|left| left.clearing.as_ref()) {
            clearing();
        }
    }

    /// An error once the request has been made.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.shared.raised.load(Ordering::SeqCst) { Err(Interrupted) } else { Ok(()) }
    }

    /// Begins something that must be finished or cleared away; an error where the request came first. The sentence says
    /// what is left where it is not.
    pub fn begin(&self, what: impl Into<String>, clearing: Option<Clearing>) -> Result<Unfinished, Interrupted> {
        let mut unfinished = held(&self.shared.unfinished);
        self.check()?;
        *unfinished = Some(Left { what: what.into(), clearing });
        Ok(Unfinished { interrupt: self.clone() })
    }
}

impl Unfinished {
    /// From now on this is done where the work is stopped at once.
    pub fn cleared_by(&self, clearing: Clearing) {
        let mut unfinished = held(&self.interrupt.shared.unfinished);
        if let Some(left) = unfinished.as_mut() {
            left.clearing = Some(clearing);
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        *held(&self.interrupt.shared.unfinished) = None;
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

//! Why the work on a chunk ended, and at which.

use super::interrupt::Interrupted;
use crate::codec::ChainFault;
use crate::diagnostic::quantity::bytes;
use crate::store::StoreError;

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

//! Routes from one stored array to another, one per file.

pub mod copy;
pub mod rechunk;
pub mod staged;
pub mod variable_size;

pub use copy::CopyJob;
pub use rechunk::{Rechunk, Schedule};
pub use staged::{Intermediate, Staged};
pub use variable_size::{SubchunkChange, VariableSize};

use crate::codec::Conversion;

/// Route of all stored objects.
#[derive(Debug, Clone)]
pub enum Route {
    /// Subchunk by subchunk. Both sides have the same subchunks, in the same objects or in others.
    Move(Box<Conversion>),
    /// Block by block. The subchunks differ.
    Rechunk(Box<Rechunk>),
    /// Block by block, in two passes.
    Staged(Box<Staged>),
    /// Subchunk by subchunk. Their sizes are known only after they are read.
    VariableSize(Box<VariableSize>),
}

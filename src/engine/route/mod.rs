//! The ways from one stored array to another, a file each.

pub mod copy;
pub mod rechunk;
pub mod staged;
pub mod variable_size;

pub use copy::CopyJob;
pub(super) use copy::CopyPass;
pub use rechunk::{Rechunk, Schedule};
pub use staged::{Intermediate, Staged};
pub use variable_size::{SubchunkChange, VariableSize};

use crate::codec::Conversion;

/// The route of each stored object.
#[derive(Debug, Clone)]
pub enum Route {
    /// Subchunk by subchunk, where both sides have the same subchunks, in the same objects or in others.
    Move(Box<Conversion>),
    /// Block by block, where the subchunks differ.
    Rechunk(Box<Rechunk>),
    /// The same in two passes.
    Staged(Box<Staged>),
    /// Subchunk by subchunk, where only reading tells how large a subchunk is.
    VariableSize(Box<VariableSize>),
}

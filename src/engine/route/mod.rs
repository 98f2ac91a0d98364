//! The ways from one stored array to another, a file each.

mod convert;
pub mod copy;
pub mod measured;
pub mod rechunk;
pub mod staged;
mod subchunk_move;
pub mod visit;

use self::measured::Measured;
use self::rechunk::Rechunk;
use self::staged::Staged;
use crate::codec::Conversion;

pub(in crate::engine) use convert::ConvertRun;
pub(in crate::engine) use measured::MeasuredRun;
pub(in crate::engine) use rechunk::RechunkRun;
pub(in crate::engine) use staged::StagedRun;
pub(in crate::engine) use subchunk_move::SubchunkMove;

/// What is done with each stored object.
#[derive(Debug, Clone)]
pub enum Route {
    /// Decoded and encoded whole.
    Convert(Box<Conversion>),
    /// Subchunk by subchunk, where both sides have the same subchunks, in the same objects or in others.
    Subchunks(Box<Conversion>),
    /// Block by block, where the subchunks differ.
    Rechunk(Box<Rechunk>),
    /// The same in two passes.
    Staged(Box<Staged>),
    /// Subchunk by subchunk, where only reading tells how large a subchunk is.
    Measured(Box<Measured>),
}

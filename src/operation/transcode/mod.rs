//! `transcode`: converts an array or a group.
//!
//! The plan is resolved and checked before DEST is changed. Chunks are streamed. The metadata come last, after the data
//! are on disk. The output of a run that fails is kept without metadata, for `--resume`.

mod destination;
mod format;
mod outcome;
pub mod parts;
mod plan;
mod planning;
mod quality;
mod repack;
mod run;
mod sample;
mod sealed;
#[cfg(test)]
mod tests;
mod tree;
mod verify;

use destination::{LockedDestination, Output, cannot_write};
use format::{NodeDocument, NodeDocuments};
use outcome::Done;
use plan::{DestinationMetadata, Plan, SourceArray, change::BitRounding};
use planning::JobPlan;
use repack::Repacking;
use sealed::SealedPlan;
use tree::Source;
use verify::Verification;

pub use super::slice::comparisons;
pub(crate) use format::as_source;
pub(crate) use plan::change::unpack;
pub use run::transcode;
pub(crate) use sample::{Attempt, Sample, SampleSize, SampleSpec, Sampler, Trial, has_fixed_size};

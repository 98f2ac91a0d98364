//! `transcode`: converts an array or a group.
//!
//! The plan is resolved and checked before DEST is changed. Chunks are streamed. The metadata come last, after the data
//! are on disk. The output of a run that fails is kept without metadata, for `--resume`.

mod destination;
mod documents;
mod forecast;
mod format;
mod images;
mod outcome;
pub mod parts;
mod plan;
mod planning;
mod quality;
mod repack;
mod run;
mod sample;
mod sealed;
mod selection;
mod source;
mod space;
#[cfg(test)]
mod tests;
mod verify;

use destination::{LockedDestination, Output, cannot_write};
use documents::{NodeDocument, NodeDocuments};
use outcome::Done;
use plan::{DestinationMetadata, Plan, SourceArray, keep_bits::BitRounding};
use planning::JobPlan;
use repack::Repacking;
use sealed::SealedPlan;
use source::Source;
use verify::Verification;

pub use super::slice::comparisons;
pub(crate) use format::as_source;
pub(crate) use plan::values::unpack;
pub use run::transcode;
pub(crate) use sample::{Attempt, Sample, SampleSize, SampleSpec, Sampler, Trial, has_fixed_size};

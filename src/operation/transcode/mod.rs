//! `transcode`: converts an array or a group.
//!
//! The plan is resolved and checked before DEST is changed. Chunks are streamed. The metadata come last, after the data
//! are on disk. The output of a run that fails is kept without metadata, for `--resume`.

mod compressor;
mod destination;
mod forecast;
mod format {
    //! Documents of the two versions of the format, and consolidated metadata.
    pub(crate) mod consolidate;
    pub(crate) mod from_v2;
    pub(crate) mod version_2;
}
mod images;
mod outcome;
pub mod parts;
mod pictures;
mod plan;
mod planning;
mod quality;
mod repack;
mod run;
mod sample;
mod sealed;
mod selection;
#[cfg(test)]
mod tests;
mod tree;
mod verify;
mod writing;

use destination::{LockedDestination, Output, cannot_write};
use format::consolidate::{NodeDocument, NodeDocuments};
pub(crate) use format::version_2::as_source;
use outcome::Done;
pub use pictures::comparisons;
use plan::keep_bits::BitRounding;
use plan::metadata::DestinationMetadata;
use plan::{Plan, SourceArray};
use planning::JobPlan;
use repack::Repacking;
pub use run::transcode;
pub(crate) use sample::{Sample, SampleSize, SampleSpec, Sampler, Trial, has_fixed_size};
use sealed::SealedPlan;
use tree::Source;
use verify::Verification;

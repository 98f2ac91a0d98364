//! `transcode`: an array written anew.
//!
//! The plan is settled and proved before DEST is touched; chunks stream; the metadata come last, after the data are
//! on disk. What a run that fails has done is kept, without metadata, for `--resume`.

mod compressor;
mod container;
mod destination;
mod format;
mod images;
mod outcome;
pub mod parts;
mod pictures;
mod plan;
mod planning;
mod quality;
mod repack;
mod room;
mod run;
mod sample;
mod sealed;
mod selection;
#[cfg(test)]
mod tests;
mod tree;
mod verify;
mod writing;

pub(in crate::operation) use format::version_2::as_source;
pub use pictures::comparisons;
pub use run::transcode;
pub(in crate::operation) use sample::{Drawing, Estimate, Sample, SampleSize, Sampler, Trial};

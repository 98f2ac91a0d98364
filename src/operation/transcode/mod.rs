//! `transcode`: an array written anew.
//!
//! The plan is settled and proved before DEST is touched; chunks stream; the metadata come last, after the data are
//! on disk. What a run that fails has done is kept, without metadata, for `--resume`.

pub(super) mod budget;
mod change;
mod consolidate;
mod described;
mod destination;
pub(super) mod fault;
pub(super) mod first_pass;
mod fit;
mod from_v2;
mod grid;
pub(super) mod layout;
mod lossy_filter;
pub(super) mod measure;
mod normalize;
mod opaque;
mod outcome;
pub(super) mod plan;
pub(super) mod quantization;
pub(super) mod range;
pub(super) mod reader;
mod reader_support;
mod readers;
mod regrid;
pub(super) mod request;
mod room;
mod route;
mod run;
mod selection;
mod site;
mod staging;
pub(super) mod survey;
#[cfg(test)]
mod tests;
mod tree;
mod unpack;
mod verify;
mod version_2;
mod widest_step;
mod work_bytes;
mod worst_error;

pub use run::transcode;

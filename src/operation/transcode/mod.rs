//! `transcode`: an array written anew.
//!
//! The plan is settled and proved before DEST is touched; chunks stream; the metadata come last, after the data are
//! on disk. What a run that fails has done is kept, without metadata, for `--resume`.

pub(super) mod budget;
mod change;
mod consolidate;
mod destination;
pub(super) mod fault;
mod few_readers;
pub(super) mod first_pass;
pub(super) mod layout;
pub(super) mod measure;
mod missing;
mod normalize;
mod outcome;
pub(super) mod plan;
pub(super) mod quantization;
pub(super) mod range;
pub(super) mod reader;
mod regrid;
pub(super) mod request;
mod room;
mod run;
mod selection;
mod site;
mod staging;
pub(super) mod survey;
#[cfg(test)]
mod tests;
mod tree;
mod unpack;
mod unread;
mod verify;
mod version_2;
mod way;
mod xarray;

pub use run::transcode;

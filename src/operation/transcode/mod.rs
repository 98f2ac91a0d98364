//! `transcode`: an array written anew.
//!
//! The plan is settled and proved before DEST is touched; chunks stream; the metadata come last, after the data are
//! on disk. A run that fails leaves no DEST.

mod change;
mod destination;
mod fault;
pub(super) mod layout;
mod measure;
mod missing;
mod normalize;
mod plan;
mod quantization;
mod range;
pub(super) mod reader;
mod regrid;
mod run;
mod survey;
mod unpack;
mod verify;
mod way;

pub use run::transcode;

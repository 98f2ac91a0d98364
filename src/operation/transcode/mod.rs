//! `transcode`: an array written anew.
//!
//! The plan is settled and proved before DEST is touched; chunks stream; the metadata come last, after the data are
//! on disk. A run that fails leaves no DEST.

mod budget;
mod change;
mod destination;
mod fault;
mod first_pass;
pub(super) mod layout;
mod measure;
mod missing;
mod normalize;
mod outcome;
mod plan;
mod quantization;
mod range;
mod reader;
mod run;
mod survey;
mod unpack;
mod verify;

pub use run::transcode;

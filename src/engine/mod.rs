//! Chunks in parallel: which there are, what is done with each, and in what order the results count.

pub mod ahead;
mod block_reader;
mod decoded_block;
pub mod driver;
pub mod fold;
pub mod groups;
pub mod job;
pub mod journal;
pub mod listing;
pub mod pairs;
mod pass;
pub mod plan;
pub mod progress;
pub mod report;
pub mod route;
mod subchunk_writer;
pub mod transfer;
pub mod unfinished;

pub use driver::Driver;
pub use subchunk_writer::SubchunkEncoder;

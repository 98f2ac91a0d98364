//! Chunks in parallel: which there are, what is done with each, and in what order the results count.

mod block_reader;
pub mod buffers;
pub mod chunk_set;
mod decoded_block;
pub mod driver;
mod geometry;
pub mod interrupt;
pub mod job;
pub mod journal;
pub mod key_scan;
pub mod listing;
pub mod plan;
pub mod progress;
pub mod report;
pub mod route;
pub mod shard;
pub mod stored;
mod subchunk_encoder;
mod subchunk_writer;
pub mod subchunks;
pub mod transfer;
mod workers;

pub use chunk_set::ChunkSet;
pub use driver::{Driver, Fault};
pub use interrupt::{Interrupt, Interrupted};
pub use subchunk_encoder::SubchunkEncoder;

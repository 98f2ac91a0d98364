//! Chunks in parallel: which there are, what is done with each, and in what order the results count.

pub mod block_reader;
pub mod chunk_set;
mod decoded_block;
pub mod driver;
pub mod interrupt;
pub mod journal;
pub mod key_scan;
pub mod listing;
pub mod measured;
pub mod object;
pub mod plan;
pub mod progress;
pub mod rechunk;
pub mod shard;
pub mod staged;
mod subchunk_encoder;
mod subchunk_move;
mod subchunk_writer;
pub mod subchunks;
mod workers;

pub use chunk_set::ChunkSet;
pub use driver::{Driver, Fault};
pub use interrupt::{Interrupt, Interrupted};
pub use subchunk_encoder::SubchunkEncoder;

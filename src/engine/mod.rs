//! Chunks in parallel: which there are, what is done with each, and in what order the results count.

pub mod chunk_set;
pub mod driver;
pub mod interrupt;
pub mod object;
pub mod plan;
pub mod progress;
pub mod shard;

pub use chunk_set::ChunkSet;
pub use driver::{Driver, Fault};
pub use interrupt::{Interrupt, Interrupted};

//! An array as it is stored: where it lies, in which grid and behind which chain, which of its chunks are there, and how
//! they, and the chunks inside shards, are read and written one by one. It knows of no threads.

pub mod buffers;
pub mod chunk_cache;
pub mod chunk_set;
pub mod fault;
pub mod geometry;
pub mod interrupt;
pub mod listing;
pub mod reader;
pub mod shard;
pub mod stored;
pub mod subchunks;

pub use chunk_set::ChunkSet;
pub use fault::Fault;
pub use stored::StoredArray;

//! A stored array: its location, grid and codec chain, the chunks that are present, and reads and writes of single
//! chunks and inner chunks. It uses no threads.

pub mod chunk_cache;
pub mod chunk_set;
pub mod fault;
pub mod listing;
pub mod reader;
pub mod stored;

pub use chunk_cache::{ArrayCache, ChunkCache, PIECE, ReadBuffers};
pub use chunk_set::{ChunkSet, ChunkSetBuilder, position};
pub use fault::{ChunkFault, Fault, Interrupt, ObjectOf, Result};
pub use listing::{FOLDER, Listing, Purpose, Sizes, UnexpectedKey, UnexpectedKeyKind};
pub use reader::{InPieces, OpenedObject, SubchunkSource, crop, each_piece_of, element_fault};
pub use stored::{MOST_OPEN_SHARDS, Missing, ShardLayout, ShardWriter, StoredArray, at, filled, unbound};

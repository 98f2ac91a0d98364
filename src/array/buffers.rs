//! What reading keeps from object to object.

use std::sync::Arc;

use super::chunk_cache::CacheEntry;
use crate::codec::Workspace;

/// Bytes that are read at a time where a chunk is converted while it is read: a multiple of every element size that
/// leaves room in a level 2 cache.
pub const PIECE: usize = 1 << 18;

/// Buffers that a thread keeps from object to object.
#[derive(Debug, Default)]
pub struct ReadBuffers {
    /// The bytes that were read, and in the end the elements.
    pub bytes: Vec<u8>,
    /// The other side of the codec that runs.
    pub(super) spare: Vec<u8>,
    /// For the codecs, and for the tiles of value programs.
    pub workspace: Workspace,
    /// The chunk whose elements were given last, of those that the array keeps.
    pub(super) kept: Option<Arc<CacheEntry>>,
    /// Bytes that were read from the store, as they are stored, by objects and units of which elements were given.
    pub bytes_read: u64,
}

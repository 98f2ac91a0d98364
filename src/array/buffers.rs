//! Buffers for reads of chunks.

use std::sync::Arc;

use super::chunk_cache::CacheEntry;
use crate::codec::Workspace;

/// Bytes that are read at once if a chunk is converted during the read. It is a multiple of every element size, and
/// leaves space in a level 2 cache.
pub const PIECE: usize = 1 << 18;

/// Buffers of a thread, reused for all objects.
#[derive(Debug, Default)]
pub struct ReadBuffers {
    /// Bytes that were read. After decoding, the elements.
    pub bytes: Vec<u8>,
    /// Output of the codec that is running.
    pub(super) spare: Vec<u8>,
    /// Memory of the codecs and for the tiles of value programs.
    pub workspace: Workspace,
    /// Cached chunk whose elements were returned last.
    pub(super) kept: Option<Arc<CacheEntry>>,
    /// Encoded bytes that were read from the store for returned elements.
    pub bytes_read: u64,
}

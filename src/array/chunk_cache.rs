//! Chunks that the first pass over an array read. They stay in memory for later passes, within the memory budget. Also
//! the buffers of a thread for reads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::codec::{BoundChain, Workspace};
use crate::store::held;

/// Memory of a chunk in addition to its bytes: its entry, and the rounding of the allocator.
const BESIDE: u64 = 256;

/// Largest chunk without encoding that is cached, in bytes with [`BESIDE`]. A larger one is read again in less time
/// than fresh memory needs, as the system caches files too. Chunks of remote stores have no such limit.
const MOST_PLAIN: u64 = 64 << 10;

/// Cache of the chunks of all arrays of a command, up to a limit. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ChunkCache(Arc<Mutex<CacheState>>);

#[derive(Debug, Default)]
struct CacheState {
    /// Chunks by the number of the array and the position in its grid of subchunks.
    chunks: HashMap<(usize, Box<[u64]>), Arc<CacheEntry>>,
    /// Used memory in bytes, and its limit.
    bytes: u64,
    most: u64,
    arrays: usize,
    /// Number of chunks that were added, including removed ones.
    count: u64,
}

/// Chunk whose bytes->bytes codecs are decoded. Thus every pass can use it, even a route that does not decode the other
/// codecs.
#[derive(Debug)]
pub struct CacheEntry {
    /// Bytes after the bytes->bytes codecs are decoded.
    pub bytes: Box<[u8]>,
    /// Size of the stored chunk in bytes.
    pub stored: u64,
    /// Number of chunks that were added before it.
    order: u64,
}

/// Part of a [`ChunkCache`] for one array. The default caches nothing.
#[derive(Debug, Clone, Default)]
pub struct ArrayCache {
    cache: Option<ChunkCache>,
    /// Number of the array.
    array: usize,
    /// True if its store is remote. A new read then always needs more time than a copy in memory.
    is_far: bool,
}

impl ChunkCache {
    /// Returns the part for a new array. `is_far` means that its store is remote.
    pub fn part(&self, is_far: bool) -> ArrayCache {
        let mut held = held(&self.0);
        held.arrays += 1;
        ArrayCache { cache: Some(self.clone()), array: held.arrays, is_far }
    }

    /// Sets the limit in bytes. Chunks beyond it are dropped, of any array, the latest first.
    pub fn limit(&self, most: u64) {
        let mut held = held(&self.0);
        held.most = most;
        if held.bytes <= most {
            return;
        }
        let mut orders: Vec<(u64, u64)> =
            held.chunks.values().map(|chunk| (chunk.order, size(chunk.bytes.len()))).collect();
        orders.sort_unstable();
        let mut end = u64::MAX;
        while let Some((order, size)) = orders.pop().filter(|_| held.bytes > most) {
            held.bytes -= size;
            end = order;
        }
        held.chunks.retain(|_, chunk| chunk.order < end);
    }
}

impl ArrayCache {
    /// Returns true if a chunk of `bytes` bytes is worth caching, and the limit allows it.
    pub fn wants(&self, chain: &BoundChain, bytes: usize) -> bool {
        self.with_capacity(chain, bytes).is_some()
    }

    /// Caches the chunk at a position if it is wanted. `stored` is its encoded size in bytes.
    pub fn keep(&self, position: &[u64], chain: &BoundChain, bytes: &[u8], stored: u64) {
        let Some(mut held) = self.with_capacity(chain, bytes.len()) else { return };
        let order = held.count;
        held.count += 1;
        // Counted before the copy, so that several threads together stay below the limit.
        held.bytes += size(bytes.len());
        // Other threads continue during the copy.
        drop(held);
        let chunk = Arc::new(CacheEntry { bytes: Box::from(bytes), stored, order });
        let Some(mut held) = self.held() else { return };
        let before = held.chunks.insert((self.array, position.into()), chunk);
        held.bytes -= before.map_or(0, |before| size(before.bytes.len()));
    }

    fn held(&self) -> Option<MutexGuard<'_, CacheState>> {
        self.cache.as_ref().map(|cache| held(&cache.0))
    }

    fn with_capacity(&self, chain: &BoundChain, bytes: usize) -> Option<MutexGuard<'_, CacheState>> {
        self.cache.as_ref().filter(|_| self.is_far || size(bytes) <= MOST_PLAIN || !chain.is_plain())?;
        self.held().filter(|held| size(bytes) <= held.most.saturating_sub(held.bytes))
    }

    /// Returns the chunk at a position if it is cached.
    pub fn get(&self, position: &[u64]) -> Option<Arc<CacheEntry>> {
        self.held()?.chunks.get(&(self.array, position.into())).cloned()
    }

    /// Removes and returns the chunk at a position if it is cached.
    pub fn take(&self, position: &[u64]) -> Option<Arc<CacheEntry>> {
        let mut held = self.held()?;
        let chunk = held.chunks.remove(&(self.array, position.into()))?;
        held.bytes -= size(chunk.bytes.len());
        Some(chunk)
    }

    /// Removes all chunks of the array.
    pub fn clear(&self) {
        let Some(mut held) = self.held() else { return };
        let CacheState { chunks, bytes, .. } = &mut *held;
        chunks.retain(|(number, _), chunk| {
            let stays = *number != self.array;
            *bytes -= if stays { 0 } else { size(chunk.bytes.len()) };
            stays
        });
    }
}

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

/// Returns the memory of a chunk of `bytes` bytes.
fn size(bytes: usize) -> u64 {
    (bytes as u64).saturating_add(BESIDE)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::codec::as_index;
    use crate::data_type::DataType;
    use crate::element::{ElementType, NumberType};
    use crate::metadata::extension::CodecMetadata;
    use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

    /// Returns the chain of a chunk of `bytes` bytes.
    fn chain(codecs: &[&str], bytes: u64) -> BoundChain {
        let data_type = DataType::Number(NumberType::of(ElementType::UInt8));
        let input = ArrayRepresentation { data_type, shape: vec![bytes], fill_value: None };
        let codecs: Vec<_> = codecs.iter().map(|name| CodecMetadata::new(*name, None)).collect();
        let pipeline = Pipeline::build(input, &codecs, Completeness::ToBytes, "", &mut Vec::new());
        BoundChain::bind(&pipeline).unwrap()
    }

    fn put(kept: &ArrayCache, position: &[u64], byte: u8, stored: u64) -> bool {
        let chain = chain(&["bytes", "crc32c"], 1000);
        let has_room = kept.wants(&chain, 1000);
        kept.keep(position, &chain, &[byte; 1000], stored);
        has_room
    }

    #[test]
    fn cache_holds_no_more_than_its_limit_whatever_array_the_chunks_are_of() {
        let cache = ChunkCache::default();
        let (one, other) = (cache.part(false), cache.part(false));
        assert!(!put(&one, &[0], 1, 10), "there is no room before it is given");
        cache.limit(3 * (1000 + BESIDE));
        assert!(put(&one, &[0, 1], 1, 10) && put(&one, &[0, 1], 2, 11));
        assert!(put(&other, &[0, 1], 3, 12) && put(&one, &[1, 0], 4, 13));
        assert!(!put(&other, &[1, 0], 5, 14));
        let chunk = one.get(&[0, 1]).unwrap();
        assert_eq!((chunk.bytes[0], chunk.stored), (2, 11));
        assert_eq!(other.take(&[0, 1]).unwrap().bytes[0], 3);
        assert!(other.take(&[0, 1]).is_none());
        assert!(put(&other, &[1, 0], 5, 14));
        one.clear();
        assert!(one.get(&[1, 0]).is_none() && other.get(&[1, 0]).is_some());
        cache.limit(1000);
        assert!(other.get(&[1, 0]).is_none());
        assert_eq!(held(&cache.0).bytes, 0);
    }

    #[test]
    fn what_was_kept_first_stays_longest_whatever_array_it_is_of() {
        let cache = ChunkCache::default();
        cache.limit(u64::MAX);
        let (one, other) = (cache.part(false), cache.part(false));
        let part_of = |chunk: u64| if chunk.is_multiple_of(2) { &one } else { &other };
        assert!((0..10).all(|chunk| put(part_of(chunk), &[chunk], 1, 1)));
        cache.limit(4 * (1000 + BESIDE));
        let is_kept = |chunk: &u64| part_of(*chunk).get(&[*chunk]).is_some();
        assert_eq!((0..10).filter(is_kept).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(!put(&one, &[9], 1, 1));
    }

    #[test]
    fn large_chunks_that_are_their_elements_are_not_kept_nor_any_without_a_cache() {
        let cache = ChunkCache::default();
        cache.limit(u64::MAX);
        let is_kept = |codecs: &[&str], bytes: u64| cache.part(false).wants(&chain(codecs, bytes), as_index(bytes));
        assert!(is_kept(&["bytes"], 1000) && !is_kept(&["bytes"], MOST_PLAIN));
        assert!(is_kept(&["bytes", "crc32c"], 1 << 30));
        assert!(!ArrayCache::default().wants(&chain(&["bytes"], 10), 10));
    }
}

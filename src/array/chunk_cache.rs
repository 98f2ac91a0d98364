//! Chunks that a first pass read, held in memory for the passes after it as far as the memory budget reaches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::codec::{BoundChain, as_index};

/// Bytes of a chunk beside its own: its entry, and what the allocator rounds up.
const BESIDE: u64 = 256;

/// Chunks that are stored as their elements are held up to this size. Larger ones are read again in less time than memory
/// that no one has used before takes to be had: the system keeps files in memory, too.
const MOST_PLAIN: u64 = 64 << 10;

/// The chunks that the first passes of a command hold, of all its arrays, up to a limit. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ChunkCache(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    /// By the number of the array, and the position of the chunk in its grid of subchunks.
    chunks: HashMap<(usize, Box<[u64]>), Arc<CacheEntry>>,
    /// Bytes that they take, and may take.
    bytes: u64,
    most: u64,
    /// Arrays that have a number.
    arrays: usize,
    /// Chunks that were put here.
    count: u64,
}

/// A chunk that was read. Only its codecs from bytes to bytes are undone: so every pass can go on from it, and a route
/// that leaves the other codecs as they are, too.
#[derive(Debug)]
pub struct CacheEntry {
    /// The bytes that the codecs from bytes to bytes were given.
    pub bytes: Box<[u8]>,
    /// Bytes of the stored chunk.
    pub stored: u64,
    /// The number of chunks that were put into the cache before it.
    order: u64,
}

impl CacheEntry {
    fn size(&self) -> u64 {
        size(self.bytes.len())
    }
}

/// The part of a [`ChunkCache`] that belongs to one array; without one nothing is kept.
#[derive(Debug, Clone, Default)]
pub struct ArrayCache(Option<Owner>);

#[derive(Debug, Clone)]
struct Owner {
    cache: ChunkCache,
    /// The number of the array.
    array: usize,
    /// True if its store is far away: then reading a chunk again always takes longer than keeping it.
    is_far: bool,
}

impl ChunkCache {
    /// The part of an array that has none yet, whose store may be far away.
    pub fn part(&self, is_far: bool) -> ArrayCache {
        let mut held = self.held();
        held.arrays += 1;
        ArrayCache(Some(Owner { cache: self.clone(), array: held.arrays, is_far }))
    }

    /// Lets it hold at most so many bytes from now on; what is too much, of whatever array, is forgotten, the latest first.
    pub fn limit(&self, most: u64) {
        let mut held = self.held();
        held.most = most;
        if held.bytes <= most {
            return;
        }
        let mut orders: Vec<(u64, u64)> = held.chunks.values().map(|chunk| (chunk.order, chunk.size())).collect();
        orders.sort_unstable();
        let mut end = u64::MAX;
        while let Some((order, size)) = orders.pop().filter(|_| held.bytes > most) {
            held.bytes -= size;
            end = order;
        }
        held.chunks.retain(|_, chunk| chunk.order < end);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ArrayCache {
    /// True if a chunk of so many bytes behind this chain is worth keeping, and there is room for it.
    pub fn wants(&self, chain: &BoundChain, bytes: usize) -> bool {
        self.with_room(chain, bytes).is_some()
    }

    /// Keeps the chunk at a position, of which `stored` bytes were read, where it is wanted.
    pub fn keep(&self, position: &[u64], chain: &BoundChain, bytes: &[u8], stored: u64) {
        let Some((owner, mut held)) = self.with_room(chain, bytes.len()) else { return };
        let order = held.count;
        held.count += 1;
        held.bytes += size(bytes.len());
        // The others go on while it is copied.
        drop(held);
        let chunk = Arc::new(CacheEntry { bytes: Box::from(bytes), stored, order });
        let mut held = owner.cache.held();
        let before = held.chunks.insert((owner.array, position.into()), chunk);
        held.bytes -= before.map_or(0, |before| before.size());
    }

    fn with_room(&self, chain: &BoundChain, bytes: usize) -> Option<(&Owner, MutexGuard<'_, Held>)> {
        let owner = self.0.as_ref()?;
        let is_plain = chain.stores_elements(as_index(chain.decoded_bytes()));
        let held = owner.cache.held();
        let has_room = size(bytes) <= held.most.saturating_sub(held.bytes);
        (has_room && (owner.is_far || !is_plain || size(bytes) <= MOST_PLAIN)).then_some((owner, held))
    }

    /// The chunk at a position, if it is kept; it stays so.
    pub fn get(&self, position: &[u64]) -> Option<Arc<CacheEntry>> {
        let Owner { cache, array, .. } = self.0.as_ref()?;
        cache.held().chunks.get(&(*array, position.into())).cloned()
    }

    /// The chunk at a position, if it is kept, for the last time.
    pub fn take(&self, position: &[u64]) -> Option<Arc<CacheEntry>> {
        let Owner { cache, array, .. } = self.0.as_ref()?;
        let mut held = cache.held();
        let chunk = held.chunks.remove(&(*array, position.into()))?;
        held.bytes -= chunk.size();
        Some(chunk)
    }

    /// Forgets the array's chunks.
    pub fn clear(&self) {
        let Some(Owner { cache, array, .. }) = &self.0 else { return };
        let mut held = cache.held();
        let Held { chunks, bytes, .. } = &mut *held;
        chunks.retain(|(number, _), chunk| {
            let stays = number != array;
            *bytes -= if stays { 0 } else { chunk.size() };
            stays
        });
    }
}

/// The memory of a chunk of so many bytes.
fn size(bytes: usize) -> u64 {
    (bytes as u64).saturating_add(BESIDE)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(cache.held().bytes, 0);
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

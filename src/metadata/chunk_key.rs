//! Chunk keys: from chunk indices to the key of a chunk, relative to its array, and back.

use super::json::Json;

/// What stands between the indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Separator {
    /// `/`
    Slash,
    /// `.`
    Dot,
}

/// The encodings that this program follows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ChunkKeyEncoding {
    /// `default`: `c/0/1`, and `c` for an array without dimensions.
    Default(Separator),
    /// `v2`: `0.1`, and `0` for an array without dimensions.
    V2(Separator),
    /// zarrs' `default_suffix`: `c/0/1.tif`; the suffix is plain (no separator, nothing that leads elsewhere).
    DefaultSuffix(Separator, String),
}

impl ChunkKeyEncoding {
    /// The key of a chunk, relative to the array.
    pub fn key(&self, _chunk_indices: &[u64]) -> String {
        unimplemented!()
    }

    /// The chunk of a key; `None` where [`Self::key`] makes no such key for an array of this rank.
    pub fn chunk_indices(&self, _key: &str, _rank: usize) -> Option<Vec<u64>> {
        unimplemented!()
    }

    /// The metadata, separator included.
    pub fn to_json(&self) -> Json {
        unimplemented!()
    }
}

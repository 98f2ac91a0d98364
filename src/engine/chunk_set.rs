//! Which chunks of an array are there, from its keys.

use super::driver::Driver;
use crate::codec::region::{ravel, unravel};
use crate::metadata::array::ArrayMetadata;
use crate::store::{LocalNode, StoreError};

/// The keys of documents, of both formats, which belong to no chunk.
pub const DOCUMENT_KEYS: [&str; 5] = ["zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata"];

/// Chunks of a grid by linear index (C order), as runs: a dense array is one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChunkSet {
    /// First index and number of members before it, for each run; runs are disjoint and ascending.
    runs: Vec<Run>,
    len: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: u64,
    length: u64,
    before: u64,
}

/// What a listing of an array's keys gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Chunks of the grid.
    pub present: ChunkSet,
    /// Keys that belong to no chunk of the grid, at most [`Listing::MOST_UNKNOWN`] of them.
    pub unknown_keys: Vec<String>,
    /// Folders where a chunk should be.
    pub folders: Vec<String>,
}

impl Listing {
    /// The most unknown keys that are kept.
    pub const MOST_UNKNOWN: usize = 100;
}

impl ChunkSet {
    /// The set of these indices, in any order.
    pub fn from_indices(mut indices: Vec<u64>) -> Self {
        indices.sort_unstable();
        indices.dedup();
        let mut set = ChunkSet { runs: Vec::new(), len: indices.len() as u64 };
        for (before, index) in indices.into_iter().enumerate() {
            match set.runs.last_mut() {
                Some(run) if run.first + run.length == index => run.length += 1,
                _ => set.runs.push(Run { first: index, length: 1, before: before as u64 }),
            }
        }
        set
    }

    /// Every chunk of a grid of `total`.
    pub fn full(total: u64) -> Self {
        let runs = if total == 0 { Vec::new() } else { vec![Run { first: 0, length: total, before: 0 }] };
        ChunkSet { runs, len: total }
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The member at `place` in ascending order; `None` past the last.
    pub fn nth(&self, place: u64) -> Option<u64> {
        let after = self.runs.partition_point(|run| run.before <= place);
        let run = self.runs.get(after.checked_sub(1)?)?;
        (place - run.before < run.length).then(|| run.first + (place - run.before))
    }

    /// Whether an index is a member.
    pub fn contains(&self, index: u64) -> bool {
        let after = self.runs.partition_point(|run| run.first <= index);
        after.checked_sub(1).is_some_and(|at| index - self.runs[at].first < self.runs[at].length)
    }
}

/// Lists the chunks of an array on a local store, folders of one depth in parallel.
pub fn list(node: &LocalNode, metadata: &ArrayMetadata, driver: &Driver) -> Result<Listing, StoreError> {
    let grid_shape = metadata.chunk_grid_shape();
    let rank = metadata.shape.len();
    let encoding = &metadata.chunk_key_encoding;
    let chunk_of = |key: &str| {
        let indices = encoding.chunk_indices(key, rank)?;
        let inside = indices.iter().zip(&grid_shape).all(|(index, length)| index < length);
        inside.then(|| ravel(&indices, &grid_shape))
    };
    let (mut indices, mut unknown, mut folders) = (Vec::new(), Vec::new(), Vec::new());
    let mut level = vec![String::new()];
    // A key has at most the prefix and an index for each dimension: folders deeper than that are not walked.
    for _ in 0..=rank + 1 {
        let listings = driver.map_plain(&level, |folder| node.list(folder));
        level.clear();
        for listing in listings {
            let listing = listing?;
            let others = listing.others.into_iter().map(|(key, _)| key);
            for key in listing.files.into_iter().chain(listing.links).chain(others) {
                if let Some(index) = chunk_of(&key) {
                    indices.push(index);
                } else if !DOCUMENT_KEYS.contains(&key.as_str()) && unknown.len() < Listing::MOST_UNKNOWN {
                    unknown.push(key);
                }
            }
            for key in listing.folders {
                if chunk_of(&key).is_some() { folders.push(key) } else { level.push(key) }
            }
        }
    }
    unknown.sort_unstable();
    folders.sort_unstable();
    Ok(Listing { present: ChunkSet::from_indices(indices), unknown_keys: unknown, folders })
}

/// The position of a chunk of the set in the grid.
pub fn position(index: u64, metadata: &ArrayMetadata) -> Vec<u64> {
    unravel(index, &metadata.chunk_grid_shape())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_set_of_scattered_indices_knows_its_members() {
        let set = ChunkSet::from_indices(vec![9, 3, 4, 5, 3]);
        assert_eq!(set.len(), 4);
        assert_eq!(
            (0..5).map(|place| set.nth(place)).collect::<Vec<_>>(),
            [Some(3), Some(4), Some(5), Some(9), None]
        );
        assert!(set.contains(5) && !set.contains(6) && set.contains(9) && !set.contains(2));
    }

    #[test]
    fn full_chunk_set_is_one_run() {
        let set = ChunkSet::full(1 << 40);
        assert_eq!(set.runs.len(), 1);
        assert_eq!(set.nth((1 << 40) - 1), Some((1 << 40) - 1));
        assert!(ChunkSet::full(0).is_empty());
    }
}

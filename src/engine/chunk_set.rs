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
    /// Bytes of the chunks of the grid; 0 where they were not asked for.
    pub present_bytes: u64,
}

/// Objects whose sizes one thread asks for at a time.
const SIZES_AT_ONCE: usize = 1 << 11;

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

    /// The set of the members of these ranges, in any order; they may overlap.
    pub fn from_ranges(mut ranges: Vec<std::ops::Range<u64>>) -> Self {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable_by_key(|range| range.start);
        let mut set = ChunkSet::default();
        for range in ranges {
            let joins = set.runs.last_mut().filter(|run| range.start <= run.first + run.length);
            match joins {
                Some(run) => run.length = run.length.max(range.end - run.first),
                None => {
                    let before = set.runs.last().map_or(0, |run| run.before + run.length);
                    set.runs.push(Run { first: range.start, length: range.end - range.start, before });
                }
            }
        }
        set.len = set.runs.last().map_or(0, |run| run.before + run.length);
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

    /// The members that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &ChunkSet) -> ChunkSet {
        if other.is_empty() {
            return self.clone();
        }
        let members = self.runs.iter().flat_map(|run| run.first..run.first + run.length);
        ChunkSet::from_indices(members.filter(|index| !other.contains(*index)).collect())
    }

    /// Whether an index is a member.
    pub fn contains(&self, index: u64) -> bool {
        let after = self.runs.partition_point(|run| run.first <= index);
        after.checked_sub(1).is_some_and(|at| index - self.runs[at].first < self.runs[at].length)
    }
}

/// Lists the chunks of an array on a local store, folders of one depth in parallel.
pub fn list(node: &LocalNode, metadata: &ArrayMetadata, driver: &Driver) -> Result<Listing, StoreError> {
    walk(node, metadata, driver, false)
}

/// The same, with the bytes of the chunks.
pub fn list_with_sizes(
    node: &LocalNode,
    metadata: &ArrayMetadata,
    driver: &Driver,
) -> Result<Listing, StoreError> {
    walk(node, metadata, driver, true)
}

/// What a folder holds, sorted out.
struct Folder {
    indices: Vec<u64>,
    names: Vec<String>,
    unknown: Vec<String>,
    /// Folders where a chunk should be.
    misplaced: Vec<String>,
    folders: Vec<String>,
}

fn walk(
    node: &LocalNode,
    metadata: &ArrayMetadata,
    driver: &Driver,
    with_sizes: bool,
) -> Result<Listing, StoreError> {
    let mut found = Listing::default();
    let mut indices = Vec::new();
    let mut level = vec![String::new()];
    // A key has at most the prefix and an index for each dimension: folders deeper than that are not walked.
    for _ in 0..=metadata.shape.len() + 1 {
        let sorted = driver.map_plain(&level, |folder| sort(node, metadata, folder, with_sizes));
        let folders: Vec<Folder> = sorted.into_iter().collect::<Result<_, _>>()?;
        if with_sizes {
            found.present_bytes = found.present_bytes.saturating_add(sizes(node, &level, &folders, driver)?);
        }
        level.clear();
        for folder in folders {
            indices.extend(folder.indices);
            level.extend(folder.folders);
            found.folders.extend(folder.misplaced);
            let room = Listing::MOST_UNKNOWN - found.unknown_keys.len();
            found.unknown_keys.extend(folder.unknown.into_iter().take(room));
        }
    }
    found.unknown_keys.sort_unstable();
    found.folders.sort_unstable();
    found.present = ChunkSet::from_indices(indices);
    Ok(found)
}

/// Lists one folder; its files' names are kept where their sizes are wanted.
fn sort(
    node: &LocalNode,
    metadata: &ArrayMetadata,
    folder: &str,
    with_names: bool,
) -> Result<Folder, StoreError> {
    let grid_shape = metadata.chunk_grid_shape();
    let chunk_of = |key: &str| {
        let indices = metadata.chunk_key_encoding.chunk_indices(key, metadata.shape.len())?;
        let inside = indices.iter().zip(&grid_shape).all(|(index, length)| index < length);
        inside.then(|| ravel(&indices, &grid_shape))
    };
    let mut sorted = Folder {
        indices: Vec::new(),
        names: Vec::new(),
        unknown: Vec::new(),
        misplaced: Vec::new(),
        folders: Vec::new(),
    };
    let listing = node.list(folder)?;
    let others = listing.others.into_iter().map(|(key, _)| key);
    for key in listing.files.into_iter().chain(listing.links).chain(others) {
        if let Some(index) = chunk_of(&key) {
            sorted.indices.push(index);
            if with_names {
                sorted.names.push(key);
            }
        } else if !DOCUMENT_KEYS.contains(&key.as_str()) && sorted.unknown.len() < Listing::MOST_UNKNOWN {
            sorted.unknown.push(key);
        }
    }
    for key in listing.folders {
        if chunk_of(&key).is_some() { sorted.misplaced.push(key) } else { sorted.folders.push(key) }
    }
    Ok(sorted)
}

/// The bytes of the files of some folders, many at a time.
fn sizes(node: &LocalNode, paths: &[String], folders: &[Folder], driver: &Driver) -> Result<u64, StoreError> {
    let batches: Vec<(&str, Vec<&str>)> = paths
        .iter()
        .zip(folders)
        .flat_map(|(path, folder)| {
            let prefix = if path.is_empty() { 0 } else { path.len() + 1 };
            folder
                .names
                .chunks(SIZES_AT_ONCE)
                .map(move |keys| (path.as_str(), keys.iter().map(|key| &key[prefix..]).collect()))
        })
        .collect();
    let totals = driver.map_plain(&batches, |(path, names)| node.total_size(path, names));
    totals.into_iter().try_fold(0_u64, |sum, total| Ok(sum.saturating_add(total?)))
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

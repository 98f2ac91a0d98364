//! The chunks of an array that are there, from its keys: each folder is walked as it is read, many at a time, and
//! no more names are kept than are looked at.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::driver::Driver;
use crate::array::chunk_set::{ChunkSet, ChunkSetBuilder, position};
use crate::metadata::array::ArrayMetadata;
use crate::store::{EntryKind, Node, StoreError};

/// The keys of documents, of both formats, which belong to no chunk.
pub const DOCUMENT_KEYS: [&str; 5] = ["zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata"];

/// What a listing of an array's keys gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Chunks of the grid.
    pub present: ChunkSet,
    /// Keys that belong to no chunk of the grid, the first [`Listing::MOST_UNKNOWN`] of them.
    pub unknown_keys: Vec<String>,
    /// Keys of chunks that are links which lead nowhere, as many: such chunks are absent.
    pub dangling_links: Vec<String>,
    /// Folders where a chunk should be, as many.
    pub folders: Vec<String>,
    /// Bytes of the chunks of the grid; 0 where they were not asked for.
    pub present_bytes: u64,
}

impl Listing {
    /// The most unknown keys that are kept.
    pub const MOST_UNKNOWN: usize = 100;
}

/// Objects whose sizes one thread asks for at a time.
const SIZES_AT_ONCE: usize = 1 << 10;

/// How many such pieces of work may wait.
const MOST_WAITING: usize = 64;

/// Lists the chunks of an array on a local store.
pub fn list(node: &Node, metadata: &ArrayMetadata, driver: &Driver) -> Result<Listing, StoreError> {
    walk(node, metadata, driver, false)
}

/// Removes the chunks of an array that are not in `kept`: an unfinished run may have left some that are not whole.
pub fn remove_others(
    node: &Node,
    metadata: &ArrayMetadata,
    kept: &ChunkSet,
    driver: &Driver,
) -> Result<(), StoreError> {
    for index in list(node, metadata, driver)?.present.without(kept).iter() {
        node.remove(&metadata.chunk_key_encoding.key(&position(index, metadata)))?;
    }
    Ok(())
}

/// Lists them with their bytes.
pub fn list_with_sizes(
    node: &Node,
    metadata: &ArrayMetadata,
    driver: &Driver,
) -> Result<Listing, StoreError> {
    walk(node, metadata, driver, true)
}

fn walk(
    node: &Node,
    metadata: &ArrayMetadata,
    driver: &Driver,
    with_sizes: bool,
) -> Result<Listing, StoreError> {
    let grid_shape = metadata.chunk_grid_shape();
    let waiting = AtomicUsize::new(0);
    let walker = Walker { node, metadata, grid_shape, with_sizes, waiting, found: Mutex::default() };
    let root = Task::Folder { folder: String::new(), depth: 0 };
    driver.visit_tree(root, |task, visit| walker.run(task, visit));
    let found = walker.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    match found.error {
        Some((_, error)) => Err(error),
        None => Ok(Listing {
            present: found.present.finish(),
            unknown_keys: found.unknown_keys.into_iter().collect(),
            dangling_links: found.dangling_links.into_iter().collect(),
            folders: found.misplaced.into_iter().collect(),
            present_bytes: found.bytes,
        }),
    }
}

/// A piece of work.
enum Task {
    /// A folder is looked through; it lies this deep in the node.
    Folder { folder: String, depth: usize },
    /// The sizes of some of its files, by name.
    Sizes { folder: String, names: Vec<String> },
}

/// An array whose folders are walked.
struct Walker<'a> {
    node: &'a Node,
    metadata: &'a ArrayMetadata,
    grid_shape: Vec<u64>,
    with_sizes: bool,
    /// Sizes that are to be asked for by whoever has time, in pieces of work.
    waiting: AtomicUsize,
    found: Mutex<Found>,
}

/// What was found in all folders, or in one.
#[derive(Default)]
struct Found {
    present: ChunkSetBuilder,
    unknown_keys: BTreeSet<String>,
    dangling_links: BTreeSet<String>,
    /// Folders where a chunk should be.
    misplaced: BTreeSet<String>,
    bytes: u64,
    /// The folder that could not be read, the first by name, and why.
    error: Option<(String, StoreError)>,
}

impl Walker<'_> {
    /// Does a piece of work; `visit` gets those that come of it.
    fn run(&self, task: Task, visit: &mut dyn FnMut(Task)) {
        let mut found = Found::default();
        let (folder, outcome) = match task {
            Task::Folder { folder, depth } => {
                let outcome = self.look_through(&folder, depth, &mut found, visit);
                (folder, outcome)
            }
            Task::Sizes { folder, names } => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                let outcome = self.node.total_size(&folder, &names).map(|bytes| found.add_bytes(bytes));
                (folder, outcome)
            }
        };
        found.error = outcome.err().map(|error| (folder, error));
        let present = std::mem::take(&mut found.present).finish();
        self.found.lock().unwrap_or_else(PoisonError::into_inner).add(found, present);
    }

    fn look_through(
        &self,
        folder: &str,
        depth: usize,
        found: &mut Found,
        visit: &mut dyn FnMut(Task),
    ) -> Result<(), StoreError> {
        let prefix = if folder.is_empty() { 0 } else { folder.len() + 1 };
        // A key has at most the prefix and an index for each dimension: folders deeper than that are not walked.
        let has_deeper = depth <= self.metadata.shape.len();
        let mut names = Vec::new();
        let mut outcome = Ok(());
        self.node.each_entry(folder, |key, kind| {
            let chunk = self.metadata.chunk_key_encoding.linear_index(key, &self.grid_shape);
            match (kind, chunk) {
                (EntryKind::Folder, Some(_)) => keep(&mut found.misplaced, key),
                (EntryKind::Folder, None) if has_deeper => {
                    visit(Task::Folder { folder: key.to_owned(), depth: depth + 1 });
                }
                (EntryKind::Unnamed, _) | (EntryKind::Folder, None) => {}
                (EntryKind::Link, Some(_)) if matches!(self.node.size(key), Ok(None)) => {
                    keep(&mut found.dangling_links, key);
                }
                (_, Some(index)) => {
                    found.present.insert(index);
                    if self.with_sizes {
                        names.push(key[prefix..].to_owned());
                    }
                    if names.len() >= SIZES_AT_ONCE && outcome.is_ok() {
                        outcome = self.sizes(folder, std::mem::take(&mut names), found, visit);
                    }
                }
                (_, None) if DOCUMENT_KEYS.contains(&key) => {}
                (_, None) => keep(&mut found.unknown_keys, key),
            }
        })?;
        outcome?;
        if names.is_empty() { Ok(()) } else { self.sizes(folder, names, found, visit) }
    }

    /// The sizes of some files: later, by whoever has time, unless too much waits already.
    fn sizes(
        &self,
        folder: &str,
        names: Vec<String>,
        found: &mut Found,
        visit: &mut dyn FnMut(Task),
    ) -> Result<(), StoreError> {
        if names.len() >= SIZES_AT_ONCE && self.waiting.load(Ordering::Relaxed) < MOST_WAITING {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            visit(Task::Sizes { folder: folder.to_owned(), names });
            return Ok(());
        }
        self.node.total_size(folder, &names).map(|bytes| found.add_bytes(bytes))
    }
}

impl Found {
    fn add_bytes(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Adds what was found in a folder.
    fn add(&mut self, other: Found, present: ChunkSet) {
        self.present.insert_all(present);
        self.add_bytes(other.bytes);
        other.unknown_keys.iter().for_each(|key| keep(&mut self.unknown_keys, key));
        other.dangling_links.iter().for_each(|key| keep(&mut self.dangling_links, key));
        other.misplaced.iter().for_each(|key| keep(&mut self.misplaced, key));
        if let Some((folder, _)) = &other.error
            && self.error.as_ref().is_none_or(|(first, _)| folder < first)
        {
            self.error = other.error;
        }
    }
}

/// Keeps a key, unless enough that come before it are kept.
fn keep(keys: &mut BTreeSet<String>, key: &str) {
    let is_full = keys.len() >= Listing::MOST_UNKNOWN;
    if is_full && keys.last().is_some_and(|last| last.as_str() <= key) {
        return;
    }
    keys.insert(key.to_owned());
    if keys.len() > Listing::MOST_UNKNOWN {
        keys.pop_last();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::array::ArrayDocument;
    use crate::metadata::json::Json;

    /// An array of 40 x 3 chunks of one element.
    fn metadata(separator: char) -> ArrayMetadata {
        let document = format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[40,3],"data_type":"uint8","chunk_grid":
            {{"name":"regular","configuration":{{"chunk_shape":[1,1]}}}},"chunk_key_encoding":{{"name":"default",
            "configuration":{{"separator":"{separator}"}}}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
        );
        ArrayDocument::read(&Json::parse_str(&document).unwrap()).metadata().unwrap()
    }

    #[test]
    fn listing_is_the_same_for_any_number_of_threads() {
        for separator in ['/', '.'] {
            let folder = tempfile::tempdir().unwrap();
            let (node, metadata) = (Node::new(folder.path()), metadata(separator));
            let chunks: ChunkSet = (0..120).filter(|index| index % 5 != 0).collect();
            for index in chunks.iter() {
                let key = metadata.chunk_key_encoding.key(&position(index, &metadata));
                node.write(&key, b"seven b").unwrap();
            }
            // None of these is a chunk; the last of them lies too deep to be looked at.
            for key in ["zarr.json", "notes", "c/40/0", "a/b/c/d/e"] {
                node.write(key, b"").unwrap();
            }
            let misplaced = format!("c{separator}1{separator}2");
            node.write(&format!("{misplaced}/x"), b"").unwrap();
            for threads in [1, 4] {
                let driver = Driver::new(threads).unwrap();
                let listing = list_with_sizes(&node, &metadata, &driver).unwrap();
                assert_eq!(listing.present, chunks);
                assert_eq!(listing.present_bytes, 7 * chunks.len());
                assert_eq!(listing.folders, [misplaced.as_str()]);
                assert_eq!(listing.unknown_keys, ["c/40/0", "notes"]);
                assert_eq!(list(&node, &metadata, &driver.alone()).unwrap().present, chunks);
            }
        }
    }

    #[test]
    fn keep_keeps_the_first_by_name_whatever_comes_first() {
        let numbers = |order: &mut dyn Iterator<Item = u32>| {
            let mut keys = BTreeSet::new();
            order.for_each(|number| keep(&mut keys, &format!("{number:03}")));
            keys
        };
        let ascending = numbers(&mut (0..300));
        assert_eq!(ascending.len(), Listing::MOST_UNKNOWN);
        assert_eq!(ascending.last().map(String::as_str), Some("099"));
        assert_eq!(numbers(&mut (0..300).rev()), ascending);
    }
}

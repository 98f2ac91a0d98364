//! Lists the keys of an array and compares them with its grid. Folders are processed while they are read, several at
//! once, and only needed names are kept. Also removes incomplete objects of an interrupted run: all objects that are not
//! recorded as finished.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{Driver, PassProgress};
use crate::array::listing::DOCUMENT_KEYS;
use crate::array::{ChunkSet, ChunkSetBuilder, FOLDER, Listing, Purpose, UnexpectedKey, UnexpectedKeyKind, position};
use crate::grid::{unravel, volume};
use crate::metadata::ArrayMetadata;
use crate::store::{Depth, Entry, EntryKind, Node, RemoteError, Result, StoreError, held};

/// Number of objects that a thread removes or measures at once.
const AT_ONCE: usize = 256;

/// Number of collected strays after which those beyond the limit are dropped.
const MOST_GATHERED: usize = 1 << 12;

/// Number of objects whose sizes a thread requests at once.
const SIZES_AT_ONCE: usize = 1 << 10;

/// Largest number of chunks whose keys are requested one by one.
const MOST_ASKED_FOR: u64 = 1 << 22;

/// Most pending tasks that request sizes.
const MOST_WAITING: usize = 64;

/// Limit for a single listing. A remote folder with at most this many possible keys is listed with everything below it.
/// That needs a few pages, while each of its folders would need a page of its own.
const LISTED_WHOLE: u64 = 10_000;

/// Concurrent listings of a remote store, whatever the number of threads, as they only wait.
const LISTINGS_AT_ONCE: usize = 32;

/// Lists the chunks of an array to read them. If the store cannot list, all chunks count as existing.
pub fn list(node: &Node, metadata: &ArrayMetadata, driver: &Driver) -> Result<Listing> {
    scan(node, metadata, Purpose::Reading { with_sizes: false }, driver)
}

/// Lists the chunks of an array with their sizes.
pub fn list_with_sizes(node: &Node, metadata: &ArrayMetadata, driver: &Driver) -> Result<Listing> {
    scan(node, metadata, Purpose::Reading { with_sizes: true }, driver)
}

/// Existing objects of an array, and their total size in bytes.
pub type Stored = (ChunkSet, u64);

/// Lists the objects of several arrays in folders below a node, with one listing. It needs one request per page. Sizes
/// come from the listing.
pub fn list_together(node: &Node, arrays: &[(&str, &ArrayMetadata)]) -> Result<Vec<Stored>> {
    let grids: Vec<_> = arrays.iter().map(|(_, metadata)| metadata.grid.counts()).collect();
    let numbers: HashMap<&str, usize> = arrays.iter().map(|(folder, _)| *folder).zip(0..).collect();
    let mut found: Vec<(ChunkSetBuilder, u64)> = arrays.iter().map(|_| Default::default()).collect();
    node.walk("", Depth::All, |Entry { name: key, bytes, .. }| {
        let folders = key.match_indices('/').map(|(slash, _)| (&key[..slash], &key[slash + 1..]));
        let array = |(folder, rest): (&str, _)| numbers.get(folder).map(|number| (*number, rest));
        if let Some((number, name)) = [("", key)].into_iter().chain(folders).find_map(array)
            && let Some(index) = arrays[number].1.chunk_key_encoding.linear_index(name, &grids[number])
        {
            found[number].0.insert(index);
            found[number].1 += bytes.unwrap_or(0);
        }
        ControlFlow::Continue(())
    })?;
    Ok(found.into_iter().map(|(present, bytes)| (present.finish(), bytes)).collect())
}

/// Lists all folders of an array, several at once.
pub fn scan(node: &Node, metadata: &ArrayMetadata, purpose: Purpose<'_>, driver: &Driver) -> Result<Listing> {
    scan_as(node, metadata, purpose, driver, node.capabilities().is_remote)
}

/// Like [`scan`]. `is_far` means that each listing is a request.
fn scan_as(node: &Node, array: &ArrayMetadata, purpose: Purpose<'_>, driver: &Driver, is_far: bool) -> Result<Listing> {
    let grid_shape = array.grid.counts();
    let waiting = AtomicUsize::new(0);
    let scanner = Scanner { node, metadata: array, grid_shape, purpose, is_far, waiting, found: Mutex::default() };
    if node.tells_keys() {
        let root = Task::Folder { folder: String::new(), depth: 0 };
        // One listing of everything needs no more threads.
        let waits = is_far && !scanner.is_listed_whole(0);
        let wide = if waits { Driver::new(LISTINGS_AT_ONCE).ok() } else { None };
        wide.as_ref().unwrap_or(driver).visit_tree(root, |task, visit| scanner.run(task, visit));
    }
    // A store that cannot list, or has just refused to, can still be read by keys.
    let is_presumed = !node.tells_keys() && !purpose.wants_sizes();
    if !node.tells_keys() {
        scanner.ask_for_each()?;
    }
    let mut found = scanner.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, error)) = found.error {
        return Err(error);
    }
    purpose.leave_out(&mut found.strays);
    found.strays.sort_unstable();
    found.strays.dedup();
    let Found { present, unreadable, strays, num_unknown, bytes: present_bytes, .. } = found;
    let (present, unreadable) = (present.finish(), unreadable.finish());
    Ok(Listing { present, is_presumed, unreadable, strays, num_unknown, present_bytes })
}

enum Task {
    /// Listing of a folder. `depth` is its depth below the node.
    Folder { folder: String, depth: usize },
    /// Request for the sizes of some objects of a folder.
    Sizes { folder: String, objects: Vec<Object> },
}

struct Object {
    index: u64,
    /// Name in its folder.
    name: String,
    is_link: bool,
}

/// Array whose folders are listed.
struct Scanner<'a> {
    node: &'a Node,
    metadata: &'a ArrayMetadata,
    grid_shape: Vec<u64>,
    purpose: Purpose<'a>,
    /// True if each listing is a request.
    is_far: bool,
    /// Number of pending tasks that request sizes.
    waiting: AtomicUsize,
    found: Mutex<Found>,
}

/// Results of all folders, or of one.
#[derive(Default)]
struct Found {
    present: ChunkSetBuilder,
    unreadable: ChunkSetBuilder,
    strays: Vec<UnexpectedKey>,
    num_unknown: u64,
    bytes: u64,
    /// First folder by name that could not be read, and the error.
    error: Option<(String, StoreError)>,
}

impl Scanner<'_> {
    fn run(&self, task: Task, visit: &mut dyn FnMut(Task)) {
        let mut found = Found::default();
        let (outcome, folder) = match task {
            Task::Folder { folder, depth } => {
                let mut outcome = self.look((&folder, depth), self.is_listed_whole(depth), &mut found, visit);
                if matches!(outcome, Ok(false)) {
                    found = Found::default();
                    outcome = self.look((&folder, depth), false, &mut found, visit);
                }
                (outcome.map(drop), folder)
            }
            Task::Sizes { folder, objects } => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                (self.measure(&folder, &objects, &mut found), folder)
            }
        };
        found.error = outcome.err().map(|error| (folder, error));
        let sets = [&mut found.present, &mut found.unreadable].map(|set| std::mem::take(set).finish());
        let mut all = held(&self.found);
        all.add(found, sets);
        if all.strays.len() > MOST_GATHERED {
            self.purpose.leave_out(&mut all.strays);
        }
    }

    /// Returns true if everything below a folder of this depth is listed at once.
    fn is_listed_whole(&self, depth: usize) -> bool {
        // The prefix of chunk keys is a folder above the first dimension.
        let given = depth.saturating_sub(1);
        self.is_far && volume(self.grid_shape.get(given..).unwrap_or_default()) <= LISTED_WHOLE
    }

    fn index(&self, key: &str) -> Option<u64> {
        self.metadata.chunk_key_encoding.linear_index(key, &self.grid_shape)
    }

    /// Lists a folder, and calls `visit` with its folders. With `is_whole`, lists everything below it at once. Returns
    /// false if that is far more than the grid's chunks.
    fn look(
        &self,
        (folder, depth): (&str, usize),
        is_whole: bool,
        found: &mut Found,
        visit: &mut dyn FnMut(Task),
    ) -> Result<bool> {
        let prefix = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let (mut objects, mut outcome, mut seen) = (Vec::new(), Ok(()), 0);
        self.node.walk(folder, if is_whole { Depth::All } else { Depth::Folder }, |entry| {
            let Entry { name: key, kind, .. } = entry;
            seen += 1;
            // The folder has many keys that are no chunks. Its caller lists it again, folder by folder.
            if is_whole && seen > 4 * LISTED_WHOLE {
                return ControlFlow::Break(());
            }
            if kind == EntryKind::Folder {
                if self.enters(key, depth, found) {
                    visit(Task::Folder { folder: key.to_owned(), depth: depth + 1 });
                }
                return ControlFlow::Continue(());
            }
            // A listing of everything has no folders, so those in each key are judged as if they were listed.
            let mut above = key[prefix..].match_indices('/').map(|(slash, _)| &key[..prefix + slash]).zip(depth..);
            if kind == EntryKind::Unnamed || above.all(|(above, depth)| self.enters(above, depth, found)) {
                objects.extend(self.object_at(entry, prefix, found));
            }
            // Results of a listing of everything may be dropped, so it starts no task before its end.
            if !is_whole && objects.len() >= SIZES_AT_ONCE && outcome.is_ok() {
                outcome = self.sizes(folder, std::mem::take(&mut objects), found, visit);
            }
            ControlFlow::Continue(())
        })?;
        if is_whole && seen > 4 * LISTED_WHOLE {
            return Ok(false);
        }
        outcome?;
        if !objects.is_empty() {
            self.sizes(folder, objects, found, visit)?;
        }
        Ok(true)
    }

    /// Returns true if a folder may contain chunks. `depth` is that of its parent. Other folders are recorded.
    fn enters(&self, folder: &str, depth: usize, found: &mut Found) -> bool {
        let rank = self.metadata.shape.len();
        let may_hold_keys = || match self.purpose {
            // A key has at most the prefix and one index per dimension, so no key is deeper.
            Purpose::Reading { .. } | Purpose::Counting => depth <= rank,
            Purpose::Validating(_) => self.metadata.chunk_key_encoding.is_folder_of_chunks(folder, rank),
        };
        match self.index(folder) {
            Some(index) => self.not_a_file(folder, FOLDER, Some(index), found),
            None if may_hold_keys() => return true,
            None => found.push(folder, UnexpectedKeyKind::Folder),
        }
        false
    }

    /// Records an entry that is not a folder, with its size if it is listed. Returns it if its size must be requested.
    /// Its name is the key from `prefix` on.
    fn object_at(&self, entry: Entry<'_>, prefix: usize, found: &mut Found) -> Option<Object> {
        let Entry { name: key, kind, bytes } = entry;
        let index = self.index(key);
        match (kind, index) {
            (EntryKind::Unnamed, _) => found.push(key, UnexpectedKeyKind::NotUtf8),
            (EntryKind::Other(other), _) if self.purpose.validates() => self.not_a_file(key, other, index, found),
            (_, None) => self.no_chunk(key, kind, found),
            (_, Some(index)) => {
                let is_link = kind == EntryKind::Link;
                if is_link && self.purpose.validates() {
                    found.push(key, UnexpectedKeyKind::Link);
                }
                match bytes {
                    _ if !is_link && !self.purpose.wants_sizes() => found.present.insert(index),
                    Some(bytes) if !is_link => self.measured(key, index, bytes, found),
                    _ => return Some(Object { index, name: key[prefix..].to_owned(), is_link }),
                }
            }
        }
        None
    }

    /// Records an entry that is not a chunk of the grid.
    fn no_chunk(&self, key: &str, kind: EntryKind, found: &mut Found) {
        let encoding = &self.metadata.chunk_key_encoding;
        if encoding.is_key_of_whole(key, self.metadata.shape.len()) {
            return; // A key outside the selected part of the array.
        }
        if kind == EntryKind::Link && self.purpose.validates() {
            found.push(key, UnexpectedKeyKind::Link);
        }
        match self.chunk(key) {
            Some(indices) => found.push(key, UnexpectedKeyKind::OutsideGrid(indices)),
            None if DOCUMENT_KEYS.contains(&key) => {}
            None => found.push(key, UnexpectedKeyKind::Unknown),
        }
    }

    /// Records an entry that is not a file, perhaps at the key of a chunk of the grid.
    fn not_a_file(&self, key: &str, what: &'static str, index: Option<u64>, found: &mut Found) {
        if let Some(index) = index.filter(|_| self.purpose.validates()) {
            found.present.insert(index);
            found.unreadable.insert(index);
        }
        found.push(key, UnexpectedKeyKind::NotAFile(self.chunk(key), what));
    }

    /// Returns the chunk of a key, in the grid or outside.
    fn chunk(&self, key: &str) -> Option<Vec<u64>> {
        self.metadata.chunk_key_encoding.chunk_indices(key, self.metadata.shape.len())
    }

    /// Requests the sizes of some objects. They become a task for any thread, unless too many tasks are pending.
    fn sizes(&self, folder: &str, objects: Vec<Object>, found: &mut Found, visit: &mut dyn FnMut(Task)) -> Result<()> {
        // The limit only saves memory, so it does not matter that two threads may exceed it together.
        if objects.len() >= SIZES_AT_ONCE && self.waiting.load(Ordering::Relaxed) < MOST_WAITING {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            visit(Task::Sizes { folder: folder.to_owned(), objects });
            return Ok(());
        }
        self.measure(folder, &objects, found)
    }

    /// Requests each key of the grid if the store cannot list. Without sizes, all chunks count as existing. Other keys
    /// stay unknown.
    fn ask_for_each(&self) -> Result<()> {
        let num_chunks = self.metadata.num_chunks();
        if num_chunks > MOST_ASKED_FOR {
            let why = format!(
                "the store cannot list its keys, and the grid has {num_chunks} chunks: at most {MOST_ASKED_FOR} can be \
                requested one by one"
            );
            let (action, object) = ("list", self.node.name());
            let help = "read the array from a store that can list its keys, or copy it first".to_owned();
            return Err(StoreError::remote(RemoteError { action, object, why, help, ..RemoteError::default() }));
        }
        let mut found = Found::default();
        if self.purpose.wants_sizes() {
            let object = |index| {
                let name = self.metadata.chunk_key_encoding.key(&position(index, self.metadata));
                Object { index, name, is_link: false }
            };
            for first in (0..num_chunks).step_by(SIZES_AT_ONCE) {
                let objects: Vec<Object> = (first..num_chunks).take(SIZES_AT_ONCE).map(object).collect();
                self.measure("", &objects, &mut found)?;
            }
        } else {
            found.present.insert_run(0..num_chunks);
        }
        // This replaces what a listing has found before the store refused it.
        *held(&self.found) = found;
        Ok(())
    }

    /// Requests the sizes of some objects of a folder, and checks them.
    fn measure(&self, folder: &str, objects: &[Object], found: &mut Found) -> Result<()> {
        let names: Vec<&str> = objects.iter().map(|object| object.name.as_str()).collect();
        let sizes = self.node.sizes(folder, &names)?;
        for (Object { index, name, is_link }, size) in objects.iter().zip(sizes) {
            let key = || if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            match size {
                Ok(Some(size)) => self.measured(&key(), *index, size, found),
                // A dangling link counts as absent, as in other readers.
                Ok(None) if *is_link && !self.purpose.validates() => found.push(&key(), UnexpectedKeyKind::Link),
                Ok(None) => {}
                Err(error) if matches!(self.purpose, Purpose::Reading { .. }) => return Err(error),
                // A chunk whose size the store does not give.
                Err(error) => {
                    found.present.insert(*index);
                    found.unreadable.insert(*index);
                    let (chunk, help) = (unravel(*index, &self.grid_shape), error.next_step().map(str::to_owned));
                    found.push(&key(), UnexpectedKeyKind::Unread(chunk, error.to_string(), help));
                }
            }
        }
        Ok(())
    }

    /// Records an existing object, and checks its size.
    fn measured(&self, key: &str, index: u64, size: u64, found: &mut Found) {
        found.present.insert(index);
        if self.purpose.wants_sizes() {
            found.bytes = found.bytes.saturating_add(size);
        }
        let Purpose::Validating(rules) = self.purpose else { return };
        let chunk = unravel(index, &self.grid_shape);
        if !rules(&chunk).contains(&size) {
            found.unreadable.insert(index);
            found.push(key, UnexpectedKeyKind::Size(chunk, size));
        }
    }
}

impl Found {
    /// Records a stray key. Keys in the same skipped folder follow each other, so the folder is recorded once.
    fn push(&mut self, key: &str, kind: UnexpectedKeyKind) {
        if self.strays.last().is_none_or(|last| last.key != key || last.kind != kind) {
            self.num_unknown += u64::from(kind.is_unknown());
            self.strays.push(UnexpectedKey { key: key.to_owned(), kind });
        }
    }

    fn add(&mut self, other: Found, [present, unreadable]: [ChunkSet; 2]) {
        self.present.insert_all(&present);
        self.unreadable.insert_all(&unreadable);
        self.strays.extend(other.strays);
        self.num_unknown += other.num_unknown;
        self.bytes = self.bytes.saturating_add(other.bytes);
        // The first folder by name, so that the message does not depend on the threads.
        if let Some((folder, _)) = &other.error
            && self.error.as_ref().is_none_or(|(first, _)| folder < first)
        {
            self.error = other.error;
        }
    }
}

/// Removes the unfinished objects of an array. If some objects are assigned to this run, only these are checked. The
/// others belong to other runs, and are too many to list. Finished objects are durable after a sync of the node.
pub fn remove_unfinished(node: &Node, array: &ArrayMetadata, part: &PassProgress<'_>, driver: &Driver) -> Result<()> {
    let unfinished = match &part.assigned {
        Some(assigned) => assigned.without(&part.done),
        // Remote objects are never incomplete. Those without a record are written again, without removal.
        None if node.capabilities().is_remote => return Ok(()),
        // Chunks are written in place, so an object without a line in the journal may be incomplete.
        None => list_with_sizes(node, array, driver)?.present.without(&part.done),
    };
    remove_objects(node, array, &unfinished, driver)
}

/// Removes some objects of an array. Missing ones are no error.
pub fn remove_objects(node: &Node, metadata: &ArrayMetadata, objects: &ChunkSet, driver: &Driver) -> Result<()> {
    each(objects, driver, |index| node.remove(&key(index, metadata)).map(|_| 0)).map(drop)
}

/// Returns the total size of some objects of an array in bytes. Requests only these objects.
pub fn bytes_of(node: &Node, metadata: &ArrayMetadata, objects: &ChunkSet, driver: &Driver) -> Result<u64> {
    each(objects, driver, |index| Ok(node.size(&key(index, metadata))?.unwrap_or(0)))
}

fn key(index: u64, metadata: &ArrayMetadata) -> String {
    metadata.chunk_key_encoding.key(&position(index, metadata))
}

/// Returns the sum of the results of `work`, in parallel.
fn each(objects: &ChunkSet, driver: &Driver, work: impl Fn(u64) -> Result<u64> + Send + Sync) -> Result<u64> {
    let add = |sum: u64, more: Result<u64>| more.map(|more| sum.saturating_add(more));
    let pieces: Vec<u64> = (0..objects.len()).step_by(AT_ONCE).collect();
    let sums = driver
        .map_plain(&pieces, |first| (*first..).take(AT_ONCE).map_while(|n| objects.nth(n)).map(&work).try_fold(0, add));
    sums.into_iter().try_fold(0, add)
}

//! The keys of an array held against its grid: which chunks are there, what size they have, and what else lies there.
//!
//! Unlike [`super::listing::list`] every key counts: nothing is left out, whatever it is.

use std::sync::{Mutex, PoisonError};

use super::driver::Driver;
use super::listing::DOCUMENT_KEYS;
use crate::array::chunk_set::{ChunkSet, ChunkSetBuilder};
use crate::codec::region::ravel;
use crate::metadata::array::ArrayMetadata;
use crate::store::{EntryKind, Node, StoreError};

/// What the sizes of stored objects must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeRule {
    /// Where every object has the same size: that.
    pub exact: Option<u64>,
    /// The least bytes that an object can have.
    pub least: u64,
    /// The most bytes that an object can have.
    pub most: u64,
}

/// Tells the sizes that an array's objects may have.
pub trait Sizes: std::fmt::Debug + Sync {
    /// What the size of the object of a chunk must be.
    fn of(&self, chunk: &[u64]) -> SizeRule;
}

/// A key that is worth a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stray {
    /// The key, relative to the array.
    pub key: String,
    /// What about it.
    pub kind: StrayKind,
}

/// What is the matter with a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum StrayKind {
    /// It belongs to no chunk.
    Unknown,
    /// A folder in which no chunk can lie.
    Folder,
    /// It would be a chunk of a larger array.
    OutsideGrid(Vec<u64>),
    /// What stands there is no regular file: "a FIFO".
    NotAFile(Option<Vec<u64>>, &'static str),
    /// A chunk's object of this many bytes, which it cannot have.
    Size(Vec<u64>, u64),
    /// A symbolic link.
    Link,
    /// A name that is no UTF-8.
    NotUtf8,
}

/// What a scan gives.
#[derive(Debug, Clone, Default)]
pub struct KeyScan {
    /// Chunks of the grid that are stored.
    pub present: ChunkSet,
    /// Those of them whose size is wrong, or that are no file: no use reading them.
    pub unreadable: ChunkSet,
    /// In the order of their keys.
    pub strays: Vec<Stray>,
    /// Bytes of all chunks.
    pub bytes: u64,
}

impl FolderScan {
    /// Adds what another folder holds.
    fn add(&mut self, other: FolderScan) {
        self.present.insert_all(other.present.finish());
        self.unreadable.insert_all(other.unreadable.finish());
        self.strays.extend(other.strays);
        self.bytes = self.bytes.saturating_add(other.bytes);
        if let Some((folder, _)) = &other.error
            && self.error.as_ref().is_none_or(|(first, _)| folder < first)
        {
            self.error = other.error;
        }
    }
}

/// An array whose keys are looked at.
#[derive(Debug, Clone, Copy)]
pub struct KeyScanner<'a> {
    /// Where it lies.
    pub node: &'a Node,
    /// Its metadata.
    pub metadata: &'a ArrayMetadata,
    /// The sizes that its objects may have.
    pub sizes: &'a dyn Sizes,
}

/// What one folder holds, or all of them.
#[derive(Default)]
struct FolderScan {
    present: ChunkSetBuilder,
    unreadable: ChunkSetBuilder,
    strays: Vec<Stray>,
    bytes: u64,
    /// The folder that could not be looked at, the first by name, and why.
    error: Option<(String, StoreError)>,
}

impl KeyScanner<'_> {
    /// Looks at every folder in which chunks can lie, many at a time.
    pub fn run(&self, driver: &Driver) -> Result<KeyScan, StoreError> {
        let all = Mutex::new(FolderScan::default());
        driver.visit_tree(String::new(), |folder, visit| {
            let mut scan = FolderScan::default();
            if let Err(error) = self.folder(&folder, &mut scan, visit) {
                scan.error = Some((folder, error));
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).add(scan);
        });
        let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, error)) = all.error {
            return Err(error);
        }
        all.strays.sort_unstable();
        Ok(KeyScan {
            present: all.present.finish(),
            unreadable: all.unreadable.finish(),
            strays: all.strays,
            bytes: all.bytes,
        })
    }

    /// Looks at one folder; `visit` gets those in it in which chunks can lie.
    fn folder(
        &self,
        folder: &str,
        scan: &mut FolderScan,
        visit: &mut dyn FnMut(String),
    ) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        self.node.each_entry(folder, |key, kind| {
            let mut stray = |kind| scan.strays.push(Stray { key: key.to_owned(), kind });
            match kind {
                EntryKind::File | EntryKind::Link => {
                    if kind == EntryKind::Link {
                        stray(StrayKind::Link);
                    }
                    if outcome.is_ok() {
                        outcome = self.object(key, scan);
                    }
                }
                EntryKind::Other(found) => self.not_a_file(key, found, scan),
                EntryKind::Unnamed => stray(StrayKind::NotUtf8),
                EntryKind::Folder => {
                    let encoding = &self.metadata.chunk_key_encoding;
                    if self.chunk(key).is_some_and(|indices| self.index(&indices).is_some()) {
                        self.not_a_file(key, "a folder", scan);
                    } else if encoding.is_folder_of_chunks(key, self.metadata.shape.len()) {
                        visit(key.to_owned());
                    } else {
                        stray(StrayKind::Folder);
                    }
                }
            }
        })?;
        outcome
    }

    /// The chunk of a key, in the grid or not.
    fn chunk(&self, key: &str) -> Option<Vec<u64>> {
        self.metadata.chunk_key_encoding.chunk_indices(key, self.metadata.shape.len())
    }

    /// The linear index of a chunk of the grid.
    fn index(&self, indices: &[u64]) -> Option<u64> {
        let grid_shape = self.metadata.chunk_grid_shape();
        let inside = indices.iter().zip(&grid_shape).all(|(index, length)| index < length);
        inside.then(|| ravel(indices, &grid_shape))
    }

    fn object(&self, key: &str, scan: &mut FolderScan) -> Result<(), StoreError> {
        let Some(indices) = self.chunk(key) else {
            if !DOCUMENT_KEYS.contains(&key) {
                scan.strays.push(Stray { key: key.to_owned(), kind: StrayKind::Unknown });
            }
            return Ok(());
        };
        let Some(index) = self.index(&indices) else {
            scan.strays.push(Stray { key: key.to_owned(), kind: StrayKind::OutsideGrid(indices) });
            return Ok(());
        };
        // A link that leads nowhere is as good as absent: that is what readers make of it.
        let Some(size) = self.node.size(key)? else { return Ok(()) };
        scan.present.insert(index);
        scan.bytes = scan.bytes.saturating_add(size);
        let SizeRule { exact, least, most } = self.sizes.of(&indices);
        if exact.is_some_and(|exact| exact != size) || size < least || size > most {
            scan.unreadable.insert(index);
            scan.strays.push(Stray { key: key.to_owned(), kind: StrayKind::Size(indices, size) });
        }
        Ok(())
    }

    fn not_a_file(&self, key: &str, found: &'static str, scan: &mut FolderScan) {
        let indices = self.chunk(key);
        if let Some(index) = indices.as_deref().and_then(|indices| self.index(indices)) {
            scan.present.insert(index);
            scan.unreadable.insert(index);
        }
        scan.strays.push(Stray { key: key.to_owned(), kind: StrayKind::NotAFile(indices, found) });
    }
}

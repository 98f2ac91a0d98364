//! The keys of an array held against its grid: which chunks are there, what size they have, and what else lies there.
//!
//! Unlike [`super::listing::list`] every key counts: nothing is left out, whatever it is.

use super::chunk_set::ChunkSet;
use super::driver::Driver;
use super::listing::DOCUMENT_KEYS;
use crate::codec::region::ravel;
use crate::metadata::array::ArrayMetadata;
use crate::store::{LocalNode, StoreError};

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

/// An array whose keys are looked at.
#[derive(Debug, Clone, Copy)]
pub struct KeyScanner<'a> {
    /// Where it lies.
    pub node: &'a LocalNode,
    /// Its metadata.
    pub metadata: &'a ArrayMetadata,
    /// The sizes that its objects may have.
    pub sizes: SizeRule,
}

/// What one folder holds.
#[derive(Default)]
struct FolderScan {
    present: Vec<u64>,
    unreadable: Vec<u64>,
    strays: Vec<Stray>,
    bytes: u64,
    folders: Vec<String>,
}

impl KeyScanner<'_> {
    /// Looks at every folder in which chunks can lie, those of one depth in parallel.
    pub fn run(&self, driver: &Driver) -> Result<KeyScan, StoreError> {
        let mut scan = KeyScan::default();
        let (mut present, mut unreadable) = (Vec::new(), Vec::new());
        let mut level = vec![String::new()];
        while !level.is_empty() {
            let folders = driver.map_plain(&level, |folder| self.folder(folder));
            level.clear();
            for folder in folders {
                let folder = folder?;
                present.extend(folder.present);
                unreadable.extend(folder.unreadable);
                scan.strays.extend(folder.strays);
                scan.bytes = scan.bytes.saturating_add(folder.bytes);
                level.extend(folder.folders);
            }
        }
        scan.present = ChunkSet::from_indices(present);
        scan.unreadable = ChunkSet::from_indices(unreadable);
        scan.strays.sort_unstable();
        Ok(scan)
    }

    fn folder(&self, folder: &str) -> Result<FolderScan, StoreError> {
        let listing = self.node.list(folder)?;
        let mut scan = FolderScan::default();
        for key in listing.files {
            self.object(key, &mut scan)?;
        }
        for key in listing.links {
            scan.strays.push(Stray { key: key.clone(), kind: StrayKind::Link });
            self.object(key, &mut scan)?;
        }
        for (key, found) in listing.others {
            self.not_a_file(key, found, &mut scan);
        }
        for key in listing.unnamed {
            scan.strays.push(Stray { key, kind: StrayKind::NotUtf8 });
        }
        for key in listing.folders {
            if self.chunk(&key).is_some_and(|indices| self.index(&indices).is_some()) {
                self.not_a_file(key, "a folder", &mut scan);
            } else if self.metadata.chunk_key_encoding.is_folder_of_chunks(&key, self.metadata.shape.len()) {
                scan.folders.push(key);
            } else {
                scan.strays.push(Stray { key, kind: StrayKind::Folder });
            }
        }
        Ok(scan)
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

    fn object(&self, key: String, scan: &mut FolderScan) -> Result<(), StoreError> {
        let Some(indices) = self.chunk(&key) else {
            if !DOCUMENT_KEYS.contains(&key.as_str()) {
                scan.strays.push(Stray { key, kind: StrayKind::Unknown });
            }
            return Ok(());
        };
        let Some(index) = self.index(&indices) else {
            scan.strays.push(Stray { key, kind: StrayKind::OutsideGrid(indices) });
            return Ok(());
        };
        // A link that leads nowhere is as good as absent: that is what readers make of it.
        let Some(size) = self.node.size(&key)? else { return Ok(()) };
        scan.present.push(index);
        scan.bytes = scan.bytes.saturating_add(size);
        let SizeRule { exact, least, most } = self.sizes;
        if exact.is_some_and(|exact| exact != size) || size < least || size > most {
            scan.unreadable.push(index);
            scan.strays.push(Stray { key, kind: StrayKind::Size(indices, size) });
        }
        Ok(())
    }

    fn not_a_file(&self, key: String, found: &'static str, scan: &mut FolderScan) {
        let indices = self.chunk(&key);
        if let Some(index) = indices.as_deref().and_then(|indices| self.index(indices)) {
            scan.present.push(index);
            scan.unreadable.push(index);
        }
        scan.strays.push(Stray { key, kind: StrayKind::NotAFile(indices, found) });
    }
}

//! Zip files as stores: read where they lie, by ranges, whatever store that is.

mod archive;
mod directory;
mod fault;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use archive::{Archive, MemberReader};
use directory::{Directory, Member};

use super::entry::EntryKind;
use super::node::object_name;
use super::{
    Abilities, Depth, Entry, Found, Key, Node, ObjectReader, ObjectWriter, Part, Receipt, Store, StoreError,
};

/// A zip file, which is an object of another store. Nothing is read before it is asked for.
///
/// A file that is no zip has no objects; its own bytes are what stands at the root, so that it can be named for what it
/// is. Where one folder holds all, keys are relative to that.
#[derive(Debug)]
pub struct ZipStore {
    /// The file.
    outer: Node,
    name: String,
    opened: OnceLock<Option<Arc<Archive>>>,
    opening: Mutex<()>,
}

impl ZipStore {
    /// The store in the file at a node's own place.
    pub fn new(file: Node) -> Self {
        ZipStore { name: file.name(), outer: file, opened: OnceLock::new(), opening: Mutex::default() }
    }

    /// The file, once it is there; `Some(None)` where it is no zip.
    fn opened(&self) -> Result<Option<&Option<Arc<Archive>>>, StoreError> {
        if let Some(opened) = self.opened.get() {
            return Ok(Some(opened));
        }
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = self.opened.get() {
            return Ok(Some(opened));
        }
        let Some(object) = self.outer.store.open(&self.outer.prefix)? else { return Ok(None) };
        let directory = Directory::read(&object).map_err(|fault| fault.in_zip(&self.name))?;
        let name = self.name.clone();
        let archive = directory.map(|directory| Arc::new(Archive { name, object, directory }));
        Ok(Some(self.opened.get_or_init(|| archive)))
    }

    fn archive(&self) -> Result<Option<&Arc<Archive>>, StoreError> {
        Ok(self.opened()?.and_then(Option::as_ref))
    }

    /// The member of a key; `None` where there is none.
    fn member(&self, key: &Key<'_>) -> Result<Option<(&Arc<Archive>, Member)>, StoreError> {
        let Some(archive) = self.archive()? else { return Ok(None) };
        let key = archive.directory.resolve(key);
        let Some(member) = archive.directory.find(key.as_str()) else {
            return match archive.directory.kind(&key) {
                Some(_) => {
                    let object = object_name(&self.name, &key);
                    Err(StoreError::NotAFile { object, found: "a folder" })
                }
                None => Ok(None),
            };
        };
        Ok(Some((archive, *member)))
    }

    fn refused<T>(&self, action: &'static str, key: &Key<'_>) -> Result<T, StoreError> {
        Err(StoreError::unsupported(action, object_name(&self.name, key)))
    }
}

impl Store for ZipStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            lists: true,
            reads_ranges: true,
            renames: false,
            locks: false,
            copies_itself: false,
            creates_exclusively: false,
        }
    }

    fn read(
        &self,
        key: &Key<'_>,
        part: Part,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<Option<Found>, StoreError> {
        let Some((archive, member)) = self.member(key)? else {
            into.clear();
            return Ok(None);
        };
        archive.check(&member)?;
        let object_bytes = member.bytes;
        let (offset, length) = match part {
            Part::Whole => (0, object_bytes),
            Part::Range { offset, length } => (offset, length),
            Part::Last(length) => (object_bytes.saturating_sub(length), length.min(object_bytes)),
        };
        if length > most {
            let object = object_name(&self.name, key);
            return Err(StoreError::TooLarge { object, found: length, bound: most });
        }
        if (offset, length) == (0, object_bytes) {
            archive.read_whole(&member, into)?;
        } else {
            ObjectReader::new(MemberReader::new(archive.clone(), member)).read_at(offset, length, into)?;
        }
        Ok(Some(Found { object_bytes }))
    }

    fn open(&self, key: &Key<'_>) -> Result<Option<ObjectReader>, StoreError> {
        if key.is_root() && matches!(self.opened()?, Some(None)) {
            return self.outer.store.open(&self.outer.prefix);
        }
        let Some((archive, member)) = self.member(key)? else { return Ok(None) };
        archive.check(&member)?;
        Ok(Some(ObjectReader::new(MemberReader::new(archive.clone(), member))))
    }

    /// Also of a member that cannot be read.
    fn size(&self, key: &Key<'_>) -> Result<Option<u64>, StoreError> {
        Ok(self.member(key)?.map(|(_, member)| member.bytes))
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>, StoreError> {
        Ok(match self.opened()? {
            Some(Some(archive)) => archive.directory.kind(&archive.directory.resolve(key)),
            Some(None) if key.is_root() => Some(EntryKind::File),
            _ => None,
        })
    }

    fn list(
        &self,
        below: &Key<'_>,
        depth: Depth,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        if let Some(archive) = self.archive()? {
            archive.directory.list(&archive.directory.resolve(below), depth, each);
        }
        Ok(())
    }

    fn write(&self, key: &Key<'_>, _bytes: &[u8]) -> Result<Receipt, StoreError> {
        self.refused("write", key)
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter, StoreError> {
        self.refused("create", key)
    }

    fn replace(&self, key: &Key<'_>, _bytes: &[u8]) -> Result<Receipt, StoreError> {
        self.refused("write", key)
    }

    fn publish(&self, key: &Key<'_>, _bytes: &[u8]) -> Result<(), StoreError> {
        self.refused("write", key)
    }

    /// What is not there need not be removed.
    fn remove(&self, key: &Key<'_>) -> Result<bool, StoreError> {
        if self.kind(key)?.is_some() { self.refused("remove", key) } else { Ok(false) }
    }

    fn settle(&self, _below: &Key<'_>, _receipts: Vec<Receipt>) -> Result<(), StoreError> {
        Ok(())
    }

    fn create_folder(&self, key: &Key<'_>) -> Result<(), StoreError> {
        self.refused("create", key)
    }

    fn remove_folder(&self, key: &Key<'_>) -> Result<(), StoreError> {
        self.remove(key).map(drop)
    }

    fn above(&self) -> Option<Node> {
        self.outer.parent()
    }

    fn container(&self) -> Option<&Node> {
        Some(&self.outer)
    }

    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        let mut identity = self.outer.identity();
        identity.extend_from_slice(b"|zip:");
        identity.extend_from_slice(below.as_str().as_bytes());
        identity
    }

    fn open_log(&self, _key: &Key<'_>) -> Result<Option<Box<dyn super::Log>>, StoreError> {
        Ok(None)
    }
}

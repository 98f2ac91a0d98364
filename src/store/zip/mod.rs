//! Zip files as stores: read where they lie, by ranges, whatever store that is.

mod archive;
mod directory;
mod format;
mod staged;
#[cfg(test)]
mod tests;
mod writer;

use std::sync::Arc;

use once_cell::sync::OnceCell;

use archive::{Archive, MemberReader};
use directory::{Directory, Member};

use super::entry::EntryKind;
use super::node::object_name;
use super::opened_once::get_or_open;
use super::sorted_keys::SortedKeys;
use super::{
    Abilities, Depth, Destination, Key, Node, ObjectReader, Part, PrefetchLimit, Result, Store, StoreError, Visit,
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
    opened: OnceCell<Option<Arc<Archive>>>,
}

/// The node that is what the zip file at a node's own place holds.
pub(super) fn node_of_file(file: Node) -> Node {
    Node::of(Arc::new(ZipStore::new(file)))
}

impl ZipStore {
    /// The store in the file at a node's own place.
    pub fn new(file: Node) -> Self {
        ZipStore { name: file.name(), outer: file, opened: OnceCell::new() }
    }

    /// The file, once it is there; `Some(None)` where it is no zip.
    fn opened(&self) -> Result<Option<&Option<Arc<Archive>>>> {
        get_or_open(&self.opened, || {
            let Some(object) = self.outer.store.open(&self.outer.prefix, u64::MAX)? else { return Ok(None) };
            let directory = Directory::read(&object, &self.name)?;
            let name = self.name.clone();
            let hinted = self.outer.prefetch_limit().map(|_| self.outer.clone());
            Ok(Some(directory.map(|directory| Arc::new(Archive { name, object, directory, hinted }))))
        })
    }

    fn archive(&self) -> Result<Option<&Arc<Archive>>> {
        Ok(self.opened()?.and_then(Option::as_ref))
    }

    fn member(&self, key: &Key<'_>) -> Result<Option<(&Arc<Archive>, Member)>> {
        let Some(archive) = self.archive()? else { return Ok(None) };
        Ok(archive.member(key)?.map(|member| (archive, member)))
    }
}

impl Store for ZipStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn abilities(&self) -> Abilities {
        Abilities { lists: true, is_remote: self.outer.abilities().is_remote }
    }

    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>> {
        if key.is_root() && matches!(self.opened()?, Some(None)) {
            return self.outer.store.open(&self.outer.prefix, most);
        }
        let Some((archive, member)) = self.member(key)? else { return Ok(None) };
        archive.check(&member)?;
        Ok(Some(Box::new(MemberReader::new(archive.clone(), member))))
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>> {
        // Also of one that cannot be read.
        Ok(self.member(key)?.map(|(_, member)| member.bytes))
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        match self.opened()? {
            Some(Some(_)) if key.is_root() => Ok(Some(EntryKind::Folder)),
            Some(Some(archive)) => Ok(archive.directory.kind(&archive.directory.resolve(key))),
            Some(None) if key.is_root() => Ok(Some(EntryKind::File)),
            // A link that leads nowhere.
            None if key.is_root() => self.outer.kind(),
            _ => Ok(None),
        }
    }

    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()> {
        if let Some(archive) = self.archive()? {
            archive.directory.list(&archive.directory.resolve(below), depth, each);
        }
        Ok(())
    }

    fn prefetch_limit(&self) -> Option<PrefetchLimit> {
        self.outer.prefetch_limit()
    }

    /// Whole members: of a part it is not known before where it begins.
    fn prefetch(&self, soon: &[(Key<'_>, Part)]) {
        let Some(Some(archive)) = self.opened.get() else { return };
        let parts = soon.iter().filter(|(_, part)| *part == Part::Whole);
        let ranges = parts.filter_map(|(key, _)| Some((self.outer.prefix.clone(), archive.range_of(key)?)));
        self.outer.store.prefetch(&ranges.collect::<Vec<_>>());
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

    /// The file is written anew; nothing is put into one that is there.
    fn destination(&self, below: &Key<'_>, _replaces: bool) -> Result<Destination> {
        let file = self.outer.is_local().then(|| self.outer.local_path()).flatten();
        match file.filter(|_| below.is_root()) {
            Some(file) => staged::destination(&file),
            None => Err(StoreError::unsupported("write", object_name(&self.name, below))),
        }
    }
}

//! Zip files as stores. They are read by ranges from any other store.

mod archive;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use once_cell::sync::OnceCell;

use super::{
    Capabilities, Depth, Destination, Entry, EntryKind, FreeSpace, Key, Modes, Node, ObjectReader, ObjectWriter, Part,
    PartReader, PrefetchLimit, Put, Result, SortedKeys, Store, StoreError, Tree, Visit, get_or_open, local,
    remove_from,
};
use archive::{Archive, Member, MemberReader};
use writer::{MemberEntry, MemberWriter, ZipWriter};

/// Zip file in another store. It is read at the first access.
///
/// A file that is not a zip file has no objects. Its own bytes are at the root, so that its format can be reported. If
/// all members have a common top folder, keys are relative to it.
pub struct ZipStore {
    outer: Node,
    name: String,
    opened: OnceCell<Option<Arc<Archive>>>,
}

impl ZipStore {
    /// Creates the store of the zip file `file`.
    pub fn new(file: Node) -> Self {
        ZipStore { name: file.name(), outer: file, opened: OnceCell::new() }
    }

    /// Returns the open file. `None` means that it is missing, and `Some(None)` that it is not a zip file.
    fn opened(&self) -> Result<Option<&Option<Arc<Archive>>>> {
        get_or_open(&self.opened, || {
            self.outer.keep_version();
            let Some(object) = self.outer.store.open(&self.outer.prefix, u64::MAX)? else { return Ok(None) };
            Ok(Some(Archive::open(&self.outer, object)?.map(Arc::new)))
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

    fn capabilities(&self) -> Capabilities {
        Capabilities { lists: true, is_remote: self.outer.capabilities().is_remote }
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
        // The size of an unreadable member is known, too.
        Ok(self.member(key)?.map(|(_, member)| member.bytes))
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        match self.opened()? {
            Some(Some(_)) if key.is_root() => Ok(Some(EntryKind::Folder)),
            Some(Some(archive)) => Ok(archive.directory.kind(&archive.directory.resolve(key))),
            Some(None) if key.is_root() => Ok(Some(EntryKind::File)),
            // It may be a dangling link.
            None if key.is_root() => self.outer.kind(),
            _ => Ok(None),
        }
    }

    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()> {
        if let Some(archive) = self.archive()? {
            let _ = archive.directory.entries(&archive.directory.resolve(below), depth).try_for_each(each);
        }
        Ok(())
    }

    fn prefetch_limit(&self) -> Option<PrefetchLimit> {
        self.outer.prefetch_limit()
    }

    /// Announces whole members only. The offset of a part is not known in advance.
    fn prefetch(&self, soon: &[(Key<'_>, Part)]) {
        // A hint must return at once, so it never opens the file.
        let Some(Some(archive)) = self.opened.get() else { return };
        let parts = soon.iter().filter(|(_, part)| *part == Part::Whole);
        let ranges = parts.filter_map(|(key, _)| Some((self.outer.prefix.clone(), archive.range_of(key)?)));
        self.outer.store.prefetch(&ranges.collect::<Vec<_>>());
    }

    fn container(&self) -> Option<&Node> {
        Some(&self.outer)
    }

    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        [&self.outer.identity()[..], b"|zip:", below.as_str().as_bytes()].concat()
    }

    /// Returns a destination for a new file. Existing files are never extended.
    fn destination(&self, below: &Key<'_>, _replaces: bool) -> Result<Destination> {
        // Members are written at their offsets, which only a local file allows.
        let file = self.outer.local_path().filter(|_| self.outer.is_local() && below.is_root());
        let Some(file) = file else { return Err(StoreError::unsupported("write", self.shown(below))) };
        let target = local::resolved(&file)?;
        let (run, data) = local::beside(&target);
        let file = Node::new(data.as_path());
        let data = Node::of(Arc::new(StagedZip { file, writer: Arc::new(ZipWriter::new(data)) }));
        Ok(Destination { target: Node::of(Arc::new(ZipStore::new(Node::new(target)))), data, beside: Some(run) })
    }
}

/// Zip file that is being written.
struct StagedZip {
    /// The file as an object.
    file: Node,
    writer: Arc<ZipWriter>,
}

impl StagedZip {
    fn member(&self, key: &Key<'_>) -> Option<MemberEntry> {
        self.writer.state().members.get(key.as_str()).copied()
    }
}

impl Store for StagedZip {
    fn name(&self) -> &str {
        self.file.store.name()
    }

    fn open(&self, key: &Key<'_>, _most: u64) -> Result<Option<ObjectReader>> {
        let Some(member) = self.member(key) else { return Ok(None) };
        let Some(reader) = self.file.store.open(&self.file.prefix, u64::MAX)? else { return Ok(None) };
        Ok(Some(Box::new(PartReader { reader, offset: member.start, length: member.bytes })))
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>> {
        Ok(self.member(key).map(|member| member.bytes))
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        Ok(self.writer.state().members.kind(key))
    }

    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()> {
        let entries = self.writer.state().members.copied_entries(below, depth);
        let _ = entries.iter().try_for_each(|(name, kind)| each(Entry::new(name, *kind)));
        Ok(())
    }

    /// Writes a member. A durable one is the last, and completes the file.
    fn put(&self, key: &Key<'_>, bytes: &[u8], how: Put) -> Result<bool> {
        // The root document is written last, and is the only durable one (`write_documents` of transcode).
        self.writer.put(key, bytes)?;
        if how == Put::Durable {
            self.writer.finish()?;
        }
        Ok(true)
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter> {
        Ok(Box::new(MemberWriter::new(self.writer.clone(), key)))
    }

    fn copy_from(&self, source: &dyn Store, (from, to): (&Key<'_>, &Key<'_>), most: u64) -> Result<Option<u64>> {
        let Some(reader) = source.open(from, most)? else { return Ok(None) };
        StoreError::check_size(reader.length(), most, || source.shown(from))?;
        self.writer.copy(to, reader, || source.shown(from)).map(Some)
    }

    fn remove(&self, key: &Key<'_>, what: Tree<'_>) -> Result<bool> {
        // The bytes stay in the file as a gap, which the directory does not mention.
        Ok(remove_from(&mut self.writer.state().members, key, what))
    }

    /// Does nothing. The file is created with its first member.
    fn create_folder(&self, _key: &Key<'_>) -> Result<()> {
        Ok(())
    }

    /// Moves the file to its final path, which must be free. With `exchanges`, a file there is replaced, and nothing of
    /// it remains.
    fn rename(&self, _from: &Key<'_>, to: &Path, exchanges: bool) -> Result<bool> {
        if exchanges {
            local::replace_file(&self.writer.path, to)?;
        } else {
            local::rename(&self.writer.path, to, false)?;
        }
        local::sync_folder(to.parent().unwrap_or(to))?;
        Ok(true)
    }

    fn free_space(&self, _below: &Key<'_>) -> Result<FreeSpace> {
        self.file.free_space()
    }

    fn with_modes(&self, modes: Modes) -> Option<Arc<dyn Store>> {
        self.writer.mode.store(modes.file, Ordering::Relaxed);
        None
    }

    fn container(&self) -> Option<&Node> {
        Some(&self.file)
    }
}

//! A zip file that is written in the folder of a run, from where it takes its place once it is whole.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::node_of_file;
use super::writer::{MemberEntry, MemberWriter, ZipWriter};
use crate::store::entry::EntryKind;
use crate::store::local;
use crate::store::object::PartReader;
use crate::store::sorted_keys::{SortedKeys, remove_from};
use crate::store::{
    Depth, Destination, Entry, Key, Modes, Node, ObjectReader, ObjectWriter, Put, Result, Room, Store, StoreError,
    Tree, Visit,
};

/// The destination that is the zip file at a path, which need not be there yet. Nothing is touched.
pub(super) fn destination(file: &Path) -> Result<Destination> {
    let place = local::resolved(file)?;
    let (run, data) = local::beside(&place);
    let (file, name) = (Node::new(data.as_path()), data.display().to_string());
    let data = StagedZip { file, name, writer: Arc::new(ZipWriter::new(data)) };
    Ok(Destination::Beside { run, data: Node::of(Arc::new(data)), place: node_of_file(Node::new(place)) })
}

/// The store that becomes a zip file: the members that are written so far.
#[derive(Debug)]
struct StagedZip {
    /// The file that is written, as an object.
    file: Node,
    name: String,
    writer: Arc<ZipWriter>,
}

impl StagedZip {
    fn member(&self, key: &Key<'_>) -> Option<MemberEntry> {
        self.writer.state().members.get(key.as_str()).copied()
    }
}

impl Store for StagedZip {
    fn name(&self) -> &str {
        &self.name
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
        let entries = self.writer.state().members.entries(below, depth);
        let _ = entries.iter().try_for_each(|(name, kind)| each(Entry::new(name, *kind)));
        Ok(())
    }

    /// One that is to be durable is the last: the file ends with it.
    fn put(&self, key: &Key<'_>, bytes: &[u8], how: Put) -> Result<bool> {
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
        self.writer.copy(to, reader).map(Some)
    }

    fn remove(&self, key: &Key<'_>, what: Tree<'_>) -> Result<bool> {
        Ok(remove_from(&mut self.writer.state().members, key, what))
    }

    /// The file is made with its first member.
    fn create_folder(&self, _key: &Key<'_>) -> Result<()> {
        Ok(())
    }

    /// The file takes the place of what is to be replaced, of which nothing is left.
    fn rename(&self, _from: &Key<'_>, to: &Path, exchanges: bool) -> Result<bool> {
        if exchanges {
            local::replace_file(&self.writer.path, to)?;
        } else {
            local::rename(&self.writer.path, to, false)?;
        }
        local::sync_folder(to.parent().unwrap_or(to))?;
        Ok(true)
    }

    fn room(&self, _below: &Key<'_>) -> Result<Room> {
        self.file.room()
    }

    fn with_modes(&self, modes: Modes) -> Option<Arc<dyn Store>> {
        self.writer.mode.store(modes.file, Ordering::Relaxed);
        None
    }

    fn container(&self) -> Option<&Node> {
        Some(&self.file)
    }
}

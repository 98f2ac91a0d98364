//! A zip file that takes its place once it is whole: until then it lies in a folder beside that, with what the run needs.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::writer::{MemberWriter, ZipWriter};
use super::{ZipStore, node_of_file};
use crate::store::entry::EntryKind;
use crate::store::local::LocalSite;
use crate::store::node::object_name;
use crate::store::object::PartReader;
use crate::store::sorted_keys::{SortedKeys, keys_below, kind_in, remove_from};
use crate::store::{
    Abilities, Depth, Entry, Key, LocalStore, Log, Modes, Node, ObjectReader, ObjectWriter, Put, Relation,
    Room, Site, Spot, Store, StoreError, Tree,
};

/// The file in the folder beside the place.
const FILE: Key<'static> = Key::known("zip");
/// What a run keeps for itself lies in folders of this name, and never becomes a member.
const OF_THE_RUN: &str = ".zarrcast";

fn is_of_the_run(key: &Key<'_>) -> bool {
    key.as_str().split('/').any(|name| name == OF_THE_RUN)
}

/// The place of a zip file on a local disk.
#[derive(Debug)]
pub(super) struct ZipSite {
    local: LocalSite,
    staged: Arc<StagedZip>,
}

impl ZipSite {
    /// The place of the file at a path, which need not be there yet. Nothing is touched.
    pub(super) fn new(path: &Path) -> Result<Self, StoreError> {
        let local = LocalSite::new(path)?;
        let folder = LocalStore::new(local.path(Spot::Staging)).confined();
        let (is_begun, mode, writer) = (AtomicBool::new(false), AtomicU32::new(0o666), Mutex::default());
        Ok(ZipSite { local, staged: Arc::new(StagedZip { folder, is_begun, mode, writer }) })
    }

    fn finish(&self, replaces: bool) -> Result<(), StoreError> {
        let writer = self.staged.writer()?;
        writer.finish()?;
        self.local.move_file_to_place(writer.path(), replaces)
    }
}

impl Site for ZipSite {
    fn node(&self, spot: Spot) -> Node {
        match spot {
            Spot::Place => node_of_file(Node::new(self.local.path(Spot::Place))),
            Spot::Staging => Node::of(self.staged.clone()),
            Spot::Aside => self.local.node(Spot::Aside),
        }
    }

    fn relation(&self, other: &Node) -> Result<Relation, StoreError> {
        self.local.relation(other)
    }

    fn is_fixed(&self) -> bool {
        false
    }

    fn keeps_unfinished(&self) -> bool {
        false
    }

    fn link_from(&self, _other: &Node) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// The new file takes the place of the old one, of which nothing is left.
    fn exchange(&self, _a: Spot, _b: Spot) -> Result<bool, StoreError> {
        self.finish(true).map(|()| true)
    }

    fn rename(&self, from: Spot, to: Spot) -> Result<(), StoreError> {
        match (from, to) {
            (Spot::Staging, Spot::Place) => self.finish(false),
            _ => Err(StoreError::unsupported("rename", self.node(from).name())),
        }
    }

    fn settle_spots(&self) -> Result<(), StoreError> {
        self.local.settle_spots()
    }

    fn settle_names(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The store that becomes a zip file: the members that are written so far, and the folder beside the place.
#[derive(Debug)]
struct StagedZip {
    folder: LocalStore,
    /// Whether this run has the folder. Before, it may hold what another has left.
    is_begun: AtomicBool,
    /// The permissions of the file, less the umask.
    mode: AtomicU32,
    writer: Mutex<Option<Arc<ZipWriter>>>,
}

impl StagedZip {
    /// The file, which is made unless it is there.
    fn writer(&self) -> Result<Arc<ZipWriter>, StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = &*writer {
            return Ok(writer.clone());
        }
        let made = ZipWriter::create(self.folder.path(&FILE), self.mode.load(Ordering::Relaxed))?;
        Ok(writer.insert(Arc::new(made)).clone())
    }

    /// What is written so far; `None` where nothing is.
    fn written(&self) -> Option<Arc<ZipWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_begun(&self) -> bool {
        self.is_begun.load(Ordering::Acquire)
    }
}

impl Store for StagedZip {
    fn name(&self) -> &str {
        self.folder.name()
    }

    fn abilities(&self) -> Abilities {
        self.folder.abilities()
    }

    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>, StoreError> {
        if is_of_the_run(key) && self.is_begun() {
            return self.folder.open(key, most);
        }
        let member =
            self.written().map(|writer| writer.members(|members| members.get(key.as_str()).copied()));
        let Some(member) = member.flatten() else { return Ok(None) };
        let file = self.folder.open(&FILE, u64::MAX)?;
        Ok(file.map(|file| Box::new(PartReader::new(file, member.start, member.bytes)) as ObjectReader))
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>, StoreError> {
        if is_of_the_run(key) {
            return self.folder.size(key);
        }
        Ok(self.open(key, u64::MAX)?.map(|reader| reader.length()))
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>, StoreError> {
        if key.is_root() || is_of_the_run(key) {
            return self.folder.kind(key);
        }
        Ok(self.written().and_then(|writer| writer.members(|members| kind_in(members, key))))
    }

    fn list(
        &self,
        below: &Key<'_>,
        depth: Depth,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        // What another run has left is not empty.
        if is_of_the_run(below) || !self.is_begun() {
            return self.folder.list(below, depth, each);
        }
        let keys = self.written().map(|writer| writer.members(|members| keys_below(members, below)));
        keys.unwrap_or_default().list(&Key::ROOT, depth, each);
        Ok(())
    }

    /// It is durable when the file has its place.
    fn put(&self, key: &Key<'_>, bytes: &[u8], how: Put) -> Result<bool, StoreError> {
        if is_of_the_run(key) {
            return self.folder.put(key, bytes, how);
        }
        StagedZip::writer(self)?.put(key, bytes).map(|()| true)
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter, StoreError> {
        if is_of_the_run(key) {
            return self.folder.writer(key);
        }
        Ok(Box::new(MemberWriter::new(StagedZip::writer(self)?, key)))
    }

    fn copy_from(
        &self,
        source: &dyn Store,
        (from, to): (&Key<'_>, &Key<'_>),
        most: u64,
    ) -> Result<Option<u64>, StoreError> {
        if is_of_the_run(to) {
            return self.folder.copy_from(source, (from, to), most);
        }
        let Some(reader) = source.open(from, most)? else { return Ok(None) };
        let (found, object) = (reader.length(), object_name(source.name(), from));
        if found > most {
            return Err(StoreError::TooLarge { object, found, bound: most });
        }
        StagedZip::writer(self)?.copy(to, reader).map(Some)
    }

    fn remove(&self, key: &Key<'_>, what: Tree<'_>) -> Result<bool, StoreError> {
        if key.is_root() {
            *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
            self.is_begun.store(false, Ordering::Release);
        }
        if key.is_root() || is_of_the_run(key) {
            return self.folder.remove(key, what);
        }
        Ok(self.written().is_some_and(|writer| writer.members(|members| remove_from(members, key, what))))
    }

    fn create_folder(&self, key: &Key<'_>) -> Result<(), StoreError> {
        if key.is_root() || is_of_the_run(key) {
            self.folder.create_folder(key)?;
            self.is_begun.store(true, Ordering::Release);
        }
        Ok(())
    }

    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        self.folder.identity(below)
    }

    fn open_log(&self, key: &Key<'_>) -> Result<Option<Box<dyn Log>>, StoreError> {
        self.folder.open_log(key)
    }

    fn begin_log(&self, key: &Key<'_>) -> Result<Box<dyn Log>, StoreError> {
        self.is_begun.store(true, Ordering::Release);
        self.folder.begin_log(key)
    }

    fn room(&self, below: &Key<'_>) -> Result<Room, StoreError> {
        self.folder.room(below)
    }

    fn with_modes(&self, modes: Modes) -> Option<Arc<dyn Store>> {
        self.mode.store(modes.file, Ordering::Relaxed);
        None
    }
}

/// The site of the zip file that a store is in, where that is on a local disk.
pub(super) fn site_of(store: &ZipStore, below: &Key<'_>) -> Result<Box<dyn Site>, StoreError> {
    let path = store.outer.store.as_local().map(|local| local.path(&store.outer.prefix));
    match path.filter(|_| below.is_root()) {
        Some(path) => Ok(Box::new(ZipSite::new(&path)?)),
        None => Err(StoreError::unsupported("write", object_name(store.name(), below))),
    }
}

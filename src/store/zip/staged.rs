//! A zip file that takes its place once it is whole: until then it lies in a folder beside that, with what the run needs.
#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::archive::Archive;
use super::writer::{MemberWriter, ZipWriter, copy};
use super::{ZipStore, node_of_file};
use crate::store::entry::EntryKind;
use crate::store::local::LocalSite;
use crate::store::node::object_name;
use crate::store::{
    Abilities, Depth, Entry, Found, Key, LocalStore, Log, Modes, Node, ObjectReader, ObjectWriter, Part, Put,
    Relation, Room, Site, Spot, Store, StoreError, Tree,
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
    staged: Arc<Staged>,
}

impl ZipSite {
    /// The place of the file at a path, which need not be there yet. Nothing is touched.
    pub(super) fn new(path: &Path) -> Result<Self, StoreError> {
        let local = LocalSite::new(path)?;
        let folder = LocalStore::new(local.path(Spot::Staging)).confined();
        let staged = Staged { folder, is_begun: AtomicBool::new(false), writer: Mutex::default() };
        Ok(ZipSite { local, staged: Arc::new(staged) })
    }

    fn finish(&self, replaces: bool) -> Result<(), StoreError> {
        let writer = self.staged.writer(StagedZip::MODE)?;
        writer.finish()?;
        self.local.move_file_to_place(writer.path(), replaces)
    }
}

impl Site for ZipSite {
    fn node(&self, spot: Spot) -> Node {
        match spot {
            Spot::Place => node_of_file(Node::new(self.local.path(Spot::Place))),
            Spot::Staging => {
                Node::of(Arc::new(StagedZip { staged: self.staged.clone(), mode: StagedZip::MODE }))
            }
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

/// The folder beside the place of a zip file.
#[derive(Debug)]
struct Staged {
    folder: LocalStore,
    /// Whether this run has it. Before, it may hold what another has left.
    is_begun: AtomicBool,
    writer: Mutex<Option<Arc<ZipWriter>>>,
}

impl Staged {
    /// The file, which is made with these permissions unless it is there.
    fn writer(&self, mode: u32) -> Result<Arc<ZipWriter>, StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = &*writer {
            return Ok(writer.clone());
        }
        let made = Arc::new(ZipWriter::create(self.folder.path(&FILE), mode, self.folder.name())?);
        Ok(writer.insert(made).clone())
    }

    /// What is written so far; `None` where nothing is.
    fn members(&self) -> Result<Option<Arc<Archive>>, StoreError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        writer.map(|writer| writer.members(&self.folder, &FILE)).transpose()
    }

    fn is_begun(&self) -> bool {
        self.is_begun.load(Ordering::Acquire)
    }
}

/// The store that becomes a zip file.
#[derive(Debug)]
struct StagedZip {
    staged: Arc<Staged>,
    /// The permissions of the file, less the umask.
    mode: u32,
}

impl StagedZip {
    const MODE: u32 = 0o666;

    fn folder(&self) -> &LocalStore {
        &self.staged.folder
    }

    fn writer(&self) -> Result<Arc<ZipWriter>, StoreError> {
        self.staged.writer(self.mode)
    }
}

impl Store for StagedZip {
    fn name(&self) -> &str {
        self.folder().name()
    }

    fn abilities(&self) -> Abilities {
        self.folder().abilities()
    }

    fn read(
        &self,
        key: &Key<'_>,
        part: Part,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<Option<Found>, StoreError> {
        if is_of_the_run(key) && self.staged.is_begun() {
            return self.folder().read(key, part, most, into);
        }
        into.clear();
        self.staged.members()?.map_or(Ok(None), |members| members.read(key, part, most, into))
    }

    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>, StoreError> {
        if is_of_the_run(key) && self.staged.is_begun() {
            return self.folder().open(key, most);
        }
        self.staged.members()?.map_or(Ok(None), |members| members.open(key))
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>, StoreError> {
        if is_of_the_run(key) {
            return self.folder().size(key);
        }
        self.staged.members()?.map_or(Ok(None), |members| members.size(key))
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>, StoreError> {
        if key.is_root() || is_of_the_run(key) {
            return self.folder().kind(key);
        }
        Ok(self.staged.members()?.and_then(|members| members.kind(key)))
    }

    fn list(
        &self,
        below: &Key<'_>,
        depth: Depth,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        // What another run has left is not empty.
        if is_of_the_run(below) || !self.staged.is_begun() {
            return self.folder().list(below, depth, each);
        }
        if let Some(members) = self.staged.members()? {
            members.list(below, depth, each);
        }
        Ok(())
    }

    /// It is durable when the file has its place.
    fn put(&self, key: &Key<'_>, bytes: &[u8], how: Put) -> Result<bool, StoreError> {
        if is_of_the_run(key) {
            return self.folder().put(key, bytes, how);
        }
        self.writer()?.put(key, bytes).map(|()| true)
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter, StoreError> {
        if is_of_the_run(key) {
            return self.folder().writer(key);
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
            return self.folder().copy_from(source, (from, to), most);
        }
        let object = || object_name(source.name(), from);
        let Some(reader) = source.open(from, most)? else {
            return Ok(None);
        };
        if reader.length() > most {
            return Err(StoreError::TooLarge { object: object(), found: reader.length(), bound: most });
        }
        Ok(Some(copy(&*StagedZip::writer(self)?, to, reader)?))
    }

    fn remove(&self, key: &Key<'_>, what: Tree<'_>) -> Result<bool, StoreError> {
        let mut writer = self.staged.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if key.is_root() {
            *writer = None;
            self.staged.is_begun.store(false, Ordering::Release);
        }
        if key.is_root() || is_of_the_run(key) {
            return self.folder().remove(key, what);
        }
        Ok(writer.as_ref().is_some_and(|writer| writer.remove(key)))
    }

    fn create_folder(&self, key: &Key<'_>) -> Result<(), StoreError> {
        if key.is_root() || is_of_the_run(key) {
            self.folder().create_folder(key)?;
            self.staged.is_begun.store(true, Ordering::Release);
        }
        Ok(())
    }

    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        self.folder().identity(below)
    }

    fn open_log(&self, key: &Key<'_>) -> Result<Option<Box<dyn Log>>, StoreError> {
        self.folder().open_log(key)
    }

    fn begin_log(&self, key: &Key<'_>) -> Result<Box<dyn Log>, StoreError> {
        self.staged.is_begun.store(true, Ordering::Release);
        self.folder().begin_log(key)
    }

    fn room(&self, below: &Key<'_>) -> Result<Room, StoreError> {
        self.folder().room(below)
    }

    fn with_modes(&self, modes: Modes) -> Option<Arc<dyn Store>> {
        Some(Arc::new(StagedZip { staged: self.staged.clone(), mode: modes.file }))
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

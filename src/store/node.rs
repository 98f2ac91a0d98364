//! The place of a node in a store.

use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::Arc;

use super::{
    Abilities, Depth, Destination, Entry, EntryKind, FolderListing, Key, LinkTarget, LocalStore, Log, Network,
    ObjectReader, ObjectWriter, Part, PrefetchLimit, Put, Relation, Result, Room, Store, StoreError, Tree, local,
};

/// Documents larger than this are not read: 64 MiB.
pub const MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// A node: a store, and the key below which its objects lie. All keys are relative to that.
#[derive(Debug, Clone)]
pub struct Node {
    pub(super) store: Arc<dyn Store>,
    pub(super) prefix: Key<'static>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.store, &other.store) && self.prefix == other.prefix
    }
}

impl Eq for Node {}

/// The name of a key of a store for messages.
pub(super) fn object_name(store: &str, key: &Key<'_>) -> String {
    match (store, key.as_str()) {
        (store, "") => store.to_owned(),
        ("", key) => key.to_owned(),
        (store, key) if store.ends_with('/') => format!("{store}{key}"),
        (store, key) => format!("{store}/{key}"),
    }
}

impl Node {
    /// The node that a whole store is.
    pub fn of(store: Arc<dyn Store>) -> Self {
        Node { store, prefix: Key::ROOT }
    }

    /// The node at a local folder; nothing is read.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::of(Arc::new(LocalStore::new(root)))
    }

    /// The node in a local folder, creating and removing nothing through a link: neither a link of its own name nor one on
    /// the way from its folder, as an unfinished destination may hold. The path of the folder has no links.
    pub fn confined(root: impl Into<PathBuf>) -> Self {
        Self::of(Arc::new(LocalStore::new(root).confined()))
    }

    /// The node, creating its folders and objects with the permissions of the folder and the document `key` of
    /// `source`, as `cp` would. Its owner may always write to them.
    #[must_use]
    pub fn with_permissions_of(self, source: &Node, key: &str) -> Self {
        let Ok(document) = source.prefix.join(key) else { return self };
        let modes = source.store.as_local().map(|local| local.modes_of(&source.prefix, &document));
        match modes.and_then(|modes| self.store.with_modes(modes)) {
            Some(store) => Node { store, ..self },
            None => self,
        }
    }

    /// The node in a folder of this one, which creates with the same permissions.
    pub fn child(&self, path: &str) -> Result<Node> {
        Ok(Node { store: self.store.clone(), prefix: self.prefix.join(path)?.into_owned() })
    }

    /// The same, by a key.
    #[must_use]
    pub fn below(&self, key: &Key<'static>) -> Node {
        Node { store: self.store.clone(), prefix: self.prefix.below(key) }
    }

    /// The path of the node, where it lies in a local folder; of what lies in a local file, that of the file.
    pub(super) fn local_path(&self) -> Option<PathBuf> {
        match self.store.as_local() {
            Some(store) => Some(store.path(&self.prefix)),
            None => self.store.container()?.local_path(),
        }
    }

    /// The objects elsewhere that its store is read from.
    pub fn targets(&self) -> Result<Vec<Node>> {
        self.store.targets()
    }

    /// True if it lies in a local folder.
    pub fn is_local(&self) -> bool {
        self.store.as_local().is_some()
    }

    /// As messages name it.
    pub fn name(&self) -> String {
        self.store.shown(&self.prefix)
    }

    /// Names the node in the same way whatever name the user gave it.
    pub fn identity(&self) -> Vec<u8> {
        self.store.identity(&self.prefix)
    }

    /// The last of its names, as well as it can be shown.
    pub fn last_name(&self) -> String {
        self.name().trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// The folder that it lies in, in its store or above that; `None` where there is none.
    pub fn parent(&self) -> Option<Node> {
        match self.prefix.split_last() {
            Some((prefix, _)) => Some(Node { store: self.store.clone(), prefix: prefix.into_owned() }),
            None => match self.store.as_local() {
                Some(store) => store.folder_above(),
                None => self.store.container()?.parent(),
            },
        }
    }

    /// Where a hierarchy is written that is to take the node's place, and may replace what is there. Nothing is touched.
    pub fn destination(&self, replaces: bool) -> Result<Destination> {
        self.store.destination(&self.prefix, replaces)
    }

    /// Moves it to the place of a local node, where nothing is, or exchanges the two; false where its store cannot do that at
    /// once. What names there are is durable then.
    pub(super) fn rename(&self, to: &Node, exchanges: bool) -> Result<bool> {
        match to.local_path() {
            Some(path) => self.store.rename(&self.prefix, &path, exchanges),
            None => Err(StoreError::unsupported("rename", self.name())),
        }
    }

    /// Returns the relation of another node, by all its names, to this one, which may be in a bucket that a web server shows, too.
    pub fn relation(&self, other: &Node) -> Result<Relation> {
        #[cfg(feature = "remote")]
        if let Some(relation) = super::remote::relation(self, other)? {
            return Ok(relation);
        }
        if let (Some(place), Some(other)) = (self.local_path(), other.local_path()) {
            return local::relation(&place, &other);
        }
        let (place, other) = (self.identity(), other.identity());
        let lies_in = |inner: &[u8], outer: &[u8]| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        Ok(Relation::of(lies_in(&place, &other), lies_in(&other, &place)))
    }

    /// True if another file system is mounted at its local folder.
    pub fn is_mount_point(&self) -> bool {
        self.is_local() && self.local_path().is_some_and(|path| local::is_mount_point(&path))
    }

    /// A link in another local folder that leads into this one, as messages name it.
    pub fn link_from(&self, other: &Node) -> Result<Option<String>> {
        // There are none in a file.
        match (self.local_path(), other.local_path().filter(|path| path.is_dir())) {
            (Some(own), Some(other)) => Ok(local::link_into(&other, &own)?.map(|link| link.display().to_string())),
            _ => Ok(None),
        }
    }

    /// Where a run keeps scratch data of a name for a node that does not keep them itself: of one behind a network, in the
    /// folder for temporary files; of a zip file, beside that. Nothing is touched.
    pub fn scratch(&self, name: &str) -> Option<Node> {
        if self.abilities().is_remote {
            let name = format!(".zarrcast-{}-{name}", rustix::process::geteuid().as_raw());
            return Some(Node::confined(std::env::temp_dir().join(name)));
        }
        self.store.container()?.parent()?.child(name).ok()
    }

    /// Makes the node's folder one for scratch data, which no others may look into.
    pub fn make_scratch(&self) -> Result<()> {
        self.local_path().map_or(Ok(()), |path| local::make_scratch(&path))
    }

    /// Opens a log, or makes an empty one in a folder that is its own, and which no others may look into.
    pub fn begin_log(&self, key: &Key<'static>) -> Result<Box<dyn Log>> {
        self.store.begin_log(&self.prefix.below(key))
    }

    /// The key in the store; `folder` may be empty, which is the node itself.
    fn folder(&self, folder: &str) -> Result<Key<'static>> {
        if folder.is_empty() { Ok(self.prefix.clone()) } else { self.prefix.join(folder).map(Key::into_owned) }
    }

    /// Reads a whole object into `bytes` (replaced); false where it is absent.
    pub fn read_into(&self, key: &str, max_bytes: u64, bytes: &mut Vec<u8>) -> Result<bool> {
        self.store.read(&self.prefix.join(key)?, Part::Whole, max_bytes, bytes)
    }

    /// Returns how far ahead its store wants to be told what will be read; `None` where that is of no use to it.
    pub fn prefetch_limit(&self) -> Option<PrefetchLimit> {
        self.store.prefetch_limit()
    }

    /// Tells the store that these parts of objects will be read soon, in this order.
    pub fn prefetch(&self, soon: &[(String, Part)]) {
        let keys = soon.iter().filter_map(|(key, part)| Some((self.prefix.join(key).ok()?, *part)));
        self.store.prefetch(&keys.collect::<Vec<_>>());
    }

    /// True if what is copied here from another node never passes through this machine.
    pub fn copies_by_itself(&self, source: &Node) -> bool {
        match (self.store.network(), self.store.as_local()) {
            (Some(network), _) => network.copies_from(&*source.store),
            (None, local) => local.is_some() && source.is_local(),
        }
    }

    /// Reads a document of at most [`MAX_DOCUMENT_BYTES`]; `None` where it is absent.
    pub fn read_document(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        Ok(self.read_into(key, MAX_DOCUMENT_BYTES, &mut bytes)?.then_some(bytes))
    }

    /// The error of an object that was there, and was not when it was read.
    pub fn vanished(&self, key: &str) -> StoreError {
        let vanished = |key| StoreError::Vanished { object: self.store.shown(&key) };
        self.prefix.join(key).map_or_else(|error| error, vanished)
    }

    /// Opens an object that was listed; `None` where the store refuses it, and that counts as absent.
    pub fn open_listed(&self, key: &str, most: u64) -> Result<Option<ObjectReader>> {
        match self.open(key, most)? {
            None if !self.refused_is_absent() => Err(self.vanished(key)),
            found => Ok(found),
        }
    }

    /// Opens an object of at most `most` bytes for reading in parts; `None` where it is absent.
    pub fn open(&self, key: &str, most: u64) -> Result<Option<ObjectReader>> {
        self.store.open(&self.prefix.join(key)?, most)
    }

    /// Creates an object to be written in order; its folders are made as needed.
    pub fn create(&self, key: &str) -> Result<ObjectWriter> {
        self.store.writer(&self.prefix.join(key)?)
    }

    /// Writes a whole object in place.
    pub fn write(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.store.put(&self.prefix.join(key)?, bytes, Put::Plain).map(drop)
    }

    /// Writes a whole object, so that it is never seen in part, and makes it durable.
    pub fn publish(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.store.put(&self.prefix.join(key)?, bytes, Put::Durable).map(drop)
    }

    /// The same where there is none: false where one stands there, also if another process has just made it. Where the
    /// answer of a server to what made it was lost, its own object may count as another's.
    pub fn publish_new(&self, key: &str, bytes: &[u8]) -> Result<bool> {
        self.store.put(&self.prefix.join(key)?, bytes, Put::New)
    }

    /// Writes a whole object, so that it is never seen in part. It is durable once the node is synced.
    pub fn replace(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.store.put(&self.prefix.join(key)?, bytes, Put::Whole).map(drop)
    }

    /// Copies an object of another node, by its key there, byte for byte (by reference where the store can) to a
    /// key of this one; its size in bytes, `None` where it is absent.
    ///
    /// One of more than `max_bytes` is an error: a sparse file costs nothing to make, and days to copy.
    pub fn copy_from(&self, source: &Node, (from, to): (&str, &str), max_bytes: u64) -> Result<Option<u64>> {
        let keys = (&source.prefix.join(from)?, &self.prefix.join(to)?);
        self.store.copy_from(&*source.store, keys, max_bytes)
    }

    /// Removes an object; false where there is none.
    pub fn remove(&self, key: &str) -> Result<bool> {
        self.store.remove(&self.prefix.join(key)?, Tree::Object)
    }

    /// The number of the store's next write: see [`Node::are_written`].
    pub fn next_write(&self) -> u64 {
        self.store.network().map_or(0, Network::next_write)
    }

    /// True if all of the writes of these numbers are at the store.
    pub fn are_written(&self, writes: Range<u64>) -> bool {
        self.store.network().is_none_or(|network| network.are_written(writes))
    }

    /// Makes all that was written to the node durable.
    pub fn sync(&self) -> Result<()> {
        self.store.sync(&self.prefix)
    }

    /// Creates the node's folder; an error where something stands there.
    pub fn create_root(&self) -> Result<()> {
        self.store.create_folder(&self.prefix)
    }

    /// Removes the node's folder and all below it, without following links.
    pub fn remove_root(&self) -> Result<()> {
        self.store.remove(&self.prefix, Tree::All).map(drop)
    }

    /// Removes what lies in the node's folder but for what has a name.
    pub(super) fn remove_entries_but(&self, kept: &str) -> Result<()> {
        let mut found = Vec::new();
        self.each_entry("", |key, kind, _| found.push((key.to_owned(), kind)))?;
        for (key, kind) in found.iter().filter(|(key, _)| key != kept) {
            match kind {
                EntryKind::Folder => self.child(key)?.remove_root()?,
                _ => drop(self.remove(key)?),
            }
        }
        Ok(())
    }

    /// Removes the node's folder and all below it, what has a name last.
    pub(super) fn remove_with_last(&self, last: &str) -> Result<()> {
        if self.kind_of(last)?.is_some() {
            self.remove_entries_but(last)?;
        }
        self.remove_root()
    }

    /// Removes all below the node but what lies below a key of it.
    pub fn remove_others(&self, kept: &Key<'_>) -> Result<()> {
        self.store.remove(&self.prefix, Tree::AllBut(&self.prefix.join(kept.as_str())?)).map(drop)
    }

    /// The number of objects of the node that the store has refused so far and that count as absent.
    pub fn num_refused(&self) -> u64 {
        self.store.network().map_or(0, |network| network.num_refused(&self.prefix))
    }

    /// True if objects that its store refuses count as absent.
    pub fn refused_is_absent(&self) -> bool {
        self.store.network().is_some_and(Network::refused_is_absent)
    }

    /// Lets go of what would be left in the store where the process ended now.
    pub fn release_on_exit(&self) {
        if let Some(network) = self.store.network() {
            network.release_on_exit();
        }
    }

    /// The free space for the node, which need not be there yet.
    pub fn room(&self) -> Result<Room> {
        self.store.room(&self.prefix)
    }

    /// The kind of what stands at the node's place, a link not followed.
    pub fn kind(&self) -> Result<Option<EntryKind>> {
        self.store.kind(&self.prefix)
    }

    /// The kind of what stands at the node's place, or where a link there leads; `None` where that is nowhere.
    pub fn kind_behind_links(&self) -> Result<Option<EntryKind>> {
        self.store.as_local().map_or_else(|| self.kind(), |local| local.kind_behind_links(&self.prefix))
    }

    /// The kind of what stands at a key, a link not followed.
    pub fn kind_of(&self, key: &str) -> Result<Option<EntryKind>> {
        self.store.kind(&self.prefix.join(key)?)
    }

    /// True if anything stands at the node's place, a dangling link included.
    pub fn exists(&self) -> Result<bool> {
        Ok(self.kind()?.is_some())
    }

    /// Gives all that a folder of the node holds (`""`: the node itself) to `visit` as it is read: its key, or the name
    /// as well as it can be shown, what it is, and its size where the listing tells that. No link is followed; a folder that
    /// is not there holds nothing.
    pub fn each_entry(&self, folder: &str, mut visit: impl FnMut(&str, EntryKind, Option<u64>)) -> Result<()> {
        self.walk(folder, Depth::Folder, |Entry { name, kind, bytes }| {
            visit(name, kind, bytes);
            ControlFlow::Continue(())
        })
    }
    /// Gives what lies in a folder of the node, or all that lies below it, to `visit`, until that breaks off: its key, what it
    /// is, and its size where the listing tells that.
    pub fn walk(&self, folder: &str, depth: Depth, mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<()> {
        let mut key = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let prefix = key.len();
        self.store.list(&self.folder(folder)?, depth, &mut |entry| {
            key.truncate(prefix);
            key.push_str(entry.name);
            visit(Entry { name: &key, ..entry })
        })
    }

    /// True if nothing lies in the node's folder.
    pub fn is_empty(&self) -> Result<bool> {
        let mut is_empty = true;
        self.store.list(&self.prefix, Depth::Folder, &mut |_| {
            is_empty = false;
            ControlFlow::Break(())
        })?;
        Ok(is_empty)
    }

    /// The names of the folders in the node's own, of its first `most` entries; links to folders are among them.
    pub fn folders(&self, most: usize) -> Result<Vec<String>> {
        let (mut folders, mut left) = (Vec::new(), most);
        self.store.list(&self.prefix, Depth::Folder, &mut |Entry { name, kind, .. }| {
            let is_folder = match kind {
                EntryKind::Folder => true,
                EntryKind::Link => {
                    self.child(name).and_then(|child| child.kind_behind_links()).ok().flatten()
                        == Some(EntryKind::Folder)
                }
                _ => false,
            };
            folders.extend(is_folder.then(|| name.to_owned()));
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(folders)
    }

    /// The first bytes of the object that stands at the node's own place, at most `most`.
    pub fn first_bytes(&self, most: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if let Some(mut reader) = self.store.open(&self.prefix, u64::MAX)? {
            bytes.resize(most.min(usize::try_from(reader.length()).unwrap_or(most)), 0);
            let length = reader.read_piece(0, &mut bytes)?;
            bytes.truncate(length);
        }
        Ok(bytes)
    }

    /// Lists all that a folder of the node holds (`""`: the node itself); no link is followed.
    pub fn list(&self, folder: &str) -> Result<FolderListing> {
        let mut listing = FolderListing::default();
        self.each_entry(folder, |key, kind, _| {
            let key = key.to_owned();
            match kind {
                EntryKind::File => listing.files.push(key),
                EntryKind::Folder => listing.folders.push(key),
                EntryKind::Link => listing.links.push(key),
                EntryKind::Other(found) => listing.others.push((key, found)),
                EntryKind::Unnamed => listing.unnamed.push(key),
            }
        })?;
        Ok(listing)
    }

    /// The sizes of some objects of one folder (`""`: the node itself), by their names in it, one after the other; absent
    /// ones have none, and so have links that lead nowhere or in a circle.
    pub fn sizes(&self, folder: &str, names: &[&str]) -> Result<Vec<Option<u64>>> {
        self.store.sizes(&self.folder(folder)?, names)
    }

    /// Where a link of the node leads, every link on the way resolved; `None` where it leads nowhere, or in a circle.
    pub fn link_target(&self, key: &str) -> Result<Option<LinkTarget>> {
        let key = self.prefix.join(key)?;
        Ok(self.store.as_local().and_then(|local| local.link_target(&key, &self.prefix)))
    }

    /// True if the store tells which objects the node has, as far as is known: it may have refused to.
    pub fn tells_keys(&self) -> bool {
        self.store.network().map_or_else(|| self.abilities().lists, |network| network.tells_keys(&self.prefix))
    }

    /// The abilities of its store.
    pub fn abilities(&self) -> Abilities {
        self.store.abilities()
    }

    /// The size of an object in bytes; `None` where it is absent.
    pub fn size(&self, key: &str) -> Result<Option<u64>> {
        self.store.size(&self.prefix.join(key)?)
    }
}

//! Position of a node in a store.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::Arc;

use super::{
    Capabilities, Depth, Destination, Entry, EntryKind, FolderListing, FreeSpace, Key, LinkTarget, LocalStore, Log,
    Network, ObjectReader, ObjectWriter, Part, PrefetchLimit, Put, Relation, Result, Store, StoreError, Tree, local,
};

/// Largest size of a metadata document that is read: 64 MiB.
pub const MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// Node: a store, and the prefix of the node's keys. All keys are relative to the prefix.
#[derive(Clone)]
pub struct Node {
    pub(super) store: Arc<dyn Store>,
    pub(super) prefix: Key<'static>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Node").field(&self.name()).finish()
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.store, &other.store) && self.prefix == other.prefix
    }
}

impl Eq for Node {}

/// Joins the names of a store and a key for messages.
pub(super) fn object_name(store: &str, key: &Key<'_>) -> String {
    match (store, key.as_str()) {
        (store, "") => store.to_owned(),
        ("", key) => key.to_owned(),
        (store, key) if store.ends_with('/') => format!("{store}{key}"),
        (store, key) => format!("{store}/{key}"),
    }
}

impl Node {
    /// Returns the root node of a store.
    pub fn of(store: Arc<dyn Store>) -> Self {
        Node { store, prefix: Key::ROOT }
    }

    /// Returns the node of a local folder. Does not access the folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::of(Arc::new(LocalStore::new(root)))
    }

    /// Returns the node of a local folder that writes do not create. Writes and removals of objects do not follow
    /// links, as an unfinished destination may contain some. The path of the folder has no links.
    pub fn confined(root: impl Into<PathBuf>) -> Self {
        Self::of(Arc::new(LocalStore::new(root).confined()))
    }

    /// Returns the node with the permissions of `source` for new folders and objects, like `cp`. They are those of its
    /// folder and its document `key`. The owner can always write.
    #[must_use]
    pub fn with_permissions_of(self, source: &Node, key: &str) -> Self {
        let Ok(document) = source.prefix.join(key) else { return self };
        let modes = source.store.as_local().map(|local| local.modes_of(&source.prefix, &document));
        match modes.and_then(|modes| self.store.with_modes(modes)) {
            Some(store) => Node { store, ..self },
            None => self,
        }
    }

    /// Returns the node of a subfolder, with the same permissions.
    pub fn child(&self, path: &str) -> Result<Node> {
        Ok(Node { store: self.store.clone(), prefix: self.prefix.join(path)?.into_owned() })
    }

    /// Like [`Node::child`], by a key.
    #[must_use]
    pub fn below(&self, key: &Key<'static>) -> Node {
        Node { store: self.store.clone(), prefix: self.prefix.below(key) }
    }

    /// Returns the local path of the node, or that of the local file that contains it.
    pub(super) fn local_path(&self) -> Option<PathBuf> {
        match self.store.as_local() {
            Some(store) => Some(store.path(&self.prefix)),
            None => self.container()?.local_path(),
        }
    }

    /// Returns the external objects that the store reads.
    pub fn targets(&self) -> Result<Vec<Node>> {
        self.store.targets()
    }

    /// Returns true if the node is in a local folder.
    pub fn is_local(&self) -> bool {
        self.store.as_local().is_some()
    }

    /// Returns the name in messages.
    pub fn name(&self) -> String {
        self.store.shown(&self.prefix)
    }

    /// Returns an identifier of the node that does not depend on the name that the user wrote.
    pub fn identity(&self) -> Vec<u8> {
        self.store.identity(&self.prefix)
    }

    /// Returns the last printable part of the name.
    pub fn last_name(&self) -> String {
        self.name().trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// Returns the parent folder, which may be outside the store. `None` means that there is none.
    pub fn parent(&self) -> Option<Node> {
        match self.prefix.split_last() {
            Some((prefix, _)) => Some(Node { store: self.store.clone(), prefix: prefix.into_owned() }),
            None => self.store.folder_above(),
        }
    }

    /// Returns the destination for a hierarchy at this node, which may replace an existing one. Does not change
    /// anything yet.
    pub fn destination(&self, replaces: bool) -> Result<Destination> {
        self.store.destination(&self.prefix, replaces)
    }

    /// Moves the node to a free local node, or exchanges the two. Returns false if the store cannot do that atomically.
    /// The names at the destination are durable afterwards.
    pub(super) fn rename(&self, to: &Node, exchanges: bool) -> Result<bool> {
        match to.local_path() {
            Some(path) => self.store.rename(&self.prefix, &path, exchanges),
            None => Err(StoreError::unsupported("rename", self.name())),
        }
    }

    /// Compares the position of another node with this one, by all names of both. A web server may show a bucket.
    pub fn relation(&self, other: &Node) -> Result<Relation> {
        #[cfg(feature = "remote")]
        if let Some(relation) = super::remote::relation(self, other)? {
            return Ok(relation);
        }
        if let (Some(path), Some(other)) = (self.local_path(), other.local_path()) {
            return local::relation(&path, &other);
        }
        let (own, other) = (self.identity(), other.identity());
        let lies_in = |inner: &[u8], outer: &[u8]| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        Ok(Relation::new(lies_in(&own, &other), lies_in(&other, &own)))
    }

    /// Returns true if this node is in a bucket and a web server shows it as SOURCE or one of its targets, inside it or
    /// around it. Writes an object for a moment.
    pub fn is_shown_by(&self, source: &Node, targets: &[Node]) -> Result<bool> {
        #[cfg(feature = "remote")]
        return super::remote::is_shown(self, source, targets);
        #[cfg(not(feature = "remote"))]
        {
            let _ = (source, targets);
            Ok(false)
        }
    }

    /// Returns true if the local folder of the node is a mount point.
    pub fn is_mount_point(&self) -> bool {
        self.is_local() && self.local_path().is_some_and(|path| local::is_mount_point(&path))
    }

    /// Returns the name of a link in another local folder that points into this one.
    pub fn link_from(&self, other: &Node) -> Result<Option<String>> {
        // A file contains no links.
        match (self.local_path(), other.local_path().filter(|path| path.is_dir())) {
            (Some(own), Some(other)) => Ok(local::link_into(&other, &own)?.map(|link| link.display().to_string())),
            _ => Ok(None),
        }
    }

    /// Returns the file that contains the store, such as a zip file.
    pub fn container(&self) -> Option<&Node> {
        self.store.container()
    }

    /// Returns the folder for scratch data of a store that cannot contain them, or `None` for other stores. For a
    /// remote store it is in the folder for temporary files, for a zip file next to that. Does not create it.
    pub fn scratch(&self, name: &str) -> Option<Node> {
        if self.capabilities().is_remote {
            // Users share the folder for temporary files, so each has names of its own.
            let name = format!(".zarrcast-{}-{name}", rustix::process::geteuid().as_raw());
            return Some(Node::confined(std::env::temp_dir().join(name)));
        }
        self.container()?.parent()?.child(name).ok()
    }

    /// Creates the node's folder for scratch data. Only this user can read it.
    pub fn make_scratch(&self) -> Result<()> {
        self.local_path().map_or(Ok(()), |path| local::make_scratch(&path))
    }

    /// Opens a log, or creates an empty one in a folder of its own that only this user can read.
    pub fn begin_log(&self, key: &Key<'static>) -> Result<Box<dyn Log>> {
        self.store.begin_log(&self.prefix.below(key))
    }

    /// Returns the key of a folder in the store. An empty text is the node itself.
    fn folder(&self, folder: &str) -> Result<Key<'static>> {
        if folder.is_empty() { Ok(self.prefix.clone()) } else { self.prefix.join(folder).map(Key::into_owned) }
    }

    /// Reads a whole object into `bytes`, which is overwritten. Returns false if the object is absent.
    pub fn read_into(&self, key: &str, max_bytes: u64, bytes: &mut Vec<u8>) -> Result<bool> {
        self.store.read(&self.prefix.join(key)?, Part::Whole, max_bytes, bytes)
    }

    /// Returns how many reads the store wants to know in advance. With `None` it needs no hints.
    pub fn prefetch_limit(&self) -> Option<PrefetchLimit> {
        self.store.prefetch_limit()
    }

    /// Announces parts of objects that will be read soon, in this order.
    pub fn prefetch(&self, soon: &[(String, Part)]) {
        let keys = soon.iter().filter_map(|(key, part)| Some((self.prefix.join(key).ok()?, *part)));
        self.store.prefetch(&keys.collect::<Vec<_>>());
    }

    /// Returns true if a copy from `source` does not pass through the memory of this process.
    pub fn copies_server_side(&self, source: &Node) -> bool {
        match (self.store.network(), self.store.as_local()) {
            (Some(network), _) => network.copies_from(&*source.store),
            (None, local) => local.is_some() && source.is_local(),
        }
    }

    /// Reads a document of at most [`MAX_DOCUMENT_BYTES`]. Returns `None` if it is absent.
    pub fn read_document(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        Ok(self.read_into(key, MAX_DOCUMENT_BYTES, &mut bytes)?.then_some(bytes))
    }

    /// Returns the error for an object that was removed before it was read.
    pub fn vanished(&self, key: &str) -> StoreError {
        let vanished = |key| StoreError::Vanished(self.store.shown(&key));
        self.prefix.join(key).map_or_else(|error| error, vanished)
    }

    /// Opens an object that was listed. Returns `None` if the store refuses it and refused objects count as absent.
    pub fn open_listed(&self, key: &str, most: u64) -> Result<Option<ObjectReader>> {
        match self.open(key, most)? {
            None if !self.refused_is_absent() => Err(self.vanished(key)),
            found => Ok(found),
        }
    }

    /// Opens an object of at most `most` bytes for reads of parts. Returns `None` if it is absent.
    pub fn open(&self, key: &str, most: u64) -> Result<Option<ObjectReader>> {
        self.store.open(&self.prefix.join(key)?, most)
    }

    /// Creates an object that is written sequentially, and the missing folders.
    pub fn create(&self, key: &str) -> Result<ObjectWriter> {
        self.store.writer(&self.prefix.join(key)?)
    }

    /// Writes a whole object in place.
    pub fn write(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.store.put(&self.prefix.join(key)?, bytes, Put::Plain).map(drop)
    }

    /// Writes a whole object durably. Readers never see a part of it.
    pub fn publish(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.store.put(&self.prefix.join(key)?, bytes, Put::Durable).map(drop)
    }

    /// Like [`Node::publish`], but only if no object exists. Returns false if one exists, even if another process has
    /// just created it. If the answer of a server is lost, its own object may count as another's.
    pub fn publish_new(&self, key: &str, bytes: &[u8]) -> Result<bool> {
        self.store.put(&self.prefix.join(key)?, bytes, Put::New)
    }

    /// Writes a whole object. Readers never see a part of it. It is durable after the next sync.
    pub fn replace(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.store.put(&self.prefix.join(key)?, bytes, Put::Whole).map(drop)
    }

    /// Copies an object of another node byte for byte, by reference if the store can. Returns its size in bytes, or
    /// `None` if it is absent.
    ///
    /// Fails if it has more than `max_bytes`. A sparse file is made in no time, but its copy needs days.
    pub fn copy_from(&self, source: &Node, (from, to): (&str, &str), max_bytes: u64) -> Result<Option<u64>> {
        let keys = (&source.prefix.join(from)?, &self.prefix.join(to)?);
        self.store.copy_from(&*source.store, keys, max_bytes)
    }

    /// Removes an object. Returns false if it does not exist.
    pub fn remove(&self, key: &str) -> Result<bool> {
        self.store.remove(&self.prefix.join(key)?, Tree::Object)
    }

    /// Returns the number of the store's next write. See [`Node::are_written`].
    pub fn next_write(&self) -> u64 {
        self.store.network().map_or(0, Network::next_write)
    }

    /// Returns true if all writes of these numbers have succeeded.
    pub fn are_written(&self, writes: Range<u64>) -> bool {
        self.store.network().is_none_or(|network| network.are_written(writes))
    }

    /// Makes everything that was written to the node durable.
    pub fn sync(&self) -> Result<()> {
        self.store.sync(&self.prefix)
    }

    /// Creates the node's folder. Fails if it exists.
    pub fn create_root(&self) -> Result<()> {
        self.store.create_folder(&self.prefix)
    }

    /// Removes the node's folder and its contents. Does not follow links.
    pub fn remove_root(&self) -> Result<()> {
        self.store.remove(&self.prefix, Tree::All).map(drop)
    }

    /// Removes the contents of the node's folder except for the entry `kept`.
    pub(super) fn remove_entries_but(&self, kept: &str) -> Result<()> {
        let mut found = Vec::new();
        // The list is complete before the first removal. A removal during a listing may hide other entries.
        self.each_entry("", |key, kind, _| found.push((key.to_owned(), kind)))?;
        for (key, kind) in found.iter().filter(|(key, _)| key != kept) {
            match kind {
                EntryKind::Folder => self.child(key)?.remove_root()?,
                _ => drop(self.remove(key)?),
            }
        }
        Ok(())
    }

    /// Removes the node's folder and its contents. The entry `last` is removed after the other contents.
    pub(super) fn remove_with_last(&self, last: &str) -> Result<()> {
        if self.kind_of(last)?.is_some() {
            self.remove_entries_but(last)?;
        }
        self.remove_root()
    }

    /// Removes everything below the node except what is below `kept`.
    pub fn remove_others(&self, kept: &Key<'_>) -> Result<()> {
        self.store.remove(&self.prefix, Tree::AllBut(&self.prefix.join(kept.as_str())?)).map(drop)
    }

    /// Returns the number of refused objects of the node that count as absent.
    pub fn num_refused(&self) -> u64 {
        self.store.network().map_or(0, |network| network.num_refused(&self.prefix))
    }

    /// Returns true if refused objects count as absent.
    pub fn refused_is_absent(&self) -> bool {
        self.store.network().is_some_and(Network::refused_is_absent)
    }

    /// Releases what a process that ends now would leave in the store.
    pub fn release_on_exit(&self) {
        if let Some(network) = self.store.network() {
            network.release_on_exit();
        }
    }

    /// Returns the free space for the node, which may not exist yet.
    pub fn free_space(&self) -> Result<FreeSpace> {
        self.store.free_space(&self.prefix)
    }

    /// Returns the kind of the entry at the node. Does not follow a link.
    pub fn kind(&self) -> Result<Option<EntryKind>> {
        self.store.kind(&self.prefix)
    }

    /// Returns the kind of the entry at the node, after links. Returns `None` if there is none.
    pub fn kind_behind_links(&self) -> Result<Option<EntryKind>> {
        self.store.as_local().map_or_else(|| self.kind(), |local| local.kind_behind_links(&self.prefix))
    }

    /// Returns the kind of the entry at a key. Does not follow a link.
    pub fn kind_of(&self, key: &str) -> Result<Option<EntryKind>> {
        self.store.kind(&self.prefix.join(key)?)
    }

    /// Returns true if the node exists, even as a dangling link.
    pub fn exists(&self) -> Result<bool> {
        Ok(self.kind()?.is_some())
    }

    /// Calls `visit` with the key, the kind and, if listed, the size of each entry of a folder. `""` is the node
    /// itself. The key of an entry without a key is its printable name. Does not follow links. A missing folder has no
    /// entries.
    pub fn each_entry(&self, folder: &str, mut visit: impl FnMut(&str, EntryKind, Option<u64>)) -> Result<()> {
        self.walk(folder, Depth::Folder, |Entry { name, kind, bytes }| {
            visit(name, kind, bytes);
            ControlFlow::Continue(())
        })
    }

    /// Calls `visit` for the entries of a folder of the node, or for all entries below it, until it returns `Break`. An
    /// entry has a key, a kind, and a size in bytes if the listing has sizes.
    pub fn walk(&self, folder: &str, depth: Depth, mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<()> {
        let mut key = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let prefix = key.len();
        self.store.list(&self.folder(folder)?, depth, &mut |entry| {
            key.truncate(prefix);
            key.push_str(entry.name);
            visit(Entry { name: &key, ..entry })
        })
    }

    /// Returns true if the node's folder has no entries.
    pub fn is_empty(&self) -> Result<bool> {
        let mut is_empty = true;
        self.store.list(&self.prefix, Depth::Folder, &mut |_| {
            is_empty = false;
            ControlFlow::Break(())
        })?;
        Ok(is_empty)
    }

    /// Returns the names of the subfolders among the first `most` entries, including links to folders.
    pub fn folders(&self, most: usize) -> Result<Vec<String>> {
        let (mut folders, mut left) = (Vec::new(), most);
        self.store.list(&self.prefix, Depth::Folder, &mut |Entry { name, kind, .. }| {
            let behind_links = || self.child(name).and_then(|child| child.kind_behind_links()).ok().flatten();
            let kind = if kind == EntryKind::Link { behind_links() } else { Some(kind) };
            folders.extend((kind == Some(EntryKind::Folder)).then(|| name.to_owned()));
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(folders)
    }

    /// Returns the first bytes of the object at the node's own key, at most `most`.
    pub fn first_bytes(&self, most: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if let Some(mut reader) = self.store.open(&self.prefix, u64::MAX)? {
            bytes.resize(most.min(usize::try_from(reader.length()).unwrap_or(most)), 0);
            let length = reader.read_piece(0, &mut bytes)?;
            bytes.truncate(length);
        }
        Ok(bytes)
    }

    /// Lists a folder of the node (`""`: the node itself). Does not follow links.
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

    /// Returns the sizes in bytes of objects of one folder (`""`: the node itself), in the order of `names`. Absent
    /// objects, dangling links and circular links are `None`. A fault of one object is in its place.
    pub fn sizes(&self, folder: &str, names: &[&str]) -> Result<Vec<Result<Option<u64>>>> {
        self.store.sizes(&self.folder(folder)?, names)
    }

    /// Resolves a link of the node and all links on its path. Returns `None` for a dangling or circular link.
    pub fn link_target(&self, key: &str) -> Result<Option<LinkTarget>> {
        let key = self.prefix.join(key)?;
        Ok(self.store.as_local().and_then(|local| local.link_target(&key, &self.prefix)))
    }

    /// Returns true if the store can list the objects of the node. It is false after the store has refused to.
    pub fn tells_keys(&self) -> bool {
        self.store.network().map_or_else(|| self.capabilities().lists, |network| network.tells_keys(&self.prefix))
    }

    /// Returns true if the store can list the objects of the node. A bucket is asked, as it may refuse.
    pub fn lists(&self) -> bool {
        let Capabilities { lists, is_remote } = self.capabilities();
        lists && (!is_remote || self.is_empty().is_ok() || self.tells_keys())
    }

    /// Returns the capabilities of the store.
    pub fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    /// Makes later reads of the object at the node's own key fail if it is remote and its version changes.
    pub(super) fn keep_version(&self) {
        if let Some(network) = self.store.network() {
            network.keep_version(&self.prefix);
        }
    }

    /// Returns the size of an object in bytes, or `None` if it is absent.
    pub fn size(&self, key: &str) -> Result<Option<u64>> {
        self.store.size(&self.prefix.join(key)?)
    }
}

//! Store in memory, for tests and for programs that do not use a disk. Also common code for stores with sorted keys:
//! kinds and listings of entries, and lazy opening of a file. And the view of a store whose documents are known from
//! consolidated metadata.

use std::collections::BTreeMap;
use std::iter::from_fn;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

use once_cell::sync::OnceCell;

use super::destination::NoLog;
use super::{
    Depth, Entry, EntryKind, Key, Log, Node, ObjectReader, ObjectWriter, Part, Put, ReadObject, Result, Store,
    StoreError, Tree, Visit, WriteObject, check_absent, held, object_name, part,
};

/// Store of objects in memory. Clones share the objects. It has no empty folders.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    name: String,
    objects: Arc<Mutex<BTreeMap<String, Arc<Vec<u8>>>>>,
}

impl MemoryStore {
    /// Creates an empty store with a name for messages.
    pub fn new(name: impl Into<String>) -> Self {
        MemoryStore { name: name.into(), objects: Arc::default() }
    }

    fn object(&self, key: &Key<'_>) -> Option<Arc<Vec<u8>>> {
        held(&self.objects).get(key.as_str()).cloned()
    }
}

impl Store for MemoryStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, key: &Key<'_>, _most: u64) -> Result<Option<ObjectReader>> {
        if let Some(object) = self.object(key) {
            return Ok(Some(Box::new(MemoryReader { bytes: object, name: self.shown(key) })));
        }
        match self.kind(key)? {
            Some(_) => Err(StoreError::NotAFile { object: self.shown(key), found: "a folder" }),
            None => Ok(None),
        }
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>> {
        Ok(self.object(key).map(|object| object.len() as u64))
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        Ok(held(&self.objects).kind(key))
    }

    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()> {
        // The lock must be released first, as `each` may use the store.
        let entries = held(&self.objects).copied_entries(below, depth);
        let _ = entries.iter().try_for_each(|(name, kind)| each(Entry::new(name, *kind)));
        Ok(())
    }

    fn put(&self, key: &Key<'_>, bytes: &[u8], how: Put) -> Result<bool> {
        let mut objects = held(&self.objects);
        if how == Put::New && objects.contains_key(key.as_str()) {
            return Ok(false);
        }
        objects.insert(key.as_str().to_owned(), Arc::new(bytes.to_vec()));
        Ok(true)
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter> {
        let key = key.clone().into_owned();
        Ok(Box::new(MemoryWriter { store: self.clone(), key, bytes: Vec::new() }))
    }

    fn remove(&self, key: &Key<'_>, what: Tree<'_>) -> Result<bool> {
        Ok(remove_from(&mut held(&self.objects), key, what))
    }

    fn create_folder(&self, key: &Key<'_>) -> Result<()> {
        check_absent(self, key)
    }

    /// Returns a name that the clones of a store share, and no other store has.
    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        object_name(&format!("memory:{:p}", Arc::as_ptr(&self.objects)), below).into_bytes()
    }

    /// Returns a log without contents. Writers with a journal, such as those of samples, need one.
    fn begin_log(&self, _key: &Key<'_>) -> Result<Box<dyn Log>> {
        Ok(Box::new(NoLog))
    }
}

/// Reader of an object in memory.
pub struct MemoryReader {
    /// All bytes of the object.
    pub bytes: Arc<Vec<u8>>,
    /// Name in messages.
    pub name: String,
}

impl ReadObject for MemoryReader {
    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        Part::Range { offset, length }.of(self.length(), u64::MAX, || self.name.clone())?;
        bytes.clear();
        bytes.extend_from_slice(part(&self.bytes, offset, length).unwrap_or_default());
        Ok(())
    }
}

struct MemoryWriter {
    store: MemoryStore,
    key: Key<'static>,
    bytes: Vec<u8>,
}

impl WriteObject for MemoryWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn write_at_start(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.splice(..bytes.len().min(self.bytes.len()), bytes.iter().copied());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.store.put(&self.key, &self.bytes, Put::Plain).map(drop)
    }
}

/// Sorted keys of a store.
pub(super) trait SortedKeys {
    /// Returns the keys from `text` on, each of a file or of a folder, which may be empty.
    fn keys_from<'s>(&'s self, text: &str) -> impl Iterator<Item = (&'s str, EntryKind)> + use<'s, Self>;

    /// Returns the names that are not keys, in a printable form.
    fn unnamed(&self) -> &[String] {
        &[]
    }

    /// Returns true if there is a key below `folder`. `""` is the root.
    fn holds_below(&self, folder: &str) -> bool {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        self.keys_from(&prefix).next().is_some_and(|(first, _)| first.starts_with(&prefix))
    }

    /// Returns the kind of the entry at a key. The root is a folder if there is any key.
    fn kind(&self, key: &Key<'_>) -> Option<EntryKind> {
        match self.keys_from(key.as_str()).next() {
            Some((first, kind)) if first == key.as_str() => Some(kind),
            // A key such as `a-b` sorts between `a` and `a/b`, so the first key does not show whether `a` is a folder.
            _ => self.holds_below(key.as_str()).then_some(EntryKind::Folder),
        }
    }

    /// Returns the entries below a key.
    fn entries<'s>(&'s self, below: &Key<'_>, depth: Depth) -> impl Iterator<Item = Entry<'s>> + use<'s, Self> {
        let prefix = below.prefix();
        // A name that is not a key belongs to no folder, so all of them are listed at the root.
        let unnamed = if below.is_root() { self.unnamed() } else { &[] };
        let mut keys = self.keys_from(&prefix);
        let named = from_fn(move || {
            loop {
                let (key, kind) = keys.next()?;
                let name = key.strip_prefix(&prefix)?;
                if let Some((folder, _)) = name.split_once('/').filter(|_| depth == Depth::Folder) {
                    // `0` is the character after `/`, so this skips everything in the folder.
                    keys = self.keys_from(&format!("{prefix}{folder}0"));
                    return Some(Entry::new(folder, EntryKind::Folder));
                }
                // A folder with contents is listed through them.
                if kind == EntryKind::File || (depth == Depth::Folder && !self.holds_below(key)) {
                    return Some(Entry::new(name, kind));
                }
            }
        });
        unnamed.iter().map(|name| Entry::new(name, EntryKind::Unnamed)).chain(named)
    }

    /// Returns a copy of the entries below a key. Callers with a lock can then release it before they use the entries.
    fn copied_entries(&self, below: &Key<'_>, depth: Depth) -> Vec<(String, EntryKind)> {
        self.entries(below, depth).map(|entry| (entry.name.to_owned(), entry.kind)).collect()
    }
}

impl<V> SortedKeys for BTreeMap<String, V> {
    fn keys_from<'s>(&'s self, text: &str) -> impl Iterator<Item = (&'s str, EntryKind)> + use<'s, V> {
        self.range::<str, _>((Bound::Included(text), Bound::Unbounded)).map(|(key, _)| (key.as_str(), EntryKind::File))
    }
}

/// Returns true if a key is below another one.
fn is_below(key: &str, folder: &str) -> bool {
    folder.is_empty() || key.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Removes the objects of a map at or below a key. Returns false if there were none.
pub(super) fn remove_from<V>(map: &mut BTreeMap<String, V>, key: &Key<'_>, what: Tree<'_>) -> bool {
    let key = key.as_str();
    if what == Tree::Object {
        return map.remove(key).is_some();
    }
    let before = map.len();
    let is_kept = |name: &str| matches!(what, Tree::AllBut(kept) if is_below(name, kept.as_str()));
    map.retain(|name, _| is_kept(name) || !is_below(name, key));
    map.len() < before
}

/// Returns the opened value, or opens it. Only one thread opens at a time. Errors and `None` are not cached.
pub(super) fn get_or_open<T>(opened: &OnceCell<T>, open: impl FnOnce() -> Result<Option<T>>) -> Result<Option<&T>> {
    match opened.get_or_try_init(|| open().map_err(Some)?.ok_or(None)) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) => error.map_or(Ok(None), Err),
    }
}

/// Use of the copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsolidatedScope {
    /// Only the list of nodes, because the store cannot list.
    Listings,
    /// The documents too, without a request for each.
    Documents,
}

struct ConsolidatedView {
    inner: Arc<dyn Store>,
    below: Key<'static>,
    /// Documents by their keys in the store.
    documents: BTreeMap<String, Vec<u8>>,
    scope: ConsolidatedScope,
}

impl Node {
    /// Returns the node with known documents, by their keys relative to the node.
    #[must_use]
    pub fn with_documents(&self, documents: BTreeMap<String, Vec<u8>>, scope: ConsolidatedScope) -> Node {
        let whole = |key: &str| Some(self.prefix.join(key).ok()?.as_str().to_owned());
        let documents = documents.into_iter().filter_map(|(key, bytes)| Some((whole(&key)?, bytes))).collect();
        let (inner, below) = (self.store.clone(), self.prefix.clone());
        let store = Arc::new(ConsolidatedView { inner, below, documents, scope });
        Node { store, prefix: self.prefix.clone() }
    }
}

impl ConsolidatedView {
    fn document(&self, key: &Key<'_>) -> Option<&Vec<u8>> {
        self.documents.get(key.as_str()).filter(|_| self.scope == ConsolidatedScope::Documents)
    }

    /// Returns true if a key is a metadata document that the copies exclude. They have another document of this node,
    /// or the node is only a folder in them.
    fn is_excluded(&self, key: &Key<'_>) -> bool {
        const NAMES: [&str; 4] = ["zarr.json", ".zarray", ".zgroup", ".zattrs"];
        let Some((folder, name)) = key.split_last() else { return false };
        self.scope == ConsolidatedScope::Documents
            && NAMES.contains(&name)
            && self.has_listing_of(&folder)
            && self.documents.kind(&folder) == Some(EntryKind::Folder)
    }

    /// Returns true if the copies contain the listing of a folder.
    fn has_listing_of(&self, folder: &Key<'_>) -> bool {
        *folder == self.below || is_below(folder.as_str(), self.below.as_str())
    }
}

impl Store for ConsolidatedView {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(&*self.inner)
    }

    fn read(&self, key: &Key<'_>, part: Part, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        match self.document(key) {
            Some(document) if part == Part::Whole && document.len() as u64 <= most => {
                into.clone_from(document);
                Ok(true)
            }
            // A node has one document that counts. If it is known, no other one exists.
            None if self.is_excluded(key) => Ok(false),
            _ => self.inner.read(key, part, most, into),
        }
    }

    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>> {
        if self.document(key).is_none() && self.is_excluded(key) {
            return Ok(None);
        }
        self.inner.open(key, most)
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>> {
        self.inner.size(key)
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        self.inner.kind(key)
    }

    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()> {
        // The copies contain only documents, and a listing of all objects is for chunks.
        if depth == Depth::All || !self.has_listing_of(below) {
            return self.inner.list(below, depth, each);
        }
        let prefix = below.prefix();
        let mut names = self.documents.keys_from(&prefix).map_while(|(key, _)| key.strip_prefix(&prefix));
        if self.capabilities().lists && !names.any(|name| name.contains('/')) {
            // No node is below this one. The copies do not know other contents, such as the chunks of an array.
            return self.inner.list(below, depth, each);
        }
        let _ = self.documents.entries(below, depth).try_for_each(each);
        Ok(())
    }

    fn prefetch(&self, soon: &[(Key<'_>, Part)]) {
        let unknown: Vec<_> =
            soon.iter().filter(|(key, _)| self.document(key).is_none() && !self.is_excluded(key)).cloned().collect();
        self.inner.prefetch(&unknown);
    }
}

#[cfg(test)]
mod consolidated_tests {
    use super::*;
    use crate::store::MemoryStore;

    fn names(node: &Node, folder: &str) -> (Vec<String>, Vec<String>) {
        let listing = node.list(folder).unwrap();
        (listing.folders, listing.files)
    }

    #[test]
    fn documents_that_are_known_are_served_and_listed() {
        let inner = Node::of(Arc::new(MemoryStore::new("m"))).child("top").unwrap();
        inner.write("a/zarr.json", b"real").unwrap();
        inner.write("a/c/0", b"chunk").unwrap();
        inner.write("notes", b"x").unwrap();
        let copies = [("a/zarr.json", "copy"), ("g/b/zarr.json", "copy")];
        let copies: BTreeMap<_, _> =
            copies.into_iter().map(|(key, text)| (key.to_owned(), text.as_bytes().to_vec())).collect();
        let node = inner.with_documents(copies.clone(), ConsolidatedScope::Documents);
        assert_eq!(node.read_document("a/zarr.json").unwrap().unwrap(), b"copy");
        assert_eq!(node.read_document("a/.zarray").unwrap(), None);
        assert_eq!(node.read_document("a/c/0").unwrap().unwrap(), b"chunk");
        assert_eq!(names(&node, ""), (vec!["a".to_owned(), "g".to_owned()], vec![]));
        assert_eq!(names(&node, "g"), (vec!["g/b".to_owned()], vec![]));
        // A path that is not a node is read from the store.
        assert_eq!(names(&node, "a"), (vec!["a/c".to_owned()], vec!["a/zarr.json".to_owned()]));
        assert_eq!(names(&node, "a/c"), (vec![], vec!["a/c/0".to_owned()]));
        let node = inner.with_documents(copies, ConsolidatedScope::Listings);
        assert_eq!(node.read_document("a/zarr.json").unwrap().unwrap(), b"real");
        assert_eq!(node.read_document("g/b/zarr.json").unwrap(), None);
        assert_eq!(names(&node, "g"), (vec!["g/b".to_owned()], vec![]));
    }
}

//! The view of a store whose documents are known from consolidated metadata.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::sorted_keys::{SortedKeys, is_below};
use super::{Depth, EntryKind, Key, Node, ObjectReader, Part, Result, Store, Visit};

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
mod tests {
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

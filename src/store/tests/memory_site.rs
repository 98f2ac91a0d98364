//! The places of hierarchies in memory, so that each route is tried there, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::memory::{Object, held};
use crate::store::sorted_keys::is_below;
use crate::store::{Key, MemoryStore, Node, Relation, Site, Spot, Store, StoreError};

/// A key, and `.NAME.zarrcast` and `.NAME.zarrcast-old` beside it.
#[derive(Debug)]
pub(in crate::store) struct MemorySite {
    store: MemoryStore,
    place: Key<'static>,
}

impl MemorySite {
    pub(in crate::store) fn new(store: MemoryStore, place: &Key<'_>) -> Self {
        MemorySite { store, place: place.clone().into_owned() }
    }

    fn key(&self, spot: Spot) -> Key<'static> {
        let suffix = match spot {
            Spot::Place => return self.place.clone(),
            Spot::Staging => "",
            Spot::Aside => "-old",
        };
        self.place.renamed(|name| format!(".{name}.zarrcast{suffix}"))
    }

    /// The objects at a spot, which are taken away from there, by their keys below it.
    fn take(&self, objects: &mut BTreeMap<String, Arc<Object>>, spot: Spot) -> Vec<(String, Arc<Object>)> {
        let folder = self.key(spot);
        let taken = objects.extract_if(.., |key, _| is_below(key, folder.as_str()));
        taken.map(|(key, object)| (key[folder.as_str().len()..].to_owned(), object)).collect()
    }

    fn put(
        &self,
        objects: &mut BTreeMap<String, Arc<Object>>,
        spot: Spot,
        taken: Vec<(String, Arc<Object>)>,
    ) {
        let folder = self.key(spot);
        objects.extend(taken.into_iter().map(|(key, object)| (format!("{}{key}", folder.as_str()), object)));
    }
}

impl Site for MemorySite {
    fn node(&self, spot: Spot) -> Node {
        Node::of(Arc::new(self.store.clone())).below(&self.key(spot))
    }

    fn relation(&self, other: &Node) -> Result<Relation, StoreError> {
        let place = self.node(Spot::Place);
        let lies_in = |inner: &Node, outer: &Node| {
            let (inner, outer) = (inner.identity(), outer.identity());
            inner.strip_prefix(&*outer).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        let names = || (other.name(), place.name());
        Ok(Relation::of(lies_in(&place, other), lies_in(other, &place), names))
    }

    /// Nothing is beside the store itself.
    fn is_fixed(&self) -> bool {
        self.place.is_root()
    }

    fn link_from(&self, _other: &Node) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    fn exchange(&self, a: Spot, b: Spot) -> Result<bool, StoreError> {
        let mut objects = held(&self.store.objects);
        let (of_a, of_b) = (self.take(&mut objects, a), self.take(&mut objects, b));
        self.put(&mut objects, a, of_b);
        self.put(&mut objects, b, of_a);
        Ok(true)
    }

    fn rename(&self, from: Spot, to: Spot) -> Result<(), StoreError> {
        let from_key = self.key(from);
        let error = |kind| self.store.error("rename", &from_key, kind);
        if self.store.kind(&from_key)?.is_none() {
            return Err(error(std::io::ErrorKind::NotFound));
        }
        if self.store.kind(&self.key(to))?.is_some() {
            return Err(error(std::io::ErrorKind::DirectoryNotEmpty));
        }
        let mut objects = held(&self.store.objects);
        let taken = self.take(&mut objects, from);
        self.put(&mut objects, to, taken);
        Ok(())
    }

    fn settle_spots(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn settle_names(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

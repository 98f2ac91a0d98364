//! Places of hierarchies in object stores, where nothing takes another's place at once.

use super::same;
use crate::store::{Node, Relation, Site, Spot, StoreError};

/// A key, and names beside it at which nothing is written.
#[derive(Debug)]
pub(super) struct RemoteSite {
    pub(super) place: Node,
}

impl RemoteSite {
    fn unsupported(&self) -> StoreError {
        StoreError::unsupported("rename", self.place.name())
    }
}

impl Site for RemoteSite {
    fn node(&self, spot: Spot) -> Node {
        let suffix = match spot {
            Spot::Place => return self.place.clone(),
            Spot::Staging => "",
            Spot::Aside => "-old",
        };
        let prefix = self.place.prefix.renamed(|name| format!(".{name}.zarrcast{suffix}"));
        Node { store: self.place.store.clone(), prefix }
    }

    fn relation(&self, other: &Node) -> Result<Relation, StoreError> {
        let lies_in = |inner: &Node, outer: &Node| {
            let (inner, outer) = (inner.identity(), outer.identity());
            inner.strip_prefix(&*outer).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        if let Some(relation) = same::relation(&self.place, other)? {
            return Ok(relation);
        }
        let names = || (other.name(), self.place.name());
        Ok(Relation::of(lies_in(&self.place, other), lies_in(other, &self.place), names))
    }

    fn stages(&self) -> bool {
        false
    }

    fn is_fixed(&self) -> bool {
        false
    }

    fn link_from(&self, _other: &Node) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    fn exchange(&self, _a: Spot, _b: Spot) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn rename(&self, _from: Spot, _to: Spot) -> Result<(), StoreError> {
        Err(self.unsupported())
    }

    fn settle_spots(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn settle_names(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

//! Where a node is, as findings and messages name it.

use super::error::OperationError;
use crate::diagnostic::Diagnostic;
use crate::store::{Key, Location, Node, StoreError};

/// A node in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The store, as the user named it.
    pub store: String,
    /// The node: `/` for the store itself, else `/a/b`.
    pub path: String,
}

impl Place {
    /// The place of `--node` in STORE. An error where the path would lead out of it.
    pub fn new(store: &Location, node: Option<&str>) -> Result<Self, OperationError> {
        let path = node.unwrap_or_default().trim_matches('/');
        let is_wrong = |name: &&str| !path.is_empty() && Key::new(name).is_err();
        if let Some(name) = path.split('/').find(is_wrong) {
            return Err(OperationError::usage(format!("--node: `{name}` is not the name of a node"))
                .with_help("give a path inside the store, such as group/temperature"));
        }
        Ok(Place { store: store.display().to_string(), path: format!("/{path}") })
    }

    /// A node below this one, by its name.
    #[must_use]
    pub fn child(&self, name: &str) -> Place {
        let parent = self.path.trim_end_matches('/');
        Place { store: self.store.clone(), path: format!("{parent}/{name}") }
    }

    /// True if it is the store itself.
    pub fn is_root(&self) -> bool {
        self.path == "/"
    }

    /// The path without the leading slash; empty for the store itself.
    pub fn relative(&self) -> &str {
        &self.path[1..]
    }

    /// As messages name it: STORE, and the path where there is one.
    pub fn name(&self) -> String {
        if self.is_root() {
            return self.store.clone();
        }
        format!("{}{}", self.store.trim_end_matches('/'), self.path)
    }

    /// A key of the node, relative to the store.
    pub fn key(&self, key: &str) -> String {
        if self.is_root() { key.to_owned() } else { format!("{}/{key}", self.relative()) }
    }

    /// The node in its store.
    pub fn node(&self, store: &Location) -> Result<Node, OperationError> {
        self.below(&store.node()).map_err(|error| {
            OperationError::usage(format!("`{}` names no node", self.name()))
                .because(error)
                .with_help("give a path inside the store, such as group/temperature")
        })
    }

    /// The node below that of the store.
    pub fn below(&self, store: &Node) -> Result<Node, StoreError> {
        if self.is_root() { Ok(store.clone()) } else { store.child(self.relative()) }
    }

    /// A finding about the node.
    #[must_use]
    pub fn holds(&self, found: Diagnostic) -> Diagnostic {
        found.in_store(self.store.as_str()).at_node(self.path.as_str())
    }

    /// Gives findings their store and node, and makes their keys (those without one: `key`) relative to the store.
    pub fn locate(&self, diagnostics: &mut [Diagnostic], key: &str) {
        for diagnostic in diagnostics {
            let own = diagnostic.location.key.take();
            diagnostic.location.key = Some(self.key(own.as_deref().unwrap_or(key)));
            diagnostic.location.store = Some(self.store.clone());
            diagnostic.location.node = Some(self.path.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(text: &str) -> Location {
        Location::parse(text).unwrap()
    }

    #[test]
    fn place_knows_its_names() {
        let root = Place::new(&location("a.zarr"), None).unwrap();
        assert_eq!(
            (root.path.as_str(), root.name().as_str(), root.key("zarr.json").as_str()),
            ("/", "a.zarr", "zarr.json")
        );
        let node = Place::new(&location("a.zarr/"), Some("/b/c/")).unwrap();
        assert_eq!(node.path, "/b/c");
        assert_eq!(node.name(), "a.zarr/b/c");
        assert_eq!(node.key("c/0"), "b/c/c/0");
        assert_eq!(root.child("b").child("c").path, "/b/c");
        for path in ["b/../../c", "b//c", ".", "b/\u{7f}"] {
            assert!(Place::new(&location("a"), Some(path)).is_err(), "{path:?}");
        }
    }
}

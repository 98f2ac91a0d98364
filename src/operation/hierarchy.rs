//! The nodes of a local store, read as far as they go: every folder below a group is looked at, none below an array.
//!
//! Bounded: no link to a folder is followed, no folder deeper than [`MAX_DEPTH`] is looked at, and memory grows with
//! what is there. Folders of one depth are read in parallel; the nodes come in the order of their paths.

mod consolidated;
mod copies;
mod walk;

use std::cmp::Ordering;

use super::document::{DocumentError, Documents, read_documents};
use super::error::OperationError;
use super::group::GroupReading;
use super::open::ArrayReading;
use super::place::Place;
use crate::diagnostic::{Diagnostic, Profile, code};
use crate::engine::driver::Driver;
use crate::metadata::group::NodeKind;
use crate::store::{FolderListing, Location, Node};

/// The most folders within each other.
pub const MAX_DEPTH: usize = 128;

/// The nodes of a store.
#[derive(Debug)]
pub struct Hierarchy {
    /// In the order of their paths, name by name; the root first.
    pub nodes: Vec<HierarchyNode>,
    /// Folders that could not be looked at, in the same order.
    pub failures: Vec<UnreadFolder>,
}

/// A folder that could not be looked at.
#[derive(Debug)]
pub struct UnreadFolder {
    /// Its path in the store, `/a/b`.
    pub path: String,
    /// Why.
    pub error: OperationError,
}

/// A node.
#[derive(Debug)]
pub struct HierarchyNode {
    /// Where it is.
    pub place: Place,
    /// The array or group.
    pub content: NodeContent,
    /// Findings about the node as a member of the hierarchy; for a group also about its consolidated metadata.
    pub diagnostics: Vec<Diagnostic>,
    /// In a group's folder, everything beside its members, keys relative to the store; `folders` are those without a
    /// node. Empty for an array, whose keys are chunks.
    pub rest: FolderListing,
}

/// A node as it was read.
#[derive(Debug)]
pub enum NodeContent {
    /// An array.
    Array(Box<ArrayReading>),
    /// A group.
    Group(Box<GroupReading>),
    /// A folder without documents, with nodes below it.
    Implicit,
    /// Its document cannot be read; the node's diagnostics say why.
    Broken,
}

impl NodeContent {
    /// Its documents, where they could be read.
    pub fn documents(&self) -> Option<&Documents> {
        match self {
            NodeContent::Array(array) => Some(&array.documents),
            NodeContent::Group(group) => Some(&group.documents),
            NodeContent::Implicit | NodeContent::Broken => None,
        }
    }

    /// The version of their format.
    pub fn zarr_format(&self) -> Option<u64> {
        self.documents().map(|documents| documents.zarr_format)
    }
}

impl HierarchyNode {
    /// Judges the findings about it.
    pub fn judge(&mut self, profile: Profile) {
        profile.judge(self.document_diagnostics_mut());
    }

    /// The same as [`Self::document_diagnostics`], to be judged.
    pub fn document_diagnostics_mut(&mut self) -> impl Iterator<Item = &mut Diagnostic> {
        let documents = match &mut self.content {
            NodeContent::Array(array) => array.diagnostics.as_mut_slice(),
            NodeContent::Group(group) => group.diagnostics.as_mut_slice(),
            NodeContent::Implicit | NodeContent::Broken => &mut [],
        };
        documents.iter_mut().chain(&mut self.diagnostics)
    }

    /// The array, where it is one.
    pub fn array(&self) -> Option<&ArrayReading> {
        if let NodeContent::Array(array) = &self.content { Some(array) } else { None }
    }

    /// The group, where it is one with documents.
    pub fn group(&self) -> Option<&GroupReading> {
        if let NodeContent::Group(group) = &self.content { Some(group) } else { None }
    }

    /// The findings about its documents, then those about its place in the hierarchy.
    pub fn document_diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let documents = match &self.content {
            NodeContent::Array(array) => array.diagnostics.as_slice(),
            NodeContent::Group(group) => group.diagnostics.as_slice(),
            NodeContent::Implicit | NodeContent::Broken => &[],
        };
        documents.iter().chain(&self.diagnostics)
    }
}

/// Reads every node of a store, or of `node` in it. An error only where there is no node to begin with.
pub fn read_hierarchy(store: &Location, node: Option<&str>, driver: &Driver) -> Result<Hierarchy, OperationError> {
    let start = Place::new(store, node)?;
    let root = store.node();
    let folder = start.node(store)?;
    if root.abilities().is_remote {
        let documents = match read_documents(&folder) {
            // A finding of the node, below which there may be others.
            Err(DocumentError::Json { .. }) if root.abilities().lists => {
                return Ok(read_from(&start, &root, None, driver));
            }
            read => super::open::documents_that_must_be(read, &folder, &start.name())?,
        };
        let root = copies::listed_by_copies(&start, root, &documents);
        return Ok(read_from(&start, &root, Some(documents), driver));
    }
    if !super::document::has_documents(&folder) {
        // Says what is missing.
        super::open::open_documents(&folder, &start.name())?;
    }
    Ok(read_from(&start, &root, None, driver))
}

/// The same from the documents of the node, which are read already. Behind a network the copies in its consolidated
/// metadata serve where it has some: no node below it is asked for.
pub fn read_hierarchy_by_copies(
    store: &Location,
    node: Option<&str>,
    documents: Documents,
    driver: &Driver,
) -> Result<Hierarchy, OperationError> {
    let start = Place::new(store, node)?;
    let root = copies::served_by_copies(&start, store.node(), &documents);
    if root.abilities().is_remote {
        // Copies are not held against themselves: that is for `validate`, which reads the documents.
        return Ok(walked(&start, &root, Some(documents), driver));
    }
    Ok(read_from(&start, &root, Some(documents), driver))
}

/// The same of a store whose own documents are read already.
pub fn read_hierarchy_below(
    store: &Location,
    documents: Documents,
    driver: &Driver,
) -> Result<Hierarchy, OperationError> {
    let start = Place::new(store, None)?;
    let root = copies::listed_by_copies(&start, store.node(), &documents);
    Ok(read_from(&start, &root, Some(documents), driver))
}

fn read_from(start: &Place, root: &Node, documents: Option<Documents>, driver: &Driver) -> Hierarchy {
    let mut hierarchy = walked(start, root, documents, driver);
    consolidated::check(&mut hierarchy.nodes);
    hierarchy
}

fn walked(start: &Place, root: &Node, documents: Option<Documents>, driver: &Driver) -> Hierarchy {
    let mut hierarchy = walk::walk(start, root, documents, driver);
    hierarchy.nodes.sort_by(|a, b| compare_paths(&a.place.path, &b.place.path));
    hierarchy
}

/// The order of paths: name by name, so that a group comes right before what is in it.
pub fn compare_paths(a: &str, b: &str) -> Ordering {
    a.trim_start_matches('/').split('/').cmp(b.trim_start_matches('/').split('/'))
}

/// The node of a folder; `None` where there are no documents. An error where the machine is at fault.
fn read_node(place: &Place, node: Node) -> Result<Option<(NodeContent, Vec<Diagnostic>)>, OperationError> {
    match read_documents(&node) {
        Ok(None) => Ok(None),
        Ok(Some(documents)) => Ok(Some((content(place, node, documents)?, Vec::new()))),
        Err(error) => match error.diagnostic() {
            Some(found) => {
                let mut found = vec![found];
                place.locate(&mut found, "zarr.json");
                Ok(Some((NodeContent::Broken, found)))
            }
            None => Err(unreadable(place, error)),
        },
    }
}

fn unreadable(place: &Place, error: DocumentError) -> OperationError {
    OperationError::environment(format!("`{}` cannot be read", place.name())).because(error)
}

fn content(place: &Place, node: Node, documents: Documents) -> Result<NodeContent, OperationError> {
    Ok(if documents.kind == NodeKind::Array {
        NodeContent::Array(Box::new(ArrayReading::of(place.clone(), node, documents)))
    } else {
        let group = GroupReading::of(place.clone(), node, documents);
        NodeContent::Group(Box::new(group.map_err(|error| unreadable(place, error.into()))?))
    })
}

/// The finding for a name that the format does not allow for a node (Zarr v3 core, "node names"). v2 reserves no
/// names.
pub fn check_name(place: &Place, zarr_format: Option<u64>) -> Option<Diagnostic> {
    let name = place.path.rsplit('/').next()?;
    let reason = if !name.is_empty() && name.bytes().all(|byte| byte == b'.') {
        "it is nothing but periods"
    } else if name.starts_with("__") && zarr_format != Some(2) {
        "names that begin with `__` are reserved"
    } else {
        return None;
    };
    let message = format!("{} is not the name of a node: {reason}", crate::metadata::json::Json::from(name).excerpt());
    Some(Diagnostic::new(code::NODE_NAME, message).with_help("rename the node's folder"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_ordered_name_by_name() {
        let mut paths = ["/a-b", "/a/c", "/", "/a", "/b", "/a/b/c"];
        paths.sort_by(|a, b| compare_paths(a, b));
        assert_eq!(paths, ["/", "/a", "/a/b/c", "/a/c", "/a-b", "/b"]);
    }

    #[test]
    fn names_of_periods_and_reserved_names_are_found() {
        let named =
            |path: &str, format| check_name(&Place { store: "s".into(), path: path.into() }, Some(format)).is_some();
        assert!(named("/...", 3) && named("/a/__b", 3) && named("/.", 2));
        assert!(!named("/", 3) && !named("/a.b", 3) && !named("/_a", 3) && !named("/.a", 3));
        assert!(!named("/a/__b", 2));
    }
}

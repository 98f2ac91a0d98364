//! The walk over the folders of a store, depth by depth.

use std::collections::HashSet;

use super::{
    Documents, Hierarchy, HierarchyNode, MAX_DEPTH, NodeContent, UnreadFolder, check_name, content, read_node,
};
use crate::array::listing::DOCUMENT_KEYS;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::Driver;
use crate::operation::document::expect_documents;
use crate::operation::{OperationError, Place};
use crate::store::{FolderListing, Node};

/// A folder to be looked at.
struct Folder {
    place: Place,
    /// The format of the nearest group above it.
    parent_format: Option<u64>,
    /// True if folders without nodes are no finding: below a document that cannot be read, they may be chunks.
    lenient: bool,
}

/// A folder: its node, with the findings about it, and the keys relative to the store.
type Visited = (Option<(NodeContent, Vec<Diagnostic>)>, FolderListing);

/// Reads every node from `start` down, whose documents may have been read already.
pub(super) fn walk(start: &Place, root: &Node, documents: Option<Documents>, driver: &Driver) -> Hierarchy {
    let (mut nodes, mut failures, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    let mut level = vec![Folder { place: start.clone(), parent_format: None, lenient: false }];
    let mut visited = vec![visit(root, start, documents)];
    let mut depth = 0;
    while !level.is_empty() {
        let mut next = Vec::new();
        for (folder, visited) in level.into_iter().zip(visited) {
            let (node, mut listing) = match visited {
                Ok(visited) => visited,
                Err(failure) => {
                    failures.push(UnreadFolder { path: folder.place.path, error: failure });
                    continue;
                }
            };
            let members = std::mem::take(&mut listing.folders);
            let Some((content, mut diagnostics)) = node else {
                push_members(&folder, folder.parent_format, folder.lenient, &members, &mut next);
                bare.push((folder, listing));
                continue;
            };
            let format = content.zarr_format();
            diagnostics.extend(check_standing(&folder, format));
            let is_broken = matches!(content, NodeContent::Broken);
            if !matches!(content, NodeContent::Array(_)) {
                if depth == MAX_DEPTH && !members.is_empty() {
                    diagnostics.push(too_deep(&folder.place));
                } else {
                    push_members(&folder, format, is_broken || folder.lenient, &members, &mut next);
                }
                listing.files.retain(|key| !is_document(key));
            }
            let rest = if is_broken { FolderListing::default() } else { listing };
            nodes.push(HierarchyNode { place: folder.place, content, diagnostics, rest });
        }
        depth += 1;
        level = if depth > MAX_DEPTH { Vec::new() } else { next };
        visited = visit_all(root, &level, driver);
    }
    place_bare(bare, &mut nodes);
    failures.sort_by(|a: &UnreadFolder, b| super::compare_paths(&a.path, &b.path));
    Hierarchy { nodes, failures }
}

fn is_document(key: &str) -> bool {
    key.rsplit('/').next().is_some_and(|name| DOCUMENT_KEYS.contains(&name))
}

fn push_members(folder: &Folder, format: Option<u64>, lenient: bool, members: &[String], next: &mut Vec<Folder>) {
    let names = members.iter().filter_map(|key| key.rsplit('/').next());
    let member = |name| Folder { place: folder.place.child(name), parent_format: format, lenient };
    next.extend(names.map(member));
}

/// Looks at folders, many at once. Behind a network some are asked for before they are looked at.
fn visit_all(root: &Node, level: &[Folder], driver: &Driver) -> Vec<Result<Visited, OperationError>> {
    const AT_ONCE: usize = 32;
    let look = |folder: &Folder| visit(root, &folder.place, None);
    if root.prefetch_limit().is_none() {
        return driver.map_plain(level, look);
    }
    let mut visited = Vec::with_capacity(level.len());
    for folders in level.chunks(AT_ONCE) {
        let nodes = folders.iter().filter_map(|folder| folder.place.below(root).ok());
        nodes.for_each(|node| expect_documents(&node));
        visited.extend(driver.map_plain(folders, look));
    }
    visited
}

fn visit(root: &Node, place: &Place, documents: Option<Documents>) -> Result<Visited, OperationError> {
    let cannot_list = |error| OperationError::cannot_list(place.name(), error);
    let folder = place.below(root).map_err(cannot_list)?;
    let node = match documents {
        Some(documents) => Some((content(place, folder, documents)?, Vec::new())),
        None => read_node(place, folder)?,
    };
    // What lies in the folder of an array is listed when its chunks are.
    let listing = if matches!(node, Some((NodeContent::Array(_), _))) {
        FolderListing::default()
    } else {
        root.list(place.relative()).map_err(cannot_list)?
    };
    Ok((node, listing))
}

/// The findings about a node's name and format.
fn check_standing(folder: &Folder, format: Option<u64>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = check_name(&folder.place, format.or(folder.parent_format)).into_iter().collect();
    if let (Some(parent), Some(own)) = (folder.parent_format, format)
        && parent != own
    {
        let message = format!("a node of Zarr v{own} in a group of Zarr v{parent}, whose readers do not see it");
        found.push(Diagnostic::new(code::FORMATS_MIXED, message).with_help("give all nodes of a hierarchy one format"));
    }
    found.into_iter().map(|found| folder.place.holds(found)).collect()
}

fn too_deep(place: &Place) -> Diagnostic {
    let message = format!("folders deeper than {MAX_DEPTH} are not looked at");
    place.holds(Diagnostic::new(code::HIERARCHY_DEPTH, message))
}

/// Folders without documents: those with nodes below them are groups that lack their document, the topmost of the
/// others belong to no node.
fn place_bare(bare: Vec<(Folder, FolderListing)>, nodes: &mut Vec<HierarchyNode>) {
    let mut above: HashSet<String> = HashSet::new();
    for node in nodes.iter() {
        let mut path = node.place.path.as_str();
        while let Some(end) = path.rfind('/').filter(|end| *end > 0) {
            path = &path[..end];
            if !above.insert(path.to_owned()) {
                break;
            }
        }
    }
    let mut strays: Vec<(Place, FolderListing)> = Vec::new();
    for (folder, listing) in bare {
        if above.contains(&folder.place.path) {
            let message = "a folder with arrays or groups in it, but without group metadata: readers do not find them";
            let found = Diagnostic::new(code::GROUP_IMPLICIT, message)
                .with_help("write {\"zarr_format\": 3, \"node_type\": \"group\"} into its `zarr.json`");
            let diagnostics = vec![folder.place.holds(found)];
            nodes.push(HierarchyNode {
                place: folder.place,
                content: NodeContent::Implicit,
                diagnostics,
                rest: listing,
            });
        } else if !folder.lenient {
            strays.push((folder.place, listing));
        }
    }
    attribute(strays, nodes);
}

/// Gives each topmost folder without nodes to the node that it lies in.
fn attribute(strays: Vec<(Place, FolderListing)>, nodes: &mut [HierarchyNode]) {
    let places: std::collections::HashMap<String, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.place.path.clone(), index)).collect();
    for (stray, listing) in strays {
        let parent = stray.path.rfind('/').map_or("/", |end| if end == 0 { "/" } else { &stray.path[..end] });
        let Some(index) = places.get(parent) else { continue };
        if let Some(key) = listing.files.iter().find(|key| is_document(key)) {
            let message = "the documents of a node without the one that makes it a node";
            let found = Diagnostic::new(code::NODE_MISSING, message)
                .with_help("restore its `.zarray` or `.zgroup`, or remove the folder");
            nodes[*index].diagnostics.push(stray.holds(found).at_key(key.as_str()));
        } else {
            nodes[*index].rest.folders.push(stray.relative().to_owned());
        }
    }
}

//! The nodes of a store, read as far as possible. Every folder below a group is read, and none below an array.
//!
//! The work is bounded: no link to a folder is followed, and no folder deeper than [`MAX_DEPTH`] is read. Memory grows
//! with the number of entries. Folders of one depth are read in parallel. Nodes are in the order of their paths. The
//! copies in consolidated metadata are compared with the documents, or replace them if the store is remote.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use super::document::{
    CONSOLIDATED_KEY, DocumentError, expect_documents, has_documents, parse_document, read_documents,
};
use super::open::{needed_documents, open_documents};
use super::{ArrayReading, Documents, GroupReading, NodePath, OperationError, Result};
use crate::array::listing::is_document;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::Driver;
use crate::metadata::consolidated::{CONSOLIDATED_MEMBER, is_copy_of, says_nothing, without_copies};
use crate::metadata::{Consolidated, Json, NodeKind};
use crate::store::{ConsolidatedScope, FolderListing, Location, Node};

/// The maximum depth of folders.
pub const MAX_DEPTH: usize = 128;

/// The nodes of a store.
#[derive(Debug)]
pub struct Hierarchy {
    /// The nodes in the order of their paths, compared name by name. The root is first.
    pub nodes: Vec<HierarchyNode>,
    /// The path in the store (`/a/b`) of each folder that could not be read, and the reason, in the same order.
    pub failures: Vec<(String, OperationError)>,
}

impl Hierarchy {
    /// The nodes; an error where a folder could not be looked at.
    pub fn complete(self) -> Result<Vec<HierarchyNode>> {
        self.failures.into_iter().next().map_or(Ok(self.nodes), |(_, error)| Err(error))
    }

    /// The nodes and failures below `path`; an error if the folder at `path` itself could not be read.
    pub fn with_root(mut self, path: &str) -> Result<Self> {
        match self.failures.iter().position(|(folder, _)| folder == path) {
            Some(root) => Err(self.failures.swap_remove(root).1),
            None => Ok(self),
        }
    }
}

/// A node and the findings about it.
#[derive(Debug)]
pub struct HierarchyNode {
    /// The store and path of the node.
    pub node_path: NodePath,
    /// The array or group.
    pub content: NodeContent,
    /// Findings about the node as a member of the hierarchy. For a group, also about its consolidated metadata.
    pub diagnostics: Vec<Diagnostic>,
    /// All entries of a group's folder that are not its members, with keys relative to the store. `folders` are those
    /// without a node. Empty for an array, whose keys are chunks.
    pub rest: FolderListing,
}

/// The content of a node.
#[derive(Debug)]
pub enum NodeContent {
    /// An array.
    Array(Box<ArrayReading>),
    /// A group.
    Group(Box<GroupReading>),
    /// A folder without documents, with nodes below it.
    Implicit,
    /// The document cannot be read. The node's diagnostics contain the reason.
    Broken,
}

impl NodeContent {
    /// Returns the documents. `None` if they could not be read.
    pub fn documents(&self) -> Option<&Documents> {
        match self {
            NodeContent::Array(array) => Some(&array.documents),
            NodeContent::Group(group) => Some(&group.documents),
            NodeContent::Implicit | NodeContent::Broken => None,
        }
    }

    /// Returns the version of the format. `None` if the documents could not be read.
    pub fn zarr_format(&self) -> Option<u64> {
        self.documents().map(|documents| documents.zarr_format)
    }
}

impl HierarchyNode {
    /// Returns the findings of [`Self::document_diagnostics`] as mutable references.
    pub fn document_diagnostics_mut(&mut self) -> impl Iterator<Item = &mut Diagnostic> {
        let documents = match &mut self.content {
            NodeContent::Array(array) => array.diagnostics.as_mut_slice(),
            NodeContent::Group(group) => group.diagnostics.as_mut_slice(),
            NodeContent::Implicit | NodeContent::Broken => &mut [],
        };
        documents.iter_mut().chain(&mut self.diagnostics)
    }

    /// Returns the array. `None` for any other node.
    pub fn array(&self) -> Option<&ArrayReading> {
        if let NodeContent::Array(array) = &self.content { Some(array) } else { None }
    }

    /// Returns the group. `None` for any other node, and for a group without documents.
    pub fn group(&self) -> Option<&GroupReading> {
        if let NodeContent::Group(group) = &self.content { Some(group) } else { None }
    }

    /// Returns the findings about the documents, then those about the node's position in the hierarchy.
    pub fn document_diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let documents = match &self.content {
            NodeContent::Array(array) => array.diagnostics.as_slice(),
            NodeContent::Group(group) => group.diagnostics.as_slice(),
            NodeContent::Implicit | NodeContent::Broken => &[],
        };
        documents.iter().chain(&self.diagnostics)
    }
}

/// Reads all nodes of a store, or of `node` in it. An error only if there is no start node.
pub fn read_hierarchy(store: &Location, node: Option<&str>, driver: &Driver) -> Result<Hierarchy> {
    let start = NodePath::new(store, node)?;
    let root = store.node();
    let folder = start.node(store)?;
    // Each look at a remote store is a request. There, the documents that show whether there is a node go on to the
    // walk.
    let documents = if root.capabilities().is_remote {
        match read_documents(&folder) {
            // This is a finding of the node. There may be other nodes below it.
            Err(DocumentError::Json { .. }) if root.capabilities().lists => None,
            read => Some(needed_documents(read, &folder, &start.name())?),
        }
    } else {
        if !has_documents(&folder) {
            // Called for its error, which says what is missing.
            open_documents(&folder, &start.name())?;
        }
        None
    };
    Ok(read_from(&start, root, documents, driver))
}

/// Reads a node whose documents are already read, and all nodes below it. On a remote store, its consolidated metadata,
/// if any, replace the documents below it. No node below it is then requested.
pub fn read_hierarchy_by_copies(start: &NodePath, root: Node, documents: Documents, driver: &Driver) -> Hierarchy {
    if root.capabilities().is_remote {
        let root = with_copies(start, root, &documents, ConsolidatedScope::Documents);
        // Copies are not compared with themselves. `validate` reads the documents for that.
        return walk(start, &root, Some(documents), driver);
    }
    read_from(start, root, Some(documents), driver)
}

/// Reads the nodes from `start` down, whose documents may be read already. If the store cannot list keys, the copies of
/// the group at `start` list the nodes.
pub fn read_from(start: &NodePath, root: Node, documents: Option<Documents>, driver: &Driver) -> Hierarchy {
    let root = match &documents {
        Some(documents) if !root.capabilities().lists => {
            with_copies(start, root, documents, ConsolidatedScope::Listings)
        }
        _ => root,
    };
    let mut hierarchy = walk(start, &root, documents, driver);
    // A bucket that refuses to list is read as a web server is.
    if !hierarchy.failures.is_empty()
        && root.capabilities().lists
        && let Ok(folder) = start.below(&root)
        && !folder.tells_keys()
        && let Ok(Some(documents)) = read_documents(&folder)
    {
        let root = with_copies(start, root, &documents, ConsolidatedScope::Listings);
        hierarchy = walk(start, &root, Some(documents), driver);
    }
    check_copies(&mut hierarchy.nodes);
    hierarchy
}

/// Compares paths name by name, so that a group is directly before its members.
pub fn compare_paths(a: &str, b: &str) -> Ordering {
    a.trim_start_matches('/').split('/').cmp(b.trim_start_matches('/').split('/'))
}

/// Returns the finding for a name that the format does not allow for a node (Zarr v3 core, "node names"). v2 reserves
/// no names.
pub fn check_name(node_path: &NodePath, zarr_format: Option<u64>) -> Option<Diagnostic> {
    let name = node_path.path.rsplit('/').next()?;
    let reason = if !name.is_empty() && name.bytes().all(|byte| byte == b'.') {
        "it is nothing but periods"
    } else if name.starts_with("__") && zarr_format != Some(2) {
        "names that begin with `__` are reserved"
    } else {
        return None;
    };
    let message = format!("{} is not the name of a node: {reason}", Json::from(name).excerpt());
    Some(Diagnostic::new(code::NODE_NAME, message).with_help("rename the node's folder"))
}

/// The maximum number of findings of one kind about the copies of one group.
const MAX_FAULTS: usize = 100;

/// Adds to each group the findings about its copies. Removes the finding that copies are not JSON, if an original
/// document has that finding itself.
fn check_copies(nodes: &mut [HierarchyNode]) {
    for index in 0..nodes.len() {
        let (node, after) = (&nodes[index], &nodes[index + 1..]);
        let Some(group) = node.group() else { continue };
        let Some(consolidated) = &group.consolidated else { continue };
        // The nodes below a group follow it.
        let prefix = format!("{}/", node.node_path.path.trim_end_matches('/'));
        let below = after.iter().take_while(|node| node.node_path.path.starts_with(&prefix));
        let family: Vec<&HierarchyNode> = std::iter::once(node).chain(below).collect();
        let found = compare_copies(group, consolidated, &originals(&family, &prefix));
        let is_not_json = |found: &Diagnostic| found.is(code::JSON_NOT_FINITE);
        let is_of_original = |found: &Diagnostic| is_not_json(found) && !is_of_copy(found);
        let is_said = family.iter().any(|node| node.document_diagnostics().any(is_of_original));
        let node = &mut nodes[index];
        node.diagnostics.extend(found);
        if let NodeContent::Group(group) = &mut node.content
            && is_said
        {
            group.diagnostics.retain(|found| !(is_not_json(found) && is_of_copy(found)));
        }
    }
}

/// True if a finding is about consolidated metadata.
fn is_of_copy(found: &Diagnostic) -> bool {
    let is_in = |text: &Option<String>, part: &str| text.as_deref().is_some_and(|text| text.contains(part));
    is_in(&found.location.key, CONSOLIDATED_KEY) || is_in(&found.location.pointer, "/consolidated_metadata")
}

/// The documents by path. `None` if one exists but cannot be read.
type OfPaths<'a> = BTreeMap<String, Option<&'a Json>>;

/// Returns the documents of a group and the nodes below it that its consolidated metadata should have, by their names
/// there: the path in v3, which omits the group itself, and the key in v2.
fn originals<'a>(family: &[&'a HierarchyNode], prefix: &str) -> OfPaths<'a> {
    let format = family.first().and_then(|group| group.content.zarr_format());
    let mut originals = OfPaths::new();
    for node in family {
        // The path of the group itself is not longer than the prefix and gives an empty name.
        let path = node.node_path.path.get(prefix.len()..).unwrap_or_default();
        let name = |key: &str| match (format, path) {
            (Some(2), "") => key.to_owned(),
            (Some(2), path) => format!("{path}/{key}"),
            _ => path.to_owned(),
        };
        match node.content.documents().filter(|own| Some(own.zarr_format) == format) {
            Some(own) if format == Some(2) || !path.is_empty() => {
                originals.insert(name(own.key), Some(&own.document));
                originals.extend(own.attributes.iter().map(|attributes| (name(".zattrs"), Some(attributes))));
            }
            None if matches!(node.content, NodeContent::Broken) => {
                originals.extend([".zarray", ".zgroup", ".zattrs"].map(|key| (name(key), None)));
            }
            _ => {}
        }
    }
    originals
}

/// The help if consolidated metadata differ from the documents.
pub const RENEW_COPIES: &str = "consolidate the metadata again (zarr-python: `zarr.consolidate_metadata`)";

fn compare_copies(group: &GroupReading, consolidated: &Consolidated, documents: &OfPaths) -> Vec<Diagnostic> {
    // A map makes the search for each document fast. A list would need time proportional to the square of the nodes.
    let copies: HashMap<&str, &Json> = consolidated.copies.iter().map(|(path, copy)| (path.as_str(), copy)).collect();
    let finding = |code, message: String, path: &str| {
        Diagnostic::new(code, message).with_help(RENEW_COPIES).at_pointer(consolidated.pointer_of(path))
    };
    let missing =
        consolidated.copies.iter().filter(|(path, copy)| !documents.contains_key(path) && !says_nothing(path, copy));
    let missing = missing.map(|(path, _)| {
        let message = format!("the consolidated metadata have a copy of `{path}`, which is not there");
        finding(code::CONSOLIDATED_MISSING, message, path)
    });
    let mut found: Vec<_> = missing.take(MAX_FAULTS).collect();
    let (mut num_stale, mut num_left_out) = (0, 0);
    for (path, document) in documents {
        let (count, other) = match (copies.get(path.as_str()), document) {
            (Some(copy), Some(document)) if !is_copy_of(copy, document) => {
                let message = format!("the copy of `{path}` in the consolidated metadata is not what it is now");
                (&mut num_stale, finding(code::CONSOLIDATED_STALE, message, path))
            }
            // An unreadable document may be any document of its node.
            (None, document) if document.map_or(!path.contains("/.z"), |json| !says_nothing(path, json)) => {
                let message = format!("the consolidated metadata lack `{path}`: their readers do not see it");
                let lacks = Diagnostic::new(code::CONSOLIDATED_INCOMPLETE, message).with_help(RENEW_COPIES);
                (&mut num_left_out, lacks.at_pointer(consolidated.pointer))
            }
            _ => continue,
        };
        *count += 1;
        found.extend((*count <= MAX_FAULTS).then_some(other));
    }
    let documents = &group.documents;
    group.node_path.locate(&mut found, if documents.zarr_format == 2 { CONSOLIDATED_KEY } else { documents.key });
    found
}

/// The root of a hierarchy, of which the copies of the group at `start` serve so far.
fn with_copies(start: &NodePath, root: Node, documents: &Documents, serve: ConsolidatedScope) -> Node {
    if documents.kind != NodeKind::Group {
        return root;
    }
    let Ok(folder) = start.below(&root) else { return root };
    let Some(copies) = copies(&folder, documents) else { return root };
    let prefix = if start.is_root() { String::new() } else { format!("{}/", start.relative()) };
    let copies = copies.into_iter().map(|(key, bytes)| (format!("{prefix}{key}"), bytes)).collect();
    root.with_documents(copies, serve)
}

/// Returns the documents below a group by key, from its consolidated metadata. `None` if these are missing or
/// unreadable. Their faults are reported when the group is read.
fn copies(folder: &Node, documents: &Documents) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut faults = Vec::new();
    if documents.zarr_format == 3 {
        let copies = Consolidated::read_v3(documents.document.get(CONSOLIDATED_MEMBER)?, &mut faults)?.copies;
        let document = |(path, copy): (String, Json)| (format!("{path}/zarr.json"), copy.to_string().into_bytes());
        return Some(copies.into_iter().map(document).collect());
    }
    let bytes = folder.read_document(CONSOLIDATED_KEY).ok()??;
    let (document, _) = parse_document(CONSOLIDATED_KEY, &bytes).ok()?;
    let copies = Consolidated::read_v2(&document, &mut faults)?.copies;
    let mut documents: BTreeMap<_, _> = copies
        .into_iter()
        .map(|(key, copy)| {
            // zarr-python adds this member to the copies alone.
            let document = if key.ends_with(".zgroup") { without_copies(&copy) } else { copy };
            (key, document.to_string().into_bytes())
        })
        .collect();
    // The group reads this document again.
    documents.insert(CONSOLIDATED_KEY.to_owned(), bytes);
    Some(documents)
}

/// A folder to be read.
struct Folder {
    node_path: NodePath,
    /// The format of the nearest group above it.
    parent_format: Option<u64>,
    /// True if folders without nodes are not a finding. Below an unreadable document, they may be chunks.
    lenient: bool,
}

/// Reads every node from `start` down. The documents of `start` may have been read already.
fn walk(start: &NodePath, root: &Node, documents: Option<Documents>, driver: &Driver) -> Hierarchy {
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    let mut level = vec![Folder { node_path: start.clone(), parent_format: None, lenient: false }];
    let mut visited = vec![visit(root, start, documents)];
    let mut depth = 0;
    while !level.is_empty() {
        let mut next = Vec::new();
        for (folder, visited) in level.into_iter().zip(visited) {
            let mut node = match visited {
                Ok(node) => node,
                Err(error) => {
                    failures.push((folder.node_path.path, error));
                    continue;
                }
            };
            let is_node = !matches!(node.content, NodeContent::Implicit);
            let format = if is_node { node.content.zarr_format() } else { folder.parent_format };
            if is_node {
                node.diagnostics.extend(check_standing(&folder, format));
                // The documents belong to the node itself. What is left is reported as unknown keys, or copied.
                node.rest.files.retain(|key| !is_document(key));
            }
            let is_broken = matches!(node.content, NodeContent::Broken);
            let members = std::mem::take(&mut node.rest.folders);
            if is_node && depth == MAX_DEPTH && !members.is_empty() {
                let message = format!("folders deeper than {MAX_DEPTH} are not checked");
                node.diagnostics.push(folder.node_path.holds(Diagnostic::new(code::HIERARCHY_DEPTH, message)));
            } else {
                let lenient = is_broken || folder.lenient;
                let names = members.iter().filter_map(|key| key.rsplit('/').next());
                let member = |name| Folder { node_path: folder.node_path.child(name), parent_format: format, lenient };
                next.extend(names.map(member));
            }
            if is_broken {
                // Without its document, nobody knows which keys of the folder are chunks, so none is reported as
                // unknown.
                node.rest = FolderListing::default();
            }
            found.push((node, folder.lenient));
        }
        depth += 1;
        level = if depth > MAX_DEPTH { Vec::new() } else { next };
        visited = visit_all(root, &level, driver);
    }
    // The folders were read level by level. The order of the paths is that of the nodes.
    failures.sort_by(|(a, _): &(String, _), (b, _)| compare_paths(a, b));
    Hierarchy { nodes: arranged(found), failures }
}

/// Reads folders in parallel. On a remote store, some are prefetched before they are read.
fn visit_all(root: &Node, level: &[Folder], driver: &Driver) -> Vec<Result<HierarchyNode>> {
    const AT_ONCE: usize = 32;
    let look = |folder: &Folder| visit(root, &folder.node_path, None);
    if root.prefetch_limit().is_none() {
        return driver.map_plain(level, look);
    }
    let mut visited = Vec::with_capacity(level.len());
    for folders in level.chunks(AT_ONCE) {
        let nodes = folders.iter().filter_map(|folder| folder.node_path.below(root).ok());
        nodes.for_each(|node| expect_documents(&node));
        visited.extend(driver.map_plain(folders, look));
    }
    visited
}

/// Reads the node of a folder, and lists it. A folder without documents is implicit so far. An error if the machine is at
/// fault.
fn visit(root: &Node, node_path: &NodePath, documents: Option<Documents>) -> Result<HierarchyNode> {
    let cannot_list = |error| OperationError::cannot_list(node_path.name(), error);
    let unreadable = |error: DocumentError| {
        OperationError::environment(format!("`{}` cannot be read", node_path.name())).because(error)
    };
    let folder = node_path.below(root).map_err(cannot_list)?;
    let mut diagnostics = Vec::new();
    let content = match documents.map_or_else(|| read_documents(&folder), |documents| Ok(Some(documents))) {
        Ok(None) => NodeContent::Implicit,
        Ok(Some(documents)) if documents.kind == NodeKind::Array => {
            NodeContent::Array(Box::new(ArrayReading::new(node_path.clone(), folder, documents)))
        }
        Ok(Some(documents)) => {
            let group = GroupReading::new(node_path.clone(), folder, documents);
            NodeContent::Group(Box::new(group.map_err(|error| unreadable(error.into()))?))
        }
        Err(error) => {
            diagnostics.push(error.diagnostic().ok_or_else(|| unreadable(error))?);
            node_path.locate(&mut diagnostics, "zarr.json");
            NodeContent::Broken
        }
    };
    // The folder of an array is listed with its chunks.
    let rest = if matches!(content, NodeContent::Array(_)) {
        FolderListing::default()
    } else {
        root.list(node_path.relative()).map_err(cannot_list)?
    };
    Ok(HierarchyNode { node_path: node_path.clone(), content, diagnostics, rest })
}

/// Returns the findings about a node's name and format.
fn check_standing(folder: &Folder, format: Option<u64>) -> impl Iterator<Item = Diagnostic> {
    // A node with a broken document has no format. The group above decides which names are allowed.
    let named = check_name(&folder.node_path, format.or(folder.parent_format));
    let mixed = folder.parent_format.zip(format).filter(|(parent, own)| parent != own);
    let mixed = mixed.map(|(parent, own)| formats_mixed(own, parent));
    named.into_iter().chain(mixed).map(|found| folder.node_path.holds(found))
}

/// Returns the finding about a node of another format than its group.
pub fn formats_mixed(own: u64, parent: u64) -> Diagnostic {
    let message = format!("a node of Zarr v{own} in a group of Zarr v{parent}: readers of the group do not see it");
    Diagnostic::new(code::FORMATS_MIXED, message).with_help("give all nodes of a hierarchy one format")
}

/// Returns the nodes in their order, given whether each folder may be without nodes. Folders without documents that have
/// nodes below them are groups that lack their document. The topmost of the others belong to no node.
fn arranged(mut found: Vec<(HierarchyNode, bool)>) -> Vec<HierarchyNode> {
    found.sort_by(|(a, _), (b, _)| compare_paths(&a.node_path.path, &b.node_path.path));
    let (mut nodes, mut strays) = (Vec::<HierarchyNode>::new(), Vec::new());
    // The nodes below a folder follow it.
    for (mut node, lenient) in found.into_iter().rev() {
        if matches!(node.content, NodeContent::Implicit) {
            let prefix = format!("{}/", node.node_path.path);
            if !nodes.last().is_some_and(|next| next.node_path.path.starts_with(&prefix)) {
                strays.extend((!lenient).then_some(node));
                continue;
            }
            let message = "a folder with arrays or groups in it, but without group metadata: readers do not find them";
            let found = Diagnostic::new(code::GROUP_IMPLICIT, message)
                .with_help("write {\"zarr_format\": 3, \"node_type\": \"group\"} into its `zarr.json`");
            node.diagnostics.push(node.node_path.holds(found));
        }
        nodes.push(node);
    }
    nodes.reverse();
    strays.reverse();
    attribute(strays, &mut nodes);
    nodes
}

/// Adds each topmost folder without nodes to the node that contains it.
fn attribute(strays: Vec<HierarchyNode>, nodes: &mut [HierarchyNode]) {
    for HierarchyNode { node_path: stray, rest: listing, .. } in strays {
        let parent = stray.path.rfind('/').map_or("", |end| &stray.path[..end]);
        // A stray folder inside another one has no node as its parent. It is reported with the topmost one.
        let Ok(index) = nodes.binary_search_by(|node| compare_paths(&node.node_path.path, parent)) else { continue };
        if let Some(key) = listing.files.iter().find(|key| is_document(key)) {
            let message = "the documents of a node without the one that makes it a node";
            let found = Diagnostic::new(code::NODE_MISSING, message)
                .with_help("restore its `.zarray` or `.zgroup`, or remove the folder");
            nodes[index].diagnostics.push(stray.holds(found).at_key(key.as_str()));
        } else {
            nodes[index].rest.folders.push(stray.relative().to_owned());
        }
    }
}

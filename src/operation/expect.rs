//! `--expect`: compares the nodes of a store with expected members of `inspect --json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::description::describe;
use super::document::{below, has_documents};
use super::hierarchy::{HierarchyNode, NodeContent, compare_paths, read_hierarchy};
use super::inspect_result::NodeMembers;
use super::open::open_documents;
use super::{ArrayReading, Documents, FaultClass, Interrupt, NodePath, Result, ValidateOptions, new_driver};
use crate::diagnostic::{Code, Diagnostic, code, quantity::shortened};
use crate::metadata::{Json, NodeKind, Object, json::member_pointer};
use crate::store::Location;

/// The members that can be expected.
static MEMBERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    // The names come from the serialised type, so a new member of `inspect --json` can be expected without an entry.
    let of_node = to_json(&NodeMembers::default());
    let names = of_node.as_object().into_iter().flat_map(Object::names);
    names.chain(["pipeline"]).map(str::to_owned).collect()
});

fn is_member(name: &str) -> bool {
    MEMBERS.iter().any(|member| member == name)
}

/// Compares the node of the options with their expectations, and also the nodes below it that they name by path.
/// `nodes` are those that are read, in the order of their paths.
///
/// An error only if a node cannot be read for a reason that is not in the data.
pub fn check(store: &Location, nodes: &[HierarchyNode], options: &ValidateOptions) -> Result<Vec<Diagnostic>> {
    let Some(expected) = &options.expect else { return Ok(Vec::new()) };
    let root = NodePath::new(store, options.node.as_deref())?;
    let mut findings = Vec::new();
    for (path, members) in by_path(&expectations(expected)) {
        let names = path.split('/').filter(|name| !name.is_empty());
        let node_path = names.fold(root.clone(), |node_path, name| node_path.child(name));
        // `nodes` are in the order of `compare_paths`.
        let known = nodes.binary_search_by(|node| compare_paths(&node.node_path.path, &node_path.path));
        match Observed::read(store, &node_path, known.ok().map(|index| &nodes[index]))? {
            Some(observed) => observed.compare(&members, &mut findings),
            None => findings.push(missing_node(&node_path, &path, &members)),
        }
    }
    Ok(findings)
}

/// Returns the expected members of each node by path. Those of the node itself have an empty path.
fn by_path(expected: &Object) -> BTreeMap<String, Object> {
    let mut nodes: BTreeMap<String, Object> = BTreeMap::new();
    for (name, value) in expected.iter() {
        match value {
            // An object that is not the value of a member is a node.
            Json::Object(members) if !is_member(name) => {
                let node = nodes.entry(name.trim_matches('/').to_owned()).or_default();
                members.iter().for_each(|(name, value)| node.push(name, value.clone()));
            }
            value => nodes.entry(String::new()).or_default().push(name, value.clone()),
        }
    }
    nodes
}

/// Returns the finding for an expected node that does not exist. Without a known member it may be a misspelt member.
fn missing_node(node_path: &NodePath, path: &str, members: &Object) -> Diagnostic {
    let is_node = members.names().any(is_member);
    let (message, help) = if is_node {
        (
            format!("the {} `/{path}` is expected, but `{}` has none of that path", kind(members), node_path.store),
            "write it to the store, or correct the file of --expect if the change is intended",
        )
    } else {
        (
            format!("`{path}` is expected, but it is not a node of the store and not a member"),
            "names that begin with / are paths of nodes; the members are those of `zarrcast inspect --json`",
        )
    };
    node_path
        .holds(Diagnostic::new(code::EXPECTATION_UNKNOWN, message).with_help(help))
        .at_key(node_path.key("zarr.json"))
}

/// Returns the kind of a node, according to its expected members.
fn kind(members: &Object) -> &'static str {
    match members.get("node_type").and_then(Json::as_str) {
        Some("group") => "group",
        Some("array") => "array",
        _ if members.contains("shape") || members.contains("data_type") => "array",
        _ => "node",
    }
}

/// The members of a node, as read.
struct Observed {
    node_path: NodePath,
    key: &'static str,
    members: Json,
}

impl Observed {
    /// Reads a node, unless its documents are known. `None` if there is none. A node with a broken document has no
    /// members: `validate` reports why.
    fn read(store: &Location, node_path: &NodePath, known: Option<&HierarchyNode>) -> Result<Option<Observed>> {
        let folder = node_path.node(store)?;
        let observed = |key, members| Some(Observed { node_path: node_path.clone(), key, members });
        let documents = match known.and_then(|node| node.content.documents()) {
            Some(documents) => documents.clone(),
            // `open_documents` would make an error of the machine of a missing node. Here it is a finding.
            None if !has_documents(&folder) => return Ok(None),
            None => match open_documents(&folder, &node_path.name()) {
                Ok(documents) => documents,
                Err(error) if error.class() == FaultClass::Data => {
                    return Ok(observed("zarr.json", Object::new().into()));
                }
                Err(error) => return Err(error),
            },
        };
        let key = documents.key;
        let members = if documents.kind == NodeKind::Group {
            group_members(node_path, documents)
        } else {
            let mut reading = ArrayReading::new(node_path.clone(), folder, documents);
            to_json(&describe(&mut reading, store))
        };
        Ok(observed(key, members))
    }

    fn compare(&self, expected: &Object, findings: &mut Vec<Diagnostic>) {
        for (name, expected) in expected.iter() {
            if !is_member(name) {
                let message = format!("the member {} is expected, but no node has it", Json::from(name).excerpt());
                let help = format!("the members are {}", MEMBERS.join(", "));
                findings.push(self.finding(code::EXPECTATION_UNKNOWN, message, "").with_help(help));
                continue;
            }
            let found = self.members.get(name).unwrap_or(&Json::Null);
            if let ("attributes", Json::Object(attributes)) = (name, expected) {
                for (name, expected) in attributes.iter() {
                    let pointer = member_pointer("/attributes", name);
                    let what = format!("the attribute `{name}`");
                    findings.extend(self.difference(&what, expected, found.get(name), &pointer));
                }
            } else {
                let pointer = format!("/{name}");
                findings.extend(self.difference(&format!("`{name}`"), expected, Some(found), &pointer));
            }
        }
    }

    fn difference(&self, what: &str, expected: &Json, found: Option<&Json>, pointer: &str) -> Option<Diagnostic> {
        if found.is_some_and(|found| expected.same_value(found)) {
            return None;
        }
        let found = found.map_or_else(|| "nothing".to_owned(), shown);
        let message = format!("{what}: expected {}, found {found}", shown(expected));
        let help = "correct the store, or the file of --expect if the change is intended";
        Some(self.finding(code::EXPECTATION_NOT_MET, message, pointer).with_help(help))
    }

    /// Returns a finding about the document of the node. v2 attributes have their own document.
    fn finding(&self, code: Code, message: String, pointer: &str) -> Diagnostic {
        let of_attributes = pointer.strip_prefix("/attributes").filter(|_| self.key != "zarr.json");
        let (key, pointer) = of_attributes.map_or((self.key, pointer), |pointer| (".zattrs", pointer));
        self.node_path.holds(Diagnostic::new(code, message)).at_key(self.node_path.key(key)).at_pointer(pointer)
    }
}

fn group_members(node_path: &NodePath, documents: Documents) -> Json {
    let own = documents.document.get("attributes").cloned();
    let attributes = if documents.zarr_format == 2 { documents.attributes } else { own };
    Object::new()
        .with("node_type", "group")
        .with("path", node_path.path.as_str())
        .with("zarr_format", documents.zarr_format)
        .with("attributes", attributes.unwrap_or_else(|| Object::new().into()))
        .into()
}

/// Returns JSON as written, cut if it is long.
fn shown(json: &Json) -> String {
    shortened(json.to_string(), 200)
}

/// Returns a result as in `--json`, with every literal kept.
fn to_json(result: &impl serde::Serialize) -> Json {
    Json::parse_str(&serde_json::to_string(result).unwrap_or_default()).unwrap_or(Json::Null)
}

/// Members that a contract omits: the node's path, and members that follow from others.
const LEFT_OUT: [&str; 2] = ["path", "pipeline"];

/// The prefix of `schema` in a document of `inspect --json`.
const INSPECT_SCHEMA: &str = "zarrcast.inspect/";

/// Returns the contract of the first STORE: its members, and those of every node below it by relative path.
///
/// Nodes with unreadable documents are omitted. An error if there is no node, or if the machine is at fault.
pub fn contract(options: &ValidateOptions, interrupt: &Interrupt) -> Result<Object> {
    let Some(store) = options.stores.first() else { return Ok(Object::new()) };
    let driver = new_driver(options.common.num_threads(), interrupt)?;
    let nodes = read_hierarchy(store, options.node.as_deref(), &driver)?.complete()?;
    let mut contract = Object::new();
    let start = nodes.first().map(|node| node.node_path.path.clone()).unwrap_or_default();
    for node in &nodes {
        if matches!(node.content, NodeContent::Implicit | NodeContent::Broken) {
            continue;
        }
        let Some(observed) = Observed::read(store, &node.node_path, Some(node))? else { continue };
        // Spelt like the numbers and texts of a result, so that both sides match when the contract is read.
        let Json::Object(members) = to_json(&observed.members) else { continue };
        add_node(&mut contract, below(&node.node_path.path, &start), &members);
    }
    Ok(contract)
}

/// Returns the expectations of a document: a contract as it is, a document of `inspect --json` without what is not
/// metadata.
pub(super) fn expectations(document: &Object) -> Object {
    let schema = document.get("schema").and_then(Json::as_str);
    if !schema.is_some_and(|schema| schema.starts_with(INSPECT_SCHEMA)) {
        return document.clone();
    }
    let mut contract = Object::new();
    add_node(&mut contract, "", document);
    let start = document.get("path").and_then(Json::as_str).unwrap_or_default();
    let nodes = document.get("nodes").and_then(Json::as_array).unwrap_or_default();
    for members in nodes.iter().filter_map(Json::as_object) {
        // A folder without a document has no format, and no members to expect.
        let is_node = members.get("zarr_format").is_some_and(|format| !format.is_null());
        if let Some(path) = members.get("path").and_then(Json::as_str).filter(|_| is_node) {
            add_node(&mut contract, below(path, start), members);
        }
    }
    contract
}

/// Adds the metadata of a node: as members for the node itself, and under its path for one below it.
fn add_node(contract: &mut Object, path: &str, members: &Object) {
    let is_kept = |name: &&str| is_member(name) && !LEFT_OUT.contains(name);
    let mut kept = Object::new();
    let target = if path.is_empty() { &mut *contract } else { &mut kept };
    members.iter().filter(|(name, _)| is_kept(name)).for_each(|(name, value)| target.push(name, value.clone()));
    if !path.is_empty() {
        contract.push(path, Json::Object(kept));
    }
}

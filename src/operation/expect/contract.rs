//! Contracts: the document of `--write-expect`, and that of `inspect --json` as one.

use super::{MEMBERS, Observed, to_json};
use crate::metadata::json::{Json, Object};
use crate::operation::error::OperationError;
use crate::operation::hierarchy::{NodeContent, read_hierarchy};
use crate::operation::options::ValidateOptions;
use crate::operation::{Interrupt, new_driver};

/// Members that a contract leaves out: the node's path, and what follows from other members.
const LEFT_OUT: [&str; 2] = ["path", "pipeline"];

/// First bytes of `schema` in a document of `inspect --json`.
const INSPECT_SCHEMA: &str = "zarrcast.inspect/";

/// The contract of the first STORE as it is, and of every node below it by its path from there.
///
/// Nodes whose documents cannot be read are left out. An error where there is no node, or the machine is at fault.
pub fn contract(options: &ValidateOptions, interrupt: &Interrupt) -> Result<Object, OperationError> {
    let Some(store) = options.stores.first() else { return Ok(Object::new()) };
    let driver = new_driver(options.common.num_threads(), interrupt)?;
    let hierarchy = read_hierarchy(store, options.node.as_deref(), &driver)?;
    if let Some(failure) = hierarchy.failures.into_iter().next() {
        return Err(failure.error);
    }
    let mut contract = Object::new();
    let start = hierarchy.nodes.first().map(|node| node.place.path.clone()).unwrap_or_default();
    for node in &hierarchy.nodes {
        if matches!(node.content, NodeContent::Implicit | NodeContent::Broken) {
            continue;
        }
        let Some(observed) = Observed::read(store, &node.place)? else { continue };
        // As numbers and texts of the result are spelt, so that both sides are when the contract is read.
        let Json::Object(members) = to_json(&observed.members) else { continue };
        add(&mut contract, below(&node.place.path, &start), &members);
    }
    Ok(contract)
}

/// The expectations that a document holds: those of a contract as they stand, those of `inspect --json` without what
/// is no metadata.
pub(super) fn expectations(document: &Object) -> Object {
    let schema = document.get("schema").and_then(Json::as_str);
    if !schema.is_some_and(|schema| schema.starts_with(INSPECT_SCHEMA)) {
        return document.clone();
    }
    let mut contract = Object::new();
    add(&mut contract, "", document);
    let start = document.get("path").and_then(Json::as_str).unwrap_or_default();
    let nodes = document.get("nodes").and_then(Json::as_array).unwrap_or_default();
    for members in nodes.iter().filter_map(Json::as_object) {
        // A folder without a document has no format, and no members to expect.
        let is_node = members.get("zarr_format").is_some_and(|format| !format.is_null());
        if let Some(path) = members.get("path").and_then(Json::as_str).filter(|_| is_node) {
            add(&mut contract, below(path, start), members);
        }
    }
    contract
}

/// The path of a node from another one above it: `/a/b`; empty for that one itself.
fn below<'a>(path: &'a str, start: &str) -> &'a str {
    let path = path.strip_prefix(start.trim_end_matches('/')).unwrap_or(path);
    path.trim_end_matches('/')
}

/// Adds the metadata of a node: those of the node itself as they are, those of one below it under its path.
fn add(contract: &mut Object, path: &str, members: &Object) {
    let is_kept = |name: &&str| MEMBERS.contains(name) && !LEFT_OUT.contains(name);
    let mut kept = Object::new();
    for (name, value) in members.iter().filter(|(name, _)| is_kept(name)) {
        kept.push(name, value.clone());
    }
    if path.is_empty() {
        kept.iter().for_each(|(name, value)| contract.push(name, value.clone()));
    } else {
        contract.push(path, Json::Object(kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        let Json::Object(object) = Json::parse_str(text).unwrap() else { panic!("an object") };
        object
    }

    #[test]
    fn document_of_inspect_is_read_as_its_metadata_by_path() {
        let document = object(
            r#"{"schema": "zarrcast.inspect/2", "store": "s", "path": "/g", "node_type": "group", "warnings": [],
                "nodes": [{"path": "/g/a", "zarr_format": 3, "shape": [4], "bytes_logical": 4},
                          {"path": "/g/b", "zarr_format": null, "node_type": "group"}]}"#,
        );
        let expected = r#"{"node_type":"group","/a":{"zarr_format":3,"shape":[4]}}"#;
        assert_eq!(Json::Object(expectations(&document)).to_string(), expected);
    }

    #[test]
    fn contract_is_taken_as_it_stands() {
        let document = object(r#"{"shape": [4], "storage": 1, "path": "/x"}"#);
        assert_eq!(expectations(&document), document);
    }
}

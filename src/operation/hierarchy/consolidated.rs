//! Consolidated metadata held against the documents that they are copies of.

use std::collections::{BTreeMap, HashMap};

use super::{HierarchyNode, NodeContent};
use crate::diagnostic::{Diagnostic, Location, code};
use crate::metadata::consolidated::Consolidated;
use crate::metadata::json::Json;
use crate::metadata::same_node::{is_copy_of, says_nothing};
use crate::operation::document::CONSOLIDATED_KEY;
use crate::operation::group::GroupReading;

/// The most findings of one kind about one group's copies.
const MAX_FAULTS: usize = 100;

/// Adds to each group what is wrong with its copies.
pub(super) fn check(nodes: &mut [HierarchyNode]) {
    let mut found: Vec<(usize, Vec<Diagnostic>)> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let Some(group) = node.group() else { continue };
        let Some(consolidated) = &group.consolidated else { continue };
        // The nodes below a group follow it.
        let prefix = if node.place.is_root() { "/".to_owned() } else { format!("{}/", node.place.path) };
        let below = nodes[index + 1..].iter().take_while(|node| node.place.path.starts_with(&prefix));
        let documents = if group.documents.zarr_format == 2 {
            v2_documents(group, below, &prefix)
        } else {
            v3_documents(below, &prefix)
        };
        found.push((index, compare(group, consolidated, &documents)));
    }
    for (index, diagnostics) in found {
        nodes[index].diagnostics.extend(diagnostics);
        say_once(nodes, index);
    }
}

/// Takes away that a group's copies are not JSON, where a document that one is a copy of says so itself.
fn say_once(nodes: &mut [HierarchyNode], index: usize) {
    let is_of_copy = |found: &Diagnostic| {
        let Location { key, pointer, .. } = &found.location;
        let is_in = |text: &Option<String>, part: &str| text.as_deref().is_some_and(|t| t.contains(part));
        is_in(key, CONSOLIDATED_KEY) || is_in(pointer, "/consolidated_metadata")
    };
    let path = nodes[index].place.path.clone();
    let prefix = if nodes[index].place.is_root() { "/".to_owned() } else { format!("{path}/") };
    let rest = nodes[index + 1..].iter().take_while(|node| node.place.path.starts_with(&prefix));
    let mut found = std::iter::once(&nodes[index]).chain(rest).flat_map(HierarchyNode::document_diagnostics);
    let is_said = found.any(|found| found.is(code::JSON_NOT_FINITE) && !is_of_copy(found));
    drop(found);
    if let NodeContent::Group(group) = &mut nodes[index].content
        && is_said
    {
        group.diagnostics.retain(|found| !(found.is(code::JSON_NOT_FINITE) && is_of_copy(found)));
    }
}

/// The documents by their paths; `None` where one is there but cannot be read.
type OfPaths<'a> = BTreeMap<String, Option<&'a Json>>;

fn v3_documents<'a>(below: impl Iterator<Item = &'a HierarchyNode>, prefix: &str) -> OfPaths<'a> {
    let document = |node: &'a HierarchyNode| match (&node.content, node.content.documents()) {
        (_, Some(documents)) if documents.zarr_format == 3 => Some(Some(&documents.document)),
        (NodeContent::Broken, _) => Some(None),
        _ => None,
    };
    below.filter_map(|node| Some((node.place.path[prefix.len()..].to_owned(), document(node)?))).collect()
}

fn v2_documents<'a>(
    group: &'a GroupReading,
    below: impl Iterator<Item = &'a HierarchyNode>,
    prefix: &str,
) -> OfPaths<'a> {
    let mut documents = OfPaths::new();
    documents.insert(".zgroup".to_owned(), Some(&group.documents.document));
    documents.extend(group.documents.attributes.iter().map(|attributes| (".zattrs".to_owned(), Some(attributes))));
    for node in below {
        let path = &node.place.path[prefix.len()..];
        if let NodeContent::Broken = node.content {
            documents.extend([".zarray", ".zgroup", ".zattrs"].map(|key| (format!("{path}/{key}"), None)));
        }
        let Some(own) = node.content.documents().filter(|own| own.zarr_format == 2) else { continue };
        documents.insert(format!("{path}/{}", own.key), Some(&own.document));
        documents.extend(own.attributes.iter().map(|attributes| (format!("{path}/.zattrs"), Some(attributes))));
    }
    documents
}

fn compare(group: &GroupReading, consolidated: &Consolidated, documents: &OfPaths) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let copies: HashMap<&str, &Json> = consolidated.copies.iter().map(|(path, copy)| (path.as_str(), copy)).collect();
    let mut push = |code, message: String, help: &str, pointer: String| {
        found.push(Diagnostic::new(code, message).with_help(help).at_pointer(pointer));
    };
    let renew = "consolidate the metadata again (zarr-python: `zarr.consolidate_metadata`)";
    let missing =
        consolidated.copies.iter().filter(|(path, copy)| !documents.contains_key(path) && !says_nothing(path, copy));
    for (path, _) in missing.take(MAX_FAULTS) {
        let message = format!("the consolidated metadata have a copy of `{path}`, which is not there");
        push(code::CONSOLIDATED_MISSING, message, renew, consolidated.pointer_of(path));
    }
    let mut num_stale = 0;
    let mut num_left_out = 0;
    for (path, document) in documents {
        match (copies.get(path.as_str()), document) {
            (Some(copy), Some(document)) if num_stale < MAX_FAULTS && !is_copy_of(copy, document) => {
                num_stale += 1;
                let message = format!("the copy of `{path}` in the consolidated metadata is not what it is now");
                push(code::CONSOLIDATED_STALE, message, renew, consolidated.pointer_of(path));
            }
            (None, document) if document.is_none_or(|json| !says_nothing(path, json)) && num_left_out < MAX_FAULTS => {
                // What cannot be read may be any of the documents of its node.
                let is_known = document.is_some() || !path.contains("/.z");
                if is_known {
                    num_left_out += 1;
                    let message = format!("the consolidated metadata lack `{path}`: their readers do not see it");
                    push(code::CONSOLIDATED_INCOMPLETE, message, renew, consolidated.pointer.to_owned());
                }
            }
            _ => {}
        }
    }
    group.place.locate(&mut found, group.consolidated_key());
    found
}

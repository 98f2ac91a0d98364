//! Consolidated metadata that take the place of listings and documents, where those cost requests or cannot be had.

use std::collections::BTreeMap;

use super::Documents;
use crate::metadata::consolidated::Consolidated;
use crate::metadata::group::{GroupDocument, NodeKind};
use crate::operation::document::{CONSOLIDATED_KEY, parse_document};
use crate::operation::place::Place;
use crate::store::{ConsolidatedScope, Node};

/// The root of a hierarchy, of which the copies of the group at `start` tell what nodes there are, if the store cannot.
pub(super) fn listed_by_copies(start: &Place, root: Node, documents: &Documents) -> Node {
    if root.abilities().lists { root } else { with_copies(start, root, documents, ConsolidatedScope::Listings) }
}

/// The root of a hierarchy, of which the copies serve as the documents, if it lies behind a network.
pub(super) fn served_by_copies(start: &Place, root: Node, documents: &Documents) -> Node {
    if root.abilities().is_remote { with_copies(start, root, documents, ConsolidatedScope::Documents) } else { root }
}

fn with_copies(start: &Place, root: Node, documents: &Documents, serve: ConsolidatedScope) -> Node {
    if documents.kind != NodeKind::Group {
        return root;
    }
    let Ok(folder) = start.below(&root) else { return root };
    let Some(copies) = copies(&folder, documents) else { return root };
    let prefix = if start.is_root() { String::new() } else { format!("{}/", start.relative()) };
    let copies = copies.into_iter().map(|(key, bytes)| (format!("{prefix}{key}"), bytes)).collect();
    root.with_documents(copies, serve)
}

/// The documents below a group by their keys, from its consolidated metadata; `None` where it has none that can be read:
/// what is wrong with them is said where the group is read.
fn copies(folder: &Node, documents: &Documents) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut faults = Vec::new();
    if documents.zarr_format == 3 {
        let read = GroupDocument::read(&documents.document);
        let copies = Consolidated::read_v3(read.consolidated_metadata.as_ref()?, &mut faults)?.copies;
        let document = |(path, copy): (String, crate::metadata::json::Json)| {
            (format!("{path}/zarr.json"), copy.to_string_compact().into_bytes())
        };
        return Some(copies.into_iter().map(document).collect());
    }
    let bytes = folder.read_document(CONSOLIDATED_KEY).ok()??;
    let (document, _) = parse_document(CONSOLIDATED_KEY, &bytes).ok()?;
    let copies = Consolidated::read_v2(&document, &mut faults)?.copies;
    let mut documents: BTreeMap<_, _> =
        copies.into_iter().map(|(key, copy)| (key, copy.to_string_compact().into_bytes())).collect();
    // It is read once more where the group is.
    documents.insert(CONSOLIDATED_KEY.to_owned(), bytes);
    Some(documents)
}

//! The documents of a hierarchy as they are written, with the copies of them that consolidated metadata are.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::metadata::consolidated::Consolidated;
use crate::metadata::json::{Json, Object};
use crate::operation::error::OperationError;
use crate::operation::group::{CONSOLIDATED_KEY, GroupReading};
use crate::operation::options::TranscodeOptions;

/// The documents of a node by their keys: the one that makes it a node last.
pub(super) type NodeDocuments = Vec<(String, NodeDocument)>;

/// A document of a node.
#[derive(Debug, Clone)]
pub(super) struct NodeDocument {
    /// What it holds.
    pub json: Json,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl NodeDocument {
    /// A document that is written anew.
    pub(super) fn new(json: Json) -> Self {
        let mut text = json.to_string_pretty();
        text.push('\n');
        NodeDocument { bytes: text.into_bytes(), json }
    }
}

/// All documents by their keys in the store, the root's last: those of the arrays as given, those of the groups as they
/// are, with the copies of what has changed.
pub(super) fn with_copies(
    options: &TranscodeOptions,
    groups: &[GroupReading],
    of_arrays: HashMap<&str, NodeDocuments>,
) -> Result<Vec<(String, Vec<u8>)>, OperationError> {
    let mut nodes: BTreeMap<&str, NodeDocuments> = of_arrays.into_iter().collect();
    // From below: what a group copies of the groups in it has no copies in it any more.
    let mut of_groups: Vec<&GroupReading> = groups.iter().collect();
    of_groups.sort_by_key(|group| std::cmp::Reverse(group.place.path.len()));
    for group in of_groups {
        let documents = group_documents(options, group, &nodes)?;
        nodes.insert(&group.place.path, documents);
    }
    let mut written = Vec::new();
    let root = nodes.remove("/");
    for (path, documents) in nodes {
        let prefix = path.trim_start_matches('/');
        written
            .extend(documents.into_iter().map(|(key, document)| (format!("{prefix}/{key}"), document.bytes)));
    }
    written.extend(root.into_iter().flatten().map(|(key, document)| (key, document.bytes)));
    Ok(written)
}

/// The documents of a group as they are written.
fn group_documents(
    options: &TranscodeOptions,
    group: &GroupReading,
    nodes: &BTreeMap<&str, NodeDocuments>,
) -> Result<NodeDocuments, OperationError> {
    let read = |key: &str| {
        group.node.read_document(key).map_err(|error| {
            OperationError::environment(format!("`{}` cannot be read", group.place.key(key))).because(error)
        })
    };
    let as_read = |key: &'static str, json: Json| -> Result<(String, NodeDocument), OperationError> {
        let bytes = read(key)?.unwrap_or_default();
        Ok((key.to_owned(), NodeDocument { json, bytes }))
    };
    let prefix = format!("{}/", group.place.path.trim_end_matches('/'));
    let below = nodes.iter().filter_map(|(path, documents)| Some((path.strip_prefix(&prefix)?, documents)));
    if group.zarr_format == 2 {
        let mut documents = Vec::new();
        if let Some(attributes) = &group.attributes_document {
            documents.push(as_read(".zattrs", attributes.clone())?);
        }
        documents.push(as_read(".zgroup", group.document.clone())?);
        if let Some(consolidated) = &group.consolidated
            && !options.no_consolidate
        {
            let own = documents.iter().map(|(key, document)| (key.clone(), &document.json));
            let below = below.flat_map(|(path, documents)| {
                let copied = documents.iter().filter(|(key, _)| key != CONSOLIDATED_KEY);
                copied.map(move |(key, document)| (format!("{path}/{key}"), &document.json))
            });
            let present: BTreeMap<String, &Json> = own.chain(below).collect();
            let document = read(CONSOLIDATED_KEY)?.and_then(|bytes| Some((Json::parse(&bytes).ok()?, bytes)));
            if let Some((json, bytes)) = document {
                let copies = copies(consolidated, &present);
                let document = match copies {
                    None => NodeDocument { json, bytes },
                    Some(copies) => NodeDocument::new(with_member(&json, "metadata", copies.into())),
                };
                documents.insert(0, (CONSOLIDATED_KEY.to_owned(), document));
            }
        }
        return Ok(documents);
    }
    let key = "zarr.json";
    let (Some(consolidated), Some(member)) = (&group.consolidated, group.document.get(MEMBER)) else {
        return Ok(vec![as_read(key, group.document.clone())?]);
    };
    if options.no_consolidate {
        let mut document = group.document.as_object().cloned().unwrap_or_default();
        document.remove(MEMBER);
        return Ok(vec![(key.to_owned(), NodeDocument::new(document.into()))]);
    }
    let present: BTreeMap<String, &Json> =
        below.filter_map(|(path, documents)| Some((path.to_owned(), &documents.last()?.1.json))).collect();
    let Some(copies) = copies(consolidated, &present) else {
        return Ok(vec![as_read(key, group.document.clone())?]);
    };
    let member = with_member(member, "metadata", copies.into());
    Ok(vec![(key.to_owned(), NodeDocument::new(with_member(&group.document, MEMBER, member)))])
}

const MEMBER: &str = "consolidated_metadata";

/// The copies of what is written: those that are the same as they were, in their order, then what had none; `None`
/// where nothing is to be changed.
fn copies(before: &Consolidated, present: &BTreeMap<String, &Json>) -> Option<Object> {
    let (mut copies, mut known) = (Object::new(), HashSet::new());
    let mut is_same = before.copies.len() == present.len();
    for (path, copy) in &before.copies {
        let Some(document) = present.get(path) else {
            is_same = false;
            continue;
        };
        let is_kept = is_copy_of(copy, document);
        is_same &= is_kept && known.insert(path.as_str());
        copies.push(path.as_str(), if is_kept { copy.clone() } else { without_copies(document) });
        known.insert(path);
    }
    for (path, document) in present.iter().filter(|(path, _)| !known.contains(path.as_str())) {
        copies.push(path.as_str(), without_copies(document));
    }
    (!is_same).then_some(copies)
}

/// Whether a copy says what a document says; the copies that a group holds itself count for nothing.
fn is_copy_of(copy: &Json, document: &Json) -> bool {
    without_copies(copy).same_value(&without_copies(document))
}

fn without_copies(document: &Json) -> Json {
    let Some(object) = document.as_object().filter(|object| object.get(MEMBER).is_some()) else {
        return document.clone();
    };
    let mut object = object.clone();
    object.remove(MEMBER);
    object.into()
}

fn with_member(document: &Json, name: &str, member: Json) -> Json {
    let mut object = document.as_object().cloned().unwrap_or_default();
    object.insert(name, member);
    object.into()
}

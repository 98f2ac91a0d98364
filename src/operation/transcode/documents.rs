//! The documents of all nodes of DEST, with those of groups and the copies in consolidated metadata.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use crate::diagnostic::{Diagnostic, code};
use crate::metadata::consolidated::{CONSOLIDATED_MEMBER as MEMBER, is_copy_of, says_nothing, without_copies};
use crate::metadata::v2;
use crate::metadata::{Consolidated, Json, Object};
use crate::operation::document::{CONSOLIDATED_KEY, parse_document};
use crate::operation::{Documents, GroupReading, OperationError, Result, TranscodeOptions};

/// The documents of a node by key. The last one makes it a node.
pub(crate) type NodeDocuments = Vec<(String, NodeDocument)>;

#[derive(Debug, Clone)]
pub(crate) struct NodeDocument {
    pub json: Json,
    pub bytes: Vec<u8>,
}

impl NodeDocument {
    pub(crate) fn new(json: Json) -> Self {
        NodeDocument { bytes: json.to_document(), json }
    }

    /// Returns the document with the bytes of the document that was read, if that is the same.
    pub(crate) fn or_as_read(json: Json, read: Option<&Json>, bytes: &[u8]) -> Self {
        if read == Some(&json) { NodeDocument { json, bytes: bytes.to_vec() } } else { Self::new(json) }
    }
}

/// All documents by their keys in the store, the root's last: those of the arrays as given, those of the groups as they
/// are, with the copies of what has changed. `nodes` are the arrays', by their paths.
pub(crate) fn with_copies(
    options: &TranscodeOptions,
    groups: &[GroupReading],
    mut nodes: BTreeMap<String, NodeDocuments>,
) -> Result<Vec<(String, String)>> {
    // From the lowest level up: a group's copy of a group in it contains no copies.
    let mut of_groups: Vec<&GroupReading> = groups.iter().collect();
    of_groups.sort_by_key(|group| std::cmp::Reverse(group.node_path.path.len()));
    for group in of_groups {
        let writing = Writing { group, nodes: &nodes, consolidates: group.has_copies && !options.no_consolidate };
        let format = options.change.zarr_format.unwrap_or(group.documents.zarr_format);
        let documents = if format == 2 { writing.version_2()? } else { writing.version_3() };
        nodes.insert(group.node_path.path.clone(), documents);
    }
    let root = nodes.remove("/").unwrap_or_default();
    let below = nodes.into_iter().flat_map(|(path, documents)| {
        documents.into_iter().map(move |(key, document)| (format!("{}/{key}", path.trim_start_matches('/')), document))
    });
    let text = |document: NodeDocument| String::from_utf8_lossy(&document.bytes).into_owned();
    Ok(below.chain(root).map(|(key, document)| (key, text(document))).collect())
}

const V3_KEY: &str = "zarr.json";

/// A group that is written.
struct Writing<'a> {
    group: &'a GroupReading,
    /// The documents of nodes as they are written, including those below the group.
    nodes: &'a BTreeMap<String, NodeDocuments>,
    /// Whether it has copies of them.
    consolidates: bool,
}

impl<'a> Writing<'a> {
    /// Returns the nodes below, by their paths relative to the group.
    fn below(&self) -> impl Iterator<Item = (&'a str, &'a NodeDocuments)> {
        let prefix = format!("{}/", self.group.node_path.path.trim_end_matches('/'));
        self.nodes.iter().filter_map(move |(path, documents)| Some((path.strip_prefix(&prefix)?, documents)))
    }

    /// Returns the documents of a group in v2, with the copies of those below.
    fn version_2(&self) -> Result<NodeDocuments> {
        let Documents { zarr_format, document, bytes, attributes, attributes_bytes, .. } = &self.group.documents;
        let mut documents: NodeDocuments = if *zarr_format == 2 {
            let attributes = attributes.iter().zip(attributes_bytes);
            let attributes = attributes.map(|(json, bytes)| as_read(".zattrs", json, bytes));
            attributes.chain([as_read(".zgroup", document, bytes)]).collect()
        } else {
            self.version_2_of_3()?
        };
        if !self.consolidates {
            return Ok(documents);
        }
        let own = documents.iter().map(|(key, document)| (key.clone(), &document.json));
        // A group's copies include those of all levels below, so inner consolidated metadata are not copied again.
        let below = self.below().flat_map(|(path, documents)| {
            let copied = documents.iter().filter(|(key, _)| key != CONSOLIDATED_KEY);
            copied.map(move |(key, document)| (format!("{path}/{key}"), &document.json))
        });
        let copied: BTreeMap<String, &Json> = own.chain(below).collect();
        let document = if let Some(consolidated) = self.group.consolidated.as_ref().filter(|_| *zarr_format == 2) {
            let bytes = self.group.node.read_document(CONSOLIDATED_KEY).map_err(|error| {
                let key = self.group.node_path.key(CONSOLIDATED_KEY);
                OperationError::environment(format!("`{key}` cannot be read")).because(error)
            })?;
            let Some(bytes) = bytes else { return Ok(documents) };
            let empty = || Object::new().with("zarr_consolidated_format", 1_u64).into();
            let read = || parse_document(CONSOLIDATED_KEY, &bytes).map_or_else(|_| empty(), |(json, _)| json);
            match copies(consolidated, &copied) {
                Some(copies) => NodeDocument::new(with_member(&read(), "metadata", copies)),
                // The parsed document is never used: this one is not copied.
                None => NodeDocument { json: Json::Null, bytes },
            }
        } else {
            // Consolidated metadata that cannot be read are written again.
            let document = Object::new().with("metadata", all_copies(&copied)).with("zarr_consolidated_format", 1_u64);
            NodeDocument::new(document.into())
        };
        // `.zgroup` stays the last: it makes the group a node.
        documents.insert(0, (CONSOLIDATED_KEY.to_owned(), document));
        Ok(documents)
    }

    /// Returns the document of a group in v3, with the copies of those below.
    fn version_3(&self) -> NodeDocuments {
        let Documents { zarr_format, document, bytes, .. } = &self.group.documents;
        let document = if *zarr_format == 2 {
            let mut attributes = self.group.attributes.clone();
            // Findings about these members were reported when the tree was read.
            keep_members(&mut attributes, v2::netcdf_members(document));
            let group = Object::new().with("zarr_format", 3_u64).with("node_type", "group");
            Cow::Owned(group.with("attributes", attributes).into())
        } else if self.group.has_copies {
            Cow::Borrowed(document)
        } else {
            return vec![as_read(V3_KEY, document, bytes)];
        };
        if !self.consolidates {
            return vec![(V3_KEY.to_owned(), NodeDocument::new(without_copies(&document)))];
        }
        let below = self.below().filter_map(|(path, documents)| Some((path.to_owned(), &documents.last()?.1.json)));
        let copied: BTreeMap<String, &Json> = below.collect();
        let member = if let Some((consolidated, member)) = self.group.consolidated.as_ref().zip(document.get(MEMBER)) {
            let Some(copies) = copies(consolidated, &copied) else {
                return vec![as_read(V3_KEY, &document, bytes)];
            };
            with_member(member, "metadata", copies)
        } else {
            // Consolidated metadata that cannot be read are written again.
            let member = Object::new().with("kind", "inline").with("must_understand", false);
            member.with("metadata", all_copies(&copied)).into()
        };
        vec![(V3_KEY.to_owned(), NodeDocument::new(with_member(&document, MEMBER, member)))]
    }

    /// Returns the documents of a group of v3 in v2. Fails if it has members that v2 does not have.
    fn version_2_of_3(&self) -> Result<NodeDocuments> {
        const EXPRESSED: [&str; 4] = ["zarr_format", "node_type", "attributes", MEMBER];
        let members = self.group.documents.document.as_object();
        if let Some(other) = members.and_then(|members| members.names().find(|name| !EXPRESSED.contains(name))) {
            let name = self.group.node_path.name();
            return Err(OperationError::data(format!("Zarr v2 has no place for the member `{other}` of `{name}`"))
                .with_help("remove it, or keep Zarr v3"));
        }
        let attributes = Some(self.group.attributes.clone()).filter(|attributes| !attributes.is_empty());
        let group = (".zgroup", Object::new().with("zarr_format", 2_u64));
        let documents = attributes.map(|attributes| (".zattrs", attributes)).into_iter().chain([group]);
        Ok(documents.map(|(key, members)| (key.to_owned(), NodeDocument::new(members.into()))).collect())
    }
}

/// Makes members that no version of Zarr has attributes, because v3 has no other form for them (SEMANTICS D13).
/// netCDF-C writes such members (`_NCZARR_ARRAY`). Returns a warning for each.
pub(crate) fn keep_members(attributes: &mut Object, members: Object) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for (name, value) in members {
        let shown = Json::from(name.as_str()).excerpt();
        let what = if attributes.contains(&name) {
            "is left out: an attribute has its name"
        } else {
            attributes.insert(name, value);
            "becomes an attribute"
        };
        let message = format!("the member {shown}, which v2 does not have, {what}");
        warnings.push(Diagnostic::new(code::V2_MEMBER_UNKNOWN, message));
    }
    warnings
}

fn as_read(key: &str, json: &Json, bytes: &[u8]) -> (String, NodeDocument) {
    (key.to_owned(), NodeDocument { json: json.clone(), bytes: bytes.to_vec() })
}

/// Returns copies of everything that is written, for a group without copies.
fn all_copies(present: &BTreeMap<String, &Json>) -> Object {
    copies(&Consolidated::default(), present).unwrap_or_default()
}

/// Returns the copies of the written documents: the existing ones in their order, then new ones. `None` if nothing
/// changes.
fn copies(before: &Consolidated, present: &BTreeMap<String, &Json>) -> Option<Object> {
    let (mut copies, mut known) = (Object::new(), HashSet::new());
    let mut is_same = true;
    for (path, copy) in &before.copies {
        let Some(document) = present.get(path) else {
            // Some writers add a copy of empty attributes for an array without attributes.
            let has_node = |key| present.contains_key(&path.replace(".zattrs", key));
            if says_nothing(path, copy) && [".zarray", ".zgroup"].iter().any(|key| has_node(key)) {
                copies.push(path.as_str(), copy.clone());
            } else {
                is_same = false;
            }
            continue;
        };
        // A copy with the same meaning keeps its form, such as defaults that are written out (SEMANTICS: D4).
        let is_kept = is_copy_of(copy, document);
        is_same &= is_kept && known.insert(path.as_str());
        copies.push(path.as_str(), if is_kept { copy.clone() } else { without_copies(document) });
        known.insert(path);
    }
    for (path, document) in present.iter().filter(|(path, _)| !known.contains(path.as_str())) {
        is_same &= says_nothing(path, document);
        copies.push(path.as_str(), without_copies(document));
    }
    (!is_same).then_some(copies)
}

fn with_member(document: &Json, name: &str, member: impl Into<Json>) -> Json {
    let mut object = document.as_object().cloned().unwrap_or_default();
    object.insert(name, member);
    object.into()
}

//! The common members of array and group documents, and the `zarr.json` of a group.

use super::extension::{Findings, MAX_FAULTS};
use super::json::{Json, Object, member_pointer};
use crate::diagnostic::{Diagnostic, code};

/// The members of a group's document, with zarr-python's `consolidated_metadata`.
const MEMBERS: &str = "zarr_format node_type attributes consolidated_metadata";

/// The kind of a node, from its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// `"node_type": "array"`.
    Array,
    /// `"node_type": "group"`.
    Group,
    /// No `node_type`, or any other.
    Unknown,
}

/// Returns the kind of node in a v3 document.
pub fn node_kind(document: &Json) -> NodeKind {
    match document.get("node_type").and_then(Json::as_str) {
        Some("array") => NodeKind::Array,
        Some("group") => NodeKind::Group,
        _ => NodeKind::Unknown,
    }
}

/// The readable members of a group's `zarr.json`, and all of its faults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupDocument {
    /// The attributes, if there are any.
    pub attributes: Option<Object>,
    /// The consolidated metadata as written (zarr-python's convention), if there is any.
    pub consolidated_metadata: Option<Json>,
    /// Members that the specification does not define.
    pub unknown: Object,
    /// All faults.
    pub diagnostics: Vec<Diagnostic>,
}

impl GroupDocument {
    /// Reads the members and collects faults in `diagnostics`.
    pub fn read(document: &Json) -> Self {
        let mut diagnostics = Vec::new();
        let Some(object) = read_object(document, &mut diagnostics) else {
            return GroupDocument { diagnostics, ..Self::default() };
        };
        read_head(object, "group", &mut diagnostics);
        let attributes = read_attributes(object, &mut diagnostics);
        let consolidated_metadata = object.get("consolidated_metadata").cloned();
        let unknown = read_unknown(document, MEMBERS, &mut diagnostics);
        GroupDocument { attributes, consolidated_metadata, unknown, diagnostics }
    }
}

/// Returns the members of a document. Reports it if it is not an object.
pub(super) fn read_object<'a>(document: &'a Json, diagnostics: &mut Vec<Diagnostic>) -> Option<&'a Object> {
    document.as_object().or_else(|| diagnostics.wrong_type(document, "an object", ""))
}

/// Checks `zarr_format` and `node_type`.
pub(super) fn read_head(object: &Object, node_type: &str, diagnostics: &mut Vec<Diagnostic>) {
    read_format(object, 3, diagnostics);
    if let Some(json) = required(object, "node_type", diagnostics)
        && json.as_str() != Some(node_type)
    {
        diagnostics.unexpected::<()>(code::NODE_TYPE, json, &format!("{node_type:?}"), "/node_type");
    }
}

/// Checks `zarr_format`.
pub(super) fn read_format(object: &Object, version: u64, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(json) = required(object, "zarr_format", diagnostics)
        && json.as_u64() != Some(version)
    {
        diagnostics.unexpected::<()>(code::ZARR_FORMAT, json, &version.to_string(), "/zarr_format");
    }
}

/// Returns a required member. Reports it if it is missing.
pub(super) fn required<'a>(object: &'a Object, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<&'a Json> {
    object.get(name).or_else(|| diagnostics.refuse(code::MEMBER_MISSING, "", format!("`{name}` is missing")))
}

/// Returns the attributes. Reports them if they are not an object.
pub(super) fn read_attributes(object: &Object, diagnostics: &mut Vec<Diagnostic>) -> Option<Object> {
    match object.get("attributes")? {
        Json::Object(attributes) => Some(attributes.clone()),
        other => diagnostics.wrong_type(other, "an object", "/attributes"),
    }
}

/// Returns at most `MAX_FAULTS` members that are not `known`, a list with spaces between. Each is a fault, unless it is an object with
/// `"must_understand": false`. Also reports repeated names anywhere in the document.
pub(super) fn read_unknown(document: &Json, known: &str, diagnostics: &mut Vec<Diagnostic>) -> Object {
    let unknown = document.as_object().into_iter().flat_map(Object::iter);
    let unknown = unknown.filter(|(name, _)| known.split(' ').all(|known| known != *name)).take(MAX_FAULTS);
    let unknown: Object = unknown.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let must_understand = |value: &Json| value.get("must_understand") != Some(&Json::Bool(false));
    for (name, _) in unknown.iter().filter(|(_, value)| must_understand(value)) {
        let message = format!("unknown member {}", Json::from(name).excerpt());
        let help = "what may be ignored is an object with \"must_understand\": false; attributes go into `attributes`";
        diagnostics.advise(code::MEMBER_UNKNOWN, member_pointer("", name), message, help);
    }
    read_repeated(document, false, diagnostics);
    unknown
}

/// Reports repeated names anywhere in a document. The document may be attributes alone.
pub(super) fn read_repeated(document: &Json, is_attributes: bool, diagnostics: &mut Vec<Diagnostic>) {
    for pointer in document.duplicates(MAX_FAULTS) {
        let (code, message) = if is_attributes || pointer.starts_with("/attributes/") {
            (code::ATTRIBUTE_REPEATED, "a name is repeated in the attributes: readers keep only the last")
        } else {
            (code::MEMBER_REPEATED, "a member is given more than once: the last is taken")
        };
        diagnostics.add(code, pointer, message);
    }
}

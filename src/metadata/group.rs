//! The `zarr.json` of a group, and what kind of node a document describes.

use super::extension::Findings;
use super::json::{Json, Object};
use super::member::{read_attributes, read_head, read_unknown};
use crate::diagnostic::Diagnostic;

/// The members of a group's document, with zarr-python's `consolidated_metadata`.
const MEMBERS: [&str; 4] = ["zarr_format", "node_type", "attributes", "consolidated_metadata"];

/// The kind of a node, by its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// `"node_type": "array"`.
    Array,
    /// `"node_type": "group"`.
    Group,
    /// Neither: no `node_type`, or another.
    Unknown,
}

/// The kind of node that a v3 document says it is.
pub fn node_kind(document: &Json) -> NodeKind {
    match document.get("node_type").and_then(Json::as_str) {
        Some("array") => NodeKind::Array,
        Some("group") => NodeKind::Group,
        _ => NodeKind::Unknown,
    }
}

/// The readable members of a group's `zarr.json`, and everything wrong with it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupDocument {
    /// The attributes, if there are any.
    pub attributes: Option<Object>,
    /// The consolidated metadata as written (zarr-python's convention), if there are any.
    pub consolidated_metadata: Option<Json>,
    /// Members that the specification does not have.
    pub unknown: Object,
    /// Every fault.
    pub diagnostics: Vec<Diagnostic>,
}

impl GroupDocument {
    /// Reads what can be read; faults go to `diagnostics`.
    pub fn read(document: &Json) -> Self {
        let mut diagnostics = Vec::new();
        let Some(object) = document.as_object() else {
            diagnostics.wrong_type::<()>(document, "an object", "");
            return GroupDocument { diagnostics, ..Self::default() };
        };
        read_head(object, "group", &mut diagnostics);
        GroupDocument {
            attributes: read_attributes(object, &mut diagnostics),
            consolidated_metadata: object.get("consolidated_metadata").cloned(),
            unknown: read_unknown(document, &MEMBERS, &mut diagnostics),
            diagnostics,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_is_told_from_array() {
        let json = |text: &str| Json::parse_str(text).unwrap();
        assert_eq!(node_kind(&json(r#"{"node_type":"array"}"#)), NodeKind::Array);
        assert_eq!(node_kind(&json(r#"{"node_type":"group"}"#)), NodeKind::Group);
        assert_eq!(node_kind(&json(r#"{"node_type":1}"#)), NodeKind::Unknown);
        assert_eq!(node_kind(&json("[]")), NodeKind::Unknown);
    }

    #[test]
    fn group_faults_are_reported() {
        let read = |text: &str| GroupDocument::read(&Json::parse_str(text).unwrap());
        let group = read(r#"{"zarr_format":3,"node_type":"group","attributes":{"a":1},"consolidated_metadata":{}}"#);
        assert_eq!(group.diagnostics, []);
        assert_eq!(group.attributes.unwrap().len(), 1);
        let codes: Vec<_> = read(r#"{"zarr_format":2,"extra":1}"#).diagnostics.iter().map(|d| d.code).collect();
        assert_eq!(codes, ["ZM104", "ZM101", "ZM102"]);
    }
}

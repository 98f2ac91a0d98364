//! The `zarr.json` of a group, and what kind of node a document describes.

use super::json::{Json, Object};
use crate::diagnostic::Diagnostic;

/// What a document describes.
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
pub fn node_kind(_document: &Json) -> NodeKind {
    unimplemented!()
}

/// What could be read of a group's `zarr.json`, and all that is wrong with it.
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
    pub fn read(_document: &Json) -> Self {
        unimplemented!()
    }
}

//! The documents of a node: which there are, which of them counts, and what they hold.
//!
//! A `zarr.json` counts whatever stands beside it, also where it is broken; then a `.zarray`, then a `.zgroup`.

use crate::diagnostic::{Diagnostic, Severity, code};
use crate::metadata::group::{NodeKind, node_kind};
use crate::metadata::json::{Json, JsonError};
use crate::store::{LocalNode, StoreError};

/// The keys of documents, by which a node is known.
pub const NODE_KEYS: [&str; 3] = ["zarr.json", ".zarray", ".zgroup"];

/// The documents of a node.
#[derive(Debug, Clone)]
pub struct Documents {
    /// The key of the one that counts.
    pub key: &'static str,
    /// 2 or 3.
    pub zarr_format: u64,
    /// What it describes; a guess where it does not say so itself.
    pub kind: NodeKind,
    /// It, every literal as written.
    pub document: Json,
    /// The same, byte for byte.
    pub bytes: Vec<u8>,
    /// The `.zattrs` of a v2 node, where there is one that can be read.
    pub attributes: Option<Json>,
    /// The same, byte for byte.
    pub attributes_bytes: Option<Vec<u8>>,
    /// What is wrong with the documents beside it; keys are relative to the node.
    pub diagnostics: Vec<Diagnostic>,
}

/// Why the document that counts cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The store failed, or something else than a file stands there.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is no JSON.
    #[error("`{key}` is not JSON")]
    Json {
        /// The document.
        key: &'static str,
        /// What is wrong with it.
        #[source]
        error: JsonError,
    },
}

impl DocumentError {
    /// The fault as a finding, its key relative to the node; `None` where the machine is at fault.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            DocumentError::Json { key, error } => Some(error.diagnostic().at_key(*key)),
            DocumentError::Store(error) if error.is_data_fault() => {
                Some(Diagnostic::new(code::OBJECT_NOT_A_FILE, error.to_string()))
            }
            DocumentError::Store(_) => None,
        }
    }
}

/// Reads the documents of a node; `None` where there are none.
pub fn read_documents(node: &LocalNode) -> Result<Option<Documents>, DocumentError> {
    for key in NODE_KEYS {
        let Some(bytes) = node.read_document(key)? else { continue };
        let document = Json::parse(&bytes).map_err(|error| DocumentError::Json { key, error })?;
        let kind = match key {
            ".zarray" => NodeKind::Array,
            ".zgroup" => NodeKind::Group,
            _ => kind_of(&document),
        };
        let zarr_format = if key == "zarr.json" { 3 } else { 2 };
        let mut diagnostics = beside(node, key);
        let attributes = if zarr_format == 2 { read_attributes(node, &mut diagnostics)? } else { None };
        let (attributes, attributes_bytes) = attributes.unzip();
        return Ok(Some(Documents {
            key,
            zarr_format,
            kind,
            document,
            bytes,
            attributes,
            attributes_bytes,
            diagnostics,
        }));
    }
    Ok(None)
}

/// Whether there is a document of a node, be it ever so broken.
pub fn has_documents(node: &LocalNode) -> bool {
    NODE_KEYS.iter().any(|key| !matches!(node.open(key), Ok(None)))
}

/// The kind of a v3 node; one that says nothing is an array if it has a shape.
fn kind_of(document: &Json) -> NodeKind {
    match node_kind(document) {
        NodeKind::Unknown if document.get("shape").is_some() => NodeKind::Array,
        kind => kind,
    }
}

/// What stands beside the document that counts, and should not.
fn beside(node: &LocalNode, key: &'static str) -> Vec<Diagnostic> {
    let exists = |other: &str| node.open(other).is_ok_and(|found| found.is_some());
    let finding = |code, key: &'static str, message: String, help| {
        Diagnostic::new(code, message).with_help(help).at_key(key)
    };
    match key {
        "zarr.json" => [".zarray", ".zgroup"]
            .into_iter()
            .filter(|other| exists(other))
            .map(|other| {
                let message = format!("`{other}` stands beside `zarr.json`, which counts");
                finding(
                    code::FORMATS_BESIDE,
                    other,
                    message,
                    "readers of v2 see another node: remove one of them",
                )
            })
            .collect(),
        ".zarray" if exists(".zgroup") => {
            let message = "`.zgroup` stands beside `.zarray`: no node is both".to_owned();
            vec![finding(code::ARRAY_AND_GROUP, ".zgroup", message, "remove the one that is wrong")]
        }
        _ => Vec::new(),
    }
}

/// The `.zattrs`, and its bytes; one that is no JSON is a finding, and counts as absent.
fn read_attributes(
    node: &LocalNode,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<(Json, Vec<u8>)>, StoreError> {
    let key = ".zattrs";
    match node.read_document(key) {
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => match Json::parse(&bytes) {
            Ok(attributes) => Ok(Some((attributes, bytes))),
            Err(error) => {
                diagnostics.push(error.diagnostic().at_key(key));
                Ok(None)
            }
        },
        Err(error) if error.is_data_fault() => {
            let finding = Diagnostic::new(code::OBJECT_NOT_A_FILE, error.to_string());
            diagnostics.push(finding.with_severity(Severity::Error).at_key(key));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

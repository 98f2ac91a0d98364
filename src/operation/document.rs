//! The documents of a node: which there are, which of them counts, and what they hold.
//!
//! A `zarr.json` counts whatever stands beside it, also where it is broken; then a `.zarray`, then a `.zgroup`.

use crate::diagnostic::{Diagnostic, code};
use crate::metadata::group::{NodeKind, node_kind};
use crate::metadata::json::{Json, JsonError, NotFiniteValues};
use crate::store::file_format::FileFormat;
use crate::store::{MAX_DOCUMENT_BYTES, Node, Part, StoreError};

/// The key of consolidated metadata of v2.
pub const CONSOLIDATED_KEY: &str = ".zmetadata";

/// The keys of documents, by which a node is known.
pub const NODE_KEYS: [&str; 3] = ["zarr.json", ".zarray", ".zgroup"];

/// The documents of a node.
#[derive(Debug, Clone)]
pub struct Documents {
    /// The key of the one that counts.
    pub key: &'static str,
    /// 2 or 3.
    pub zarr_format: u64,
    /// The kind of the node; a guess where the document does not say so itself.
    pub kind: NodeKind,
    /// It, every literal as written.
    pub document: Json,
    /// The same, byte for byte.
    pub bytes: Vec<u8>,
    /// The `.zattrs` of a v2 node, where there is one that can be read.
    pub attributes: Option<Json>,
    /// The same, byte for byte.
    pub attributes_bytes: Option<Vec<u8>>,
    /// Findings about the documents beside it; keys are relative to the node.
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
        #[source]
        error: JsonError,
        /// The format of the file, where it is a known one other than JSON.
        format: Option<&'static FileFormat>,
    },
}

impl DocumentError {
    /// The fault as a finding, its key relative to the node; `None` where the machine is at fault.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            DocumentError::Json { key, error, format } => Some(not_json(key, error, *format)),
            DocumentError::Store(error) if error.is_data_fault() => {
                Some(Diagnostic::new(code::OBJECT_NOT_A_FILE, error.to_string()))
            }
            DocumentError::Store(_) => None,
        }
    }
}

/// Says that the documents of a node will be read soon: the first two that may be there, since most nodes have one of them.
pub fn expect_documents(node: &Node) {
    if node.prefetch_limit().is_some() {
        let soon: Vec<_> = NODE_KEYS[..2].iter().map(|key| ((*key).to_owned(), Part::Whole)).collect();
        node.prefetch(&soon);
    }
}

/// Reads the documents of a node; `None` where there are none.
pub fn read_documents(node: &Node) -> Result<Option<Documents>, DocumentError> {
    let mut refused = None;
    expect_documents(node);
    for key in NODE_KEYS {
        let bytes = match node.read_document(key) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            // Some stores refuse what is not there; another document may be.
            Err(error) if error.is_refused() => {
                refused = refused.or(Some(error));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let parsed = parse_document(key, &bytes);
        let (document, not_finite) = parsed.map_err(|error| {
            let format = FileFormat::of(&bytes);
            DocumentError::Json { key, error, format }
        })?;
        let kind = match key {
            ".zarray" => NodeKind::Array,
            ".zgroup" => NodeKind::Group,
            _ => kind_of(&document),
        };
        let zarr_format = if key == "zarr.json" { 3 } else { 2 };
        let mut diagnostics: Vec<Diagnostic> = not_finite.into_iter().collect();
        diagnostics.extend(beside(node, key));
        let attributes = if zarr_format == 2 { read_beside(node, ".zattrs", &mut diagnostics)?.0 } else { None };
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
    refused.map_or(Ok(None), |error| Err(error.into()))
}

/// The finding that a document is not JSON, which says what it is where that is known.
fn not_json(key: &str, error: &JsonError, format: Option<&'static FileFormat>) -> Diagnostic {
    let mut found = error.diagnostic().at_key(key);
    if let Some(format) = format {
        found.message = format!("`{key}` is {}", format.name);
        found.help = Some(document_help(format).to_owned());
    }
    found
}

/// The next step where a file of this format stands where a document should be.
pub fn document_help(format: &FileFormat) -> &'static str {
    if format.is_stand_in { format.help } else { "restore the document from a copy: it is JSON, not compressed" }
}

/// Reads a document of a node, or the copies of such; `key` is the name of the document alone. Bare words for numbers that
/// are not finite are read in attributes, where xarray and zarr-python write them, and in the fill value of v2 (SEMANTICS
/// D1), and are a finding.
pub fn parse_document(key: &str, bytes: &[u8]) -> Result<(Json, Option<Diagnostic>), JsonError> {
    let (document, values) = Json::parse_with_not_finite(bytes, |pointer| may_be_not_finite(key, pointer))?;
    Ok((document, not_finite_finding(&values).map(|found| found.at_key(key))))
}

/// True if a bare `NaN` is read at this place of a document.
fn may_be_not_finite(key: &str, pointer: &str) -> bool {
    let is_fill_value = |member: &str| {
        member == "fill_value" || member.strip_prefix("fill_value/").is_some_and(|rest| !rest.is_empty())
    };
    let Some(member) = pointer.strip_prefix('/') else { return false };
    match key {
        ".zattrs" => true,
        ".zarray" => is_fill_value(member),
        CONSOLIDATED_KEY => {
            // The key of a copy is one token: its slashes are escaped.
            let Some((path, member)) = member.strip_prefix("metadata/").and_then(|copy| copy.split_once('/')) else {
                return false;
            };
            let name = path.rsplit("~1").next().unwrap_or(path);
            name == ".zattrs" || (name == ".zarray" && is_fill_value(member))
        }
        _ => {
            let mut member = member;
            // Copies of groups may hold copies themselves.
            while let Some(copy) = member.strip_prefix("consolidated_metadata/metadata/") {
                let Some((_, of_copy)) = copy.split_once('/') else { return false };
                member = of_copy;
            }
            member.starts_with("attributes/")
        }
    }
}

/// The finding about the bare words of a document, at the first of them.
fn not_finite_finding(values: &NotFiniteValues) -> Option<Diagnostic> {
    let (word, pointer) = values.first.as_ref()?;
    let more = match values.count {
        1 => String::new(),
        count => format!(", the first of {count} such values"),
    };
    let message = format!("{word} as a bare word is not JSON{more}: many readers refuse the document");
    let help = format!("write the string \"{word}\", or leave the member out");
    Some(Diagnostic::new(code::JSON_NOT_FINITE, message).with_help(help).at_pointer(pointer.as_str()))
}

/// True if there is a document of a node, be it ever so broken.
pub fn has_documents(node: &Node) -> bool {
    NODE_KEYS.iter().any(|key| !matches!(node.open(key, MAX_DOCUMENT_BYTES), Ok(None)))
}

/// The kind of a v3 node; one that says nothing is an array if it has a shape.
fn kind_of(document: &Json) -> NodeKind {
    match node_kind(document) {
        NodeKind::Unknown if document.get("shape").is_some() => NodeKind::Array,
        kind => kind,
    }
}

/// Findings about documents that should not be there beside the one that counts.
fn beside(node: &Node, key: &'static str) -> Vec<Diagnostic> {
    let exists = |other: &str| node.open(other, MAX_DOCUMENT_BYTES).is_ok_and(|found| found.is_some());
    let finding =
        |code, key: &'static str, message: String, help| Diagnostic::new(code, message).with_help(help).at_key(key);
    match key {
        "zarr.json" => [".zarray", ".zgroup"]
            .into_iter()
            .filter(|other| exists(other))
            .map(|other| {
                let message = format!("`{other}` stands beside `zarr.json`, which counts");
                finding(code::FORMATS_BESIDE, other, message, "readers of v2 see another node: remove one of them")
            })
            .collect(),
        // Behind a network it would be the one request too many of an array of v2.
        ".zarray" if !node.abilities().is_remote && exists(".zgroup") => {
            let message = "`.zgroup` stands beside `.zarray`: no node is both".to_owned();
            vec![finding(code::ARRAY_AND_GROUP, ".zgroup", message, "remove the one that is wrong")]
        }
        _ => Vec::new(),
    }
}

/// A document beside the one that counts, with its bytes, and whether there is one.
type Beside = (Option<(Json, Vec<u8>)>, bool);

/// Reads a document beside the one that counts; one that is no JSON is a finding.
pub fn read_beside(node: &Node, key: &'static str, diagnostics: &mut Vec<Diagnostic>) -> Result<Beside, StoreError> {
    let found = match node.read_document(key) {
        Ok(None) => return Ok((None, false)),
        Ok(Some(bytes)) => match parse_document(key, &bytes) {
            Ok((document, not_finite)) => {
                diagnostics.extend(not_finite);
                return Ok((Some((document, bytes)), true));
            }
            Err(error) => not_json(key, &error, FileFormat::of(&bytes)),
        },
        Err(error) if error.is_data_fault() => Diagnostic::new(code::OBJECT_NOT_A_FILE, error.to_string()).at_key(key),
        Err(error) => return Err(error),
    };
    diagnostics.push(found);
    Ok((None, true))
}

//! The documents of a node: reads them, selects the one that counts, and reads groups.
//!
//! A `zarr.json` counts before all others, also if it is broken. Then a `.zarray` counts, then a `.zgroup`.

use super::{OperationError, Result};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::{JsonError, NotFiniteValues};
use crate::metadata::{Consolidated, GroupDocument, Json, NodeKind, Object, node_kind, v2};
use crate::store::{FileFormat, Key, Location, MAX_DOCUMENT_BYTES, Node, Part, StoreError};

/// The key of consolidated v2 metadata.
pub const CONSOLIDATED_KEY: &str = ".zmetadata";

/// The keys of the documents that identify a node, in their order of precedence.
pub const NODE_KEYS: [&str; 3] = ["zarr.json", ".zarray", ".zgroup"];

/// The documents of a node.
#[derive(Debug, Clone)]
pub struct Documents {
    /// The key of the document that counts.
    pub key: &'static str,
    /// 2 or 3.
    pub zarr_format: u64,
    /// The kind of the node. A guess if the document does not contain it.
    pub kind: NodeKind,
    /// The document, with every literal as written.
    pub document: Json,
    /// The bytes of the document.
    pub bytes: Vec<u8>,
    /// The `.zattrs` of a v2 node. `None` if missing or unreadable.
    pub attributes: Option<Json>,
    /// The bytes of `.zattrs`.
    pub attributes_bytes: Option<Vec<u8>>,
    /// Findings about the documents next to it. Keys are relative to the node.
    pub diagnostics: Vec<Diagnostic>,
}

/// The reason why the document that counts cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The store failed, or the key is not a file.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The document is not JSON.
    #[error("`{key}` is not JSON")]
    Json {
        /// The key of the document.
        key: &'static str,
        #[source]
        error: JsonError,
        /// The format of the file, if it is a known one other than JSON.
        format: Option<&'static FileFormat>,
    },
}

impl DocumentError {
    /// Returns the fault as a finding with a key relative to the node. `None` if the machine is at fault.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            DocumentError::Json { key, error, format } => Some(not_json(key, error, *format)),
            DocumentError::Store(error) if error.is_data_fault() => Some(not_a_file(error)),
            DocumentError::Store(_) => None,
        }
    }
}

fn not_a_file(error: &StoreError) -> Diagnostic {
    let found = Diagnostic::new(code::OBJECT_NOT_A_FILE, error.to_string());
    match error {
        StoreError::Damaged { .. } | StoreError::Unsupported { .. } => {
            found.with_help("write the zip file again: each name once, members stored or deflated")
        }
        _ => found,
    }
}

/// Prefetches the first two documents that may exist. Most nodes have one of them.
pub fn expect_documents(node: &Node) {
    if node.prefetch_limit().is_some() {
        let soon: Vec<_> = NODE_KEYS[..2].iter().map(|key| ((*key).to_owned(), Part::Whole)).collect();
        node.prefetch(&soon);
    }
}

/// Reads the documents of a node. `None` if it has none.
pub fn read_documents(node: &Node) -> Result<Option<Documents>, DocumentError> {
    let mut refused = None;
    expect_documents(node);
    for key in NODE_KEYS {
        let bytes = match node.read_document(key) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            // Some stores refuse a missing key. Another document may exist.
            Err(error) if error.is_refused() => {
                refused = refused.or(Some(error));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let not_json = |error| DocumentError::Json { key, error, format: FileFormat::detect(&bytes) };
        let (document, not_finite) = parse_document(key, &bytes).map_err(not_json)?;
        let kind = match key {
            ".zarray" => NodeKind::Array,
            ".zgroup" => NodeKind::Group,
            _ => kind_of(&document),
        };
        let zarr_format = if key == "zarr.json" { 3 } else { 2 };
        let mut diagnostics: Vec<Diagnostic> = not_finite.into_iter().collect();
        diagnostics.extend(rival_documents(node, key));
        // Only v2 has the attributes in a document of their own, which costs a remote store one more request.
        let attributes = if zarr_format == 2 { read_beside(node, ".zattrs", &mut diagnostics)?.0 } else { None };
        let (attributes, attributes_bytes) = attributes.unzip();
        let found = Documents { key, zarr_format, kind, document, bytes, attributes, attributes_bytes, diagnostics };
        return Ok(Some(found));
    }
    refused.map_or(Ok(None), |error| Err(error.into()))
}

/// Returns the finding that a document is not JSON. It names the format of the file if that is known.
fn not_json(key: &str, error: &JsonError, format: Option<&'static FileFormat>) -> Diagnostic {
    let mut found = error.diagnostic().at_key(key);
    if let Some(format) = format {
        found.message = format!("`{key}` is {}", format.name);
        found.help = Some(document_help(format).to_owned());
    }
    found
}

/// Returns the help for a document that is a file of this format.
pub fn document_help(format: &FileFormat) -> &'static str {
    if format.is_stand_in { format.help } else { "restore the document from a copy: it is JSON, not compressed" }
}

/// Parses a document of a node, or the copies in consolidated metadata. `key` is the name of the document alone. Bare
/// words for numbers that are not finite are read, and are a finding. They are read in attributes, where xarray and
/// zarr-python write them, and in the fill value of v2 (SEMANTICS D1).
pub fn parse_document(key: &str, bytes: &[u8]) -> Result<(Json, Option<Diagnostic>), JsonError> {
    let (document, values) = Json::parse_with_not_finite(bytes, |pointer| may_be_not_finite(key, pointer))?;
    Ok((document, not_finite_finding(&values).map(|found| found.at_key(key))))
}

/// True if a bare `NaN` is read at this JSON pointer of a document.
fn may_be_not_finite(key: &str, pointer: &str) -> bool {
    match key {
        ".zattrs" => !pointer.is_empty(),
        ".zarray" => {
            // The fill value of a complex array is a list of two floats.
            let inside = pointer.strip_prefix("/fill_value/");
            pointer == "/fill_value" || inside.is_some_and(|rest| !rest.is_empty())
        }
        CONSOLIDATED_KEY => within_copy("/metadata/", pointer).is_some_and(|(copy, pointer)| {
            let name = copy.rsplit("~1").next().unwrap_or(copy);
            matches!(name, ".zattrs" | ".zarray") && may_be_not_finite(name, pointer)
        }),
        // Copies of groups may contain copies themselves.
        _ => match within_copy("/consolidated_metadata/metadata/", pointer) {
            Some((_, pointer)) => may_be_not_finite(key, pointer),
            None => pointer.starts_with("/attributes/"),
        },
    }
}

/// Returns the key of a copy in consolidated metadata, and the pointer inside it. The key is one token of the pointer:
/// its slashes are escaped.
fn within_copy<'a>(copies: &str, pointer: &'a str) -> Option<(&'a str, &'a str)> {
    let copy = pointer.strip_prefix(copies)?;
    Some(copy.split_at(copy.find('/')?))
}

/// Returns the finding about the bare words of a document, located at the first one. `None` if there are none.
fn not_finite_finding(values: &NotFiniteValues) -> Option<Diagnostic> {
    let (word, pointer) = values.first.as_ref()?;
    let count = values.count;
    let more = if count == 1 { String::new() } else { format!(", the first of {count} such values") };
    let message = format!("{word} as a bare word is not JSON{more}: many readers refuse the document");
    let help = format!("write the string \"{word}\", or leave the member out");
    Some(Diagnostic::new(code::JSON_NOT_FINITE, message).with_help(help).at_pointer(pointer.as_str()))
}

/// True if a node has a document, even one that is broken or cannot be opened.
pub fn has_documents(node: &Node) -> bool {
    NODE_KEYS.iter().any(|key| !matches!(node.open(key, MAX_DOCUMENT_BYTES), Ok(None)))
}

/// Returns the kind of a v3 node. A document that does not contain it is an array if it has a shape.
fn kind_of(document: &Json) -> NodeKind {
    match node_kind(document) {
        NodeKind::Unknown if document.get("shape").is_some() => NodeKind::Array,
        kind => kind,
    }
}

/// Returns the findings about documents that should not exist next to the one that counts.
fn rival_documents(node: &Node, key: &'static str) -> Vec<Diagnostic> {
    let exists = |other: &str| node.open(other, MAX_DOCUMENT_BYTES).is_ok_and(|found| found.is_some());
    let (others, code, why, help) = match key {
        "zarr.json" => {
            let help = "readers of v2 see another node: remove one of them";
            (&NODE_KEYS[1..], code::FORMATS_BESIDE, ", and only `zarr.json` counts", help)
        }
        // On a remote store this would be an extra request for each v2 array.
        ".zarray" if !node.capabilities().is_remote => {
            (&NODE_KEYS[2..], code::ARRAY_AND_GROUP, ": no node is both", "remove the one that is wrong")
        }
        _ => return Vec::new(),
    };
    let finding = |other: &&str| {
        Diagnostic::new(code, format!("`{other}` is next to `{key}`{why}")).with_help(help).at_key(*other)
    };
    others.iter().filter(|other| exists(other)).map(finding).collect()
}

/// A document next to the one that counts, with its bytes, and whether it exists.
type Beside = (Option<(Json, Vec<u8>)>, bool);

/// Reads a document next to the one that counts. A document that is not JSON is a finding.
pub fn read_beside(node: &Node, key: &'static str, diagnostics: &mut Vec<Diagnostic>) -> Result<Beside, StoreError> {
    let found = match node.read_document(key) {
        Ok(None) => return Ok((None, false)),
        Ok(Some(bytes)) => match parse_document(key, &bytes) {
            Ok((document, not_finite)) => {
                diagnostics.extend(not_finite);
                return Ok((Some((document, bytes)), true));
            }
            Err(error) => not_json(key, &error, FileFormat::detect(&bytes)),
        },
        Err(error) if error.is_data_fault() => not_a_file(&error).at_key(key),
        Err(error) => return Err(error),
    };
    diagnostics.push(found);
    Ok((None, true))
}

/// The readable part of a group, and all faults of its documents.
#[derive(Debug, Clone)]
pub struct GroupReading {
    /// The root.
    pub node: Node,
    /// The store and path, for findings.
    pub node_path: NodePath,
    /// The documents as read. Their faults are in `diagnostics`.
    pub documents: Documents,
    /// The attributes. Empty if there are none.
    pub attributes: Object,
    /// The copies of the documents below the group. `None` if missing or unreadable.
    pub consolidated: Option<Consolidated>,
    /// True if consolidated metadata exist, readable or not.
    pub has_copies: bool,
    /// All faults of the documents.
    pub diagnostics: Vec<Diagnostic>,
}

impl GroupReading {
    /// Reads a group from its documents, and the consolidated metadata of v2 if they exist.
    pub fn new(node_path: NodePath, node: Node, mut documents: Documents) -> Result<Self, StoreError> {
        let of_documents = std::mem::take(&mut documents.diagnostics);
        let Documents { key, document, attributes, .. } = &documents;
        let mut diagnostics = Vec::new();
        let (attributes, consolidated, has_copies) = if documents.zarr_format == 2 {
            v2::read_group(document, &mut diagnostics);
            let mut found = Vec::new();
            let attributes = attributes.as_ref().and_then(|json| v2::read_attributes(json, &mut found));
            // `locate` gives findings without a key that of the document that counts, so another document is named
            // before.
            diagnostics.extend(found.into_iter().map(|found| found.at_key(".zattrs")));
            let (consolidated, is_there) = read_consolidated(&node, &mut diagnostics)?;
            (attributes, consolidated, is_there)
        } else {
            let read = GroupDocument::read(document);
            diagnostics.extend(read.diagnostics);
            let member = read.consolidated_metadata.as_ref().filter(|member| !member.is_null());
            let consolidated = member.and_then(|json| Consolidated::read_v3(json, &mut diagnostics));
            (read.attributes, consolidated, member.is_some())
        };
        diagnostics.extend(of_documents);
        node_path.locate(&mut diagnostics, key);
        let attributes = attributes.unwrap_or_default();
        Ok(GroupReading { node, node_path, documents, attributes, consolidated, has_copies, diagnostics })
    }
}

/// Reads the `.zmetadata` of a v2 group. Also returns whether it exists, readable or not.
fn read_consolidated(node: &Node, faults: &mut Vec<Diagnostic>) -> Result<(Option<Consolidated>, bool), StoreError> {
    let mut found = Vec::new();
    let (document, is_there) = match read_beside(node, CONSOLIDATED_KEY, &mut found) {
        // Some stores refuse a missing key. No node needs this document.
        Err(error) if error.is_refused() => (None, false),
        read => read?,
    };
    let consolidated = document.and_then(|(document, _)| Consolidated::read_v2(&document, &mut found));
    faults.extend(found.into_iter().map(|found| found.at_key(CONSOLIDATED_KEY)));
    Ok((consolidated, is_there))
}

/// Returns the path of a node relative to a node above it: `/a/b`. Empty for that node itself.
pub fn below<'a>(path: &'a str, above: &str) -> &'a str {
    path.strip_prefix(above.trim_end_matches('/')).unwrap_or(path).trim_end_matches('/')
}

/// A node in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePath {
    /// The store, as the user named it.
    pub store: String,
    /// The path of the node: `/` for the store itself, otherwise `/a/b`.
    pub path: String,
}

impl NodePath {
    /// Returns the path of `--node` in STORE. An error if a name in the path is not a valid key.
    pub fn new(store: &Location, node: Option<&str>) -> Result<Self> {
        let path = node.unwrap_or_default().trim_matches('/');
        let is_wrong = |name: &&str| !path.is_empty() && Key::new(name).is_err();
        if let Some(name) = path.split('/').find(is_wrong) {
            return Err(OperationError::usage(format!("--node: `{name}` is not the name of a node"))
                .with_help("give a path inside the store, such as group/temperature"));
        }
        Ok(NodePath { store: store.display().to_string(), path: format!("/{path}") })
    }

    /// Returns a node below this one, by its name.
    #[must_use]
    pub fn child(&self, name: &str) -> NodePath {
        let parent = self.path.trim_end_matches('/');
        NodePath { store: self.store.clone(), path: format!("{parent}/{name}") }
    }

    /// True if it is the store itself.
    pub fn is_root(&self) -> bool {
        self.path == "/"
    }

    /// Returns the path without the leading slash. Empty for the store itself.
    pub fn relative(&self) -> &str {
        &self.path[1..]
    }

    /// Returns the name for messages: the store, and the path if there is one.
    pub fn name(&self) -> String {
        let store = self.store.trim_end_matches('/');
        if self.is_root() { self.store.clone() } else { format!("{store}{}", self.path) }
    }

    /// Returns a key of the node, relative to the store.
    pub fn key(&self, key: &str) -> String {
        if self.is_root() { key.to_owned() } else { format!("{}/{key}", self.relative()) }
    }

    /// Returns the node in its store.
    pub fn node(&self, store: &Location) -> Result<Node> {
        self.below(&store.node()).map_err(|error| {
            OperationError::usage(format!("`{}` names no node", self.name()))
                .because(error)
                .with_help("give a path inside the store, such as group/temperature")
        })
    }

    /// Returns the node, given the node of the store.
    pub fn below(&self, store: &Node) -> Result<Node, StoreError> {
        if self.is_root() { Ok(store.clone()) } else { store.child(self.relative()) }
    }

    /// Adds the store and the path of the node to a finding.
    #[must_use]
    pub fn holds(&self, found: Diagnostic) -> Diagnostic {
        found.in_store(self.store.as_str()).at_node(self.path.as_str())
    }

    /// Adds the store and path to findings. Keys become relative to the store, and a missing key becomes `key`.
    pub fn locate(&self, diagnostics: &mut [Diagnostic], key: &str) {
        for diagnostic in diagnostics {
            let own = diagnostic.location.key.take();
            diagnostic.location.key = Some(self.key(own.as_deref().unwrap_or(key)));
            diagnostic.location.store = Some(self.store.clone());
            diagnostic.location.node = Some(self.path.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(text: &str) -> Location {
        Location::parse(text).unwrap()
    }

    #[test]
    fn place_knows_its_names() {
        let root = NodePath::new(&location("a.zarr"), None).unwrap();
        assert_eq!(
            (root.path.as_str(), root.name().as_str(), root.key("zarr.json").as_str()),
            ("/", "a.zarr", "zarr.json")
        );
        let node = NodePath::new(&location("a.zarr/"), Some("/b/c/")).unwrap();
        assert_eq!(node.path, "/b/c");
        assert_eq!(node.name(), "a.zarr/b/c");
        assert_eq!(node.key("c/0"), "b/c/c/0");
        assert_eq!(root.child("b").child("c").path, "/b/c");
        for path in ["b/../../c", "b//c", ".", "b/\u{7f}"] {
            assert!(NodePath::new(&location("a"), Some(path)).is_err(), "{path:?}");
        }
    }
}

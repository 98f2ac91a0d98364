//! Consolidated metadata: copies of the documents below a group, in one document.
//!
//! For v3 it is a convention of zarr-python (`consolidated_metadata` in a group's `zarr.json`). For v2 it is the
//! `.zmetadata` of zarr-python and of programs that follow it. No specification defines either. Readers that use them
//! never read the originals.

use super::extension::{MAX_FAULTS, read_codecs};
use super::json::member_pointer;
use super::{ArrayDocument, ChunkGrid, CodecMetadata, Findings, GroupDocument, Json, NodeKind, Object, node_kind, v2};
use crate::codec::registry;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};

/// The copies in one document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Consolidated {
    /// The RFC 6901 pointer to the copies in their document.
    pub pointer: &'static str,
    /// Each copy with its path relative to the group: of a node in v3 (`a/b`), of a document in v2 (`a/b/.zarray`).
    pub copies: Vec<(String, Json)>,
}

impl Consolidated {
    /// Reads the member of a v3 group. `None` if it contains no copies. Faults are added to `diagnostics`.
    pub fn read_v3(member: &Json, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let pointer = "/consolidated_metadata";
        if member.is_null() {
            return None;
        }
        let Some(object) = member.as_object() else {
            return diagnostics.unexpected(code::CONSOLIDATED_FORM, member, "an object", pointer);
        };
        if object.get("kind").and_then(Json::as_str) != Some("inline") {
            let found = object.excerpt("kind");
            let message = format!("expected the kind \"inline\" of consolidated metadata, found {found}");
            diagnostics.add(code::CONSOLIDATED_FORM, pointer, message);
        }
        if object.get("must_understand") != Some(&Json::Bool(false)) {
            let message = "consolidated metadata without \"must_understand\": false: readers that do not know them \
                cannot read the group";
            diagnostics.add(code::CONSOLIDATED_FORM, pointer, message);
        }
        copies(object, "/consolidated_metadata/metadata", diagnostics)
    }

    /// Reads a `.zmetadata`.
    pub fn read_v2(document: &Json, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let Some(object) = document.as_object() else {
            return diagnostics.unexpected(code::CONSOLIDATED_FORM, document, "an object", "");
        };
        if object.get("zarr_consolidated_format").and_then(Json::as_u64) != Some(1) {
            let found = object.excerpt("zarr_consolidated_format");
            let message = format!("`zarr_consolidated_format`: expected 1, found {found}");
            diagnostics.add(code::CONSOLIDATED_FORM, "", message);
        }
        copies(object, "/metadata", diagnostics)
    }

    /// Returns the pointer to a copy in its document.
    pub fn pointer_of(&self, path: &str) -> String {
        member_pointer(self.pointer, path)
    }
}

fn copies(object: &Object, pointer: &'static str, diagnostics: &mut Vec<Diagnostic>) -> Option<Consolidated> {
    let Some(Json::Object(metadata)) = object.get("metadata") else {
        let found = object.excerpt("metadata");
        let message = format!("`metadata`: expected an object of metadata documents, found {found}");
        return diagnostics.refuse(code::CONSOLIDATED_FORM, pointer, message);
    };
    let mut consolidated = Consolidated { pointer, copies: Vec::with_capacity(metadata.len()) };
    let mut num_faults = 0;
    for (path, copy) in metadata.iter() {
        // Paths become keys of the store. A name such as `..` must not lead out of the group.
        let mut names = path.split('/');
        if names.all(|name| !matches!(name, "" | "." | "..")) && !path.contains('\0') {
            consolidated.copies.push((path.to_owned(), copy.clone()));
        } else if num_faults < MAX_FAULTS {
            num_faults += 1;
            let message = format!("{} is not a path below the group", Json::from(path).excerpt());
            let help = "a path is made of names with `/` between them, none of them empty, `.` or `..`";
            diagnostics.advise(code::CONSOLIDATED_PATH, consolidated.pointer_of(path), message, help);
        }
    }
    Some(consolidated)
}

/// The member of a v3 group that contains copies of the documents below it.
pub const CONSOLIDATED_MEMBER: &str = "consolidated_metadata";

/// Returns true if a copy means the same as the document of a node, even if one has more default members. zarr-python
/// writes copies in its own form, whatever form the document has (SEMANTICS D4). Copies inside either are ignored.
pub fn is_copy_of(copy: &Json, document: &Json) -> bool {
    let [copy, document] = [copy, document].map(without_copies);
    // The text is mostly the same, too.
    copy.same_value(&document) || meaning(&copy).zip(meaning(&document)).is_some_and(|(a, b)| a.same_value(&b))
}

/// Returns true if a document of v2 may be absent, because it contains no attributes.
pub fn says_nothing(path: &str, document: &Json) -> bool {
    path.rsplit('/').next() == Some(".zattrs") && document.as_object().is_some_and(Object::is_empty)
}

/// Returns a group's document without the copies in it.
pub fn without_copies(document: &Json) -> Json {
    let mut document = document.clone();
    if let Some(object) = document.as_object_mut() {
        object.remove(CONSOLIDATED_MEMBER);
    }
    document
}

/// Returns one form for all documents that mean the same. `None` if the document cannot be read.
fn meaning(document: &Json) -> Option<Json> {
    match (document.get("zarr_format")?.as_u64()?, node_kind(document)) {
        // Copies of v2 have no node type. Only a `.zarray` has chunks. Other documents are compared as they are.
        (2, _) if document.get("chunks").is_some() => meaning_of_array(v2::read_array(document), 2),
        (3, NodeKind::Array) => meaning_of_array(ArrayDocument::read(document), 3),
        (3, NodeKind::Group) => {
            let GroupDocument { attributes, unknown, diagnostics, .. } = GroupDocument::read(document);
            let meaning = Object::new().with("attributes", attributes.unwrap_or_default()).with("unknown", unknown);
            (!diagnostics.iter().any(Diagnostic::is_error)).then(|| meaning.into())
        }
        _ => None,
    }
}

fn meaning_of_array(array: ArrayDocument, zarr_format: u64) -> Option<Json> {
    if array.diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    // A reader of only the copy may reject a chunk length of 0.
    let has_empty_chunks = array.diagnostics.iter().any(|found| found.is(code::CHUNK_SHAPE_ZERO_EMPTY));
    let chunk_grid = match array.chunk_grid? {
        ChunkGrid::Other(json) => json,
        // `Debug` writes every length, and a grid of a known kind has nothing else.
        known => Json::from(format!("{known:?}")),
    };
    let (mut data_type, mut fill_value) = (array.data_type?, array.fill_value?);
    if let Ok(known) = DataType::from_metadata(&data_type) {
        // Two spellings of a fill value have the same bytes, and these have one form in JSON.
        let read = known.fill_value_from_json(&fill_value);
        fill_value = read.and_then(|read| known.fill_value_to_json(&read.value)).unwrap_or(fill_value);
        data_type = known.to_metadata();
    }
    // A list of nulls means that no dimension has a name.
    let names = array.dimension_names.filter(|names| names.iter().any(Option::is_some));
    let meaning = Object::new()
        .with("zarr_format", zarr_format)
        .with("shape", array.shape?)
        .with("chunk_grid", chunk_grid)
        .with("has_empty_chunks", has_empty_chunks)
        .with("chunk_key_encoding", array.chunk_key_encoding?.to_json())
        .with("data_type", data_type)
        .with("fill_value", fill_value)
        .with("codecs", meaning_of_chain(&array.codecs?))
        .with("attributes", array.attributes.unwrap_or_default())
        .with("dimension_names", names)
        .with("storage_transformers", array.storage_transformers)
        .with("unknown", array.unknown);
    Some(meaning.into())
}

fn meaning_of_chain(codecs: &[CodecMetadata]) -> Json {
    Json::Array(codecs.iter().map(meaning_of_codec).collect())
}

/// Returns a codec without members that equal their defaults, also in the chains inside it.
fn meaning_of_codec(codec: &CodecMetadata) -> Json {
    let mut configuration = codec.configuration.clone().unwrap_or_default();
    for (member, value) in registry::find(&codec.name).map_or(&[][..], |entry| entry.defaults) {
        let is_default = |json: &Json| Json::parse_str(value).is_ok_and(|value| value.same_value(json));
        if configuration.get(member).is_some_and(is_default) {
            configuration.remove(member);
        }
    }
    for member in ["codecs", "index_codecs"] {
        if let Some(chain) = configuration.get(member).and_then(|json| read_codecs(json, "", &mut Vec::new())) {
            configuration.insert(member, meaning_of_chain(&chain));
        }
    }
    Object::new()
        .with("name", codec.name.as_str())
        .with("configuration", configuration)
        .with("must_understand", codec.must_understand)
        .with("view", format!("{:?}", codec.view))
        .into()
}

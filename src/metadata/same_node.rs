//! Whether two documents of a node say the same, however much of it they spell out: zarr-python writes the copies of
//! consolidated metadata in its own form, whatever form the document has (SEMANTICS D4).

use super::array::{ArrayDocument, ChunkGrid};
use super::extension::{CodecMetadata, read_codecs};
use super::group::{GroupDocument, NodeKind, node_kind};
use super::json::{Json, Object};
use super::v2;
use crate::codec::registry;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};

/// The member of a v3 group that holds copies of the documents below it.
pub const CONSOLIDATED_MEMBER: &str = "consolidated_metadata";

/// Whether a copy says what the document of a node says; the copies that either holds itself count for nothing.
pub fn is_copy_of(copy: &Json, document: &Json) -> bool {
    let has_copies = |json: &Json| json.get(CONSOLIDATED_MEMBER).is_some();
    if has_copies(copy) || has_copies(document) {
        return says_the_same(&without_copies(copy), &without_copies(document));
    }
    says_the_same(copy, document)
}

/// Whether a document of v2 need not be there: attributes of which there are none.
pub fn says_nothing(path: &str, document: &Json) -> bool {
    path.rsplit('/').next() == Some(".zattrs") && document.as_object().is_some_and(Object::is_empty)
}

/// A group's document without the copies that it holds.
pub fn without_copies(document: &Json) -> Json {
    let Some(object) = document.as_object().filter(|object| object.contains(CONSOLIDATED_MEMBER)) else {
        return document.clone();
    };
    let mut object = object.clone();
    object.remove(CONSOLIDATED_MEMBER);
    object.into()
}

fn says_the_same(a: &Json, b: &Json) -> bool {
    // Mostly they are spelt alike, too.
    a.same_value(b) || meaning(a).zip(meaning(b)).is_some_and(|(a, b)| a.same_value(&b))
}

/// One form for all documents that mean the same. `None`: the document cannot be read.
fn meaning(document: &Json) -> Option<Json> {
    match (document.get("zarr_format")?.as_u64()?, node_kind(document)) {
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
    if array.has_errors() {
        return None;
    }
    // Who reads the copy alone may refuse a chunk length of 0.
    let has_empty_chunks = array.diagnostics.iter().any(|found| found.is(code::CHUNK_SHAPE_ZERO_EMPTY));
    let chunk_grid = match array.chunk_grid? {
        ChunkGrid::Other(json) => json,
        known => Json::from(format!("{known:?}")),
    };
    let (mut data_type, mut fill_value) = (array.data_type?, array.fill_value?);
    if let Ok(known) = DataType::from_metadata(&data_type) {
        let read = known.fill_value_from_json(&fill_value);
        fill_value = read.and_then(|read| known.fill_value_to_json(&read.value)).unwrap_or(fill_value);
        data_type = known.to_metadata();
    }
    // No dimension has a name where all are null.
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

/// A codec without the members that say what their absence says, also in the chains that it holds.
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

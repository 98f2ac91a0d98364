//! Edits of a document. Members that are not named stay as written, in their position.

use super::chunk_key::chunk_shapes;
use super::{ArrayMetadata, CodecMetadata, Json, Object};

/// Returns the codecs as JSON, in the object form.
pub fn codecs_json(codecs: &[CodecMetadata]) -> Json {
    Json::Array(codecs.iter().map(CodecMetadata::to_json).collect())
}

/// Replaces a top-level member in its position, or appends it. A document that is not an object becomes one.
pub fn set_member(document: &mut Json, name: &str, value: impl Into<Json>) {
    if let Some(object) = document.as_object_mut() {
        object.insert(name, value);
    } else {
        *document = Object::new().with(name, value).into();
    }
}

/// Sets a regular grid of chunks of this shape.
pub fn set_chunk_shape(document: &mut Json, chunk_shape: &[u64]) {
    let configuration = Object::new().with("chunk_shape", chunk_shape.to_vec());
    set_member(document, "chunk_grid", Object::new().with("name", "regular").with("configuration", configuration));
}

/// Sets the shape in a v3 array document to that of a part. If chunks have several lengths, these are set, too.
pub fn set_grid_of_part(document: &mut Json, part: &ArrayMetadata) {
    set_member(document, "shape", Json::from(part.shape.clone()));
    if let Some(configuration) = document.get_mut("chunk_grid").and_then(|grid| grid.get_mut("configuration"))
        && configuration.get("chunk_shapes").is_some()
    {
        set_member(configuration, "chunk_shapes", chunk_shapes(&part.grid));
    }
}

/// Adds attributes to the existing ones. Those of the same name are replaced in their position.
pub fn append_attributes(document: &mut Json, attributes: &Object) {
    let mut merged = document.get("attributes").and_then(Json::as_object).cloned().unwrap_or_default();
    attributes.iter().for_each(|(name, value)| merged.insert(name, value.clone()));
    set_member(document, "attributes", merged);
}

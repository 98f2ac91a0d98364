//! Editing of a document: what is not named stays as it was written, in its place.

use super::chunk_grid::chunk_shapes;
use super::{ArrayMetadata, CodecMetadata, Json, Object};

/// The codecs as JSON, in the object form.
pub fn codecs_json(codecs: &[CodecMetadata]) -> Json {
    Json::Array(codecs.iter().map(CodecMetadata::to_json).collect())
}

/// Replaces a top-level member in its place, or appends it; a document that is no object becomes one.
pub fn set_member(document: &mut Json, name: &str, value: impl Into<Json>) {
    if let Some(object) = document.as_object_mut() {
        object.insert(name, value);
    } else {
        *document = Object::new().with(name, value).into();
    }
}

/// Replaces the chunk shape of a regular grid, in its place; any other grid becomes a regular one.
pub fn set_chunk_shape(document: &mut Json, chunk_shape: &[u64]) {
    let value = Json::from(chunk_shape.to_vec());
    let is_regular = document.pointer("/chunk_grid/name").and_then(Json::as_str) == Some("regular");
    let configuration = document.get_mut("chunk_grid").and_then(|grid| grid.get_mut("configuration"));
    if let Some(configuration) = configuration.filter(|_| is_regular) {
        set_member(configuration, "chunk_shape", value);
    } else {
        let grid = Object::new().with("name", "regular");
        set_member(document, "chunk_grid", grid.with("configuration", Object::new().with("chunk_shape", value)));
    }
}

/// Gives an array's document of v3 the shape of a part of it and, where chunks have several lengths, those of its own.
pub fn set_grid_of_part(document: &mut Json, part: &ArrayMetadata) {
    set_member(document, "shape", Json::from(part.shape.clone()));
    if let Some(configuration) = document.get_mut("chunk_grid").and_then(|grid| grid.get_mut("configuration"))
        && configuration.get("chunk_shapes").is_some()
    {
        set_member(configuration, "chunk_shapes", chunk_shapes(&part.grid));
    }
}

/// Puts these attributes beside those that are there; those of the same name are replaced in their place.
pub fn append_attributes(document: &mut Json, attributes: &Object) {
    let mut merged = document.get("attributes").and_then(Json::as_object).cloned().unwrap_or_default();
    attributes.iter().for_each(|(name, value)| merged.insert(name, value.clone()));
    set_member(document, "attributes", merged);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_shape_is_replaced_in_place() {
        let mut json =
            Json::parse_str(r#"{"chunk_grid":{"configuration":{"chunk_shape":[1]},"name":"regular"},"z":0}"#).unwrap();
        set_chunk_shape(&mut json, &[2, 3]);
        assert_eq!(
            json.to_string(),
            r#"{"chunk_grid":{"configuration":{"chunk_shape":[2,3]},"name":"regular"},"z":0}"#
        );
    }
}

//! Writes arrays and groups from the members that differ from a default.

use serde_json::{Value, json};

use super::{CliTest, float32};

/// Returns the document of a Zarr v3 array: four float32 in one chunk, with `members` replaced or added.
///
/// `chunk_shape` sets a regular grid. Without it there is one chunk.
pub(crate) fn document(members: &Value) -> Value {
    let mut members = members.clone();
    let shape = members.get("shape").cloned().unwrap_or_else(|| json!([4]));
    let chunk_shape = members.as_object_mut().unwrap().remove("chunk_shape").unwrap_or_else(|| shape.clone());
    let plain = json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "float32", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    with_members(plain, &members)
}

/// Returns the `.zarray` of a Zarr v2 array: four float32 in one chunk, with `members` replaced or added.
pub(crate) fn document_v2(members: &Value) -> Value {
    let shape = members.get("shape").cloned().unwrap_or_else(|| json!([4]));
    let plain = json!({
        "zarr_format": 2, "shape": shape, "chunks": shape, "dtype": "<f4", "fill_value": 0.0, "order": "C",
        "filters": null, "compressor": null,
    });
    with_members(plain, members)
}

fn with_members(mut document: Value, members: &Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        document[name] = value.clone();
    }
    document
}

impl CliTest {
    /// Writes the document of a Zarr v3 array. See [`document`].
    #[expect(clippy::needless_pass_by_value, reason = "callers pass `json!`")]
    pub(crate) fn array(&self, name: &str, members: Value) -> &Self {
        self.write(&format!("{name}/zarr.json"), document(&members).to_string())
    }

    /// Writes the `.zarray` of a Zarr v2 array. See [`document_v2`].
    #[expect(clippy::needless_pass_by_value, reason = "callers pass `json!`")]
    pub(crate) fn array_v2(&self, name: &str, members: Value) -> &Self {
        self.write(&format!("{name}/.zarray"), document_v2(&members).to_string())
    }

    /// Writes the document of a Zarr v3 group.
    pub(crate) fn group(&self, name: &str) -> &Self {
        self.write(&format!("{name}/zarr.json"), r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#)
    }

    /// Writes an uncompressed float32 array of one dimension in chunks of 4 elements. `None` is a missing chunk.
    pub(crate) fn write_float32(&self, name: &str, fill_value: &str, chunks: &[Option<[f32; 4]>]) -> &Self {
        let fill_value: Value = serde_json::from_str(fill_value).unwrap_or_else(|_| json!(fill_value));
        self.array(
            name,
            json!({"shape": [chunks.len() * 4], "chunk_shape": [4], "fill_value": fill_value, "attributes": {"units": "K"}}),
        );
        for (index, chunk) in chunks.iter().enumerate() {
            if let Some(chunk) = chunk {
                self.write(&format!("{name}/c/{index}"), float32(chunk));
            }
        }
        self
    }

    pub(crate) fn read_json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

//! Arrays and groups, written from the members in which they differ from a plain one.

use serde_json::{Value, json};

use super::{CliTest, float32};

/// The document of an array of Zarr v3: four float32 in one chunk, with `members` replaced or added.
///
/// `chunk_shape` stands for a regular grid; without it there is one chunk.
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

/// The `.zarray` of an array of Zarr v2: four float32 in one chunk, with `members` replaced or added.
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
    /// Writes the document of an array of Zarr v3; see [`document`].
    #[expect(clippy::needless_pass_by_value, reason = "`json!` where it is called")]
    pub(crate) fn array(&self, name: &str, members: Value) -> &Self {
        self.write(&format!("{name}/zarr.json"), document(&members).to_string())
    }

    /// Writes the `.zarray` of an array of Zarr v2; see [`document_v2`].
    #[expect(clippy::needless_pass_by_value, reason = "`json!` where it is called")]
    pub(crate) fn array_v2(&self, name: &str, members: Value) -> &Self {
        self.write(&format!("{name}/.zarray"), document_v2(&members).to_string())
    }

    /// Writes the document of a group of Zarr v3.
    pub(crate) fn group(&self, name: &str) -> &Self {
        self.write(&format!("{name}/zarr.json"), r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#)
    }

    /// Writes a float32 array of one dimension with chunks of 4 elements, uncompressed; `None` is a chunk that is
    /// not stored.
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

    /// Reads a JSON document.
    pub(crate) fn read_json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

//! What `inspect` shows of an array: the members of its `--json`, by their names.
//!
//! What a damaged array does not tell is `None`, which is null; the findings say why.

use serde::Serialize;

use crate::diagnostic::Diagnostic;
use crate::metadata::json::Json;

/// One array.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InspectResult {
    /// STORE, as the user named it.
    pub store: String,
    /// `array` or `group`.
    pub node_type: &'static str,
    /// `/` for STORE itself, else `/a/b`.
    pub path: String,
    /// 2 or 3.
    pub zarr_format: Option<u64>,
    /// In elements.
    pub shape: Option<Vec<u64>>,
    /// v3 metadata form: a name or an object.
    pub data_type: Option<Json>,
    /// The v2 spelling, for a v2 array.
    pub data_type_v2: Option<Json>,
    /// As in the metadata.
    pub fill_value: Option<Json>,
    /// The smallest unit that can be decoded alone, in elements.
    pub chunk_shape: Option<Vec<u64>>,
    /// The stored object of a sharded array, in elements.
    pub shard_shape: Option<Vec<u64>>,
    /// v3 form.
    pub chunk_key_encoding: Option<Json>,
    /// One for each dimension, where they are given.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// v3 form.
    pub codecs: Option<Vec<Json>>,
    /// As in the metadata.
    pub attributes: Option<Json>,
    /// The chunk before the first codec; shown in text alone.
    #[serde(skip)]
    pub decoded: Option<Decoded>,
    /// A row for each codec, in encode order.
    pub pipeline: Option<Vec<StageRow>>,
    /// Chunks present and bytes stored; `None` where they were not counted.
    pub storage: Option<StorageResult>,
    /// Values; not read yet.
    pub stats: Option<()>,
    /// Not counted yet.
    pub histogram: Option<()>,
    /// Not made yet.
    pub suggestion: Option<()>,
    /// Findings.
    pub warnings: Vec<Diagnostic>,
}

/// A codec and the chunk after it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageRow {
    /// Its name.
    pub codec: String,
    /// `array->array`, `array->bytes` or `bytes->bytes`.
    pub kind: Option<&'static str>,
    /// As in the metadata.
    pub configuration: Option<Json>,
    /// The data type after it, where there are still elements.
    pub data_type: Option<Json>,
    /// The shape after it, likewise.
    pub shape: Option<Vec<u64>>,
    /// The fill value after it, likewise.
    pub fill_value: Option<Json>,
    /// The size of the chunk after it, where the metadata tell it.
    pub bytes: Option<u64>,
    /// Of `sharding_indexed`: what it does to an inner chunk.
    pub pipeline: Option<Vec<StageRow>>,
    /// The inner chunk before the first of these; shown in text alone.
    #[serde(skip)]
    pub inner_decoded: Option<Box<Decoded>>,
}

/// A chunk before the first codec.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// v3 metadata form.
    pub data_type: Json,
    /// In elements.
    pub shape: Vec<u64>,
    /// As in the metadata.
    pub fill_value: Option<Json>,
    /// In memory.
    pub bytes: Option<u64>,
}

/// What is stored of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StorageResult {
    /// Smallest units that can be decoded alone, over the whole array.
    pub chunks: Option<u64>,
    /// Those that are stored; `None` where shards cannot be looked into.
    pub chunks_present: Option<u64>,
    /// Stored objects of a sharded array.
    pub shards: Option<u64>,
    /// Those that are there.
    pub shards_present: Option<u64>,
    /// Bytes of all elements.
    pub bytes_logical: Option<u64>,
    /// Bytes of the stored objects.
    pub bytes_stored: u64,
    /// Keys that belong to no chunk, at most 100.
    pub unknown_keys: Vec<String>,
}

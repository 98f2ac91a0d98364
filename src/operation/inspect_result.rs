//! The result of `inspect` for a node: the members of its `--json`, by their names.
//!
//! What a damaged array does not tell is `None`, which is null; the findings say why. So is what was not asked for.

mod values;

pub use values::{
    ChunkResult, ChunkStage, DimensionInformation, HistogramResult, InformationResult, KeptBits, PreviewAxis,
    PreviewIndex, PreviewResult, PreviewRow, StatsResult, SuggestionResult, WayResult, WaysResult,
};

use serde::Serialize;

use super::drawing::ArrayDrawing;
use super::validate_result::Failure;
use crate::diagnostic::Diagnostic;
use crate::metadata::json::Json;

/// One node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum InspectResult {
    /// An array.
    Array(Box<ArrayResult>),
    /// A group.
    Group(GroupResult),
}

impl InspectResult {
    /// Its findings.
    pub fn warnings(&self) -> &[Diagnostic] {
        match self {
            InspectResult::Array(array) => &array.warnings,
            InspectResult::Group(group) => &group.warnings,
        }
    }
}

/// Several STOREs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InspectedStores<Document> {
    /// The document of each that could be looked at, in the order in which they were given.
    pub stores: Vec<Document>,
    /// Those that could not.
    pub failures: Vec<Failure>,
    /// The findings of all.
    pub warnings: Vec<Diagnostic>,
}

/// A group and what is below it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GroupResult {
    /// STORE, as the user named it.
    pub store: String,
    /// `group`.
    pub node_type: &'static str,
    /// `/` for STORE itself, else `/a/b`.
    pub path: String,
    /// 2 or 3.
    pub zarr_format: Option<u64>,
    /// As in the metadata.
    pub attributes: Json,
    /// True if the copies of the documents below it are with its own.
    pub consolidated: bool,
    /// Sums over the arrays below it; those of unknown size are left out.
    pub totals: GroupTotals,
    /// The nodes below it, flat, in the order of their paths.
    pub nodes: Vec<NodeResult>,
    /// Findings, of the nodes below it too.
    pub warnings: Vec<Diagnostic>,
}

/// Sums over arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct GroupTotals {
    pub arrays: u64,
    /// Bytes of all elements.
    pub bytes_logical: u64,
    /// Bytes of the stored chunks; `None` where they were not counted.
    pub bytes_stored: Option<u64>,
}

/// The metadata of a node. For a group all but the first three and its attributes are `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct NodeMembers {
    /// `array`, `group`, or `unknown` where its document cannot be read.
    pub node_type: &'static str,
    /// From the root of STORE: `/a/b`; `/` for STORE itself.
    pub path: String,
    /// 2 or 3; `None` for a folder without a document that has nodes below it.
    pub zarr_format: Option<u64>,
    /// In elements.
    pub shape: Option<Vec<u64>>,
    /// v3 metadata form: a name or an object.
    pub data_type: Option<Json>,
    /// The v2 spelling, for a v2 array.
    pub data_type_v2: Option<Json>,
    /// As in the metadata.
    pub fill_value: Option<Json>,
    /// The smallest unit that can be decoded alone, in elements; `None` where such units are of several shapes.
    pub chunk_shape: Option<Vec<u64>>,
    /// The stored object of a sharded array, in elements; `None` also where shards are of several shapes.
    pub shard_shape: Option<Vec<u64>>,
    /// v3 form.
    pub chunk_grid: Option<Json>,
    /// v3 form.
    pub chunk_key_encoding: Option<Json>,
    /// One for each dimension, where they are given.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// v3 form.
    pub codecs: Option<Vec<Json>>,
    /// As in the metadata.
    pub attributes: Option<Json>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct NodeResult {
    /// Members of their own in JSON.
    #[serde(flatten)]
    pub members: NodeMembers,
    /// Bytes of all elements.
    pub bytes_logical: Option<u64>,
    /// Bytes of the stored chunks; `None` where they were not counted.
    pub bytes_stored: Option<u64>,
    /// `--stats` of an array; `None` also for values without an order.
    pub stats: Option<StatsResult>,
    /// `--suggest` of an array of floats that is no coordinate and not quantised.
    pub ways: Option<WaysResult>,
}

/// One array.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ArrayResult {
    /// STORE, as the user named it.
    pub store: String,
    /// Members of their own in JSON.
    #[serde(flatten)]
    pub members: NodeMembers,
    /// The chunk before the first codec; shown in text alone.
    #[serde(skip)]
    pub decoded: Option<Decoded>,
    /// A row for each codec, in encode order.
    pub pipeline: Option<Vec<StageRow>>,
    /// Chunks present and bytes stored; `None` where they were not counted.
    pub storage: Option<StorageResult>,
    /// `--stats`: figures over all values; `None` also for values without an order.
    pub stats: Option<StatsResult>,
    /// `--histogram`.
    pub histogram: Option<HistogramResult>,
    /// `--suggest TYPE`.
    pub suggestion: Option<SuggestionResult>,
    /// `--suggest`.
    pub ways: Option<WaysResult>,
    /// `--information`.
    pub information: Option<InformationResult>,
    /// `--chunk`.
    pub chunk: Option<ChunkResult>,
    /// `--preview`.
    pub preview: Option<PreviewResult>,
    /// The picture for `--preview-png`; no part of the document.
    #[serde(skip)]
    pub image: Option<PreviewResult>,
    /// The figures for a report; no part of the document.
    #[serde(skip)]
    pub drawing: Option<ArrayDrawing>,
    /// Findings.
    pub warnings: Vec<Diagnostic>,
}

/// A codec and the chunk after it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
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
    /// For `sharding_indexed`: the pipeline of an inner chunk.
    pub pipeline: Option<Vec<StageRow>>,
    /// The inner chunk before the first of these; shown in text alone.
    #[serde(skip)]
    pub inner_decoded: Option<Box<Decoded>>,
}

/// A chunk before the first codec.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Decoded {
    /// v3 metadata form.
    pub data_type: Json,
    /// In elements.
    pub shape: Option<Vec<u64>>,
    /// As in the metadata.
    pub fill_value: Option<Json>,
    /// In memory.
    pub bytes: Option<u64>,
}

/// Counts of what is stored of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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

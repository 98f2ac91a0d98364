//! The result of `inspect` for a node: the members of its `--json`, by their names.
//!
//! What a damaged array does not tell is `None`, which is null; the findings say why. So is what was not asked for.

pub use super::drawing::{HistogramResult, PreviewAxis, PreviewIndex};

use serde::Serialize;

use super::transcode_result::SampleResult;
use super::{ArrayDrawing, Failure, figure};
use crate::diagnostic::Diagnostic;
use crate::metadata::Json;

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

/// Figures over all elements of an array: absent chunks count as the fill value, padding at the edge not at all.
/// `count` is the sum of `finite`, `nan`, `missing` and both infinities.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StatsResult {
    /// Elements.
    pub count: u64,
    /// Neither NaN nor infinite nor missing; what follows `fill_value` is over these.
    pub finite: u64,
    /// NaN.
    pub nan: u64,
    /// Equal to a value that counts as missing (`--missing`).
    pub missing: u64,
    /// +Infinity.
    pub positive_infinity: u64,
    /// -Infinity.
    pub negative_infinity: u64,
    /// Equal to the fill value, absent ones among them; where that is NaN, as many as are NaN.
    pub fill_value: u64,
    /// The least; an exact integer for integers, 0 or 1 for `bool`. `None` where no value is finite.
    pub min: Option<Json>,
    /// The greatest, likewise.
    pub max: Option<Json>,
    /// From a sum of about 106 bits.
    #[serde(serialize_with = "figure::optional_number")]
    pub mean: Option<f64>,
    /// Population standard deviation (n degrees of freedom).
    #[serde(serialize_with = "figure::optional_number")]
    pub standard_deviation: Option<f64>,
}

/// The plan of `transcode --quantize` for the array.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SuggestionResult {
    /// `scale_offset` and `cast_value`, to stand in front of the chain (of the innermost one, for shards).
    pub codecs: Vec<Json>,
    /// The array's whole chain with them in it, for `transcode --codecs`.
    pub chain: Vec<Json>,
    /// The least and greatest value that they were made for; `None` where there is no finite value.
    pub range: Option<[Json; 2]>,
    /// The distance of two codes' values.
    #[serde(serialize_with = "figure::number")]
    pub step: f64,
    /// The greatest `|decode(encode(x)) - x|` over all values, measured.
    #[serde(serialize_with = "figure::number")]
    pub max_abs_error: f64,
    /// The fill value that the codecs bring back, which the array needs with them.
    pub fill_value: Json,
    /// The command line that does it.
    pub command: String,
}

/// The bitwise real information of an array: of each bit, the mutual information with the same bit of the neighbour
/// (M. Klöwer et al. 2021, Nature Computational Science 1, 713-724).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InformationResult {
    /// The type whose bits are looked at: the array's, or that of its codes.
    pub data_type: String,
    /// `values`, or `codes` where the chain makes integers of the elements.
    pub of: &'static str,
    /// The name of each bit from the most significant on: `sign`, `e1` and on (exponent), `m1` and on (significand). The
    /// exponent is looked at as sign and magnitude.
    pub bits: Vec<String>,
    /// Bits in front of the significand.
    pub leading_bits: u64,
    /// Along each dimension of the array.
    pub dimensions: Vec<DimensionInformation>,
    /// The bits that keep some shares of the information along every dimension.
    pub kept: Vec<KeptBits>,
}

/// The information along a dimension.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DimensionInformation {
    /// Its number.
    pub axis: u64,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Pairs of neighbours of which neither is NaN nor missing.
    pub pairs: u64,
    /// Information of each bit, from 0 to 1, as counted.
    pub information: Vec<f64>,
    /// The same without the part that chance explains; drawn in text.
    #[serde(skip)]
    pub real: Vec<f64>,
    /// Information that random bits show in so many pairs, with a confidence of 99 %. No more than this counts as
    /// none, nor does anything within half as much again as the most of the last four bits.
    pub insignificant: f64,
    /// The sum of what counts, in bits.
    pub total: f64,
    /// The bits that keep some shares of it; none where there is no information.
    pub kept: Vec<KeptBits>,
}

/// The bits of the significand, or of an integer's bits behind the sign, that keep a share of the information.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KeptBits {
    /// Share of the information, from 0 to 1.
    pub share: f64,
    /// Bits; 0 where the sign and the exponent hold so much already.
    pub bits: u64,
}

/// A stored chunk, and its way back through the chain.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ChunkResult {
    /// Its place in the grid: of stored objects, or with `--inner-chunk` of inner chunks.
    pub indices: Vec<u64>,
    /// True if they count inner chunks.
    pub inner: bool,
    /// The key of the stored object.
    pub key: String,
    /// True if it is stored.
    pub present: bool,
    /// Where an inner chunk begins in its shard, in bytes.
    pub offset: Option<u64>,
    /// Its size as it is stored.
    pub bytes_stored: Option<u64>,
    /// The part of it that lies inside the array, in elements.
    pub shape: Vec<u64>,
    /// A row for each codec, in decode order, up to the first that failed.
    pub stages: Vec<ChunkStage>,
}

/// A codec run backwards.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChunkStage {
    /// Its name.
    pub codec: String,
    /// Its place in the chain.
    pub place: u64,
    /// Bytes before it ran backwards.
    pub bytes_encoded: u64,
    /// Bytes after; `None` where it failed.
    pub bytes: Option<u64>,
    /// The result, where it is an array.
    pub data_type: Option<Json>,
    /// Its shape, likewise.
    pub shape: Option<Vec<u64>>,
    /// Wall time.
    pub seconds: f64,
    /// `ok`, or `wrong` where the codec holds a checksum that was verified; else `None`.
    pub checksum: Option<&'static str>,
    /// Why it failed.
    pub error: Option<String>,
}

/// A two-dimensional slice, reduced to a picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PreviewResult {
    /// The dimension that runs down and the one that runs to the right; one alone runs to the right.
    pub axes: Vec<PreviewAxis>,
    /// Where the slice is taken along the others.
    pub at: Vec<PreviewIndex>,
    /// `mean`: of the finite values that a pixel stands for; `nearest`: the value in the middle of them, for slices of
    /// more elements than are read for a picture.
    pub reduction: &'static str,
    /// The least value of a pixel; `None` where all are NaN.
    #[serde(serialize_with = "figure::optional_number")]
    pub min: Option<f64>,
    /// The greatest, likewise.
    #[serde(serialize_with = "figure::optional_number")]
    pub max: Option<f64>,
    /// The pixels, row by row.
    pub values: Vec<PreviewRow>,
    /// The attribute `units` of the array; for pictures alone, as is the next.
    #[serde(skip)]
    pub units: Option<String>,
    /// True if the first row belongs at the bottom of a picture: the rows are latitudes from south to north.
    #[serde(skip)]
    pub is_upside_down: bool,
}

/// A row of pixels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreviewRow(#[serde(serialize_with = "figure::numbers")] pub Vec<f64>);

/// The ways in which `transcode` could store an array of floats.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WaysResult {
    /// The chunks that were tried.
    pub sample: SampleResult,
    /// Figures over the elements of these chunks.
    pub values: StatsResult,
    /// Bytes that the array's chunks take as they are.
    pub bytes_stored: u64,
    /// The compressor that every way adds by `--compress`, where the array is not compressed.
    pub compress: Option<&'static str>,
    /// The ways.
    pub ways: Vec<WayResult>,
}

/// A way, and what it makes of the sample; where it cannot be gone, all but `name` and `reason` is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct WayResult {
    /// `uint8`, `uint16`; `max-error` or `keep-bits` with what it takes.
    pub name: String,
    /// The options of `transcode`.
    pub options: Option<String>,
    /// The type of the codes, or of the floats that keep some bits.
    pub data_type: Option<String>,
    /// Bits of the significand that are kept.
    pub keep_bits: Option<u64>,
    /// The greatest error over the sample.
    #[serde(serialize_with = "figure::optional_number")]
    pub max_abs_error: Option<f64>,
    /// The root of the mean square error over the sample.
    #[serde(serialize_with = "figure::optional_number")]
    pub rms_error: Option<f64>,
    /// Bytes of the whole array, estimated, with the indexes of shards.
    pub bytes_stored: Option<u64>,
    /// True if these are the very bytes; for text alone.
    #[serde(skip)]
    pub is_exact: bool,
    /// Stored bytes of the array as it is, over those of this way.
    pub ratio: Option<f64>,
    /// Wall time of the whole array on this machine, in seconds, estimated.
    #[serde(serialize_with = "figure::optional_number")]
    pub seconds: Option<f64>,
    /// The command line that does it.
    pub command: Option<String>,
    /// Why the way cannot be gone.
    pub reason: Option<String>,
}

//! The result of `inspect` for a node: the members of its `--json`, by their names.
//!
//! A member is `None` (null) if it was not requested or a damaged array does not have it. The findings say why.

use serde::Serialize;

pub use super::drawing::{HistogramResult, PreviewAxis, PreviewIndex};
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
    Group(Box<GroupResult>),
}

impl InspectResult {
    /// Returns the nodes that could not be read. Their errors are of [`FaultClass::Environment`](super::FaultClass).
    pub fn failures(&self) -> &[Unread] {
        match self {
            InspectResult::Array(_) => &[],
            InspectResult::Group(group) => &group.failures,
        }
    }

    /// Returns its findings.
    pub fn warnings(&self) -> &[Diagnostic] {
        match self {
            InspectResult::Array(array) => &array.warnings,
            InspectResult::Group(group) => &group.warnings,
        }
    }
}

/// The result for several STOREs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InspectedStores<Document> {
    /// The document of each readable STORE, in the order of the arguments.
    pub stores: Vec<Document>,
    /// The STOREs that could not be read.
    pub failures: Vec<Failure>,
    /// The findings of all STOREs.
    pub warnings: Vec<Diagnostic>,
}

/// A group and the nodes below it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GroupResult {
    /// STORE as the user wrote it.
    pub store: String,
    /// `group`.
    pub node_type: &'static str,
    /// `/` for STORE itself, otherwise `/a/b`.
    pub path: String,
    /// 2 or 3.
    pub zarr_format: Option<u64>,
    /// The attributes in the metadata.
    pub attributes: Json,
    /// True if its metadata include copies of the documents of the nodes below it.
    pub consolidated: bool,
    /// Sums over the arrays below it. Arrays of unknown size are not counted.
    pub totals: GroupTotals,
    /// `--depth`: the levels below it that are shown. `None`: all.
    #[serde(skip)]
    pub depth: Option<u64>,
    /// The nodes below it as a flat list, sorted by path.
    pub nodes: Vec<NodeResult>,
    /// Findings, including those of the nodes below it.
    pub warnings: Vec<Diagnostic>,
    /// The nodes that could not be read, and those whose chunks could not.
    #[serde(skip)]
    pub failures: Vec<Unread>,
}

/// The reason why a node could not be read: the error with its causes, on one line, and the next step.
pub type Unread = (String, Option<String>);

/// Sums over arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct GroupTotals {
    pub arrays: u64,
    /// Bytes of all elements.
    pub bytes_logical: u64,
    /// Bytes of the stored chunks. `None` if they were not counted.
    pub bytes_stored: Option<u64>,
}

/// The metadata of a node. A group has only the first three members and its attributes.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct NodeMembers {
    /// `array` or `group`. `unknown` if its document cannot be read.
    pub node_type: &'static str,
    /// Path from the root of STORE: `/a/b`. `/` for STORE itself.
    pub path: String,
    /// 2 or 3. `None` for a folder without a document that contains nodes.
    pub zarr_format: Option<u64>,
    /// Shape in elements.
    pub shape: Option<Vec<u64>>,
    /// Data type in v3 metadata form: a name or an object.
    pub data_type: Option<Json>,
    /// Data type in v2 form, for a v2 array.
    pub data_type_v2: Option<Json>,
    /// The fill value in the metadata.
    pub fill_value: Option<Json>,
    /// Shape of the smallest unit that can be decoded alone, in elements. `None` if the units differ in shape.
    pub chunk_shape: Option<Vec<u64>>,
    /// Shape of a shard, in elements. `None` without shards, or if they differ in shape.
    pub shard_shape: Option<Vec<u64>>,
    /// The chunk grid in v3 form.
    pub chunk_grid: Option<Json>,
    /// The chunk key encoding in v3 form.
    pub chunk_key_encoding: Option<Json>,
    /// One name per dimension, if the metadata have names.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The codecs in v3 form.
    pub codecs: Option<Vec<Json>>,
    /// The attributes in the metadata.
    pub attributes: Option<Json>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct NodeResult {
    /// The metadata, flattened in JSON.
    #[serde(flatten)]
    pub members: NodeMembers,
    /// Bytes of all elements.
    pub bytes_logical: Option<u64>,
    /// Bytes of the stored chunks. `None` if they were not counted.
    pub bytes_stored: Option<u64>,
    /// Chunks that the store refused and that count as absent (`--missing-status 403`). `None` if none was looked at.
    pub chunks_refused: Option<u64>,
    /// `--stats` of an array. `None` also for values without an order.
    pub stats: Option<StatsResult>,
    /// `--suggest` of a float array that is neither a coordinate nor quantised.
    pub ways: Option<WaysResult>,
}

/// One array.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ArrayResult {
    /// STORE as the user wrote it.
    pub store: String,
    /// The metadata, flattened in JSON.
    #[serde(flatten)]
    pub members: NodeMembers,
    /// The chunk before the first codec. Shown only in text.
    #[serde(skip)]
    pub decoded: Option<RepresentationResult>,
    /// One row per codec, in encode order.
    pub pipeline: Option<Vec<StageRow>>,
    /// Numbers of stored chunks and bytes. `None` if they were not counted.
    pub storage: Option<StorageResult>,
    /// Chunks that the store refused and that count as absent (`--missing-status 403`). `None` if none was looked at.
    pub chunks_refused: Option<u64>,
    /// `--stats`: statistics of all values. `None` also for values without an order.
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
    /// The picture for `--preview-png`. Not in the document.
    #[serde(skip)]
    pub image: Option<PreviewResult>,
    /// The numbers for a report. Not in the document.
    #[serde(skip)]
    pub drawing: Option<ArrayDrawing>,
    /// Findings.
    pub warnings: Vec<Diagnostic>,
}

/// A codec and its output.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StageRow {
    /// Name of the codec.
    pub codec: String,
    /// `array->array`, `array->bytes` or `bytes->bytes`.
    pub kind: Option<&'static str>,
    /// The configuration in the metadata.
    pub configuration: Option<Json>,
    /// Its output, flattened in JSON.
    #[serde(flatten)]
    pub output: RepresentationResult,
    /// For `sharding_indexed`: the codecs of an inner chunk.
    pub pipeline: Option<Vec<StageRow>>,
    /// The inner chunk before its first codec. Shown only in text.
    #[serde(skip)]
    pub inner_decoded: Option<Box<RepresentationResult>>,
}

/// A chunk before the first codec, or after a codec.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct RepresentationResult {
    /// Data type of an array in v3 metadata form. `None` for bytes.
    pub data_type: Option<Json>,
    /// Shape of an array in elements. `None` for bytes, and for chunks of several shapes.
    pub shape: Option<Vec<u64>>,
    /// Fill value of an array, if it has one.
    pub fill_value: Option<Json>,
    /// Size in bytes, if it is known.
    pub bytes: Option<u64>,
}

/// Counts of the stored chunks of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StorageResult {
    /// Number of the smallest units that can be decoded alone, in the whole array.
    pub chunks: Option<u64>,
    /// Number of these units that are stored. `None` if shard indexes cannot be read.
    pub chunks_present: Option<u64>,
    /// Number of shards in the grid.
    pub shards: Option<u64>,
    /// Number of stored shards.
    pub shards_present: Option<u64>,
    /// Bytes of all elements.
    pub bytes_logical: Option<u64>,
    /// Bytes of the stored objects.
    pub bytes_stored: u64,
    /// Keys that are not the key of any chunk, at most 100. `None` if the store cannot list its keys.
    pub unknown_keys: Option<Vec<String>>,
    /// Number of these keys.
    #[serde(skip)]
    pub num_unknown: u64,
}

/// Statistics of all elements of an array. Absent chunks count as the fill value. Padding at the edge is not counted.
/// `count` is the sum of `finite`, `nan`, `missing` and both infinities.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StatsResult {
    /// Number of elements.
    pub count: u64,
    /// Number of elements that are neither NaN, infinite nor missing. The members after `fill_value` are of these.
    pub finite: u64,
    /// Number of NaN.
    pub nan: u64,
    /// Number of elements equal to a missing value (`--missing`).
    pub missing: u64,
    /// Number of +Infinity.
    pub positive_infinity: u64,
    /// Number of -Infinity.
    pub negative_infinity: u64,
    /// Number of elements equal to the fill value, including absent ones. A NaN fill value counts every NaN.
    pub fill_value: u64,
    /// Minimum. An exact integer for integers, 0 or 1 for `bool`. `None` if no value is finite.
    pub min: Option<Json>,
    /// Maximum, in the form of `min`.
    pub max: Option<Json>,
    /// Mean, from a sum of about 106 bits.
    #[serde(serialize_with = "figure::number")]
    pub mean: Option<f64>,
    /// Population standard deviation (n degrees of freedom).
    #[serde(serialize_with = "figure::number")]
    pub standard_deviation: Option<f64>,
}

/// The plan of `transcode --quantize` for the array.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SuggestionResult {
    /// `scale_offset` and `cast_value`, to be inserted before the chain. With shards: before the chain of inner chunks.
    pub codecs: Vec<Json>,
    /// The whole chain of the array with them, for `transcode --codecs`.
    pub chain: Vec<Json>,
    /// The least and greatest value. `None` if no value is finite.
    pub range: Option<[Json; 2]>,
    /// Difference between the values of two neighbouring codes.
    #[serde(serialize_with = "figure::number")]
    pub step: f64,
    /// The greatest `|decode(encode(x)) - x|` of all values, measured.
    #[serde(serialize_with = "figure::number")]
    pub max_abs_error: f64,
    /// A fill value that these codecs encode and decode without change. The array needs it.
    pub fill_value: Json,
    /// The command line that applies them.
    pub command: String,
}

/// The bitwise real information of an array: the mutual information of each bit and the same bit of the neighbour (M.
/// Klöwer et al. 2021, Nature Computational Science 1, 713-724).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InformationResult {
    /// The type of the analysed bits: of the array, or of its codes.
    pub data_type: String,
    /// `values`. `codes` if the chain encodes the elements to integers.
    pub of: &'static str,
    /// Name of each bit, the most significant first: `sign`, `e1`, ... (exponent), `m1`, ... (significand). The
    /// exponent is analysed as sign and magnitude.
    pub bits: Vec<String>,
    /// Number of bits before the significand.
    pub leading_bits: u64,
    /// The information along each dimension.
    pub dimensions: Vec<DimensionInformation>,
    /// The bits that keep certain shares of the information along every dimension.
    pub kept: Vec<KeptBits>,
}

/// The information along a dimension.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DimensionInformation {
    /// Number of the dimension.
    pub axis: u64,
    /// Name of the dimension, if it has one.
    pub name: Option<String>,
    /// Number of neighbour pairs without NaN and missing values.
    pub pairs: u64,
    /// Information of each bit, from 0 to 1, before the significance test.
    pub information: Vec<f64>,
    /// Information of each bit without the part that chance explains. Shown only in text.
    #[serde(skip)]
    pub real: Vec<f64>,
    /// Information of random bits in this many pairs, with a confidence of 99 %. At most this much is treated as 0. So
    /// is at most 1.5 times the maximum of the last four bits.
    pub insignificant: f64,
    /// Sum of the real information, in bits.
    pub total: f64,
    /// The bits that keep certain shares of it. Empty if there is no information.
    pub kept: Vec<KeptBits>,
}

/// The bits that keep a share of the information: of the significand, or of an integer after its sign.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KeptBits {
    /// Share of the information, from 0 to 1.
    pub share: f64,
    /// Number of bits. 0 if the sign and the exponent contain this share already.
    pub bits: u64,
}

/// A stored chunk, and the steps of its decoding.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ChunkResult {
    /// Index of the chunk in the grid: of stored objects, or with `--inner-chunk` of inner chunks.
    pub indices: Vec<u64>,
    /// True if the index is in the grid of inner chunks.
    pub inner: bool,
    /// Key of the stored object.
    pub key: String,
    /// True if it is stored.
    pub present: bool,
    /// Offset of an inner chunk in its shard, in bytes.
    pub offset: Option<u64>,
    /// Encoded size in bytes.
    pub bytes_stored: Option<u64>,
    /// Shape of the part inside the array, in elements.
    pub shape: Vec<u64>,
    /// One row per codec, in decode order, up to the first failure.
    pub stages: Vec<ChunkStage>,
}

/// The decoding by one codec.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChunkStage {
    /// Name of the codec.
    pub codec: String,
    /// Index of the codec in the chain.
    pub place: u64,
    /// Bytes before decoding.
    pub bytes_encoded: u64,
    /// Bytes after decoding. `None` if it failed.
    pub bytes: Option<u64>,
    /// Data type of the output, if that is an array.
    pub data_type: Option<Json>,
    /// Shape of the output, if that is an array.
    pub shape: Option<Vec<u64>>,
    /// Wall time.
    pub seconds: f64,
    /// `ok` or `wrong` for a verified checksum. `None` if the codec has none.
    pub checksum: Option<&'static str>,
    /// The error, if it failed.
    pub error: Option<String>,
}

/// A two-dimensional slice, reduced to a picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PreviewResult {
    /// The vertical and the horizontal dimension. A single one is horizontal.
    pub axes: Vec<PreviewAxis>,
    /// Index of the slice along each other dimension.
    pub at: Vec<PreviewIndex>,
    /// `mean`: of the finite values of a pixel. `nearest`: the value in the middle of a pixel, for slices with more
    /// elements than a picture reads.
    pub reduction: &'static str,
    /// The minimum of the pixels. `None` if all are NaN.
    #[serde(serialize_with = "figure::number")]
    pub min: Option<f64>,
    /// The maximum of the pixels. `None` if all are NaN.
    #[serde(serialize_with = "figure::number")]
    pub max: Option<f64>,
    /// The pixels, row by row.
    pub values: Vec<PreviewRow>,
    /// The attribute `units` of the array. Only for pictures.
    #[serde(skip)]
    pub units: Option<String>,
    /// True if the first row belongs at the bottom: the rows are latitudes from south to north. Only for pictures.
    #[serde(skip)]
    pub is_upside_down: bool,
}

/// A row of pixels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreviewRow(#[serde(serialize_with = "figure::numbers")] pub Vec<f64>);

/// Ways to store a float array with `transcode`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WaysResult {
    /// The sample of chunks.
    pub sample: SampleResult,
    /// Statistics of the elements of the sample.
    pub values: StatsResult,
    /// Bytes of the stored chunks of the array.
    pub bytes_stored: u64,
    /// The compressor that every way adds with `--compress`, if the array is not compressed.
    pub compress: Option<&'static str>,
    /// The ways.
    pub ways: Vec<WayResult>,
}

/// A way, and its result on the sample. If it is not possible, only `name` and `reason` are set.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct WayResult {
    /// `uint8`, `uint16`, `max-error` or `keep-bits` with its argument.
    pub name: String,
    /// The options of `transcode`.
    pub options: Option<String>,
    /// Type of the codes, or of the floats that keep some bits.
    pub data_type: Option<String>,
    /// Number of significand bits that are kept.
    pub keep_bits: Option<u64>,
    /// The greatest error in the sample.
    #[serde(serialize_with = "figure::number")]
    pub max_abs_error: Option<f64>,
    /// The root mean square error in the sample.
    #[serde(serialize_with = "figure::number")]
    pub rms_error: Option<f64>,
    /// Estimated bytes of the whole array, including shard indexes.
    pub bytes_stored: Option<u64>,
    /// True if `bytes_stored` is exact. Only for text.
    #[serde(skip)]
    pub is_exact: bool,
    /// Stored bytes of the array divided by `bytes_stored`.
    pub ratio: Option<f64>,
    /// Estimated wall time for the whole array on this machine, in seconds.
    #[serde(serialize_with = "figure::number")]
    pub seconds: Option<f64>,
    /// The command line of the way.
    pub command: Option<String>,
    /// The reason why the way is not possible.
    pub reason: Option<String>,
}

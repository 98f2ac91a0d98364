//! The result of `transcode`, or with `--dry-run` its plan: the members of its `--json`, by their names.
//!
//! A member that does not apply or is unknown is `None` (null).

use serde::{Deserialize, Serialize};

use super::figure;
use crate::diagnostic::Diagnostic;
use crate::metadata::Json;

/// The result of a whole run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TranscodeResult {
    /// SOURCE as the user wrote it.
    pub source: String,
    /// DEST as the user wrote it.
    pub destination: String,
    /// True if nothing was written.
    pub dry_run: bool,
    /// True if DEST exists and is complete.
    pub complete: bool,
    /// Wall time in seconds.
    pub seconds: f64,
    /// The nodes, sorted by path.
    pub nodes: Vec<NodeResult>,
    /// Sums over the nodes.
    pub totals: Totals,
    /// With `--dry-run`: the objects that the run would write.
    pub plan: Option<PlannedObjects>,
    /// Paths of arrays that are not quantised or rounded: coordinates, and arrays that CF attributes name.
    pub spared: Vec<String>,
    /// Findings that did not stop the run.
    pub warnings: Vec<Diagnostic>,
}

/// The route of the chunks of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RouteName {
    /// Encoded bytes are copied.
    Copy,
    /// Same grid, other codecs.
    Recode,
    /// Inner chunks are copied into other shards.
    Reshard,
    /// Another grid.
    Rechunk,
    /// No chunk data.
    #[default]
    Metadata,
}

impl RouteName {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            RouteName::Copy => "copy",
            RouteName::Recode => "recode",
            RouteName::Reshard => "reshard",
            RouteName::Rechunk => "rechunk",
            RouteName::Metadata => "metadata",
        }
    }
}

/// The result for one node.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct NodeResult {
    /// `/` for SOURCE itself, otherwise `/a/b`.
    pub path: String,
    /// `array` or `group`.
    pub node_type: &'static str,
    /// Route of its chunks.
    pub route: RouteName,
    /// The array in SOURCE. `None` for a group.
    pub source: Option<ArrayDescription>,
    /// The array in DEST. `None` for a group.
    pub destination: Option<ArrayDescription>,
    /// The first index and the index after the last of `--select`, for each dimension. `None`: everything.
    pub selection: Option<Vec<[u64; 2]>>,
    /// Numbers of chunks and bytes.
    #[serde(flatten)]
    pub counts: Counts,
    /// Number of passes over chunk data: 2 with intermediate data. `None` for a group.
    pub passes: Option<u64>,
    /// Number of work units in all passes: objects, or blocks of objects if the grid changes.
    pub units: Option<u64>,
    /// Mean ratio of chunks read to chunks needed. With two passes: of the one that reads more than it needs.
    pub read_amplification: Option<f64>,
    /// Peak memory of the chunk data in flight, in bytes.
    pub memory_bytes: Option<u64>,
    /// The dimensions along which differences of integers or codes are stored. `None` without `--predict`.
    pub predict: Option<Vec<String>>,
    /// Readers that can decode the differences or the quantised values. `None` if there are neither.
    pub readers: Option<String>,
    pub quantization: Option<QuantizationResult>,
    pub verify: Option<VerifyResult>,
    pub compression: Option<CompressionResult>,
    /// With `--estimate`: the size and time of the plan.
    pub estimate: Option<EstimateResult>,
}

/// The metadata of an array in v3 form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ArrayDescription {
    /// 2 or 3.
    pub zarr_format: u64,
    /// Data type in metadata form: a name or an object. Null if a first pass determines it.
    pub data_type: Json,
    /// The fill value in the metadata.
    pub fill_value: Json,
    /// Shape of the smallest unit that can be decoded alone, in elements. `None` if the units differ in shape.
    pub chunk_shape: Option<Vec<u64>>,
    /// Shape of a shard, in elements. `None` without shards, or if they differ in shape.
    pub shard_shape: Option<Vec<u64>>,
    /// The whole chain.
    pub codecs: Vec<Json>,
}

/// Numbers of chunks (stored objects of the grid) and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Chunks in the grid of DEST.
    pub chunks: Option<u64>,
    /// Chunks in the grid of SOURCE that are not stored.
    pub chunks_absent: Option<u64>,
    /// Chunks of SOURCE that the server refused in this run. They were treated as absent (`--missing-status 403`).
    pub chunks_refused: Option<u64>,
    /// Chunks read from SOURCE.
    pub chunks_read: Option<u64>,
    /// Chunks written to DEST.
    pub chunks_written: Option<u64>,
    /// Encoded bytes of the chunks read from SOURCE.
    pub bytes_read: Option<u64>,
    /// Encoded bytes of the chunks written to DEST.
    pub bytes_written: Option<u64>,
    /// Bytes of intermediate data.
    pub bytes_temporary: Option<u64>,
    /// Bytes of all elements, in the data type of DEST.
    pub bytes_logical: Option<u64>,
    /// Encoded bytes of the selected chunks of SOURCE. `bytes_read` counts a chunk again if it is read again. `None` if
    /// chunks are read again and their sizes were not requested.
    pub bytes_source: Option<u64>,
}

/// Sums over the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Numbers of chunks and bytes.
    #[serde(flatten)]
    pub counts: Counts,
    /// Number of copied keys that belong to no node.
    pub other_keys: u64,
}

/// The maximum number of objects of a plan, including documents. Chunks that contain only the fill value are known
/// later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct PlannedObjects {
    /// Number of keys in DEST.
    pub keys: u64,
    /// Number of files. `None` in an object store.
    pub files: Option<u64>,
    /// Number of folders, including DEST itself. `None` in an object store.
    pub folders: Option<u64>,
    /// Minimum number of requests that read chunks of SOURCE. `None` if SOURCE is local.
    pub requests_read: Option<u64>,
    /// Approximate number of requests that write DEST. `None` if DEST is local.
    pub requests_write: Option<u64>,
}

/// The scaling and the errors of a quantised array.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct QuantizationResult {
    /// `codecs`, `cf` or `plain`. `bitround` for floats that stay floats (`--keep-bits`), without range, codes and
    /// bound.
    #[serde(rename = "as")]
    pub form: &'static str,
    /// Whether the codes existed before, in another form.
    #[serde(skip)]
    pub is_repacked: bool,
    /// Type of the codes. `None` if `--max-error` determines it and the plan reads no chunk.
    pub data_type: Option<String>,
    /// For `bitround`: the explicit significand bits that are kept. `None` also in a plan that reads no chunk.
    pub keep_bits: Option<u32>,
    /// For `bitround`: the share of the bitwise real information in these bits (`--keep-bits auto`).
    pub information: Option<f64>,
    /// The least and greatest value of the range, as literals of the array's type.
    pub range: Option<[Json; 2]>,
    /// `offset` of the codec, as a literal of the array's type. `None` if a plan reads no chunk and it depends on the
    /// data.
    pub offset: Option<Json>,
    /// `scale` of the codec, as a literal of the array's type. `None` if a plan reads no chunk and it depends on the
    /// data.
    pub scale: Option<Json>,
    /// `|1/scale|`, the difference between the values of neighbouring codes.
    #[serde(serialize_with = "figure::number")]
    pub step: Option<f64>,
    /// The first and the last code of numbers. `None` if a plan reads no chunk and they depend on the data.
    pub codes: Option<[i64; 2]>,
    /// Code of NaN.
    pub nan_code: Option<i64>,
    /// The dimensions along which differences of the codes are stored. `None` without differences.
    pub predict: Option<Vec<String>>,
    /// Number of elements.
    pub count: u64,
    /// Number of NaN elements, including missing values. `None` in a plan.
    pub nan: Option<u64>,
    /// Number of elements that were clamped to the range. `None` in a plan.
    pub clamped: Option<u64>,
    /// The greatest error of the finite elements that were not clamped. With `--as` alone: the greatest difference
    /// between the two forms of a code.
    #[serde(serialize_with = "figure::number")]
    pub max_abs_error: Option<f64>,
    /// The greatest error of the clamped elements.
    #[serde(serialize_with = "figure::number")]
    pub max_abs_error_clamped: Option<f64>,
    /// The root mean square error of the finite elements that were not clamped.
    #[serde(serialize_with = "figure::number")]
    pub rms_error: Option<f64>,
    /// Limit of `max_abs_error`: `--max-error`, or the one that follows from step and rounding.
    #[serde(serialize_with = "figure::number")]
    pub bound: Option<f64>,
    /// Readers that can decode the result. `None` if the metadata do not say what the codes mean.
    pub readers: Option<String>,
    /// An entry of `scalar_map.encode` with which zarr-python 3.4.1 and 3.4.2 open the shards. It has a value of the
    /// array's type that no element has, and its code.
    pub reader_workaround: Option<(Json, i64)>,
    /// Number of different codes, with `--verify` and at most 16 bits.
    pub distinct_codes: Option<u64>,
    /// Bytes of stored chunks in SOURCE.
    pub bytes_source: Option<u64>,
    /// Bytes of stored chunks in DEST.
    pub bytes_destination: Option<u64>,
    /// With `--quality` or `--require`.
    pub quality: Option<QualityResult>,
}

/// Reason for a missing Kolmogorov-Smirnov test.
pub const NO_KS_TEST: &str = "the result can hold more than 2^20 different values";

/// Comparison of DEST with SOURCE as readers decode them, over points that are finite in both. An undefined measure is
/// `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QualityResult {
    /// Number of points that are finite in SOURCE and in DEST.
    pub points: u64,
    /// Mean of DEST minus SOURCE.
    #[serde(serialize_with = "figure::number")]
    pub bias: Option<f64>,
    /// `20 log10(range of SOURCE / rms error)`, in dB. `None` if SOURCE is constant.
    #[serde(serialize_with = "figure::number")]
    pub psnr: Option<f64>,
    /// Pearson's correlation coefficient. `None` if SOURCE or DEST is constant.
    #[serde(serialize_with = "figure::number")]
    pub pearson: Option<f64>,
    /// The share of points with a relative error above 1e-4. Where SOURCE is 0, the absolute error.
    pub relative_error_share: Option<f64>,
    /// The greatest difference between the distribution functions of SOURCE and DEST. `None` if DEST can contain more
    /// than 2^20 different values.
    pub ks_statistic: Option<f64>,
    /// The p-value of the two-sample Kolmogorov-Smirnov test, if there is a statistic.
    #[serde(serialize_with = "figure::number")]
    pub ks_p: Option<f64>,
    /// The minimum DSSIM of all levels. A level is a slice of the last two dimensions.
    #[serde(serialize_with = "figure::number")]
    pub dssim: Option<f64>,
    /// Indices of this level along the other dimensions.
    pub dssim_level: Option<Vec<u64>>,
    /// The share of zeros that stay 0. 1 if there are no zeros.
    pub zeros_kept: Option<f64>,
    /// The share of other numbers that keep their sign. 1 if there are none.
    pub signs_kept: Option<f64>,
    /// The reason why there is no DSSIM.
    #[serde(skip)]
    pub no_dssim: Option<&'static str>,
}

/// The result of `--verify`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct VerifyResult {
    /// True if all values are equal. For quantised values: within the bound.
    pub equal: bool,
    /// Number of compared elements.
    pub elements: u64,
    /// Number of elements that differ. For quantised values: by more than the bound.
    pub differing: u64,
    /// The greatest difference.
    #[serde(serialize_with = "figure::number")]
    pub max_abs_error: Option<f64>,
    /// The bound of quantised values.
    #[serde(serialize_with = "figure::number")]
    pub bound: Option<f64>,
}

impl Totals {
    /// Sums the counts of the arrays. A sum is `None` if the count of one array is unknown. Only arrays whose elements
    /// have a size have logical bytes.
    pub fn new(nodes: &[NodeResult], other_keys: u64) -> Self {
        let arrays = || nodes.iter().filter(|node| node.node_type == "array");
        let sum = |member: fn(&Counts) -> Option<u64>| {
            let counts = arrays().map(|node| member(&node.counts));
            counts.reduce(|one, other| Some(one?.saturating_add(other?))).flatten()
        };
        Totals {
            counts: Counts {
                chunks: sum(|counts| counts.chunks),
                chunks_absent: sum(|counts| counts.chunks_absent),
                chunks_refused: sum(|counts| counts.chunks_refused),
                chunks_read: sum(|counts| counts.chunks_read),
                chunks_written: sum(|counts| counts.chunks_written),
                bytes_read: sum(|counts| counts.bytes_read),
                bytes_written: sum(|counts| counts.bytes_written),
                bytes_temporary: sum(|counts| counts.bytes_temporary),
                bytes_logical: arrays().filter_map(|node| node.counts.bytes_logical).reduce(u64::saturating_add),
                bytes_source: sum(|counts| counts.bytes_source),
            },
            other_keys,
        }
    }
}

/// Chunks that represent an array: one of each stretch of equal length, in C order of the grid. Their positions are
/// pseudorandom and the same each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleResult {
    /// Number of chunks in the sample.
    pub chunks: u64,
    /// Number of chunks that are written for the whole array.
    pub of: u64,
    /// Shape of these chunks in elements: the smallest unit that can be decoded alone.
    pub chunk_shape: Vec<u64>,
    /// Indices in the grid of these chunks, at most the first 100.
    pub positions: Vec<Vec<u64>>,
    /// Encoded bytes that were read for the sample.
    pub bytes_read: u64,
}

/// The estimated size and time of an array.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EstimateResult {
    /// Bytes of the stored chunks, including shard indexes.
    pub bytes_stored: u64,
    /// True if `bytes_stored` is exact. Only for text.
    #[serde(skip)]
    pub is_exact: bool,
    /// Wall time on this machine, in seconds.
    #[serde(serialize_with = "figure::number")]
    pub seconds: f64,
    /// The sample of the estimate.
    pub sample: SampleResult,
}

/// The choice of `--compress auto`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CompressionResult {
    /// `auto`, `auto:fast`, `auto:small` or `auto:any`.
    pub goal: String,
    /// The best of the tried chains, with the name in `compress`. `None` in a plan that reads no chunk.
    pub chosen: Option<String>,
    /// The tried chains, faster ones first.
    pub tried: Vec<TriedResult>,
    /// The sample on which they were tried.
    pub sample: Option<SampleResult>,
}

/// A chain, and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriedResult {
    /// Short name for `--compress`. `numcodecs.pcodec` is listed too, although `--compress` does not accept it.
    pub compress: String,
    /// The dimensions along which differences are stored before the chain.
    pub predict: Vec<String>,
    /// The codecs, without `typesize`.
    pub codecs: Vec<Json>,
    /// Estimated bytes of all chunks. `None` if the chain does not support these elements.
    pub bytes_stored: Option<u64>,
    /// The reason why it does not support them.
    pub reason: Option<String>,
}

//! The result of `transcode`, or with `--dry-run` its plan: the members of its `--json`, by their names.
//!
//! A member that does not apply, or is not known, is `None`, which is null.

use serde::{Deserialize, Serialize};

use super::figure;
use crate::diagnostic::Diagnostic;
use crate::metadata::Json;

/// The result of a whole run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TranscodeResult {
    /// SOURCE, as the user named it.
    pub source: String,
    /// DEST, as the user named it.
    pub destination: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Whether DEST is there and whole.
    pub complete: bool,
    /// Wall time.
    #[serde(serialize_with = "figure::number")]
    pub seconds: f64,
    /// The nodes, by path.
    pub nodes: Vec<NodeResult>,
    /// Sums over the nodes.
    pub totals: Totals,
    /// With `--dry-run`, the objects that would be made.
    pub plan: Option<PlannedObjects>,
    /// Paths of arrays that are not quantised or rounded as others are: coordinates, and what CF attributes name.
    pub spared: Vec<String>,
    /// Findings that did not stop the run.
    pub warnings: Vec<Diagnostic>,
}

/// The way a node's chunks take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RouteName {
    /// Encoded bytes as they are.
    Copy,
    /// The grid stays, codecs change.
    Recode,
    /// Inner chunks as they are, other shards.
    Reshard,
    /// Another grid.
    Rechunk,
    /// No chunk data.
    #[default]
    Metadata,
}

impl RouteName {
    /// As reports have it.
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
    /// `/` for SOURCE itself, else `/a/b`.
    pub path: String,
    /// `array` or `group`.
    pub node_type: &'static str,
    /// The way of its chunks.
    pub route: RouteName,
    /// As it was read; `None` for a group.
    pub source: Option<ArrayDescription>,
    /// As it is written; `None` for a group.
    pub destination: Option<ArrayDescription>,
    /// For each dimension the first index that `--select` takes and the one after the last. `None`: all is taken.
    pub selection: Option<Vec<[u64; 2]>>,
    /// Chunks and bytes.
    #[serde(flatten)]
    pub counts: Counts,
    /// Times that chunk data are read: twice where intermediate data are written between; `None` for a group.
    pub passes: Option<u64>,
    /// Pieces of work, of all passes: objects, or blocks of them where the grid changes.
    pub units: Option<u64>,
    /// Chunks read by chunks needed, in the mean; of two passes, in the one that reads more than it needs.
    #[serde(serialize_with = "figure::optional_number")]
    pub read_amplification: Option<f64>,
    /// Peak of the chunk data in flight, in bytes.
    pub memory_bytes: Option<u64>,
    pub quantization: Option<QuantizationResult>,
    pub verify: Option<VerifyResult>,
    pub compression: Option<CompressionResult>,
    /// With `--estimate`, what a plan comes to.
    pub estimate: Option<EstimateResult>,
}

/// An array's metadata, in v3 form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ArrayDescription {
    /// 2 or 3.
    pub zarr_format: u64,
    /// Metadata form: a name or an object; null where a first pass decides.
    pub data_type: Json,
    /// As in the metadata.
    pub fill_value: Json,
    /// The smallest unit that can be decoded alone, in elements; `None` where these are of several shapes.
    pub chunk_shape: Option<Vec<u64>>,
    /// The stored object of a sharded array, in elements; `None` also where these are of several shapes.
    pub shard_shape: Option<Vec<u64>>,
    /// The whole chain.
    pub codecs: Vec<Json>,
}

/// Chunks (stored objects of the grid) and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Chunks of DEST's grid.
    pub chunks: Option<u64>,
    /// Chunks of SOURCE's grid that are not stored.
    pub chunks_absent: Option<u64>,
    /// Chunks of SOURCE that this run was refused and took for absent (`--missing-status 403`).
    pub chunks_refused: Option<u64>,
    /// Read from SOURCE.
    pub chunks_read: Option<u64>,
    /// Written to DEST.
    pub chunks_written: Option<u64>,
    /// Encoded bytes of the chunks read from SOURCE.
    pub bytes_read: Option<u64>,
    /// Encoded bytes of the chunks written to DEST.
    pub bytes_written: Option<u64>,
    /// Bytes of intermediate data.
    pub bytes_temporary: Option<u64>,
    /// Bytes of all elements, in DEST's data type.
    pub bytes_logical: Option<u64>,
    /// Bytes of the chunks that are taken, as SOURCE stores them; `bytes_read` counts chunks read again. `None` where
    /// some are and their sizes were not asked for, as in a job in parts.
    pub bytes_source: Option<u64>,
}

/// Sums over the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Chunks and bytes.
    #[serde(flatten)]
    pub counts: Counts,
    /// Keys copied that belong to no node.
    pub other_keys: u64,
}

/// The objects that a plan makes at most, documents included: chunks that hold only the fill value are found out later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct PlannedObjects {
    /// Keys of DEST.
    pub keys: u64,
    /// Files; `None` in an object store.
    pub files: Option<u64>,
    /// Folders, likewise, with DEST's own.
    pub folders: Option<u64>,
    /// Requests that read SOURCE's chunks, at least; `None` where it is local.
    pub requests_read: Option<u64>,
    /// Requests that write DEST, about; `None` where it is local.
    pub requests_write: Option<u64>,
}

/// The scaling and the errors of a quantised array.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct QuantizationResult {
    /// `codecs`, `cf` or `plain`; `bitround` where floats stay floats (`--keep-bits`), of which there are neither range
    /// nor codes nor a bound.
    #[serde(rename = "as")]
    pub form: &'static str,
    /// Whether the codes were there before, in another form.
    #[serde(skip)]
    pub is_repacked: bool,
    /// The codes' type; `None` where a plan that reads no chunk leaves it to `--max-error`.
    pub data_type: Option<String>,
    /// For `bitround`: the explicit bits of the significand that are kept; `None` also in a plan that reads no chunk.
    pub keep_bits: Option<u32>,
    /// For `bitround`: the share of the bitwise real information that they keep (`--keep-bits auto`).
    #[serde(serialize_with = "figure::optional_number")]
    pub information: Option<f64>,
    /// The least and the greatest value that the codes are for, as literals of the array's type.
    pub range: Option<[Json; 2]>,
    /// The codec's offset, a literal of the array's type; `None` where a plan that reads no chunk cannot know it.
    pub offset: Option<Json>,
    /// The codec's scale, likewise.
    pub scale: Option<Json>,
    /// `|1/scale|`, the distance of two codes' values.
    #[serde(serialize_with = "figure::optional_number")]
    pub step: Option<f64>,
    /// The first and the last code that numbers get; `None` where a plan that reads no chunk cannot know them.
    pub codes: Option<[i64; 2]>,
    /// NaN's code.
    pub nan_code: Option<i64>,
    /// The dimensions along which differences of the codes are stored; `None` where there are none.
    pub predict: Option<Vec<String>>,
    /// Elements.
    pub count: u64,
    /// Elements that are NaN, missing values included; `None` of a plan.
    pub nan: Option<u64>,
    /// Elements that got a bound; `None` of a plan.
    pub clamped: Option<u64>,
    /// Over finite unclamped elements.
    #[serde(serialize_with = "figure::optional_number")]
    pub max_abs_error: Option<f64>,
    /// Over clamped elements.
    #[serde(serialize_with = "figure::optional_number")]
    pub max_abs_error_clamped: Option<f64>,
    /// Over finite unclamped elements.
    #[serde(serialize_with = "figure::optional_number")]
    pub rms_error: Option<f64>,
    /// Bound of the error: `--max-error`, or the one that follows from step and rounding.
    #[serde(serialize_with = "figure::optional_number")]
    pub bound: Option<f64>,
    /// Who reads the result; `None` where only its maker knows what the codes mean.
    pub readers: Option<&'static str>,
    /// An entry of `scalar_map.encode` that is there so that zarr-python 3.4.1 and 3.4.2 open the shards: a value of the
    /// array's type, which no element has, and its code.
    pub reader_workaround: Option<(Json, i64)>,
    /// With `--verify`, up to 16 bits.
    pub distinct_codes: Option<u64>,
    /// Bytes of stored chunks.
    pub bytes_source: Option<u64>,
    /// Bytes of stored chunks.
    pub bytes_destination: Option<u64>,
    /// With `--quality` or `--require`.
    pub quality: Option<QualityResult>,
}

/// Why there is no Kolmogorov-Smirnov test.
pub const NO_KS_TEST: &str = "the result can hold more than 2^20 different values";

/// Measures of DEST beside SOURCE, as readers see both, over points that are finite in both. A measure that is not
/// defined is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QualityResult {
    /// Points that are finite in SOURCE and in DEST.
    pub points: u64,
    /// The mean of DEST less SOURCE.
    #[serde(serialize_with = "figure::optional_number")]
    pub bias: Option<f64>,
    /// `20 log10(range of SOURCE / rms error)`, in dB; of a constant SOURCE `None`.
    #[serde(serialize_with = "figure::optional_number")]
    pub psnr: Option<f64>,
    /// Pearson's correlation coefficient; `None` where either side is constant.
    #[serde(serialize_with = "figure::optional_number")]
    pub pearson: Option<f64>,
    /// The share of points whose relative error is above 1e-4; where SOURCE is 0, the absolute one.
    #[serde(serialize_with = "figure::optional_number")]
    pub relative_error_share: Option<f64>,
    /// The greatest distance of the distribution functions of SOURCE and DEST; `None` where DEST can hold more than 2^20
    /// different values.
    #[serde(serialize_with = "figure::optional_number")]
    pub ks_statistic: Option<f64>,
    /// The p-value of the two-sample Kolmogorov-Smirnov test, where there is a statistic.
    #[serde(serialize_with = "figure::optional_number")]
    pub ks_p: Option<f64>,
    /// The least DSSIM of all levels, the last two dimensions at each index of the others.
    #[serde(serialize_with = "figure::optional_number")]
    pub dssim: Option<f64>,
    /// The level that has it: its indices along the other dimensions.
    pub dssim_level: Option<Vec<u64>>,
    /// The share of zeros that stay 0; 1 where there are none.
    #[serde(serialize_with = "figure::optional_number")]
    pub zeros_kept: Option<f64>,
    /// The share of other numbers that keep their sign; 1 where there are none.
    #[serde(serialize_with = "figure::optional_number")]
    pub signs_kept: Option<f64>,
    /// Why there is no DSSIM.
    #[serde(skip)]
    pub no_dssim: Option<&'static str>,
}

/// The result of `--verify`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct VerifyResult {
    /// Equal in value, or under quantisation within the bound.
    pub equal: bool,
    /// Elements compared.
    pub elements: u64,
    /// Elements that differ (under quantisation: by more than the bound).
    pub differing: u64,
    /// The greatest difference.
    #[serde(serialize_with = "figure::optional_number")]
    pub max_abs_error: Option<f64>,
    /// The bound under quantisation.
    #[serde(serialize_with = "figure::optional_number")]
    pub bound: Option<f64>,
}

impl Totals {
    /// Sums what is known of the nodes.
    pub fn of(nodes: &[NodeResult], other_keys: u64) -> Self {
        let sum = |member: fn(&Counts) -> Option<u64>| {
            nodes.iter().filter_map(|node| member(&node.counts)).reduce(u64::saturating_add)
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
                bytes_logical: sum(|counts| counts.bytes_logical),
                bytes_source: sum(|counts| counts.bytes_source),
            },
            other_keys,
        }
    }
}

/// Chunks that stand for all of an array: of stretches of equal length, in the C order of the grid, one each, at places that
/// look like chance and are the same each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SampleResult {
    /// Chunks of the sample.
    pub chunks: u64,
    /// Chunks that are there.
    pub of: u64,
    /// The shape of each, the smallest unit that can be decoded alone, in elements.
    pub chunk_shape: Vec<u64>,
    /// Where they stand in the grid of these chunks; the first 100.
    pub positions: Vec<Vec<u64>>,
    /// Encoded bytes that were read for it.
    pub bytes_read: u64,
}

/// The estimated size and time of an array.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EstimateResult {
    /// Bytes of the stored chunks, with the indexes of shards.
    pub bytes_stored: u64,
    /// True if these are the very bytes; for text alone.
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
#[non_exhaustive]
pub struct CompressionResult {
    /// `auto`, `auto:fast`, `auto:small` or `auto:any`.
    pub goal: String,
    /// The best of those that were tried, as `compress` of one of them; `None` of a plan that reads no chunk.
    pub chosen: Option<String>,
    /// The chains, the quicker ones first.
    pub tried: Vec<TriedResult>,
    /// On what.
    pub sample: Option<SampleResult>,
}

/// A chain, and what it gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TriedResult {
    /// In short, as `--compress` takes it; or `numcodecs.pcodec`, which it does not.
    pub compress: String,
    /// The dimensions along which differences are taken in front of it.
    pub predict: Vec<String>,
    /// The codecs, without `typesize`.
    pub codecs: Vec<Json>,
    /// Bytes of all chunks, estimated; `None` where the chain is not for these elements.
    pub bytes_stored: Option<u64>,
    /// Why it is not.
    pub reason: Option<String>,
}

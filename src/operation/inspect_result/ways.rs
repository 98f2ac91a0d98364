//! Ways to store an array smaller, tried on a sample of its chunks.

use serde::Serialize;

use super::StatsResult;
use crate::operation::figure;
use crate::operation::sample_result::SampleResult;

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
    #[serde(serialize_with = "figure::optional_number")]
    pub ratio: Option<f64>,
    /// Wall time of the whole array on this machine, in seconds, estimated.
    #[serde(serialize_with = "figure::optional_number")]
    pub seconds: Option<f64>,
    /// The command line that does it.
    pub command: Option<String>,
    /// Why the way cannot be gone.
    pub reason: Option<String>,
}

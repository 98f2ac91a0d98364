//! The result of `apply-codec`: the members of its `--json`, by their names.

use serde::Serialize;

use super::figure;
use super::inspect_result::RepresentationResult;
use crate::diagnostic::Diagnostic;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ApplyCodecResult {
    /// `encode` or `decode`.
    pub direction: &'static str,
    /// INPUT, or the stored chunk.
    pub input: StreamBytes,
    /// OUTPUT, if there is one.
    pub output: Option<StreamBytes>,
    /// Row 0 is the input. Each further row is a codec, in the order in which they ran.
    pub stages: Vec<AppliedStage>,
    /// With `--round-trip`.
    pub round_trip: Option<RoundTrip>,
    /// With `--repeat`: the number of runs.
    pub repeat: Option<u32>,
    /// Findings that did not stop the run.
    pub warnings: Vec<Diagnostic>,
    /// The bytes for stdout, if OUTPUT is `-`.
    #[serde(skip)]
    pub standard_output: Option<Vec<u8>>,
}

/// A file or standard stream, and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StreamBytes {
    /// `-` for a standard stream.
    pub path: String,
    /// Size in bytes, including a .npy header.
    pub bytes: u64,
}

/// The output of one codec.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AppliedStage {
    /// Name of the codec. `None` for the input.
    pub codec: Option<String>,
    /// `array->array`, `array->bytes` or `bytes->bytes`. `None` for the input.
    pub kind: Option<&'static str>,
    /// The input or the output of the codec, flattened in JSON. It has a fill value with `--fill-value`.
    #[serde(flatten)]
    pub output: RepresentationResult,
    /// Time of the codec in seconds, the median with `--repeat`. `None` for the input.
    pub seconds: Option<f64>,
    /// Size of the decoded side divided by `seconds`.
    pub bytes_per_second: Option<f64>,
}

/// The comparison of the decoded data with the encoded data.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RoundTrip {
    /// True if every bit is equal.
    pub bit_identical: bool,
    /// Number of elements that differ in value. NaN equals NaN, and -0 equals 0.
    pub differing: u64,
    /// The greatest difference of two finite numbers.
    #[serde(serialize_with = "figure::number")]
    pub max_abs_error: Option<f64>,
    /// Indices of the element with this difference, or else of the first element that differs.
    pub at: Option<Vec<u64>>,
}

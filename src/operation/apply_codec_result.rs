//! The result of `apply-codec`: the members of its `--json`, by their names.

use serde::Serialize;

use super::figure;
use crate::diagnostic::Diagnostic;
use crate::metadata::Json;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ApplyCodecResult {
    /// `encode` or `decode`.
    pub direction: &'static str,
    /// INPUT, or the stored chunk.
    pub input: StreamBytes,
    /// OUTPUT, where there is one.
    pub output: Option<StreamBytes>,
    /// Row 0 is the input; then a row for each codec, in the order in which they ran.
    pub stages: Vec<AppliedStage>,
    /// With `--round-trip`.
    pub round_trip: Option<RoundTrip>,
    /// With `--repeat`: how often it ran.
    pub repeat: Option<u32>,
    /// Findings that did not stop the run.
    pub warnings: Vec<Diagnostic>,
    /// The bytes for stdout, where OUTPUT is `-`.
    #[serde(skip)]
    pub standard_output: Option<Vec<u8>>,
}

/// A file or standard stream, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StreamBytes {
    /// `-` for a standard stream.
    pub path: String,
    /// Its size, a .npy header included.
    pub bytes: u64,
}

/// The data after one codec.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AppliedStage {
    /// The codec; `None` for the input.
    pub codec: Option<String>,
    /// `array->array`, `array->bytes` or `bytes->bytes`; `None` for the input.
    pub kind: Option<&'static str>,
    /// The data type of an array; `None` for bytes.
    pub data_type: Option<Json>,
    /// The shape of an array; `None` for bytes.
    pub shape: Option<Vec<u64>>,
    /// With `--fill-value`, of an array.
    pub fill_value: Option<Json>,
    /// Its size.
    pub bytes: u64,
    /// The codec's time, the median of `--repeat`; `None` for the input.
    pub seconds: Option<f64>,
    /// Bytes of the decoded side by `seconds`.
    pub bytes_per_second: Option<f64>,
}

/// True if what was decoded is what was encoded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RoundTrip {
    /// True if every bit is.
    pub bit_identical: bool,
    /// Elements that differ in value: NaN equals NaN, and -0 equals 0.
    pub differing: u64,
    /// The greatest difference of two finite numbers.
    #[serde(serialize_with = "figure::optional_number")]
    pub max_abs_error: Option<f64>,
    /// Where that is, or else the first element that differs.
    pub at: Option<Vec<u64>>,
}

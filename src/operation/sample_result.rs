//! A sample of an array's chunks, and the estimate of the whole from it: members of `--json`, by their names.

use serde::Serialize;

use super::figure;
use crate::metadata::Json;

/// Chunks that stand for all of an array: of stretches of equal length, in the C order of the grid, one each, at places that
/// look like chance and are the same each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

impl SampleResult {
    /// The most positions that are listed.
    pub const MOST_POSITIONS: usize = 100;
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CompressionResult {
    /// `auto`, `auto:fast`, `auto:small` or `auto:any`.
    pub goal: &'static str,
    /// The best of those that were tried, as `compress` of one of them; `None` of a plan that reads no chunk.
    pub chosen: Option<String>,
    /// The chains, the quicker ones first.
    pub tried: Vec<TriedResult>,
    /// On what.
    pub sample: Option<SampleResult>,
}

impl CompressionResult {
    /// The result of a plan that reads no chunk.
    pub(super) fn open(goal: &'static str) -> Self {
        CompressionResult { goal, chosen: None, tried: Vec::new(), sample: None }
    }
}

/// A chain, and what it gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

//! Results of the commands of a job in parts (`--init`, `--partition`, `--status`): the members of their `--json`, by
//! their names. `--finish` has the result of a plain run.

use serde::Serialize;

use crate::diagnostic::Diagnostic;

/// The plan that `--init` made.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InitResult {
    /// SOURCE as the user wrote it.
    pub source: String,
    /// DEST as the user wrote it.
    pub destination: String,
    /// Number of parts of each pass: fewer than requested if there are fewer stored objects.
    pub partitions: u64,
    /// The passes, in the order in which they run.
    pub passes: Vec<PlannedPass>,
    /// Peak memory of a part, in bytes.
    pub memory_bytes: u64,
    /// Approximate bytes of the elements of the largest part.
    pub bytes: u64,
    /// Maximum number of stored objects in DEST.
    pub objects: u64,
    /// The choices of `--compress auto`, per array. The parts choose for arrays that have a first pass.
    pub compressors: Vec<ChosenCompressor>,
    /// True if the same plan existed already.
    pub was_there: bool,
    pub warnings: Vec<Diagnostic>,
}

/// The compressor of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChosenCompressor {
    /// `/` for SOURCE itself, otherwise `/a/b`.
    pub path: String,
    /// The argument of `--compress`.
    pub compress: String,
}

/// A planned pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedPass {
    /// `range`, `staging` or `write`.
    pub name: &'static str,
    /// Number of its parts.
    pub partitions: u64,
}

/// The result of one part.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct PartResult {
    /// SOURCE as the user wrote it.
    pub source: String,
    /// DEST as the user wrote it.
    pub destination: String,
    /// True if the whole job was complete already, and nothing was done.
    pub complete: bool,
    /// The pass. `None` if the whole job was complete already.
    pub pass: Option<&'static str>,
    /// Number of the part, from 0.
    pub partition: u64,
    /// Number of parts of the pass.
    pub partitions: u64,
    /// True if the part was done already, and nothing was done.
    pub was_done: bool,
    /// Number of stored objects written.
    pub chunks_written: u64,
    /// Encoded bytes of chunks read from SOURCE.
    pub bytes_read: u64,
    /// Encoded bytes of chunks written to DEST or the intermediate data.
    pub bytes_written: u64,
    /// Wall time in seconds.
    pub seconds: f64,
    pub warnings: Vec<Diagnostic>,
}

/// The parts of a job that are done, and those that are missing.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct StatusResult {
    /// SOURCE as the user wrote it.
    pub source: String,
    /// DEST as the user wrote it.
    pub destination: String,
    /// True if DEST is published, and nothing is left to do.
    pub complete: bool,
    /// The passes, in order.
    pub passes: Vec<PassStatus>,
    pub warnings: Vec<Diagnostic>,
}

impl StatusResult {
    /// Returns whether parts are missing.
    pub fn is_missing_any(&self) -> bool {
        self.passes.iter().any(|pass| !pass.missing.is_empty())
    }

    /// Renumbers the parts from `first` instead of 0.
    #[must_use]
    pub fn counted_from(mut self, first: u64) -> Self {
        let moved = |text: &str| {
            let number = text.parse::<u64>().map(|number| number.saturating_add(first).to_string());
            number.unwrap_or_else(|_| text.to_owned())
        };
        for pass in &mut self.passes {
            let ranges = pass.missing.split(',');
            let ranges = ranges.map(|range| range.split('-').map(moved).collect::<Vec<_>>().join("-"));
            pass.missing = ranges.collect::<Vec<_>>().join(",");
        }
        self
    }
}

/// The parts of one pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PassStatus {
    /// `range`, `staging` or `write`.
    pub name: &'static str,
    /// Number of its parts.
    pub partitions: u64,
    /// Number of parts that are done.
    pub done: u64,
    /// The missing parts, in the notation of schedulers: `3,7-9`.
    pub missing: String,
}

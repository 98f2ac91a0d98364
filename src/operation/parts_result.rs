//! Results of the commands of a job in parts (`--init`, `--partition`, `--status`): the members of their `--json`, by
//! their names. `--finish` has the result of a plain run.

use serde::Serialize;

use crate::diagnostic::Diagnostic;

/// The plan that `--init` made.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InitResult {
    /// SOURCE, as the user named it.
    pub source: String,
    /// DEST, as the user named it.
    pub destination: String,
    /// Parts of each pass: fewer than asked for where there are fewer stored objects.
    pub partitions: u64,
    /// In the order in which they run.
    pub passes: Vec<PlannedPass>,
    /// Bytes that a part has in memory at most.
    pub memory_bytes: u64,
    /// Bytes of the elements of the largest part, about.
    pub bytes: u64,
    /// Stored objects that DEST will have, at most.
    pub objects: u64,
    /// The choices of `--compress auto`, array by array.
    pub compressors: Vec<ChosenCompressor>,
    /// True if the same plan was there already.
    pub was_there: bool,
    pub warnings: Vec<Diagnostic>,
}

/// The compressor of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChosenCompressor {
    /// `/` for SOURCE itself, else `/a/b`.
    pub path: String,
    /// As `--compress` takes it.
    pub compress: String,
}

/// A pass as it is planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedPass {
    /// `range`, `staging` or `write`.
    pub name: &'static str,
    /// The number of its parts.
    pub partitions: u64,
}

/// The work of one part.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct PartResult {
    /// SOURCE, as the user named it.
    pub source: String,
    /// DEST, as the user named it.
    pub destination: String,
    /// True if the whole job is complete already: then nothing was done.
    pub complete: bool,
    /// The pass; `None` where the whole job is complete.
    pub pass: Option<&'static str>,
    /// Its number, from 0.
    pub partition: u64,
    /// The number of parts of the pass.
    pub partitions: u64,
    /// True if it was done already: then nothing was done.
    pub was_done: bool,
    /// Stored objects written.
    pub chunks_written: u64,
    /// Bytes of chunks, encoded, from SOURCE.
    pub bytes_read: u64,
    /// Bytes of chunks, encoded, to DEST or the intermediate data.
    pub bytes_written: u64,
    /// Wall time.
    #[serde(serialize_with = "super::figure::number")]
    pub seconds: f64,
    pub warnings: Vec<Diagnostic>,
}

/// The parts of a job that are done, and those that are missing.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct StatusResult {
    /// SOURCE, as the user named it.
    pub source: String,
    /// DEST, as the user named it.
    pub destination: String,
    /// True if DEST is published: then nothing is left to do.
    pub complete: bool,
    /// The passes, in their order.
    pub passes: Vec<PassStatus>,
    pub warnings: Vec<Diagnostic>,
}

impl StatusResult {
    /// True if parts are missing.
    pub fn is_missing_any(&self) -> bool {
        self.passes.iter().any(|pass| !pass.missing.is_empty())
    }

    /// The same with parts counted from another number than 0.
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
    /// The number of its parts.
    pub partitions: u64,
    /// The number of parts that are done.
    pub done: u64,
    /// The others, as schedulers take them: `3,7-9`.
    pub missing: String,
}

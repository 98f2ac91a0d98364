//! A job of `transcode`: all its arrays planned, and DEST's documents.

use super::destination::Output;
use super::planning::PlannedArray;
use super::tree::Source;
use crate::engine::driver::Driver;
use crate::operation::budget::Budget;
use crate::operation::options::TranscodeOptions;

/// A job that is settled, of which nothing is written.
pub(super) struct JobPlan<'a> {
    pub options: &'a TranscodeOptions,
    pub budget: Budget,
    pub driver: Driver,
    pub source: Source,
    pub output: Output,
    pub arrays: Vec<PlannedArray>,
    /// DEST's, by their keys, the one that makes it a node last.
    pub documents: Vec<(String, String)>,
}

//! A job of `transcode`: all its arrays planned, and DEST's documents.

use super::{Output, PlannedArray, Source};
use crate::engine::Driver;
use crate::operation::{Budget, TranscodeOptions};

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

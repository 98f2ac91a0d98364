//! The passes of a job: each is done in all its parts before the next begins.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::job::Job;

/// A pass, by what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PassName {
    /// The range of values that are quantised is looked for in SOURCE.
    Range,
    /// The intermediate data of a rechunk in two passes are written.
    Staging,
    /// The stored objects of DEST are written.
    Write,
}

impl PassName {
    /// Which of the passes over an array's chunks it is.
    pub(super) fn number_in(self, job: &Job) -> usize {
        usize::from(self == PassName::Write && job.staged().is_some())
    }

    /// As options and results have it.
    pub fn name(self) -> &'static str {
        match self {
            PassName::Range => "range",
            PassName::Staging => "staging",
            PassName::Write => "write",
        }
    }
}

impl fmt::Display for PassName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

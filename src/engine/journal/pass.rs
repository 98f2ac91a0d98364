//! What of a pass over an array is done, as a journal has it.

use std::ops::Range;
use std::sync::Arc;

use super::lines::{Line, to_line};
use super::{Journal, JournalError};
use crate::array::chunk_set::ChunkSet;
use crate::array::fault::{Fault, Result};
use crate::engine::report::ObjectReport;
use crate::store::{StoreError, held};

/// The units of a pass over an array that are done, and those that are to be done.
#[derive(Debug)]
pub struct PassProgress<'a> {
    pub(super) journal: &'a Journal,
    pub(super) name: Arc<str>,
    pub(super) done: ChunkSet,
    pub(super) before: ObjectReport,
    /// The units that are to be done, where others are not this run's.
    pub(super) assigned: Option<ChunkSet>,
    /// True if its units were counted before: nothing is noted of them.
    pub(super) is_again: bool,
}

impl<'a> PassProgress<'a> {
    /// Another pass over the same array, by its name.
    #[must_use]
    pub fn other(&self, name: &str) -> PassProgress<'a> {
        self.journal.pass(&name_of_pass(&self.name, name))
    }

    /// The same pass, of which nothing is done: what earlier runs noted of it does not count, now and later.
    pub fn anew(self) -> Result<PassProgress<'a>> {
        let (pass, counted) = (self.name.to_string(), ObjectReport::default());
        let line = Line::Done { pass, units: ChunkSet::default(), counted, anew: true };
        self.journal.writer().append(&to_line(&line))?;
        let mut counts = held(&self.journal.counts);
        counts.noted.remove(&*self.name);
        counts.num_units = counts.num_units.saturating_sub(self.done.len());
        counts.bytes_written = counts.bytes_written.saturating_sub(self.before.bytes_written);
        Ok(PassProgress { done: ChunkSet::default(), before: ObjectReport::default(), ..self })
    }

    /// The same pass, of which these units are to be done again, as they were done and noted before.
    #[must_use]
    pub fn again(self, units: ChunkSet) -> PassProgress<'a> {
        let (done, before) = (ChunkSet::default(), ObjectReport::default());
        PassProgress { done, before, assigned: Some(units), is_again: true, ..self }
    }

    /// True if nothing is left to do for a unit: an earlier run finished it, or it is not this run's.
    pub fn is_done(&self, unit: u64) -> bool {
        self.done.contains(unit) || self.assigned.as_ref().is_some_and(|assigned| !assigned.contains(unit))
    }

    /// The units that are to be done, where others are not this run's.
    pub fn assigned(&self) -> Option<&ChunkSet> {
        self.assigned.as_ref()
    }

    /// Those of some units that are this run's, done or not.
    #[must_use]
    pub fn left(&self, units: ChunkSet) -> ChunkSet {
        match &self.assigned {
            Some(assigned) => units.common(assigned),
            None => units,
        }
    }

    /// The units that an earlier run finished.
    pub fn done(&self) -> &ChunkSet {
        &self.done
    }

    /// The counts of earlier runs.
    pub fn before(&self) -> &ObjectReport {
        &self.before
    }

    /// Does a unit, unless it is done already, and notes it.
    pub fn do_once(&self, unit: u64, work: impl FnOnce() -> Result<ObjectReport>) -> Result<ObjectReport> {
        if self.is_done(unit) {
            return Ok(ObjectReport::default());
        }
        self.journal.due_writer().map_err(fault)?;
        let first_write = self.journal.data.next_write();
        let report = work()?;
        self.finished_since(first_write, unit..unit + 1, &report)?;
        Ok(report)
    }

    /// Notes units whose objects are written, and what was counted over them.
    pub fn finished(&self, units: Range<u64>, report: &ObjectReport) -> Result<()> {
        self.finished_since(0, units, report)
    }

    /// The same of units whose objects were written since the store's write of a number.
    fn finished_since(&self, write: u64, units: Range<u64>, report: &ObjectReport) -> Result<()> {
        if self.is_again {
            return Ok(());
        }
        self.journal.note(&self.name, units, report, write).map_err(fault)
    }
}

fn fault(error: JournalError) -> Fault {
    match error {
        JournalError::Store(error) => Fault::Store(error),
        lost @ JournalError::Lost => Fault::Store(StoreError::Io {
            action: "go on with",
            object: "the run".to_owned(),
            source: std::io::Error::other(lost),
        }),
        other => Fault::Other(other.to_string()),
    }
}

/// The name of the units of another pass over what the units of this name are of.
pub fn name_of_pass(name: &str, pass: &str) -> String {
    format!("{name} {pass}")
}

//! The lines of a journal: runs, finished units with what was counted over them, checkpoints.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use super::owner::LockOwner;
use super::{JournalError, SCHEMA};
use crate::engine::report::ObjectReport;
use crate::store::machine;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// What follows was noted by this run. Each journal begins so.
    Run(Run),
    /// Finished units of a pass over an array.
    Done {
        pass: String,
        units: Vec<Range<u64>>,
        counted: ObjectReport,
        /// Nothing that was noted of the pass before counts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
    },
    /// All before it is durable.
    Checkpoint,
}

/// A run, as it notes itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) schema: String,
    pub(super) fingerprint: Fingerprint,
    pub(super) owner: LockOwner,
}

/// What was done of a pass.
#[derive(Debug, Default, Clone)]
pub(super) struct Known {
    pub(super) units: Vec<Range<u64>>,
    pub(super) report: ObjectReport,
}

/// What the runs of a plan have left.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// What is done, by the names of the passes.
    pub(super) known: BTreeMap<String, Known>,
    /// The length of the lines that are believed.
    pub(super) length: u64,
    /// Whether a run has noted itself, and whether one had made its destination ready.
    pub(super) is_noted: bool,
    pub(super) is_begun: bool,
}

impl Left {
    /// What the text of a journal says that can be believed: what was written after the present boot, and what a checkpoint
    /// follows; nothing where no run had begun.
    pub(super) fn read(text: &[u8], fingerprint: &Fingerprint) -> Result<Self, JournalError> {
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_torn = serde_json::from_slice::<serde::de::IgnoredAny>(first).is_err();
        let begun = match lines(text).next() {
            Some((Line::Run(run), _)) if run.schema == SCHEMA => run,
            Some((Line::Done { .. } | Line::Checkpoint, _)) => return Ok(Left::default()),
            None if is_torn => return Ok(Left::default()),
            _ => {
                let differences = vec!["the form of the journal".to_owned()];
                return Err(JournalError::OtherPlan { differences });
            }
        };
        let differences = fingerprint.differences(&begun.fingerprint);
        if !differences.is_empty() {
            return Err(JournalError::OtherPlan { differences });
        }
        let now = machine::boot_id();
        let mut left = Left { is_noted: true, ..Left::default() };
        let (mut pending, mut is_same_boot) = (Vec::new(), false);
        for (line, end) in lines(text) {
            if let Line::Run(run) = &line {
                is_same_boot = now.is_some() && run.owner.boot == now;
            }
            let is_durable = matches!(line, Line::Checkpoint);
            pending.push(line);
            if is_same_boot || is_durable {
                left.length = end;
                pending.drain(..).for_each(|line| left.take(line));
            }
        }
        Ok(left)
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Run(_) => {}
            Line::Done { pass, units, counted, anew } => {
                let known = self.known.entry(pass).or_default();
                if anew {
                    *known = Known::default();
                }
                known.units.extend(units);
                known.report.add(&counted);
            }
            Line::Checkpoint => self.is_begun = true,
        }
    }
}

pub(super) fn to_line(line: &Line) -> String {
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}

/// The last run that the lines of a journal name.
pub(super) fn last_run(text: &[u8]) -> Option<Run> {
    let runs = lines(text).filter_map(|(line, _)| if let Line::Run(run) = line { Some(run) } else { None });
    runs.last()
}

/// Whole lines, each with the length of the text up to its end; none after one that is torn or no line of a journal.
fn lines(text: &[u8]) -> impl Iterator<Item = (Line, u64)> + '_ {
    let mut place = 0;
    std::iter::from_fn(move || {
        let length = text[place..].iter().position(|byte| *byte == b'\n')?;
        let line = serde_json::from_slice(&text[place..place + length]).ok()?;
        place += length + 1;
        Some((line, place as u64))
    })
}

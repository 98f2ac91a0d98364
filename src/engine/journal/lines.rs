//! The lines of a journal: runs, finished units with what was counted over them, checkpoints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use super::owner::LockOwner;
use super::{JournalError, Result, SCHEMA};
use crate::array::chunk_set::{ChunkSet, ChunkSetBuilder};
use crate::engine::report::ObjectReport;
use crate::store::machine;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The lines that follow are of this run. Each journal begins so.
    Run(Run),
    /// Finished units of a pass over an array.
    Done {
        pass: String,
        units: ChunkSet,
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

/// The units of a pass that are done, and what was counted over them.
pub(super) type Noted = (ChunkSet, ObjectReport);

/// The state that the runs of a plan have left.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// The units that are done, by the names of the passes.
    pub(super) known: BTreeMap<String, Noted>,
    /// The length of the lines that are believed.
    pub(super) length: u64,
    /// True if a run has noted itself, and if one had made its destination ready.
    pub(super) is_noted: bool,
    pub(super) is_begun: bool,
}

impl Left {
    /// The part of the text of a journal that can be believed: what was written after the present boot, and what a checkpoint
    /// follows; nothing where no run had begun.
    pub(super) fn read(text: &[u8], fingerprint: &Fingerprint) -> Result<Self> {
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
        let mut passes: BTreeMap<String, (ChunkSetBuilder, ObjectReport)> = BTreeMap::new();
        let (mut pending, mut is_same_boot) = (Vec::new(), false);
        for (line, end) in lines(text) {
            if let Line::Run(run) = &line {
                is_same_boot = now.is_some() && run.owner.boot == now;
            }
            let is_durable = matches!(line, Line::Checkpoint);
            pending.push(line);
            if !is_same_boot && !is_durable {
                continue;
            }
            left.length = end;
            for line in pending.drain(..) {
                match line {
                    Line::Run(_) => {}
                    Line::Checkpoint => left.is_begun = true,
                    Line::Done { pass, anew: true, .. } => drop(passes.remove(&pass)),
                    Line::Done { pass, units, counted, .. } => {
                        let (all, report) = passes.entry(pass).or_default();
                        all.insert_all(&units);
                        report.add(&counted);
                    }
                }
            }
        }
        let noted = passes.into_iter().map(|(pass, (units, report))| (pass, (units.finish(), report)));
        left.known = noted.collect();
        Ok(left)
    }
}

pub(super) fn to_line(line: &Line) -> String {
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}

/// The owner of the last run that the lines of a journal name.
pub(super) fn last_owner(text: &[u8]) -> Option<LockOwner> {
    let owner = |(line, _)| if let Line::Run(run) = line { Some(run.owner) } else { None };
    lines(text).filter_map(owner).last()
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

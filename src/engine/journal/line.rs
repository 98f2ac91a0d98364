//! The lines of a journal: a header, finished units with what was counted over them, checkpoints.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Fingerprint;
use super::holder::Holder;
use crate::engine::report::ObjectReport;

#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) schema: String,
    pub(super) fingerprint: Fingerprint,
    /// Whether the node takes the place of another when it is whole.
    pub(super) replaces: bool,
    pub(super) boot: Option<String>,
    /// The run that began it.
    #[serde(default)]
    pub(super) holder: Option<Holder>,
}

/// Every line but the first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// What follows was written after another boot.
    Boot(Option<String>),
    /// What follows was written by another run.
    Holder(Holder),
    /// What the node takes the place of, in the same place, is removed.
    Cleared,
    /// All before it is durable.
    Checkpoint,
    /// What was noted of a part before does not count.
    Anew { part: String },
    /// Finished units.
    Done { part: String, units: Vec<Range<u64>>, counted: ObjectReport },
}

/// What was done of a part.
#[derive(Debug, Default, Clone)]
pub(super) struct Known {
    pub(super) units: Vec<Range<u64>>,
    pub(super) report: ObjectReport,
}

pub(super) fn to_line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}

/// The whole line at a place, and where the next begins; `None` where it is torn or no line of a journal.
pub(super) fn next_line<T: for<'a> Deserialize<'a>>(text: &[u8], start: usize) -> Option<(T, usize)> {
    let length = text[start..].iter().position(|byte| *byte == b'\n')?;
    let line = serde_json::from_slice(&text[start..start + length]).ok()?;
    Some((line, start + length + 1))
}

/// The last writer that the lines of a journal name.
pub(super) fn last_holder(text: &[u8]) -> Option<Holder> {
    let (header, mut place) = next_line::<Header>(text, 0)?;
    let mut last = header.holder;
    while let Some((line, next)) = next_line::<Line>(text, place) {
        place = next;
        if let Line::Holder(holder) = line {
            last = Some(holder);
        }
    }
    last
}

/// Whether what stood in the place of the node has been removed since the header.
pub(super) fn is_cleared(text: &[u8]) -> bool {
    let Some((_, mut place)) = next_line::<Header>(text, 0) else { return false };
    while let Some((line, next)) = next_line::<Line>(text, place) {
        if matches!(line, Line::Cleared) {
            return true;
        }
        place = next;
    }
    false
}

/// What the lines after the header say that can be believed, the length of those, and whether the last of them was
/// written after the present boot.
pub(super) fn read(
    text: &[u8],
    first: usize,
    begun: Option<&String>,
    now: Option<&String>,
) -> (BTreeMap<String, Known>, u64, bool) {
    let is_now = |boot: Option<&String>| boot.is_some() && boot == now;
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut since_checkpoint = Vec::new();
    let (mut place, mut believed, mut is_same_boot) = (first, first, is_now(begun));
    while let Some((line, next)) = next_line::<Line>(text, place) {
        place = next;
        let mut is_durable = false;
        match line {
            Line::Boot(boot) => is_same_boot = is_now(boot.as_ref()),
            Line::Holder(_) | Line::Cleared => {}
            Line::Done { part, units, counted } => {
                since_checkpoint.push((part, Some((units, counted))));
            }
            Line::Anew { part } => since_checkpoint.push((part, None)),
            Line::Checkpoint => is_durable = true,
        }
        if is_same_boot || is_durable {
            believed = next;
            for (part, done) in since_checkpoint.drain(..) {
                let all = known.entry(part).or_default();
                let Some((units, report)) = done else {
                    *all = Known::default();
                    continue;
                };
                all.units.extend(units);
                all.report.add(&report);
            }
        }
    }
    (known, believed as u64, is_same_boot)
}

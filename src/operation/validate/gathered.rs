//! Results of `validate` other than findings: objects that are not checked, absent, or unreadable.

use crate::array::ChunkSet;
use crate::diagnostic::{Code, Diagnostic, Profile, Severity, code};
use crate::operation::validate_result::{AbsentChunks, Unchecked};
use crate::operation::{
    Failure, FaultClass, NodePath, OperationError, Partition, ValidateLevel, ValidateOptions, ValidateResult,
};

/// The maximum number of ranges of absent chunks, of all arrays together.
const MAX_RANGES: usize = 100;

/// The maximum number of unreadable chunks of one array that are named. The others are counted.
const MAX_CHUNK_FAILURES: u64 = 100;

/// All results about the STOREs.
pub(super) struct ValidateReport<'a> {
    pub(super) findings: Findings<'a>,
    /// The other members, so far.
    pub(super) result: ValidateResult,
    pub(super) failures: Failures,
    /// The number of checked arrays.
    pub(super) arrays: u64,
}

/// Read errors: as results name them, and with their causes and the next step, in the same order.
#[derive(Debug, Default)]
pub(super) struct Failures {
    pub(super) named: Vec<Failure>,
    pub(super) errors: Vec<OperationError>,
}

impl ValidateReport<'_> {
    /// Counts what no rule could check.
    pub(super) fn leave_out(&mut self, reason: &str, count: u64) {
        let unchecked = &mut self.result.unchecked;
        match unchecked.iter_mut().find(|unchecked| unchecked.reason == reason) {
            Some(unchecked) => unchecked.count = unchecked.count.saturating_add(count),
            None if count > 0 => unchecked.push(Unchecked { reason: reason.to_owned(), count }),
            None => {}
        }
    }

    /// Records the absent chunks of a grid of `total` chunks.
    pub(super) fn note_absent(&mut self, place: &NodePath, present: &ChunkSet, (grid_shape, total): (Vec<u64>, u64)) {
        let noted: usize = self.result.absent.iter().map(|absent| absent.ranges.len()).sum();
        let ranges = absent_ranges(present, total, MAX_RANGES.saturating_sub(noted));
        if !ranges.is_empty() {
            let (store, node) = (place.store.clone(), place.path.clone());
            self.result.absent.push(AbsentChunks { store, node, grid_shape, ranges });
        }
    }
}

/// Returns at most `most` ranges of absent chunks, ascending.
fn absent_ranges(present: &ChunkSet, total: u64, most: usize) -> Vec<[u64; 2]> {
    let mut next = 0;
    let ends = present.runs().chain(std::iter::once((total, total)));
    let gaps = ends.filter_map(|(first, end)| {
        let gap = (first > next).then(|| [next, first - 1]);
        next = end;
        gap
    });
    gaps.take(most).collect()
}

impl Failures {
    pub(super) fn push_node(&mut self, place: &NodePath, error: OperationError) {
        self.push(Some(&place.store), Some(&place.path), None, error);
    }

    /// Adds the `number`-th chunk of an array that could not be read, up to a maximum number.
    pub(super) fn push_chunk(&mut self, place: &NodePath, number: u64, key: String, error: OperationError) {
        if number <= MAX_CHUNK_FAILURES || error.class() == FaultClass::Interrupted {
            self.push(Some(&place.store), Some(&place.path), Some(key), error);
        }
    }

    /// Adds the number of unreadable chunks of an array that were not named.
    pub(super) fn push_more_chunks(&mut self, place: &NodePath, count: u64) {
        let more = count.saturating_sub(MAX_CHUNK_FAILURES);
        if more > 0 {
            let message = format!("{more} further chunks of `{}` cannot be read", place.name());
            self.push_node(place, OperationError::environment(message));
        }
    }

    /// Adds what happened to a STORE, or to no one of them; to a node of it, or a key.
    pub(super) fn push(&mut self, store: Option<&str>, node: Option<&str>, key: Option<String>, error: OperationError) {
        // A signal stops every part of the work. One error is enough.
        if error.class() == FaultClass::Interrupted && self.is_interrupted() {
            return;
        }
        let (store, node) = (store.map(str::to_owned), node.map(str::to_owned));
        self.named.push(Failure { store, node, key, message: error.in_one_line() });
        self.errors.push(error);
    }

    /// True if a signal stopped the work.
    pub(super) fn is_interrupted(&self) -> bool {
        self.errors.iter().any(|error| error.class() == FaultClass::Interrupted)
    }
}

/// Returns the verdict about all else in a result.
pub(super) fn of(result: &ValidateResult, level: ValidateLevel) -> String {
    let is_equal = result.against.as_ref().map(|against| against.equal);
    let verdict = if is_equal == Some(false) {
        "differs"
    } else if result.errors > 0 {
        "not valid"
    } else if !result.failures.is_empty() {
        "incomplete: not everything could be read"
    } else {
        // A comparison decodes the chunks at any level.
        let is_equal = is_equal.is_some();
        match level {
            ValidateLevel::Metadata if is_equal => "equal; no errors in metadata; keys were not looked at",
            ValidateLevel::Keys if is_equal => "equal; no errors in metadata and keys",
            ValidateLevel::Index if is_equal => "equal; no errors in metadata, keys and shard indexes",
            ValidateLevel::Metadata => "no errors in metadata; keys and chunks were not looked at",
            ValidateLevel::Keys => "no errors in metadata and keys; chunks were not decoded",
            ValidateLevel::Index => "no errors in metadata, keys and shard indexes; chunks were not decoded",
            ValidateLevel::Data if result.unchecked.is_empty() => "valid",
            ValidateLevel::Data => "no errors in what could be decoded; not everything could",
        }
    };
    match result.partition {
        Some(Partition { index, partitions }) => {
            // One share does not make a store valid.
            let verdict = if verdict == "valid" { "no errors in metadata, keys and chunks" } else { verdict };
            format!("{verdict}; of the stored objects, share {index}/{partitions} was looked at")
        }
        None => verdict.to_owned(),
    }
}

impl ValidateOptions {
    /// Returns the severity of a finding by the table and the options. `None` if it is allowed.
    fn severity(&self, found: &Diagnostic) -> Option<Severity> {
        let is_among = |codes: &[Code]| codes.iter().any(|code| found.is(*code));
        let severity = Profile::Validate.severity(found);
        let is_denied = is_among(&self.deny) || (self.deny_warnings && severity == Severity::Warning);
        (!is_among(&self.allow)).then_some(if is_denied { Severity::Error } else { severity })
    }
}

/// Findings in their order. At most `room` of them are kept, the others are counted.
#[derive(Debug, Clone)]
pub(super) struct Findings<'a> {
    options: &'a ValidateOptions,
    room: usize,
    pub(super) kept: Vec<Diagnostic>,
    /// The counts by severity, from infos to errors.
    pub(super) counts: [u64; 3],
}

impl<'a> Findings<'a> {
    pub(super) fn new(options: &'a ValidateOptions, room: usize) -> Self {
        Findings { options, room, kept: Vec::new(), counts: [0; 3] }
    }

    /// Returns how many more findings can be kept.
    pub(super) fn room_left(&self) -> usize {
        self.room.saturating_sub(self.kept.len())
    }

    /// Appends a finding. Without help, it gets the next step of its rule's page.
    pub(super) fn push(&mut self, mut found: Diagnostic) {
        let Some(severity) = self.options.severity(&found) else { return };
        self.counts[severity as usize] += 1;
        if self.kept.len() < self.room {
            found.severity = severity;
            if found.help.is_none() {
                found.help = code::of(found.code).map(Code::first_step);
            }
            self.kept.push(found);
        }
    }

    pub(super) fn append(&mut self, part: Findings) {
        self.counts.iter_mut().zip(part.counts).for_each(|(all, part)| *all += part);
        let room = self.room_left();
        self.kept.extend(part.kept.into_iter().take(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_cannot_be_read_are_named_up_to_a_number_and_then_counted() {
        let place = NodePath { store: "s".into(), path: "/a".into() };
        let mut failures = Failures::default();
        for index in 0..150 {
            failures.push_chunk(&place, index + 1, format!("a/c/{index}"), OperationError::environment("gone"));
        }
        failures.push_more_chunks(&place, 150);
        assert_eq!((failures.named.len(), failures.errors.len()), (101, 101));
        assert_eq!(failures.named[100].message, "50 further chunks of `s/a` cannot be read");
        assert_eq!(failures.named[99].key.as_deref(), Some("a/c/99"));
    }
}

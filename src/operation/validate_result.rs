//! The result of `validate`: the members of its `--json`, by their names.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{FaultClass, NodePath, OperationError};
use crate::array::ChunkSet;
use crate::diagnostic::quantity::{count, counted};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::Json;

/// The findings of all STOREs.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ValidateResult {
    /// True if every STORE could be read and there is no finding at `error` level. A comparison has its own `equal`.
    pub valid: bool,
    /// The verdict in words. `valid` only if every chunk was decoded. Otherwise `not valid`, `differs`, `incomplete`,
    /// or the checks that passed and those that were left out.
    pub verdict: String,
    /// The checked share of the stored objects. `None` if all were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    /// Number of findings at `error` level, including those not shown.
    pub errors: u64,
    /// Number of findings at `warning` level, including those not shown.
    pub warnings: u64,
    /// Number of findings at `info` level, including those not shown.
    pub infos: u64,
    /// Objects that no rule could check, by reason, in the order of their detection.
    pub unchecked: Vec<Unchecked>,
    /// The absent chunks of each array that has any, at most 100 ranges in total.
    pub absent: Vec<AbsentChunks>,
    /// The STOREs, nodes and chunks that could not be read.
    pub failures: Vec<Failure>,
    /// True if some findings are not shown.
    pub truncated: bool,
    /// The first `--max-findings` findings, in stable order: store, node, documents, keys, chunks.
    pub findings: Vec<Diagnostic>,
    /// The stores and nodes with errors that are not shown. Only for the formats of test runners.
    #[serde(skip)]
    pub cut: BTreeSet<(Option<String>, Option<String>)>,
    /// The comparison, if it was requested.
    pub against: Option<AgainstResult>,
    /// The completed checks. Shown only in text and in the formats of test runners.
    #[serde(skip)]
    pub checked: Vec<CheckedStore>,
}

/// One of N shares of the stored objects (`--partition I/N`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Partition {
    /// I, from 0.
    pub index: u64,
    /// N.
    pub partitions: u64,
}

/// Objects that no rule could check, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unchecked {
    /// The objects and the reason: "chunks not decoded: codec 1 (mystery) is not supported".
    pub reason: String,
    pub count: u64,
}

/// Absent chunks of an array, which are read as its fill value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AbsentChunks {
    /// STORE as the user wrote it.
    pub store: String,
    /// Path of the array: `/a/b`.
    pub node: String,
    /// The number of stored chunks along each dimension. Text shows no linear indices, so it needs the shape.
    #[serde(skip)]
    pub grid_shape: Vec<u64>,
    /// The first and the last index of each range, in C order of the grid of stored chunks.
    pub ranges: Vec<[u64; 2]>,
}

/// A STORE, a node or a chunk that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// STORE or OTHER as the user wrote it. `None` for an error that belongs to none of them.
    pub store: Option<String>,
    /// Path of the node: `/a/b`.
    pub node: Option<String>,
    /// Key of the chunk, relative to the store.
    pub key: Option<String>,
    /// The error with its causes, on one line.
    pub message: String,
}

/// The completed checks of a STORE.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CheckedStore {
    /// STORE as the user wrote it.
    pub store: String,
    /// The completed level: `metadata`, `keys`, `index`, `data`.
    pub level: &'static str,
    /// Paths of its nodes (`/`, `/a/b`), in the order of the findings.
    pub nodes: Vec<String>,
    /// Number of stored chunks and shards that the level checked.
    pub objects: u64,
}

/// The comparison of two stores.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AgainstResult {
    /// OTHER as the user wrote it.
    pub other: String,
    /// True if all pairs of nodes are equal, and each node has one in the other store.
    pub equal: bool,
    /// The compared arrays, sorted by path.
    pub nodes: Vec<AgainstNode>,
}

/// An array and its counterpart in OTHER.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct AgainstNode {
    /// Path in both stores, `/a/b`.
    pub path: String,
    /// True if every element is equal within the tolerance.
    pub equal: bool,
    /// The reason why they could not be compared or are not equal. Null if they are equal.
    pub reason: Option<String>,
    /// Number of compared elements.
    pub elements: u64,
    /// Number of elements that differ by more than the tolerance.
    pub differing: u64,
    /// The greatest absolute difference of elements that differ. Null if none is a number.
    pub max_abs_difference: Option<Json>,
    /// The greatest `|a - b| / |b|` of elements that differ. Null if none is a number.
    pub max_rel_difference: Option<Json>,
    /// Indices of the element with the greatest difference.
    pub at: Option<Vec<u64>>,
    /// The value of this element.
    pub value: Option<Json>,
    /// The value of this element in OTHER.
    pub other_value: Option<Json>,
}

impl ValidateResult {
    /// Returns the shown findings, and one finding per pair of unequal arrays. It is for formats that list a comparison
    /// as findings.
    pub fn findings_and_differences(&self) -> Vec<Diagnostic> {
        let store = self.checked.first().map(|checked| checked.store.as_str());
        let mut findings = self.findings.clone();
        for node in self.against.iter().flat_map(|against| &against.nodes).filter(|node| !node.equal) {
            let mut difference = Diagnostic::new(code::VALUES_DIFFER, node.comparison().join("; ")).at_node(&node.path);
            difference.location.store = store.map(str::to_owned);
            findings.push(difference);
        }
        findings
    }
}

impl Partition {
    /// Returns the I-th of N shares. `None` if N has no such share.
    pub fn new(index: u64, partitions: u64) -> Option<Self> {
        (index < partitions).then_some(Partition { index, partitions })
    }

    /// Returns the objects of the `number`-th array that are in the share. They are neighbours, because neighbours are
    /// read faster. Each array starts with another share, otherwise many small arrays would all be in the first.
    pub(super) fn objects(self, all: &ChunkSet, number: u64) -> ChunkSet {
        let Partition { index, partitions } = self;
        let first = number % partitions;
        let rank = if index >= first { index - first } else { index + (partitions - first) };
        let (each, more) = (all.len() / partitions, all.len() % partitions);
        let start = rank * each + rank.min(more);
        all.slice(start..start + each + u64::from(rank < more))
    }
}

impl AgainstNode {
    /// Returns the sentence about the comparison, clause by clause.
    pub fn comparison(&self) -> Vec<String> {
        let mut clauses: Vec<String> = self.reason.clone().into_iter().collect();
        if self.equal {
            clauses.push(format!("equal, {}", counted(self.elements, "element")));
        } else if self.differing > 0 {
            let differ = if self.differing == 1 { "differs" } else { "differ" };
            clauses.push(format!("{} of {} {differ}", count(self.differing), counted(self.elements, "element")));
        }
        if let Some(difference) = &self.max_abs_difference {
            let relative = self.max_rel_difference.as_ref();
            let relative = relative.map_or_else(String::new, |relative| format!(", relative {relative}"));
            clauses.push(format!("max difference {difference}{relative}").replace('"', ""));
        }
        if let (Some(at), Some(value), Some(other)) = (&self.at, &self.value, &self.other_value) {
            let shown = |value: &Json| match value.as_str() {
                Some(word @ ("NaN" | "Infinity" | "-Infinity")) => word.to_owned(),
                _ => value.to_string(),
            };
            clauses.push(format!("at {at:?}: {}, there {}", shown(value), shown(other)));
        }
        clauses
    }
}

/// The maximum number of unreadable chunks of one array that are named. The others are counted.
pub(super) const MAX_CHUNK_FAILURES: u64 = 100;

/// Read errors: as results name them, and with their causes and the next step, in the same order.
#[derive(Debug, Default)]
pub(super) struct Failures {
    pub(super) named: Vec<Failure>,
    pub(super) errors: Vec<OperationError>,
    /// The number of unreadable chunks of the present array.
    unread: u64,
}

impl Failures {
    pub(super) fn push_node(&mut self, node_path: &NodePath, error: OperationError) {
        self.push(Some(&node_path.store), Some(&node_path.path), None, error);
    }

    /// Adds a chunk of the present array that could not be read, up to a maximum number.
    pub(super) fn push_chunk(&mut self, node_path: &NodePath, key: String, error: OperationError) {
        self.unread += 1;
        // An interrupt decides the exit status, so it is never left out.
        if self.unread <= MAX_CHUNK_FAILURES || error.class() == FaultClass::Interrupted {
            self.push(Some(&node_path.store), Some(&node_path.path), Some(key), error);
        }
    }

    /// Adds the number of unreadable chunks of the present array that were not named. They count for no other.
    pub(super) fn push_more_chunks(&mut self, node_path: &NodePath) {
        let more = std::mem::take(&mut self.unread).saturating_sub(MAX_CHUNK_FAILURES);
        if more > 0 {
            let message = format!("{more} further chunks of `{}` cannot be read", node_path.name());
            self.push_node(node_path, OperationError::environment(message));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_share_objects_out_evenly_without_overlap_or_gap() {
        for all in [0..0, 0..1, 0..7, 5..1000].map(|range| range.filter(|index| index % 5 != 2).collect::<ChunkSet>()) {
            for (partitions, number) in [(1, 0), (3, 0), (3, 7), (10, 4), (u64::MAX, u64::MAX)] {
                let indices = (0..partitions.min(10)).chain(partitions.saturating_sub(10)..partitions);
                let shares: Vec<ChunkSet> = indices
                    .collect::<std::collections::BTreeSet<_>>()
                    .into_iter()
                    .filter_map(|index| Some(Partition::new(index, partitions)?.objects(&all, number)))
                    .collect();
                if partitions <= 10 {
                    let mut members: Vec<u64> = shares.iter().flat_map(ChunkSet::iter).collect();
                    members.sort_unstable();
                    assert!(members.into_iter().eq(all.iter()), "{partitions} {number}");
                }
                let sizes = || shares.iter().map(ChunkSet::len);
                assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1, "{partitions} {number}");
            }
        }
        assert_eq!((Partition::new(0, 0), Partition::new(3, 3)), (None, None));
    }
}

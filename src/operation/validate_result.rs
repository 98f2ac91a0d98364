//! The result of `validate`: the members of its `--json`, by their names.

use serde::Serialize;

use crate::array::ChunkSet;
use crate::diagnostic::quantity::{count, counted};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::Json;

/// The findings about all STOREs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ValidateResult {
    /// True if every STORE could be looked at and nothing is at `error` level; a comparison has its own `equal`.
    pub valid: bool,
    /// The verdict in words: `valid` alone where every chunk was decoded, `not valid`, `differs`, `incomplete`, else
    /// the things found right and those left out.
    pub verdict: String,
    /// The share of the stored objects that was looked at; `None` where all were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    /// Findings at `error` level, also those not shown.
    pub errors: u64,
    /// Findings at `warning` level, likewise.
    pub warnings: u64,
    /// Findings at `info` level, likewise.
    pub infos: u64,
    /// Things that no rule could look at, by reason, in the order in which they were met.
    pub unchecked: Vec<Unchecked>,
    /// The absent chunks of each array that has any: 100 ranges in all.
    pub absent: Vec<AbsentChunks>,
    /// The STOREs, nodes and chunks that could not be read.
    pub failures: Vec<Failure>,
    /// True if there are more findings than are shown.
    pub truncated: bool,
    /// The first `--max-findings` of them, in stable order: store, node, documents, keys, chunks.
    pub findings: Vec<Diagnostic>,
    /// The comparison, where one was asked for.
    pub against: Option<AgainstResult>,
    /// The checks that were made; shown in text and in the formats of test runners alone.
    #[serde(skip)]
    pub checked: Vec<CheckedStore>,
}

/// One of N shares of the stored objects, as `--partition I/N` asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Partition {
    /// I, from 0.
    pub index: u64,
    /// N.
    pub partitions: u64,
}

/// Things that no rule could look at, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unchecked {
    /// The things and the reason: "chunks not decoded: codec 1 (mystery) is not supported".
    pub reason: String,
    pub count: u64,
}

/// Chunks of an array that are not stored, and so read as its fill value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AbsentChunks {
    /// STORE, as the user named it.
    pub store: String,
    /// The array, `/a/b`.
    pub node: String,
    /// The number of stored chunks along each dimension; for text, which has no linear indices.
    #[serde(skip)]
    pub grid_shape: Vec<u64>,
    /// The first and the last index of each range, in C order of the grid of stored chunks.
    pub ranges: Vec<[u64; 2]>,
}

/// A STORE, a node or a chunk that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// STORE or OTHER, as the user named it; `None` where it is none of them in particular.
    pub store: Option<String>,
    /// The node, `/a/b`.
    pub node: Option<String>,
    /// The key of the chunk, relative to the store.
    pub key: Option<String>,
    /// The error with its causes, in one line.
    pub message: String,
}

/// The checks that were made of a STORE.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CheckedStore {
    /// As the user named it.
    pub store: String,
    /// The level that was reached: `metadata`, `keys`, `index`, `data`.
    pub level: &'static str,
    /// Paths of its nodes (`/`, `/a/b`), in the order of the findings.
    pub nodes: Vec<String>,
    /// Stored chunks and shards that were looked at, by what the level looks at.
    pub objects: u64,
}

/// True if two stores hold equal values.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AgainstResult {
    /// OTHER, as the user named it.
    pub other: String,
    /// True if every pair of nodes is equal, and none lacks its other.
    pub equal: bool,
    /// A pair for each array, by path.
    pub nodes: Vec<AgainstNode>,
}

/// An array and its other.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct AgainstNode {
    /// Path in both stores, `/a/b`.
    pub path: String,
    /// True if every element is equal within the tolerance.
    pub equal: bool,
    /// Why they could not be compared, or are not equal; null where they are equal.
    pub reason: Option<String>,
    /// Elements compared.
    pub elements: u64,
    /// Elements that differ by more than the tolerance.
    pub differing: u64,
    /// Greatest absolute difference over elements that differ; null where none is a number.
    pub max_abs_difference: Option<Json>,
    /// Greatest `|a - b| / |b|` over elements that differ, likewise.
    pub max_rel_difference: Option<Json>,
    /// Indices of the element where the difference is greatest.
    pub at: Option<Vec<u64>>,
    /// The value there.
    pub value: Option<Json>,
    /// OTHER's value there.
    pub other_value: Option<Json>,
}

impl ValidateResult {
    /// The findings that are shown, and one for each pair of arrays that are not equal: what the formats list that
    /// have no place of their own for a comparison.
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
    /// The I-th of N shares; `None` where N has no such share.
    pub fn new(index: u64, partitions: u64) -> Option<Self> {
        (index < partitions).then_some(Partition { index, partitions })
    }

    /// The objects of the `number`-th array that are in the share: a stretch, since neighbours are read faster. The stretches of
    /// each array begin with another share, so that many small arrays do not all fall to the first.
    pub(super) fn objects(self, all: &ChunkSet, number: u64) -> ChunkSet {
        let Partition { index, partitions } = self;
        let first = number % partitions;
        let place = if index >= first { index - first } else { index + (partitions - first) };
        let (each, more) = (all.len() / partitions, all.len() % partitions);
        let start = place * each + place.min(more);
        all.places(start..start + each + u64::from(place < more))
    }
}

impl AgainstNode {
    /// The sentence about the comparison, clause by clause.
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
            clauses.push(format!("at {at:?} {value}, there {other}"));
        }
        clauses
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

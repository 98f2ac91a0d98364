//! `validate`: checks every STORE down to the requested level, and collects all findings.
//!
//! The order of the findings: store, node, documents, keys, chunks. The data of a store are read once, in parallel.
//! Memory is limited by `--max-memory` and `--max-findings`, whatever a store declares.
//!
//! The result of `validate`: the members of its `--json`, by their names.

mod array;
mod object;

use std::collections::BTreeSet;

use serde::Serialize;

use self::array::{ArrayCheck, UNLISTED};
use super::against;
use super::hierarchy::{Hierarchy, HierarchyNode, NodeContent, UnreadFolder, read_hierarchy};
use super::progress::{Progress, SubProgress};
use super::{
    ArrayReading, FaultClass, Interrupt, NodePath, OperationError, ValidateLevel, ValidateOptions, expect, new_driver,
};
use crate::array::ChunkSet;
use crate::diagnostic::quantity::{count, counted};
use crate::diagnostic::{Code, Diagnostic, Profile, Severity, code};
use crate::engine::Driver;
use crate::metadata::Json;
use crate::store::Location;

/// The result, and the STOREs that could not be checked.
#[derive(Debug)]
pub struct ValidateOutcome {
    /// The findings about the other STOREs.
    pub result: ValidateResult,
    /// An error for each STORE, or part of one, that could not be checked, in their order.
    pub failures: Vec<OperationError>,
}

/// Checks every STORE. Faults of one hide nothing of another. OTHER of `--against` is opened first. If that fails,
/// nothing is checked.
pub fn validate(options: &ValidateOptions, progress: &dyn Progress, interrupt: &Interrupt) -> ValidateOutcome {
    let capacity = if options.max_findings == 0 { usize::MAX } else { options.max_findings };
    let result = ValidateResult { partition: options.partition, ..ValidateResult::default() };
    let mut gathered =
        ValidateReport { findings: Findings::new(options, capacity), result, failures: Failures::default(), arrays: 0 };
    let of_other = |error| (options.against.as_ref().map(|against| against.other.display().to_string()), error);
    let of_none = |error| (None, error);
    let driver = new_driver(options.common.num_threads(), interrupt).map_err(of_none);
    let compared = driver.and_then(|driver| {
        let other = against::open_other(options, interrupt).map_err(of_other)?;
        for store in &options.stores {
            let checked = gathered.check_store(store, &driver, progress);
            gathered.result.checked.extend(checked);
        }
        // A STORE that could not be opened is already reported.
        let other = other.filter(|_| !gathered.result.checked.is_empty() && !gathered.failures.is_interrupted());
        let outcome = other.map(|other| other.compare(progress)).transpose().map_err(of_none)?;
        Ok(outcome.map(|(result, failures, refused)| {
            gathered.leave_out("objects compared as absent: the store refused access", refused);
            gathered.failures.named.extend(failures.named);
            gathered.failures.errors.extend(failures.errors);
            result
        }))
    });
    gathered.result.against = compared.unwrap_or_else(|(other, error)| {
        gathered.failures.push(other.as_deref(), None, None, error);
        None
    });
    if options.level == ValidateLevel::Data {
        // A chunk with an allowed error is still wrong. The verdict is "valid" only if nothing is unchecked.
        gathered.leave_out("chunks not decoded: their errors are allowed", gathered.findings.allowed_chunks);
    }
    let ValidateReport { findings, failures, mut result, .. } = gathered;
    [result.infos, result.warnings, result.errors] = findings.counts;
    result.valid = result.errors == 0 && failures.named.is_empty();
    result.truncated = findings.counts.iter().sum::<u64>() > findings.kept.len() as u64;
    (result.findings, result.cut, result.failures) = (findings.kept, findings.cut, failures.named);
    result.verdict = verdict(&result, options.level);
    ValidateOutcome { result, failures: failures.errors }
}

/// The maximum number of ranges of absent chunks, of all arrays together.
const MAX_RANGES: usize = 100;

/// The maximum number of unreadable chunks of one array that are named. The others are counted.
const MAX_CHUNK_FAILURES: u64 = 100;

/// All results about the STOREs.
struct ValidateReport<'a> {
    findings: Findings<'a>,
    /// The other members, so far.
    result: ValidateResult,
    failures: Failures,
    /// The number of checked arrays.
    arrays: u64,
}

/// Read errors: as results name them, and with their causes and the next step, in the same order.
#[derive(Debug, Default)]
pub(super) struct Failures {
    named: Vec<Failure>,
    errors: Vec<OperationError>,
}

impl ValidateReport<'_> {
    /// Checks a store. `None` if there is nothing to check.
    fn check_store(&mut self, store: &Location, driver: &Driver, progress: &dyn Progress) -> Option<CheckedStore> {
        let options = self.findings.options;
        let name = store.display().to_string();
        let Hierarchy { nodes, failures: unread } = match read_hierarchy(store, options.node.as_deref(), driver) {
            Ok(hierarchy) => hierarchy,
            Err(error) => {
                let node = options.node.as_ref().map(|node| format!("/{}", node.trim_matches('/')));
                self.failures.push(Some(&name), node.as_deref(), None, error);
                return None;
            }
        };
        let level = options.level.name();
        let mut checked = CheckedStore { store: name.clone(), level, ..CheckedStore::default() };
        let root = &store.node();
        // One progress bar for the store. The share of each array is the size of its elements.
        if options.level > ValidateLevel::Keys {
            let bytes = nodes.iter().filter_map(HierarchyNode::array).map(ArrayReading::decoded_bytes);
            progress.start(&checked.store, Some(bytes.fold(0, u64::saturating_add)));
        }
        for node in &nodes {
            checked.nodes.push(node.node_path.path.clone());
            // A null fill value matters only if a chunk is absent. The level `keys` reports that.
            let of_documents = node.document_diagnostics().filter(|found| !found.is(code::V2_FILL_VALUE_NULL));
            of_documents.for_each(|found| self.findings.push(found.clone()));
            match &node.content {
                NodeContent::Array(reading) => {
                    if let Some(found) = array::misnamed_dimensions(reading) {
                        self.findings.push(found);
                    }
                    let progress = &SubProgress::new(progress, reading.decoded_bytes(), 1);
                    match (ArrayCheck { options, driver, root, progress }).run(reading, self) {
                        Ok(objects) => checked.objects += objects,
                        Err(error) => self.failures.push_node(&node.node_path, error),
                    }
                }
                _ if options.level > ValidateLevel::Metadata => array::group(node, root, self),
                _ => {}
            }
        }
        progress.finish();
        match expect::check(store, &nodes, options) {
            Ok(found) => found.into_iter().for_each(|found| self.findings.push(found)),
            Err(error) => self.failures.push(Some(&name), None, None, error),
        }
        for UnreadFolder { path, error } in unread {
            self.failures.push(Some(&name), Some(&path), None, error);
        }
        Some(checked)
    }

    /// Counts what no rule could check.
    fn leave_out(&mut self, reason: &str, count: u64) {
        let unchecked = &mut self.result.unchecked;
        match unchecked.iter_mut().find(|unchecked| unchecked.reason == reason) {
            Some(unchecked) => unchecked.count = unchecked.count.saturating_add(count),
            None if count > 0 => unchecked.push(Unchecked { reason: reason.to_owned(), count }),
            None => {}
        }
    }

    /// Records the absent chunks of a grid of `total` chunks.
    fn note_absent(&mut self, node_path: &NodePath, present: &ChunkSet, (grid_shape, total): (Vec<u64>, u64)) {
        let noted: usize = self.result.absent.iter().map(|absent| absent.ranges.len()).sum();
        let mut next = 0;
        let ends = present.runs().chain(std::iter::once((total, total)));
        let gaps = ends.filter_map(|(first, end)| {
            let gap = (first > next).then(|| [next, first - 1]);
            next = end;
            gap
        });
        let ranges: Vec<_> = gaps.take(MAX_RANGES.saturating_sub(noted)).collect();
        if !ranges.is_empty() {
            let (store, node) = (node_path.store.clone(), node_path.path.clone());
            self.result.absent.push(AbsentChunks { store, node, grid_shape, ranges });
        }
    }
}

impl Failures {
    fn push_node(&mut self, node_path: &NodePath, error: OperationError) {
        self.push(Some(&node_path.store), Some(&node_path.path), None, error);
    }

    /// Adds the `number`-th chunk of an array that could not be read, up to a maximum number.
    fn push_chunk(&mut self, node_path: &NodePath, number: u64, key: String, error: OperationError) {
        // An interrupt decides the exit status, so it is never left out.
        if number <= MAX_CHUNK_FAILURES || error.class() == FaultClass::Interrupted {
            self.push(Some(&node_path.store), Some(&node_path.path), Some(key), error);
        }
    }

    /// Adds the number of unreadable chunks of an array that were not named.
    fn push_more_chunks(&mut self, node_path: &NodePath, count: u64) {
        let more = count.saturating_sub(MAX_CHUNK_FAILURES);
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
    fn is_interrupted(&self) -> bool {
        self.errors.iter().any(|error| error.class() == FaultClass::Interrupted)
    }
}

/// Returns the verdict about all else in a result.
fn verdict(result: &ValidateResult, level: ValidateLevel) -> String {
    let is_equal = result.against.as_ref().map(|against| against.equal);
    let unread: Vec<_> = result.failures.iter().filter_map(|failure| failure.node.as_ref()).collect();
    let mut compared = result.against.iter().flat_map(|against| &against.nodes);
    let verdict = if compared.any(|node| !node.equal && !unread.contains(&&node.path)) {
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
            // Every chunk was decoded. Other keys of a store that cannot list change no value.
            ValidateLevel::Data if result.unchecked.iter().all(|unchecked| unchecked.reason == UNLISTED) => "valid",
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

/// Findings in their order. At most `capacity` of them are kept, the others are counted.
#[derive(Debug, Clone)]
struct Findings<'a> {
    options: &'a ValidateOptions,
    capacity: usize,
    kept: Vec<Diagnostic>,
    /// The stores and nodes of errors that were not kept.
    cut: BTreeSet<(Option<String>, Option<String>)>,
    /// The counts by severity, from infos to errors.
    counts: [u64; 3],
    /// The number of chunks with an error that is allowed.
    allowed_chunks: u64,
}

impl<'a> Findings<'a> {
    fn new(options: &'a ValidateOptions, capacity: usize) -> Self {
        Findings { options, capacity, kept: Vec::new(), cut: BTreeSet::new(), counts: [0; 3], allowed_chunks: 0 }
    }

    /// Returns how many more findings can be kept.
    fn capacity_left(&self) -> usize {
        self.capacity.saturating_sub(self.kept.len())
    }

    /// Appends a finding. Without help, it gets the next step of its rule's page.
    fn push(&mut self, mut found: Diagnostic) {
        let Some(severity) = self.options.severity(&found) else {
            let is_of_chunk = found.location.chunk.is_some() && Profile::Validate.severity(&found) == Severity::Error;
            self.allowed_chunks += u64::from(is_of_chunk);
            return;
        };
        self.counts[severity as usize] += 1;
        found.severity = severity;
        if self.kept.len() < self.capacity {
            // Only kept findings get a help: there may be millions of others, which are only counted.
            if found.help.is_none() {
                found.help = code::of(found.code).map(Code::first_step);
            }
            self.kept.push(found);
        } else {
            self.cut(found);
        }
    }

    fn cut(&mut self, found: Diagnostic) {
        if found.is_error() {
            self.cut.insert((found.location.store, found.location.node));
        }
    }

    /// Appends the findings about one chunk.
    fn append(&mut self, part: Findings) {
        // A chunk may have several allowed errors but is one chunk.
        self.allowed_chunks += part.allowed_chunks.min(1);
        self.counts.iter_mut().zip(part.counts).for_each(|(all, part)| *all += part);
        self.cut.extend(part.cut);
        let capacity = self.capacity_left();
        let mut found = part.kept.into_iter();
        self.kept.extend(found.by_ref().take(capacity));
        found.for_each(|found| self.cut(found));
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_cannot_be_read_are_named_up_to_a_number_and_then_counted() {
        let node_path = NodePath { store: "s".into(), path: "/a".into() };
        let mut failures = Failures::default();
        for index in 0..150 {
            failures.push_chunk(&node_path, index + 1, format!("a/c/{index}"), OperationError::environment("gone"));
        }
        failures.push_more_chunks(&node_path, 150);
        assert_eq!((failures.named.len(), failures.errors.len()), (101, 101));
        assert_eq!(failures.named[100].message, "50 further chunks of `s/a` cannot be read");
        assert_eq!(failures.named[99].key.as_deref(), Some("a/c/99"));
    }
}

#[cfg(test)]
mod validate_result_tests {
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

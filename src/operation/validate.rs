//! `validate`: checks every STORE down to the requested level, and collects all findings.
//!
//! The order of the findings: store, node, documents, keys, chunks. The data of a store are read once, in parallel.
//! Memory is limited by `--max-memory` and `--max-findings`, whatever a store declares.

mod array;
mod keys;
mod object;

use std::collections::BTreeSet;

use self::array::{ArrayCheck, UNLISTED};
use super::against;
use super::hierarchy::{Hierarchy, HierarchyNode, NodeContent, read_hierarchy};
use super::progress::{Progress, SubProgress};
use super::validate_result::{AbsentChunks, CheckedStore, Failures, Unchecked};
use super::{
    ArrayReading, Interrupt, NodePath, OperationError, Partition, ValidateLevel, ValidateOptions, ValidateResult,
    expect, new_driver,
};
use crate::array::ChunkSet;
use crate::diagnostic::{Code, Diagnostic, Profile, Severity, code};
use crate::engine::Driver;
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

/// All results about the STOREs.
struct ValidateReport<'a> {
    findings: Findings<'a>,
    /// The other members, so far.
    result: ValidateResult,
    failures: Failures,
    /// The number of checked arrays.
    arrays: u64,
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
                _ if options.level > ValidateLevel::Metadata => keys::group(node, root, self),
                _ => {}
            }
        }
        progress.finish();
        match expect::check(store, &nodes, options) {
            Ok(found) => found.into_iter().for_each(|found| self.findings.push(found)),
            Err(error) => self.failures.push(Some(&name), None, None, error),
        }
        for (path, error) in unread {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_cannot_be_read_are_named_up_to_a_number_and_then_counted() {
        let node_path = NodePath { store: "s".into(), path: "/a".into() };
        let mut failures = Failures::default();
        for index in 0..150 {
            failures.push_chunk(&node_path, format!("a/c/{index}"), OperationError::environment("gone"));
        }
        failures.push_more_chunks(&node_path);
        assert_eq!((failures.named.len(), failures.errors.len()), (101, 101));
        assert_eq!(failures.named[100].message, "50 further chunks of `s/a` cannot be read");
        assert_eq!(failures.named[99].key.as_deref(), Some("a/c/99"));
    }
}

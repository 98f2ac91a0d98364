//! `validate`: checks every STORE down to the requested level, and collects all findings.
//!
//! The order of the findings: store, node, documents, keys, chunks. The data of a store are read once, in parallel.
//! Memory is limited by `--max-memory` and `--max-findings`, whatever a store declares.

mod array;
mod gathered;
mod keys;
mod object;

use super::hierarchy::{Hierarchy, HierarchyNode, NodeContent, UnreadFolder, read_hierarchy};
use super::progress::{Progress, Share};
use super::validate_result::CheckedStore;
use super::{
    ArrayReading, Interrupt, OperationError, ValidateLevel, ValidateOptions, ValidateResult, against, expect,
    new_driver,
};
use crate::diagnostic::code;
use crate::engine::Driver;
use crate::store::Location;
use array::ArrayCheck;
use gathered::{Failures, Findings, ValidateReport};

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
    let room = if options.max_findings == 0 { usize::MAX } else { options.max_findings };
    let result = ValidateResult { partition: options.partition, ..ValidateResult::default() };
    let mut gathered =
        ValidateReport { findings: Findings::new(options, room), result, failures: Failures::default(), arrays: 0 };
    let compared = new_driver(options.common.num_threads(), interrupt).and_then(|driver| {
        let other = against::open_other(options, interrupt)?;
        for store in &options.stores {
            let checked = check_store(store, options, &driver, progress, &mut gathered);
            gathered.result.checked.extend(checked);
        }
        // A STORE that could not be opened is already reported.
        let other = other.filter(|_| !gathered.result.checked.is_empty() && !gathered.failures.is_interrupted());
        other.map(|other| other.compare(progress)).transpose()
    });
    gathered.result.against = compared.unwrap_or_else(|error| {
        gathered.failures.push(options.other_name().as_deref(), None, None, error);
        None
    });
    let ValidateReport { findings, failures, mut result, .. } = gathered;
    [result.infos, result.warnings, result.errors] = findings.counts;
    result.valid = result.errors == 0 && failures.named.is_empty();
    result.truncated = findings.counts.iter().sum::<u64>() > findings.kept.len() as u64;
    (result.findings, result.failures) = (findings.kept, failures.named);
    result.verdict = gathered::of(&result, options.level);
    ValidateOutcome { result, failures: failures.errors }
}

/// Checks a store. `None` if there is nothing to check.
fn check_store(
    store: &Location,
    options: &ValidateOptions,
    driver: &Driver,
    progress: &dyn Progress,
    gathered: &mut ValidateReport,
) -> Option<CheckedStore> {
    let name = store.display().to_string();
    let Hierarchy { nodes, failures: unread } = match read_hierarchy(store, options.node.as_deref(), driver) {
        Ok(hierarchy) => hierarchy,
        Err(error) => {
            let node = options.node.as_ref().map(|node| format!("/{}", node.trim_matches('/')));
            gathered.failures.push(Some(&name), node.as_deref(), None, error);
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
        checked.nodes.push(node.place.path.clone());
        // A null fill value matters only if a chunk is absent. The level `keys` reports that.
        let of_documents = node.document_diagnostics().filter(|found| !found.is(code::V2_FILL_VALUE_NULL));
        of_documents.for_each(|found| gathered.findings.push(found.clone()));
        match &node.content {
            NodeContent::Array(reading) => {
                let progress = &Share::new(progress, reading.decoded_bytes(), 1);
                match (ArrayCheck { options, driver, root, progress }).run(reading, gathered) {
                    Ok(objects) => checked.objects += objects,
                    Err(error) => gathered.failures.push_node(&node.place, error),
                }
            }
            _ if options.level > ValidateLevel::Metadata => keys::group(node, root, gathered),
            _ => {}
        }
    }
    progress.finish();
    if let Some(expected) = &options.expect {
        match expect::check(store, options.node.as_deref(), expected) {
            Ok(found) => found.into_iter().for_each(|found| gathered.findings.push(found)),
            Err(error) => gathered.failures.push(Some(&name), None, None, error),
        }
    }
    for UnreadFolder { path, error } in unread {
        gathered.failures.push(Some(&name), Some(&path), None, error);
    }
    Some(checked)
}

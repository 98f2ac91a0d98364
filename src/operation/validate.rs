//! `validate`: every STORE checked down to the level that was asked for, all findings collected.
//!
//! The order of the findings: store, node, documents, keys, chunks. A store's data are read once, in parallel; memory
//! is bounded by `--max-memory` and `--max-findings`, whatever a store claims to be.

mod array;
mod findings;
mod gathered;
mod keys;
mod object;
mod shard;

use super::budget::Budget;
use super::error::OperationError;
use super::hierarchy::{Hierarchy, HierarchyNode, NodeContent, UnreadFolder, read_hierarchy};
use super::open::ArrayReading;
use super::options::{ValidateLevel, ValidateOptions};
use super::progress::{Progress, Share};
use super::validate_result::{AgainstResult, CheckedStore, ValidateResult};
use super::{Interrupt, against, expect, new_driver};
use crate::diagnostic::code;
use crate::engine::driver::Driver;
use crate::store::Location;
use array::ArrayCheck;
use findings::{Findings, Policy};
use gathered::Gathered;

/// The result, and the STOREs that could not be looked at.
#[derive(Debug)]
pub struct ValidateOutcome {
    /// The findings about the others.
    pub result: ValidateResult,
    /// An error for each STORE, or part of one, that could not be looked at, in their order.
    pub failures: Vec<OperationError>,
}

/// Checks every STORE; what is wrong with one hides nothing of another. OTHER of `--against` is opened first: where it
/// cannot be, nothing is checked.
pub fn validate(options: &ValidateOptions, progress: &dyn Progress, interrupt: &Interrupt) -> ValidateOutcome {
    let policy = Policy::of(options);
    let room = if options.max_findings == 0 { usize::MAX } else { options.max_findings };
    let mut gathered = Gathered::new(Findings::new(&policy, room));
    let (mut checked, mut compared) = (Vec::new(), None);
    let driver = new_driver(options.common.num_threads(), interrupt);
    match driver.and_then(|driver| Ok((driver, against::open_other(options, interrupt)?))) {
        Ok((driver, other)) => {
            let run = Run { options, policy: &policy, driver: &driver, progress };
            for store in &options.stores {
                checked.extend(run.store(store, &mut gathered));
            }
            // A STORE that could not be opened has been named once.
            if let Some(other) = other.filter(|_| !checked.is_empty() && !gathered.failures.is_interrupted()) {
                match other.compare(progress) {
                    Ok(result) => compared = Some(result),
                    Err(error) => gathered.failures.push(options.other_name().as_deref(), None, error),
                }
            }
        }
        Err(error) => gathered.failures.push(options.other_name().as_deref(), None, error),
    }
    outcome(gathered, checked, compared, options)
}

fn outcome(
    gathered: Gathered,
    checked: Vec<CheckedStore>,
    against: Option<AgainstResult>,
    options: &ValidateOptions,
) -> ValidateOutcome {
    let Gathered { findings, unchecked, absent, failures, .. } = gathered;
    let mut result = ValidateResult {
        valid: findings.errors == 0 && failures.named.is_empty(),
        verdict: String::new(),
        partition: options.partition,
        errors: findings.errors,
        warnings: findings.warnings,
        infos: findings.infos,
        unchecked,
        absent,
        failures: failures.named,
        truncated: findings.len() > findings.kept.len() as u64,
        findings: findings.kept,
        against,
        checked,
    };
    result.verdict = gathered::of(&result, options.level);
    ValidateOutcome { result, failures: failures.errors }
}

/// One run of the command.
struct Run<'a> {
    options: &'a ValidateOptions,
    policy: &'a Policy,
    driver: &'a Driver,
    progress: &'a dyn Progress,
}

impl Run<'_> {
    /// Checks a store; `None` where there is nothing to look at.
    fn store(&self, store: &Location, gathered: &mut Gathered) -> Option<CheckedStore> {
        let name = store.display().to_string();
        let hierarchy = match read_hierarchy(store, self.options.node.as_deref(), self.driver) {
            Ok(hierarchy) => hierarchy,
            Err(error) => {
                let node = self.options.node.as_ref().map(|node| format!("/{}", node.trim_matches('/')));
                gathered.failures.push(Some(&name), node.as_deref(), error);
                return None;
            }
        };
        let level = self.options.level.name();
        let mut checked = CheckedStore { store: name.clone(), level, ..CheckedStore::default() };
        let Hierarchy { nodes, failures: unread } = hierarchy;
        let root = store.node();
        // One bar for the store, of which each array is a share as large as its elements.
        if self.options.level > ValidateLevel::Keys {
            let bytes = nodes.iter().filter_map(HierarchyNode::array).map(ArrayReading::decoded_bytes);
            self.progress.start(&checked.store, Some(bytes.fold(0, u64::saturating_add)));
        }
        for node in &nodes {
            checked.nodes.push(node.place.path.clone());
            // What a null fill value stands for matters where a chunk is absent; the level `keys` tells.
            let of_documents = node.document_diagnostics().filter(|found| !found.is(code::V2_FILL_VALUE_NULL));
            of_documents.for_each(|found| gathered.findings.push(found.clone()));
            match &node.content {
                NodeContent::Array(reading) => {
                    let check = ArrayCheck {
                        level: self.options.level,
                        driver: self.driver,
                        budget: Budget::of(&self.options.common),
                        root: &root,
                        policy: self.policy,
                        partition: self.options.partition,
                        progress: &Share::new(self.progress, reading.decoded_bytes(), 1),
                    };
                    match check.run(reading, gathered) {
                        Ok(objects) => checked.objects += objects,
                        Err(error) => gathered.failures.push_node(&node.place, error),
                    }
                }
                _ if self.options.level > ValidateLevel::Metadata => keys::group(node, &root, gathered),
                _ => {}
            }
        }
        self.progress.finish();
        if let Some(expected) = &self.options.expect {
            match expect::check(store, self.options.node.as_deref(), expected) {
                Ok(found) => found.into_iter().for_each(|found| gathered.findings.push(found)),
                Err(error) => gathered.failures.push(Some(&name), None, error),
            }
        }
        for UnreadFolder { path, error } in unread {
            gathered.failures.push(Some(&name), Some(&path), error);
        }
        Some(checked)
    }
}

//! `validate`: every STORE checked down to the level that was asked for, all findings collected.
//!
//! The order of the findings: store, node, documents, keys, chunks. A store's data are read once, in parallel; memory
//! is bounded by `--max-memory` and `--max-findings`, whatever a store claims to be.

mod array;
mod budget;
mod element;
mod findings;
mod keys;
mod object;
mod shard;
mod window;

use std::path::Path;

use super::error::OperationError;
use super::hierarchy::{Hierarchy, NodeContent, read_hierarchy};
use super::options::{ValidateLevel, ValidateOptions};
use super::place::local_path;
use super::progress::Progress;
use super::validate_result::{CheckedStore, ValidateResult};
use super::{against, available_threads, expect};
use crate::engine::driver::Driver;
use crate::store::LocalNode;
use array::ArrayCheck;
use budget::Budget;
use findings::{Findings, Policy};

/// What was found, and the STOREs that could not be looked at.
#[derive(Debug)]
pub struct ValidateOutcome {
    /// The findings about the others.
    pub result: ValidateResult,
    /// An error for each STORE, or part of one, that could not be looked at, in their order.
    pub failures: Vec<OperationError>,
}

/// Checks every STORE; what is wrong with one hides nothing of another.
pub fn validate(options: &ValidateOptions, progress: &dyn Progress) -> ValidateOutcome {
    let policy = Policy::of(options);
    let room = if options.max_findings == 0 { usize::MAX } else { options.max_findings };
    let mut findings = Findings::new(&policy, room);
    let (mut checked, mut failures, mut compared) = (Vec::new(), Vec::new(), None);
    let threads = options.common.threads.map_or_else(available_threads, std::num::NonZeroUsize::get);
    match new_driver(threads) {
        Ok(driver) => {
            let run = Run { options, policy: &policy, driver: &driver, progress };
            for store in &options.stores {
                checked.extend(run.store(store, &mut findings, &mut failures));
            }
            compared = against::of(options, progress).unwrap_or_else(|error| {
                failures.push(error);
                None
            });
        }
        Err(error) => failures.push(error),
    }
    let result = ValidateResult {
        valid: findings.errors == 0,
        errors: findings.errors,
        warnings: findings.warnings,
        infos: findings.infos,
        truncated: findings.len() > findings.kept.len() as u64,
        findings: findings.kept,
        against: compared,
        checked,
    };
    ValidateOutcome { result, failures }
}

/// A pool of threads.
fn new_driver(threads: usize) -> Result<Driver, OperationError> {
    Driver::new(threads)
        .map_err(|error| OperationError::environment("the threads cannot be started").because(error))
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
    fn store(
        &self,
        store: &Path,
        findings: &mut Findings,
        failures: &mut Vec<OperationError>,
    ) -> Option<CheckedStore> {
        let hierarchy = match read_hierarchy(store, self.options.node.as_deref(), self.driver) {
            Ok(hierarchy) => hierarchy,
            Err(error) => {
                failures.push(error);
                return None;
            }
        };
        let mut checked = CheckedStore {
            store: store.display().to_string(),
            level: self.options.level.name(),
            ..CheckedStore::default()
        };
        let Hierarchy { nodes, failures: unreadable } = hierarchy;
        let root = LocalNode::new(local_path(store));
        let check = ArrayCheck {
            level: self.options.level,
            driver: self.driver,
            budget: Budget::of(self.options.common.max_memory),
            root: &root,
            policy: self.policy,
            progress: self.progress,
        };
        for node in &nodes {
            checked.nodes.push(node.place.path.clone());
            node.document_diagnostics().for_each(|found| findings.push(found.clone()));
            match &node.content {
                NodeContent::Array(reading) => match check.run(reading, findings) {
                    Ok(objects) => checked.objects += objects,
                    Err(error) => failures.push(error),
                },
                _ if self.options.level > ValidateLevel::Metadata => keys::group(node, &root, findings),
                _ => {}
            }
        }
        if let Some(expected) = &self.options.expect {
            match expect::check(store, self.options.node.as_deref(), expected) {
                Ok(found) => found.into_iter().for_each(|found| findings.push(found)),
                Err(error) => failures.push(error),
            }
        }
        failures.extend(unreadable);
        Some(checked)
    }
}

//! `validate`: every STORE checked down to the level that was asked for, all findings collected.

use super::error::OperationError;
use super::options::ValidateOptions;
use super::progress::Progress;
use super::validate_result::ValidateResult;
use super::{against, expect};

/// What was found, and the STOREs that could not be looked at.
#[derive(Debug)]
pub struct ValidateOutcome {
    /// The findings about the others.
    pub result: ValidateResult,
    /// An error for each STORE that could not be looked at, in their order.
    pub failures: Vec<OperationError>,
}

/// Checks every STORE; what is wrong with one hides nothing of another.
pub fn validate(options: &ValidateOptions, progress: &dyn Progress) -> ValidateOutcome {
    let mut failures = Vec::new();
    let mut findings = Vec::new();
    for (store, expected) in options.stores.iter().zip(options.expect.iter().cycle()) {
        match expect::check(store, options.node.as_deref(), expected) {
            Ok(found) => findings.extend(found),
            Err(error) => failures.push(error),
        }
    }
    let against = against::of(options, progress).unwrap_or_else(|error| {
        failures.push(error);
        None
    });
    let errors = findings.len() as u64;
    let result = ValidateResult {
        valid: errors == 0,
        errors,
        warnings: 0,
        infos: 0,
        truncated: false,
        findings,
        against,
        checked: Vec::new(),
    };
    ValidateOutcome { result, failures }
}

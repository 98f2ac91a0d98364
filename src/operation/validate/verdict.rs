//! The verdict of a run: no more than what was looked at bears out.

use crate::operation::options::ValidateLevel;
use crate::operation::validate_result::{Partition, ValidateResult};

/// The verdict over everything else that is in a result.
pub(super) fn of(result: &ValidateResult, level: ValidateLevel) -> String {
    let is_equal = result.against.as_ref().map(|against| against.equal);
    let verdict = if is_equal == Some(false) {
        "differs"
    } else if result.errors > 0 {
        "not valid"
    } else if !result.failures.is_empty() {
        "incomplete: not everything could be read"
    } else {
        // A comparison decodes the chunks, whatever the level looks at.
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
            // A share alone does not make a store valid.
            let verdict = if verdict == "valid" { "no errors in metadata, keys and chunks" } else { verdict };
            format!("{verdict}; of the stored objects, share {index}/{partitions} was looked at")
        }
        None => verdict.to_owned(),
    }
}

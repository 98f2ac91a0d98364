//! The number of a part of a job, or of a share of a check: given, or that of a scheduler's array job.

use std::env::VarError;
use std::str::FromStr;

use crate::operation::OperationError;

/// Schedulers' variables of the number of a task, and the first number that each counts from.
const VARIABLES: [(&str, u64); 7] = [
    ("SLURM_ARRAY_TASK_ID", 0),
    ("JOB_COMPLETION_INDEX", 0),
    ("AWS_BATCH_JOB_ARRAY_INDEX", 0),
    ("BATCH_TASK_INDEX", 0),
    ("SGE_TASK_ID", 1),
    ("PBS_ARRAY_INDEX", 0),
    ("LSB_JOBINDEX", 1),
];

/// The number of a part, as it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartNumber {
    Number(u64),
    Auto,
}

impl FromStr for PartNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(PartNumber::Auto),
            number => number.parse().map(PartNumber::Number).map_err(|_| "give a number from 0, or `auto`".to_owned()),
        }
    }
}

impl PartNumber {
    /// The number from 0; the scheduler or the user counts from `first_index`.
    pub(super) fn counted_from_zero(self, first_index: Option<u64>) -> Result<u64, OperationError> {
        let (given, first, of) = match self {
            PartNumber::Number(number) => (number, first_index.unwrap_or(0), "--partition"),
            PartNumber::Auto => {
                let (variable, number, first) = of_scheduler()?;
                (number, first_index.unwrap_or(first), variable)
            }
        };
        given.checked_sub(first).ok_or_else(|| {
            OperationError::usage(format!("{of} is {given}, but parts are counted from {first}"))
                .with_help("set the first number with `--first-index`")
        })
    }
}

/// The variable of the scheduler that is there, its number, and what it counts from.
fn of_scheduler() -> Result<(&'static str, u64, u64), OperationError> {
    for (variable, first) in VARIABLES {
        let text = match std::env::var(variable) {
            // Where a job is none of an array, some set it all the same.
            Ok(text) if text.is_empty() || text == "undefined" => continue,
            Ok(text) => text,
            Err(VarError::NotPresent) => continue,
            Err(VarError::NotUnicode(_)) => String::new(),
        };
        let number = text.parse().map_err(|_| {
            OperationError::usage(format!("{variable} is `{text}`, and should be a number"))
                .with_help("give the number of the part: `--partition 0`")
        })?;
        return Ok((variable, number, first));
    }
    let names: Vec<&str> = VARIABLES.iter().map(|(name, _)| *name).collect();
    Err(OperationError::usage("`--partition auto`: no scheduler gives the number of the part")
        .with_help(format!("run it in an array job, which sets one of {}; or give a number", names.join(", "))))
}

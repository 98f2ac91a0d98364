//! Exit statuses of the program.

use std::process::ExitCode;

use crate::operation::error::{FaultClass, OperationError};

/// The exit statuses that scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    /// Done.
    Done = 0,
    /// The data, or what was asked of it, is at fault.
    DataFault = 1,
    /// Unknown or contradictory options, or text that is not what its option takes.
    UsageFault = 2,
    /// The work could not be done.
    Failed = 3,
    /// An earlier pass of the job is not complete.
    TooEarly = 4,
    /// Stopped by SIGHUP.
    HungUp = 129,
    /// Stopped by SIGINT.
    Interrupted = 130,
    /// Stopped by SIGTERM.
    Terminated = 143,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        ExitCode::from(status as u8)
    }
}

/// The status of an error: by the class of the operation's error; 3 for all else.
pub(super) fn of_error(error: &anyhow::Error) -> ExitStatus {
    let class =
        error.chain().find_map(|cause| cause.downcast_ref::<OperationError>()).map(OperationError::class);
    match class {
        Some(FaultClass::Data) => ExitStatus::DataFault,
        Some(FaultClass::Usage) => ExitStatus::UsageFault,
        Some(FaultClass::TooEarly) => ExitStatus::TooEarly,
        Some(FaultClass::Interrupted) => ExitStatus::Interrupted,
        Some(FaultClass::Environment) | None => ExitStatus::Failed,
    }
}

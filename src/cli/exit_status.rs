//! What the program says to the shell.

use clap::error::{ContextKind, ContextValue};

use super::session::Session;
use crate::report::defused::one_line;
use std::error::Error;
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
        Some(FaultClass::Interrupted) => ExitStatus::Interrupted,
        Some(FaultClass::Environment) | None => ExitStatus::Failed,
    }
}

/// Prints clap's own message; `--help` and `--version` are no errors.
pub(super) fn of_parse_error(mut error: clap::Error) -> ExitStatus {
    let escaped: Vec<_> =
        error.context().filter_map(|(kind, value)| escaped(value).map(|value| (kind, value))).collect();
    let cause = error.source().map(ToString::to_string).filter(|cause| one_line(cause) != *cause);
    if escaped.is_empty() && cause.is_none() {
        // A closed stream cannot be told about.
        let _ = error.print();
    } else {
        for (kind, value) in escaped {
            error.insert(kind, value);
        }
        // Without styles, escapes are those of arguments, which are shown and not taken out.
        error.remove(ContextKind::Usage);
        let plain = clap::Command::new("").styles(clap::builder::Styles::plain());
        let text = error.with_cmd(&plain).render().ansi().to_string();
        let text = cause.map_or(text.clone(), |cause| text.replace(&cause, &one_line(&cause)));
        Session::new(None).note(|output| write!(output, "{text}"));
        return ExitStatus::UsageFault;
    }
    if error.use_stderr() { ExitStatus::UsageFault } else { ExitStatus::Done }
}

/// An argument that a message names, as part of one line; `None` where it is that already.
fn escaped(value: &ContextValue) -> Option<ContextValue> {
    let is_other = |text: &String| one_line(text) != *text;
    let line = |text: &String| one_line(text).into_owned();
    match value {
        ContextValue::String(text) if is_other(text) => Some(ContextValue::String(line(text))),
        ContextValue::Strings(texts) if texts.iter().any(is_other) => {
            Some(ContextValue::Strings(texts.iter().map(line).collect()))
        }
        _ => None,
    }
}

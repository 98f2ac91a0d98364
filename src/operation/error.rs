//! The reason why an operation has no result: a class, which decides the exit status, one clause, and the next step.
//!
//! Errors of the rows below (stores, codecs, metadata) are the cause. This row adds only what the operation knows: the
//! node, the option that would help, and the class.

use std::error::Error;

use crate::array::fault::Interrupted;
use crate::metadata::Json;
use crate::store::{RemoteError, StoreError};
use std::fmt;

/// The class of a fault. Each class has its own exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultClass {
    /// The data, or a request that does not fit them: a value that cannot be encoded, a corrupt chunk, a wrong shape.
    Data,
    /// Contradictory options, or text that is not valid for its option.
    Usage,
    /// The work could not be done: a missing object, no permission, no space, DEST exists.
    Environment,
    /// No fault: an earlier step is not complete yet.
    TooEarly,
    /// No fault: a signal stopped the work.
    Interrupted,
}

/// The next step for a damaged zip file or reference file.
pub(super) const COPY_AGAIN: &str = "copy the file again, or name another one";

/// The outcome of an operation.
pub type Result<T, E = OperationError> = std::result::Result<T, E>;

/// The error of an operation.
///
/// `Display` writes the message alone. The cause is in [`Error::source`], the help in [`OperationError::help`].
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct OperationError {
    class: FaultClass,
    message: String,
    help: Option<String>,
    #[source]
    cause: Option<Box<dyn Error + Send + Sync + 'static>>,
}

impl OperationError {
    /// Returns an error of this class. `message` is one lower-case clause that names its subject.
    pub fn new(class: FaultClass, message: impl Into<String>) -> Self {
        OperationError { class, message: message.into(), help: None, cause: None }
    }

    /// [`FaultClass::Data`]: exit status 1.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(FaultClass::Data, message)
    }

    /// [`FaultClass::Usage`]: exit status 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FaultClass::Usage, message)
    }

    /// [`FaultClass::TooEarly`]: exit status 4.
    pub fn too_early(message: impl Into<String>) -> Self {
        Self::new(FaultClass::TooEarly, message)
    }

    /// [`FaultClass::Environment`]: exit status 3.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(FaultClass::Environment, message)
    }

    /// Returns the error for a name whose keys the store cannot list.
    pub fn cannot_list(name: impl fmt::Display, error: StoreError) -> Self {
        let help = error.is_data_fault().then_some(COPY_AGAIN);
        let failed = Self::environment(format!("`{name}` cannot be listed")).because(error);
        help.into_iter().fold(failed, Self::with_help)
    }

    /// Returns the error for a value of an option, `json`, that is not a value of `data_type`.
    pub fn not_a_value(
        option: &str,
        json: &Json,
        data_type: impl fmt::Display,
        error: impl Error + Send + Sync + 'static,
    ) -> Self {
        let json = json.to_string();
        Self::data(format!("{option} {json} is not a value of {data_type}")).because(error)
    }

    /// Returns the error of an interrupted run that leaves nothing unfinished.
    pub fn interrupted() -> Self {
        Self::new(FaultClass::Interrupted, "interrupted")
            .with_help("this run leaves nothing unfinished; run the command again")
    }

    /// Adds the next step, with the option in full.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds an alternative next step.
    #[must_use]
    pub fn or_help(mut self, help: &str) -> Self {
        self.help = Some(self.help.map_or_else(|| help.to_owned(), |known| format!("{known}; or {help}")));
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync + 'static>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds the name of the subject, unless the message contains it.
    #[must_use]
    pub fn about(mut self, name: &str) -> Self {
        if !self.message.contains(name) {
            self.message = format!("`{name}`: {}", self.message);
        }
        self
    }

    /// Returns the class of the fault.
    pub fn class(&self) -> FaultClass {
        self.class
    }

    /// Returns the message with its causes, in one line.
    pub fn in_one_line(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(next) = cause {
            let clause = next.to_string();
            if says_more(&text, &clause) {
                text.push_str(": ");
                text.push_str(&clause);
            }
            cause = next.source();
        }
        text
    }

    /// Returns the next step.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl From<Interrupted> for OperationError {
    fn from(_: Interrupted) -> Self {
        OperationError::interrupted()
    }
}

/// Returns the next step that an error or one of its causes names.
pub fn help_of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e str> {
    let causes = || std::iter::successors(Some(error), |error| (**error).source());
    // The store knows best what to do about its own response. An error that repeats its help has a further step.
    let remote = causes().filter_map(|cause| cause.downcast_ref::<Box<RemoteError>>()).last();
    let remote = remote.map(|remote| remote.help.as_str());
    let operation = causes().filter_map(|cause| cause.downcast_ref::<OperationError>()).find_map(OperationError::help);
    operation.filter(|help| remote.is_none_or(|known| help.starts_with(known))).or(remote)
}

/// True if a cause adds information to the text before it. A transparent wrapper repeats its content, and `cannot read
/// x` adds nothing to `x cannot be read`.
pub fn says_more(said: &str, cause: &str) -> bool {
    let object = cause.strip_prefix("cannot ").and_then(|clause| clause.split_once(' ')).map(|(_, object)| object);
    let is_named = object.is_some_and(|object| said.contains(&format!("`{object}` cannot be ")));
    !is_named && !said.ends_with(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_with_cause_displays_its_own_clause_only() {
        let error = OperationError::environment("`a.zarr` cannot be opened")
            .with_help("check the path")
            .because(std::io::Error::other("permission denied"));
        assert_eq!(error.to_string(), "`a.zarr` cannot be opened");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("permission denied"));
        assert_eq!(error.help(), Some("check the path"));
        assert_eq!(error.class(), FaultClass::Environment);
    }
}

//! Findings about the data: code, severity, message and location.
//!
//! A fault in a store is a [`Diagnostic`]. An `Err` elsewhere means that the program could not do its work. All codes
//! are in one table, [`code`]. The [`Profile`] of a command decides what it makes of a finding.

pub mod code;
#[doc(hidden)]
pub mod quantity;
#[doc(hidden)]
pub mod spelling;

use serde::Serialize;

pub use code::Code;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information.
    Info,
    /// This program reads the data, but not every reader does.
    Warning,
    /// The data is wrong.
    Error,
}

impl Severity {
    /// Returns `info`, `warning` or `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The purpose of a command. A profile has the severities of the profile that it is made from, except for a few codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Checks the store against the specification (`validate`).
    Validate,
    /// Reads the store as far as possible. An error of `validate` whose meaning is unambiguous is a warning (SEMANTICS:
    /// C1, C2, C12, C16, C18). Made from [`Profile::Validate`].
    Read,
    /// Needs the values. Anything that prevents decoding them is an error. Made from [`Profile::Read`].
    Values,
    /// Reads the store to write it elsewhere. Consolidated metadata is made again, so faults in its copies are
    /// warnings. Made from [`Profile::Read`].
    Source,
    /// Checks an array before writing. Its fill value must be encoded and decoded bit for bit. Made from
    /// [`Profile::Read`].
    Write,
    /// Reads or writes an array with any fill value (`--no-fill-check`). Made from [`Profile::Read`].
    AnyFillValue,
}

/// The location of a finding in a store.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Location {
    /// The store, as the user named it.
    pub store: Option<String>,
    /// The node, such as `/a/b`.
    pub node: Option<String>,
    /// The key, relative to the store.
    pub key: Option<String>,
    /// An RFC 6901 pointer into the document.
    pub pointer: Option<String>,
    /// Chunk grid indices.
    pub chunk: Option<Vec<u64>>,
}

/// A finding about the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The code: two family letters and three digits, such as `ZC203`. It never changes.
    pub code: &'static str,
    /// The name of the code, in kebab-case.
    pub name: &'static str,
    /// The severity in `validate`, until a command applies its [`Profile`].
    pub severity: Severity,
    /// A message of one clause that makes sense alone.
    pub message: String,
    /// The next step.
    pub help: Option<String>,
    /// The location in a store.
    #[serde(flatten)]
    pub location: Location,
}

impl Diagnostic {
    /// Makes a finding of this code without a location, with the severity in `validate`.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Diagnostic {
            code: code.code,
            name: code.name(),
            severity: code.severity,
            message: message.into(),
            help: None,
            location: Location::default(),
        }
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the RFC 6901 pointer into its document.
    #[must_use]
    pub fn at_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.location.pointer = Some(pointer.into());
        self
    }

    /// Sets the node (`/a/b`).
    #[must_use]
    pub fn at_node(mut self, node: impl Into<String>) -> Self {
        self.location.node = Some(node.into());
        self
    }

    /// Sets the key, relative to the store.
    #[must_use]
    pub fn at_key(mut self, key: impl Into<String>) -> Self {
        self.location.key = Some(key.into());
        self
    }

    /// Sets the chunk of the grid.
    #[must_use]
    pub fn at_chunk(mut self, chunk: impl Into<Vec<u64>>) -> Self {
        self.location.chunk = Some(chunk.into());
        self
    }

    /// Sets the store.
    #[must_use]
    pub fn in_store(mut self, store: impl Into<String>) -> Self {
        self.location.store = Some(store.into());
        self
    }

    /// Returns true if it has this code.
    pub fn is(&self, code: Code) -> bool {
        self.code == code.code
    }

    /// Returns true if it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Writes `warning[ZC203] message`. The caller adds location and help in its own format.
impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}] {}", self.severity, self.code, self.message)
    }
}

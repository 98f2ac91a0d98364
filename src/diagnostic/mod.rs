//! Findings about the data: a code, a severity, a sentence, and the place.
//!
//! A fault in a store is a [`Diagnostic`]; an `Err` elsewhere means that the program could not do its work.
//! The codes stand in one table, [`code`]; what a command makes of a finding is its [`Profile`].

pub mod code;
mod judgement;
mod page;
mod profile;
#[doc(hidden)]
pub mod quantity;
#[doc(hidden)]
pub mod spelling;

use serde::Serialize;

pub use code::Code;
pub use profile::Profile;

/// Weight of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Read here, but not by every reader.
    Warning,
    /// Wrong.
    Error,
}

impl Severity {
    /// `info`, `warning`, `error`.
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

/// Where in a store something is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Location {
    /// The store, as the user named it.
    pub store: Option<String>,
    /// The node, as `/a/b`.
    pub node: Option<String>,
    /// The key, relative to the store.
    pub key: Option<String>,
    /// An RFC 6901 pointer into the document.
    pub pointer: Option<String>,
    /// Chunk grid indices.
    pub chunk: Option<Vec<u64>>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Stable: two family letters and three digits, `ZC203`.
    pub code: &'static str,
    /// Kebab-case.
    pub name: &'static str,
    /// The severity in `validate`, until a command judges it under its [`Profile`].
    pub severity: Severity,
    /// One clause that makes sense alone.
    pub message: String,
    /// The next step.
    pub help: Option<String>,
    /// Where.
    #[serde(flatten)]
    pub location: Location,
}

impl Diagnostic {
    /// A finding of this code, nowhere in particular, as bad as `validate` has it.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Diagnostic {
            code: code.code,
            name: code.name,
            severity: code.severity,
            message: message.into(),
            help: None,
            location: Location::default(),
        }
    }

    /// The same, with the next step.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, at an RFC 6901 pointer into its document.
    #[must_use]
    pub fn at_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.location.pointer = Some(pointer.into());
        self
    }

    /// The same, at a node (`/a/b`).
    #[must_use]
    pub fn at_node(mut self, node: impl Into<String>) -> Self {
        self.location.node = Some(node.into());
        self
    }

    /// The same, at a key relative to the store.
    #[must_use]
    pub fn at_key(mut self, key: impl Into<String>) -> Self {
        self.location.key = Some(key.into());
        self
    }

    /// The same, at a chunk of the grid.
    #[must_use]
    pub fn at_chunk(mut self, chunk: impl Into<Vec<u64>>) -> Self {
        self.location.chunk = Some(chunk.into());
        self
    }

    /// The same, in a store.
    #[must_use]
    pub fn in_store(mut self, store: impl Into<String>) -> Self {
        self.location.store = Some(store.into());
        self
    }

    /// True if it is of this code.
    pub fn is(&self, code: Code) -> bool {
        self.code == code.code
    }

    /// True if it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// `warning[ZC203] message`: no location, no help; who prints it knows the form that they should have.
impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}] {}", self.severity, self.code, self.message)
    }
}

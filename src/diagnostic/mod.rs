//! What is wrong with the data, as data: a code, a severity, a sentence, and where.
//!
//! A fault in a store is a [`Diagnostic`]; an `Err` elsewhere means that the program could not do its work.

use serde::Serialize;

/// How bad it is.
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

/// Where in a store something is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
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
pub struct Diagnostic {
    /// Stable: two family letters and three digits, `ZC203`.
    pub code: &'static str,
    /// Kebab-case.
    pub name: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// One clause that makes sense alone.
    pub message: String,
    /// The next step.
    pub help: Option<String>,
    /// Where.
    #[serde(flatten)]
    pub location: Location,
}

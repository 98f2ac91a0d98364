//! The parser: one linear pass, bounded in bytes, depth and values.

use super::Json;

/// What a document may claim of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the text.
    pub max_bytes: usize,
    /// Arrays and objects within each other.
    pub max_depth: usize,
    /// Values of any kind: a byte or two of text can be 32 bytes in memory.
    pub max_values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_bytes: 64 << 20, max_depth: 128, max_values: 4 << 20 }
    }
}

/// Why a text is no JSON document, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column} (byte {offset}): {kind}")]
pub struct JsonError {
    /// Bytes before the fault.
    pub offset: usize,
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub kind: JsonErrorKind,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// Nothing but white space.
    #[error("the document is empty")]
    Empty,
}

impl JsonError {
    /// The error as a finding, `ZM001` or `ZM002`.
    pub fn diagnostic(&self) -> crate::diagnostic::Diagnostic {
        unimplemented!()
    }
}

impl Json {
    /// Reads a document within the default [`Limits`].
    pub fn parse(bytes: &[u8]) -> Result<Json, JsonError> {
        Self::parse_with_limits(bytes, Limits::default())
    }

    /// The same, of text.
    pub fn parse_str(text: &str) -> Result<Json, JsonError> {
        Self::parse(text.as_bytes())
    }

    /// Reads a document within these limits.
    pub fn parse_with_limits(_bytes: &[u8], _limits: Limits) -> Result<Json, JsonError> {
        unimplemented!()
    }
}

//! What keeps a text from being read: its size, or its syntax.

use crate::diagnostic::{Diagnostic, code};

/// What a document may claim of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the text.
    pub max_bytes: usize,
    /// Arrays and objects within each other.
    pub max_depth: usize,
    /// Values of any kind: two bytes of text (`0,`) are more than fifty in memory, eight (`{"":0},`) two hundred.
    pub max_values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_bytes: 64 << 20, max_depth: 128, max_values: 1 << 20 }
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
    /// More bytes than allowed.
    #[error("the document has more than {0} bytes")]
    TooLarge(usize),
    /// Deeper than allowed.
    #[error("arrays and objects are nested more than {0} deep")]
    TooDeep(usize),
    /// More values than allowed.
    #[error("the document has more than {0} values")]
    TooManyValues(usize),
    /// A byte order mark.
    #[error("a byte order mark, which JSON does not allow")]
    ByteOrderMark,
    /// Bytes that are no UTF-8.
    #[error("invalid UTF-8")]
    NotUtf8,
    /// The text ends too early.
    #[error("expected {0}, found the end of the document")]
    End(&'static str),
    /// Something else than what must stand there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What could stand there.
        expected: &'static str,
        /// The character that does.
        found: String,
    },
    /// `NaN`, `Infinity` or `-Infinity` as bare words, which Python writes.
    #[error("{0} is not JSON (as the value of a float it is written \"{0}\")")]
    NotFinite(&'static str),
    /// One of these words where not even Python's readers of Zarr have a use for it.
    #[error("{word} at `{pointer}` is not JSON (as the value of a float it is written \"{word}\")")]
    NotFiniteAt {
        /// The word.
        word: &'static str,
        /// Where it stands, as an RFC 6901 pointer.
        pointer: String,
    },
    /// A comma before a closing bracket.
    #[error("a comma with nothing after it")]
    TrailingComma,
    /// Text after the document.
    #[error("text after the end of the document: {0}")]
    TrailingText(String),
    /// A raw control character in a string.
    #[error("a control character (U+{0:04X}) in a string, which must be escaped")]
    ControlCharacter(u8),
    /// A backslash before something that it does not escape.
    #[error("an invalid escape sequence in a string")]
    Escape,
    /// Half of a surrogate pair.
    #[error("half of a surrogate pair in a string")]
    LoneSurrogate,
    /// A zero before other digits.
    #[error("a number with a leading zero")]
    LeadingZero,
}

impl JsonError {
    /// The error as a finding, `ZM001` or, for what is beyond the limits, `ZM002`.
    pub fn diagnostic(&self) -> Diagnostic {
        let limit = matches!(
            self.kind,
            JsonErrorKind::TooLarge(_) | JsonErrorKind::TooDeep(_) | JsonErrorKind::TooManyValues(_)
        );
        Diagnostic::new(if limit { code::JSON_LIMIT } else { code::JSON_SYNTAX }, self.to_string())
    }

    /// At an offset into the text.
    pub(super) fn at(text: &[u8], offset: usize, kind: JsonErrorKind) -> Self {
        let before = &text[..offset.min(text.len())];
        let start_of_line = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        // Continuation bytes of UTF-8 count with the byte that they continue.
        let is_start = |byte: &&u8| **byte & 0xc0 != 0x80;
        JsonError {
            offset,
            line: before.split(|&byte| byte == b'\n').count(),
            column: 1 + before[start_of_line..].iter().filter(is_start).count(),
            kind,
        }
    }
}

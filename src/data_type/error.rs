//! Why metadata are no data type, and JSON no value of one.

use crate::metadata::json::Json;

/// The most bytes of an element: a name of ten characters must not earn more memory.
pub(super) const MAX_ELEMENT_SIZE: usize = 1 << 20;

/// Why metadata are no data type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DataTypeError {
    /// The sentence.
    pub message: String,
    /// A JSON pointer from the data type on.
    pub pointer: String,
}

impl DataTypeError {
    pub(super) fn new(pointer: &str, message: String) -> Self {
        DataTypeError { message, pointer: pointer.to_owned() }
    }
}

/// Why JSON is no value of a data type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} for {data_type}, found {found}")]
pub struct FillValueError {
    /// The name of the data type.
    pub data_type: String,
    /// A description of what would be right.
    pub expected: String,
    /// The JSON that is there, shortened.
    pub found: String,
}

impl FillValueError {
    pub(super) fn new(data_type: &str, expected: impl Into<String>, found: &Json) -> Self {
        FillValueError { data_type: data_type.to_owned(), expected: expected.into(), found: found.excerpt() }
    }
}

//! Why metadata are no data type, and JSON no value of one.

use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::Json;

/// The most bytes of an element: a name of ten characters must not earn more memory.
pub(super) const MAX_ELEMENT_SIZE: usize = 1 << 20;

/// Why metadata are no data type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataTypeError {
    /// Neither a string nor an object with a name.
    #[error("expected a name, or an object of name and configuration, found {found}")]
    Form {
        /// What it is instead.
        found: String,
    },
    /// A member of the object that is not `name`, `configuration` or `must_understand`.
    #[error("unknown member {member} beside the name and configuration of {name:?}")]
    UnknownMember {
        /// The data type's name.
        name: String,
        /// The member's, shortened.
        member: String,
    },
    /// The configuration is no object.
    #[error("expected an object as the configuration of {name:?}, found {found}")]
    ConfigurationForm {
        /// The data type's name.
        name: String,
        /// What it is instead.
        found: String,
    },
    /// A configuration for a type that has none.
    #[error("the data type {name:?} has no configuration, found the member {member}")]
    Configuration {
        /// The data type's name.
        name: String,
        /// The first member of the configuration, shortened.
        member: String,
    },
    /// A member of the configuration that the type does not have.
    #[error("the configuration of {name:?} has no member {member}, only {}", known.join(" and "))]
    ConfigurationMember {
        /// The data type's name.
        name: String,
        /// The member's, shortened.
        member: String,
        /// Those that it has.
        known: &'static [&'static str],
    },
    /// The configuration, or a member of it, is missing.
    #[error("the data type {name:?} needs a configuration with `{member}`")]
    Missing {
        /// The data type's name.
        name: String,
        /// The member's.
        member: &'static str,
    },
    /// A member of the configuration is not what it should be.
    #[error("`{member}` of {name:?}: expected {expected}, found {found}")]
    Member {
        /// The data type's name.
        name: String,
        /// The member's, or a pointer to what is inside it.
        member: String,
        /// What would be right.
        expected: String,
        /// What is there, shortened.
        found: String,
    },
    /// The type of a field is none.
    #[error("field {name:?}: {source}")]
    Field {
        /// The field's name.
        name: String,
        /// Its place.
        index: usize,
        /// What is wrong with it.
        source: Box<DataTypeError>,
    },
    /// `r12`, `r0`.
    #[error("{name:?}: the bits of a raw type are a positive multiple of 8")]
    RawBits {
        /// The data type's name.
        name: String,
    },
}

impl DataTypeError {
    /// The error as a finding, `ZD103`.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(code::DATA_TYPE_INVALID, self.to_string())
    }

    /// Where it is, from the data type on.
    pub fn pointer(&self) -> String {
        match self {
            DataTypeError::ConfigurationForm { .. }
            | DataTypeError::Configuration { .. }
            | DataTypeError::ConfigurationMember { .. } => "/configuration".to_owned(),
            DataTypeError::Member { member, .. } => format!("/configuration/{member}"),
            DataTypeError::Field { index, source, .. } => {
                format!("/configuration/fields/{index}/data_type{}", source.pointer())
            }
            _ => String::new(),
        }
    }
}

/// Why JSON is no value of a data type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} for {data_type}, found {found}")]
pub struct FillValueError {
    /// The name of the data type.
    pub data_type: String,
    /// What would be right.
    pub expected: String,
    /// What is there, shortened.
    pub found: String,
}

impl FillValueError {
    pub(super) fn new(data_type: &str, expected: impl Into<String>, found: &Json) -> Self {
        FillValueError { data_type: data_type.to_owned(), expected: expected.into(), found: found.excerpt() }
    }

    /// The error as a finding, `ZD201`.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(code::FILL_VALUE_INVALID, self.to_string())
    }
}

//! The data types of Zarr v3: names, sizes, and fill values between JSON and bytes.
//!
//! It reads liberally and says so: what was accepted though the specification forbids it comes with a [`Leniency`].
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/core/#data-types> and the pages of the
//! zarr-extensions registry.

pub(crate) mod base64;
mod fill_value;
mod float;
mod registry;
mod scalar;

use crate::diagnostic::{Code, Diagnostic};
use crate::element::NumberType;
use crate::metadata::json::Json;

pub use fill_value::{FillValue, FillValueError};
pub use scalar::{scalar_argument, value_from_json, value_to_json};

/// A Zarr v3 data type.
#[derive(Debug, Clone, PartialEq)]
pub enum DataType {
    /// `bool`, a byte of 0 or 1.
    Bool,
    /// The integers and floats, `uint10` and its family among them.
    Number(NumberType),
    /// `complex64`, `complex128`: two components of this float type, real first.
    Complex(NumberType),
    /// `r8`, `r16`, ...: this many bytes.
    Raw(usize),
    /// Any other: its metadata, kept as written. Such arrays are copied, not decoded to elements.
    Other(Json),
}

/// Something that was read, and what was let pass in reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read<T> {
    /// What was read.
    pub value: T,
    /// What the specification forbids or no registry knows.
    pub notes: Vec<Leniency>,
}

/// Something that this program reads though not every reader does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leniency {
    /// What `validate` calls it, and how bad it is there.
    pub code: Code,
    /// What was found and what should be written.
    pub message: String,
}

impl Leniency {
    /// The finding of `validate`; other commands give it `Severity::Warning`.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(self.code, self.message.clone())
    }
}

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
}

impl DataType {
    /// Reads metadata: a name, or an object of name and configuration.
    ///
    /// Notes: a name that no registry has; a type that zarr-python cannot open.
    pub fn read(_metadata: &Json) -> Result<Read<DataType>, DataTypeError> {
        unimplemented!()
    }

    /// The same, where the notes do not matter.
    pub fn from_metadata(metadata: &Json) -> Result<DataType, DataTypeError> {
        Ok(Self::read(metadata)?.value)
    }

    /// A type that this program decodes, by its name; `None` for every other name.
    pub fn from_name(_name: &str) -> Option<DataType> {
        unimplemented!()
    }

    /// The name: `float32`, `uint10`, `r16`.
    pub fn name(&self) -> String {
        unimplemented!()
    }

    /// What is written into metadata: the name, or what was read.
    pub fn to_metadata(&self) -> Json {
        unimplemented!()
    }

    /// Whether the core specification or the registry has it.
    pub fn is_registered(&self) -> bool {
        unimplemented!()
    }

    /// Bytes of one element in memory; `None` for types that are not decoded.
    pub fn size(&self) -> Option<usize> {
        unimplemented!()
    }

    /// The number type of integers and real floats.
    pub const fn number(&self) -> Option<NumberType> {
        if let DataType::Number(number_type) = self { Some(*number_type) } else { None }
    }

    /// Zero, false, or zero bytes; `None` for types that are not decoded.
    pub fn default_fill_value(&self) -> Option<FillValue> {
        unimplemented!()
    }

    /// Reads a fill value, each number rounded once.
    pub fn fill_value_from_json(&self, _fill_value: &Json) -> Result<Read<FillValue>, FillValueError> {
        unimplemented!()
    }

    /// The fill value as it is written: the shortest decimal that gives the same bits, "NaN" only for the
    /// canonical pattern, hexadecimal for any other NaN.
    pub fn fill_value_to_json(&self, _fill_value: &FillValue) -> Result<Json, FillValueError> {
        unimplemented!()
    }
}

impl std::fmt::Display for DataType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

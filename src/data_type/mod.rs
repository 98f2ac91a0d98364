//! The data types of Zarr v3: names, sizes, and fill values between JSON and bytes.
//!
//! It reads liberally and says so: what was accepted though the specification forbids it comes with a [`Leniency`].
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/core/#data-types> and the pages of the
//! zarr-extensions registry.

pub(crate) mod base64;
mod fill_value;
mod float;
mod read;
mod registry;
mod scalar;

use crate::diagnostic::{Code, Diagnostic};
use crate::element::NumberType;
use crate::metadata::json::Json;

pub use fill_value::{FillValue, FillValueError};
pub use read::DataTypeError;
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

impl DataType {
    /// The name: `float32`, `uint10`, `r16`.
    pub fn name(&self) -> String {
        match self {
            DataType::Bool => "bool".to_owned(),
            DataType::Number(number_type) => number_type.name(),
            DataType::Complex(component) => format!("complex{}", component.bits() * 2),
            DataType::Raw(size) => format!("r{}", size * 8),
            DataType::Other(metadata) => name_of(metadata).unwrap_or_default().to_owned(),
        }
    }

    /// What is written into metadata: the name, or what was read.
    pub fn to_metadata(&self) -> Json {
        match self {
            DataType::Other(metadata) => metadata.clone(),
            decoded => Json::String(decoded.name()),
        }
    }

    /// Whether the core specification or the registry has it.
    pub fn is_registered(&self) -> bool {
        match self {
            DataType::Bool | DataType::Complex(_) | DataType::Raw(_) => true,
            DataType::Number(number_type) => number_type.bits().is_power_of_two(),
            DataType::Other(_) => registry::is_registered(&self.name()),
        }
    }

    /// Bytes of one element in memory; `None` for types that are not decoded.
    pub fn size(&self) -> Option<usize> {
        match self {
            DataType::Bool => Some(1),
            DataType::Number(number_type) => Some(number_type.size()),
            DataType::Complex(component) => Some(component.size() * 2),
            DataType::Raw(size) => Some(*size),
            DataType::Other(_) => None,
        }
    }

    /// The number type of integers and real floats.
    pub const fn number(&self) -> Option<NumberType> {
        if let DataType::Number(number_type) = self { Some(*number_type) } else { None }
    }
}

impl std::fmt::Display for DataType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

/// The name in either form of metadata.
fn name_of(metadata: &Json) -> Option<&str> {
    metadata.as_str().or_else(|| metadata.get("name").and_then(Json::as_str))
}

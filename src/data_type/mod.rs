//! The data types of Zarr v3: names, sizes, and fill values between JSON and bytes.
//!
//! Reading is lenient: a form that the specification forbids is accepted with a [`Diagnostic`]. Specification:
//! <https://zarr-specs.readthedocs.io/en/latest/v3/core/#data-types> and the pages of the zarr-extensions registry.

pub(crate) mod base64;
mod fill_value;
mod layout;
mod read;
mod scalar;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::diagnostic::Diagnostic;
use crate::element::{ElementType, NumberType};
use crate::metadata::json::{Json, Object};

pub use layout::{ByteSwap, Run};
pub use read::{DataTypeError, Field, FillValueError, StructType, meant_types, registered_types};
pub use scalar::{value_from_json, value_to_json};

/// A Zarr v3 data type: of the core, of the registry, or of those that zarr-python adds. This is the only list of them.
#[derive(Debug, Clone, PartialEq)]
pub enum DataType {
    /// `bool`, a byte of 0 or 1.
    Bool,
    /// The integers and floats. They include `int2`, `int4`, `uint10` and similar ones, `bfloat16`, and floats of up to
    /// 8 bits.
    Number(NumberType),
    /// `complex64`, `complex128`, `complex_float16`, `complex_bfloat16`: two components of this float type, the real
    /// one first.
    Complex(NumberType),
    /// `numpy.datetime64`, `numpy.timedelta64`: a 64-bit signed integer, whose least value is `NaT`.
    Time(TimeType),
    /// `r8`, `r16`, ...: the number of bytes.
    Raw(usize),
    /// zarr-python's `raw_bytes` and `null_terminated_bytes`.
    FixedBytes(FixedBytes),
    /// `fixed_length_utf32`: the number of code points, of 4 bytes each.
    FixedUtf32(usize),
    /// `struct`, and the legacy `structured`: fields one after the other.
    Struct(StructType),
    /// `zarrs.optional`: a byte that is 1 if there is a value, then the value or zeros.
    Optional(Box<DataType>),
    /// `string`: UTF-8 of any length.
    String,
    /// `bytes`, and zarr-python's `variable_length_bytes`: bytes of any length.
    Bytes {
        /// One of the two names.
        name: &'static str,
    },
    /// Any other type, with its metadata as written. Such arrays are copied, not decoded to elements.
    Other(Json),
}

/// The stored type of `numpy.datetime64` and `numpy.timedelta64`.
const INT64: NumberType = NumberType::of(ElementType::Int64);

/// `numpy.datetime64` or `numpy.timedelta64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeType {
    /// One of the two names.
    pub name: &'static str,
    /// `s`, `ms`, `generic`, ...
    pub unit: &'static str,
    /// Units per step, from 1 to 2^31-1.
    pub scale_factor: u32,
}

/// Bytes of a fixed length, under a name that no registry has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedBytes {
    /// `raw_bytes` or `null_terminated_bytes`.
    pub name: &'static str,
    /// Returns the bytes of an element.
    pub size: usize,
}

/// The bytes of a fill value, in the byte order of this machine. They are compared bit for bit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FillValue(pub Vec<u8>);

/// A value that was read, with diagnostics of what was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read<T> {
    /// The value.
    pub value: T,
    /// The forms that the specification forbids or that no registry has.
    pub notes: Vec<Diagnostic>,
}

impl DataType {
    /// Returns the name: `float32`, `uint10`, `r16`, `numpy.datetime64`.
    pub fn name(&self) -> String {
        match self {
            DataType::Bool => "bool".to_owned(),
            DataType::Number(number_type) => number_type.name(),
            // The core has no name for these.
            DataType::Complex(component) if component.bits() <= 16 => format!("complex_{}", component.name()),
            DataType::Complex(component) => format!("complex{}", component.bits() * 2),
            DataType::Time(time) => time.name.to_owned(),
            DataType::Raw(size) => format!("r{}", size * 8),
            DataType::FixedBytes(bytes) => bytes.name.to_owned(),
            DataType::FixedUtf32(_) => read::FIXED_LENGTH_UTF32.to_owned(),
            DataType::Struct(structure) => structure.name().to_owned(),
            DataType::Optional(_) => read::OPTIONAL.to_owned(),
            DataType::String => "string".to_owned(),
            DataType::Bytes { name } => (*name).to_owned(),
            DataType::Other(metadata) => name_of(metadata).unwrap_or_default().to_owned(),
        }
    }

    /// Returns the metadata: the name, with a configuration if the type has one. A type of another program is returned
    /// as read.
    pub fn to_metadata(&self) -> Json {
        let length = |bytes: usize| Object::new().with("length_bytes", bytes as u64);
        let configuration = match self {
            DataType::Other(metadata) => return metadata.clone(),
            DataType::Time(time) => {
                Object::new().with("unit", time.unit).with("scale_factor", u64::from(time.scale_factor))
            }
            DataType::FixedBytes(bytes) => length(bytes.size),
            DataType::FixedUtf32(code_points) => length(code_points * 4),
            DataType::Struct(structure) => structure.to_configuration(),
            DataType::Optional(inner) => {
                let inner = inner.to_metadata();
                let of_inner = inner.get("configuration").cloned().unwrap_or_else(|| Object::new().into());
                Object::new().with("name", name_of(&inner).unwrap_or_default()).with("configuration", of_inner)
            }
            plain => return Json::from(plain.name()),
        };
        Object::new().with("name", self.name()).with("configuration", configuration).into()
    }

    /// Returns true if the core specification or the registry has its name.
    pub fn is_registered(&self) -> bool {
        match self {
            // The registry has integers of 2, 4, 8, 16, 32 and 64 bits, and the core's floats of 16, 32 and 64.
            DataType::Number(number_type) if number_type.small_float().is_none() => {
                number_type.bits().is_power_of_two()
            }
            DataType::FixedBytes(_) | DataType::Optional(_) => false,
            _ => read::is_registered(&self.name()),
        }
    }

    /// Returns the bytes of one element in memory. `None` for variable-length elements, and for types that are not
    /// decoded.
    pub fn size(&self) -> Option<usize> {
        match self {
            DataType::Struct(structure) => Some(structure.size),
            DataType::Optional(inner) => Some(inner.size()? + 1),
            plain => plain.run().map(|run| run.width * run.count),
        }
    }

    /// Returns the number type of integers and of the floats of the core.
    pub const fn number(&self) -> Option<NumberType> {
        match self.real_number() {
            Some(number_type) if number_type.small_float().is_none() => Some(number_type),
            _ => None,
        }
    }

    /// Returns the number type of integers and of all real floats, including small floats.
    pub const fn real_number(&self) -> Option<NumberType> {
        if let DataType::Number(number_type) = self { Some(*number_type) } else { None }
    }

    /// Returns the number type of the components of a real or complex number, and the number of components.
    pub const fn components(&self) -> Option<(NumberType, usize)> {
        match self {
            DataType::Number(number_type) => Some((*number_type, 1)),
            DataType::Complex(component) => Some((*component, 2)),
            _ => None,
        }
    }

    /// Returns the components as they are stored: those of [`DataType::components`], and the integer of a time.
    pub const fn stored_components(&self) -> Option<(NumberType, usize)> {
        if let DataType::Time(_) = self { Some((INT64, 1)) } else { self.components() }
    }

    /// Returns true if a component has fewer than 8 bits.
    pub const fn is_sub_byte(&self) -> bool {
        matches!(self.components(), Some((component, _)) if component.bits() < 8)
    }

    /// Returns true if a component is a small float.
    pub const fn is_small_float(&self) -> bool {
        matches!(self.components(), Some((component, _)) if component.small_float().is_some())
    }

    /// Returns the bytes of an element that is only raw bytes: `r32`, or zarr-python's `raw_bytes`.
    pub fn raw_size(&self) -> Option<usize> {
        match self {
            DataType::Raw(size) => Some(*size),
            DataType::FixedBytes(fixed) if fixed.name == "raw_bytes" => Some(fixed.size),
            _ => None,
        }
    }

    /// Returns true if elements are sequences of bytes of any length, as `vlen-utf8` and `vlen-bytes` encode them.
    pub const fn is_variable_length(&self) -> bool {
        matches!(self, DataType::String | DataType::Bytes { .. })
    }
}

/// Serializes the metadata.
impl Serialize for DataType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_metadata().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DataType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DataType::from_metadata(&Json::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl std::fmt::Display for DataType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

/// Returns the name from either form of metadata.
fn name_of(metadata: &Json) -> Option<&str> {
    metadata.as_str().or_else(|| metadata.get("name").and_then(Json::as_str))
}

#[cfg(test)]
mod tests;

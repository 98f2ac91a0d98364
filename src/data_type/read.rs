//! Data types from their metadata and names.

use super::{DataType, Leniency, Read, name_of};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::metadata::json::{Json, Object};

/// The most bytes of an element of a raw type: a name of ten characters must not earn more memory.
const MAX_RAW_SIZE: usize = 1 << 20;

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
    /// `r12`, `r0`.
    #[error("{name:?}: the bits of a raw type are a multiple of 8, from 8 to {}", MAX_RAW_SIZE * 8)]
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
}

impl DataType {
    /// Reads metadata: a name, or an object of name and configuration.
    ///
    /// Notes: a name that no registry has; a registered one that is not decoded (information).
    pub fn read(metadata: &Json) -> Result<Read<DataType>, DataTypeError> {
        let value = Self::from_metadata(metadata)?;
        let mut notes = Vec::new();
        if !value.is_registered() {
            let message = format!("the data type {:?} is in no registry", value.name());
            notes.push(Leniency { code: code::DATA_TYPE_UNREGISTERED, message });
        } else if value.size().is_none() {
            let message = format!("the data type {:?} is not decoded by this program", value.name());
            notes.push(Leniency { code: code::DATA_TYPE_UNSUPPORTED, message });
        }
        Ok(Read { value, notes })
    }

    /// The same, where the notes do not matter.
    pub fn from_metadata(metadata: &Json) -> Result<DataType, DataTypeError> {
        let name = name_of(metadata).ok_or_else(|| DataTypeError::Form { found: metadata.excerpt() })?;
        let configuration = match metadata.as_object() {
            Some(object) => configuration_of(name, object)?,
            None => None,
        };
        let Some(data_type) = Self::from_name(name) else {
            if is_raw_name(name) {
                return Err(DataTypeError::RawBits { name: name.to_owned() });
            }
            return Ok(DataType::Other(metadata.clone()));
        };
        match configuration.and_then(|configuration| configuration.names().next()) {
            None => Ok(data_type),
            Some(member) => Err(DataTypeError::Configuration {
                name: name.to_owned(),
                member: Json::from(member).excerpt(),
            }),
        }
    }

    /// A type that this program decodes, by its name; `None` for every other name.
    pub fn from_name(name: &str) -> Option<DataType> {
        let number = |element| Some(DataType::Number(NumberType::of(element)));
        match name {
            "bool" => Some(DataType::Bool),
            "float16" => number(ElementType::Float16),
            "float32" => number(ElementType::Float32),
            "float64" => number(ElementType::Float64),
            "complex64" => Some(DataType::Complex(NumberType::of(ElementType::Float32))),
            "complex128" => Some(DataType::Complex(NumberType::of(ElementType::Float64))),
            _ => integer_from_name(name).map(DataType::Number).or_else(|| raw_from_name(name)),
        }
    }
}

fn configuration_of<'a>(name: &str, object: &'a Object) -> Result<Option<&'a Object>, DataTypeError> {
    if let Some(member) =
        object.names().find(|name| !["name", "configuration", "must_understand"].contains(name))
    {
        return Err(DataTypeError::UnknownMember {
            name: name.to_owned(),
            member: Json::from(member).excerpt(),
        });
    }
    match object.get("configuration") {
        None => Ok(None),
        Some(Json::Object(configuration)) => Ok(Some(configuration)),
        Some(other) => {
            Err(DataTypeError::ConfigurationForm { name: name.to_owned(), found: other.excerpt() })
        }
    }
}

/// The integers of 8 to 64 bits, `int2`, `int4`, and the unregistered ones of fewer than 32 bits.
fn integer_from_name(name: &str) -> Option<NumberType> {
    let (signed, bits) = match name.strip_prefix("uint") {
        Some(bits) => (false, bits),
        None => (true, name.strip_prefix("int")?),
    };
    let bits = number_in_name(bits)?;
    matches!(bits, 2..=32 | 64).then(|| NumberType::integer(signed, bits))?
}

fn raw_from_name(name: &str) -> Option<DataType> {
    let bits = usize::try_from(number_in_name(name.strip_prefix('r')?)?).ok()?;
    (bits % 8 == 0 && (1..=MAX_RAW_SIZE).contains(&(bits / 8))).then_some(DataType::Raw(bits / 8))
}

/// Whether a name is `r` and digits.
fn is_raw_name(name: &str) -> bool {
    name.strip_prefix('r')
        .is_some_and(|bits| !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Digits without a leading zero.
fn number_in_name(digits: &str) -> Option<u32> {
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(DataType, Vec<&'static str>), DataTypeError> {
        let read = DataType::read(&Json::parse_str(text).unwrap())?;
        Ok((read.value, read.notes.iter().map(|note| note.code.code).collect()))
    }

    #[test]
    fn data_types_are_known_by_name_and_size() {
        let sizes = [
            ("bool", 1),
            ("int8", 1),
            ("uint64", 8),
            ("float16", 2),
            ("float64", 8),
            ("complex64", 8),
            ("complex128", 16),
            ("r8", 1),
            ("r24", 3),
            ("int2", 1),
            ("uint4", 1),
        ];
        for (name, size) in sizes {
            let (data_type, notes) = read(&format!("\"{name}\"")).unwrap();
            assert_eq!((data_type.size(), notes), (Some(size), vec![]), "{name}");
            assert_eq!(data_type.to_metadata(), Json::from(name));
        }
    }

    #[test]
    fn integers_of_other_widths_are_unregistered() {
        for (name, size, bits) in [("uint10", 2, 10), ("int3", 1, 3), ("uint31", 4, 31), ("int24", 4, 24)] {
            let (data_type, notes) = read(&format!("\"{name}\"")).unwrap();
            assert_eq!((data_type.size(), notes), (Some(size), vec!["ZD101"]), "{name}");
            assert_eq!(data_type.number().unwrap().bits(), bits);
            assert_eq!(data_type.name(), name);
        }
        for name in [
            "uint1", "uint0", "int33", "uint40", "uint010", "int", "int-8", "uint128", "int8 ", "float8",
            "Float32",
        ] {
            let (data_type, notes) = read(&format!("\"{name}\"")).unwrap();
            assert!(matches!(data_type, DataType::Other(_)), "{name}");
            assert_eq!(notes, ["ZD101"], "{name}");
        }
    }

    #[test]
    fn object_form_of_a_plain_name_is_written_as_the_name() {
        for text in [r#"{"name":"uint8"}"#, r#"{"name":"uint8","configuration":{}}"#] {
            assert_eq!(read(text).unwrap().0.to_metadata(), Json::from("uint8"));
        }
        for text in [
            "1",
            "null",
            "[]",
            "{}",
            r#"{"name":1}"#,
            r#"{"name":"uint8","extra":1}"#,
            r#"{"name":"uint8","configuration":1}"#,
            r#"{"name":"uint8","configuration":{"a":1}}"#,
            r#""r12""#,
            r#""r0""#,
            r#""r99999999999999999999""#,
            r#""r08""#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn other_types_are_kept_as_written() {
        let text = r#"{"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1.0}}"#;
        let (data_type, notes) = read(text).unwrap();
        assert_eq!(data_type.to_metadata().to_string(), text);
        assert_eq!(
            (data_type.name().as_str(), data_type.size(), notes),
            ("numpy.datetime64", None, vec!["ZD102"])
        );
        assert_eq!(data_type.default_fill_value(), None);
        assert_eq!(read("\"string\"").unwrap().1, ["ZD102"]);
        assert_eq!(read("\"mine\"").unwrap().1, ["ZD101"]);
    }
}

//! Data types from their metadata and names.

use super::configuration::{DataTypeError, MAX_ELEMENT_SIZE};
use super::registry::{self, is_raw_name};
use super::{DataType, Read, configuration, name_of};
use crate::diagnostic::{Diagnostic, code, spelling};
use crate::element::{ElementType, NumberType};
use crate::metadata::json::{Json, Object};

impl DataType {
    /// Reads metadata: a name, or an object of name and configuration.
    ///
    /// Notes: a name that no registry has, a registered type that is not decoded (information), and legacy forms.
    pub fn read(metadata: &Json) -> Result<Read<DataType>, DataTypeError> {
        let mut notes = Vec::new();
        let value = Self::read_with(metadata, &mut notes)?;
        if !value.is_registered() {
            notes.push(unregistered(&value));
        } else if value.size().is_none() && !value.is_variable_length() {
            let message =
                format!("the data type {} is not decoded by this program", Json::from(value.name()).excerpt());
            notes.push(Diagnostic::new(code::DATA_TYPE_UNSUPPORTED, message));
        }
        Ok(Read { value, notes })
    }

    /// Reads metadata without notes.
    pub fn from_metadata(metadata: &Json) -> Result<DataType, DataTypeError> {
        Self::read_with(metadata, &mut Vec::new())
    }

    fn read_with(metadata: &Json, notes: &mut Vec<Diagnostic>) -> Result<DataType, DataTypeError> {
        let name = name_of(metadata).ok_or_else(|| {
            let found = metadata.excerpt();
            let message = format!("expected a name, or an object of name and configuration, found {found}");
            DataTypeError::new("", message)
        })?;
        let configuration = metadata.as_object().map_or(Ok(None), |object| configuration_of(name, object))?;
        if let Some(data_type) = Self::from_name(name) {
            return match configuration.and_then(|configuration| configuration.names().next()) {
                None => Ok(data_type),
                Some(member) => {
                    let member = Json::from(member).excerpt();
                    let message = format!("the data type {name:?} has no configuration, found the member {member}");
                    Err(DataTypeError::new("/configuration", message))
                }
            };
        }
        // A valid size that is too large for this program is no fault. It becomes `Other` below.
        if is_raw_name(name) && !is_raw_size(&name[1..]) {
            let name = Json::from(name).excerpt();
            let message = format!("{name}: the bits of a raw type are a positive multiple of 8");
            return Err(DataTypeError::new("", message));
        }
        let configured = configuration::read(name, configuration, notes)?;
        Ok(configured.unwrap_or_else(|| DataType::Other(metadata.clone())))
    }

    /// Returns a type without configuration by its name. `None` for any other name.
    pub fn from_name(name: &str) -> Option<DataType> {
        Some(match name {
            "bool" => DataType::Bool,
            "complex64" => DataType::Complex(NumberType::of(ElementType::Float32)),
            "complex128" => DataType::Complex(NumberType::of(ElementType::Float64)),
            "string" => DataType::String,
            "bytes" => DataType::Bytes { name: "bytes" },
            "variable_length_bytes" => DataType::Bytes { name: "variable_length_bytes" },
            _ => {
                let number = NumberType::from_name(name).filter(|number| is_read(*number)).map(DataType::Number);
                let component = name.strip_prefix("complex_").and_then(NumberType::from_name);
                let complex = component.filter(|component| component.is_float()).map(DataType::Complex);
                return number.or_else(|| raw_from_name(name)).or(complex);
            }
        })
    }
}

/// Returns the note about an unregistered name. It is an error if the name is not valid, or similar to a known one.
fn unregistered(data_type: &DataType) -> Diagnostic {
    let name = data_type.name();
    let shown = Json::from(name.as_str()).excerpt();
    let meant = if matches!(data_type, DataType::Other(_)) { registry::meant(&name) } else { None };
    let offer = meant.map_or_else(String::new, |meant| format!("; {meant:?} is similar"));
    let (code, message) = if !spelling::is_extension_name(&name) {
        let message =
            format!("{shown} cannot be the name of a data type: expected `^[a-z][a-z0-9-_.]+$` or a URI{offer}");
        (code::DATA_TYPE_MISNAMED, message)
    } else if meant.is_some() {
        (code::DATA_TYPE_MISNAMED, format!("the data type {shown} is in no registry{offer}"))
    } else {
        (code::DATA_TYPE_UNREGISTERED, format!("the data type {shown} is in no registry"))
    };
    Diagnostic::new(code, message)
}

/// Returns true for floats, integers of 8 to 64 bits, `int2`, `int4`, and unregistered integers of fewer than 32 bits.
const fn is_read(number: NumberType) -> bool {
    number.is_float() || matches!(number.bits(), 2..=32 | 64)
}

fn configuration_of<'a>(name: &str, object: &'a Object) -> Result<Option<&'a Object>, DataTypeError> {
    if let Some(member) = object.names().find(|name| !["name", "configuration", "must_understand"].contains(name)) {
        let member = Json::from(member).excerpt();
        let message = format!("unknown member {member} beside the name and configuration of {name:?}");
        return Err(DataTypeError::new("", message));
    }
    match object.get("configuration") {
        None => Ok(None),
        Some(Json::Object(configuration)) => Ok(Some(configuration)),
        Some(other) => {
            let found = other.excerpt();
            let message = format!("expected an object as the configuration of {name:?}, found {found}");
            Err(DataTypeError::new("/configuration", message))
        }
    }
}

fn raw_from_name(name: &str) -> Option<DataType> {
    // `parse` accepts a plus sign and leading zeros, which no name has.
    let digits = name.strip_prefix('r').filter(|digits| !digits.starts_with(['0', '+']))?;
    let bits: usize = digits.parse::<u32>().ok()?.try_into().ok()?;
    (bits.is_multiple_of(8) && (1..=MAX_ELEMENT_SIZE).contains(&(bits / 8))).then_some(DataType::Raw(bits / 8))
}

/// Returns true if digits are a positive multiple of 8 of any size.
fn is_raw_size(digits: &str) -> bool {
    // 1000 is a multiple of 8, so the last three digits decide. The others may be too many for an integer.
    let last: Option<u32> = digits[digits.len().saturating_sub(3)..].parse().ok();
    !digits.starts_with('0') && last.is_some_and(|last| last % 8 == 0)
}

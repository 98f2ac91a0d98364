//! The data types with a configuration, including structures. Each is checked against its page and schema in the
//! registry: an unknown member is an error. Also the errors of invalid metadata and fill values.

use std::fmt::Display;

use super::{DataType, FixedBytes, TimeType};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::{Json, Number, Object};

/// A type that has a configuration; `None` where the name is not known, or elements are too large.
type Configured = Result<Option<DataType>, DataTypeError>;

pub(super) const FIXED_LENGTH_UTF32: &str = "fixed_length_utf32";
pub(super) const OPTIONAL: &str = "zarrs.optional";

/// The units of time. "μs" is another spelling of "us".
const UNITS: [&str; 15] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic"];

/// Reads a data type that needs a configuration. `None` for any other name, and for elements larger than this program
/// reads.
pub(super) fn read(name: &str, configuration: Option<&Object>, notes: &mut Vec<Diagnostic>) -> Configured {
    let members = |known| TypeConfiguration::new(name, configuration, known);
    match name {
        "numpy.datetime64" => time("numpy.datetime64", &members(&["unit", "scale_factor"])?),
        "numpy.timedelta64" => time("numpy.timedelta64", &members(&["unit", "scale_factor"])?),
        FIXED_LENGTH_UTF32 => {
            let bytes = members(&["length_bytes"])?.length(4)?;
            Ok(bytes.map(|bytes| DataType::FixedUtf32(bytes / 4)))
        }
        "raw_bytes" => fixed_bytes("raw_bytes", &members(&["length_bytes"])?),
        "null_terminated_bytes" => fixed_bytes("null_terminated_bytes", &members(&["length_bytes"])?),
        "struct" | "structured" => read_structure(&members(&["fields"])?, notes),
        OPTIONAL => optional(&members(&["name", "configuration"])?),
        _ => Ok(None),
    }
}

/// Reads `zarrs.optional`. `None` if the type of the values is not decoded, or has no fixed size.
fn optional(members: &TypeConfiguration<'_>) -> Configured {
    let mut inner = Object::new().with("name", members.require("name")?.clone());
    let of_inner = members.require("configuration")?;
    if of_inner.as_object().is_none_or(|of_inner| !of_inner.is_empty()) {
        inner.insert("configuration", of_inner.clone());
    }
    let inner = DataType::from_metadata(&inner.into())?;
    Ok(inner.size().map(|_| DataType::Optional(Box::new(inner))))
}

fn time(name: &'static str, members: &TypeConfiguration<'_>) -> Configured {
    let unit = members.require("unit")?;
    let found = UNITS.into_iter().find(|known| unit.as_str() == Some(known));
    let unit = found.ok_or_else(|| members.fault("unit", format!("one of {}", UNITS.join(", ")), unit))?;
    let json = members.require("scale_factor")?;
    let value = json.as_number().and_then(Number::as_integral_i128).and_then(|value| u32::try_from(value).ok());
    let value = value.filter(|value| (1..=i32::MAX.cast_unsigned()).contains(value));
    let fault = || members.fault("scale_factor", "an integer from 1 to 2147483647", json);
    let scale_factor = value.ok_or_else(fault)?;
    Ok(Some(DataType::Time(TimeType { name, unit, scale_factor })))
}

fn fixed_bytes(name: &'static str, members: &TypeConfiguration<'_>) -> Configured {
    let size = members.length(1)?;
    Ok(size.map(|size| DataType::FixedBytes(FixedBytes { name, size })))
}

pub(super) struct TypeConfiguration<'a> {
    pub(super) name: &'a str,
    object: &'a Object,
}

impl<'a> TypeConfiguration<'a> {
    /// Fails if there is no configuration, or if a member is not `known`.
    pub(super) fn new(
        name: &'a str,
        configuration: Option<&'a Object>,
        known: &'static [&'static str],
    ) -> Result<Self, DataTypeError> {
        let object = configuration.ok_or_else(|| missing(name, known[0]))?;
        match object.names().find(|member| !known.contains(member)) {
            None => Ok(TypeConfiguration { name, object }),
            Some(member) => {
                let (member, known) = (Json::from(member).excerpt(), known.join(" and "));
                let message = format!("the configuration of {name:?} has no member {member}, only {known}");
                Err(DataTypeError::new("/configuration", message))
            }
        }
    }

    /// Returns a required member. Fails if it is absent.
    pub(super) fn require(&self, member: &'static str) -> Result<&'a Json, DataTypeError> {
        self.object.get(member).ok_or_else(|| missing(self.name, member))
    }

    /// Returns the error of a member, or of a value inside it.
    pub(super) fn fault(&self, member: impl Display, expected: impl Display, found: &Json) -> DataTypeError {
        let message = format!("`{member}` of {:?}: expected {expected}, found {}", self.name, found.excerpt());
        DataTypeError::new(&format!("/configuration/{member}"), message)
    }

    /// Returns `length_bytes`, a positive multiple of `unit`. `None` if it is more than this program reads.
    pub(super) fn length(&self, unit: u64) -> Result<Option<usize>, DataTypeError> {
        let json = self.require("length_bytes")?;
        let length = json.as_u64().filter(|&length| length > 0 && length % unit == 0).ok_or_else(|| {
            let of = if unit == 1 { String::new() } else { format!(" that is a multiple of {unit}") };
            self.fault("length_bytes", format!("a positive integer{of}"), json)
        })?;
        Ok(usize::try_from(length).ok().filter(|&length| length <= MAX_ELEMENT_SIZE))
    }
}

/// Returns the error of a missing configuration or member.
fn missing(name: &str, member: &str) -> DataTypeError {
    DataTypeError::new("", format!("the data type {name:?} needs a configuration with `{member}`"))
}

/// The most bytes of an element. Otherwise a name of ten characters could claim any amount of memory.
pub(super) const MAX_ELEMENT_SIZE: usize = 1 << 20;

/// The error of metadata that are not a data type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DataTypeError {
    /// The message.
    pub message: String,
    /// A JSON pointer relative to the data type.
    pub pointer: String,
}

impl DataTypeError {
    pub(super) fn new(pointer: &str, message: String) -> Self {
        DataTypeError { message, pointer: pointer.to_owned() }
    }
}

/// The error of JSON that is not a value of a data type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} for {data_type}, found {found}")]
pub struct FillValueError {
    /// The name of the data type.
    pub data_type: String,
    /// A description of valid values.
    pub expected: String,
    /// The JSON that was found, shortened.
    pub found: String,
}

impl FillValueError {
    pub(super) fn new(data_type: &str, expected: impl Into<String>, found: &Json) -> Self {
        FillValueError { data_type: data_type.to_owned(), expected: expected.into(), found: found.excerpt() }
    }
}

/// A struct of one or more fields with distinct names. Each field has a fixed size, and they follow one another without
/// padding.
///
/// Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/data-types/struct>
#[derive(Debug, Clone, PartialEq)]
pub struct StructType {
    /// The fields, in the order of their bytes.
    pub fields: Vec<Field>,
    /// The bytes of an element.
    pub size: usize,
    /// True for the legacy name `structured`, whose fill values and `endian` have other valid forms, too.
    pub is_legacy: bool,
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
}

impl StructType {
    /// Makes a `struct` of fields with fixed sizes and distinct names.
    pub(crate) fn new(fields: Vec<Field>) -> Self {
        let size = fields.iter().filter_map(|field| field.data_type.size()).sum();
        StructType { fields, size, is_legacy: false }
    }

    pub(super) const fn name(&self) -> &'static str {
        if self.is_legacy { "structured" } else { "struct" }
    }

    /// Returns the configuration. Fields of the legacy name are pairs: none of its readers accepts another form.
    pub(super) fn to_configuration(&self) -> Object {
        let field = |field: &Field| {
            let data_type = field.data_type.to_metadata();
            if self.is_legacy {
                Json::Array(vec![Json::from(field.name.as_str()), data_type])
            } else {
                Object::new().with("name", field.name.as_str()).with("data_type", data_type).into()
            }
        };
        Object::new().with("fields", Json::Array(self.fields.iter().map(field).collect()))
    }
}

/// Reads the fields. `None` if one has a type that is not decoded, or if the element is larger than this program reads.
fn read_structure(members: &TypeConfiguration<'_>, notes: &mut Vec<Diagnostic>) -> Configured {
    let is_legacy = members.name == "structured";
    if is_legacy {
        let message = "`structured` is the old name of `struct`: new arrays should use `struct`";
        notes.push(Diagnostic::new(code::DATA_TYPE_LEGACY, message));
    }
    let json = members.require("fields")?;
    let entries = json.as_array().filter(|entries| !entries.is_empty());
    let entries = entries.ok_or_else(|| members.fault("fields", "an array of at least one field", json))?;
    let mut names = std::collections::HashSet::with_capacity(entries.len());
    let mut fields = Vec::with_capacity(entries.len());
    let mut size = Some(0_usize);
    for (index, entry) in entries.iter().enumerate() {
        let (name, data_type) = read_entry(members, (index, entry), notes)?;
        if !names.insert(name) {
            return Err(members.fault(format!("fields/{index}/name"), "a name of its own", &Json::from(name)));
        }
        let read = DataType::read(data_type).map_err(|error| DataTypeError {
            message: format!("field {name:?}: {}", error.message),
            pointer: format!("/configuration/fields/{index}/data_type{}", error.pointer),
        })?;
        if read.value.is_variable_length() {
            let pointer = format!("fields/{index}/data_type");
            return Err(members.fault(pointer, "a data type of fixed size", data_type));
        }
        let in_notes = |note: Diagnostic| Diagnostic { message: format!("field {name:?}: {}", note.message), ..note };
        notes.extend(read.notes.into_iter().take(MAX_NOTES.saturating_sub(notes.len())).map(in_notes));
        let total = size.zip(read.value.size()).and_then(|(total, size)| total.checked_add(size));
        size = total.filter(|&total| total <= MAX_ELEMENT_SIZE);
        fields.push(Field { name: name.to_owned(), data_type: read.value });
    }
    Ok(size.map(|size| DataType::Struct(StructType { fields, size, is_legacy })))
}

/// The most notes about the fields of one struct, against hostile documents.
const MAX_NOTES: usize = 100;

/// Returns the name and the type of a field. A pair is valid only for the legacy name, but is read for both.
fn read_entry<'a>(
    members: &TypeConfiguration<'_>,
    (index, entry): (usize, &'a Json),
    notes: &mut Vec<Diagnostic>,
) -> Result<(&'a str, &'a Json), DataTypeError> {
    let pointer = format!("fields/{index}");
    let expected = "an object of name and data_type";
    let (name, data_type) = match entry {
        Json::Array(pair) => {
            if members.name == "struct" && notes.len() < MAX_NOTES {
                let message = format!("field {index} of `struct` is a pair: write {expected}");
                notes.push(Diagnostic::new(code::STRUCT_FIELD_PAIR, message));
            }
            let [name, data_type] = pair.as_slice() else {
                return Err(members.fault(pointer, expected, entry));
            };
            (name, data_type)
        }
        Json::Object(object) => {
            if let Some(unknown) = object.names().find(|name| !["name", "data_type"].contains(name)) {
                return Err(members.fault(pointer, format!("{expected} alone"), &Json::from(unknown)));
            }
            let member = |name| object.get(name).ok_or_else(|| members.fault(pointer.as_str(), expected, entry));
            (member("name")?, member("data_type")?)
        }
        _ => return Err(members.fault(pointer, expected, entry)),
    };
    match name.as_str().filter(|name| !name.is_empty()) {
        Some(name) => Ok((name, data_type)),
        None => Err(members.fault(format!("{pointer}/name"), "a name that is not empty", name)),
    }
}

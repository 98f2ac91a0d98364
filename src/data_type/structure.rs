//! `struct`: named fields, one after the other without padding; and `structured`, as it was written before.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/data-types/struct>

use super::DataType;
use super::error::{DataTypeError, MAX_ELEMENT_SIZE};
use super::members::Members;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::{Json, Object};

/// A struct of at least one field, no two of one name, each of a fixed size.
#[derive(Debug, Clone, PartialEq)]
pub struct StructType {
    fields: Vec<Field>,
    size: usize,
    is_legacy: bool,
}

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
}

impl StructType {
    /// A `struct` of fields of fixed sizes, no two of one name.
    pub(crate) fn new(fields: Vec<Field>) -> Self {
        let size = fields.iter().filter_map(|field| field.data_type.size()).sum();
        StructType { fields, size, is_legacy: false }
    }

    /// The fields, in the order of their bytes.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Bytes of an element.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// True if it goes by the old name `structured`, whose fill values and `endian` may be given in other ways.
    pub const fn is_legacy(&self) -> bool {
        self.is_legacy
    }

    pub(super) const fn name(&self) -> &'static str {
        if self.is_legacy { "structured" } else { "struct" }
    }

    /// The configuration; under the old name fields are pairs: no reader of it knows another form.
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

/// Reads the fields; `None` where one of them is of a type that is not decoded, or the element larger than is read.
pub(super) fn read(members: &Members<'_>, notes: &mut Vec<Diagnostic>) -> Result<Option<DataType>, DataTypeError> {
    let is_legacy = members.name == "structured";
    if is_legacy {
        let message = "`structured` is the old name of `struct`, by which nothing new should be written";
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
            let found = Json::from(name);
            return Err(members.fault(format!("fields/{index}/name"), "a name of its own", &found));
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

/// The most notes about the fields of one struct: a hostile document earns no more.
const MAX_NOTES: usize = 100;

/// The name and the type of a field. A pair belongs to the old name alone, and is read all the same.
fn read_entry<'a>(
    members: &Members<'_>,
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

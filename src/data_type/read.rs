//! Data types from their metadata and names.

use std::fmt::Display;

use super::{DataType, FixedBytes, Read, TimeType, name_of};
use crate::diagnostic::spelling::{self, near};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::metadata::json::{Json, Number, Object};

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
        let configured = read_configured(name, configuration, notes)?;
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
    let meant = if matches!(data_type, DataType::Other(_)) { meant(&name) } else { None };
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

// The names in the core specification and the zarr-extensions registry (its `data-types` folder as of 2026-07-14).

/// Sorted. `r` means `r8`, `r16`, and so on.
const REGISTERED: &str = "
    bfloat16 bool bytes
    complex128 complex64 complex_bfloat16 complex_float16 complex_float32 complex_float4_e2m1fn complex_float64
    complex_float6_e2m3fn complex_float6_e3m2fn complex_float8_e3m4 complex_float8_e4m3 complex_float8_e4m3b11fnuz
    complex_float8_e4m3fnuz complex_float8_e5m2 complex_float8_e5m2fnuz complex_float8_e8m0fnu
    fixed_length_utf32
    float16 float32 float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz
    float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
    int16 int2 int32 int4 int64 int8
    numpy.datetime64 numpy.timedelta64 r string struct structured
    uint16 uint2 uint32 uint4 uint64 uint8";

/// The names that are read although no registry has them.
const UNREGISTERED: &str =
    "float8_e4m3fn complex_float8_e4m3fn raw_bytes null_terminated_bytes variable_length_bytes zarrs.optional";

/// Returns the names in the core specification and the registry, in order. Some need a configuration.
pub fn registered_types() -> impl Iterator<Item = &'static str> {
    REGISTERED.split_whitespace()
}

/// The type string of v2 without its byte order, and the names in `NumPy`, C and Rust. A name may mean several types.
const OTHER_NAMES: [(&str, &str, &str); 18] = [
    ("bool", "b1", "bool_ boolean"),
    ("uint8", "u1", "u8 byte ubyte"),
    ("int8", "i1", "i8 byte char"),
    ("int16", "i2", "i16 short"),
    ("int32", "i4", "i32 int integer"),
    ("int64", "i8", "i64 int integer long"),
    ("uint16", "u2", "u16 ushort"),
    ("uint32", "u4", "u32 uint unsigned"),
    ("uint64", "u8", "u64 uint unsigned ulong"),
    ("bfloat16", "", "bf16"),
    ("float16", "f2", "f16 half"),
    ("float32", "f4", "f32 float single"),
    ("float64", "f8", "f64 float double"),
    ("complex64", "c8", "complex"),
    ("complex128", "c16", "complex"),
    ("numpy.datetime64", "", "datetime64"),
    ("numpy.timedelta64", "", "timedelta64"),
    ("string", "", "str"),
];

/// Returns a name in lower case, without the byte order at the beginning in `NumPy`.
fn plain(name: &str) -> String {
    name.trim_start_matches(['<', '>', '|', '=']).to_lowercase()
}

/// Returns the data type that a misspelled name most likely means. Names of v2 are included: `<f8` is `float64`.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let of_v2 = OTHER_NAMES.iter().map(|(_, of_v2, _)| *of_v2).filter(|of_v2| !of_v2.is_empty());
    let known = registered_types().chain(UNREGISTERED.split_whitespace()).chain(of_v2);
    let meant = spelling::meant(&plain(name), known)?;
    Some(OTHER_NAMES.iter().find(|(_, of_v2, _)| *of_v2 == meant).map_or(meant, |(name, ..)| *name))
}

/// Returns at most three types that an unknown name may mean: by the names in other programs, else by the spelling.
pub fn meant_types(name: &str) -> Vec<&'static str> {
    let plain = plain(name);
    let is_other_name =
        |(_, of_v2, others): &&(&str, &str, &str)| *of_v2 == plain || others.split(' ').any(|other| other == plain);
    let meant: Vec<_> = OTHER_NAMES.iter().filter(is_other_name).map(|(name, ..)| *name).collect();
    // The entry `r` alone is not a name.
    if meant.is_empty() { near(&plain, registered_types().filter(|name| name.len() > 1)) } else { meant }
}

/// Returns true if the core or the registry has a name.
pub(super) fn is_registered(name: &str) -> bool {
    // The entry `r` alone is not a name.
    registered_types().any(|registered| registered == name && name != "r") || is_raw_name(name)
}

/// Returns true if a name is `r` and digits.
pub(super) fn is_raw_name(name: &str) -> bool {
    name.strip_prefix('r').is_some_and(|bits| !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()))
}

// The data types with a configuration, including structures. Each is checked against its page and schema in the
// registry: an unknown member is an error. Also the errors of invalid metadata and fill values.

/// A type that has a configuration; `None` where the name is not known, or elements are too large.
type Configured = Result<Option<DataType>, DataTypeError>;

pub(super) const FIXED_LENGTH_UTF32: &str = "fixed_length_utf32";
pub(super) const OPTIONAL: &str = "zarrs.optional";

/// The units of time. "μs" is another spelling of "us".
const UNITS: [&str; 15] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic"];

/// Reads a data type that needs a configuration. `None` for any other name, and for elements larger than this program
/// reads.
fn read_configured(name: &str, configuration: Option<&Object>, notes: &mut Vec<Diagnostic>) -> Configured {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::DataType;
    use crate::metadata::json::Json;

    /// Examples of the registry's names that need a configuration or represent a family.
    const CONFIGURED: [(&str, &str); 6] = [
        ("fixed_length_utf32", r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}"#),
        ("numpy.datetime64", r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}"#),
        ("numpy.timedelta64", r#"{"name":"numpy.timedelta64","configuration":{"unit":"ms","scale_factor":10}}"#),
        ("r", r#""r24""#),
        (
            "struct",
            r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},{"name":"b","data_type":"bool"}]}}"#,
        ),
        ("structured", r#"{"name":"structured","configuration":{"fields":[["a","int16"],["b","bool"]]}}"#),
    ];

    /// Types that are read although no registry has them.
    const OTHERS: [&str; 8] = [
        r#""int12""#,
        r#""uint10""#,
        r#""float8_e4m3fn""#,
        r#""complex_float8_e4m3fn""#,
        r#"{"name":"raw_bytes","configuration":{"length_bytes":3}}"#,
        r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":3}}"#,
        r#""variable_length_bytes""#,
        r#"{"name":"zarrs.optional","configuration":{"name":"int16","configuration":{}}}"#,
    ];

    /// Returns a type for every name of the core and the registry, in order, and the unregistered ones.
    fn examples() -> impl Iterator<Item = DataType> {
        let configured = |name: &str| CONFIGURED.iter().find(|entry| entry.0 == name).map(|entry| entry.1.to_owned());
        let registered = registered_types().map(move |name| configured(name).unwrap_or_else(|| format!("\"{name}\"")));
        let all = registered.chain(OTHERS.map(str::to_owned));
        all.filter_map(|text| DataType::from_metadata(&Json::parse_str(&text).ok()?).ok())
    }

    #[test]
    fn page_of_data_types_has_each() {
        let page = include_str!("../../docs/data-types.md");
        for data_type in examples() {
            let name = match data_type.to_metadata() {
                Json::String(name) => name.to_string(),
                metadata => metadata.to_string(),
            };
            assert!(page.contains(&format!("\n| `{name}` | ")), "{name}");
        }
    }

    #[test]
    fn every_name_has_an_example() {
        let examples: Vec<DataType> = examples().collect();
        assert_eq!(examples.len(), registered_types().count() + OTHERS.len());
        assert!(examples.iter().all(|data_type| !matches!(data_type, DataType::Other(_))));
    }

    #[test]
    fn registered_names_are_sorted_and_known() {
        assert!(registered_types().is_sorted());
        assert!(is_registered("r16") && !is_registered("variable_length_bytes") && !is_registered("rx"));
        let configured = ["fixed_length_utf32", "numpy.datetime64", "numpy.timedelta64", "r", "struct", "structured"];
        for name in registered_types() {
            let known = DataType::from_name(name);
            assert_eq!(known.is_some(), !configured.contains(&name), "{name}");
            assert!(known.is_none_or(|known| known.is_registered()), "{name}");
        }
    }

    #[test]
    fn names_of_other_programs_are_known() {
        for (name, of_v2, others) in OTHER_NAMES {
            assert!(is_registered(name), "{name}");
            let others = others.split(' ').chain([of_v2]);
            others.for_each(|other| assert!(DataType::from_name(other).is_none(), "{other}"));
        }
    }
}

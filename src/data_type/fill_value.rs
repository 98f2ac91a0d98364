//! Fill values: their bytes, and their JSON for each data type.

use std::collections::HashMap;

use super::opaque::ReadFill;
use super::scalar::{value_from_json, value_to_json};
use super::{DataType, FillValue, FillValueError, Read, StructType, base64, opaque};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType, element_bits, is_of_type};
use crate::metadata::json::{Json, Number, Object};

impl FillValue {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bits of an integer or a real float, zero-extended to 64. `None` for another type or length.
    pub fn to_bits(&self, data_type: &DataType) -> Option<u64> {
        let number_type = data_type.real_number()?;
        (self.0.len() == number_type.size()).then(|| element_bits(&self.0))
    }

    /// Makes the fill value of a number type from its bits.
    pub fn from_bits(number_type: NumberType, bits: u64) -> Self {
        FillValue(bytes_of(bits, number_type.size()))
    }
}

/// Returns the low bytes of bits, in the byte order of this machine.
fn bytes_of(bits: u64, size: usize) -> Vec<u8> {
    let mut bytes = bits.to_le_bytes()[..size].to_vec();
    if cfg!(target_endian = "big") {
        bytes.reverse();
    }
    bytes
}

/// The stored type of `numpy.datetime64` and `numpy.timedelta64`.
const INT64: NumberType = NumberType::of(ElementType::Int64);

impl DataType {
    /// Returns zero, false, zero bytes, or an empty element. `None` for types that are not decoded.
    pub fn default_fill_value(&self) -> Option<FillValue> {
        let size = if self.is_variable_length() { Some(0) } else { self.size() };
        size.map(|size| FillValue(vec![0; size]))
    }

    /// Reads a fill value, each number rounded once.
    ///
    /// It has the notes of [`value_from_json`], and more: an integer as a string, raw bytes or a struct in base64.
    pub fn fill_value_from_json(&self, fill_value: &Json) -> Result<Read<FillValue>, FillValueError> {
        match self {
            DataType::Bool => {
                let fault = || FillValueError::new("bool", "true or false", fill_value);
                let value = fill_value.as_bool().ok_or_else(fault)?;
                Ok(Read { value: FillValue(vec![value.into()]), notes: Vec::new() })
            }
            DataType::Number(number_type) => number_fill_value(*number_type, fill_value),
            DataType::Complex(component) => complex_fill_value(self, *component, fill_value),
            DataType::Time(time) => time_fill_value(time.name, fill_value),
            DataType::Raw(size) => opaque::raw_from_json(&self.name(), *size, fill_value),
            DataType::FixedBytes(fixed) => opaque::fixed_from_json(*fixed, fill_value),
            DataType::FixedUtf32(code_points) => opaque::utf32_from_json(&self.name(), *code_points, fill_value),
            DataType::Struct(structure) => struct_fill_value(structure, fill_value),
            DataType::Optional(inner) => optional_fill_value(self, inner, fill_value),
            DataType::String => opaque::string_from_json(fill_value),
            DataType::Bytes { name } => opaque::bytes_from_json(name, fill_value),
            DataType::Other(_) => {
                let expected = "no fill value to be decoded: this program does not decode the type";
                Err(FillValueError::new(&self.name(), expected, fill_value))
            }
        }
    }

    /// Returns the JSON of a fill value. A float is the shortest decimal of the same bits. "NaN" is only the canonical
    /// pattern, any other NaN is hexadecimal.
    ///
    /// It fails if the bytes are not a value of the type: another length, outside the range of `uint10`, a bool of 2.
    pub fn fill_value_to_json(&self, fill_value: &FillValue) -> Result<Json, FillValueError> {
        let bytes = fill_value.as_bytes();
        self.value_to_json(bytes).ok_or_else(|| FillValueError {
            data_type: self.name(),
            expected: self.size().map_or_else(|| "nothing".to_owned(), |size| format!("{size} bytes of a value")),
            found: format!("the bytes {:02x?}", &bytes[..bytes.len().min(16)]),
        })
    }

    /// Returns the JSON of a value. `None` if the bytes are not a value of the type.
    fn value_to_json(&self, bytes: &[u8]) -> Option<Json> {
        if !self.is_variable_length() && self.size() != Some(bytes.len()) {
            return None;
        }
        match self {
            DataType::Bool => match bytes {
                [0] => Some(Json::Bool(false)),
                [1] => Some(Json::Bool(true)),
                _ => None,
            },
            DataType::Number(number_type) => number_to_json(*number_type, bytes),
            DataType::Complex(component) => {
                let parts = bytes.chunks_exact(component.size()).map(|part| number_to_json(*component, part));
                parts.collect::<Option<Vec<Json>>>().map(Json::Array)
            }
            DataType::Time(_) => Some(match element_bits(bytes) {
                NOT_A_TIME => Json::from("NaT"),
                bits => value_to_json(INT64, bits),
            }),
            DataType::Raw(_) => Some(Json::Array(bytes.iter().map(|&byte| Json::from(u64::from(byte))).collect())),
            DataType::FixedBytes(fixed) => Some(opaque::fixed_to_json(*fixed, bytes)),
            DataType::FixedUtf32(_) => opaque::utf32_to_json(bytes),
            DataType::Struct(structure) => struct_to_json(structure, bytes),
            DataType::Optional(inner) => match bytes.split_first()? {
                (0, _) => Some(Json::Null),
                (_, value) => Some(Json::Array(vec![inner.value_to_json(value)?])),
            },
            DataType::String => std::str::from_utf8(bytes).ok().map(Json::from),
            DataType::Bytes { .. } => Some(Json::from(base64::encode(bytes))),
            DataType::Other(_) => None,
        }
    }
}

/// Reads `null`, or an array with the value as its only element.
fn optional_fill_value(data_type: &DataType, inner: &DataType, json: &Json) -> ReadFill {
    match json {
        Json::Null => Ok(Read { value: FillValue(vec![0; data_type.size().unwrap_or(0)]), notes: Vec::new() }),
        Json::Array(values) if values.len() == 1 => {
            let mut read = inner.fill_value_from_json(&values[0])?;
            read.value.0.insert(0, 1);
            Ok(read)
        }
        _ => Err(FillValueError::new(&data_type.name(), "null, or an array of one value", json)),
    }
}

/// The bits of `NaT`, the least value of 64 bits.
const NOT_A_TIME: u64 = 1 << 63;

fn time_fill_value(name: &str, json: &Json) -> ReadFill {
    if json.as_str() == Some("NaT") {
        return Ok(Read { value: FillValue::from_bits(INT64, NOT_A_TIME), notes: Vec::new() });
    }
    let read = if json.as_number().is_some() { number_fill_value(INT64, json).ok() } else { None };
    read.ok_or_else(|| FillValueError::new(name, "an integer of 64 bits or \"NaT\"", json))
}

/// Returns the JSON of a number. `None` if the bytes are not a value of the type.
fn number_to_json(number_type: NumberType, bytes: &[u8]) -> Option<Json> {
    let bits = element_bits(bytes);
    is_of_type(bits, number_type).then(|| value_to_json(number_type, bits))
}

fn complex_fill_value(data_type: &DataType, component: NumberType, json: &Json) -> ReadFill {
    let expected = "an array of two floats, real and imaginary part";
    let fault = || FillValueError::new(&data_type.name(), expected, json);
    let Some([real, imaginary]) = json.as_array() else { return Err(fault()) };
    let part = |json| {
        number_fill_value(component, json)
            .map_err(|error| FillValueError { data_type: format!("a component of {}", data_type.name()), ..error })
    };
    let (mut real, imaginary) = (part(real)?, part(imaginary)?);
    real.value.0.extend(imaginary.value.0);
    real.notes.extend(imaginary.notes);
    Ok(real)
}

/// Reads an object with a value for each field, or the former notation: all bytes in base64, little-endian.
fn struct_fill_value(structure: &StructType, json: &Json) -> ReadFill {
    let name = structure.name();
    if let Json::String(text) = json {
        return struct_from_base64(structure, name, text);
    }
    let expected = "an object with a value for each field";
    let object = json.as_object().ok_or_else(|| FillValueError::new(name, expected, json))?;
    // Each value is removed when read, so that one pass reads a struct of many fields.
    let mut values: HashMap<&str, &Json> = object.iter().collect();
    let (mut bytes, mut notes) = (Vec::with_capacity(structure.size()), Vec::new());
    for field in structure.fields() {
        let value = values.remove(field.name.as_str()).ok_or_else(|| FillValueError {
            data_type: name.to_owned(),
            expected: format!("a value for the field {:?}", field.name),
            found: "none".to_owned(),
        })?;
        let in_field = |error: FillValueError| FillValueError {
            data_type: format!("the field {:?} of {name}, {}", field.name, error.data_type),
            ..error
        };
        let read = field.data_type.fill_value_from_json(value).map_err(in_field)?;
        bytes.extend(read.value.0);
        notes.extend(read.notes);
    }
    match object.names().find(|name| values.contains_key(name)) {
        None => Ok(Read { value: FillValue(bytes), notes }),
        Some(unknown) => Err(FillValueError::new(name, "values for the fields alone", &Json::from(unknown))),
    }
}

fn struct_from_base64(structure: &StructType, name: &str, text: &str) -> ReadFill {
    let size = structure.size();
    let bytes = base64::decode(text).filter(|bytes| bytes.len() == size);
    let fault = || {
        let expected = format!("an object with a value for each field, or the base64 of {size} bytes");
        FillValueError::new(name, expected, &Json::from(text))
    };
    let mut bytes = bytes.ok_or_else(fault)?;
    if cfg!(target_endian = "big") {
        DataType::Struct(structure.clone()).swap_elements(&mut bytes);
    }
    let mut notes = Vec::new();
    if !structure.is_legacy() {
        let message = "the value of a `struct` is written in base64: write an object with a value for each field";
        notes.push(Diagnostic::new(code::STRUCT_AS_BASE64, message));
    }
    Ok(Read { value: FillValue(bytes), notes })
}

fn struct_to_json(structure: &StructType, bytes: &[u8]) -> Option<Json> {
    let mut rest = bytes;
    let mut object = Object::new();
    for field in structure.fields() {
        let (own, after) = rest.split_at_checked(field.data_type.size()?)?;
        object.push(field.name.as_str(), field.data_type.value_to_json(own)?);
        rest = after;
    }
    Some(object.into())
}

fn number_fill_value(number_type: NumberType, json: &Json) -> ReadFill {
    if !number_type.is_float()
        && let Json::String(text) = json
        && let Some(number) = Number::parse(text).filter(Number::is_integer_literal)
    {
        let mut read = number_fill_value(number_type, &Json::Number(number))
            .map_err(|error| FillValueError { found: json.excerpt(), ..error })?;
        let message = format!("an integer is written as a string: write {text} without quotes");
        read.notes.push(Diagnostic::new(code::INTEGER_AS_STRING, message));
        return Ok(read);
    }
    let read = value_from_json(number_type, json)?;
    Ok(Read { value: FillValue::from_bits(number_type, read.value), notes: read.notes })
}

//! Fill values: their bytes, and their JSON for each data type.

use std::collections::HashMap;

use super::read::MAX_ELEMENT_SIZE;
use super::scalar::{value_from_json, value_to_json};
use super::{DataType, FillValue, FillValueError, FixedBytes, INT64, Read, StructType, base64};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{NumberType, element_bits, is_of_type};
use crate::metadata::json::{Json, Number, Object};

/// The bytes of a value that was read, or why not.
type ReadBytes = Result<Vec<u8>, FillValueError>;

impl FixedBytes {
    /// Returns true for `null_terminated_bytes`, whose padding is not written.
    fn is_padded(self) -> bool {
        self.name == "null_terminated_bytes"
    }
}

impl FillValue {
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
        let mut notes = Vec::new();
        let bytes = self.bytes_from_json(fill_value, &mut notes)?;
        Ok(Read { value: FillValue(bytes), notes })
    }

    /// Reads the bytes of a value. Accepted forms that the specification forbids are added to `notes`.
    fn bytes_from_json(&self, json: &Json, notes: &mut Vec<Diagnostic>) -> ReadBytes {
        let (bytes, expected) = match self {
            DataType::Bool => (json.as_bool().map(|value| vec![value.into()]), "true or false".to_owned()),
            DataType::Number(number_type) => return number_bytes(*number_type, json, notes),
            DataType::Complex(component) => return complex_bytes(self, *component, json, notes),
            DataType::Time(_) => {
                let not_a_time = (json.as_str() == Some("NaT")).then(|| bytes_of(NOT_A_TIME, INT64.size()));
                // Only a number is valid here, but `number_bytes` also accepts an integer as a string.
                let number = json.as_number().and_then(|_| number_bytes(INT64, json, notes).ok());
                (not_a_time.or(number), "an integer of 64 bits or \"NaT\"".to_owned())
            }
            DataType::Raw(size) => return raw_bytes(&self.name(), *size, json, notes),
            // zarr-python writes base64, without the padding of `null_terminated_bytes`.
            DataType::FixedBytes(fixed) => {
                let (least, of) = if fixed.is_padded() { (0, "at most ") } else { (fixed.size, "") };
                let bytes = decoded_base64(json, fixed.size);
                let bytes = bytes.filter(|bytes| bytes.len() >= least);
                (bytes.map(|bytes| padded(bytes, fixed.size)), format!("the base64 of {of}{} bytes", fixed.size))
            }
            DataType::FixedUtf32(code_points) => {
                let text = json.as_str().filter(|text| text.chars().nth(*code_points).is_none());
                let bytes = text.map(|text| text.chars().flat_map(|letter| u32::from(letter).to_ne_bytes()).collect());
                let expected = format!("a string of at most {code_points} code points");
                (bytes.map(|bytes| padded(bytes, code_points * 4)), expected)
            }
            DataType::Struct(structure) => return struct_bytes(structure, json, notes),
            DataType::Optional(inner) => {
                let bytes = match json {
                    Json::Null => Some(vec![0; self.size().unwrap_or(0)]),
                    Json::Array(values) if values.len() == 1 => {
                        let mut bytes = inner.bytes_from_json(&values[0], notes)?;
                        bytes.insert(0, 1);
                        Some(bytes)
                    }
                    _ => None,
                };
                (bytes, "null, or an array of one value".to_owned())
            }
            DataType::String => {
                let text = json.as_str().filter(|text| text.len() <= MAX_ELEMENT_SIZE);
                (text.map(|text| text.as_bytes().to_vec()), format!("a string of at most {MAX_ELEMENT_SIZE} bytes"))
            }
            // The page of `bytes` allows both forms.
            DataType::Bytes { name } => {
                if let Some(elements) = json.as_array().filter(|elements| elements.len() <= MAX_ELEMENT_SIZE) {
                    return listed_bytes(name, elements);
                }
                let expected = "base64, or an array of integers from 0 to 255, of at most";
                (decoded_base64(json, MAX_ELEMENT_SIZE), format!("{expected} {MAX_ELEMENT_SIZE} bytes"))
            }
            DataType::Other(_) => {
                (None, "no fill value to be decoded: this program does not decode the type".to_owned())
            }
        };
        bytes.ok_or_else(|| FillValueError::new(&self.name(), expected, json))
    }

    /// Returns the JSON of a fill value. A float is the shortest decimal of the same bits. "NaN" is only the canonical
    /// pattern, any other NaN is hexadecimal.
    ///
    /// It fails if the bytes are not a value of the type: another length, outside the range of `uint10`, a bool of 2.
    pub fn fill_value_to_json(&self, fill_value: &FillValue) -> Result<Json, FillValueError> {
        let bytes = fill_value.0.as_slice();
        self.value_to_json(bytes).ok_or_else(|| FillValueError {
            data_type: self.name(),
            expected: self.size().map_or_else(|| "nothing".to_owned(), |size| format!("{size} bytes of a value")),
            found: format!("the bytes {:02x?}", &bytes[..bytes.len().min(16)]),
        })
    }

    /// Returns an element of padded text or bytes as one of variable length. `None` for another type, and for text with
    /// an invalid code point.
    pub fn without_padding(&self, element: &[u8]) -> Option<Vec<u8>> {
        match self {
            DataType::FixedBytes(fixed) if fixed.is_padded() => {
                let end = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                Some(element[..end].to_vec())
            }
            DataType::FixedUtf32(_) => {
                let units = element.as_chunks::<4>().0.iter().map(|unit| u32::from_ne_bytes(*unit));
                let text: Option<String> = units.map(char::from_u32).collect();
                Some(text?.trim_end_matches('\0').into())
            }
            _ => None,
        }
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
            DataType::FixedBytes(fixed) if !fixed.is_padded() => Some(Json::from(base64::encode(bytes))),
            DataType::FixedBytes(_) => self.without_padding(bytes).map(|bytes| Json::from(base64::encode(&bytes))),
            DataType::FixedUtf32(_) => Some(Json::from(String::from_utf8(self.without_padding(bytes)?).ok()?)),
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

/// The bits of `NaT`, the least value of 64 bits.
const NOT_A_TIME: u64 = 1 << 63;

/// Reads the bytes of `r<N>`: N/8 integers, or base64 with a note.
fn raw_bytes(name: &str, size: usize, json: &Json, notes: &mut Vec<Diagnostic>) -> ReadBytes {
    let fault = || FillValueError::new(name, format!("an array of {size} integers from 0 to 255"), json);
    match json {
        Json::Array(elements) if elements.len() == size => listed_bytes(name, elements),
        Json::Array(elements) => Err(FillValueError { found: format!("an array of {}", elements.len()), ..fault() }),
        _ => {
            let bytes = decoded_base64(json, size).filter(|bytes| bytes.len() == size).ok_or_else(fault)?;
            let message = format!("the value is written in base64: write an array of {size} integers");
            notes.push(Diagnostic::new(code::RAW_AS_BASE64, message));
            Ok(bytes)
        }
    }
}

/// Reads the bytes of a list of integers.
fn listed_bytes(name: &str, elements: &[Json]) -> ReadBytes {
    let byte = |element: &Json| {
        let byte = element.as_u64().and_then(|value| u8::try_from(value).ok());
        byte.ok_or_else(|| FillValueError::new(name, "an integer from 0 to 255", element))
    };
    elements.iter().map(byte).collect()
}

/// Decodes a string in base64. `None` if it has more than `most` bytes.
fn decoded_base64(json: &Json, most: usize) -> Option<Vec<u8>> {
    // A text that is certainly too long is not decoded.
    let text = json.as_str().filter(|text| text.len() / 4 * 3 <= most + 2)?;
    base64::decode(text).filter(|bytes| bytes.len() <= most)
}

/// Returns bytes with zeros after them, up to a size.
fn padded(mut bytes: Vec<u8>, size: usize) -> Vec<u8> {
    bytes.resize(size, 0);
    bytes
}

/// Returns the JSON of a number. `None` if the bytes are not a value of the type.
fn number_to_json(number_type: NumberType, bytes: &[u8]) -> Option<Json> {
    let bits = element_bits(bytes);
    is_of_type(bits, number_type).then(|| value_to_json(number_type, bits))
}

fn complex_bytes(data_type: &DataType, component: NumberType, json: &Json, notes: &mut Vec<Diagnostic>) -> ReadBytes {
    let Some(parts @ [_, _]) = json.as_array() else {
        let expected = "an array of two floats, real and imaginary part";
        return Err(FillValueError::new(&data_type.name(), expected, json));
    };
    let of_component = |error| FillValueError { data_type: format!("a component of {}", data_type.name()), ..error };
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend(number_bytes(component, part, notes).map_err(of_component)?);
    }
    Ok(bytes)
}

/// Reads an object with a value for each field, or the former notation: all bytes in base64, little-endian.
fn struct_bytes(structure: &StructType, json: &Json, notes: &mut Vec<Diagnostic>) -> ReadBytes {
    let name = structure.name();
    if let Json::String(text) = json {
        return struct_from_base64(structure, text, notes);
    }
    let expected = "an object with a value for each field";
    let object = json.as_object().ok_or_else(|| FillValueError::new(name, expected, json))?;
    // Each value is removed when read, so that one pass reads a struct of many fields.
    let mut values: HashMap<&str, &Json> = object.iter().collect();
    let mut bytes = Vec::with_capacity(structure.size);
    for field in &structure.fields {
        let value = values.remove(field.name.as_str()).ok_or_else(|| FillValueError {
            data_type: name.to_owned(),
            expected: format!("a value for the field {:?}", field.name),
            found: "none".to_owned(),
        })?;
        let in_field = |error: FillValueError| FillValueError {
            data_type: format!("the field {:?} of {name}, {}", field.name, error.data_type),
            ..error
        };
        bytes.extend(field.data_type.bytes_from_json(value, notes).map_err(in_field)?);
    }
    match object.names().find(|name| values.contains_key(name)) {
        None => Ok(bytes),
        Some(unknown) => Err(FillValueError::new(name, "values for the fields alone", &Json::from(unknown))),
    }
}

fn struct_from_base64(structure: &StructType, text: &str, notes: &mut Vec<Diagnostic>) -> ReadBytes {
    let size = structure.size;
    let Some(mut bytes) = base64::decode(text).filter(|bytes| bytes.len() == size) else {
        let expected = format!("an object with a value for each field, or the base64 of {size} bytes");
        return Err(FillValueError::new(structure.name(), expected, &Json::from(text)));
    };
    if cfg!(target_endian = "big") {
        DataType::Struct(structure.clone()).swap_elements(&mut bytes);
    }
    if !structure.is_legacy {
        let message = "the value of a `struct` is written in base64: write an object with a value for each field";
        notes.push(Diagnostic::new(code::STRUCT_AS_BASE64, message));
    }
    Ok(bytes)
}

fn struct_to_json(structure: &StructType, bytes: &[u8]) -> Option<Json> {
    let mut rest = bytes;
    let mut object = Object::new();
    for field in &structure.fields {
        let (own, after) = rest.split_at_checked(field.data_type.size()?)?;
        object.push(field.name.as_str(), field.data_type.value_to_json(own)?);
        rest = after;
    }
    Some(object.into())
}

fn number_bytes(number_type: NumberType, json: &Json, notes: &mut Vec<Diagnostic>) -> ReadBytes {
    if !number_type.is_float()
        && let Json::String(text) = json
        && let Some(number) = Number::parse(text).filter(Number::is_integer_literal)
    {
        let bytes = number_bytes(number_type, &Json::Number(number), notes)
            .map_err(|error| FillValueError { found: json.excerpt(), ..error })?;
        let message = format!("an integer is written as a string: write {text} without quotes");
        notes.push(Diagnostic::new(code::INTEGER_AS_STRING, message));
        return Ok(bytes);
    }
    let read = value_from_json(number_type, json)?;
    notes.extend(read.notes);
    Ok(bytes_of(read.value, number_type.size()))
}

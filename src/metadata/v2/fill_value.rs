//! The `fill_value` of a v2 array, converted to v3's form for the data type, and back.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#fill-value-encoding>.

use super::dtype::Dtype;
use super::{NotInV2, V2ByteOrder};
use crate::data_type::{DataType, FillValue, FillValueError, base64};
use crate::diagnostic::{Code, Diagnostic, code};
use crate::metadata::{Findings, Json};

const POINTER: &str = "/fill_value";

/// Returns the v3 form. An unknown form stays as written, and is an error when the data type is known.
pub(super) fn read(dtype: &Dtype, fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    if fill_value.is_null() {
        let message = "`fill_value` is null: what absent chunks hold is undefined, and read here as zero";
        let help = "give the array a fill value, so that every reader sees the same";
        diagnostics.advise(code::V2_FILL_VALUE_NULL, POINTER, message, help);
        return zero(dtype);
    }
    if fill_value.is_not_finite() {
        return read(dtype, &in_quotes(fill_value), diagnostics);
    }
    let data_type = &dtype.data_type;
    let is_text = dtype.is_object() || matches!(data_type, DataType::FixedBytes(_) | DataType::FixedUtf32(_));
    let understood = match data_type {
        // zarr-python before version 3 used 0 as the default for arrays of text.
        _ if is_text && fill_value.as_u64() == Some(0) => {
            let mut found = older_form("0 for a type of text", "\"\"");
            if dtype.is_object() {
                found.message += ": zarr-python 3 reads it as \"0\", this program as \"\"";
            }
            diagnostics.push(found);
            Some(Json::from(""))
        }
        DataType::Raw(_) | DataType::Struct(_) => elements_from_base64(dtype, fill_value),
        // The v3 form of such bytes is base64, too.
        DataType::FixedBytes(_) => data_type.fill_value_from_json(fill_value).ok().map(|_| fill_value.clone()),
        DataType::FixedUtf32(_) => fill_value.as_str().map(Json::from),
        DataType::Other(_) => Some(fill_value.clone()),
        _ if is_written_in_base64(data_type) => small_float_from_base64(data_type, fill_value),
        DataType::Bool => Some(boolean(fill_value, diagnostics)),
        _ => Some(number(dtype, fill_value, diagnostics)),
    };
    understood.unwrap_or_else(|| {
        let expected = match data_type {
            DataType::FixedUtf32(_) => "text".to_owned(),
            DataType::FixedBytes(_) => format!("at most {} bytes in base64", dtype.size),
            _ => format!("{} bytes in base64", dtype.size),
        };
        let message = format!("expected {expected} for the `dtype`, found {}", fill_value.excerpt());
        diagnostics.add(code::FILL_VALUE_INVALID, POINTER, message);
        zero(dtype)
    })
}

/// Converts the bare words `NaN` and infinities to strings, as v2 writes them.
fn in_quotes(fill_value: &Json) -> Json {
    match fill_value {
        Json::NotFinite(word) => Json::from(*word),
        Json::Array(parts) => Json::Array(parts.iter().map(in_quotes).collect()),
        other => other.clone(),
    }
}

fn older_form(found: &str, written: &str) -> Diagnostic {
    let message = format!("`fill_value` is {found}, which only some readers accept");
    Diagnostic::new(code::V2_FILL_VALUE_FORM, message).at_pointer(POINTER).with_help(format!("write {written}"))
}

/// Returns zero, false, or an empty value.
fn zero(dtype: &Dtype) -> Json {
    if dtype.is_object() {
        return Json::from("");
    }
    let zero = dtype.data_type.default_fill_value();
    zero.and_then(|zero| dtype.data_type.fill_value_to_json(&zero).ok()).unwrap_or_else(|| Json::from(0_u64))
}

fn boolean(fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    let value = match fill_value.as_u64() {
        Some(0) => false,
        Some(1) => true,
        _ => return fill_value.clone(),
    };
    diagnostics.push(older_form(&format!("{} for a boolean", fill_value.excerpt()), &value.to_string()));
    Json::Bool(value)
}

/// Forms of a number that are written in another one.
const OTHER_FORMS: [Code; 3] = [code::INTEGER_WITH_FRACTION, code::INTEGER_AS_STRING, code::PLUS_INFINITY];

/// Reads a number. Integers may have been written as `5.0` or `"5"`. v2 has no hexadecimal form.
fn number(dtype: &Dtype, fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    if let Some(part) = hexadecimal(fill_value)
        && dtype.data_type.fill_value_from_json(fill_value).is_ok()
    {
        let message = format!("v2 has no hexadecimal fill values, found {}", part.excerpt());
        let help = "v2 can say \"NaN\", \"Infinity\" and \"-Infinity\"; other NaNs need v3";
        diagnostics.advise(code::FILL_VALUE_INVALID, POINTER, message, help);
        return fill_value.clone();
    }
    if matches!(dtype.data_type, DataType::Time(_)) && fill_value.as_str() == Some("NaT") {
        return Json::from(i64::MIN);
    }
    if let Ok(read) = dtype.data_type.fill_value_from_json(fill_value)
        && read.notes.iter().any(|note| OTHER_FORMS.iter().any(|form| note.is(*form)))
        && let Ok(value) = dtype.data_type.fill_value_to_json(&read.value)
    {
        let found = format!("{} for an integer", fill_value.excerpt());
        diagnostics.extend(read.notes.into_iter().map(|note| {
            let is_older = note.is(code::INTEGER_WITH_FRACTION);
            if is_older { older_form(&found, &value.to_string()) } else { note.at_pointer(POINTER) }
        }));
        // The value goes on in its canonical form, so that reading it as v3 does not report the form again.
        return value;
    }
    fill_value.clone()
}

/// Returns the bits of a float, or of a part of a complex number, which v2 cannot express.
fn hexadecimal(json: &Json) -> Option<&Json> {
    let parts = json.as_array().unwrap_or(std::slice::from_ref(json));
    parts.iter().find(|part| part.as_str().is_some_and(|text| text.starts_with("0x")))
}

/// Reads the bytes of an element in their stored form.
fn elements_from_base64(dtype: &Dtype, fill_value: &Json) -> Option<Json> {
    let mut bytes = base64::decode(fill_value.as_str()?).filter(|bytes| bytes.len() as u64 == dtype.size)?;
    // Without an order all components are single bytes, which no order changes.
    dtype.order.as_ref().unwrap_or(&V2ByteOrder::Little).swap(&dtype.data_type, &mut bytes);
    dtype.data_type.fill_value_to_json(&FillValue(bytes)).ok()
}

/// Returns true if tensorstore writes a fill value of the type as its byte in base64.
fn is_written_in_base64(data_type: &DataType) -> bool {
    data_type.real_number().is_some() && data_type.is_small_float() && data_type.is_sub_byte()
}

/// Reads the byte of such a float. Its upper bits have no meaning.
fn small_float_from_base64(data_type: &DataType, fill_value: &Json) -> Option<Json> {
    let float = data_type.real_number()?.small_float()?;
    let bytes = base64::decode(fill_value.as_str()?)?;
    let [byte] = *bytes.as_slice() else { return None };
    let bits = byte & (u8::MAX >> (8 - float.bits().min(8)));
    data_type.fill_value_to_json(&FillValue(vec![bits])).ok()
}

/// Converts a fill value to v2's form, for an array whose components have this byte order.
///
/// Times are integers, bytes and structures are base64. Of NaN, v2 has only the canonical one.
pub fn write_fill_value(data_type: &DataType, fill_value: &FillValue, order: &V2ByteOrder) -> Result<Json, NotInV2> {
    let refused = |error: FillValueError| NotInV2::new(format!("the fill value: {error}"));
    let json = match data_type {
        DataType::Raw(_) | DataType::Struct(_) => {
            let mut bytes = fill_value.0.clone();
            order.swap(data_type, &mut bytes);
            return Ok(Json::from(base64::encode(&bytes)));
        }
        DataType::Time(_) => {
            let bytes = <[u8; 8]>::try_from(fill_value.0.as_slice()).unwrap_or_default();
            return Ok(Json::from(i64::from_ne_bytes(bytes)));
        }
        _ if is_written_in_base64(data_type) => return Ok(Json::from(base64::encode(fill_value.0.as_slice()))),
        _ => data_type.fill_value_to_json(fill_value).map_err(refused)?,
    };
    if data_type.components().is_some() && hexadecimal(&json).is_some() {
        let what = format!("the fill value {json}");
        return Err(NotInV2::new(what).with_help("`--fill-value NaN` makes it the NaN that v2 can name"));
    }
    Ok(json)
}

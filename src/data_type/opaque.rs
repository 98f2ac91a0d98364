//! Fill values of bytes and text: raw bits, byte strings, UTF-32, and variable-length elements.

use super::configuration::{FillValueError, MAX_ELEMENT_SIZE};
use super::{FillValue, FixedBytes, Read, base64};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::Json;

/// A fill value that was read, or why not.
pub(super) type ReadFill = Result<Read<FillValue>, FillValueError>;

fn plain(bytes: Vec<u8>) -> Read<FillValue> {
    Read { value: FillValue(bytes), notes: Vec::new() }
}

/// Reads a fill value of `r<N>`: N/8 integers, or base64 with a note.
pub(super) fn raw_from_json(name: &str, size: usize, json: &Json) -> ReadFill {
    let fault = || FillValueError::new(name, format!("an array of {size} integers from 0 to 255"), json);
    match json {
        Json::Array(elements) if elements.len() == size => Ok(plain(bytes_of(name, elements)?)),
        Json::Array(elements) => Err(FillValueError { found: format!("an array of {}", elements.len()), ..fault() }),
        Json::String(text) => {
            let bytes = (text.len() / 4 * 3 <= size + 3).then(|| base64::decode(text)).flatten();
            let bytes = bytes.filter(|bytes| bytes.len() == size).ok_or_else(fault)?;
            let message = format!("the value is written in base64: write an array of {size} integers");
            Ok(Read { value: FillValue(bytes), notes: vec![Diagnostic::new(code::RAW_AS_BASE64, message)] })
        }
        _ => Err(fault()),
    }
}

/// Reads `raw_bytes` and `null_terminated_bytes` as zarr-python writes them: base64, the latter without its padding.
pub(super) fn fixed_from_json(fixed: FixedBytes, json: &Json) -> ReadFill {
    let (least, of) = if is_padded(fixed) { (0, "at most ") } else { (fixed.size, "") };
    let text = json.as_str().filter(|text| text.len() / 4 * 3 <= fixed.size + 3);
    let bytes = text.and_then(base64::decode);
    let bytes = bytes.filter(|bytes| (least..=fixed.size).contains(&bytes.len()));
    let expected = || format!("the base64 of {of}{} bytes", fixed.size);
    let mut bytes = bytes.ok_or_else(|| FillValueError::new(fixed.name, expected(), json))?;
    bytes.resize(fixed.size, 0);
    Ok(plain(bytes))
}

/// Writes `raw_bytes` and `null_terminated_bytes` in that form.
pub(super) fn fixed_to_json(fixed: FixedBytes, bytes: &[u8]) -> Json {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    Json::from(base64::encode(if is_padded(fixed) { &bytes[..end] } else { bytes }))
}

fn is_padded(fixed: FixedBytes) -> bool {
    fixed.name == "null_terminated_bytes"
}

/// Reads `fixed_length_utf32`: a string of at most `code_points` code points, padded with U+0000.
pub(super) fn utf32_from_json(name: &str, code_points: usize, json: &Json) -> ReadFill {
    let text = json.as_str().filter(|text| text.chars().nth(code_points).is_none());
    let expected = || format!("a string of at most {code_points} code points");
    let text = text.ok_or_else(|| FillValueError::new(name, expected(), json))?;
    let mut bytes: Vec<u8> = text.chars().flat_map(|character| u32::from(character).to_ne_bytes()).collect();
    bytes.resize(code_points * 4, 0);
    Ok(plain(bytes))
}

/// Writes `fixed_length_utf32`. `None` if a code unit is not a code point.
pub(super) fn utf32_to_json(bytes: &[u8]) -> Option<Json> {
    let units = bytes.as_chunks::<4>().0.iter().map(|unit| u32::from_ne_bytes(*unit));
    let text: Option<String> = units.map(char::from_u32).collect();
    Some(Json::from(text?.trim_end_matches('\0')))
}

/// Reads `string`: any string.
pub(super) fn string_from_json(json: &Json) -> ReadFill {
    let text = json.as_str().filter(|text| text.len() <= MAX_ELEMENT_SIZE);
    let expected = || format!("a string of at most {MAX_ELEMENT_SIZE} bytes");
    let text = text.ok_or_else(|| FillValueError::new("string", expected(), json))?;
    Ok(plain(text.as_bytes().to_vec()))
}

/// Reads `bytes`: an array of integers, or base64. Its page allows both.
pub(super) fn bytes_from_json(name: &str, json: &Json) -> ReadFill {
    if let Json::Array(elements) = json
        && elements.len() <= MAX_ELEMENT_SIZE
    {
        return Ok(plain(bytes_of(name, elements)?));
    }
    let expected = format!("base64, or an array of integers from 0 to 255, of at most {MAX_ELEMENT_SIZE} bytes");
    let bytes = json.as_str().filter(|text| text.len() / 4 * 3 <= MAX_ELEMENT_SIZE).and_then(base64::decode);
    Ok(plain(bytes.ok_or_else(|| FillValueError::new(name, expected, json))?))
}

fn bytes_of(name: &str, elements: &[Json]) -> Result<Vec<u8>, FillValueError> {
    let byte = |element: &Json| {
        let byte = element.as_u64().and_then(|value| u8::try_from(value).ok());
        byte.ok_or_else(|| FillValueError::new(name, "an integer from 0 to 255", element))
    };
    elements.iter().map(byte).collect()
}

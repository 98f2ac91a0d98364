//! The `fill_value` of a v2 array in the form that v3 has for the data type.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#fill-value-encoding>.

use super::dtype::{ByteOrder, Dtype, Kind};
use super::tensorstore;
use crate::data_type::{DataType, FillValue, base64};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::extension::Findings;
use crate::metadata::json::{Json, Object};

const POINTER: &str = "/fill_value";

/// The v3 form; what cannot be understood is kept as written, for whoever knows the data type to refuse.
pub(super) fn convert(dtype: &Dtype, fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    if fill_value.is_null() {
        let message = "`fill_value` is null: what absent chunks hold is undefined, and read here as zero";
        let found = Diagnostic::new(code::V2_FILL_VALUE_NULL, message).at_pointer(POINTER);
        let help = "give the array a fill value, so that every reader sees the same";
        diagnostics.push(found.with_help(help));
        return zero(dtype);
    }
    if fill_value.is_not_finite() {
        return convert(dtype, &in_quotes(fill_value), diagnostics);
    }
    match &dtype.kind {
        Kind::Simple(name) => match DataType::from_metadata(name) {
            Ok(DataType::Other(_)) | Err(_) => fill_value.clone(),
            Ok(data_type) if tensorstore::has_base64_fill(&data_type) => {
                tensorstore::fill_from_base64(&data_type, fill_value)
                    .unwrap_or_else(|| invalid(dtype, fill_value, diagnostics))
            }
            Ok(DataType::Bool) => boolean(fill_value, diagnostics),
            Ok(data_type) => number(&data_type, fill_value, diagnostics),
        },
        Kind::Raw | Kind::Struct(_) => fill_value
            .as_str()
            .and_then(base64::decode)
            .filter(|bytes| bytes.len() as u64 == dtype.size)
            .and_then(|bytes| from_bytes(dtype, &bytes))
            .unwrap_or_else(|| invalid(dtype, fill_value, diagnostics)),
        // Before zarr-python 3, arrays of text were given 0 where nobody said anything.
        Kind::Bytes | Kind::Text | Kind::Object if fill_value.as_u64() == Some(0) => {
            let mut found = older_form("0 for a type of text", "\"\"");
            if matches!(dtype.kind, Kind::Object) {
                found.message += ": zarr-python 3 reads it as \"0\", this program as \"\"";
            }
            diagnostics.push(found);
            Json::from("")
        }
        Kind::Bytes => match fill_value.as_str().and_then(base64::decode) {
            Some(bytes) if bytes.len() as u64 <= dtype.size => fill_value.clone(),
            _ => invalid(dtype, fill_value, diagnostics),
        },
        Kind::Text if fill_value.as_str().is_none() => invalid(dtype, fill_value, diagnostics),
        Kind::Text | Kind::Object | Kind::Unknown(_) => fill_value.clone(),
    }
}

/// Bare words for what is not finite as the strings that v2 has for them.
fn in_quotes(fill_value: &Json) -> Json {
    match fill_value {
        Json::NotFinite(word) => Json::from(*word),
        Json::Array(parts) => Json::Array(parts.iter().map(in_quotes).collect()),
        other => other.clone(),
    }
}

fn invalid(dtype: &Dtype, fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    let expected = match dtype.kind {
        Kind::Text => "text".to_owned(),
        Kind::Bytes => format!("at most {} bytes in base64", dtype.size),
        _ => format!("{} bytes in base64", dtype.size),
    };
    let message = format!("expected {expected} for the `dtype`, found {}", fill_value.excerpt());
    diagnostics.add(code::FILL_VALUE_INVALID, POINTER, message);
    zero(dtype)
}

fn older_form(found: &str, written: &str) -> Diagnostic {
    let message = format!("`fill_value` is {found}, which only some readers take");
    let found = Diagnostic::new(code::V2_FILL_VALUE_FORM, message).at_pointer(POINTER);
    found.with_help(format!("write {written}"))
}

/// Zero, false, nothing.
fn zero(dtype: &Dtype) -> Json {
    match &dtype.kind {
        Kind::Simple(name) => match DataType::from_metadata(name) {
            Ok(data_type) => data_type
                .default_fill_value()
                .and_then(|zero| data_type.fill_value_to_json(&zero).ok())
                .unwrap_or_else(|| Json::from(0)),
            Err(_) => Json::from(0),
        },
        Kind::Struct(_) if !dtype.has_layout() => Json::Array(vec![Json::from(0); as_size(dtype.size)]),
        Kind::Struct(fields) => {
            let member = |field: &super::dtype::Field| (field.name.clone(), zero(&field.dtype));
            Json::Object(fields.iter().map(member).collect())
        }
        Kind::Raw => integers(&vec![0; as_size(dtype.size)]),
        Kind::Bytes | Kind::Text | Kind::Object => Json::from(""),
        Kind::Unknown(_) => Json::from(0),
    }
}

/// A size that was held to a mebibyte when the `dtype` was read.
fn as_size(size: u64) -> usize {
    usize::try_from(size).unwrap_or(0)
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

/// Integers may have been written as `5.0`; v2 has no hexadecimal form.
fn number(data_type: &DataType, fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    if is_hexadecimal(fill_value) {
        let message = format!("v2 has no hexadecimal fill values, found {}", fill_value.excerpt());
        let found = Diagnostic::new(code::FILL_VALUE_INVALID, message).at_pointer(POINTER);
        let help = "v2 can say \"NaN\", \"Infinity\" and \"-Infinity\"; other NaNs need v3";
        diagnostics.push(found.with_help(help));
        return zero(&Dtype { kind: Kind::Simple(data_type.to_metadata()), size: 0, order: ByteOrder::None });
    }
    if let Ok(read) = data_type.fill_value_from_json(fill_value)
        && read.notes.iter().any(|note| note.code == code::INTEGER_WITH_FRACTION)
        && let Ok(integer) = data_type.fill_value_to_json(&read.value)
    {
        let found = format!("{} for an integer", fill_value.excerpt());
        diagnostics.push(older_form(&found, &integer.to_string_compact()));
        return integer;
    }
    fill_value.clone()
}

fn is_hexadecimal(fill_value: &Json) -> bool {
    match fill_value {
        Json::String(text) => text.starts_with("0x"),
        Json::Array(parts) => parts.iter().any(is_hexadecimal),
        _ => false,
    }
}

fn integers(bytes: &[u8]) -> Json {
    Json::Array(bytes.iter().map(|&byte| Json::from(u32::from(byte))).collect())
}

/// An element from its bytes.
fn from_bytes(dtype: &Dtype, bytes: &[u8]) -> Option<Json> {
    match &dtype.kind {
        Kind::Struct(_) if !dtype.has_layout() => Some(integers(bytes)),
        Kind::Struct(fields) => {
            let mut rest = bytes;
            let mut object = Object::new();
            for field in fields {
                let (own, following) = rest.split_at_checked(as_size(field.dtype.size))?;
                object.insert(field.name.as_str(), from_bytes(&field.dtype, own)?);
                rest = following;
            }
            Some(object.into())
        }
        Kind::Simple(name) => {
            let data_type = DataType::from_metadata(name).ok()?;
            data_type.fill_value_to_json(&FillValue(native(&data_type, dtype.order, bytes))).ok()
        }
        Kind::Raw => Some(integers(bytes)),
        Kind::Bytes => Some(Json::from(base64::encode(bytes))),
        Kind::Text => text(dtype.order, bytes),
        Kind::Object | Kind::Unknown(_) => None,
    }
}

/// The bytes in the order of this machine.
fn native(data_type: &DataType, order: ByteOrder, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if (order == ByteOrder::Big) != cfg!(target_endian = "big") {
        data_type.swap_elements(&mut bytes);
    }
    bytes
}

/// Code points of four bytes; those at the end that are zero are no part of the text.
fn text(order: ByteOrder, bytes: &[u8]) -> Option<Json> {
    let code_points = bytes.as_chunks::<4>().0.iter().map(|bytes| match order {
        ByteOrder::Big => u32::from_be_bytes(*bytes),
        _ => u32::from_le_bytes(*bytes),
    });
    let text: Option<String> = code_points.map(char::from_u32).collect();
    text.map(|text| Json::from(text.trim_end_matches('\0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(dtype: &str, fill_value: &str) -> (String, Vec<&'static str>) {
        let json = |text: &str| Json::parse_str(text).unwrap();
        let mut diagnostics = Vec::new();
        let value = convert(&Dtype::read(&json(dtype)).unwrap(), &json(fill_value), &mut diagnostics);
        (value.to_string_compact(), diagnostics.iter().map(|diagnostic| diagnostic.code).collect())
    }

    #[test]
    fn fill_values_get_their_v3_form() {
        for (dtype, fill_value, expected) in [
            ("\"<f4\"", "\"NaN\"", "\"NaN\""),
            ("\"<f4\"", "1.50", "1.50"),
            ("\"<i4\"", "-5", "-5"),
            ("\"|b1\"", "true", "true"),
            ("\"<c8\"", "[1.0, \"NaN\"]", "[1.0,\"NaN\"]"),
            ("\"|V3\"", "\"AQID\"", "[1,2,3]"),
            ("\"bfloat16\"", "\"-Infinity\"", "\"-Infinity\""),
            ("\"int4\"", "-8", "-8"),
            ("\"float4_e2m1fn\"", "\"Ag==\"", "1.0"),
            ("\"|S4\"", "\"YWI=\"", "\"YWI=\""),
            ("\"<U2\"", "\"é\"", "\"é\""),
            ("\"<M8[s]\"", "\"NaT\"", "\"NaT\""),
            (r#"[["a","<i2"],["b","|u1"]]"#, "\"//8H\"", r#"{"a":-1,"b":7}"#),
            (r#"[["a",">i2"],["b","|u1"]]"#, "\"AAEH\"", r#"{"a":1,"b":7}"#),
            (r#"[["a",">i2"],["b","<i2"]]"#, "\"AAEBAA==\"", r#"{"a":1,"b":1}"#),
            (r#"[["a",">i2",[1]],["b","<i2"]]"#, "\"AAEBAA==\"", "[0,1,1,0]"),
            (r#"[["a","<U1"],["b","<M8[s]"]]"#, "\"YQAAAAEAAAAAAAAA\"", r#"{"a":"a","b":1}"#),
        ] {
            assert_eq!(converted(dtype, fill_value), (expected.to_owned(), vec![]), "{dtype} {fill_value}");
        }
    }

    #[test]
    fn null_is_zero_with_a_finding() {
        for (dtype, expected) in [
            ("\"<f4\"", "0.0"),
            ("\"<i4\"", "0"),
            ("\"|b1\"", "false"),
            ("\"|V2\"", "[0,0]"),
            ("\"|S4\"", "\"\""),
            ("\"<M8[s]\"", "0"),
            (r#"[["a","<i2"],["b","|S1"]]"#, r#"{"a":0,"b":""}"#),
        ] {
            let (found, codes) = converted(dtype, "null");
            assert!(
                Json::parse_str(&found).unwrap().same_value(&Json::parse_str(expected).unwrap()),
                "{dtype} {found}"
            );
            assert_eq!(codes, ["ZM221"]);
        }
    }

    #[test]
    fn older_forms_are_read_with_a_finding_and_others_refused() {
        assert_eq!(converted("\"|b1\"", "0"), ("false".to_owned(), vec!["ZM222"]));
        assert_eq!(converted("\"<i4\"", "5.0"), ("5".to_owned(), vec!["ZM222"]));
        assert_eq!(converted("\"|S2\"", "0"), ("\"\"".to_owned(), vec!["ZM222"]));
        for (dtype, fill_value) in [
            ("\"<f4\"", "\"0x7fc00001\""),
            ("\"|S2\"", "\"abc\""),
            ("\"|S2\"", "\"AAAA\""),
            ("\"<U2\"", "1"),
            ("\"|V2\"", "\"AQID\""),
            ("\"float4_e2m1fn\"", "1.0"),
            ("\"bfloat16\"", "\"0x7fc1\""),
            (r#"[["a","<i2"]]"#, "\"AQID\""),
        ] {
            assert_eq!(converted(dtype, fill_value).1, ["ZD201"], "{dtype} {fill_value}");
        }
    }
}

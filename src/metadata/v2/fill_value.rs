//! The `fill_value` of a v2 array, read into the form that v3 has for the data type, and written.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#fill-value-encoding>.

use super::dtype::Dtype;
use super::{NotInV2, V2ByteOrder};
use crate::data_type::{DataType, FillValue, FillValueError, base64};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::{Findings, Json};

const POINTER: &str = "/fill_value";

/// The v3 form; what cannot be understood is kept as written, for whoever knows the data type to refuse.
pub(super) fn read(dtype: &Dtype, fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    if fill_value.is_null() {
        let message = "`fill_value` is null: what absent chunks hold is undefined, and read here as zero";
        let found = Diagnostic::new(code::V2_FILL_VALUE_NULL, message).at_pointer(POINTER);
        let help = "give the array a fill value, so that every reader sees the same";
        diagnostics.push(found.with_help(help));
        return zero(dtype);
    }
    if fill_value.is_not_finite() {
        return read(dtype, &in_quotes(fill_value), diagnostics);
    }
    let data_type = &dtype.data_type;
    let is_text = dtype.is_object() || matches!(data_type, DataType::FixedBytes(_) | DataType::FixedUtf32(_));
    let understood = match data_type {
        // Before zarr-python 3, arrays of text were given 0 where nobody said anything.
        _ if is_text && fill_value.as_u64() == Some(0) => {
            let mut found = older_form("0 for a type of text", "\"\"");
            if dtype.is_object() {
                found.message += ": zarr-python 3 reads it as \"0\", this program as \"\"";
            }
            diagnostics.push(found);
            Some(Json::from(""))
        }
        DataType::Raw(_) | DataType::Struct(_) => elements_from_base64(dtype, fill_value),
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

/// Bare words for what is not finite as the strings that v2 has for them.
fn in_quotes(fill_value: &Json) -> Json {
    match fill_value {
        Json::NotFinite(word) => Json::from(*word),
        Json::Array(parts) => Json::Array(parts.iter().map(in_quotes).collect()),
        other => other.clone(),
    }
}

fn older_form(found: &str, written: &str) -> Diagnostic {
    let message = format!("`fill_value` is {found}, which only some readers take");
    let found = Diagnostic::new(code::V2_FILL_VALUE_FORM, message).at_pointer(POINTER);
    found.with_help(format!("write {written}"))
}

/// Zero, false, nothing.
fn zero(dtype: &Dtype) -> Json {
    if dtype.is_object() {
        return Json::from("");
    }
    let zero = dtype.data_type.default_fill_value();
    zero.and_then(|zero| dtype.data_type.fill_value_to_json(&zero).ok()).unwrap_or_else(|| Json::from(0))
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
fn number(dtype: &Dtype, fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    if is_hexadecimal(fill_value) {
        let message = format!("v2 has no hexadecimal fill values, found {}", fill_value.excerpt());
        let found = Diagnostic::new(code::FILL_VALUE_INVALID, message).at_pointer(POINTER);
        let help = "v2 can say \"NaN\", \"Infinity\" and \"-Infinity\"; other NaNs need v3";
        diagnostics.push(found.with_help(help));
        return zero(dtype);
    }
    if let Ok(read) = dtype.data_type.fill_value_from_json(fill_value)
        && read.notes.iter().any(|note| note.is(code::INTEGER_WITH_FRACTION))
        && let Ok(integer) = dtype.data_type.fill_value_to_json(&read.value)
    {
        let found = format!("{} for an integer", fill_value.excerpt());
        diagnostics.push(older_form(&found, &integer.to_string_compact()));
        return integer;
    }
    fill_value.clone()
}

/// Whether it is the bits of a float or of a part of a complex number, for which v2 has no form.
fn is_hexadecimal(json: &Json) -> bool {
    let parts = json.as_array().unwrap_or(std::slice::from_ref(json));
    parts.iter().any(|part| part.as_str().is_some_and(|text| text.starts_with("0x")))
}

/// The bytes of an element, as they are stored.
fn elements_from_base64(dtype: &Dtype, fill_value: &Json) -> Option<Json> {
    let mut bytes = base64::decode(fill_value.as_str()?).filter(|bytes| bytes.len() as u64 == dtype.size)?;
    dtype.order.as_ref().unwrap_or(&V2ByteOrder::Little).swap(&dtype.data_type, &mut bytes);
    dtype.data_type.fill_value_to_json(&FillValue(bytes)).ok()
}

/// Whether tensorstore writes a fill value of the type as its byte in base64.
fn is_written_in_base64(data_type: &DataType) -> bool {
    data_type.real_number().is_some() && data_type.is_small_float() && data_type.is_sub_byte()
}

/// The byte of such a float, whose upper bits have no meaning.
fn small_float_from_base64(data_type: &DataType, fill_value: &Json) -> Option<Json> {
    let float = data_type.real_number()?.small_float()?;
    let bytes = base64::decode(fill_value.as_str()?)?;
    let [byte] = *bytes.as_slice() else { return None };
    let bits = byte & (u8::MAX >> (8 - float.bits().min(8)));
    data_type.fill_value_to_json(&FillValue(vec![bits])).ok()
}

/// A fill value as v2 writes it, in an array whose components have this byte order.
///
/// Times are integers, bytes and structures base64; of NaN v2 knows the canonical one alone.
pub fn write_fill_value(data_type: &DataType, fill_value: &FillValue, order: &V2ByteOrder) -> Result<Json, NotInV2> {
    let refused = |error: FillValueError| NotInV2::new(format!("the fill value: {error}"));
    let json = match data_type {
        DataType::Raw(_) | DataType::Struct(_) => {
            let mut bytes = fill_value.as_bytes().to_vec();
            order.swap(data_type, &mut bytes);
            return Ok(Json::from(base64::encode(&bytes)));
        }
        DataType::Time(_) => {
            let bytes = <[u8; 8]>::try_from(fill_value.as_bytes()).unwrap_or_default();
            return Ok(Json::from(i64::from_ne_bytes(bytes)));
        }
        _ if is_written_in_base64(data_type) => return Ok(Json::from(base64::encode(fill_value.as_bytes()))),
        _ => data_type.fill_value_to_json(fill_value).map_err(refused)?,
    };
    if data_type.components().is_some() && is_hexadecimal(&json) {
        let what = format!("the fill value {}", json.to_string_compact());
        return Err(NotInV2::new(what).with_help("`--fill-value NaN` makes it the NaN that v2 can name"));
    }
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(dtype: &str, fill_value: &str) -> (String, Vec<&'static str>) {
        let json = |text: &str| Json::parse_str(text).unwrap();
        let mut diagnostics = Vec::new();
        let value = read(&Dtype::read(&json(dtype)).unwrap(), &json(fill_value), &mut diagnostics);
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

    #[test]
    fn fill_value_of_less_than_a_byte_is_base64() {
        let data_type = DataType::from_name("float4_e2m1fn").unwrap();
        let byte =
            |text: &str| small_float_from_base64(&data_type, &Json::from(text)).map(|json| json.to_string_compact());
        assert_eq!(byte("Ag=="), Some("1.0".to_owned()));
        assert_eq!(byte("/w=="), Some("-6.0".to_owned()));
        assert_eq!((byte("AgI="), byte("1.0")), (None, None));
        assert!(
            !is_written_in_base64(&DataType::from_name("float8_e5m2").unwrap()) && is_written_in_base64(&data_type)
        );
    }

    #[test]
    fn fill_values_are_written_as_they_are_read() {
        for (dtype, fill_value) in [
            ("\"<f4\"", "\"NaN\""),
            ("\"<f8\"", "\"-Infinity\""),
            ("\">f4\"", "1.5"),
            ("\"<i4\"", "-5"),
            ("\"|b1\"", "true"),
            ("\"<c8\"", "[1.0,\"NaN\"]"),
            ("\"|V3\"", "\"AQID\""),
            ("\"|S4\"", "\"YWI=\""),
            ("\"<U2\"", "\"é\""),
            ("\">M8[s]\"", "-9223372036854775808"),
            (r#"[["a","<i2"],["b","|u1"]]"#, "\"//8H\""),
            (r#"[["a",">i2"],["b",">U1"]]"#, "\"AAEAAABh\""),
            (r#"[["a",">i2"],["b","<i2"],["c",[["d",">i2"]]]]"#, "\"AAECAAAD\""),
            ("\"bfloat16\"", "\"NaN\""),
            ("\"float8_e4m3fn\"", "1.5"),
            ("\"float4_e2m1fn\"", "\"Ag==\""),
            ("\"int4\"", "-8"),
        ] {
            let json = |text: &str| Json::parse_str(text).unwrap();
            let read_dtype = Dtype::read(&json(dtype)).unwrap();
            let converted = read(&read_dtype, &json(fill_value), &mut Vec::new());
            let Dtype { data_type, order, .. } = read_dtype;
            let value = data_type.fill_value_from_json(&converted).unwrap().value;
            let order = order.unwrap_or(V2ByteOrder::Little);
            let written = write_fill_value(&data_type, &value, &order).unwrap();
            assert_eq!(written.to_string_compact(), fill_value, "{dtype}");
        }
    }

    #[test]
    fn nan_with_a_payload_is_refused() {
        for (name, text) in [
            ("float32", "\"0x7fc00001\""),
            ("complex64", "[0.0,\"0xffc00000\"]"),
            ("float8_e4m3fn", "\"0xff\""),
            ("bfloat16", "\"0x7fc1\""),
        ] {
            let data_type = DataType::from_metadata(&Json::from(name)).unwrap();
            let value = data_type.fill_value_from_json(&Json::parse_str(text).unwrap()).unwrap().value;
            let error = write_fill_value(&data_type, &value, &V2ByteOrder::Little).unwrap_err();
            assert!(error.to_string().contains("0x"), "{error}");
        }
    }
}

//! The type strings of Zarr v2 that tensorstore alone has: names where numpy has neither kind nor size.
//!
//! A `bfloat16` is little endian, integers and floats of less than a byte take a byte each. Of its `float8_e8m0fnu` the
//! fill value means another number than it says, and so that name is not read here.
//! Source: <https://google.github.io/tensorstore/driver/zarr/index.html>

use crate::data_type::{DataType, FillValue, base64};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::Json;

/// The names, which are those of v3, too.
const NAMES: [&str; 10] = [
    "bfloat16",
    "float4_e2m1fn",
    "float8_e3m4",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "int2",
    "int4",
];

/// The data type of a type string.
pub(super) fn from_name(text: &str) -> Option<DataType> {
    if NAMES.contains(&text) { DataType::from_name(text) } else { None }
}

/// The type string of a data type.
pub(super) fn name_of(data_type: &DataType) -> Option<&'static str> {
    let is_named = matches!(data_type, DataType::Number(_) | DataType::SmallFloat(_));
    NAMES.into_iter().find(|name| is_named && *name == data_type.name())
}

/// What is to be said of an array with such a type.
pub(super) fn finding(name: &str) -> Diagnostic {
    let message = format!("`dtype`: {name:?} is a type that tensorstore added to Zarr v2");
    Diagnostic::new(code::V2_DTYPE_EXTENSION, message)
        .with_help("no other reader of Zarr v2 knows it; Zarr v3 has the type")
}

/// Whether a fill value of the type is its byte in base64.
pub(super) fn has_base64_fill(data_type: &DataType) -> bool {
    matches!(data_type, DataType::SmallFloat(float) if float.bits() < 8)
}

/// A fill value in base64 as v3 has it; `None` where it is none.
pub(super) fn fill_from_base64(data_type: &DataType, fill_value: &Json) -> Option<Json> {
    let DataType::SmallFloat(float) = data_type else { return None };
    let bytes = base64::decode(fill_value.as_str()?)?;
    let [byte] = *bytes.as_slice() else { return None };
    // The upper bits have no meaning.
    let bits = byte & (u8::MAX >> (8 - float.bits().min(8)));
    data_type.fill_value_to_json(&FillValue(vec![bits])).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_type_of_v3() {
        for name in NAMES {
            let data_type = from_name(name).unwrap();
            assert_eq!((data_type.name().as_str(), name_of(&data_type)), (name, Some(name)));
        }
        for other in
            ["float32", "uint4", "float8_e4m3", "float8_e8m0fnu", "<bfloat16", "complex_bfloat16", "r8"]
        {
            assert_eq!(from_name(other), None, "{other}");
            assert_eq!(DataType::from_name(other).as_ref().and_then(name_of), None, "{other}");
        }
    }

    #[test]
    fn fill_value_of_less_than_a_byte_is_base64() {
        let data_type = from_name("float4_e2m1fn").unwrap();
        let read =
            |text: &str| fill_from_base64(&data_type, &Json::from(text)).map(|json| json.to_string_compact());
        assert_eq!(read("Ag=="), Some("1.0".to_owned()));
        assert_eq!(read("/w=="), Some("-6.0".to_owned()));
        assert_eq!((read("AgI="), read("1.0")), (None, None));
        assert!(!has_base64_fill(&from_name("float8_e5m2").unwrap()) && has_base64_fill(&data_type));
    }
}

//! The parts of a variable that xarray reads in each format. In v2, the dimension names are an attribute, and xarray
//! masks the fill value. In v3, the names are metadata. It then masks only by the attribute `_FillValue`, with floats
//! in base64.

use super::quantize::FloatType;
use crate::data_type::{DataType, FillValue, base64, value_from_json, value_to_json};
use crate::element::NumberType;
use crate::metadata::{Json, Object};

/// The attribute with the dimension names in v2.
pub(super) const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// The attribute with the masked value.
pub(super) const FILL_VALUE: &str = "_FillValue";

/// Returns the names of all dimensions. `None` if the attribute does not have one for each.
pub(super) fn dimension_names(attributes: &Object, rank: usize) -> Option<Vec<Json>> {
    let names = attributes.get(DIMENSIONS)?.as_array()?;
    (names.len() == rank && names.iter().all(|name| name.as_str().is_some())).then(|| names.to_vec())
}

/// Returns the bits of a number (or bare `NaN`), its string, or base64 of little-endian bytes, as xarray writes it.
pub(super) fn scalar(number_type: NumberType, json: &Json) -> Option<u64> {
    if let Json::NotFinite(word) = json {
        return value_from_json(number_type, &Json::from(*word)).ok().map(|read| read.value);
    }
    if let Ok(read) = value_from_json(number_type, json) {
        return Some(read.value);
    }
    let bytes = base64::decode(json.as_str()?)?;
    match bytes.len() {
        length if length == number_type.size() => {
            Some(bytes.iter().rev().fold(0, |bits, byte| (bits << 8) | u64::from(*byte)))
        }
        // xarray encodes every float as a float64.
        8 if number_type.is_float() => {
            let float = FloatType(number_type);
            let value = f64::from_le_bytes(bytes.try_into().ok()?);
            Some(float.bits(float.round(value, crate::kernel::Rounding::NearestEven)))
        }
        _ => None,
    }
}

/// Returns NaN in the form of a masked value: base64 of as many bytes, or JSON's word for it.
pub(super) fn nan_like(masked: &Json) -> Json {
    // Some writers put the single value into a list. The form of the attribute stays.
    if let Some([only]) = masked.as_array() {
        return Json::Array(vec![nan_like(only)]);
    }
    let bytes = masked.as_str().and_then(base64::decode);
    Json::from(match bytes.map(|bytes| bytes.len()) {
        Some(2) => base64::encode(&half::f16::NAN.to_le_bytes()),
        Some(4) => base64::encode(&f32::NAN.to_le_bytes()),
        Some(8) => base64::encode(&f64::NAN.to_le_bytes()),
        _ => "NaN".to_owned(),
    })
}

/// Returns a masked value as the v3 attribute. `None` for types that xarray does not decode there.
pub(super) fn encode(data_type: &DataType, value: &FillValue) -> Option<Json> {
    let double = |component: crate::element::NumberType, bytes: &[u8]| {
        let bits = FillValue(bytes.to_vec()).to_bits(&DataType::Number(component))?;
        Some(Json::from(base64::encode(&FloatType(component).value(bits).to_le_bytes())))
    };
    match data_type {
        _ if data_type.is_small_float() => None,
        DataType::Bool => Some(Json::Bool(value.0.first().is_some_and(|byte| *byte != 0))),
        DataType::Number(number) if number.is_float() => double(*number, &value.0),
        DataType::Number(number) => Some(value_to_json(*number, value.to_bits(data_type)?)),
        DataType::Complex(component) => {
            let (real, imaginary) = value.0.split_at_checked(component.size())?;
            Some(Json::Array(vec![double(*component, real)?, double(*component, imaginary)?]))
        }
        _ => None,
    }
}

/// Returns the value of the attribute in either format. `None` if the type does not have it.
pub(super) fn decode(data_type: &DataType, json: &Json) -> Option<FillValue> {
    match data_type {
        _ if data_type.is_small_float() => None,
        DataType::Bool => json.as_bool().map(|value| FillValue(vec![value.into()])),
        DataType::Number(number) => scalar(*number, json).map(|bits| FillValue::from_bits(*number, bits)),
        DataType::Complex(component) => {
            let [real, imaginary] = json.as_array()? else { return None };
            let part = |json| scalar(*component, json);
            let parts = [part(real)?, part(imaginary)?];
            Some(FillValue(parts.map(|bits| FillValue::from_bits(*component, bits).0).concat()))
        }
        _ => None,
    }
}

/// True if two values mask the same: all NaNs are equal.
pub(super) fn is_same_mask(data_type: &DataType, a: &FillValue, b: &FillValue) -> bool {
    a == b || (is_nan(data_type, a) && is_nan(data_type, b))
}

/// True if a value is NaN, which masks nothing that is not missing already.
pub(super) fn is_nan(data_type: &DataType, value: &FillValue) -> bool {
    let number = data_type.number().filter(|number| number.is_float());
    number.zip(value.to_bits(data_type)).is_some_and(|(number, bits)| FloatType(number).value(bits).is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_values_are_encoded_as_xarray_does() {
        for (name, text, expected) in [
            ("float64", "\"NaN\"", "\"AAAAAAAA+H8=\""),
            ("float32", "-9999", "\"AAAAAICHw8A=\""),
            ("float16", "0.5", "\"AAAAAAAA4D8=\""),
            ("int16", "-9999", "-9999"),
            ("uint64", "18446744073709551615", "18446744073709551615"),
            ("bool", "true", "true"),
            ("complex64", "[1, 0]", "[\"AAAAAAAA8D8=\",\"AAAAAAAAAAA=\"]"),
        ] {
            let data_type = DataType::from_metadata(&Json::from(name)).unwrap();
            let value = data_type.fill_value_from_json(&Json::parse_str(text).unwrap()).unwrap().value;
            let encoded = encode(&data_type, &value).unwrap();
            assert_eq!(encoded.to_string(), expected, "{name}");
            let decoded = decode(&data_type, &encoded).unwrap();
            assert!(is_same_mask(&data_type, &decoded, &value), "{name}");
        }
    }

    #[test]
    fn plain_values_of_v2_are_decoded_too() {
        let float = DataType::from_metadata(&Json::from("float32")).unwrap();
        let value = decode(&float, &Json::parse_str("-9999.0").unwrap()).unwrap();
        assert_eq!(encode(&float, &value).unwrap(), Json::from("AAAAAICHw8A="));
        assert_eq!(decode(&float, &Json::parse_str("\"none\"").unwrap()), None);
        assert_eq!(decode(&DataType::String, &Json::from("")), None);
    }

    #[test]
    fn dimensions_are_named_all_or_not_at_all() {
        let names = |text: &str| {
            let attributes = Object::new().with(DIMENSIONS, Json::parse_str(text).unwrap());
            dimension_names(&attributes, 2).is_some()
        };
        assert!(names(r#"["y","x"]"#));
        for text in [r#"["y"]"#, r#"["y",null]"#, r#""yx""#] {
            assert!(!names(text), "{text}");
        }
    }
}

//! The `fill_value` of a v2 array.

use super::{NotInV2, V2ByteOrder};
use crate::data_type::{ByteSwap, DataType, FillValue, FillValueError, base64};
use crate::metadata::json::Json;
use crate::metadata::v2::tensorstore;

/// A fill value as v2 writes it, in an array whose components have this byte order.
///
/// Times are integers, bytes and structures base64; of NaN v2 knows the canonical one alone.
pub fn write_fill_value(
    data_type: &DataType,
    fill_value: &FillValue,
    order: &V2ByteOrder,
) -> Result<Json, NotInV2> {
    let refused = |error: FillValueError| NotInV2::new(format!("the fill value: {error}"));
    let json = match data_type {
        DataType::Raw(_) | DataType::Struct(_) => {
            let mut bytes = fill_value.as_bytes().to_vec();
            order_bytes(data_type, order, &mut bytes);
            Json::from(base64::encode(&bytes))
        }
        DataType::Time(_) => {
            let bytes = <[u8; 8]>::try_from(fill_value.as_bytes()).unwrap_or_default();
            Json::from(i64::from_ne_bytes(bytes))
        }
        _ if tensorstore::has_base64_fill(data_type) => Json::from(base64::encode(fill_value.as_bytes())),
        _ => data_type.fill_value_to_json(fill_value).map_err(refused)?,
    };
    if is_hexadecimal(data_type, &json) {
        let what = format!("the fill value {}", json.to_string_compact());
        return Err(NotInV2::new(what).with_help("`--fill-value NaN` makes it the NaN that v2 can name"));
    }
    Ok(json)
}

/// From the byte order of this machine to that of the array.
fn order_bytes(data_type: &DataType, order: &V2ByteOrder, bytes: &mut [u8]) {
    let is_swapped = |is_big: bool| is_big != cfg!(target_endian = "big");
    match order {
        V2ByteOrder::Fields(fields) => {
            let fields: Vec<bool> = fields.iter().map(|is_big| is_swapped(*is_big)).collect();
            ByteSwap::of_fields(data_type, &fields).apply(bytes);
        }
        whole if is_swapped(whole.is_big()) => data_type.swap_elements(bytes),
        _ => {}
    }
}

/// Whether it is the bits of a float, for which v2 has no form.
fn is_hexadecimal(data_type: &DataType, json: &Json) -> bool {
    let parts = json.as_array().unwrap_or(std::slice::from_ref(json));
    matches!(data_type, DataType::Number(_) | DataType::SmallFloat(_) | DataType::Complex(_))
        && parts.iter().any(|part| part.as_str().is_some_and(|text| text.starts_with("0x")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::v2::dtype::Dtype;
    use crate::metadata::v2::fill_value::convert;

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
            let read = Dtype::read(&json(dtype)).unwrap();
            let data_type = DataType::from_metadata(&read.data_type()).unwrap();
            let converted = convert(&read, &json(fill_value), &mut Vec::new());
            let value = data_type.fill_value_from_json(&converted).unwrap().value;
            let order = match read.big_endian_fields() {
                Some(fields) => V2ByteOrder::Fields(fields),
                None if dtype.contains('>') => V2ByteOrder::Big,
                None => V2ByteOrder::Little,
            };
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

//! The `dtype` of a v2 array.

use super::NotInV2;
use crate::data_type::{DataType, StructType, TimeType};
use crate::metadata::json::Json;
use crate::metadata::v2::tensorstore;

/// A data type as numpy names it, its components in this byte order.
pub fn write_dtype(data_type: &DataType, is_big: bool) -> Result<Json, NotInV2> {
    if let DataType::Struct(structure) = data_type {
        return fields(structure, is_big);
    }
    type_string(data_type, is_big).map(Json::from)
}

fn fields(structure: &StructType, is_big: bool) -> Result<Json, NotInV2> {
    let field = |field: &crate::data_type::Field| {
        let dtype = write_dtype(&field.data_type, is_big)?;
        Ok(Json::Array(vec![Json::from(field.name.as_str()), dtype]))
    };
    structure.fields().iter().map(field).collect::<Result<_, _>>().map(Json::Array)
}

fn type_string(data_type: &DataType, is_big: bool) -> Result<String, NotInV2> {
    if let Some(name) = tensorstore::name_of(data_type) {
        if is_big && data_type.has_byte_order() {
            return Err(NotInV2::new(format!("the data type `{name}` in big endian"))
                .with_help("give `bytes` with \"endian\": \"little\" in --codecs"));
        }
        return Ok(name.to_owned());
    }
    let (kind, size) = match data_type {
        DataType::Bool => ('b', 1),
        DataType::Number(number) if number.is_whole() && matches!(number.bits(), 8 | 16 | 32 | 64) => {
            let is_signed = number.integer_bounds().is_some_and(|(least, _)| least < 0);
            let kind = if number.is_float() {
                'f'
            } else if is_signed {
                'i'
            } else {
                'u'
            };
            (kind, number.size())
        }
        DataType::Complex(component) if component.bits() > 16 => ('c', component.size() * 2),
        DataType::Time(time) => return Ok(time_string(time, is_big)),
        DataType::Raw(size) => ('V', *size),
        DataType::FixedBytes(bytes) if bytes.name == "null_terminated_bytes" => ('S', bytes.size),
        DataType::FixedBytes(bytes) => ('V', bytes.size),
        DataType::FixedUtf32(code_points) => ('U', *code_points),
        DataType::String | DataType::Bytes { .. } => return Ok("|O".to_owned()),
        DataType::Number(_)
        | DataType::SmallFloat(_)
        | DataType::Complex(_)
        | DataType::ComplexSmallFloat(_)
        | DataType::Struct(_)
        | DataType::Other(_) => {
            let help = "convert the values with --data-type";
            return Err(NotInV2::new(format!("the data type `{data_type}`")).with_help(help));
        }
    };
    let order = if data_type.has_byte_order() { order(is_big) } else { '|' };
    Ok(format!("{order}{kind}{size}"))
}

fn order(is_big: bool) -> char {
    if is_big { '>' } else { '<' }
}

fn time_string(time: &TimeType, is_big: bool) -> String {
    let kind = if time.name == "numpy.timedelta64" { 'm' } else { 'M' };
    let factor = if time.scale_factor == 1 { String::new() } else { time.scale_factor.to_string() };
    format!("{}{kind}8[{factor}{}]", order(is_big), time.unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::v2::dtype::Dtype;

    #[test]
    fn data_types_are_written_as_they_are_read() {
        for text in [
            "\"|b1\"",
            "\"|i1\"",
            "\"|u1\"",
            "\"<i2\"",
            "\">i4\"",
            "\"<u8\"",
            "\"<f2\"",
            "\">f4\"",
            "\"<f8\"",
            "\">c8\"",
            "\"<c16\"",
            "\"<M8[ns]\"",
            "\">m8[10us]\"",
            "\"<M8[generic]\"",
            "\"|S10\"",
            "\">U5\"",
            "\"|V4\"",
            "\"bfloat16\"",
            "\"int2\"",
            "\"float8_e4m3fn\"",
            r#"[["a","<i2"],["b",[["c","<f4"],["d","|S3"]]]]"#,
            r#"[["a",">U2"],["b","|u1"]]"#,
        ] {
            let read = Dtype::read(&Json::parse_str(text).unwrap()).unwrap();
            let data_type = DataType::from_metadata(&read.data_type()).unwrap();
            let written = write_dtype(&data_type, text.contains('>')).unwrap();
            assert_eq!(written.to_string_compact(), text);
        }
    }

    #[test]
    fn types_that_numpy_has_not_are_refused_by_name() {
        for name in ["uint4", "uint2", "float8_e4m3", "uint10", "complex_float16", "complex_bfloat16", "mine"]
        {
            let data_type = DataType::from_metadata(&Json::from(name)).unwrap();
            let error = write_dtype(&data_type, false).unwrap_err();
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
    }
}

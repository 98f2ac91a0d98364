//! One number between JSON and bits, in the fill value encoding: `offset`, `scale`, `scalar_map`, fill values.

use super::float::{canonical_nan, infinity, nearest, shortest};
use super::{FillValueError, Read};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{NumberType, integer_of, is_of_type, low_bits};
use crate::metadata::json::{Json, JsonError, Number};

/// Reads a value of a number type to its bits, zero-extended to 64. Strings are no integers here.
///
/// A float is rounded once, to nearest and even, from the decimal text. Notes: an integer with a fraction or an
/// exponent, "+Infinity", a number beyond the range of the float.
pub fn value_from_json(number_type: NumberType, json: &Json) -> Result<Read<u64>, FillValueError> {
    if number_type.is_float() { float_from_json(number_type, json) } else { integer_from_json(number_type, json) }
}

/// The value with these bits as it is written: integers plain, the shortest decimal that gives the same bits, "NaN"
/// only for the canonical pattern, any other NaN in hexadecimal.
pub fn value_to_json(number_type: NumberType, bits: u64) -> Json {
    if number_type.is_float() {
        float_to_json(number_type, bits)
    } else {
        Json::Number(Number::from(integer_of(bits, number_type.element())))
    }
}

fn float_to_json(float: NumberType, bits: u64) -> Json {
    if let Some(number) = shortest(float, bits) {
        return Json::Number(number);
    }
    if canonical_nan(float) == Some(bits) {
        return Json::from("NaN");
    }
    for (negative, name) in [(false, "Infinity"), (true, "-Infinity")] {
        if infinity(float, negative) == Some(bits) {
            return Json::from(name);
        }
    }
    Json::from(format!("0x{bits:0width$x}", width = float.size() * 2))
}

/// A value as an argument of the command line: JSON text, or a bare `NaN`, `Infinity` or `-Infinity`.
pub fn scalar_argument(text: &str) -> Result<Json, JsonError> {
    match text.trim() {
        bare @ ("NaN" | "Infinity" | "-Infinity") => Ok(Json::from(bare)),
        _ => Json::parse_str(text),
    }
}

fn integer_from_json(number_type: NumberType, json: &Json) -> Result<Read<u64>, FillValueError> {
    let (least, greatest) = number_type.integer_bounds().unwrap_or_default();
    let expected = || format!("an integer from {least} to {greatest}");
    let fault = || FillValueError::new(&number_type.name(), expected(), json);
    let number = json.as_number().ok_or_else(fault)?;
    let value = number.as_integral_i128().filter(|value| (least..=greatest).contains(value)).ok_or_else(fault)?;
    let mut notes = Vec::new();
    if !number.is_integer_literal() {
        let message = format!("{} is written with a fraction or an exponent: write {value}", json.excerpt());
        notes.push(Diagnostic::new(code::INTEGER_WITH_FRACTION, message));
    }
    Ok(Read { value: low_bits(value, number_type), notes })
}

/// Reads a value of any float. What the type does not have ("NaN", an infinity, a number that it cannot round to) is
/// an error.
fn float_from_json(float: NumberType, json: &Json) -> Result<Read<u64>, FillValueError> {
    let mut notes = Vec::new();
    let bits = match json {
        Json::Number(number) => {
            let bits = nearest(float, number);
            if bits.is_some() && [false, true].iter().any(|&negative| infinity(float, negative) == bits) {
                let message =
                    format!("{} is beyond the range of {} and is read as an infinity", json.excerpt(), float.name());
                notes.push(Diagnostic::new(code::FLOAT_OVERFLOW, message));
            }
            bits
        }
        Json::String(text) => match &**text {
            "NaN" => canonical_nan(float),
            "Infinity" => infinity(float, false),
            "-Infinity" => infinity(float, true),
            "+Infinity" => {
                let message = "\"+Infinity\" is rejected by zarrs and tensorstore: write \"Infinity\"";
                notes.push(Diagnostic::new(code::PLUS_INFINITY, message));
                infinity(float, false)
            }
            other => hexadecimal(other, float.size() * 2).filter(|&bits| is_of_type(bits, float)),
        },
        _ => None,
    };
    let bits = bits.ok_or_else(|| FillValueError::new(&float.name(), expected_float(float), json))?;
    Ok(Read { value: bits, notes })
}

/// The forms that a float of this type has.
fn expected_float(float: NumberType) -> String {
    let nan = canonical_nan(float).map_or("", |_| ", \"NaN\"");
    let (number, infinities) = match infinity(float, false) {
        Some(_) => ("a number", ", \"Infinity\", \"-Infinity\""),
        None => ("a number of its range", ""),
    };
    let digits = float.size() * 2;
    format!("{number}{nan}{infinities} or \"0x\" and {digits} hexadecimal digits")
}

/// `0x` and exactly this many digits of either case.
fn hexadecimal(text: &str, digits: usize) -> Option<u64> {
    let text = text.strip_prefix("0x")?;
    // `from_str_radix` also takes a sign.
    let valid = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if valid { u64::from_str_radix(text, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::element::ElementType;

    fn read(name: &str, text: &str) -> Result<(u64, Vec<&'static str>), FillValueError> {
        let number_type = super::super::DataType::from_name(name).unwrap().number().unwrap();
        let read = value_from_json(number_type, &Json::parse_str(text).unwrap())?;
        Ok((read.value, read.notes.iter().map(|note| note.code).collect()))
    }

    #[test]
    fn integers_are_exact_and_in_range() {
        for (name, text, bits) in [
            ("int8", "-128", 0x80),
            ("uint8", "255", 255),
            ("int64", "-9223372036854775808", 1 << 63),
            ("uint64", "18446744073709551615", u64::MAX),
            ("int64", "9007199254740993", 9_007_199_254_740_993),
            ("uint10", "1023", 1023),
            ("int10", "-512", 0xfe00),
            ("int4", "-8", 0xf8),
            ("uint2", "3", 3),
            ("int8", "-0", 0),
        ] {
            assert_eq!(read(name, text), Ok((bits, vec![])), "{name} {text}");
        }
        for (name, text) in [
            ("int8", "128"),
            ("uint8", "-1"),
            ("uint8", "256"),
            ("uint10", "1024"),
            ("int10", "512"),
            ("int4", "8"),
            ("uint64", "18446744073709551616"),
            ("uint64", "1e400"),
            ("int8", "5.5"),
            ("int8", "\"5\""),
            ("int8", "true"),
            ("int8", "null"),
            ("int8", "\"0x05\""),
            ("int8", "\"NaN\""),
            ("int8", "[5]"),
        ] {
            assert!(read(name, text).is_err(), "{name} {text}");
        }
        let error = read("uint10", "1024").unwrap_err();
        assert_eq!(error.to_string(), "expected an integer from 0 to 1023 for uint10, found 1024");
    }

    #[test]
    fn integral_numbers_are_read_with_a_note() {
        for text in ["5.0", "5e0", "500e-2", "0.05E+2"] {
            assert_eq!(read("int8", text), Ok((5, vec!["ZD202"])), "{text}");
        }
        assert_eq!(read("int64", "9007199254740993.0"), Ok((9_007_199_254_740_993, vec!["ZD202"])));
    }

    #[test]
    fn floats_are_read_in_every_form() {
        for (name, text, bits) in [
            ("float16", "\"NaN\"", 0x7e00),
            ("float32", "\"NaN\"", 0x7fc0_0000),
            ("float64", "\"NaN\"", 0x7ff8_0000_0000_0000),
            ("float16", "\"Infinity\"", 0x7c00),
            ("float32", "\"-Infinity\"", 0xff80_0000),
            ("float32", "\"0x7fc00001\"", 0x7fc0_0001),
            ("float32", "\"0x7Fc0ABcd\"", 0x7fc0_abcd),
            ("float16", "\"0x7e01\"", 0x7e01),
            ("float64", "\"0xfff8000000000001\"", 0xfff8_0000_0000_0001),
            ("float32", "\"0x3f800000\"", 0x3f80_0000),
            ("float32", "1", 0x3f80_0000),
            ("float32", "-0.0", 0x8000_0000),
            ("float32", "-0", 0x8000_0000),
            ("float32", "0.1", 0x3dcc_cccd),
        ] {
            assert_eq!(read(name, text), Ok((bits, vec![])), "{name} {text}");
        }
        assert_eq!(read("float32", "\"+Infinity\""), Ok((0x7f80_0000, vec!["ZD204"])));
        assert_eq!(read("float32", "-1e39"), Ok((0xff80_0000, vec!["ZD205"])));
        assert_eq!(read("float64", "1e400"), Ok((0x7ff0_0000_0000_0000, vec!["ZD205"])));
    }

    #[test]
    fn floats_in_other_forms_are_refused() {
        for text in [
            "\"0x7e01\"",
            "\"0x7fc000001\"",
            "\"0X7fc00000\"",
            "\"7fc00000\"",
            "\"0x+fc00000\"",
            "\"nan\"",
            "\"inf\"",
            "\"-NaN\"",
            "\"5\"",
            "true",
            "null",
            "[1.0]",
            "\"\"",
        ] {
            assert!(read("float32", text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_written_conservatively() {
        let write = |element, bits| value_to_json(NumberType::of(element), bits).to_string();
        assert_eq!(write(ElementType::Int8, 0x80), "-128");
        assert_eq!(write(ElementType::UInt64, u64::MAX), "18446744073709551615");
        assert_eq!(write(ElementType::Float32, 0x3dcc_cccd), "0.1");
        assert_eq!(write(ElementType::Float32, 0x8000_0000), "-0.0");
        assert_eq!(write(ElementType::Float32, 0x7fc0_0000), "\"NaN\"");
        assert_eq!(write(ElementType::Float32, 0xffc0_0000), "\"0xffc00000\"");
        assert_eq!(write(ElementType::Float16, 0x7e01), "\"0x7e01\"");
        assert_eq!(write(ElementType::Float64, 0xfff0_0000_0000_0000), "\"-Infinity\"");
        let ten_bits = NumberType::integer(true, 10).unwrap();
        assert_eq!(value_to_json(ten_bits, 0xfe00).to_string(), "-512");
    }

    #[test]
    fn argument_takes_bare_words() {
        assert_eq!(scalar_argument("NaN"), Ok(Json::from("NaN")));
        assert_eq!(scalar_argument("-Infinity"), Ok(Json::from("-Infinity")));
        assert_eq!(scalar_argument("\"NaN\""), Ok(Json::from("NaN")));
        assert_eq!(scalar_argument("-1"), Ok(Json::from(-1_i64)));
        assert!(scalar_argument("nan").is_err());
    }

    proptest! {
        #[test]
        fn every_value_comes_back_bit_for_bit(bits in any::<u64>()) {
            for element in ElementType::ALL {
                let bits = if element.size() == 8 { bits } else { bits & ((1 << (element.size() * 8)) - 1) };
                let json = value_to_json(NumberType::of(element), bits);
                let read = value_from_json(NumberType::of(element), &json).unwrap();
                prop_assert_eq!(read, Read { value: bits, notes: vec![] });
            }
        }
    }
}

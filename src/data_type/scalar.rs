//! One number between JSON and bits, in the fill value encoding: `offset`, `scale`, `scalar_map`, fill values.

use super::float::{canonical_nan, infinity, nearest, shortest};
use super::{FillValueError, Read};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{NumberType, integer_of, is_of_type, low_bits};
use crate::metadata::json::{Json, Number};

/// Reads a value of a number type to its bits, zero-extended to 64. Strings are not accepted as integers here.
///
/// A float is rounded once, to nearest and even, from the decimal text. Notes: an integer with a fraction or an
/// exponent, "+Infinity", a number outside the range of the float.
pub fn value_from_json(number_type: NumberType, json: &Json) -> Result<Read<u64>, FillValueError> {
    if number_type.is_float() { float_from_json(number_type, json) } else { integer_from_json(number_type, json) }
}

/// Returns the JSON of a value: integers plain, floats as the shortest decimal with the same bits. "NaN" is only the
/// canonical pattern, any other NaN is hexadecimal.
pub fn value_to_json(number_type: NumberType, bits: u64) -> Json {
    if number_type.is_float() {
        float_to_json(number_type, bits)
    } else {
        Json::Number(Number::from(integer_of(bits, number_type.element())))
    }
}

/// Returns the strings that stand for values of a float, with their bits. `None` for values that the type does not have.
fn named_values(float: NumberType) -> [(&'static str, Option<u64>); 3] {
    [("NaN", canonical_nan(float)), ("Infinity", infinity(float, false)), ("-Infinity", infinity(float, true))]
}

fn float_to_json(float: NumberType, bits: u64) -> Json {
    if let Some(number) = shortest(float, bits) {
        return Json::Number(number);
    }
    match named_values(float).into_iter().find(|(_, value)| *value == Some(bits)) {
        Some((name, _)) => Json::from(name),
        None => Json::from(format!("0x{bits:0width$x}", width = float.size() * 2)),
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

/// Reads a value of any float. A value that the type does not have ("NaN", an infinity, a number out of range) is an
/// error.
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
        Json::String(text) if **text == *"+Infinity" => {
            let message = "\"+Infinity\" is rejected by zarrs and tensorstore: write \"Infinity\"";
            notes.push(Diagnostic::new(code::PLUS_INFINITY, message));
            infinity(float, false)
        }
        Json::String(text) => match named_values(float).into_iter().find(|(name, _)| **text == **name) {
            Some((_, bits)) => bits,
            None => hexadecimal(text, float.size() * 2).filter(|&bits| is_of_type(bits, float)),
        },
        _ => None,
    };
    let bits = bits.ok_or_else(|| FillValueError::new(&float.name(), expected_float(float), json))?;
    Ok(Read { value: bits, notes })
}

/// Returns a description of the valid forms of a float of this type.
fn expected_float(float: NumberType) -> String {
    let nan = canonical_nan(float).map_or("", |_| ", \"NaN\"");
    let (number, infinities) = match infinity(float, false) {
        Some(_) => ("a number", ", \"Infinity\", \"-Infinity\""),
        None => ("a number of its range", ""),
    };
    let digits = float.size() * 2;
    format!("{number}{nan}{infinities} or \"0x\" and {digits} hexadecimal digits")
}

/// Parses `0x` and exactly this number of digits in upper or lower case.
fn hexadecimal(text: &str, digits: usize) -> Option<u64> {
    let text = text.strip_prefix("0x")?;
    // `from_str_radix` also accepts a sign.
    let valid = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if valid { u64::from_str_radix(text, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::element::ElementType;

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

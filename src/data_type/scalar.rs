//! One number between JSON and bits, in the fill value encoding: `offset`, `scale`, `scalar_map`, fill values. Floats
//! from decimal text are rounded once, and are written as the shortest decimal.
//!
//! `half` rounds `f64` to `f16` in two steps (through `f32`, or with the low bits truncated). So `float16` uses the
//! rounding of the floats that only the registry has.

use std::cmp::Ordering;

use half::f16;

use super::{FillValueError, Read};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{Element as _, ElementType, FloatFormat, NumberType, integer_of, is_of_type, low_bits};
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
    let nan = float.float_format().and_then(FloatFormat::canonical_nan);
    [("NaN", nan), ("Infinity", infinity(float, false)), ("-Infinity", infinity(float, true))]
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
        // The examples of the registry have this form, and zarr-python accepts it (SEMANTICS: B16).
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
    let [(_, nan), (_, infinity), _] = named_values(float);
    let nan = nan.map_or("", |_| ", \"NaN\"");
    let (number, infinities) = match infinity {
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

/// Returns the bits of the nearest value to a number, ties to even. Beyond the range it is an infinity. `None` if the
/// type has no such value.
fn nearest(float: NumberType, number: &Number) -> Option<u64> {
    match float.element() {
        ElementType::Float32 => Some(number.as_f32().to_bits64()),
        ElementType::Float64 => Some(number.as_f64().to_bits64()),
        _ => float.float_format()?.nearest(rounded_to_odd(number)),
    }
}

/// Returns the shortest decimal that parses to these bits, always with a fraction or an exponent. `None` for NaN,
/// infinities and bits that the type does not have.
fn shortest(float: NumberType, bits: u64) -> Option<Number> {
    if let Some(small) = float.small_float() {
        return shortest_by_trying(float, small.to_f64(bits)?, bits);
    }
    match float.element() {
        ElementType::Float16 => shortest_by_trying(float, f64::from(f16::from_bits64(bits)), bits),
        ElementType::Float32 => Number::from_shortest(f32::from_bits64(bits)),
        ElementType::Float64 => Number::from_shortest(f64::from_bits64(bits)),
        _ => None,
    }
}

/// Returns the bits of an infinity, if the type has one.
fn infinity(float: NumberType, negative: bool) -> Option<u64> {
    let format = float.float_format().filter(|format| format.is_ieee())?;
    Some(format.infinity() | if negative { format.sign() } else { 0 })
}

/// Returns the float64 that rounds to a float of at most 12 significant bits as the number itself does. That is the
/// nearest, or its odd neighbour if only the lost digits decide a tie.
fn rounded_to_odd(number: &Number) -> f64 {
    /// The least number of trailing zeros of a tie.
    const TIE_ZEROS: u32 = 40;
    let value = number.as_f64();
    // A tie between neighbours of 12 significant bits has 13 of them. The last 40 of the 53 bits are then 0.
    if !value.is_finite() || value.to_bits().trailing_zeros() < TIE_ZEROS {
        return value;
    }
    // As many decimal digits as binary ones are exact if a tie is possible.
    let exact = Number::parse(&format!("{:.140}", value.abs()));
    let order = exact.map(|exact| number.decimal().compare_magnitude(&exact.decimal()));
    match order {
        Some(Ordering::Less) if value != 0.0 => f64::from_bits(value.to_bits() - 1),
        Some(Ordering::Greater) => f64::from_bits(value.to_bits() | 1),
        _ => value,
    }
}

/// Finds the shortest decimal by trying, and the nearest of several that are equally short. 5 digits are always enough.
fn shortest_by_trying(float: NumberType, exact: f64, bits: u64) -> Option<Number> {
    if !exact.is_finite() {
        return None;
    }
    (0..5).find_map(|places| shortest_with(float, (exact, bits), places)).or_else(|| Number::from_shortest(exact))
}

/// Returns the nearest decimal with `places` digits after its first that rounds to the same bits.
fn shortest_with(float: NumberType, (exact, bits): (f64, u64), places: usize) -> Option<Number> {
    let text = format!("{exact:.places$e}");
    let (digits, exponent) = text.split_once('e')?;
    let digits: i64 = digits.replace('.', "").parse().ok()?;
    let exponent = exponent.parse::<i64>().ok()? - i64::try_from(places).ok()?;
    if digits == 0 {
        return Number::from_shortest(exact);
    }
    // Values are closer below a power of two, so the decimal nearest to a value need not round to it.
    let around = [digits - 1, digits, digits + 1];
    let decimals = around.iter().filter_map(|digits| format!("{digits}e{exponent}").parse::<f64>().ok());
    let candidates = decimals.filter_map(|decimal| Some((decimal, Number::from_shortest(decimal)?)));
    candidates
        .filter(|(_, number)| nearest(float, number) == Some(bits))
        .min_by(|a, b| (a.0 - exact).abs().total_cmp(&(b.0 - exact).abs()))
        .map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use num_traits::{One, Signed, Zero};
    use proptest::prelude::*;

    use super::*;

    fn number(literal: &str) -> Number {
        Number::parse(literal).unwrap()
    }

    fn nearest(element: ElementType, number: &Number) -> u64 {
        super::nearest(NumberType::of(element), number).unwrap()
    }

    fn shortest(element: ElementType, bits: u64) -> Option<Number> {
        super::shortest(NumberType::of(element), bits)
    }

    fn shortest_f16(value: f16) -> Option<Number> {
        shortest(ElementType::Float16, value.to_bits64())
    }

    #[test]
    fn every_finite_float16_has_a_shortest_decimal_that_comes_back() {
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits);
            let Some(literal) = shortest_f16(value) else {
                assert!(!value.is_finite());
                continue;
            };
            assert_eq!(nearest(ElementType::Float16, &literal), u64::from(bits), "{literal}");
            assert!(!literal.is_integer_literal());
        }
        let shortest = |bits| shortest(ElementType::Float16, bits).unwrap().to_string();
        assert_eq!(shortest(0x2e66), "0.1");
        assert_eq!(shortest(0x3555), "0.3333");
        assert_eq!(shortest(0x0001), "6e-8");
        assert_eq!(shortest(0x7bff), "65500.0");
        assert_eq!(shortest(0x8000), "-0.0");
    }

    #[test]
    fn no_float16_has_a_shorter_decimal() {
        // No decimal with one digit fewer than the result rounds to the value. It is enough to try the two around it.
        for bits in 1..0x7c00_u16 {
            let exact = f64::from(f16::from_bits(bits));
            let chosen = shortest_f16(f16::from_bits(bits)).unwrap();
            let digits = format!("{:e}", chosen.as_f64()).split('e').next().unwrap().replace('.', "").len();
            let Some(places) = digits.checked_sub(2) else { continue };
            let around = format!("{exact:.places$e}");
            let (mantissa, exponent) = around.split_once('e').unwrap();
            let mantissa: i64 = mantissa.replace('.', "").parse().unwrap();
            let exponent: i64 = exponent.parse::<i64>().unwrap() - i64::try_from(places).unwrap();
            for candidate in [mantissa - 1, mantissa, mantissa + 1] {
                let candidate = number(&format!("{candidate}e{exponent}"));
                let found = nearest(ElementType::Float16, &candidate);
                assert_ne!(found, u64::from(bits), "{candidate} is shorter than {chosen}");
            }
        }
    }

    fn power(base: u32, exponent: i64) -> BigRational {
        let value = BigRational::from(BigInt::from(base).pow(u32::try_from(exponent.abs()).unwrap()));
        if exponent < 0 { value.recip() } else { value }
    }

    /// Returns the value of a float's bits, with this number of stored significand bits. An infinity is the next power
    /// of two.
    fn value_of(magnitude_bits: u64, significand_bits: u32, bias: i64) -> BigRational {
        let biased = i64::try_from(magnitude_bits >> significand_bits).unwrap();
        let fraction = BigRational::from(BigInt::from(magnitude_bits & ((1 << significand_bits) - 1)));
        let hidden = if biased == 0 { BigRational::zero() } else { power(2, significand_bits.into()) };
        (fraction + hidden) * power(2, biased.max(1) - bias - i64::from(significand_bits))
    }

    /// Checks the definition: no neighbour is nearer, and at equal distance the bits are even.
    fn assert_nearest(exact: &BigRational, bits: u64, significand_bits: u32, exponent_bias: i64) {
        let distance = |bits: u64| (exact - value_of(bits, significand_bits, exponent_bias)).abs();
        let own = distance(bits);
        let infinity = u64::try_from(2 * exponent_bias + 1).unwrap() << significand_bits;
        assert!(bits <= infinity);
        if bits > 0 {
            let below = distance(bits - 1);
            assert!(
                own < below
                    || own == below && bits.is_multiple_of(2)
                    || bits == infinity && exact >= &value_of(bits, significand_bits, exponent_bias)
            );
        }
        if bits < infinity {
            let above = distance(bits + 1);
            assert!(own < above || own == above && bits.is_multiple_of(2));
        }
    }

    proptest! {
        #[test]
        fn floats_are_nearest_by_exact_rationals(
            digits in "[1-9][0-9]{0,40}", exponent in -70_i64..45, target in any::<u16>(), tail in 0_u32..3,
        ) {
            // Half of the cases are random decimals, half are at, just below or just above the middle of two f16.
            let middle = {
                let bits = u64::from(target % 0x7c00);
                let sum = value_of(bits, 10, 15) + value_of(bits + 1, 10, 15);
                let middle = sum / (BigRational::one() + BigRational::one());
                let nudge = power(10, -40);
                match tail { 0 => middle, 1 => middle + nudge, _ => middle - nudge }
            };
            let scaled = (&middle * power(10, 40)).to_integer();
            prop_assert_eq!(BigRational::from(scaled.clone()) * power(10, -40), middle.clone());
            for (literal, exact) in [
                (format!("{digits}e{exponent}"), BigRational::from(digits.parse::<BigInt>().unwrap()) * power(10, exponent)),
                (format!("{scaled}e-40"), middle),
            ] {
                let number = number(&literal);
                assert_nearest(&exact, nearest(ElementType::Float16, &number), 10, 15);
                assert_nearest(&exact, nearest(ElementType::Float32, &number), 23, 127);
                assert_nearest(&exact, nearest(ElementType::Float64, &number), 52, 1023);
            }
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

//! Floats from decimal text to bits, rounded once, and from bits to the shortest decimal.
//!
//! `half` rounds `f64` to `f16` in two steps (through `f32`, or with the low bits truncated). So `float16` uses the
//! rounding of the floats that only the registry has.

use std::cmp::Ordering;

use half::f16;

use crate::element::{Element as _, ElementType, NumberType};
use crate::metadata::json::Number;

/// Returns the bits of the nearest value to a number, ties to even. Beyond the range it is an infinity. `None` if the
/// type has no such value.
pub(super) fn nearest(float: NumberType, number: &Number) -> Option<u64> {
    match float.element() {
        ElementType::Float32 => Some(number.as_f32().to_bits64()),
        ElementType::Float64 => Some(number.as_f64().to_bits64()),
        _ => float.float_format()?.nearest(rounded_to_odd(number)),
    }
}

/// Returns the shortest decimal that parses to these bits, always with a fraction or an exponent. `None` for NaN,
/// infinities and bits that the type does not have.
pub(super) fn shortest(float: NumberType, bits: u64) -> Option<Number> {
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

/// Returns the bits of "NaN", if the type has one.
pub(super) fn canonical_nan(float: NumberType) -> Option<u64> {
    float.float_format()?.canonical_nan()
}

/// Returns the bits of an infinity, if the type has one.
pub(super) fn infinity(float: NumberType, negative: bool) -> Option<u64> {
    let format = float.float_format().filter(|format| format.is_ieee())?;
    Some(format.infinity() | if negative { format.sign() } else { 0 })
}

/// Returns the float64 that rounds to a float of at most 12 significant bits as the number itself does. That is the
/// nearest, or its odd neighbour if only the lost digits decide a tie.
fn rounded_to_odd(number: &Number) -> f64 {
    /// The least number of trailing zeros of a tie.
    const TIE_ZEROS: u32 = 40;
    let value = number.as_f64();
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
}

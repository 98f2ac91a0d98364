//! Numbers of JSON with their literals, and their decimal value.

use std::cmp::Ordering;

use super::Json;

/// A number as its literal: `1.0`, `1e3` and 30-digit integers stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number(pub(super) Box<str>);

impl Number {
    /// Parses the literal of a number. `None` if the text is not a JSON number.
    pub fn parse(literal: &str) -> Option<Self> {
        match Json::parse_str(literal) {
            // A longer text has white space around the number.
            Ok(Json::Number(number)) if number.0.len() == literal.len() => Some(number),
            _ => None,
        }
    }

    /// Returns the literal.
    pub fn literal(&self) -> &str {
        &self.0
    }

    /// Returns true if the literal has no fraction and no exponent.
    pub fn is_integer_literal(&self) -> bool {
        !self.0.contains(['.', 'e', 'E'])
    }

    /// Returns the value of an integer literal from 0 to 2^64-1, else `None`.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i128().and_then(|value| u64::try_from(value).ok())
    }

    /// Returns the value of an integer literal that fits, else `None`.
    pub fn as_i128(&self) -> Option<i128> {
        if self.is_integer_literal() { self.0.parse().ok() } else { None }
    }

    /// Returns the value if it is integral in any notation (`5.0`, `1e3`) and fits, else `None`.
    pub fn as_integral_i128(&self) -> Option<i128> {
        self.as_i128().or_else(|| self.decimal().to_i128())
    }

    /// Returns the nearest `f64` (ties to even), or an infinity beyond its range.
    pub fn as_f64(&self) -> f64 {
        // `parse` accepts every JSON number, and rounds correctly.
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// Returns the nearest `f32` (ties to even), rounded once, or an infinity beyond its range.
    pub fn as_f32(&self) -> f32 {
        self.0.parse().unwrap_or(f32::NAN)
    }

    /// The shortest decimal that gives this value back, always with a fraction or an exponent: `1.0`, `1e300`,
    /// `-0.0`; of an `f32` `0.1`, not `0.10000000149011612`; `None` for NaN and infinities.
    pub fn from_shortest<F: Into<f64> + Copy + std::fmt::Debug>(value: F) -> Option<Self> {
        // `Debug` prints the shortest digits, with `.0` if there is neither fraction nor exponent.
        value.into().is_finite().then(|| Number(format!("{value:?}").into()))
    }

    /// Returns the exact value.
    pub fn decimal(&self) -> Decimal {
        Decimal::parse(&self.0)
    }

    /// Returns true if two literals are the same number. `-0` is not `0`.
    pub fn same_value(&self, other: &Number) -> bool {
        self.0 == other.0 || self.decimal() == other.decimal()
    }
}

impl<T: Into<i128>> From<T> for Number {
    fn from(value: T) -> Self {
        Number(value.into().to_string().into())
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The limit of exponents. No literal has enough digits to compensate a greater one.
const EXPONENT_LIMIT: i128 = 1 << 100;

/// The exact value of a literal: `±0.digits × 10^magnitude`, digits without leading and trailing zeros.
///
/// Zero has no digits, the least magnitude, and keeps its sign. All exponents beyond 2^100 are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    /// The position of the first digit: 1 for units, 2 for tens.
    magnitude: i128,
    /// In ASCII.
    digits: Vec<u8>,
}

impl Decimal {
    fn parse(literal: &str) -> Self {
        let (negative, unsigned) = literal.strip_prefix('-').map_or((false, literal), |unsigned| (true, unsigned));
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = integer.bytes().chain(fraction.bytes()).collect();
        // Only digits and a sign remain, so only a large exponent can fail to parse.
        let most = if exponent.starts_with('-') { -EXPONENT_LIMIT } else { EXPONENT_LIMIT };
        let exponent: i128 = exponent.parse().unwrap_or(most);
        let leading_zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        digits.drain(..leading_zeros);
        let magnitude = exponent.clamp(-EXPONENT_LIMIT, EXPONENT_LIMIT) + digits.len() as i128 - fraction.len() as i128;
        let significant = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
        digits.truncate(significant);
        Decimal { negative, magnitude: if digits.is_empty() { i128::MIN } else { magnitude }, digits }
    }

    /// Returns the value if it is integral and fits, else `None`.
    pub fn to_i128(&self) -> Option<i128> {
        if self.digits.is_empty() {
            return Some(0);
        }
        // `i128` has at most 39 digits. Without this limit, a short text such as `1e999999999` would become a huge one.
        let length = usize::try_from(self.magnitude).ok().filter(|length| (self.digits.len()..=39).contains(length))?;
        let mut literal = String::from(if self.negative { "-" } else { "" });
        literal.push_str(std::str::from_utf8(&self.digits).ok()?);
        literal.extend(std::iter::repeat_n('0', length - self.digits.len()));
        literal.parse().ok()
    }

    /// Compares the absolute values, exactly.
    pub fn compare_magnitude(&self, other: &Decimal) -> Ordering {
        // Without trailing zeros, the digits sort as strings do.
        (self.magnitude, &self.digits).cmp(&(other.magnitude, &other.digits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(literal: &str) -> Number {
        Number::parse(literal).unwrap()
    }

    #[test]
    fn number_parse_takes_json_numbers_only() {
        for literal in ["0", "-0", "10", "1.5", "-0.0", "1e5", "1E+05", "12.25e-3"] {
            assert_eq!(number(literal).literal(), literal);
        }
        for text in
            ["", "-", "+1", "01", "-01", ".5", "1.", "1e", "1e+", "0x1", "NaN", "1_0", " 1", "1 ", "1e1e1", "1.2.3"]
        {
            assert_eq!(Number::parse(text), None, "{text}");
        }
    }
}

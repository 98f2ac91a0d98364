//! Numbers by their literal, and the exact decimal that a literal stands for.

/// A number as it was written: `1.0`, `1e3` and 30-digit integers stay what they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

/// The exact value of a literal: `±digits × 10^exponent`, digits without leading and trailing zeros.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i128,
}

impl Number {
    /// A number by its literal; `None` where the text is no JSON number.
    pub fn parse(_literal: &str) -> Option<Self> {
        unimplemented!()
    }

    /// The literal.
    pub fn literal(&self) -> &str {
        &self.0
    }

    /// Whether it is written without fraction and exponent.
    pub fn is_integer_literal(&self) -> bool {
        !self.0.contains(['.', 'e', 'E'])
    }

    /// The value, where it is written as an integer from 0 to 2^64-1.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i128().and_then(|value| u64::try_from(value).ok())
    }

    /// The value, where it is written as an integer that fits.
    pub fn as_i128(&self) -> Option<i128> {
        if self.is_integer_literal() { self.0.parse().ok() } else { None }
    }

    /// The value, where it is integral however written (`5.0`, `1e3`) and fits.
    pub fn as_integral_i128(&self) -> Option<i128> {
        unimplemented!()
    }

    /// The nearest `f64` (ties to even); infinite beyond its range.
    pub fn as_f64(&self) -> f64 {
        unimplemented!()
    }

    /// The shortest decimal that gives this value back, always with a fraction or an exponent: `1.0`, `1e300`,
    /// `-0.0`; `None` for NaN and infinities.
    pub fn from_f64_shortest(_value: f64) -> Option<Self> {
        unimplemented!()
    }

    /// The same for an `f32`: `0.1`, not `0.10000000149011612`.
    pub fn from_f32_shortest(_value: f32) -> Option<Self> {
        unimplemented!()
    }

    /// The exact value.
    pub fn decimal(&self) -> Decimal {
        unimplemented!()
    }

    /// Whether two literals stand for the same number; `-0` is not `0`.
    pub fn same_value(&self, other: &Number) -> bool {
        self.decimal() == other.decimal()
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Number(value.to_string().into())
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Number(value.to_string().into())
    }
}

impl From<i128> for Number {
    fn from(value: i128) -> Self {
        Number(value.to_string().into())
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

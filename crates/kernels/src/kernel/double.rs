//! Sums with negligible loss: an unevaluated pair of float64, about 106 bits.

use std::ops::{Add, Sub};

use num_traits::AsPrimitive;

/// `high + low`, where `low` is at most half a unit in the last place of `high`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Double {
    high: f64,
    low: f64,
}

/// Returns the sum of two numbers, and its rounding error (Knuth's `TwoSum`).
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let lost = (a - (sum - b_part)) + (b - b_part);
    (sum, lost)
}

/// Returns the product of two numbers, and its rounding error.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

impl Double {
    /// Makes a number from a sum and its rounding error, or a missing part.
    #[inline(always)]
    pub(crate) fn new(high: f64, low: f64) -> Self {
        let (high, low) = two_sum(high, low);
        Double { high, low }
    }

    /// Makes a number from an integer, exact up to 106 bits.
    pub(crate) fn of_integer(integer: i128) -> Self {
        let high: f64 = integer.as_();
        // The second part is the loss of the first cast. The float 2^127 saturates.
        Double::new(high, integer.wrapping_sub(high.as_()).as_())
    }

    pub(crate) fn times(self, factor: f64) -> Self {
        let (high, low) = two_product(self.high, factor);
        Double::new(high, low + self.low * factor)
    }

    /// Returns the value rounded to one float64.
    pub(crate) fn value(self) -> f64 {
        self.high + self.low
    }
}

/// Returns a count as the nearest float64.
#[expect(clippy::cast_precision_loss, reason = "a count rounded to 53 bits is within the error of every figure")]
pub(crate) fn approximate(count: u64) -> f64 {
    count as f64
}

impl From<f64> for Double {
    fn from(value: f64) -> Self {
        Double { high: value, low: 0.0 }
    }
}

impl Add for Double {
    type Output = Double;

    fn add(self, other: Double) -> Double {
        // The cheaper sum of two pairs adds both low parts at once. It loses its digits if the high parts cancel.
        let (high, lost) = two_sum(self.high, other.high);
        let (low, lost_low) = two_sum(self.low, other.low);
        let middle = Double::new(high, lost + low);
        Double::new(middle.high, middle.low + lost_low)
    }
}

impl Sub for Double {
    type Output = Double;

    fn sub(self, other: Double) -> Double {
        self + Double { high: -other.high, low: -other.low }
    }
}

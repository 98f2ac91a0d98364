//! The error figures of a quantisation.

use serde::{Deserialize, Serialize};

/// Counts and errors over quantised elements.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct QuantizeFigures {
    /// All elements.
    pub count: u64,
    /// NaN and missing values.
    pub nan: u64,
    /// Finite values out of range that were clamped or wrapped, and those that were moved off an inner NaN code.
    pub clamped: u64,
    /// The greatest `|decode(encode(x)) - x|` of finite values in range, exact in float64 from the decoded value.
    #[serde(with = "float_bits")]
    pub max_abs_error: f64,
    /// The greatest such error of the clamped values.
    #[serde(with = "float_bits")]
    pub max_abs_error_clamped: f64,
    /// The sum of `(error * normalizer)^2` over finite values in range.
    #[serde(with = "float_bits")]
    pub sum_of_squares: f64,
    /// A power of two near 1/error that keeps the squares in range (0 before any).
    #[serde(with = "float_bits")]
    pub normalizer: f64,
    /// Infinities that stay unchanged.
    pub infinite: u64,
    /// Values that a change of data type rounds to integers.
    pub rounded: u64,
}

/// Floats as the integers of their bits. JSON has no infinities, and this form is exact.
pub mod float_bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the bits.
    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.to_bits().serialize(to)
    }

    /// Reads the bits.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

impl QuantizeFigures {
    /// Adds the figures of other elements of the same job.
    pub fn merge(&mut self, other: &QuantizeFigures) {
        self.count = self.count.saturating_add(other.count);
        self.nan = self.nan.saturating_add(other.nan);
        self.clamped = self.clamped.saturating_add(other.clamped);
        self.max_abs_error = self.max_abs_error.max(other.max_abs_error);
        self.max_abs_error_clamped = self.max_abs_error_clamped.max(other.max_abs_error_clamped);
        let normalizers = [&*self, other].into_iter().filter(|figures| figures.sum_of_squares > 0.0);
        let least = normalizers.map(|figures| figures.normalizer).reduce(f64::min);
        let normalizer = least.unwrap_or(self.normalizer.max(other.normalizer));
        self.sum_of_squares = self.squares_in(normalizer) + other.squares_in(normalizer);
        self.normalizer = normalizer;
        self.infinite = self.infinite.saturating_add(other.infinite);
        self.rounded = self.rounded.saturating_add(other.rounded);
    }

    /// Returns the sum of squares with another normalizer. Values that underflow are negligible next to the greater
    /// errors.
    fn squares_in(&self, normalizer: f64) -> f64 {
        if self.normalizer == normalizer || self.sum_of_squares <= 0.0 {
            return self.sum_of_squares;
        }
        let ratio = normalizer / self.normalizer;
        self.sum_of_squares * ratio * ratio
    }

    /// Returns the root of the mean square error over finite values in range. It is 0 if there are none.
    pub fn rms_error(&self) -> f64 {
        let others = [self.nan, self.clamped, self.infinite];
        let num_valid = others.into_iter().fold(self.count, u64::saturating_sub);
        if num_valid == 0 || self.sum_of_squares <= 0.0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count rounded to 53 bits is far within the figure's error")]
        let mean = self.sum_of_squares / num_valid as f64;
        mean.sqrt() / self.normalizer
    }
}

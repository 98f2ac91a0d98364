//! The error figures of a quantisation.

/// What a quantisation did to the elements that it saw.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QuantizeFigures {
    /// Elements.
    pub count: u64,
    /// NaN and missing values.
    pub nan: u64,
    /// Finite values out of range that were clamped or wrapped, and those moved off an inner NaN code.
    pub clamped: u64,
    /// Greatest `|decode(encode(x)) - x|` over finite values in range, exact in float64 from the decoded value.
    pub max_abs_error: f64,
    /// The same over the clamped values.
    pub max_abs_error_clamped: f64,
    /// Sum over finite values in range of `(error * normalizer)^2`.
    pub sum_of_squares: f64,
    /// Power of two near 1/step that keeps the squares in range; the same for all figures of a job (0 before any).
    pub normalizer: f64,
}

impl QuantizeFigures {
    /// Adds the figures of other elements of the same job.
    pub fn merge(&mut self, other: &QuantizeFigures) {
        self.count = self.count.saturating_add(other.count);
        self.nan = self.nan.saturating_add(other.nan);
        self.clamped = self.clamped.saturating_add(other.clamped);
        self.max_abs_error = self.max_abs_error.max(other.max_abs_error);
        self.max_abs_error_clamped = self.max_abs_error_clamped.max(other.max_abs_error_clamped);
        self.sum_of_squares += other.sum_of_squares;
        self.normalizer = self.normalizer.max(other.normalizer);
    }

    /// Root of the mean square error over finite values in range; 0 where there are none.
    pub fn rms_error(&self) -> f64 {
        let num_valid = self.count.saturating_sub(self.nan).saturating_sub(self.clamped);
        if num_valid == 0 || self.sum_of_squares <= 0.0 {
            return 0.0;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "a count rounded to 53 bits is far within the figure's error"
        )]
        let mean = self.sum_of_squares / num_valid as f64;
        mean.sqrt() / self.normalizer
    }
}

//! `scale_offset`, then `cast_value` to an integer, in one pass with the error figures. (API; being filled in)

use super::{ElementFault, InstructionSet, OutOfRange, Rounding};
use crate::element::NumberType;

/// What a quantisation does.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantizeOptions {
    /// The float type of the values that come in.
    pub source: NumberType,
    /// The integer type of the codes.
    pub target: NumberType,
    /// Bits of `scale_offset`'s offset in the source type; `None` skips the operation.
    pub offset: Option<u64>,
    /// Bits of its scale; `None` skips the operation.
    pub scale: Option<u64>,
    /// `cast_value`'s rounding.
    pub rounding: Rounding,
    /// `cast_value`'s `out_of_range`.
    pub out_of_range: OutOfRange,
    /// The least and greatest code that a number may get (the NaN code left out where it is at an end).
    pub codes: (i64, i64),
    /// The code of NaN; a NaN without one is a fault, a number that gets it is one (under `Clamp` the next code inside).
    pub nan_code: Option<i64>,
    /// Values that count as NaN: bit patterns, compared as numbers.
    pub missing: Vec<u64>,
}

/// What a quantisation did to the elements that it saw.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QuantizeFigures {
    /// Elements.
    pub count: u64,
    /// NaN and missing values.
    pub nan: u64,
    /// Finite values out of range that were clamped or wrapped.
    pub clamped: u64,
    /// Greatest `|decode(encode(x)) - x|` over finite values in range, exact in float64 from the decoded value.
    pub max_abs_error: f64,
    /// The same over the clamped values.
    pub max_abs_error_clamped: f64,
    /// Sum over finite values in range of `(error * normalizer)^2`.
    pub sum_of_squares: f64,
    /// Power of two near 1/step that keeps the squares in range; the same for all figures of a job.
    pub normalizer: f64,
}

impl QuantizeFigures {
    /// Adds the figures of other elements of the same job.
    pub fn merge(&mut self, _other: &QuantizeFigures) {
        unimplemented!()
    }

    /// Root of the mean square error over finite values in range; 0 where there are none.
    pub fn rms_error(&self) -> f64 {
        unimplemented!()
    }
}

/// A bound quantisation.
#[derive(Debug, Clone)]
pub struct Quantize {
    options: QuantizeOptions,
}

impl Quantize {
    /// Binds it to the best loop that this machine has.
    pub fn new(options: QuantizeOptions) -> Self {
        Self::with_instruction_set(options, InstructionSet::detect())
    }

    /// The same, with the loop of one instruction set.
    pub fn with_instruction_set(options: QuantizeOptions, _instruction_set: InstructionSet) -> Self {
        Quantize { options }
    }

    /// What was bound.
    pub fn options(&self) -> &QuantizeOptions {
        &self.options
    }

    /// Encodes `source` (native-endian floats) into codes and adds to `figures`.
    pub fn convert(
        &self,
        _source: &[u8],
        _target: &mut [u8],
        _figures: &mut QuantizeFigures,
    ) -> Result<(), ElementFault> {
        unimplemented!()
    }
}

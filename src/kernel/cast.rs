//! `cast_value` over slices. (API; being filled in)

use super::{ElementFault, InstructionSet, OutOfRange, Rounding};
use crate::element::NumberType;

/// What one direction of `cast_value` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CastOptions {
    /// The type of the values that come in.
    pub source: NumberType,
    /// The type of the values that go out.
    pub target: NumberType,
    /// How inexact values are rounded.
    pub rounding: Rounding,
    /// What happens outside the target's range.
    pub out_of_range: OutOfRange,
    /// `(source bits, target bits)`, each zero-extended to 64 bits, in the order of the metadata; the first match wins.
    pub scalar_map: Vec<(u64, u64)>,
}

/// A bound cast.
#[derive(Debug, Clone)]
pub struct Cast {
    options: CastOptions,
}

impl Cast {
    /// Binds a cast to the best loop that this machine has.
    pub fn new(options: CastOptions) -> Self {
        Self::with_instruction_set(options, InstructionSet::detect())
    }

    /// Binds a cast to the loop of one instruction set (falls back to the baseline where the machine lacks it).
    pub fn with_instruction_set(options: CastOptions, _instruction_set: InstructionSet) -> Self {
        Cast { options }
    }

    /// What was bound.
    pub fn options(&self) -> &CastOptions {
        &self.options
    }

    /// Converts the elements of `source` into `target` (native-endian elements, any alignment, equal counts).
    ///
    /// On a fault the contents of `target` are unspecified.
    pub fn convert(&self, _source: &[u8], _target: &mut [u8]) -> Result<(), ElementFault> {
        unimplemented!()
    }

    /// Converts one value by the exact path; bits are zero-extended to 64.
    pub fn convert_one(&self, _bits: u64) -> Result<u64, super::FaultKind> {
        unimplemented!()
    }
}

//! `scale_offset`, then `cast_value` to an integer, in one pass with the error figures.
//!
//! Encoding is that of [`ScaleOffset`](super::scale_offset::ScaleOffset) and [`Cast`](super::cast::Cast), decoding the
//! real one, true division and all. The differences are measured where they arise, while a tile is in the cache.

mod exact;
mod figures;

pub use self::figures::QuantizeFigures;

use self::exact::ExactQuantize;
use super::tile::{for_each_tile, read_bits, write_bits};
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

/// A bound quantisation.
#[derive(Debug, Clone)]
pub struct Quantize {
    exact: ExactQuantize,
}

impl Quantize {
    /// Binds it to the best loop that this machine has.
    pub fn new(options: QuantizeOptions) -> Self {
        Self::with_instruction_set(options, InstructionSet::detect())
    }

    /// The same, with the loop of one instruction set.
    pub fn with_instruction_set(options: QuantizeOptions, _instruction_set: InstructionSet) -> Self {
        Quantize { exact: ExactQuantize::new(options) }
    }

    /// What was bound.
    pub fn options(&self) -> &QuantizeOptions {
        self.exact.options()
    }

    /// Encodes `source` (native-endian floats) into codes and adds to `figures`.
    ///
    /// On a fault the contents of `target` and `figures` are unspecified.
    pub fn convert(
        &self,
        source: &[u8],
        target: &mut [u8],
        figures: &mut QuantizeFigures,
    ) -> Result<(), ElementFault> {
        let (source_size, target_size) = (self.options().source.size(), self.options().target.size());
        figures.normalizer = self.exact.normalizer();
        for_each_tile((source, source_size), (target, target_size), |source, target, first| {
            self.convert_exactly(source, target, (first, &mut *figures))
        })
    }

    /// Walks a tile by the exact path; `first` is the index of its first element.
    fn convert_exactly(
        &self,
        source: &[u8],
        target: &mut [u8],
        (first, figures): (usize, &mut QuantizeFigures),
    ) -> Result<(), ElementFault> {
        let (source_size, target_size) = (self.options().source.size(), self.options().target.size());
        for index in 0..source.len() / source_size {
            let bits = read_bits(source, source_size, index);
            let coded =
                self.exact.encode(bits).map_err(|kind| ElementFault { kind, index: first + index })?;
            coded.add_to(figures);
            write_bits(target, target_size, index, coded.bits);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

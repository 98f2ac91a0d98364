//! `scale_offset` over slices. (API; being filled in)

use super::{ElementFault, FaultKind, InstructionSet};
use crate::element::NumberType;

/// A bound `scale_offset`: absent parameters skip their operation.
#[derive(Debug, Clone)]
pub struct ScaleOffset {
    number_type: NumberType,
    offset: Option<u64>,
    scale: Option<u64>,
}

impl ScaleOffset {
    /// Binds the codec; bits are zero-extended to 64. A zero `scale` must have been refused before.
    pub fn new(number_type: NumberType, offset: Option<u64>, scale: Option<u64>) -> Self {
        Self::with_instruction_set(number_type, offset, scale, InstructionSet::detect())
    }

    /// The same, with the loop of one instruction set.
    pub fn with_instruction_set(
        number_type: NumberType,
        offset: Option<u64>,
        scale: Option<u64>,
        _instruction_set: InstructionSet,
    ) -> Self {
        ScaleOffset { number_type, offset, scale }
    }

    /// The type of the elements, on both sides.
    pub fn number_type(&self) -> NumberType {
        self.number_type
    }

    /// The bits of the offset, where one is given.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// The bits of the scale, where one is given.
    pub fn scale(&self) -> Option<u64> {
        self.scale
    }

    /// `(x - offset) * scale`, each operation rounded once in the type.
    pub fn encode(&self, _source: &[u8], _target: &mut [u8]) -> Result<(), ElementFault> {
        unimplemented!()
    }

    /// `x / scale + offset`, each operation rounded once in the type.
    pub fn decode(&self, _source: &[u8], _target: &mut [u8]) -> Result<(), ElementFault> {
        unimplemented!()
    }

    /// Encodes one value by the exact path.
    pub fn encode_one(&self, _bits: u64) -> Result<u64, FaultKind> {
        unimplemented!()
    }

    /// Decodes one value by the exact path.
    pub fn decode_one(&self, _bits: u64) -> Result<u64, FaultKind> {
        unimplemented!()
    }
}

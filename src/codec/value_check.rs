//! Elements of types not all of whose bytes are values, where no codec looks at them: `bool`, and structs with fields of
//! it. What lies beyond the edge of the array is padding, which may hold anything.

use super::chain::BoundChain;
use super::fault::{ChainFault, CodecError};
use crate::data_type::DataType;
use crate::grid::unravel;
use crate::kernel::{ElementFault, FaultKind};

/// Where the bytes of `bool` lie in an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueCheck {
    offsets: Vec<usize>,
    size: usize,
}

impl ValueCheck {
    /// The check of a type; `None` where every byte is a value, or codecs refuse those that are not.
    pub fn of(data_type: &DataType) -> Option<Self> {
        let mut offsets = Vec::new();
        match data_type {
            DataType::Bool => offsets.push(0),
            DataType::Struct(_) | DataType::Optional(_) => gather(data_type, 0, &mut offsets),
            _ => return None,
        }
        let size = data_type.size().filter(|size| *size > 0 && !offsets.is_empty())?;
        Some(ValueCheck { offsets, size })
    }

    /// Refuses the first byte other than 0 and 1 among elements of an array of `shape`, in C order, that lies in the box
    /// of shape `valid` at its origin. Its position counts from that origin.
    pub fn check(&self, elements: &[u8], shape: &[u64], valid: &[u64]) -> Result<(), ChainFault> {
        // The bytes joined by OR are at most 1 where each is.
        if self.size == 1 && elements.iter().fold(0, |joined, byte| joined | byte) <= 1 {
            return Ok(());
        }
        for (index, element) in elements.chunks_exact(self.size).enumerate() {
            let mut bytes = self.offsets.iter().filter_map(|offset| element.get(*offset));
            let Some(byte) = bytes.find(|byte| **byte > 1) else { continue };
            let position = unravel(index as u64, shape);
            if position.iter().zip(valid).all(|(index, end)| index < end) {
                let kind = CodecError::Element {
                    fault: ElementFault { kind: FaultKind::NotBool, index },
                    position: Some(position.into_boxed_slice()),
                    bits: u64::from(*byte),
                    types: None,
                };
                return Err(ChainFault::new("-", "bool", kind));
            }
        }
        Ok(())
    }
}

impl BoundChain {
    /// True if decoded elements may be no values of their type though every codec took them.
    pub fn checks_values(&self) -> bool {
        ValueCheck::of(&self.decoded().data_type).is_some()
    }

    /// Refuses decoded elements of an array of `shape` that are no values of their type and lie in the box of shape
    /// `valid` at its origin.
    pub fn check_values(&self, elements: &[u8], shape: &[u64], valid: &[u64]) -> Result<(), ChainFault> {
        ValueCheck::of(&self.decoded().data_type).map_or(Ok(()), |check| check.check(elements, shape, valid))
    }
}

/// Adds the places of `bool` in an element of `data_type` that begins at `start`.
fn gather(data_type: &DataType, start: usize, offsets: &mut Vec<usize>) {
    match data_type {
        DataType::Bool => offsets.push(start),
        DataType::Struct(structure) => {
            let mut start = start;
            for field in structure.fields() {
                gather(&field.data_type, start, offsets);
                start += field.data_type.size().unwrap_or(0);
            }
        }
        DataType::Optional(inner) => {
            offsets.push(start);
            gather(inner, start + 1, offsets);
        }
        _ => {}
    }
}

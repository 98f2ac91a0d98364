//! Checks of elements whose bytes may not be values, and that no codec checks: `bool`, and structs with fields of it. Also
//! numbers that do not use all bits of their primitive, if the chain has no codec that gives bytes and checks them.
//! Elements beyond the edge of the array are padding, with any bytes.

use super::chain::BoundChain;
use super::fault::{ChainFault, CodecError};
use crate::data_type::DataType;
use crate::element::{element_bits, is_of_type};
use crate::grid::unravel;
use crate::kernel::{ElementFault, FaultKind};
use crate::pipeline::Representation;

impl BoundChain {
    /// Returns true if decoded elements may be invalid although no codec has failed.
    pub fn checks_values(&self) -> bool {
        bool_offsets(&self.decoded().data_type).is_some()
    }

    /// Fails for the first byte of a decoded bool other than 0 and 1, or the first number that is not of its type if no
    /// codec checks it. `elements` are those of an array of `shape` in C order. Only those in the box of shape `valid`
    /// at the origin are checked. The position in the error is relative to that origin.
    pub fn check_values(&self, elements: &[u8], shape: &[u64], valid: &[u64]) -> Result<(), ChainFault> {
        let fault = |name: String, kind, index, bits, types| {
            let position = Some(unravel(index as u64, shape).into_boxed_slice());
            ChainFault::new(
                "-",
                name,
                CodecError::Element { fault: ElementFault { kind, index }, position, bits, types },
            )
        };
        if let (DataType::Number(number_type), Representation::Array(_)) = (&self.decoded().data_type, self.encoded()) {
            let mut all = elements.chunks_exact(number_type.size()).map(element_bits).enumerate();
            let Some((index, bits)) = all.find(|(_, bits)| !is_of_type(*bits, *number_type)) else { return Ok(()) };
            let types = Some((*number_type, *number_type));
            return Err(fault(number_type.name(), FaultKind::NotOfType, index, bits, types));
        }
        let Some((offsets, size)) = bool_offsets(&self.decoded().data_type) else { return Ok(()) };
        // The bitwise OR of all bytes is at most 1 only if each byte is.
        if size == 1 && elements.iter().fold(0, |joined, byte| joined | byte) <= 1 {
            return Ok(());
        }
        for (index, element) in elements.chunks_exact(size).enumerate() {
            let mut bytes = offsets.iter().filter_map(|offset| element.get(*offset));
            let Some(byte) = bytes.find(|byte| **byte > 1) else { continue };
            if unravel(index as u64, shape).iter().zip(valid).all(|(index, end)| index < end) {
                return Err(fault("bool".to_owned(), FaultKind::NotBool, index, u64::from(*byte), None));
            }
        }
        Ok(())
    }
}

/// Returns the offsets of the `bool` bytes in an element, and its size. `None` if every byte is a value, or if codecs
/// already check the values.
fn bool_offsets(data_type: &DataType) -> Option<(Vec<usize>, usize)> {
    let mut offsets = Vec::new();
    gather(data_type, 0, &mut offsets);
    let size = data_type.size().filter(|size| *size > 0 && !offsets.is_empty())?;
    Some((offsets, size))
}

/// Adds the offsets of `bool` in an element of `data_type` that begins at `start`.
fn gather(data_type: &DataType, start: usize, offsets: &mut Vec<usize>) {
    match data_type {
        DataType::Bool => offsets.push(start),
        DataType::Struct(structure) => {
            let mut start = start;
            for field in &structure.fields {
                gather(&field.data_type, start, offsets);
                start += field.data_type.size().unwrap_or(0);
            }
        }
        DataType::Optional(inner) => {
            // The first byte of an optional element is a bool: 1 if there is a value.
            offsets.push(start);
            gather(inner, start + 1, offsets);
        }
        _ => {}
    }
}

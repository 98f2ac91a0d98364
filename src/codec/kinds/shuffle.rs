//! `numcodecs.shuffle`: the first byte of each element, then the second of each, and so on.

use std::sync::Arc;

use super::error::{CodecError, reserve};
use super::member::{Absent, Form, Member};
use super::{BytesKind, Coder, Output, SizeRule};

const MEMBERS: &[Member] = &[Member::new("elementsize", Form::Integer(1, i32::MAX as i64), Absent::Integer(4))];

/// `numcodecs.shuffle`.
pub(crate) static SHUFFLE: BytesKind = BytesKind::new(
    MEMBERS,
    // 0 is as good as 1.
    |members, _| Some(Arc::new(Shuffle { element_size: members.integer_value::<usize>("elementsize").max(1) })),
    SizeRule::Same,
);

/// A configured `numcodecs.shuffle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shuffle {
    /// Bytes of an element, at least 1.
    element_size: usize,
}

impl Coder for Shuffle {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let count = elements(self.element_size, decoded)?;
        reserve(out.bytes, decoded.len())?;
        for place in 0..self.element_size {
            out.bytes.extend(decoded.iter().skip(place).step_by(self.element_size).take(count));
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        out.allowed.check(encoded.len())?;
        let count = elements(self.element_size, encoded)?;
        reserve(out.bytes, encoded.len())?;
        out.bytes.resize(encoded.len(), 0);
        for (place, plane) in encoded.chunks_exact(count.max(1)).enumerate() {
            let targets = out.bytes.iter_mut().skip(place).step_by(self.element_size);
            plane.iter().zip(targets).for_each(|(byte, target)| *target = *byte);
        }
        Ok(())
    }
}

/// The number of elements; a part of one is refused, as numcodecs refuses it.
fn elements(element_size: usize, bytes: &[u8]) -> Result<usize, CodecError> {
    if !bytes.len().is_multiple_of(element_size) {
        let reason = format!("{} bytes are not a whole number of elements of {element_size}", bytes.len());
        return Err(CodecError::corrupt(reason));
    }
    Ok(bytes.len() / element_size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::kinds::coding::{decoded, encoded};

    #[test]
    fn shuffle_gathers_bytes_by_their_place() {
        let shuffle = |element_size| Shuffle { element_size };
        assert_eq!(encoded(&shuffle(3), &[1, 2, 3, 4, 5, 6]).unwrap(), [1, 4, 2, 5, 3, 6]);
        assert_eq!(decoded(&shuffle(3), &[1, 4, 2, 5, 3, 6]).unwrap(), [1, 2, 3, 4, 5, 6]);
        assert!(decoded(&shuffle(4), &[1, 4, 2, 5, 3, 6]).is_err());
        assert!(decoded(&shuffle(4), &[]).is_ok());
    }
}

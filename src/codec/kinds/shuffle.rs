//! `numcodecs.shuffle`: the first byte of each element, then the second of each, and so on.

use super::error::{Fault, reserve};
use super::numcodecs::{self, Absent, Form, Member};
use super::{BytesKind, BytesTransform, Contexts, DecodedSize, SizeRule};

const MEMBERS: &[Member] =
    &[Member::new("elementsize", Form::Integer(1, i32::MAX as i64), Absent::Integer(4))];

/// `numcodecs.shuffle`.
pub(crate) static SHUFFLE: BytesKind = BytesKind::new(
    |source| {
        numcodecs::parse("numcodecs.shuffle", source, MEMBERS, |values| Shuffle {
            // 0 is as good as 1.
            element_size: usize::try_from(values.integer("elementsize")).unwrap_or(1).max(1),
        })
    },
    SizeRule::Same,
);

/// A configured `numcodecs.shuffle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shuffle {
    /// Bytes of an element, at least 1.
    element_size: usize,
}

impl BytesTransform for Shuffle {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, _: &mut Contexts) -> Result<(), Fault> {
        let count = elements(self.element_size, decoded)?;
        reserve(encoded, decoded.len())?;
        for place in 0..self.element_size {
            encoded.extend(decoded.iter().skip(place).step_by(self.element_size).take(count));
        }
        Ok(())
    }

    fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
        _: &mut Contexts,
    ) -> Result<(), Fault> {
        bound.check(encoded.len())?;
        let count = elements(self.element_size, encoded)?;
        reserve(decoded, encoded.len())?;
        decoded.resize(encoded.len(), 0);
        for (place, plane) in encoded.chunks_exact(count.max(1)).enumerate() {
            let targets = decoded.iter_mut().skip(place).step_by(self.element_size);
            plane.iter().zip(targets).for_each(|(byte, target)| *target = *byte);
        }
        Ok(())
    }

    fn context_bytes(&self, _: u64) -> u64 {
        0
    }
}

/// How many elements; a part of one is refused, as numcodecs refuses it.
fn elements(element_size: usize, bytes: &[u8]) -> Result<usize, Fault> {
    if !bytes.len().is_multiple_of(element_size) {
        let reason = format!("{} bytes are not a whole number of elements of {element_size}", bytes.len());
        return Err(Fault::Corrupt { reason });
    }
    Ok(bytes.len() / element_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffle_gathers_bytes_by_their_place() {
        let (shuffle, mut contexts) = (|element_size| Shuffle { element_size }, Contexts::new());
        let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
        shuffle(3).encode(&[1, 2, 3, 4, 5, 6], &mut encoded, &mut contexts).unwrap();
        assert_eq!(encoded, [1, 4, 2, 5, 3, 6]);
        shuffle(3).decode(&encoded, &mut decoded, DecodedSize::Exact(6), &mut contexts).unwrap();
        assert_eq!(decoded, [1, 2, 3, 4, 5, 6]);
        let size = DecodedSize::AtMost(6);
        assert!(shuffle(4).decode(&encoded, &mut Vec::new(), size, &mut contexts).is_err());
        assert!(shuffle(4).decode(&[], &mut Vec::new(), size, &mut contexts).is_ok());
    }
}

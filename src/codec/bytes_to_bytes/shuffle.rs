//! `numcodecs.shuffle`: the first byte of each element, then the second of each, and so on.

use super::error::{Fault, reserve};

/// The element size where metadata tell none.
pub(super) const DEFAULT_ELEMENT_SIZE: i64 = 4;

pub(super) fn encode(element_size: usize, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), Fault> {
    let count = elements(element_size, decoded)?;
    reserve(encoded, decoded.len())?;
    for place in 0..element_size {
        encoded.extend(decoded.iter().skip(place).step_by(element_size).take(count));
    }
    Ok(())
}

pub(super) fn decode(element_size: usize, encoded: &[u8], decoded: &mut Vec<u8>) -> Result<(), Fault> {
    let count = elements(element_size, encoded)?;
    reserve(decoded, encoded.len())?;
    decoded.resize(encoded.len(), 0);
    for (place, plane) in encoded.chunks_exact(count.max(1)).enumerate() {
        for (byte, target) in plane.iter().zip(decoded.iter_mut().skip(place).step_by(element_size)) {
            *target = *byte;
        }
    }
    Ok(())
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
        let mut encoded = Vec::new();
        encode(3, &[1, 2, 3, 4, 5, 6], &mut encoded).unwrap();
        assert_eq!(encoded, [1, 4, 2, 5, 3, 6]);
        let mut decoded = Vec::new();
        decode(3, &encoded, &mut decoded).unwrap();
        assert_eq!(decoded, [1, 2, 3, 4, 5, 6]);
        assert!(decode(4, &encoded, &mut Vec::new()).is_err());
        assert!(decode(4, &[], &mut Vec::new()).is_ok());
    }
}

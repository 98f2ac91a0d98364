//! Checksums of 32 bits, before or behind the bytes; each has a file of its own.

use super::error::{Fault, reserve};
use super::{BytesTransform, Contexts, DecodedSize, SizeRule};

/// Bytes of a checksum.
const SIZE: usize = 4;

/// What a checksum adds.
pub(super) const RULE: SizeRule = SizeRule::Plus(SIZE as u64);

/// On which side of the bytes the checksum stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    /// Before them.
    Start,
    /// Behind them.
    End,
}

impl Location {
    /// By its name in metadata.
    pub(super) fn of_name(name: &str) -> Self {
        if name == "start" { Location::Start } else { Location::End }
    }
}

/// A configured checksum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checksum {
    /// The sum of bytes, from a seed.
    pub(super) sum: fn(&[u8], u32) -> u32,
    /// The seed, where the sum has one; else 0.
    pub(super) seed: u32,
    /// Where it stands.
    pub(super) location: Location,
}

impl Checksum {
    fn of(&self, bytes: &[u8]) -> u32 {
        (self.sum)(bytes, self.seed)
    }
}

impl BytesTransform for Checksum {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, _: &mut Contexts) -> Result<(), Fault> {
        let sum = self.of(decoded).to_le_bytes();
        reserve(encoded, decoded.len() + SIZE)?;
        if self.location == Location::Start {
            encoded.extend_from_slice(&sum);
        }
        encoded.extend_from_slice(decoded);
        if self.location == Location::End {
            encoded.extend_from_slice(&sum);
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
        let split = match self.location {
            Location::Start => encoded.split_first_chunk::<SIZE>().map(|(stored, bytes)| (bytes, stored)),
            Location::End => encoded.split_last_chunk::<SIZE>(),
        };
        let Some((bytes, stored)) = split else {
            return Err(Fault::Short { expected: SIZE as u64, found: encoded.len() as u64 });
        };
        bound.check(bytes.len())?;
        let (expected, found) = (u32::from_le_bytes(*stored), self.of(bytes));
        if expected != found {
            return Err(Fault::Checksum { expected, found });
        }
        reserve(decoded, bytes.len())?;
        decoded.extend_from_slice(bytes);
        Ok(())
    }

    fn context_bytes(&self, _: u64) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_stands_where_it_is_said_to() {
        for (location, expected) in
            [(Location::Start, [9, 0, 0, 0, b'1', b'2']), (Location::End, [b'1', b'2', 9, 0, 0, 0])]
        {
            let mut encoded = Vec::new();
            let checksum = Checksum { sum: |_, seed| seed, seed: 9, location };
            checksum.encode(b"12", &mut encoded, &mut Contexts::new()).unwrap();
            assert_eq!(encoded, expected);
        }
    }
}

//! Checksums of 32 bits, before or behind the bytes: `crc32c`, and those of numcodecs.

use super::DecodedSize;
use super::error::{Fault, reserve};

/// Bytes of a checksum.
pub(super) const SIZE: usize = 4;

/// A sum of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksum {
    /// Of zlib and PNG.
    Crc32,
    /// Castagnoli's.
    Crc32c,
}

/// On which side of the bytes it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    /// Before them.
    Start,
    /// Behind them.
    End,
}

impl Checksum {
    fn of(self, bytes: &[u8]) -> u32 {
        match self {
            Checksum::Crc32 => {
                let mut sum = flate2::Crc::new();
                sum.update(bytes);
                sum.sum()
            }
            Checksum::Crc32c => ::crc32c::crc32c(bytes),
        }
    }

    pub(super) fn encode(self, location: Location, decoded: &[u8], encoded: &mut Vec<u8>) {
        let sum = self.of(decoded).to_le_bytes();
        encoded.reserve_exact(decoded.len() + SIZE);
        if location == Location::Start {
            encoded.extend_from_slice(&sum);
        }
        encoded.extend_from_slice(decoded);
        if location == Location::End {
            encoded.extend_from_slice(&sum);
        }
    }

    pub(super) fn decode(
        self,
        location: Location,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
    ) -> Result<(), Fault> {
        let split = match location {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_their_check_values() {
        assert_eq!(Checksum::Crc32.of(b"123456789"), 0xcbf4_3926);
        assert_eq!(Checksum::Crc32c.of(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn checksum_stands_where_it_is_said_to() {
        for (location, expected) in [
            (Location::Start, [0x26, 0x39, 0xf4, 0xcb, b'1', b'2']),
            (Location::End, [b'1', b'2', b'3', b'4', b'5', b'6']),
        ] {
            let mut encoded = Vec::new();
            Checksum::Crc32.encode(location, b"123456789", &mut encoded);
            assert_eq!((encoded.len(), &encoded[..6]), (13, &expected[..]));
            let mut decoded = Vec::new();
            let bound = DecodedSize::Exact(9);
            assert_eq!(Checksum::Crc32.decode(location, &encoded, &mut decoded, bound), Ok(()));
            assert_eq!(decoded, b"123456789");
            encoded[6] ^= 1;
            let found = Checksum::Crc32.decode(location, &encoded, &mut decoded, bound);
            assert!(matches!(found, Err(Fault::Checksum { .. })), "{found:?}");
        }
    }
}

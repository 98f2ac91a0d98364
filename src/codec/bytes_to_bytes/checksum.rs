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
    /// Of zlib.
    Adler32,
    /// As HDF5 has it: of big-endian words of 16 bits, each sum modulo 65535.
    Fletcher32,
    /// Bob Jenkins' lookup3 (`hashlittle`), as HDF5 has it.
    JenkinsLookup3 {
        /// The seed.
        initval: u32,
    },
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
            Checksum::Adler32 => adler32(bytes),
            Checksum::Fletcher32 => fletcher32(bytes),
            Checksum::JenkinsLookup3 { initval } => jenkins_lookup3(bytes, initval),
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

/// RFC 1950, section 9.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    /// So many bytes keep both sums within 32 bits.
    const BLOCK: usize = 5552;
    let (mut low, mut high) = (1_u32, 0_u32);
    for block in bytes.chunks(BLOCK) {
        for byte in block {
            low += u32::from(*byte);
            high += low;
        }
        low %= MODULUS;
        high %= MODULUS;
    }
    (high << 16) | low
}

/// A byte that is left over counts as the upper one of a word. A sum of 65535 stays so where the words make it; only
/// no words at all, or zeros alone, make 0.
fn fletcher32(bytes: &[u8]) -> u32 {
    /// So many words keep both sums within 32 bits.
    const BLOCK: usize = 360;
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let (mut first, mut second) = (0_u32, 0_u32);
    let (words, rest) = bytes.as_chunks::<2>();
    for block in words.chunks(BLOCK) {
        for word in block {
            first += u32::from(u16::from_be_bytes(*word));
            second += first;
        }
        (first, second) = (fold(first), fold(second));
    }
    if let [byte] = rest {
        first += u32::from(*byte) << 8;
        second += first;
        (first, second) = (fold(first), fold(second));
    }
    (fold(second) << 16) | fold(first)
}

/// Published by its author in the public domain: <https://www.burtleburtle.net/bob/c/lookup3.c>.
fn jenkins_lookup3(bytes: &[u8], initval: u32) -> u32 {
    const START: u32 = 0xdead_beef;
    const BLOCK: usize = 12;
    #[expect(clippy::cast_possible_truncation, reason = "the length counts modulo 2^32")]
    let start = START.wrapping_add(bytes.len() as u32).wrapping_add(initval);
    let mut state = [start; 3];
    let mut rest = bytes;
    // The last block is mixed in another way, be it whole or not.
    while rest.len() > BLOCK {
        let (block, following) = rest.split_at(BLOCK);
        add_words(&mut state, block);
        mix(&mut state);
        rest = following;
    }
    if !rest.is_empty() {
        add_words(&mut state, rest);
        finish(&mut state);
    }
    state[2]
}

/// Adds up to 12 bytes as little-endian words.
fn add_words(state: &mut [u32; 3], bytes: &[u8]) {
    for (word, bytes) in state.iter_mut().zip(bytes.chunks(4)) {
        let value = bytes.iter().rev().fold(0, |value, byte| (value << 8) | u32::from(*byte));
        *word = word.wrapping_add(value);
    }
}

fn mix(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    for rotations in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(rotations[0]);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(rotations[1]);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(rotations[2]);
        b = b.wrapping_add(a);
    }
    *state = [a, b, c];
}

fn finish(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    let step = |word: u32, by: u32, rotation: u32| (word ^ by).wrapping_sub(by.rotate_left(rotation));
    c = step(c, b, 14);
    a = step(a, c, 11);
    b = step(b, a, 25);
    c = step(c, b, 16);
    a = step(a, c, 4);
    b = step(b, a, 14);
    c = step(c, b, 24);
    *state = [a, b, c];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_their_check_values() {
        assert_eq!(Checksum::Crc32.of(b"123456789"), 0xcbf4_3926);
        assert_eq!(Checksum::Crc32c.of(b"123456789"), 0xe306_9283);
        assert_eq!(Checksum::Adler32.of(b"123456789"), 0x091e_01de);
        // Those of the reference's own test.
        let text = b"Four score and seven years ago";
        for (bytes, initval, expected) in [
            (&b""[..], 0, 0xdead_beef),
            (b"", 0xdead_beef, 0xbd5b_7dde),
            (text, 0, 0x1777_0551),
            (text, 1, 0xcd62_8161),
        ] {
            assert_eq!(Checksum::JenkinsLookup3 { initval }.of(bytes), expected, "{bytes:?}");
        }
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

//! Checksums of 32 bits, before or after the bytes: `crc32c`, and those of numcodecs.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/crc32c/>

use super::copy;
use super::error::{CodecError, reserve};
use super::members::{Member, MemberDefault, MemberType};
use super::{Binding, Coder, InV3, Kind, Made, Output, Shorthand, SizeRule, V2Form};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};

/// Makes the member for the location of the checksum, before or after the bytes.
const fn location(default: &'static str) -> Member {
    Member::new("location", MemberType::Choice(&["start", "end"]), MemberDefault::Text(default))
}

const AT_START: &[Member] = &[location("start")];
const AT_END: &[Member] = &[location("end")];
const OF_JENKINS: &[Member] = &[
    Member::new("initval", MemberType::Integer(0, u32::MAX as i64), MemberDefault::Integer(0)),
    Member::optional("prefix", MemberType::Any),
];

/// `crc32c`, the CRC of Castagnoli. It has no members.
pub(crate) static CRC32C: Kind = Kind {
    v2: V2Form { read: read_v2, ..V2Form::SAME },
    shorthand: Some(Shorthand { usage: "crc32c", aliases: &[("crc32", "crc32c")], parts: &[] }),
    ..kind(|_| &[], |to| Some(checksum(to, crc32c)))
};

pub(crate) static NUMCODECS_CRC32C: Kind = kind(|_| AT_END, |to| Some(checksum(to, crc32c)));

/// `numcodecs.crc32`: the checksum of zlib and PNG.
pub(crate) static CRC32: Kind = kind(|_| AT_START, |to| Some(checksum(to, crc32)));

/// `numcodecs.adler32`: the checksum of zlib (RFC 1950, section 9).
pub(crate) static ADLER32: Kind = kind(|_| AT_START, |to| Some(checksum(to, |bytes, _| adler2::adler32_slice(bytes))));

/// `numcodecs.fletcher32`: the checksum of HDF5, over big-endian words of 16 bits, each sum modulo 65535.
pub(crate) static FLETCHER32: Kind = kind(|_| &[], |to| Some(checksum(to, |bytes, _| fletcher32(bytes))));

/// `numcodecs.jenkins_lookup3`: Bob Jenkins' lookup3 (`hashlittle`), as in HDF5.
pub(crate) static JENKINS_LOOKUP3: Kind = kind(|_| OF_JENKINS, |to| Some(checksum(to, jenkins_lookup3)));

/// Bytes of a checksum.
const SIZE: usize = 4;

const fn kind(members: fn(&CodecMetadata) -> &'static [Member], make: fn(&mut Binding<'_>) -> Option<Made>) -> Kind {
    Kind { stores_checksum: |_| true, size: SizeRule::Plus(SIZE as u64), ..Kind::new(members, make) }
}

fn checksum(to: &Binding<'_>, sum: fn(&[u8], u32) -> u32) -> Made {
    let is_first = to.members.text_value("location") == "start";
    Made::of_bytes(Checksum { sum, seed: to.members.integer_value("initval"), is_first })
}

/// Converts from numcodecs, whose default location is the end, as in v3.
fn read_v2(members: Object, _: u64) -> InV3 {
    // `crc32c` of v3 has no member for another location.
    match members.get("location") {
        Some(location) if Json::as_str(location) != Some("end") => (Some("numcodecs.crc32c"), Some(members)),
        _ => (None, None),
    }
}

#[derive(Debug, Clone, Copy)]
struct Checksum {
    /// The function of bytes and a seed.
    sum: fn(&[u8], u32) -> u32,
    /// The seed, or 0 if the function has none.
    seed: u32,
    /// True if the checksum is before the bytes.
    is_first: bool,
}

impl Coder for Checksum {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let sum = (self.sum)(decoded, self.seed).to_le_bytes();
        reserve(out.bytes, decoded.len() + SIZE)?;
        let (first, second) = if self.is_first { (&sum[..], decoded) } else { (decoded, &sum[..]) };
        out.bytes.extend_from_slice(first);
        out.bytes.extend_from_slice(second);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let split = if self.is_first {
            encoded.split_first_chunk::<SIZE>().map(|(stored, bytes)| (bytes, stored))
        } else {
            encoded.split_last_chunk::<SIZE>()
        };
        let (bytes, stored) = split.ok_or_else(|| CodecError::short(SIZE, encoded.len()))?;
        out.allowed.check(bytes.len())?;
        let (expected, found) = (u32::from_le_bytes(*stored), (self.sum)(bytes, self.seed));
        if expected == found { copy(bytes, out.bytes) } else { Err(CodecError::checksum(expected, found)) }
    }
}

fn crc32c(bytes: &[u8], _: u32) -> u32 {
    ::crc32c::crc32c(bytes)
}

fn crc32(bytes: &[u8], _: u32) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

/// Computes the checksum. A single last byte is the upper one of a word. A sum of 65535 stays so if words make it. Only
/// zeros, or no words at all, make 0.
fn fletcher32(bytes: &[u8]) -> u32 {
    /// The most words for which both sums fit into 32 bits.
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
    // Folding 32 bits may leave 17 of them. A second time leaves 16.
    (fold(second) << 16) | fold(first)
}

/// Computes the checksum, published by its author in the public domain: <https://www.burtleburtle.net/bob/c/lookup3.c>.
fn jenkins_lookup3(bytes: &[u8], initval: u32) -> u32 {
    const START: u32 = 0xdead_beef;
    const BLOCK: usize = 12;
    #[expect(clippy::cast_possible_truncation, reason = "the length counts modulo 2^32")]
    let start = START.wrapping_add(bytes.len() as u32).wrapping_add(initval);
    let mut state = [start; 3];
    let mut rest = bytes;
    // The last block is mixed in another way, complete or not.
    while rest.len() > BLOCK {
        let (block, following) = rest.split_at(BLOCK);
        add_words(&mut state, block);
        mix(&mut state);
        rest = following;
    }
    // The original does not mix its start value if there is no byte at all.
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

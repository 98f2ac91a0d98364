//! `numcodecs.adler32`: the checksum of zlib.

use super::BytesKind;
use super::checksum::{Checksum, Location, RULE};
use super::numcodecs::{self, Member, location};

const MEMBERS: &[Member] = &[location("start")];

/// `numcodecs.adler32`.
pub(crate) static ADLER32: BytesKind = BytesKind::new(
    |source| {
        numcodecs::parse("numcodecs.adler32", source, MEMBERS, |values| Checksum {
            sum: |bytes, _| adler32(bytes),
            seed: 0,
            location: Location::of_name(values.text("location")),
        })
    },
    RULE,
)
.with_checksum(|_| true);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adler32_is_that_of_its_check_value() {
        assert_eq!(adler32(b"123456789"), 0x091e_01de);
    }
}

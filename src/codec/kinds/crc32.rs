//! `numcodecs.crc32`: the checksum of zlib and PNG.

use super::BytesKind;
use super::checksum::{Checksum, Location, RULE};
use super::numcodecs::{self, Member, location};

const MEMBERS: &[Member] = &[location("start")];

/// `numcodecs.crc32`.
pub(crate) static CRC32: BytesKind = BytesKind::new(
    |source| {
        numcodecs::parse("numcodecs.crc32", source, MEMBERS, |values| Checksum {
            sum: |bytes, _| crc32(bytes),
            seed: 0,
            location: Location::of_name(values.text("location")),
        })
    },
    RULE,
)
.with_checksum(|_| true);

fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32_is_that_of_its_check_value() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}

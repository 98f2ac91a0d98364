//! `numcodecs.adler32`: the checksum of zlib (RFC 1950, section 9).

use super::BytesKind;
use super::checksum::{Checksum, Location, RULE};
use super::numcodecs::{self, Member, location};

const MEMBERS: &[Member] = &[location("start")];

/// `numcodecs.adler32`.
pub(crate) static ADLER32: BytesKind = BytesKind::new(
    |source| {
        numcodecs::parse("numcodecs.adler32", source, MEMBERS, |values| Checksum {
            sum: |bytes, _| adler2::adler32_slice(bytes),
            seed: 0,
            location: Location::of_name(values.text("location")),
        })
    },
    RULE,
)
.with_checksum(|_| true);

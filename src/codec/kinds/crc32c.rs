//! `crc32c` and `numcodecs.crc32c`: Castagnoli's checksum.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/crc32c/>

use std::sync::Arc;

use super::checksum::{Checksum, Location, RULE};
use super::members::Members;
use super::numcodecs::{self, Member, location};
use super::{BytesKind, InV3, Shorthand, V2Form};
use crate::metadata::json::{Json, Object};

/// `crc32c`, which has no members.
pub(crate) static CRC32C: BytesKind = BytesKind::new(
    |source| {
        let members = Members::of_codec("crc32c", source.configuration, source.pointer, &[]);
        members.finish(Some(Arc::new(checksum(Location::End))))
    },
    RULE,
)
.with_checksum(|_| true)
.with_v2(V2Form { read: read_v2, write: |members| members })
.with_shorthand(Shorthand {
    usage: "crc32c",
    aliases: &[("crc32", "crc32c")],
    read: |parts, _| if parts.is_empty() { Ok(None) } else { Err(None) },
});

/// `numcodecs.crc32c`.
pub(crate) static NUMCODECS: BytesKind = BytesKind {
    parse: |source| {
        numcodecs::parse("numcodecs.crc32c", source, MEMBERS, |values| {
            checksum(Location::of_name(values.text("location")))
        })
    },
    v2: V2Form::SAME,
    shorthand: None,
    ..CRC32C
};

const MEMBERS: &[Member] = &[location("end")];

fn checksum(location: Location) -> Checksum {
    Checksum { sum: |bytes, _| ::crc32c::crc32c(bytes), seed: 0, location }
}

/// numcodecs puts the checksum at the end, as v3 does, unless it is told otherwise.
fn read_v2(members: Object, _: u64) -> InV3 {
    match members.get("location") {
        Some(location) if Json::as_str(location) != Some("end") => (Some("numcodecs.crc32c"), Some(members)),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_is_that_of_its_check_value() {
        assert_eq!((checksum(Location::End).sum)(b"123456789", 0), 0xe306_9283);
    }
}

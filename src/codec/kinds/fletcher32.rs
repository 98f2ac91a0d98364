//! `numcodecs.fletcher32`: the checksum that HDF5 has, of big-endian words of 16 bits, each sum modulo 65535.

use super::BytesKind;
use super::checksum::{Checksum, Location, RULE};
use super::numcodecs;

/// `numcodecs.fletcher32`.
pub(crate) static FLETCHER32: BytesKind = BytesKind::new(
    |source| {
        numcodecs::parse("numcodecs.fletcher32", source, &[], |_| Checksum {
            sum: |bytes, _| fletcher32(bytes),
            seed: 0,
            location: Location::End,
        })
    },
    RULE,
)
.with_checksum(|_| true);

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

//! `numcodecs.zlib`: a deflate stream in the frame of zlib.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/compression/zlib.html>, RFC 1950

use super::deflate::{CONTEXT_BYTES, DeflateContexts, bound};
use super::error::Fault;
use super::numcodecs::{self, ZLIB_LEVEL};
use super::{BytesKind, BytesTransform, Contexts, DecodedSize, SizeRule, V2Form};

/// `numcodecs.zlib`.
pub(crate) static ZLIB: BytesKind = BytesKind::new(
    |source| {
        numcodecs::parse("numcodecs.zlib", source, &[ZLIB_LEVEL], |values| Zlib {
            level: values.zlib_level(),
        })
    },
    SizeRule::AtMost(bound),
)
// zlib ends in an Adler-32 of what it has compressed.
.with_checksum(|_| true)
.with_v2(V2Form {
    read: |mut members, _| {
        numcodecs::fill(&mut members, &[ZLIB_LEVEL]);
        (None, Some(members))
    },
    write: |members| members,
});

/// A configured `numcodecs.zlib`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Zlib {
    /// 0 (stored) to 9.
    level: u32,
}

impl BytesTransform for Zlib {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, contexts: &mut Contexts) -> Result<(), Fault> {
        contexts.with(|context: &mut DeflateContexts| context.deflate(self.level, true, decoded, encoded))
    }

    fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
        contexts: &mut Contexts,
    ) -> Result<(), Fault> {
        let inflate = |context: &mut DeflateContexts| context.inflate(true, encoded, decoded, bound);
        match encoded.len() - contexts.with(inflate)? {
            0 => Ok(()),
            count => Err(Fault::Trailing { count }),
        }
    }

    fn context_bytes(&self, _: u64) -> u64 {
        CONTEXT_BYTES
    }
}

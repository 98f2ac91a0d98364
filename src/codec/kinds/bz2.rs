//! `numcodecs.bz2`.

use std::io::Read;

use bzip2::{Compression, Decompress, Status};

use super::error::{Fault, reserve};
use super::numcodecs::{self, Absent, Form, Member};
use super::{BytesKind, BytesTransform, Contexts, DecodedSize, SizeRule, V2Form};

const MEMBERS: &[Member] = &[Member::new("level", Form::Integer(1, 9), Absent::Integer(1))];

/// `numcodecs.bz2`.
pub(crate) static BZ2: BytesKind = BytesKind::new(
    |source| {
        numcodecs::parse("numcodecs.bz2", source, MEMBERS, |values| Bz2 {
            level: u32::try_from(values.integer("level")).unwrap_or(1),
        })
    },
    SizeRule::AtMost(bound),
)
// bz2 ends in a CRC-32 of what it has compressed.
.with_checksum(|_| true)
.with_v2(V2Form {
    read: |mut members, _| {
        numcodecs::fill(&mut members, MEMBERS);
        (None, Some(members))
    },
    write: |members| members,
});

/// A configured `numcodecs.bz2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bz2 {
    /// Hundreds of kilobytes of a block, 1 to 9.
    level: u32,
}

/// What a compressor and a decompressor of level 9 hold, by bzip2's manual.
const CONTEXT_BYTES: u64 = 12 << 20;

/// The greatest encoded size, by bzip2's manual: 1 % and 600 bytes more.
fn bound(decoded: u64) -> Option<u64> {
    decoded.checked_add(decoded / 100)?.checked_add(600)
}

impl BytesTransform for Bz2 {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, _: &mut Contexts) -> Result<(), Fault> {
        bzip2::read::BzEncoder::new(decoded, Compression::new(self.level))
            .read_to_end(encoded)
            .map(drop)
            .map_err(|error| Fault::Encode { reason: error.to_string() })
    }

    /// Decodes every stream; the buffer grows with what they hold.
    fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
        _: &mut Contexts,
    ) -> Result<(), Fault> {
        let mut rest = encoded;
        while !rest.is_empty() {
            if rest.len() < encoded.len() && !rest.starts_with(b"BZh") {
                return Err(Fault::Trailing { count: rest.len() });
            }
            let consumed = decode_stream(rest, decoded, bound)?;
            rest = &rest[consumed..];
        }
        if encoded.is_empty() { Err(Fault::NoEnd { found: 0 }) } else { Ok(()) }
    }

    fn context_bytes(&self, _: u64) -> u64 {
        CONTEXT_BYTES
    }
}

/// Appends one stream; the bytes that it took.
fn decode_stream(encoded: &[u8], decoded: &mut Vec<u8>, bound: DecodedSize) -> Result<usize, Fault> {
    const LEAST: usize = 64 << 10;
    let mut context = Decompress::new(false);
    let mut consumed = 0;
    loop {
        if decoded.len() == decoded.capacity() {
            if decoded.len() > bound.limit() {
                return Err(Fault::TooLong { expected: bound });
            }
            // One byte more than the bound shows a stream that passes it.
            let room = (bound.limit() - decoded.len()).saturating_add(1);
            reserve(decoded, room.min(decoded.len().max(LEAST)))?;
        }
        let before = decoded.len();
        let status = context
            .decompress_vec(&encoded[consumed..], decoded)
            .map_err(|error| Fault::corrupt(error.to_string()))?;
        let total = usize::try_from(context.total_in()).unwrap_or(usize::MAX);
        let has_moved = total > consumed || decoded.len() > before;
        consumed = total;
        match status {
            Status::StreamEnd => return Ok(consumed),
            Status::MemNeeded => return Err(Fault::Memory { size: 0 }),
            _ if decoded.len() > bound.limit() => return Err(Fault::TooLong { expected: bound }),
            _ if !has_moved && decoded.len() < decoded.capacity() => {
                return Err(Fault::NoEnd { found: encoded.len() });
            }
            _ => {}
        }
    }
}

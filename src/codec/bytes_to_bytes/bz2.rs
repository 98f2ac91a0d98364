//! `numcodecs.bz2`.

use std::io::Read;

use bzip2::{Compression, Decompress, Status};

use super::DecodedSize;
use super::error::{Fault, reserve};

/// What a compressor and a decompressor of level 9 hold, by bzip2's manual.
pub(super) const CONTEXT_BYTES: u64 = 12 << 20;

/// The greatest encoded size: the library's documentation says 1 % and 600 bytes more; this is on the safe side.
pub(super) fn bound(decoded: u64) -> Option<u64> {
    decoded.checked_add(decoded / 8)?.checked_add(1024)
}

pub(super) fn encode(level: u32, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), Fault> {
    bzip2::read::BzEncoder::new(decoded, Compression::new(level))
        .read_to_end(encoded)
        .map(drop)
        .map_err(|error| Fault::Encode { reason: error.to_string() })
}

/// Decodes every stream; the buffer grows with what they hold.
pub(super) fn decode(encoded: &[u8], decoded: &mut Vec<u8>, bound: DecodedSize) -> Result<(), Fault> {
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

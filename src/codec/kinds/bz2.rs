//! `numcodecs.bz2`.

use std::io::Read;
use std::sync::Arc;

use bzip2::{Compression, Decompress, Status};

use super::error::{CodecError, reserve};
use super::member::{Absent, Form, Member};
use super::{BytesKind, Coder, Output, SizeRule, V2Form};

const MEMBERS: &[Member] = &[Member::new("level", Form::Integer(1, 9), Absent::Integer(1))];

/// `numcodecs.bz2`.
pub(crate) static BZ2: BytesKind = BytesKind {
    // bz2 ends in a CRC-32 of what it has compressed.
    stores_checksum: |_| true,
    v2: V2Form::with_defaults(MEMBERS),
    ..BytesKind::new(MEMBERS, |members, _| Some(Arc::new(Bz2(members.integer_value("level")))), SizeRule::AtMost(bound))
};

/// `numcodecs.bz2` by the hundreds of kilobytes of a block, from 1 to 9.
#[derive(Debug)]
struct Bz2(u32);

/// The bytes that a compressor and a decompressor of level 9 hold, by bzip2's manual.
const CONTEXT_BYTES: u64 = 12 << 20;

/// The greatest encoded size, by bzip2's manual: 1 % and 600 bytes more.
fn bound(decoded: u64) -> Option<u64> {
    decoded.checked_add(decoded / 100)?.checked_add(600)
}

impl Coder for Bz2 {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let mut encoder = bzip2::read::BzEncoder::new(decoded, Compression::new(self.0));
        encoder.read_to_end(out.bytes).map(drop).map_err(CodecError::encode)
    }

    /// Decodes every stream; the buffer grows with what they hold.
    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let mut rest = encoded;
        while !rest.is_empty() {
            if rest.len() < encoded.len() && !rest.starts_with(b"BZh") {
                return Err(CodecError::trailing(rest.len()));
            }
            let mut stream = Decompress::new(false);
            let consumed = decode_stream(rest, out, |encoded, decoded| {
                let status = stream.decompress_vec(encoded, decoded).map_err(CodecError::corrupt)?;
                if matches!(status, Status::MemNeeded) {
                    return Err(CodecError::memory(0));
                }
                let total = usize::try_from(stream.total_in()).unwrap_or(usize::MAX);
                Ok((total, matches!(status, Status::StreamEnd)))
            })?;
            rest = &rest[consumed..];
        }
        if encoded.is_empty() { Err(CodecError::no_end(0)) } else { Ok(()) }
    }

    fn context_bytes(&self, _: u64) -> u64 {
        CONTEXT_BYTES
    }
}

/// Appends one stream; the bytes that it took. `step` decodes into the room that a buffer has, and gives the bytes that have
/// been taken in all, and whether that was the end.
pub(super) fn decode_stream(
    encoded: &[u8],
    out: &mut Output<'_>,
    mut step: impl FnMut(&[u8], &mut Vec<u8>) -> Result<(usize, bool), CodecError>,
) -> Result<usize, CodecError> {
    const LEAST: usize = 64 << 10;
    let mut consumed = 0;
    loop {
        let before = out.bytes.len();
        if before > out.allowed.limit() {
            return Err(CodecError::too_long(out.allowed));
        }
        if before == out.bytes.capacity() {
            // One byte more than the bound shows a stream that passes it.
            let room = (out.allowed.limit() - before).saturating_add(1);
            reserve(out.bytes, room.min(before.max(LEAST)))?;
        }
        let (total, is_end) = step(&encoded[consumed..], out.bytes)?;
        if is_end {
            return Ok(total);
        }
        // Neither more room nor more input is to come.
        if total == consumed && out.bytes.len() == before && before < out.bytes.capacity() {
            return Err(CodecError::no_end(encoded.len()));
        }
        consumed = total;
    }
}

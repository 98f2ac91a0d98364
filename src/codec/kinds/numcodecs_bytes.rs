//! `numcodecs.bz2`, `numcodecs.lz4` and `numcodecs.shuffle`. lz4 has the number of decoded bytes in 32 bits,
//! little-endian, then one LZ4 block. shuffle has the first byte of each element, then the second of each, and so on.
//!
//! Format: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>

use std::io::Read;

use ::lz4::block::{CompressionMode, compress_to_buffer, decompress_to_buffer};
use bzip2::{Compression, Decompress, Status};

use super::error::{CodecError, reserve};
use super::members::{Member, MemberDefault, MemberType};
use super::representation::size;
use super::zeroed;
use super::{Coder, Kind, Made, Output, SizeRule, V2Form};

const OF_BZ2: &[Member] = &[Member::new("level", MemberType::Integer(1, 9), MemberDefault::Integer(1))];

pub(crate) static BZ2: Kind = Kind {
    // bz2 ends in a CRC-32 of its decoded data.
    stores_checksum: |_| true,
    v2: V2Form::with_defaults(OF_BZ2),
    // By bzip2's manual: 1 % and 600 bytes more.
    size: SizeRule::AtMost(|decoded| decoded.checked_add(decoded / 100)?.checked_add(600)),
    ..Kind::new(|_| OF_BZ2, |to| Some(Made::of_bytes(Bz2(to.members.integer_value("level")))))
};

/// `numcodecs.bz2` with its level from 1 to 9, which is the block size in 100 kB.
#[derive(Debug)]
struct Bz2(u32);

/// The bytes of a compressor and a decompressor of level 9, from bzip2's manual.
const CONTEXT_BYTES: u64 = 12 << 20;

impl Coder for Bz2 {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let mut encoder = bzip2::read::BzEncoder::new(decoded, Compression::new(self.0));
        encoder.read_to_end(out.bytes).map(drop).map_err(CodecError::encode)
    }

    /// Decodes all streams. The buffer grows as data is decoded.
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
                Ok((size(stream.total_in()), matches!(status, Status::StreamEnd)))
            })?;
            rest = &rest[consumed..];
        }
        if encoded.is_empty() { Err(CodecError::no_end(0)) } else { Ok(()) }
    }

    fn context_bytes(&self, _: u64) -> u64 {
        CONTEXT_BYTES
    }
}

/// Decodes one stream, appends it, and returns the bytes that it read. `step` decodes into the free capacity of a
/// buffer. It returns the number of all bytes read so far, and true at the end.
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
            let capacity = (out.allowed.limit() - before).saturating_add(1);
            reserve(out.bytes, capacity.min(before.max(LEAST)))?;
        }
        let (total, is_end) = step(&encoded[consumed..], out.bytes)?;
        if is_end {
            return Ok(total);
        }
        // Neither more capacity nor more input follows.
        if total == consumed && out.bytes.len() == before && before < out.bytes.capacity() {
            return Err(CodecError::no_end(encoded.len()));
        }
        consumed = total;
    }
}

pub(crate) static LZ4: Kind = Kind {
    size: SizeRule::AtMost(lz4_bound),
    ..Kind::new(|_| OF_LZ4, |to| Some(Made::of_bytes(Lz4(to.members.integer_value("acceleration")))))
};

const OF_LZ4: &[Member] =
    &[Member::new("acceleration", MemberType::Integer(i32::MIN as i64, i32::MAX as i64), MemberDefault::Integer(1))];

/// `numcodecs.lz4` with its acceleration, which makes it faster and the result larger. Less than 1 means 1, as in
/// numcodecs.
#[derive(Debug)]
struct Lz4(i32);

/// Bytes before the block.
const HEADER: usize = 4;

/// The most bytes that numcodecs and the library encode or decode.
const GREATEST: usize = 0x7e00_0000;

/// The greatest ratio of a block's decoded bytes to its own: a byte of a length adds 255.
const GREATEST_RATIO: usize = 255;

/// Bytes of the compressor on the stack.
const LZ4_CONTEXT_BYTES: u64 = 32 << 10;

/// Returns the greatest encoded size, that of `LZ4_compressBound` plus the header.
fn lz4_bound(decoded: u64) -> Option<u64> {
    decoded.checked_add(decoded / 255)?.checked_add(16 + HEADER as u64)
}

impl Coder for Lz4 {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        if decoded.len() > GREATEST {
            let reason = format!("expected at most {GREATEST} bytes, found {}", decoded.len());
            return Err(CodecError::encode(reason));
        }
        let size = lz4_bound(decoded.len() as u64).map_or(usize::MAX, size);
        zeroed(out.bytes, size)?;
        let mode = CompressionMode::FAST(self.0.max(1));
        // `true` writes the number of decoded bytes before the block.
        let written = compress_to_buffer(decoded, Some(mode), true, out.bytes).map_err(CodecError::encode)?;
        out.bytes.truncate(written);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let Some((header, block)) = encoded.split_first_chunk::<HEADER>() else {
            return Err(CodecError::short(HEADER, encoded.len()));
        };
        let claimed = u32::from_le_bytes(*header);
        let size = usize::try_from(claimed).unwrap_or(usize::MAX);
        out.allowed.check(size)?;
        // The library's sizes are signed 32-bit integers. The memory is limited to what the block can contain.
        let is_held = size.max(block.len()) <= GREATEST && size / GREATEST_RATIO <= block.len();
        let Some(signed) = i32::try_from(claimed).ok().filter(|_| is_held) else {
            return Err(CodecError::corrupt(format!("a block of {} bytes cannot hold {claimed}", block.len())));
        };
        zeroed(out.bytes, size)?;
        let written = decompress_to_buffer(block, Some(signed), out.bytes)
            .map_err(|_| CodecError::corrupt("the LZ4 block is not valid"))?;
        out.bytes.truncate(written);
        // A block that ends before the size in its header is truncated.
        if written == size { Ok(()) } else { Err(CodecError::length(out.allowed, written as u64)) }
    }

    fn context_bytes(&self, _: u64) -> u64 {
        LZ4_CONTEXT_BYTES
    }
}

pub(crate) static SHUFFLE: Kind = Kind {
    size: SizeRule::Same,
    ..Kind::new(
        |_| const { &[Member::new("elementsize", MemberType::Integer(1, i32::MAX as i64), MemberDefault::Integer(4))] },
        // 0 means the same as 1.
        |to| Some(Made::of_bytes(Shuffle { element_size: to.members.integer_value::<usize>("elementsize").max(1) })),
    )
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shuffle {
    /// Bytes of an element, at least 1.
    element_size: usize,
}

impl Coder for Shuffle {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let count = elements(self.element_size, decoded)?;
        reserve(out.bytes, decoded.len())?;
        for byte in 0..self.element_size {
            out.bytes.extend(decoded.iter().skip(byte).step_by(self.element_size).take(count));
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        out.allowed.check(encoded.len())?;
        let count = elements(self.element_size, encoded)?;
        zeroed(out.bytes, encoded.len())?;
        for (byte, plane) in encoded.chunks_exact(count.max(1)).enumerate() {
            let targets = out.bytes.iter_mut().skip(byte).step_by(self.element_size);
            plane.iter().zip(targets).for_each(|(byte, target)| *target = *byte);
        }
        Ok(())
    }
}

/// Returns the number of elements. It fails for a partial one, as numcodecs does.
fn elements(element_size: usize, bytes: &[u8]) -> Result<usize, CodecError> {
    if !bytes.len().is_multiple_of(element_size) {
        let reason = format!("{} bytes are not a whole number of elements of {element_size}", bytes.len());
        return Err(CodecError::corrupt(reason));
    }
    Ok(bytes.len() / element_size)
}

//! `numcodecs.lz4`: the number of decoded bytes in 32 bits of little endian, then one LZ4 block.
//!
//! Format: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>

use std::sync::Arc;

use ::lz4::block::{CompressionMode, compress_to_buffer, decompress_to_buffer};

use super::error::{CodecError, reserve};
use super::member::{Absent, Form, Member};
use super::{BytesKind, Coder, Output, SizeRule};

const MEMBERS: &[Member] =
    &[Member::new("acceleration", Form::Integer(i32::MIN as i64, i32::MAX as i64), Absent::Integer(1))];

/// `numcodecs.lz4`.
pub(crate) static LZ4: BytesKind = BytesKind::new(
    MEMBERS,
    |members, _| Some(Arc::new(Lz4(members.integer_value("acceleration")))),
    SizeRule::AtMost(bound),
);

/// `numcodecs.lz4` by how much faster and worse it compresses; less than 1 is 1, as numcodecs has it.
#[derive(Debug)]
struct Lz4(i32);

/// Bytes in front of the block.
const HEADER: usize = 4;

/// The most bytes that numcodecs encodes or decodes, and the library.
const GREATEST: usize = 0x7e00_0000;

/// A block cannot decode to more than so many times its bytes: a byte of a length adds 255.
const GREATEST_RATIO: usize = 255;

/// The bytes that the compressor keeps on the stack.
const CONTEXT_BYTES: u64 = 32 << 10;

/// The greatest encoded size, as `LZ4_compressBound` has it, and the header.
fn bound(decoded: u64) -> Option<u64> {
    decoded.checked_add(decoded / 255)?.checked_add(16 + HEADER as u64)
}

impl Coder for Lz4 {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        if decoded.len() > GREATEST {
            let reason = format!("expected at most {GREATEST} bytes, found {}", decoded.len());
            return Err(CodecError::encode(reason));
        }
        let size = bound(decoded.len() as u64).and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX);
        reserve(out.bytes, size)?;
        out.bytes.resize(size, 0);
        let mode = CompressionMode::FAST(self.0.max(1));
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
        // The library counts in 32 bits with a sign, and memory is given for what the block can hold alone.
        let is_held = size.max(block.len()) <= GREATEST && size / GREATEST_RATIO <= block.len();
        let Some(signed) = i32::try_from(claimed).ok().filter(|_| is_held) else {
            let reason = format!("a block of {} bytes cannot hold {claimed}", block.len());
            return Err(CodecError::corrupt(reason));
        };
        reserve(out.bytes, size)?;
        out.bytes.resize(size, 0);
        let written = decompress_to_buffer(block, Some(signed), out.bytes)
            .map_err(|_| CodecError::corrupt("the LZ4 block is not valid"))?;
        out.bytes.truncate(written);
        // A block that ends before the size of its header is reached is truncated.
        if written == size { Ok(()) } else { Err(CodecError::length(out.allowed, written as u64)) }
    }

    fn context_bytes(&self, _: u64) -> u64 {
        CONTEXT_BYTES
    }
}

//! Deflate streams (RFC 1951), bare or with the frame of zlib (RFC 1950), by contexts that are kept.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::DecodedSize;
use super::error::{Fault, reserve};

/// Compressors for one level, and decompressors, without and with a zlib header.
#[derive(Debug, Default)]
pub(super) struct DeflateContexts {
    encode: [Option<(u32, Compress)>; 2],
    decode: [Option<Decompress>; 2],
}

/// What a compressor and a decompressor hold, on the safe side.
pub(super) const CONTEXT_BYTES: u64 = 512 << 10;

/// The greatest encoded size: as `deflateBound` has it for any parameters, and the gzip header and trailer.
///
/// Stored blocks alone would take less, but not every library falls back to them: level 1 of this one does not.
pub(super) fn bound(decoded: u64) -> Option<u64> {
    decoded.checked_add(decoded.div_ceil(8))?.checked_add(decoded.div_ceil(64))?.checked_add(5 + 18)
}

/// Deflate cannot shrink further than this (a length of 258 in 2 bits, in whole bytes).
const GREATEST_RATIO: usize = 1032;

impl DeflateContexts {
    /// Appends one stream to `encoded`.
    pub(super) fn deflate(
        &mut self,
        level: u32,
        has_header: bool,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let slot = &mut self.encode[usize::from(has_header)];
        let context = match slot {
            Some((current, context)) if *current == level => {
                context.reset();
                context
            }
            slot => &mut slot.insert((level, Compress::new(Compression::new(level), has_header))).1,
        };
        let size =
            bound(decoded.len() as u64).and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX);
        reserve(encoded, size)?;
        loop {
            let consumed = position(context.total_in());
            let status = context
                .compress_vec(&decoded[consumed..], encoded, FlushCompress::Finish)
                .map_err(|error| Fault::Encode { reason: error.to_string() })?;
            if status == Status::StreamEnd {
                return Ok(());
            }
            reserve(encoded, decoded.len() / 8 + 64)?;
        }
    }

    /// Appends one stream to `decoded`; the bytes of `encoded` that it took.
    pub(super) fn inflate(
        &mut self,
        has_header: bool,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
    ) -> Result<usize, Fault> {
        let slot = &mut self.decode[usize::from(has_header)];
        let context = match slot {
            Some(context) => {
                context.reset(has_header);
                context
            }
            none => none.insert(Decompress::new(has_header)),
        };
        let most = encoded.len().saturating_mul(GREATEST_RATIO);
        reserve(decoded, most.min(bound.limit().saturating_sub(decoded.len())))?;
        let start = decoded.len();
        // The stream is taken at once: what does not fit then passes the bound.
        let status = context
            .decompress_vec(encoded, decoded, FlushDecompress::Finish)
            .map_err(|error| Fault::corrupt(error.message().unwrap_or("the stream is not valid")))?;
        if status == Status::StreamEnd {
            return Ok(position(context.total_in()));
        }
        let is_full = decoded.len() == decoded.capacity() || decoded.len() - start >= most;
        let is_spent = position(context.total_in()) >= encoded.len();
        if is_full && !is_spent {
            Err(Fault::TooLong { expected: bound })
        } else {
            Err(Fault::NoEnd { found: encoded.len() })
        }
    }
}

/// A count of bytes of a buffer.
fn position(total: u64) -> usize {
    usize::try_from(total).unwrap_or(usize::MAX)
}

//! `gzip` and `numcodecs.zlib`, with contexts that are kept.
//!
//! Specification: RFC 1950 (zlib), RFC 1952 (gzip).

use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};

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
pub(super) fn bound(decoded: u64) -> Option<u64> {
    decoded.checked_add(decoded.div_ceil(8))?.checked_add(decoded.div_ceil(64))?.checked_add(5 + 18)
}

/// Deflate cannot shrink further than this (a length of 258 in 2 bits, in whole bytes).
const GREATEST_RATIO: usize = 1032;

const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// What the header says of the system that wrote it.
const UNKNOWN_SYSTEM: u8 = 255;
const HEADER: usize = 10;
const TRAILER: usize = 8;

impl DeflateContexts {
    pub(super) fn encode_gzip(
        &mut self,
        level: u32,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let extra_flags = match level {
            9.. => 2,
            0 | 1 => 4,
            _ => 0,
        };
        encoded.extend_from_slice(&MAGIC);
        encoded.extend_from_slice(&[0, 0, 0, 0, 0, extra_flags, UNKNOWN_SYSTEM]);
        self.deflate(level, false, decoded, encoded)?;
        let mut crc = Crc::new();
        crc.update(decoded);
        encoded.extend_from_slice(&crc.sum().to_le_bytes());
        encoded.extend_from_slice(&crc.amount().to_le_bytes());
        Ok(())
    }

    pub(super) fn encode_zlib(
        &mut self,
        level: u32,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.deflate(level, true, decoded, encoded)
    }

    fn deflate(
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

    pub(super) fn decode_zlib(
        &mut self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
    ) -> Result<(), Fault> {
        let consumed = self.inflate(true, encoded, decoded, bound)?;
        match encoded.len() - consumed {
            0 => Ok(()),
            count => Err(Fault::Trailing { count }),
        }
    }

    /// Decodes every member.
    pub(super) fn decode_gzip(
        &mut self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
    ) -> Result<(), Fault> {
        let mut rest = encoded;
        loop {
            let start = decoded.len();
            let Some(body) = skip_header(rest)? else {
                return Err(match rest.len() {
                    count if count < encoded.len() => Fault::Trailing { count },
                    count if count < HEADER + TRAILER => {
                        Fault::Short { expected: (HEADER + TRAILER) as u64, found: count as u64 }
                    }
                    _ => Fault::corrupt("there is no gzip header"),
                });
            };
            let consumed = self.inflate(false, body, decoded, bound)?;
            let trailer = body[consumed..].first_chunk::<TRAILER>();
            let Some(&[c0, c1, c2, c3, s0, s1, s2, s3]) = trailer else {
                return Err(Fault::NoEnd { found: encoded.len() });
            };
            let mut crc = Crc::new();
            crc.update(&decoded[start..]);
            let expected = u32::from_le_bytes([c0, c1, c2, c3]);
            if expected != crc.sum() {
                return Err(Fault::Checksum { expected, found: crc.sum() });
            }
            let size = u32::from_le_bytes([s0, s1, s2, s3]);
            if size != crc.amount() {
                return Err(Fault::corrupt(format!(
                    "expected {size} bytes as stored, found {}",
                    crc.amount()
                )));
            }
            rest = &body[consumed + TRAILER..];
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// Appends one stream to `decoded`; the bytes of `encoded` that it took.
    fn inflate(
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

/// What follows the header of a member; `None` where there is none.
fn skip_header(encoded: &[u8]) -> Result<Option<&[u8]>, Fault> {
    const HEADER_CRC: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let Some((header, mut rest)) = encoded.split_first_chunk::<HEADER>() else { return Ok(None) };
    let flags = header[3];
    if header[..3] != MAGIC || flags & 0xe0 != 0 {
        return Ok(None);
    }
    let short = || Fault::NoEnd { found: encoded.len() };
    if flags & EXTRA != 0 {
        let (length, following) = rest.split_first_chunk::<2>().ok_or_else(short)?;
        rest = following.get(usize::from(u16::from_le_bytes(*length))..).ok_or_else(short)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|&byte| byte == 0).ok_or_else(short)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & HEADER_CRC != 0 {
        let (stored, following) = rest.split_first_chunk::<2>().ok_or_else(short)?;
        let mut crc = Crc::new();
        crc.update(&encoded[..encoded.len() - rest.len()]);
        let (expected, found) = (u32::from(u16::from_le_bytes(*stored)), crc.sum() & 0xffff);
        if expected != found {
            return Err(Fault::Checksum { expected, found });
        }
        rest = following;
    }
    Ok(Some(rest))
}

/// A count of bytes of a buffer.
fn position(total: u64) -> usize {
    usize::try_from(total).unwrap_or(usize::MAX)
}

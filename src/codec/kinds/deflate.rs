//! `gzip`, `numcodecs.gzip` and `numcodecs.zlib`: deflate streams (RFC 1951) with a header and a trailer. Each thread
//! reuses its contexts.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/gzip/>, RFC 1950, RFC 1952

use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};

use super::error::{CodecError, reserve};
use super::members::{ConfigurationReader, Member, MemberDefault, MemberType};
use super::representation::size;
use super::{BytesSize, Coder, InV3, Kind, Made, Output, Part, Shorthand, SizeRule, V2Form};
use crate::metadata::json::{Json, Object};

const MEMBERS: &[Member] = &[Member::required("level", MemberType::Integer(0, 9))];

/// The compression level of numcodecs. -1 is zlib's own default, 6.
const ZLIB_LEVEL: &[Member] = &[Member::new("level", MemberType::Integer(-1, 9), MemberDefault::Integer(1))];

fn level(members: &ConfigurationReader<'_>) -> u32 {
    u32::try_from(members.integer_value::<i32>("level")).unwrap_or(6)
}

pub(crate) static GZIP: Kind = Kind {
    // gzip ends in a CRC-32 of its decoded data.
    stores_checksum: |_| true,
    v2: V2Form { read: read_v2, ..V2Form::with_defaults(ZLIB_LEVEL) },
    shorthand: Some(Shorthand {
        usage: "gzip[:LEVEL]",
        aliases: &[("gz", "gzip"), ("zlib", "gzip"), ("deflate", "gzip")],
        parts: &[Part::Level("level", [0, 9], 6)],
    }),
    size: SizeRule::AtMost(bound),
    ..Kind::new(|_| MEMBERS, |to| Some(Made::of_bytes(Gzip(level(&to.members)))))
};

pub(crate) static NUMCODECS_GZIP: Kind = Kind { members: |_| ZLIB_LEVEL, v2: V2Form::SAME, shorthand: None, ..GZIP };

/// `gzip` of a level from 0 (stored) to 9.
#[derive(Debug)]
struct Gzip(u32);

fn read_v2(mut members: Object, _: u64) -> InV3 {
    // zlib's own default, which v3 has no value for.
    if members.get("level").and_then(Json::as_i128) == Some(-1) {
        members.insert("level", 6_u64);
    }
    (None, Some(members))
}

const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// The header byte for the operating system that wrote the stream.
const UNKNOWN_SYSTEM: u8 = 255;
const HEADER: usize = 10;
const TRAILER: usize = 8;

impl Coder for Gzip {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        // The byte XFL of RFC 1952: 2 for the best compression, 4 for the fastest.
        let extra_flags = match self.0 {
            9.. => 2,
            0 | 1 => 4,
            _ => 0,
        };
        reserve(out.bytes, bound(decoded.len() as u64).map_or(usize::MAX, size))?;
        out.bytes.extend_from_slice(&MAGIC);
        // The flags and the time are 0. With a time, equal chunks would have different bytes.
        out.bytes.extend_from_slice(&[0, 0, 0, 0, 0, extra_flags, UNKNOWN_SYSTEM]);
        out.contexts.with(|context: &mut DeflateContexts| context.deflate(self.0, false, decoded, out.bytes))?;
        let mut crc = Crc::new();
        crc.update(decoded);
        out.bytes.extend_from_slice(&crc.sum().to_le_bytes());
        out.bytes.extend_from_slice(&crc.amount().to_le_bytes());
        Ok(())
    }

    /// Decodes all members.
    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let mut rest = encoded;
        loop {
            let start = out.bytes.len();
            let Some(body) = skip_header(rest)? else {
                return Err(match rest.len() {
                    count if count < encoded.len() => CodecError::trailing(count),
                    count if count < HEADER + TRAILER => CodecError::short(HEADER + TRAILER, count),
                    _ => CodecError::corrupt("there is no gzip header"),
                });
            };
            let inflate = |context: &mut DeflateContexts| context.inflate(false, body, out.bytes, out.allowed);
            let consumed = out.contexts.with(inflate)?;
            let Some(&[c0, c1, c2, c3, s0, s1, s2, s3]) = body[consumed..].first_chunk::<TRAILER>() else {
                return Err(CodecError::no_end(encoded.len()));
            };
            let mut crc = Crc::new();
            crc.update(&out.bytes[start..]);
            let expected = u32::from_le_bytes([c0, c1, c2, c3]);
            if expected != crc.sum() {
                return Err(CodecError::checksum(expected, crc.sum()));
            }
            let size = u32::from_le_bytes([s0, s1, s2, s3]);
            // Both numbers are modulo 2^32, so this is right for members of more than 4 GiB.
            if size != crc.amount() {
                return Err(CodecError::corrupt(format!("expected {size} bytes as stored, found {}", crc.amount())));
            }
            rest = &body[consumed + TRAILER..];
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn context_bytes(&self, _: u64) -> u64 {
        CONTEXT_BYTES
    }
}

/// Returns the bytes after the header of a member. `None` if there is no header.
fn skip_header(encoded: &[u8]) -> Result<Option<&[u8]>, CodecError> {
    const HEADER_CRC: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let Some((header, mut rest)) = encoded.split_first_chunk::<HEADER>() else { return Ok(None) };
    let flags = header[3];
    // A decoder must reject reserved flags (RFC 1952, section 2.3.1.2).
    if header[..3] != MAGIC || flags & 0xe0 != 0 {
        return Ok(None);
    }
    let short = || CodecError::no_end(encoded.len());
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
            return Err(CodecError::checksum(expected, found));
        }
        rest = following;
    }
    Ok(Some(rest))
}

pub(crate) static ZLIB: Kind = Kind {
    // zlib ends in an Adler-32 of its decoded data.
    stores_checksum: |_| true,
    v2: V2Form::with_defaults(ZLIB_LEVEL),
    size: SizeRule::AtMost(bound),
    ..Kind::new(|_| ZLIB_LEVEL, |to| Some(Made::of_bytes(Zlib(level(&to.members)))))
};

/// `numcodecs.zlib` of a level from 0 (stored) to 9.
#[derive(Debug)]
struct Zlib(u32);

impl Coder for Zlib {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        out.contexts.with(|context: &mut DeflateContexts| context.deflate(self.0, true, decoded, out.bytes))
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let inflate = |context: &mut DeflateContexts| context.inflate(true, encoded, out.bytes, out.allowed);
        match encoded.len() - out.contexts.with(inflate)? {
            0 => Ok(()),
            count => Err(CodecError::trailing(count)),
        }
    }

    fn context_bytes(&self, _: u64) -> u64 {
        CONTEXT_BYTES
    }
}

/// Compressors for one level, and decompressors. The first of each is without a zlib header, the second with one.
#[derive(Debug, Default)]
struct DeflateContexts {
    encode: [Option<(u32, Compress)>; 2],
    decode: [Option<Decompress>; 2],
}

/// An upper limit for the bytes of a compressor and a decompressor.
const CONTEXT_BYTES: u64 = 512 << 10;

/// Returns the greatest encoded size: that of `deflateBound` for any parameters, plus the gzip header and trailer.
///
/// Stored blocks alone need less, but not every library falls back to them. Level 1 of this one does not.
fn bound(decoded: u64) -> Option<u64> {
    decoded.checked_add(decoded.div_ceil(8))?.checked_add(decoded.div_ceil(64))?.checked_add(5 + 18)
}

/// The greatest compression ratio of deflate (a length of 258 in 2 bits, in whole bytes).
const GREATEST_RATIO: usize = 1032;

impl DeflateContexts {
    /// Appends one stream to `encoded`.
    fn deflate(&mut self, level: u32, is_zlib: bool, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), CodecError> {
        let slot = &mut self.encode[usize::from(is_zlib)];
        if slot.as_ref().is_some_and(|(current, _)| *current != level) {
            *slot = None;
        }
        let (_, context) = slot.get_or_insert_with(|| (level, Compress::new(Compression::new(level), is_zlib)));
        context.reset();
        reserve(encoded, bound(decoded.len() as u64).map_or(usize::MAX, size))?;
        loop {
            let consumed = size(context.total_in());
            let status = context.compress_vec(&decoded[consumed..], encoded, FlushCompress::Finish);
            if status.map_err(CodecError::encode)? == Status::StreamEnd {
                return Ok(());
            }
            reserve(encoded, decoded.len() / 8 + 64)?;
        }
    }

    /// Appends one stream to `decoded`, and returns the number of bytes of `encoded` that it read.
    fn inflate(
        &mut self,
        is_zlib: bool,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: BytesSize,
    ) -> Result<usize, CodecError> {
        let context = self.decode[usize::from(is_zlib)].get_or_insert_with(|| Decompress::new(is_zlib));
        context.reset(is_zlib);
        // A stream cannot decode to more. So a short chunk cannot claim the memory of a large one.
        let most = encoded.len().saturating_mul(GREATEST_RATIO);
        reserve(decoded, most.min(bound.limit().saturating_sub(decoded.len())))?;
        let start = decoded.len();
        // One call decodes the whole stream, so output that does not fit exceeds the limit.
        let status = context
            .decompress_vec(encoded, decoded, FlushDecompress::Finish)
            .map_err(|error| CodecError::corrupt(error.message().unwrap_or("the stream is not valid")))?;
        if status == Status::StreamEnd {
            return Ok(size(context.total_in()));
        }
        let is_full = decoded.len() == decoded.capacity() || decoded.len() - start >= most;
        let is_spent = size(context.total_in()) >= encoded.len();
        if is_full && !is_spent { Err(CodecError::too_long(bound)) } else { Err(CodecError::no_end(encoded.len())) }
    }
}

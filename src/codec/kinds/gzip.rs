//! `gzip` and `numcodecs.gzip`: a deflate stream with a header and a trailer.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/gzip/>, RFC 1952

use std::sync::Arc;

use flate2::Crc;

use super::deflate::{CONTEXT_BYTES, DeflateContexts, bound};
use super::error::{Fault, reserve};
use super::members::Members;
use super::numcodecs::{self, ZLIB_LEVEL};
use super::{
    BytesKind, BytesTransform, CodecSource, Contexts, DecodedSize, InV3, ParsedTransform, Shorthand,
    ShorthandRead, SizeRule, V2Form, shorthand_level,
};
use crate::metadata::json::{Json, Object};

/// `gzip`.
pub(crate) static GZIP: BytesKind = BytesKind::new(parse, SizeRule::AtMost(bound))
    // gzip ends in a CRC-32 of what it has compressed.
    .with_checksum(|_| true)
    .with_v2(V2Form { read: read_v2, write: |members| members })
    .with_shorthand(Shorthand {
        usage: "gzip[:LEVEL]",
        aliases: &[("gz", "gzip"), ("zlib", "gzip"), ("deflate", "gzip")],
        read: read_shorthand,
    });

/// `numcodecs.gzip`.
pub(crate) static NUMCODECS: BytesKind = BytesKind {
    parse: |source| {
        numcodecs::parse("numcodecs.gzip", source, &[ZLIB_LEVEL], |values| Gzip {
            level: values.zlib_level(),
        })
    },
    v2: V2Form::SAME,
    shorthand: None,
    ..GZIP
};

/// A configured `gzip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gzip {
    /// 0 (stored) to 9.
    level: u32,
}

fn parse(source: &CodecSource<'_>) -> ParsedTransform {
    let mut members = Members::of_codec("gzip", source.configuration, source.pointer, &["level"]);
    let level = members.require("level").and_then(|json| members.integer("level", json, 0..=9));
    members.finish(level.map(|level| Arc::new(Gzip { level }) as _))
}

fn read_v2(mut members: Object, _: u64) -> InV3 {
    numcodecs::fill(&mut members, &[ZLIB_LEVEL]);
    // zlib's own default, which v3 has no word for.
    if members.get("level").and_then(Json::as_i128) == Some(-1) {
        members.insert("level", 6_u64);
    }
    (None, Some(members))
}

fn read_shorthand(parts: &[&str], _: &str) -> ShorthandRead {
    let level = match parts {
        [] => 6,
        [text] => shorthand_level(text, 0, 9)?,
        _ => return Err(None),
    };
    Ok(Some(Object::new().with("level", level)))
}

const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// What the header says of the system that wrote it.
const UNKNOWN_SYSTEM: u8 = 255;
const HEADER: usize = 10;
const TRAILER: usize = 8;

impl BytesTransform for Gzip {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, contexts: &mut Contexts) -> Result<(), Fault> {
        let extra_flags = match self.level {
            9.. => 2,
            0 | 1 => 4,
            _ => 0,
        };
        let size = bound(decoded.len() as u64).and_then(|size| usize::try_from(size).ok());
        reserve(encoded, size.unwrap_or(usize::MAX))?;
        encoded.extend_from_slice(&MAGIC);
        encoded.extend_from_slice(&[0, 0, 0, 0, 0, extra_flags, UNKNOWN_SYSTEM]);
        contexts
            .with(|context: &mut DeflateContexts| context.deflate(self.level, false, decoded, encoded))?;
        let mut crc = Crc::new();
        crc.update(decoded);
        encoded.extend_from_slice(&crc.sum().to_le_bytes());
        encoded.extend_from_slice(&crc.amount().to_le_bytes());
        Ok(())
    }

    /// Decodes every member.
    fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
        contexts: &mut Contexts,
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
            let consumed = contexts
                .with(|inflate: &mut DeflateContexts| inflate.inflate(false, body, decoded, bound))?;
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

    fn context_bytes(&self, _: u64) -> u64 {
        CONTEXT_BYTES
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

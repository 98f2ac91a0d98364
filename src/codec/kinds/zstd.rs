//! `zstd` and `numcodecs.zstd`. Each thread reuses its contexts.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zstd>

use ::zstd::zstd_safe::zstd_sys::{self, ZSTD_ErrorCode};
use ::zstd::zstd_safe::{self, CCtx, CParameter, DCtx, ResetDirective};

use super::error::{CodecError, reserve};
use super::members::{Member, MemberDefault, MemberType};
use super::{BytesSize, Coder, Kind, Made, Output, Part, Shorthand, SizeRule, V2Form};
use crate::metadata::json::Json;

/// The members of `numcodecs.zstd`.
const MEMBERS: &[Member] = &[Member::new("level", LEVEL, MemberDefault::Integer(0)), CHECKSUM];

/// The members of `zstd`.
const OF_V3: &[Member] = &[Member::required("level", LEVEL), CHECKSUM];

const LEVELS: [i64; 2] = [-131_072, 22];
const LEVEL: MemberType = MemberType::Integer(LEVELS[0], LEVELS[1]);
const CHECKSUM: Member = Member::new("checksum", MemberType::Boolean, MemberDefault::Boolean(false));

pub(crate) static ZSTD: Kind = Kind {
    stores_checksum: |members| members.and_then(|members| members.get("checksum")) == Some(&Json::Bool(true)),
    v2: V2Form::with_defaults(MEMBERS),
    shorthand: Some(Shorthand {
        usage: "zstd[:LEVEL][:checksum]",
        aliases: &[("zst", "zstd")],
        parts: &[Part::Level("level", LEVELS, 3), Part::Flag("checksum")],
    }),
    // `ZSTD_compressBound`, and a checksum.
    size: SizeRule::AtMost(|decoded| decoded.checked_add((decoded >> 8) + 68)),
    ..Kind::new(
        |_| OF_V3,
        |to| {
            let checksum = to.members.given("checksum") == Some(&Json::Bool(true));
            Some(Made::of_bytes(Zstd { level: to.members.integer_value("level"), checksum }))
        },
    )
};

pub(crate) static NUMCODECS: Kind = Kind { members: |_| MEMBERS, v2: V2Form::SAME, shorthand: None, ..ZSTD };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Zstd {
    /// From -131072 to 22. 0 is the default level.
    level: i32,
    /// True if frames end with a checksum of their content.
    checksum: bool,
}

impl Coder for Zstd {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        out.contexts.with(|kept: &mut ZstdContexts| {
            // A context keeps its parameters from frame to frame, so they are set only if they differ. It is taken out,
            // because after an error here its parameters are unknown.
            let (current, context) = kept.encode.take().unzip();
            let mut context = context.or_else(CCtx::try_create).ok_or(CodecError::memory(0))?;
            let fault = |code| CodecError::encode(zstd_safe::get_error_name(code));
            if current != Some(*self) {
                context.reset(ResetDirective::SessionAndParameters).map_err(fault)?;
                context.set_parameter(CParameter::CompressionLevel(self.level)).map_err(fault)?;
                context.set_parameter(CParameter::ChecksumFlag(self.checksum)).map_err(fault)?;
            }
            let (_, context) = kept.encode.insert((*self, context));
            reserve(out.bytes, zstd_safe::compress_bound(decoded.len()))?;
            context.compress2(out.bytes, decoded).map(drop).map_err(fault)
        })
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let (claimed, limit) = (content_bound(encoded, out.allowed)?, out.allowed.limit());
        reserve(out.bytes, claimed.min(limit))?;
        out.contexts.with(|kept: &mut ZstdContexts| {
            let mut context = kept.decode.take().or_else(DCtx::try_create).ok_or(CodecError::memory(0))?;
            let found = context.decompress(out.bytes, encoded).map_err(usize::wrapping_neg);
            kept.decode = Some(context);
            // The buffer may be larger, after another chunk. What is said of a damaged one must not depend on this.
            match found {
                Ok(size) if size <= limit => Ok(()),
                Ok(_) | Err(TOO_SMALL) if claimed > limit => Err(CodecError::too_long(out.allowed)),
                // A frame is longer than its header says.
                Ok(_) | Err(TOO_SMALL) => Err(decode_fault(ZSTD_ErrorCode::ZSTD_error_corruption_detected as usize)),
                Err(number) => Err(decode_fault(number)),
            }
        })
    }

    fn context_bytes(&self, decoded: u64) -> u64 {
        context_bytes(self.level, decoded)
    }

    /// Reads a bit of the frame's descriptor, after the magic number (RFC 8878, section 3.1.1.1.1).
    fn holds_checksum(&self, encoded: &[u8]) -> Option<bool> {
        let is_frame = encoded.starts_with(&FRAME.to_le_bytes());
        Some(is_frame && encoded.get(4).is_some_and(|flags| flags & 4 != 0))
    }
}

/// The magic number of a frame.
const FRAME: u32 = 0xFD2F_B528;

/// The compressor's state with its parameters, and the decompressor's state.
#[derive(Default)]
struct ZstdContexts {
    encode: Option<(Zstd, CCtx<'static>)>,
    decode: Option<DCtx<'static>>,
}

/// Returns the bytes of both contexts, as the library estimates them. Nothing is allocated.
pub(super) fn context_bytes(level: i32, decoded: u64) -> u64 {
    const DECODER: u64 = 192 << 10;
    // SAFETY: both functions are pure arithmetic for any arguments.
    let encoder = unsafe {
        // The library takes a size of 0 for an unknown one.
        let parameters = zstd_sys::ZSTD_getCParams(level, decoded.max(1), 0);
        zstd_sys::ZSTD_estimateCCtxSize_usingCParams(parameters)
    };
    encoder as u64 + DECODER
}

const TOO_SMALL: usize = ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize;

/// Returns the error of a decoder for the number of a `ZSTD_ErrorCode`.
fn decode_fault(number: usize) -> CodecError {
    const MEMORY: usize = ZSTD_ErrorCode::ZSTD_error_memory_allocation as usize;
    const CHECKSUM: usize = ZSTD_ErrorCode::ZSTD_error_checksum_wrong as usize;
    let reason = zstd_safe::get_error_name(number.wrapping_neg());
    match number {
        MEMORY => CodecError::memory(0),
        CHECKSUM => CodecError::Checksum(format!("wrong checksum: {reason}")),
        _ => CodecError::corrupt(reason),
    }
}

/// Returns the greatest decoded size of the frames. It fails if they claim more than the limit.
///
/// Frames of versions before 0.8 are rejected: their decoders are old and have no limits.
fn content_bound(encoded: &[u8], bound: BytesSize) -> Result<usize, CodecError> {
    const SKIPPABLE: u32 = 0x184D_2A50;
    const BLOCK: u64 = 128 << 10;
    let (mut rest, mut claimed) = (encoded, 0_u64);
    while !rest.is_empty() {
        let magic = rest.first_chunk::<4>().map(|magic| u32::from_le_bytes(*magic));
        match magic {
            Some(magic) if magic == FRAME || magic & !0xf == SKIPPABLE => {}
            _ if rest.len() < encoded.len() => return Err(CodecError::trailing(rest.len())),
            _ => return Err(CodecError::corrupt("there is no zstd frame")),
        }
        let corrupt = |code| CodecError::corrupt(zstd_safe::get_error_name(code));
        let size = zstd_safe::find_frame_compressed_size(rest).map_err(corrupt)?;
        let (frame, following) = rest.split_at_checked(size).ok_or(CodecError::no_end(encoded.len()))?;
        if magic == Some(FRAME) {
            let content = zstd_safe::get_frame_content_size(frame)
                .map_err(|_| CodecError::corrupt("the header of a frame is not valid"))?;
            if let Some(found) = content.filter(|&content| content > bound.limit() as u64) {
                return Err(CodecError::length(bound, found));
            }
            // A block has at least three bytes and a byte of content, and decodes to at most BLOCK bytes.
            let content = content.unwrap_or((frame.len() as u64 / 4 + 1).saturating_mul(BLOCK));
            claimed = claimed.saturating_add(content);
        }
        rest = following;
    }
    Ok(usize::try_from(claimed).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::kinds::Contexts;

    #[test]
    fn context_holds_no_more_than_was_reckoned() {
        for level in [-5, 1, 3, 9, 15, 19, 22] {
            for size in [1_usize, 5000, 1 << 18, 3 << 20] {
                let (mut contexts, mut encoded) = (Contexts::default(), Vec::new());
                let allowed = BytesSize::Fixed(size as u64);
                let mut out = Output { bytes: &mut encoded, allowed, contexts: &mut contexts };
                Zstd { level, checksum: false }.encode(&vec![7; size], &mut out).unwrap();
                let held = contexts.with(|kept: &mut ZstdContexts| kept.encode.take().unwrap().1.sizeof());
                let held = held as u64;
                assert!(held <= context_bytes(level, size as u64), "{level} {size}: {held}");
            }
        }
    }
    #[test]
    fn frame_that_is_longer_than_its_header_says_is_the_same_fault_in_any_buffer() {
        let (mut contexts, mut encoded, allowed) = (Contexts::default(), Vec::new(), BytesSize::Fixed(200));
        let zstd = Zstd { level: 1, checksum: false };
        let mut out = Output { bytes: &mut encoded, allowed, contexts: &mut contexts };
        zstd.encode(&(0..200).collect::<Vec<u8>>(), &mut out).unwrap();
        assert_eq!(encoded[5], 200);
        for (claimed, expected) in [(150, "corrupt"), (200, "expected 100 decoded bytes")] {
            encoded[5] = claimed;
            let allowed = BytesSize::Fixed(if claimed == 200 { 100 } else { 200 });
            let faults = [0, 1000].map(|capacity| {
                let mut bytes = Vec::with_capacity(capacity);
                let mut out = Output { bytes: &mut bytes, allowed, contexts: &mut contexts };
                zstd.decode(&encoded, &mut out).unwrap_err().to_string()
            });
            assert!(faults[0] == faults[1] && faults[0].contains(expected), "{faults:?}");
        }
    }
}

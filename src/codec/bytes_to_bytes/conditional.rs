//! `conditional`: codecs of which a header in front of each chunk tells which it went through.
//!
//! Written is what is smaller: a compressor that gains nothing is left out, a checksum or a shuffle never.

use super::error::{BytesCodecError, Fault, reserve};
use super::{BytesCodec, Contexts, DecodedSize, EncodedSize};
use crate::pipeline::configuration::ConditionalConfiguration;

/// The most that a codec inside may decode to where those before it tell no bound: 1 GiB.
const MAX_UNBOUNDED_BYTES: usize = 1 << 30;

/// A bound `conditional`.
#[derive(Debug, Clone)]
pub(super) struct Conditional {
    codecs: Vec<BytesCodec>,
    header_bytes: usize,
}

impl Conditional {
    /// Makes the codecs inside; the error names one that cannot be made.
    pub(super) fn new(configuration: &ConditionalConfiguration) -> Result<Self, String> {
        let codecs = configuration.codecs.iter().map(|codec| {
            BytesCodec::new(&codec.name, codec.configuration.as_ref()).map_err(|error| error.to_string())
        });
        let header_bytes = usize::try_from(configuration.header_bytes).map_err(|error| error.to_string())?;
        Ok(Conditional { codecs: codecs.collect::<Result<_, _>>()?, header_bytes })
    }

    pub(super) fn encode(
        &self,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
        contexts: &mut Contexts,
    ) -> Result<(), Fault> {
        let mut header = vec![0_u8; self.header_bytes];
        let (mut current, mut next, mut is_first) = (Vec::new(), Vec::new(), true);
        for (place, codec) in self.codecs.iter().enumerate() {
            let source: &[u8] = if is_first { decoded } else { &current };
            codec
                .encode(source, &mut next, contexts)
                .map_err(|error| Fault::Encode { reason: error.to_string() })?;
            let is_compressor =
                !matches!(codec.encoded_size(EncodedSize::Fixed(source.len() as u64)), EncodedSize::Fixed(_));
            if !is_compressor || next.len() < source.len() {
                header[place / 8] |= 1 << (place % 8);
                std::mem::swap(&mut current, &mut next);
                is_first = false;
            }
        }
        let body: &[u8] = if is_first { decoded } else { &current };
        reserve(encoded, header.len() + body.len())?;
        encoded.extend_from_slice(&header);
        encoded.extend_from_slice(body);
        Ok(())
    }

    pub(super) fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
        contexts: &mut Contexts,
    ) -> Result<(), Fault> {
        let Some((header, body)) = encoded.split_at_checked(self.header_bytes) else {
            let (expected, found) = (self.header_bytes as u64, encoded.len() as u64);
            return Err(Fault::Short { expected, found });
        };
        let is_set = |place: usize| header[place / 8] >> (place % 8) & 1 == 1;
        if let Some(place) = (self.codecs.len()..header.len() * 8).find(|place| is_set(*place)) {
            let reason = format!("bit {place} of its header is set, which stands for no codec");
            return Err(Fault::corrupt(reason));
        }
        // What each codec that was applied decodes to, by those in front of it.
        let mut applied = Vec::new();
        let mut size = bound;
        for (place, codec) in self.codecs.iter().enumerate().filter(|(place, _)| is_set(*place)) {
            applied.push((place, size));
            size = after(codec, size);
        }
        let (mut current, mut is_first) = (Vec::new(), true);
        for (place, size) in applied.into_iter().rev() {
            let source: &[u8] = if is_first { body } else { &current };
            self.codecs[place].decode(source, decoded, size, contexts).map_err(inside)?;
            std::mem::swap(&mut current, decoded);
            is_first = false;
        }
        if is_first {
            bound.check(body.len())?;
            decoded.clear();
            reserve(decoded, body.len())?;
            decoded.extend_from_slice(body);
        } else {
            std::mem::swap(&mut current, decoded);
        }
        Ok(())
    }

    /// Two buffers beside those of its caller, and what the codecs keep.
    pub(super) fn context_bytes(&self, decoded: u64) -> u64 {
        let contexts = self.codecs.iter().map(|codec| codec.context_bytes(decoded)).max();
        contexts.unwrap_or(0).saturating_add(decoded.saturating_mul(2))
    }

    /// The header, and what any of the codecs may make of the bytes.
    pub(super) fn encoded_size(&self, decoded: EncodedSize) -> EncodedSize {
        let limit = decoded.limit().and_then(|limit| {
            self.codecs.iter().try_fold(limit, |limit, codec| {
                Some(limit.max(codec.encoded_size(EncodedSize::Bounded(limit)).limit()?))
            })
        });
        let limit = limit.and_then(|limit| limit.checked_add(self.header_bytes as u64));
        limit.map_or(EncodedSize::Unbounded, EncodedSize::Bounded)
    }
}

/// The size after a codec of what has a size.
fn after(codec: &BytesCodec, size: DecodedSize) -> DecodedSize {
    let before = match size {
        DecodedSize::Exact(size) => EncodedSize::Fixed(size as u64),
        DecodedSize::AtMost(limit) => EncodedSize::Bounded(limit as u64),
    };
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    match codec.encoded_size(before) {
        EncodedSize::Fixed(size) => DecodedSize::Exact(bytes(size)),
        EncodedSize::Bounded(limit) => DecodedSize::AtMost(bytes(limit)),
        EncodedSize::Unbounded => DecodedSize::AtMost(MAX_UNBOUNDED_BYTES),
    }
}

/// The fault of a codec inside; that of a length stays one.
fn inside(error: BytesCodecError) -> Fault {
    match error {
        BytesCodecError::Data { fault: fault @ (Fault::Length { .. } | Fault::TooLong { .. }), .. } => fault,
        error => Fault::corrupt(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::Json;

    fn codec(configuration: &str) -> BytesCodec {
        BytesCodec::new("conditional", Json::parse_str(configuration).unwrap().as_object()).unwrap()
    }

    const BOTH: &str = r#"{"codecs":[{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},
        {"name":"zstd","configuration":{"level":1,"checksum":false}},{"name":"crc32c"}],"header_bits":16}"#;

    #[test]
    fn header_tells_what_was_applied() {
        let (codec, mut contexts) = (codec(BOTH), Contexts::new());
        let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
        for (bytes, header) in [(vec![7; 4000], [0b111, 0]), (vec![1, 2, 3, 4], [0b101, 0])] {
            codec.encode(&bytes, &mut encoded, &mut contexts).unwrap();
            assert_eq!(encoded[..2], header);
            codec.decode(&encoded, &mut decoded, DecodedSize::Exact(bytes.len()), &mut contexts).unwrap();
            assert_eq!(decoded, bytes);
        }
        // Whatever a writer chose is read.
        for (encoded, bytes) in [(vec![0, 0, 9, 8], vec![9, 8]), (vec![1, 0, 1, 2, 3, 4], vec![1, 2, 3, 4])] {
            codec.decode(&encoded, &mut decoded, DecodedSize::AtMost(4), &mut contexts).unwrap();
            assert_eq!(decoded, bytes);
        }
    }

    #[test]
    fn header_that_stands_for_no_codec_is_an_error() {
        let (codec, mut contexts, mut decoded) = (codec(BOTH), Contexts::new(), Vec::new());
        for (encoded, expected) in [
            (&[8, 0, 1][..], "bit 3"),
            (&[0, 0x80, 1], "bit 15"),
            (&[0], "truncated"),
            (&[0, 0, 1, 2], "found 2"),
        ] {
            let error =
                codec.decode(encoded, &mut decoded, DecodedSize::Exact(1), &mut contexts).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}

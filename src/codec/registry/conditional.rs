//! `conditional`: codecs that may be skipped. A header before each chunk marks the codecs that encoded it.
//!
//! The smaller result is written: a compressor that saves nothing is skipped, a checksum or a shuffle never.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/conditional>

use std::borrow::Cow;

use super::{CodecKind, Entry, find};
use crate::codec::kinds::error::{CodecError, reserve};
use crate::codec::kinds::members::{Member, MemberType};
use crate::codec::kinds::{Binding, BytesCodec, BytesSize, Coder, Kind, Made, Output, SizeRule, copy};
use crate::diagnostic::code;
use crate::metadata::extension::{Findings, read_codecs};

/// `conditional`. The codecs inside determine its size.
pub(crate) static CONDITIONAL: Kind = Kind::new(|_| MEMBERS, make);

const MEMBERS: &[Member] =
    &[Member::required("codecs", MemberType::Any), Member::optional("header_bits", MemberType::Any)];

#[derive(Debug)]
struct Conditional {
    /// The codecs inside.
    codecs: Vec<BytesCodec>,
    /// Bytes before a chunk that mark the codecs that encoded it.
    header_bytes: usize,
}

fn make(Binding { members, .. }: &mut Binding<'_>) -> Option<Made> {
    let pointer = members.pointer_to("codecs");
    let metadata = read_codecs(members.get("codecs")?, &pointer, &mut members.diagnostics)?;
    let mut codecs = Vec::with_capacity(metadata.len());
    for codec in &metadata {
        match find(&codec.name) {
            Some(Entry { kind: CodecKind::BytesToBytes, codec: Some(kind), .. }) => {
                codecs.extend(BytesCodec::parse(kind, codec, &mut members.diagnostics));
            }
            Some(Entry { kind: CodecKind::ArrayToArray | CodecKind::ArrayToBytes, .. }) => {
                let message = format!("`conditional` holds bytes->bytes codecs alone, found `{}`", codec.name);
                members.diagnostics.add(code::CODEC_ORDER, codec.pointer.as_str(), message);
            }
            // The caller reports it.
            _ => {}
        }
    }
    let least = metadata.len().div_ceil(8) as u64 * 8;
    let header_bits = match members.get("header_bits") {
        Some(json) => members.checked_integer("header_bits", json, least..=1 << 16)?,
        None => least,
    };
    if header_bits % 8 != 0 {
        let json = members.get("header_bits")?;
        return members.unexpected(code::CONFIGURATION_VALUE, "header_bits", "a multiple of 8", json);
    }
    let header_bytes = usize::try_from(header_bits / 8).ok()?;
    (codecs.len() == metadata.len()).then(|| Made::of_bytes(Conditional { codecs, header_bytes }))
}

impl Coder for Conditional {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let mut header = vec![0_u8; self.header_bytes];
        let mut body = Cow::Borrowed(decoded);
        for (index, codec) in self.codecs.iter().enumerate() {
            let mut next = Vec::new();
            let result = codec.encode(&body, &mut next, out.contexts);
            result.map_err(|error| CodecError::encode(format!("`{}`: {error}", codec.name)))?;
            let is_compressor = !matches!(codec.encoded_size(BytesSize::Fixed(body.len() as u64)), BytesSize::Fixed(_));
            if !is_compressor || next.len() < body.len() {
                header[index / 8] |= 1 << (index % 8);
                body = Cow::Owned(next);
            }
        }
        reserve(out.bytes, header.len() + body.len())?;
        out.bytes.extend_from_slice(&header);
        out.bytes.extend_from_slice(&body);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let Some((header, body)) = encoded.split_at_checked(self.header_bytes) else {
            return Err(CodecError::short(self.header_bytes, encoded.len()));
        };
        let is_set = |index: usize| header[index / 8] >> (index % 8) & 1 == 1;
        if let Some(index) = (self.codecs.len()..header.len() * 8).find(|index| is_set(*index)) {
            let reason = format!("bit {index} of its header is set, which stands for no codec");
            return Err(CodecError::corrupt(reason));
        }
        // The decoded size of each applied codec, from the codecs before it.
        let mut applied = Vec::new();
        let mut size = out.allowed;
        for (index, codec) in self.codecs.iter().enumerate().filter(|(index, _)| is_set(*index)) {
            applied.push((index, size));
            size = after(codec, size);
        }
        if applied.is_empty() {
            out.allowed.check(body.len())?;
            return copy(body, out.bytes);
        }
        let mut current = Cow::Borrowed(body);
        for (index, size) in applied.into_iter().rev() {
            let codec = &self.codecs[index];
            codec.decode(&current, out.bytes, size, out.contexts).map_err(|error| inside(&codec.name, error))?;
            current = Cow::Owned(std::mem::take(out.bytes));
        }
        *out.bytes = current.into_owned();
        Ok(())
    }

    /// Counts two buffers in addition to those of its caller, and the memory of the codecs.
    fn context_bytes(&self, decoded: u64) -> u64 {
        let contexts = self.codecs.iter().map(|codec| codec.context_bytes(decoded)).max();
        contexts.unwrap_or(0).saturating_add(decoded.saturating_mul(2))
    }

    /// Adds the header to the greatest size that any of the codecs can produce.
    fn encoded_size(&self, _: SizeRule, decoded: BytesSize) -> BytesSize {
        let limit = decoded.bound().and_then(|limit| {
            self.codecs
                .iter()
                .try_fold(limit, |limit, codec| Some(limit.max(codec.encoded_size(BytesSize::Bounded(limit)).bound()?)))
        });
        let limit = limit.and_then(|limit| limit.checked_add(self.header_bytes as u64));
        BytesSize::at_most(limit)
    }
}

fn after(codec: &BytesCodec, size: BytesSize) -> BytesSize {
    match codec.encoded_size(size.limited()) {
        // The limit is that of the library used here. Another compressor may be a little worse.
        BytesSize::Bounded(limit) => BytesSize::Bounded(limit.saturating_add(limit / 4 + 1024)),
        size => size,
    }
}

/// Returns the fault of a codec inside. A fault of a length or of memory keeps its kind.
fn inside(codec: &str, error: CodecError) -> CodecError {
    match error {
        CodecError::Length { .. } | CodecError::Memory { .. } => error,
        error => CodecError::corrupt(format!("`{codec}`: {error}")),
    }
}

//! Errors of encoding and decoding bytes or elements.

use thiserror::Error;

use super::BytesSize;
use crate::diagnostic::quantity::{bytes, noun_of};
use crate::element::{Element, ElementType, NumberType, element_bits};
use crate::kernel::{ElementFault, FaultKind};
use crate::memory::fallibly;
use crate::with_element;

/// The reason why a codec failed on a chunk.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CodecError {
    /// An element cannot be converted.
    #[error("{}", describe_element(*.fault, *.bits, *.types))]
    Element {
        /// The reason, and the index in the buffer.
        fault: ElementFault,
        /// The position in the array's chunk, if it is known.
        position: Option<Box<[u64]>>,
        /// The value's bits.
        bits: u64,
        /// The types on both sides.
        types: Option<(NumberType, NumberType)>,
    },
    /// Bytes that are not an encoded chunk, or that cannot be encoded.
    #[error("{0}")]
    Bytes(String),
    /// A stored checksum differs from that of the bytes.
    #[error("{0}")]
    Checksum(String),
    /// The decoded length is not the one that the chain expects.
    #[error("{message}")]
    Length {
        /// The message.
        message: String,
        /// The number of bytes found, if the codec knows it.
        found: Option<u64>,
    },
    /// There is not enough memory for the result. The chunk may be valid.
    #[error("there is no memory for {}", bytes(*.needed))]
    Memory {
        /// The requested bytes. 0 if the library does not report them.
        needed: u64,
    },
}

impl CodecError {
    /// Makes the error of bytes that are not an encoded chunk.
    pub(crate) fn bytes(reason: impl std::fmt::Display) -> Self {
        CodecError::Bytes(reason.to_string())
    }

    /// Makes the error of bytes that violate the format of a compressor.
    pub(crate) fn corrupt(reason: impl std::fmt::Display) -> Self {
        CodecError::Bytes(format!("the encoded bytes are corrupt: {reason}"))
    }

    /// Makes the error of bytes that cannot be encoded.
    pub(crate) fn encode(reason: impl std::fmt::Display) -> Self {
        CodecError::Bytes(format!("the bytes cannot be encoded: {reason}"))
    }

    /// Makes the error of encoded bytes that end too early.
    pub(crate) fn short(expected: usize, found: usize) -> Self {
        let message = format!("the encoded bytes are truncated: expected at least {expected}, found {found}");
        CodecError::Bytes(message)
    }

    /// Makes the error of `found` encoded bytes that end within the compressed stream.
    pub(super) fn no_end(found: usize) -> Self {
        CodecError::Bytes(format!(
            "the encoded bytes are truncated: the stream of {found} {} has no end",
            noun_of(found as u64, "byte")
        ))
    }

    /// Makes the error of `count` bytes after the end of the encoded ones.
    pub(super) fn trailing(count: usize) -> Self {
        CodecError::Bytes(format!("{count} {} after the end of the encoded bytes", noun_of(count as u64, "byte")))
    }

    /// Makes the error of a wrong decoded length, actual or claimed.
    pub(super) fn length(expected: BytesSize, found: u64) -> Self {
        let message = format!("expected {expected} decoded bytes, found {found}");
        CodecError::Length { message, found: Some(found) }
    }

    /// Makes the error of decoded bytes that exceed the limit.
    pub(super) fn too_long(expected: BytesSize) -> Self {
        CodecError::Length { message: format!("expected {expected} decoded bytes, found more"), found: None }
    }

    /// Makes the error of a stored checksum that differs from that of the bytes.
    pub(super) fn checksum(expected: u32, found: u32) -> Self {
        let message = format!("wrong checksum: expected {expected:#010x} as stored, found {found:#010x}");
        CodecError::Checksum(message)
    }

    /// Makes the error of missing memory for `needed` bytes. 0 if the library does not report them.
    pub(super) fn memory(needed: usize) -> Self {
        CodecError::Memory { needed: needed as u64 }
    }

    /// Makes the error of an element of `source`.
    pub(super) fn element(fault: ElementFault, types: Option<(NumberType, NumberType)>, source: &[u8]) -> Self {
        let size = types.map_or(1, |(source, _)| source.size());
        let bits = source.get(fault.index * size..(fault.index + 1) * size).map_or(0, element_bits);
        CodecError::Element { fault, position: None, bits, types }
    }
}

impl BytesSize {
    /// Fails if a size does not fit.
    pub(crate) fn check(self, found: usize) -> Result<(), CodecError> {
        let is_fixed = matches!(self, BytesSize::Fixed(_));
        let fits = if is_fixed { found == self.limit() } else { found <= self.limit() };
        if fits { Ok(()) } else { Err(CodecError::length(self, found as u64)) }
    }
}

/// Reserves capacity for `more` elements. Fails if there is not enough memory.
pub(crate) fn reserve<T>(buffer: &mut Vec<T>, more: usize) -> Result<(), CodecError> {
    // The capacity is exact, because the memory budget counts sizes of chunks. A growing buffer could take twice as
    // much.
    fallibly(|| buffer.try_reserve_exact(more)).map_err(|_| CodecError::memory(more.saturating_mul(size_of::<T>())))
}

/// Returns a number as text: the shortest decimal, or the word for NaN and infinities.
pub fn number_text(number_type: NumberType, bits: u64) -> String {
    if let Some(float) = number_type.small_float() {
        return float.to_f64(bits).map_or_else(|| "NaN".to_owned(), |value| value.to_string());
    }
    with_element!(number_type.element(), T => T::from_bits64(bits).to_string())
}

/// Returns the range of a type as text.
fn bounds_text(number_type: NumberType) -> String {
    if let Some(float) = number_type.small_float() {
        let format = float.format;
        let least = if format.is_unsigned() { 0 } else { format.greatest() | format.sign() };
        let text = |bits| {
            let value = float.to_f64(bits).unwrap_or_default();
            let is_far = value.abs() >= 1e6 || value.abs() < 1e-6;
            if is_far { format!("{value:e}") } else { value.to_string() }
        };
        return format!("{} to {}", text(least), text(format.greatest()));
    }
    match (number_type.integer_bounds(), number_type.element()) {
        (Some((least, greatest)), _) => format!("{least} to {greatest}"),
        (None, ElementType::Float16) => "-65504 to 65504".to_owned(),
        (None, ElementType::Float32) => format!("{:e} to {:e}", f32::MIN, f32::MAX),
        (None, _) => format!("{:e} to {:e}", f64::MIN, f64::MAX),
    }
}

fn describe_element(fault: ElementFault, bits: u64, types: Option<(NumberType, NumberType)>) -> String {
    if fault.kind == FaultKind::NotBool {
        return format!("the byte {bits} is found where a bool is 0 or 1");
    }
    let Some((source, target)) = types else { return "a value cannot be converted".to_owned() };
    let value = number_text(source, bits);
    match fault.kind {
        FaultKind::OutOfRange => format!("{value} is out of the range of {target}, {}", bounds_text(target)),
        FaultKind::NotANumber => format!("NaN cannot be held by {target}, {}", bounds_text(target)),
        FaultKind::Infinite => format!("{value} cannot be held by {target}, {}", bounds_text(target)),
        FaultKind::Overflow => {
            format!("{value} leaves the range of {target}, {}, under the arithmetic", bounds_text(target))
        }
        FaultKind::Remainder => format!("{value} cannot be divided by the scale without a remainder in {target}"),
        FaultKind::NotOfType | FaultKind::NotBool => {
            format!("{value} is not a value of {source}, {}", bounds_text(source))
        }
        FaultKind::ReservedCode => format!("{value} would get the code that is reserved for NaN in {target}"),
    }
}

/// Returns help that names the option against an element's fault, for a codec chain or a data type change.
pub fn element_help(kind: FaultKind) -> Option<&'static str> {
    match kind {
        FaultKind::OutOfRange | FaultKind::ReservedCode => Some(
            "\"out_of_range\": \"clamp\" in cast_value (`--out-of-range clamp` of `transcode`) encodes such values as the \
                nearest bound; a stored code out of range was not made by this chain",
        ),
        FaultKind::NotANumber => {
            Some("`--nan-value CODE` reserves a code for NaN (an entry [\"NaN\", CODE] in cast_value's \"scalar_map\")")
        }
        FaultKind::Infinite => Some(
            "a float type holds infinities; `cast_value` in --codecs maps them by [\"Infinity\", CODE] in \"scalar_map\"",
        ),
        FaultKind::Overflow => Some("choose a smaller scale or another offset, or a wider data type"),
        FaultKind::Remainder => Some("the stored values were not made by this scale; check the codec's configuration"),
        FaultKind::NotBool => {
            Some("the chunk is damaged, or was not written as bool: restore it from its source, or write it again")
        }
        FaultKind::NotOfType => None,
    }
}

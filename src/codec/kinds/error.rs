//! What can be wrong with encoded bytes.

use thiserror::Error;

use super::DecodedSize;
use crate::diagnostic::quantity::bytes;
use crate::memory::fallibly;

/// Why bytes cannot be encoded or decoded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BytesCodecError {
    /// The metadata make no codec.
    #[error("`{codec}`: {reason}")]
    Configuration {
        /// The name of the codec.
        codec: String,
        /// What is wrong.
        reason: String,
    },
    /// The bytes do not decode, or do not decode to what is expected.
    #[error("`{codec}`: {fault}")]
    Data {
        /// The name of the codec.
        codec: String,
        /// What is wrong.
        fault: Fault,
    },
}

impl BytesCodecError {
    /// A configuration that makes no codec.
    pub(super) fn configuration(codec: &str, reason: impl Into<String>) -> Self {
        BytesCodecError::Configuration { codec: codec.to_owned(), reason: reason.into() }
    }

    /// A codec that this program does not know, or does not run.
    pub(crate) fn not_run(codec: &str) -> Self {
        Self::configuration(codec, "this program does not run it")
    }

    /// A codec that takes or gives an array.
    pub(crate) fn not_bytes(codec: &str) -> Self {
        Self::configuration(codec, "it does not turn bytes into bytes")
    }

    /// Whether the bytes decode, but to another length than the chain expects.
    pub fn is_wrong_length(&self) -> bool {
        matches!(self, BytesCodecError::Data { fault: Fault::Length { .. } | Fault::TooLong { .. }, .. })
    }

    /// Whether a checksum that is stored with the bytes is not theirs.
    pub fn is_wrong_checksum(&self) -> bool {
        matches!(
            self,
            BytesCodecError::Data { fault: Fault::Checksum { .. } | Fault::InnerChecksum { .. }, .. }
        )
    }

    /// The bytes that there was no memory for, where that is the fault; 0 where the library does not tell.
    pub fn missing_memory(&self) -> Option<u64> {
        match self {
            BytesCodecError::Data { fault: Fault::Memory { size }, .. } => Some(*size as u64),
            _ => None,
        }
    }

    /// The length that the bytes decode to, where that is wrong and known.
    pub fn found_length(&self) -> Option<u64> {
        match self {
            BytesCodecError::Data { fault: Fault::Length { found, .. }, .. } => Some(*found),
            _ => None,
        }
    }
}

/// What is wrong with the data of a codec.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// The decoded bytes have another length.
    #[error("expected {expected} decoded bytes, found {found}")]
    Length {
        /// What the codec chain expects.
        expected: DecodedSize,
        /// What is there, or is claimed.
        found: u64,
    },
    /// The decoded bytes pass the bound.
    #[error("expected {expected} decoded bytes, found more")]
    TooLong {
        /// What the codec chain expects.
        expected: DecodedSize,
    },
    /// The encoded bytes end too early.
    #[error("the encoded bytes are truncated: expected at least {expected}, found {found}")]
    Short {
        /// The least number of bytes.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// The encoded bytes end within the compressed stream.
    #[error("the encoded bytes are truncated: the stream of {found} bytes has no end")]
    NoEnd {
        /// What is there.
        found: usize,
    },
    /// There are bytes after the end of the encoded ones.
    #[error("{count} bytes follow the end of the encoded bytes")]
    Trailing {
        /// How many.
        count: usize,
    },
    /// A stored checksum is not that of the bytes.
    #[error("wrong checksum: expected {expected:#010x} as stored, found {found:#010x}")]
    Checksum {
        /// What is stored.
        expected: u32,
        /// What the bytes have.
        found: u32,
    },
    /// A checksum inside a compressor's format is not that of the bytes; the library does not tell either.
    #[error("wrong checksum: {reason}")]
    InnerChecksum {
        /// What the decoder says.
        reason: String,
    },
    /// The compressor's format is violated.
    #[error("the encoded bytes are corrupt: {reason}")]
    Corrupt {
        /// What the decoder says.
        reason: String,
    },
    /// The bytes could not be encoded.
    #[error("the bytes cannot be encoded: {reason}")]
    Encode {
        /// What the encoder says.
        reason: String,
    },
    /// The memory for the outcome is not to be had.
    #[error("there is no memory for {}", bytes(*.size as u64))]
    Memory {
        /// Bytes that were needed.
        size: usize,
    },
}

impl DecodedSize {
    /// Refuses a size that does not fit.
    pub(super) const fn check(self, found: usize) -> Result<(), Fault> {
        let fits = match self {
            DecodedSize::Exact(size) => found == size,
            DecodedSize::AtMost(limit) => found <= limit,
        };
        if fits { Ok(()) } else { Err(Fault::Length { expected: self, found: found as u64 }) }
    }
}

impl Fault {
    pub(super) fn of_codec(self, codec: &str) -> BytesCodecError {
        BytesCodecError::Data { codec: codec.to_owned(), fault: self }
    }

    pub(super) fn corrupt(reason: impl Into<String>) -> Fault {
        Fault::Corrupt { reason: reason.into() }
    }
}

/// Makes room for so many bytes in a cleared buffer.
pub(super) fn reserve(buffer: &mut Vec<u8>, size: usize) -> Result<(), Fault> {
    fallibly(|| buffer.try_reserve_exact(size)).map_err(|_| Fault::Memory { size })
}

//! Faults of encoding and decoding a chunk: the codec, the element, the expected and the found value.

pub use super::kinds::error::{CodecError, element_help, number_text};
use crate::element::NumberType;
pub use crate::element::number_value;
use crate::grid::zip_with;
use crate::kernel::FaultKind;
use crate::store::file::FIRST_BYTES;
use crate::store::{FileFormat, ObjectReader, StoreError};

/// The outcome of a chain.
pub type Result<T = (), E = ChainFault> = std::result::Result<T, E>;

/// The outcome of a codec of a chain.
pub(super) type Outcome<T = ()> = Result<T, ChainFaultKind>;

/// The fault of a codec on a chunk.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct ChainFault {
    /// Its index in the chain, from 0. Indices inside a shard follow a dot (`1.0`). `-` if it is not a codec of a
    /// chain.
    pub index: Box<str>,
    /// Its name.
    pub codec: Box<str>,
    /// The kind of fault.
    pub kind: ChainFaultKind,
    /// True if the chunk was to be encoded, false if it was to be decoded.
    pub is_encoding: bool,
}

/// The kind of a codec's fault.
#[derive(Debug, thiserror::Error)]
pub enum ChainFaultKind {
    /// The codec itself reports it.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The number of bytes is not the one that the chain expects.
    #[error("{found} bytes found, {expected} expected")]
    Size {
        /// The expected number of bytes.
        expected: u64,
        /// The number of bytes found.
        found: u64,
    },
    /// A chunk decodes to more bytes than the memory limit allows.
    #[error("there is memory for {limit} decoded bytes, and {}", found.map_or("more are found".to_owned(), |found| format!("{found} are found")))]
    Limit {
        /// The allowed number of bytes.
        limit: u64,
        /// The number of decoded bytes, if the codec knows it.
        found: Option<u64>,
    },
    /// A file in place of the chunk: a pointer to it, or an answer of a server.
    #[error("the stored chunk is {}", .0.name)]
    StandIn(&'static FileFormat),
    /// A shard index that does not fit its shard.
    #[error("{0}")]
    Shard(String),
    /// A store failed while a shard was read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChainFault {
    /// Makes the fault of a codec at an index of the chain that was to decode.
    pub fn new(index: impl Into<Box<str>>, codec: impl Into<Box<str>>, kind: impl Into<ChainFaultKind>) -> Self {
        ChainFault { index: index.into(), codec: codec.into(), kind: kind.into(), is_encoding: false }
    }

    /// Returns the fault of a codec that was to encode.
    #[must_use]
    pub fn of_encoding(self) -> Self {
        ChainFault { is_encoding: true, ..self }
    }

    /// Makes the fault of missing memory for `needed` bytes of values.
    pub(super) fn memory(needed: u64) -> Self {
        ChainFault::new("-", "values", CodecError::Memory { needed })
    }

    /// Returns the message. For a file in place of a chunk no codec is at fault, so none is named.
    fn sentence(&self) -> String {
        match (&self.kind, &*self.index) {
            (ChainFaultKind::StandIn(_), _) => self.kind.to_string(),
            (kind, "-") => format!("{}: {kind}", self.codec),
            (kind, index) => format!("codec {index} ({}): {kind}", self.codec),
        }
    }

    /// Adds `start`, the position of the chunk's first element in the array, to the position of the faulty element.
    #[must_use]
    pub fn moved_by(mut self, start: &[u64]) -> Self {
        if let ChainFaultKind::Codec(CodecError::Element { position: Some(position), .. }) = &mut self.kind {
            position.iter_mut().zip(start).for_each(|(index, first)| *index += first);
        }
        self
    }

    /// Returns the message with the position of the faulty element in the array, if it is known. `start` is the
    /// position of the chunk's first element.
    pub fn sentence_at(&self, start: &[u64]) -> String {
        match &self.kind {
            ChainFaultKind::Codec(CodecError::Element { position: Some(position), .. })
                // A codec after `reshape` counts in its own input, which may have another number of dimensions than the
                // array.
                if position.len() == start.len() =>
            {
                let position = zip_with(position, start, u64::saturating_add);
                format!("{self} (element {position:?})")
            }
            _ => self.to_string(),
        }
    }

    /// Makes the fault of a stored chunk whose size is not that of its chain.
    pub fn of_stored_size(reader: &ObjectReader, expected: u64) -> ChainFault {
        let found = reader.length();
        let mut first = Vec::new();
        let is_read = reader.read_at(0, found.min(FIRST_BYTES as u64), &mut first).is_ok();
        let stand_in = if is_read { FileFormat::of_stand_in(&first) } else { None };
        let kind = stand_in.map_or(ChainFaultKind::Size { expected, found }, ChainFaultKind::StandIn);
        ChainFault::new("0", "bytes", kind)
    }

    /// Returns help for a stored chunk that is not a chunk at all.
    pub fn chunk_help(&self) -> Option<&'static str> {
        if let ChainFaultKind::StandIn(format) = &self.kind { Some(format.help) } else { None }
    }

    /// Returns help for a faulty element in a filter of numcodecs.
    pub fn filter_help(&self) -> Option<&'static str> {
        let is_filter = self.codec.starts_with("numcodecs.");
        (is_filter && self.element().is_some()).then_some(
            "numcodecs loses such a value, or its result depends on the machine: give the codec another \
                configuration, such as a wider `astype`",
        )
    }

    /// Returns the bytes that could not be allocated, if that is the fault. The chunk itself may be valid.
    pub fn missing_memory(&self) -> Option<u64> {
        if let ChainFaultKind::Codec(CodecError::Memory { needed }) = self.kind { Some(needed) } else { None }
    }

    /// Returns the reason why an element could not be converted, if that is the fault.
    pub fn element(&self) -> Option<(FaultKind, Option<(NumberType, NumberType)>)> {
        let ChainFaultKind::Codec(CodecError::Element { fault, types, .. }) = &self.kind else { return None };
        Some((fault.kind, *types))
    }
}

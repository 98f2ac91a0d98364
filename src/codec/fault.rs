//! Why a chunk cannot be encoded or decoded: which codec, which element, what was expected and what was found.

pub use super::kinds::error::{CodecError, element_help, number_text, number_value};
use crate::element::NumberType;
use crate::kernel::FaultKind;
use crate::store::file::FIRST_BYTES;
use crate::store::{FileFormat, ObjectReader, StoreError};

/// The outcome of a chain.
pub type Result<T = (), E = ChainFault> = std::result::Result<T, E>;

/// The outcome of a codec of a chain.
pub(super) type Outcome<T = ()> = Result<T, ChainFaultKind>;

/// A codec failed on a chunk.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct ChainFault {
    /// Its place in the chain, from 0; those inside a shard follow a dot (`1.0`); `-` for what is no codec of a chain.
    pub place: Box<str>,
    /// Its name.
    pub codec: String,
    /// The fault.
    pub kind: ChainFaultKind,
}

/// The fault of a codec.
#[derive(Debug, thiserror::Error)]
pub enum ChainFaultKind {
    /// The codec says so.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Bytes of another size than the chain expects.
    #[error("{found} bytes found, {expected} expected")]
    Size {
        /// Bytes expected.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// A chunk decodes to more than there is room for.
    #[error("there is room for {room} decoded bytes, and {}", found.map_or("more are found".to_owned(), |found| format!("{found} are found")))]
    Room {
        /// Bytes that there is room for.
        room: u64,
        /// The bytes that it decodes to, where the codec tells that.
        found: Option<u64>,
    },
    /// A file that stands in for the chunk: a pointer to it, or an answer of a server.
    #[error("the stored chunk is {}", .0.name)]
    StandIn(&'static FileFormat),
    /// A shard index that does not fit its shard.
    #[error("{0}")]
    Shard(String),
    /// A store failed under a shard.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChainFault {
    /// A fault of a codec at a place.
    pub(super) fn new(place: impl Into<Box<str>>, codec: impl Into<String>, kind: impl Into<ChainFaultKind>) -> Self {
        ChainFault { place: place.into(), codec: codec.into(), kind: kind.into() }
    }

    /// There is no memory for so many bytes of values.
    pub(super) fn memory(needed: u64) -> Self {
        ChainFault::new("-", "values", CodecError::Memory { needed })
    }

    /// The fault and its codec; a chunk that is none has no codec at fault.
    fn sentence(&self) -> String {
        match &self.kind {
            ChainFaultKind::StandIn(_) => self.kind.to_string(),
            kind => format!("{}: {kind}", self.named()),
        }
    }

    /// The codec with its place.
    fn named(&self) -> String {
        match &*self.place {
            "-" => self.codec.clone(),
            place => format!("codec {place} ({})", self.codec),
        }
    }

    /// The same fault with the position of its element moved from the frame of a chunk whose first element is at `start`
    /// to that of the array.
    #[must_use]
    pub fn moved_by(mut self, start: &[u64]) -> Self {
        if let ChainFaultKind::Codec(CodecError::Element { position: Some(position), .. }) = &mut self.kind {
            position.iter_mut().zip(start).for_each(|(index, first)| *index += first);
        }
        self
    }

    /// The sentence with the position in the array of the element at fault, where that is known, of a chunk whose first
    /// element is at `start`.
    pub fn sentence_at(&self, start: &[u64]) -> String {
        match &self.kind {
            ChainFaultKind::Codec(CodecError::Element { position: Some(position), .. })
                if position.len() == start.len() =>
            {
                let position: Vec<u64> =
                    position.iter().zip(start).map(|(index, first)| index.saturating_add(*first)).collect();
                format!("{self} (element {position:?})")
            }
            _ => self.to_string(),
        }
    }

    /// A stored chunk is not of the size that its chain gives.
    pub fn of_stored_size(reader: &ObjectReader, expected: u64) -> ChainFault {
        let found = reader.length();
        let mut first = Vec::new();
        let is_read = reader.read_at(0, found.min(FIRST_BYTES as u64), &mut first).is_ok();
        let stand_in = if is_read { FileFormat::of_stand_in(&first) } else { None };
        let kind = stand_in.map_or(ChainFaultKind::Size { expected, found }, ChainFaultKind::StandIn);
        ChainFault::new("0", "bytes", kind)
    }

    /// Help for a chunk that cannot be decoded since it is none at all.
    pub fn chunk_help(&self) -> Option<&'static str> {
        if let ChainFaultKind::StandIn(format) = &self.kind { Some(format.help) } else { None }
    }

    /// Help for an element at fault in a filter of numcodecs.
    pub fn filter_help(&self) -> Option<&'static str> {
        let is_filter = self.codec.starts_with("numcodecs.");
        (is_filter && self.element().is_some()).then_some(
            "numcodecs loses such a value, or its result depends on the machine: give the codec another \
                configuration, such as a wider `astype`",
        )
    }

    /// The bytes that there was no memory for, where that is the fault: it is not one of the chunk.
    pub fn missing_memory(&self) -> Option<u64> {
        if let ChainFaultKind::Codec(CodecError::Memory { needed }) = self.kind { Some(needed) } else { None }
    }

    /// Why an element could not be converted, where that is the fault.
    pub fn element(&self) -> Option<(FaultKind, Option<(NumberType, NumberType)>)> {
        let ChainFaultKind::Codec(CodecError::Element { fault, types, .. }) = &self.kind else { return None };
        Some((fault.kind, *types))
    }
}

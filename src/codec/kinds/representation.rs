//! What a chunk is between two codecs, an array of elements or bytes, and sizes before and after a codec.

use crate::data_type::{DataType, FillValue};
use crate::grid::num_elements;

/// A chunk as an array: C order, elements in the byte order of this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayRepresentation {
    /// The type of its elements.
    pub data_type: DataType,
    /// Its shape, in elements.
    pub shape: Vec<u64>,
    /// The value of absent elements; `None` where no fill value is followed through the chain.
    pub fill_value: Option<FillValue>,
}

/// A chunk before or after a codec.
#[derive(Debug, Clone, PartialEq)]
pub enum Representation {
    /// An array.
    Array(ArrayRepresentation),
    /// Bytes.
    Bytes(BytesSize),
}

impl ArrayRepresentation {
    /// Elements of the chunk; `None` where the product overflows.
    pub fn num_elements(&self) -> Option<u64> {
        num_elements(&self.shape)
    }

    /// Bytes of the chunk in memory; `None` where the type has no fixed size or the product overflows.
    pub fn num_bytes(&self) -> Option<u64> {
        self.num_elements()?.checked_mul(u64::try_from(self.data_type.size()?).ok()?)
    }

    /// The most bytes that the chunk may have once it is encoded to this; more is a fault.
    pub fn max_encoded_bytes(&self, encoded: &Representation) -> u64 {
        // A compressor that gives no bound is allowed twice the decoded chunk and a mebibyte.
        let decoded = self.num_bytes().unwrap_or(u64::MAX);
        let allowance = decoded.saturating_mul(2).saturating_add(1 << 20);
        encoded.max_bytes().map_or(allowance, |bytes| bytes.max(allowance))
    }
}

impl Representation {
    /// The array, where it is one.
    pub fn array(&self) -> Option<&ArrayRepresentation> {
        if let Representation::Array(array) = self { Some(array) } else { None }
    }

    /// The most bytes of it in memory.
    pub fn max_bytes(&self) -> Option<u64> {
        match self {
            Representation::Array(array) => array.num_bytes(),
            Representation::Bytes(size) => size.bound(),
        }
    }
}

/// The most that a chunk may decode to where nothing tells a bound: 1 GiB.
const MAX_UNBOUNDED_BYTES: usize = 1 << 30;

/// A count of bytes as one of memory: where it is more, so much that nothing has it.
pub(super) fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The size of a chunk as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BytesSize {
    /// Always this many.
    Fixed(u64),
    /// At most this many.
    Bounded(u64),
    /// Not known from the metadata.
    Unbounded,
}

impl BytesSize {
    /// The most bytes that there can be.
    pub const fn bound(self) -> Option<u64> {
        if let BytesSize::Fixed(bytes) | BytesSize::Bounded(bytes) = self { Some(bytes) } else { None }
    }

    /// The most bytes to which a chunk of this size may decode.
    pub fn limit(self) -> usize {
        self.bound().map_or(MAX_UNBOUNDED_BYTES, size)
    }

    /// The same, bounded by the limit where nothing else bounds it.
    pub(crate) fn limited(self) -> BytesSize {
        if self == BytesSize::Unbounded { BytesSize::Bounded(self.limit() as u64) } else { self }
    }

    /// At most this many bytes, where that is known.
    pub fn at_most(bytes: Option<u64>) -> BytesSize {
        bytes.map_or(BytesSize::Unbounded, BytesSize::Bounded)
    }
}

impl std::fmt::Display for BytesSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let BytesSize::Fixed(size) = self { write!(f, "{size}") } else { write!(f, "at most {}", self.limit()) }
    }
}

/// The change that a codec makes to the size of any bytes.
#[derive(Debug, Clone, Copy)]
pub enum SizeRule {
    /// Not at all.
    Same,
    /// So many bytes more.
    Plus(u64),
    /// To at most what the function gives for so many bytes; `None` where that overflows.
    AtMost(fn(u64) -> Option<u64>),
    /// There is no bound.
    Unbounded,
}

impl SizeRule {
    /// The size after the codec.
    pub fn of(self, decoded: BytesSize) -> BytesSize {
        match (self, decoded) {
            (SizeRule::Same, size) => size,
            (SizeRule::Plus(more), BytesSize::Fixed(bytes)) => {
                bytes.checked_add(more).map_or(BytesSize::Unbounded, BytesSize::Fixed)
            }
            (SizeRule::Plus(more), size) => BytesSize::at_most(size.bound().and_then(|bytes| bytes.checked_add(more))),
            (SizeRule::AtMost(bound), size) => BytesSize::at_most(size.bound().and_then(bound)),
            (SizeRule::Unbounded, _) => BytesSize::Unbounded,
        }
    }
}

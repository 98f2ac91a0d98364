//! The representation of a chunk between two codecs: an array of elements, or bytes. Also sizes before and after a
//! codec.

use crate::data_type::{DataType, FillValue};

/// A chunk as an array: C order, elements in the byte order of this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayRepresentation {
    /// The type of the elements.
    pub data_type: DataType,
    /// The shape, in elements.
    pub shape: Vec<u64>,
    /// The value of absent elements. `None` if the chain does not follow a fill value.
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
    /// Returns the number of elements of the chunk. `None` if the product overflows.
    pub fn num_elements(&self) -> Option<u64> {
        self.shape.iter().try_fold(1_u64, |product, length| product.checked_mul(*length))
    }

    /// Returns the bytes of the chunk in memory. `None` if the type has no fixed size, or if the product overflows.
    pub fn num_bytes(&self) -> Option<u64> {
        self.num_elements()?.checked_mul(u64::try_from(self.data_type.size()?).ok()?)
    }

    /// Returns the most bytes that the chunk may have in this encoded representation. More is a fault.
    pub fn max_encoded_bytes(&self, encoded: &Representation) -> u64 {
        // A compressor without a limit may exceed the decoded chunk.
        let allowance = with_allowance(self.num_bytes().unwrap_or(u64::MAX));
        encoded.max_bytes().map_or(allowance, |bytes| bytes.max(allowance))
    }
}

/// Returns the most bytes that are accepted where a usual writer needs `bytes`: twice as many and 1 MiB.
pub(crate) fn with_allowance(bytes: u64) -> u64 {
    bytes.saturating_mul(2).saturating_add(1 << 20)
}

impl Representation {
    /// Returns the array. `None` for bytes.
    pub fn array(&self) -> Option<&ArrayRepresentation> {
        if let Representation::Array(array) = self { Some(array) } else { None }
    }

    /// Returns its most bytes in memory. `None` if there is no limit.
    pub fn max_bytes(&self) -> Option<u64> {
        match self {
            Representation::Array(array) => array.num_bytes(),
            Representation::Bytes(size) => size.bound(),
        }
    }
}

/// The most decoded bytes of a chunk without another limit: 1 GiB.
const MAX_UNBOUNDED_BYTES: usize = 1 << 30;

/// Returns a number of bytes as `usize`. A larger one becomes `usize::MAX`, which no machine can allocate.
pub(super) fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The size of a chunk as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BytesSize {
    /// Exactly this number of bytes.
    Fixed(u64),
    /// At most this number of bytes.
    Bounded(u64),
    /// Unknown from the metadata.
    Unbounded,
}

impl BytesSize {
    /// Returns the most bytes. `None` if the metadata does not limit them.
    pub const fn bound(self) -> Option<u64> {
        if let BytesSize::Fixed(bytes) | BytesSize::Bounded(bytes) = self { Some(bytes) } else { None }
    }

    /// Returns the most bytes to which a chunk of this size may decode.
    pub fn limit(self) -> usize {
        self.bound().map_or(MAX_UNBOUNDED_BYTES, size)
    }

    /// Returns this size, or one bounded by [`BytesSize::limit`] if it is unbounded.
    pub(crate) fn limited(self) -> BytesSize {
        if self == BytesSize::Unbounded { BytesSize::Bounded(self.limit() as u64) } else { self }
    }

    /// Returns the size of at most `bytes` bytes. `None` means unbounded.
    pub fn at_most(bytes: Option<u64>) -> BytesSize {
        bytes.map_or(BytesSize::Unbounded, BytesSize::Bounded)
    }
}

impl std::fmt::Display for BytesSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let BytesSize::Fixed(size) = self { write!(f, "{size}") } else { write!(f, "at most {}", self.limit()) }
    }
}

/// The change of size by a codec, for any bytes.
#[derive(Debug, Clone, Copy)]
pub enum SizeRule {
    /// The size stays the same.
    Same,
    /// The size grows by this number of bytes.
    Plus(u64),
    /// The function returns the greatest size for a number of bytes. `None` if it overflows.
    AtMost(fn(u64) -> Option<u64>),
    /// There is no limit.
    Unbounded,
}

impl SizeRule {
    /// Returns the size after the codec.
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

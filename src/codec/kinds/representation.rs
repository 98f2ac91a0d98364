//! What a chunk is between two codecs: an array of elements, or bytes.

use super::BytesSize;
use crate::data_type::{DataType, FillValue};

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
        self.shape.iter().try_fold(1_u64, |product, length| product.checked_mul(*length))
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
        match self {
            Representation::Array(array) => Some(array),
            Representation::Bytes(_) => None,
        }
    }

    /// The most bytes of it in memory.
    pub fn max_bytes(&self) -> Option<u64> {
        match self {
            Representation::Array(array) => array.num_bytes(),
            Representation::Bytes(size) => size.bound(),
        }
    }
}

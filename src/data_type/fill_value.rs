//! Fill values: their bytes, and what can be wrong with their JSON.

use super::DataType;

/// The bytes of a fill value, in the order of this machine. Equality is bit for bit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FillValue(pub Vec<u8>);

/// Why JSON is no value of a data type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} for {data_type}, found {found}")]
pub struct FillValueError {
    /// The name of the data type.
    pub data_type: String,
    /// What would be right.
    pub expected: String,
    /// What is there, shortened.
    pub found: String,
}

impl FillValue {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bits of a number type's value, zero-extended to 64; `None` for another type or length.
    pub fn to_bits(&self, _data_type: &DataType) -> Option<u64> {
        unimplemented!()
    }

    /// The fill value of a number type by its bits.
    pub fn from_bits(_number_type: crate::element::NumberType, _bits: u64) -> Self {
        unimplemented!()
    }
}

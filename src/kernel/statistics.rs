//! What values an array holds. (API; being filled in)

use crate::element::NumberType;

/// The extent of a slice of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// Elements.
    pub count: u64,
    /// NaN, and values that count as missing.
    pub nan: u64,
    /// +Infinity.
    pub positive_infinity: u64,
    /// -Infinity.
    pub negative_infinity: u64,
    /// Bits of the least and greatest finite value (-0.0 before 0.0); `None` where there is none.
    pub finite: Option<(u64, u64)>,
}

/// A bound scan for the extent of floats or integers.
#[derive(Debug, Clone)]
pub struct ExtentScan {
    number_type: NumberType,
    missing: Vec<u64>,
}

impl ExtentScan {
    /// Binds it; `missing` are bit patterns that count as NaN, compared as numbers.
    pub fn new(number_type: NumberType, missing: Vec<u64>) -> Self {
        ExtentScan { number_type, missing }
    }

    /// The extent of no element.
    pub fn empty(&self) -> Extent {
        Extent { count: 0, nan: 0, positive_infinity: 0, negative_infinity: 0, finite: None }
    }

    /// Adds the elements of `source` to `extent`.
    pub fn scan(&self, _source: &[u8], _extent: &mut Extent) {
        unimplemented!("{} {:?}", self.number_type, self.missing)
    }

    /// Adds one extent to another.
    pub fn merge(&self, _extent: &mut Extent, _other: &Extent) {
        unimplemented!()
    }
}

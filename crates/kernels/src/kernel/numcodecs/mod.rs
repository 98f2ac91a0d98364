//! The filters of numcodecs with its results: numpy's arithmetic, in numpy's types and order.
//!
//! Python numbers in a configuration are weak (NEP 50). They have the type of the array, but a float with integers is
//! computed in float64. A cast is that of C: an integer wraps, a float loses its fraction. Where C leaves a cast
//! undefined (a float outside an integer type, NaN), numpy's result depends on the machine. Here it is a fault, in both
//! directions. Encoding by all but `fixedscaleoffset` (SEMANTICS: A1.10) rejects more. numcodecs warns about these
//! values that "no checks are made and data may become corrupted". They are integers that decode to other ones, and
//! finite numbers that become infinite.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/>

mod cast;
mod delta;
mod fixed_scale_offset;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::ElementFault;
use crate::element::{ElementType, NumberType};

pub use cast::as_type;
pub use delta::{Delta, delta};
pub use fixed_scale_offset::{GREATEST_DIGITS, LEAST_DIGITS, fixed_scale_offset, quantize};

/// The element types of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumpyType {
    /// A byte. A cast converts any value but 0 to 1.
    Bool,
    /// A number of whole bytes.
    Number(NumberType),
}

/// A number in a configuration, as Python reads JSON.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PythonNumber {
    /// A number without fraction and exponent.
    Integer(i128),
    /// Any other number.
    Float(f64),
}

/// A filter of numcodecs bound to two types.
#[derive(Clone)]
pub struct ElementFilter {
    types: (NumberType, NumberType),
    encode: Arc<ConvertElements>,
    decode: Arc<ConvertElements>,
    /// The filter if it is `delta`, the only one that does not convert each element by itself.
    delta: Option<Delta>,
}

/// Converts as many native-endian elements as both slices have.
type ConvertElements = dyn Fn(&[u8], &mut [u8]) -> Result<(), ElementFault> + Send + Sync;

impl std::fmt::Debug for ElementFilter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ElementFilter({} to {})", self.types.0, self.types.1)
    }
}

impl ElementFilter {
    fn new(
        types: (NumberType, NumberType),
        encode: impl Fn(&[u8], &mut [u8]) -> Result<(), ElementFault> + Send + Sync + 'static,
        decode: impl Fn(&[u8], &mut [u8]) -> Result<(), ElementFault> + Send + Sync + 'static,
    ) -> Self {
        ElementFilter { types, encode: Arc::new(encode), decode: Arc::new(decode), delta: None }
    }

    /// Returns the types of decoded and encoded elements.
    pub fn types(&self) -> (NumberType, NumberType) {
        self.types
    }

    /// Encodes as many native-endian elements as both slices have.
    pub fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        (self.encode)(decoded, encoded)
    }

    /// Decodes as many native-endian elements as both slices have.
    pub fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        (self.decode)(encoded, decoded)
    }

    /// Returns the filter if it is `delta`.
    pub fn delta(&self) -> Option<&Delta> {
        self.delta.as_ref()
    }
}

impl NumpyType {
    /// Returns the number type. `bool` is a byte.
    pub const fn number(self) -> NumberType {
        if let NumpyType::Number(number) = self { number } else { NumberType::of(ElementType::UInt8) }
    }
}

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
pub use delta::Delta;
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

/// A filter of numcodecs between two types.
pub trait FilterElements: std::fmt::Debug + Send + Sync {
    /// Returns the types of decoded and encoded elements.
    fn types(&self) -> (NumberType, NumberType);

    /// Encodes as many native-endian elements as both slices have.
    fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault>;

    /// Decodes as many native-endian elements as both slices have.
    fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault>;

    /// Returns the filter if it is `delta`, the only one that does not convert each element by itself.
    fn delta(&self) -> Option<&Delta> {
        None
    }
}

/// A filter bound to two types.
pub type ElementFilter = Arc<dyn FilterElements>;

impl NumpyType {
    /// Returns the number type. `bool` is a byte.
    pub const fn number(self) -> NumberType {
        if let NumpyType::Number(number) = self { number } else { NumberType::of(ElementType::UInt8) }
    }
}

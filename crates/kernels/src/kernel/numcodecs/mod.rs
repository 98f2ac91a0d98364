//! The filters of numcodecs, as numcodecs calculates: numpy's arithmetic, in the types that numpy takes, in its order.
//!
//! Python's numbers of a configuration are weak (NEP 50): they take the type of the array, except that a float meets
//! integers in float64. A cast is C's: an integer wraps, a float loses its fraction. Where C leaves a cast undefined
//! (a float outside of an integer type, NaN) numpy's result depends on the machine: here it is a fault, on both ways.
//! Encoding by all but `fixedscaleoffset` (SEMANTICS: A1.10) refuses more, of which numcodecs says that "no checks are made
//! and data may become corrupted": an integer that would come back as another, and a finite number that becomes infinite.
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
    /// A byte; anything but 0 becomes 1 in a cast.
    Bool,
    /// A number of whole bytes.
    Number(NumberType),
}

/// A number of a configuration, as Python reads JSON.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PythonNumber {
    /// Without fraction and exponent.
    Integer(i128),
    /// Any other.
    Float(f64),
}

/// A filter of numcodecs between two types.
pub trait FilterElements: std::fmt::Debug + Send + Sync {
    /// The types of decoded and encoded elements.
    fn types(&self) -> (NumberType, NumberType);

    /// Encodes native-endian elements, as many as both slices hold.
    fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault>;

    /// Decodes native-endian elements, as many as both slices hold.
    fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault>;

    /// The differences of neighbours, which alone do not take each element by itself.
    fn delta(&self) -> Option<&Delta> {
        None
    }
}

/// A bound filter.
pub type ElementFilter = Arc<dyn FilterElements>;

impl NumpyType {
    /// As a number: `bool` is a byte.
    pub const fn number(self) -> NumberType {
        if let NumpyType::Number(number) = self { number } else { NumberType::of(ElementType::UInt8) }
    }
}

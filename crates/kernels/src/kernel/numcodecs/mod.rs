//! The filters of numcodecs, as numcodecs calculates: numpy's arithmetic, in the types that numpy takes, in its order.
//!
//! Python's numbers of a configuration are weak (NEP 50): they take the type of the array, except that a float meets
//! integers in float64. A cast is C's: an integer wraps, a float loses its fraction. Where C leaves a cast undefined
//! (a float outside of an integer type, NaN) numpy's result depends on the machine: here it is a fault, on both ways.
//! Encoding by all but `fixedscaleoffset` (SEMANTICS: A1.10) refuses more, of which numcodecs says that "no checks are made
//! and data may become corrupted": an integer that would come back as another, and a finite number that becomes infinite.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/>

mod as_type;
mod cast;
mod delta;
mod fixed_scale_offset;
mod number;
pub mod pack_bits;
mod quantize;
#[cfg(test)]
mod tests;

use super::ElementFault;
use crate::element::{ElementType, NumberType};
use as_type::AsType;
use fixed_scale_offset::FixedScaleOffset;
use quantize::Quantize;

pub use delta::Delta;
pub use quantize::{GREATEST_DIGITS, LEAST_DIGITS};

/// What a filter takes elements for.
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

/// A filter that takes each element by itself, and its configuration; `decoded` is the array's side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FilterOptions {
    /// `fixedscaleoffset`.
    FixedScaleOffset {
        /// `dtype`.
        decoded: NumberType,
        /// `astype`.
        encoded: NumberType,
        /// Subtracted first.
        offset: PythonNumber,
        /// Multiplied then.
        scale: PythonNumber,
    },
    /// `quantize`, of floats.
    Quantize {
        /// `dtype`.
        decoded: NumberType,
        /// `astype`.
        encoded: NumberType,
        /// Decimal digits, from [`LEAST_DIGITS`] to [`GREATEST_DIGITS`].
        digits: i32,
    },
    /// `astype`.
    AsType {
        /// `decode_dtype`.
        decoded: NumpyType,
        /// `encode_dtype`.
        encoded: NumpyType,
    },
}

/// A bound filter that takes each element by itself.
#[derive(Debug, Clone)]
pub enum ElementFilter {
    /// `fixedscaleoffset`.
    FixedScaleOffset(FixedScaleOffset),
    /// `quantize`.
    Quantize(Quantize),
    /// `astype`.
    AsType(AsType),
}

impl NumpyType {
    /// As a number: `bool` is a byte.
    pub const fn number(self) -> NumberType {
        match self {
            NumpyType::Bool => NumberType::of(ElementType::UInt8),
            NumpyType::Number(number) => number,
        }
    }
}

impl ElementFilter {
    /// Binds a filter.
    pub fn new(options: FilterOptions) -> Self {
        match options {
            FilterOptions::FixedScaleOffset { decoded, encoded, offset, scale } => {
                let types = (decoded, encoded);
                ElementFilter::FixedScaleOffset(FixedScaleOffset::new(types, offset, scale))
            }
            FilterOptions::Quantize { decoded, encoded, digits } => {
                ElementFilter::Quantize(Quantize::new((decoded, encoded), digits))
            }
            FilterOptions::AsType { decoded, encoded } => {
                ElementFilter::AsType(AsType::new(decoded, encoded))
            }
        }
    }

    /// The types of decoded and encoded elements.
    pub fn types(&self) -> (NumberType, NumberType) {
        match self {
            ElementFilter::FixedScaleOffset(filter) => filter.types(),
            ElementFilter::Quantize(filter) => filter.types(),
            ElementFilter::AsType(filter) => filter.types(),
        }
    }

    /// Encodes native-endian elements, as many as both slices hold.
    pub fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        match self {
            ElementFilter::FixedScaleOffset(filter) => filter.encode(decoded, encoded),
            ElementFilter::Quantize(filter) => filter.encode(decoded, encoded),
            ElementFilter::AsType(filter) => filter.encode(decoded, encoded),
        }
    }

    /// Decodes native-endian elements, as many as both slices hold.
    pub fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        match self {
            ElementFilter::FixedScaleOffset(filter) => filter.decode(encoded, decoded),
            ElementFilter::Quantize(filter) => filter.decode(encoded, decoded),
            ElementFilter::AsType(filter) => filter.decode(encoded, decoded),
        }
    }
}

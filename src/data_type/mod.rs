//! The data types of Zarr v3: names, sizes, and fill values between JSON and bytes.
//! (API; being filled in)

use crate::element::NumberType;
use crate::metadata::json::Json;

/// A Zarr v3 data type.
#[derive(Debug, Clone, PartialEq)]
pub enum DataType {
    /// `bool`, a byte of 0 or 1.
    Bool,
    /// The integers and floats, `uint10` and its family among them.
    Number(NumberType),
    /// `complex64`, `complex128`: two components of this float type, real first.
    Complex(NumberType),
    /// `r8`, `r16`, ...: this many bytes.
    Raw(usize),
    /// Any other: its metadata, kept as written. Such arrays are copied, not decoded to elements.
    Other(Json),
}

/// The bytes of a fill value, in the order of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FillValue(pub Vec<u8>);

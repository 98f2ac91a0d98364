//! One number between JSON and bits, in the fill value encoding: `offset`, `scale`, `scalar_map`, fill values.

use super::{FillValueError, Read};
use crate::element::NumberType;
use crate::metadata::json::{Json, JsonError};

/// Reads a value of a number type to its bits, zero-extended to 64. Strings are no integers here.
pub fn value_from_json(_number_type: NumberType, _json: &Json) -> Result<Read<u64>, FillValueError> {
    unimplemented!()
}

/// The value with these bits as it is written.
pub fn value_to_json(_number_type: NumberType, _bits: u64) -> Json {
    unimplemented!()
}

/// A value as an argument of the command line: JSON text, or a bare `NaN`, `Infinity` or `-Infinity`.
pub fn scalar_argument(_text: &str) -> Result<Json, JsonError> {
    unimplemented!()
}

//! Values that count as NaN: `--missing`, and what the attributes `_FillValue` and `missing_value` declare.

use crate::data_type::{base64, value_from_json};
use crate::element::NumberType;
use crate::metadata::json::Json;
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::options::Missing;

/// The bits of the values that `--missing` names.
pub(super) fn values(
    source: &OpenedArray,
    number_type: NumberType,
    missing: Option<&Missing>,
) -> Result<Vec<u64>, OperationError> {
    match missing {
        None => Ok(Vec::new()),
        Some(Missing::Auto) => Ok(declared(source, number_type)),
        Some(Missing::Values(values)) => values
            .iter()
            .map(|json| {
                value_from_json(number_type, json).map(|read| read.value).map_err(|error| {
                    OperationError::data(format!(
                        "--missing {} is no {number_type}",
                        json.to_string_compact()
                    ))
                    .because(error)
                })
            })
            .collect(),
    }
}

/// The bits of the values that the attributes declare missing, NaN left out; what is no value of the type declares none.
pub(super) fn declared(source: &OpenedArray, number_type: NumberType) -> Vec<u64> {
    let attributes = ["_FillValue", "missing_value"].map(|name| source.metadata.attributes.get(name));
    let mut bits: Vec<u64> = Vec::new();
    for json in attributes.into_iter().flatten() {
        let elements = json.as_array().unwrap_or_else(|| std::slice::from_ref(json));
        for value in elements.iter().filter_map(|element| scalar(number_type, element)) {
            if !is_nan(number_type, value) && !bits.contains(&value) {
                bits.push(value);
            }
        }
    }
    bits
}

/// A number, its string form, or the base64 of its little-endian bytes, as xarray writes it.
pub(super) fn scalar(number_type: NumberType, json: &Json) -> Option<u64> {
    if let Ok(read) = value_from_json(number_type, json) {
        return Some(read.value);
    }
    let bytes = base64::decode(json.as_str()?)?;
    match bytes.len() {
        length if length == number_type.size() => {
            Some(bytes.iter().rev().fold(0, |bits, byte| (bits << 8) | u64::from(*byte)))
        }
        // xarray encodes every float as a float64.
        8 if number_type.is_float() => {
            let float = super::range::FloatType(number_type);
            let value = f64::from_le_bytes(bytes.try_into().ok()?);
            Some(float.bits(float.round(value, crate::kernel::Rounding::NearestEven)))
        }
        _ => None,
    }
}

fn is_nan(number_type: NumberType, bits: u64) -> bool {
    super::range::FloatType(number_type).value(bits).is_nan()
}

//! Values that count as missing: `--missing`, and what the attributes `_FillValue` and `missing_value` declare.

use super::error::OperationError;
use super::open::OpenedArray;
use super::options::Missing;
use super::quantize::range::FloatType;
use super::xarray::{self, FILL_VALUE};
use crate::data_type::value_from_json;
use crate::element::NumberType;
use crate::metadata::{Json, Object};

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
            .map(|json| match value_from_json(number_type, json) {
                Ok(read) => Ok(read.value),
                Err(error) => Err(OperationError::not_a_value("--missing", json, number_type, error)),
            })
            .collect(),
    }
}

/// The bits of the values that the attributes declare missing, NaN left out; what is no value of the type declares none.
///
/// Bits of the values that attributes declare missing. In a v2 array with dimension names xarray takes the fill value
/// for one, too, unless it is null.
pub(super) fn declared(source: &OpenedArray, number_type: NumberType) -> Vec<u64> {
    let mut bits: Vec<u64> = Vec::new();
    for value in of_attributes(source, number_type).into_iter().chain(of_fill_value(source)) {
        if !is_nan(number_type, value) && !bits.contains(&value) {
            bits.push(value);
        }
    }
    bits
}

/// The source of that declaration, as messages name it: attributes, or the fill value of a v2 array, of which the
/// form of v3 makes an attribute.
pub(super) fn declared_by(source: &OpenedArray) -> &'static str {
    // Only in v2 they have a document of their own.
    let own = source.documents.attributes.as_ref();
    match own.map(|own| own.get(FILL_VALUE).is_some() || own.get("missing_value").is_some()) {
        None => "its attribute `_FillValue` or `missing_value`",
        Some(true) => "its attribute `_FillValue` or `missing_value`, or its `fill_value`",
        Some(false) => "its `fill_value` (in Zarr v2 a mask, as xarray reads it)",
    }
}

/// The bits of the values of the attributes.
fn of_attributes(source: &OpenedArray, number_type: NumberType) -> Vec<u64> {
    let attributes = [FILL_VALUE, "missing_value"].map(|name| source.metadata.attributes.get(name));
    let elements = attributes.into_iter().flatten();
    let elements = elements.flat_map(|json| json.as_array().unwrap_or_else(|| std::slice::from_ref(json)));
    let unsigned = declared_type(number_type, &source.metadata.attributes);
    // Both types have the same bits for a code: 255 is -1 where bytes are declared unsigned.
    let bits = |element| xarray::scalar(number_type, element).or_else(|| xarray::scalar(unsigned, element));
    elements.filter_map(bits).collect()
}

/// The bits of the fill value, where it stands for missing values.
fn of_fill_value(source: &OpenedArray) -> Option<u64> {
    // Attributes in the form of v3 have the mask already, and the names of dimensions no more.
    let is_mask = source.documents.zarr_format == 2
        && xarray::dimension_names(&source.metadata.attributes, source.metadata.shape.len()).is_some()
        && source.documents.document.get("fill_value").is_some_and(|fill| *fill != Json::Null);
    source.fill_value.as_ref().filter(|_| is_mask)?.to_bits(&source.data_type)
}

/// The type of integers that the attribute `_Unsigned` declares to be of the other signedness (netCDF conventions).
pub(super) fn declared_type(stored: NumberType, attributes: &Object) -> NumberType {
    let unsigned = match attributes.get("_Unsigned").and_then(Json::as_str) {
        Some("true") => true,
        Some("false") => false,
        _ => return stored,
    };
    if stored.is_float() || !stored.is_whole() {
        return stored;
    }
    NumberType::integer(!unsigned, stored.bits()).unwrap_or(stored)
}

fn is_nan(number_type: NumberType, bits: u64) -> bool {
    number_type.is_float() && FloatType(number_type).value(bits).is_nan()
}

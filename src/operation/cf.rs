//! The numbers of an array as CF readers see them: without missing values and, on request, unpacked. Missing values are
//! those of `--missing`, and those that the attributes `_FillValue` and `missing_value` declare.

use super::xarray::{self, FILL_VALUE};
use super::{Missing, OpenedArray, OperationError, Result};
use crate::codec::fault::number_value;
use crate::data_type::{DataType, value_from_json};
use crate::element::{ElementType, NumberType, integer_of};
use crate::kernel::missing::MissingFilter;
use crate::kernel::unpack::Unpack;
use crate::metadata::{ArrayMetadata, Json, Number, Object};

/// Attributes that declare how numbers are packed, and which numbers are not data.
pub(super) const PACKING_ATTRIBUTES: [&str; 8] =
    ["scale_factor", "add_offset", "_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "_Unsigned"];

/// Returns the type of a float32 or float64 array. Values that are compared with it are unpacked to this type.
pub(super) fn float_type(array: &OpenedArray) -> Option<NumberType> {
    array.data_type.number().filter(is_wide)
}

fn is_wide(number: &NumberType) -> bool {
    matches!(number.element(), ElementType::Float32 | ElementType::Float64)
}

/// A conversion of stored numbers to floats, with NaN for missing values, as in xarray.
#[derive(Debug, Clone)]
pub(super) struct CfDecoding {
    missing: MissingFilter,
    unpack: Unpack,
}

impl CfDecoding {
    /// Returns the decoding that the attributes of an array declare. `None` if its values are the stored ones.
    ///
    /// Values that are only masked keep float32 and float64. Integers become `floats`, if given. Otherwise integers of
    /// up to 16 bits become float32, and wider ones float64, as `--unpack` writes them.
    pub(super) fn new(source: &OpenedArray, floats: Option<NumberType>) -> Result<Option<Self>> {
        let Some(stored) = source.data_type.real_number() else { return Ok(None) };
        let missing = missing_values(source, stored, Some(&Missing::Auto))?;
        let floats = floats.filter(|_| !stored.is_float()).unwrap_or(float_for(stored));
        let wide = NumberType::of(ElementType::Float64);
        // Packed floats become float64, because xarray takes the type of the factors, and JSON has only float64.
        let unpack = unpacking(source, stored, if stored.is_float() { wide } else { floats })?;
        if missing.is_empty() && unpack.is_none() {
            return Ok(None);
        }
        let masked = || Unpack::new(stored, floats, 1.0, 0.0, Vec::new());
        let missing = MissingFilter::new(stored, &missing);
        Ok(Some(CfDecoding { missing, unpack: unpack.unwrap_or_else(masked) }))
    }

    pub(super) fn target(&self) -> NumberType {
        self.unpack.target
    }

    /// Decodes native-endian elements into `values`. Its old content is replaced.
    pub(super) fn decode(&self, elements: &[u8], values: &mut Vec<u8>) {
        let size = self.target().size();
        values.resize(elements.len() / self.unpack.source.size() * size, 0);
        self.unpack.convert(elements, values);
        let nan = if size == 4 { f32::NAN.to_ne_bytes().to_vec() } else { f64::NAN.to_ne_bytes().to_vec() };
        // Missing values are declared in the packed form, so the stored elements are compared, not the unpacked ones.
        self.missing.each_missing(elements, |index| {
            if let Some(value) = values.get_mut(index * size..(index + 1) * size) {
                value.copy_from_slice(&nan);
            }
        });
    }
}

/// Returns the unpacking that the attributes declare. `None` if there is none.
///
/// xarray 2026 uses the float type of `scale_factor` and `add_offset`, and JSON has only float64. It also uses float64
/// if only one of them exists. `_Unsigned` alone converts integers to those of the other signedness.
pub(super) fn unpacking(source: &OpenedArray, stored: NumberType, floats: NumberType) -> Result<Option<Unpack>> {
    let attributes = &source.metadata.attributes;
    let factors = scale_and_offset(source)?;
    let codes = declared_type(stored, attributes);
    let is_unpacked = factors.is_some() || codes != stored;
    let (scale_factor, add_offset) = factors.unwrap_or((1.0, 0.0));
    Ok(is_unpacked.then(|| Unpack::new(codes, floats, scale_factor, add_offset, Vec::new())))
}

/// Returns the attributes `scale_factor` and `add_offset`. `None` if there is neither.
fn scale_and_offset(source: &OpenedArray) -> Result<Option<(f64, f64)>> {
    let (scale_factor, add_offset) = (factor("scale_factor", source)?, factor("add_offset", source)?);
    Ok(scale_factor.or(add_offset).map(|_| (scale_factor.unwrap_or(1.0), add_offset.unwrap_or(0.0))))
}

/// Returns the type of the values: float32 for floats of up to 32 bits and codes of up to 16, otherwise float64.
fn float_for(stored: NumberType) -> NumberType {
    let is_narrow = stored.bits() <= if stored.is_float() { 32 } else { 16 };
    NumberType::of(if is_narrow { ElementType::Float32 } else { ElementType::Float64 })
}

/// Returns the conversion of packed integers to floats by the array's attributes. `None` if the array is not packed.
/// Declared missing values become NaN. The type is the requested one. By default it is float32 for codes of up to 16
/// bits and float64 for wider ones.
pub(super) fn packing(source: &OpenedArray, floats: Option<&DataType>) -> Result<Option<Unpack>> {
    let codes = source.data_type.number().filter(|number_type| !number_type.is_float());
    let (Some((scale_factor, add_offset)), Some(codes)) = (scale_and_offset(source)?, codes) else {
        return Ok(None);
    };
    let refusal = |asked: &DataType| {
        OperationError::data(format!("CF attributes unpack to float32 or float64, not to {asked}"))
            .with_help("leave --data-type out, and change the type of the result in a second run")
    };
    let asked = floats.map(|asked| asked.number().filter(is_wide).ok_or_else(|| refusal(asked))).transpose()?;
    let floats = asked.unwrap_or(float_for(codes));
    let declared = declared_type(codes, &source.metadata.attributes);
    let missing = declared_missing(source, codes).into_iter().map(|bits| integer_of(bits, declared.element()));
    Ok(Some(Unpack::new(declared, floats, scale_factor, add_offset, missing.collect())))
}

/// True if an integer array has CF attributes for packing.
pub(super) fn has_packing(source: &OpenedArray) -> bool {
    are_packed(&source.data_type, &source.metadata)
}

/// True if metadata with this data type have CF attributes for packing integers.
pub(super) fn are_packed(data_type: &DataType, metadata: &ArrayMetadata) -> bool {
    data_type.number().is_some_and(|number| !number.is_float())
        && ["scale_factor", "add_offset"].iter().any(|name| metadata.attributes.get(name).is_some())
}

/// Returns an attribute as a number. `None` if it is missing, and an error of the data if it is something else.
pub(super) fn factor(name: &str, source: &OpenedArray) -> Result<Option<f64>> {
    let Some(json) = source.metadata.attributes.get(name) else { return Ok(None) };
    number(json).map(Some).ok_or_else(|| {
        let found = json.to_string();
        OperationError::data(format!("the attribute `{name}` of `{}` is {found}, not a number", source.store))
            .with_help("correct the attribute, or leave out the option that applies it")
    })
}

/// Returns a finite number, or the only one of an array, as some writers write it. Otherwise `None`.
fn number(json: &Json) -> Option<f64> {
    let json = if let Some([only]) = json.as_array() { only } else { json };
    // A literal such as `1e400` is read as an infinity, which would make every value NaN or infinite.
    json.as_number().map(Number::as_f64).filter(|value| value.is_finite())
}

/// Returns the bits of the values of `--missing`.
pub(super) fn missing_values(source: &OpenedArray, number: NumberType, missing: Option<&Missing>) -> Result<Vec<u64>> {
    match missing {
        None => Ok(Vec::new()),
        Some(Missing::Auto) => Ok(declared_missing(source, number)),
        Some(Missing::Values(values)) => {
            let refusal = |json, error| OperationError::not_a_value("--missing", json, number, error);
            let read = values.iter().map(|json| value_from_json(number, json).map_err(|error| refusal(json, error)));
            read.map(|read| Ok(read?.value)).collect()
        }
    }
}

/// Returns the bits of the values that the attributes declare missing, without NaN and values that the type lacks.
///
/// In a v2 array with dimension names, xarray reads the fill value as missing, too, unless it is null.
pub(super) fn declared_missing(source: &OpenedArray, number_type: NumberType) -> Vec<u64> {
    let mut bits: Vec<u64> = Vec::new();
    for value in of_attributes(source, number_type).into_iter().chain(of_fill_value(source)) {
        if !number_value(number_type, value).is_nan() && !bits.contains(&value) {
            bits.push(value);
        }
    }
    bits
}

/// Returns the source of this declaration for messages: attributes, or the fill value of a v2 array. The v3 form has
/// that fill value as an attribute.
pub(super) fn declared_by(source: &OpenedArray) -> &'static str {
    // Only in v2 the attributes have their own document.
    let own = source.documents.attributes.as_ref();
    match own.map(|own| own.get(FILL_VALUE).is_some() || own.get("missing_value").is_some()) {
        None => "its attribute `_FillValue` or `missing_value`",
        Some(true) => "its attribute `_FillValue` or `missing_value`, or its `fill_value`",
        Some(false) => "its `fill_value` (in Zarr v2 a mask, as xarray reads it)",
    }
}

/// Returns the bits of the values of the attributes.
fn of_attributes(source: &OpenedArray, number_type: NumberType) -> Vec<u64> {
    let unsigned = declared_type(number_type, &source.metadata.attributes);
    // Both types have the same bits for a code: 255 is -1 if bytes are declared unsigned.
    let bits = |element| xarray::scalar(number_type, element).or_else(|| xarray::scalar(unsigned, element));
    // The v3 form of a v2 array has its fill value as `_FillValue`. The attribute of its own document counts, too.
    let own = source.documents.attributes.as_ref().and_then(Json::as_object);
    let attributes = std::iter::once(&source.metadata.attributes).chain(own);
    let declared = attributes.flat_map(|of| [FILL_VALUE, "missing_value"].into_iter().filter_map(|name| of.get(name)));
    declared.flat_map(|json| json.as_array().unwrap_or_else(|| std::slice::from_ref(json))).filter_map(bits).collect()
}

/// Returns the bits of the fill value. `None` if it does not mean missing values.
fn of_fill_value(source: &OpenedArray) -> Option<u64> {
    // Attributes in the v3 form already have the mask, and no longer the dimension names.
    let is_mask = source.documents.zarr_format == 2
        && xarray::dimension_names(&source.metadata.attributes, source.metadata.shape.len()).is_some()
        && source.documents.document.get("fill_value").is_some_and(|fill| *fill != Json::Null);
    source.fill_value.as_ref().filter(|_| is_mask)?.to_bits(&source.data_type)
}

/// Returns the type of integers with the signedness that the attribute `_Unsigned` declares (netCDF conventions).
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

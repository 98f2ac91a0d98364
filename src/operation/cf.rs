//! The numbers of an array as CF readers see them: without missing values and, on request, unpacked. Missing values are
//! those of `--missing`, and those that the attributes `_FillValue` and `missing_value` declare.
//!
//! The elements of an array as numbers for the kernels: unchanged, 0 and 1 for `bool`, float32 for smaller floats.
//!
//! Arrays of a hierarchy that are coordinates of others, or are used in computations with them.

use std::collections::HashSet;
use std::iter::successors;

use super::xarray::{self, FILL_VALUE};
use super::{CfOptions, Missing, OpenedArray, OperationError, Result, quantize::range::FloatType};
use crate::codec::{element_bits, fault::number_value};
use crate::data_type::{DataType, value_from_json};
use crate::element::{ElementType, NumberType};
use crate::kernel::missing::{MissingCount, MissingFilter};
use crate::kernel::{Rounding, unpack::Unpack};
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
    let attributes = &source.metadata.attributes;
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
    let declared = declared_type(codes, attributes);
    let missing = missing_of(attributes).filter_map(|json| json.as_number()?.as_integral_i128());
    let missing = missing.map(|code| if declared == codes { code } else { wrapped(code, declared) });
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

/// Returns a code as its type represents it: -1 is 255 if bytes are declared unsigned.
fn wrapped(code: i128, codes: NumberType) -> i128 {
    match codes.integer_bounds() {
        Some((least, greatest)) if !(least..=greatest).contains(&code) => {
            (code - least).rem_euclid(greatest - least + 1) + least
        }
        _ => code,
    }
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
    missing_of(&source.metadata.attributes).filter_map(bits).collect()
}

/// The elements of the attributes that declare values missing.
fn missing_of(attributes: &Object) -> impl Iterator<Item = &Json> {
    let attributes = [FILL_VALUE, "missing_value"].into_iter().filter_map(|name| attributes.get(name));
    attributes.flat_map(|json| json.as_array().unwrap_or_else(|| std::slice::from_ref(json)))
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
fn declared_type(stored: NumberType, attributes: &Object) -> NumberType {
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

/// The number of elements that are looked up at a time: some tiles of the kernels.
const LOOKED_UP: usize = 1 << 13;

/// A conversion of stored elements to numbers, as they are or as CF readers see them.
#[derive(Debug, Clone)]
pub(super) struct Numbers {
    /// The type of the stored numbers, or of those in the table.
    stored: NumberType,
    /// The value of each pattern of a small float, after its size in bytes. float32 represents them all.
    table: Option<(usize, Vec<f32>)>,
    /// The floats that CF attributes make of the stored numbers.
    unpack: Option<Unpack>,
    /// The stored numbers that count as missing for CF readers.
    missing: MissingFilter,
    /// The fill value as CF readers see it. It has no meaning if the fill value counts as missing.
    pub fill_bits: u64,
    /// True if the fill value counts as missing. It is then the first value of the filter.
    pub fill_is_missing: bool,
}

impl Numbers {
    /// Returns the numbers of a type. `None` for a type whose values are not real numbers.
    pub(super) fn new(data_type: &DataType) -> Option<Self> {
        let byte = NumberType::of(ElementType::UInt8);
        let stored = if *data_type == DataType::Bool { byte } else { data_type.real_number()? };
        let Some(float) = stored.small_float() else { return Some(Numbers::of(stored, None)) };
        #[expect(clippy::cast_possible_truncation, reason = "every value of these types is one of float32")]
        let value = |bits: u64| float.to_f64(bits).map_or(f32::NAN, |value| value as f32);
        let patterns = 1_u64 << (8 * float.size());
        let table = Some((float.size(), (0..patterns).map(value).collect()));
        Some(Numbers { table, ..Numbers::of(NumberType::of(ElementType::Float32), None) })
    }

    /// Returns stored numbers of a type as they are, or those that `unpack` makes of its codes.
    pub(super) fn of(number_type: NumberType, unpack: Option<Unpack>) -> Self {
        let stored = unpack.as_ref().map_or(number_type, |unpack| unpack.source);
        let missing = MissingFilter::new(stored, &[]);
        Numbers { stored, table: None, unpack, missing, fill_bits: 0, fill_is_missing: false }
    }

    /// Returns the numbers of an array as CF readers see them. `None` for a type whose values are not real numbers.
    pub(super) fn as_cf(source: &OpenedArray, options: &CfOptions) -> Result<Option<Self>> {
        let Some(mut numbers) = Numbers::new(&source.data_type) else { return Ok(None) };
        let (stored, mut missing) = (numbers.stored, Vec::new());
        if source.data_type != DataType::Bool {
            missing = missing_values(source, stored, options.missing.as_ref())?;
            if options.unpacks {
                numbers.unpack = unpacking(source, stored, NumberType::of(ElementType::Float64))?;
            }
        }
        let fill = numbers.stored_fill(source);
        let fill_is_missing = MissingFilter::new(stored, &missing).contains(fill);
        if fill_is_missing {
            // `MissingCount::first` counts the first value. Statistics report it as the number of fill values.
            missing.insert(0, fill);
        }
        let missing = MissingFilter::new(stored, &missing);
        Ok(Some(Numbers { fill_bits: numbers.fill_of(source), missing, fill_is_missing, ..numbers }))
    }

    /// Returns the numbers of a type as float64. `None` if it does not represent every value: integers of 64 bits.
    pub(super) fn as_f64(data_type: &DataType) -> Option<Self> {
        let numbers = Numbers::new(data_type)?;
        let is_exact = numbers.stored.is_float() || numbers.stored.size() < 8;
        let wide = NumberType::of(ElementType::Float64);
        let unpack = Some(Unpack::new(numbers.stored, wide, 1.0, 0.0, Vec::new()));
        is_exact.then_some(Numbers { unpack, ..numbers })
    }

    /// Converts elements to float64, for numbers of [`Self::as_f64`].
    pub(super) fn convert(&self, elements: &[u8], values: &mut [f64]) {
        if let Some((size, table)) = &self.table {
            let elements = elements.chunks_exact(*size).map(element_bits);
            values.iter_mut().zip(elements).for_each(|(value, bits)| *value = look_up(table, bits).into());
        } else if let Some(unpack) = &self.unpack {
            unpack.convert(elements, bytemuck::cast_slice_mut(values));
        }
    }

    pub(super) fn number_type(&self) -> NumberType {
        self.unpack.as_ref().map_or(self.stored, |unpack| unpack.target)
    }

    /// True if elements are the numbers.
    pub(super) fn are_stored(&self) -> bool {
        self.table.is_none() && self.unpack.is_none()
    }

    /// Returns the size of a stored element, in bytes.
    pub(super) fn size(&self) -> usize {
        self.table.as_ref().map_or(self.stored.size(), |(size, _)| *size)
    }

    /// Returns the bits of the number of absent elements. An array without a fill value has zeros.
    pub(super) fn fill_of(&self, source: &OpenedArray) -> u64 {
        let stored = self.stored_fill(source);
        self.unpack.as_ref().map_or(stored, |unpack| {
            let float = FloatType(unpack.target);
            float.bits(float.round(unpack.value_of_bits(stored), Rounding::NearestEven))
        })
    }

    fn stored_fill(&self, source: &OpenedArray) -> u64 {
        source.fill_value.as_ref().map_or(0, |fill| self.stored_bits(&fill.0))
    }

    /// Returns the bits of the stored number of an element.
    fn stored_bits(&self, element: &[u8]) -> u64 {
        let bits = element_bits(element);
        self.table.as_ref().map_or(bits, |(_, values)| look_up(values, bits).to_bits().into())
    }

    /// Returns the number of an element. NaN if it is missing.
    pub(super) fn value(&self, element: &[u8]) -> f64 {
        let bits = self.stored_bits(element);
        match &self.unpack {
            _ if self.missing.contains(bits) => f64::NAN,
            Some(unpack) => unpack.value_of_bits(bits),
            None => number_value(self.stored, bits),
        }
    }

    /// Passes elements that are not missing to `visit` as numbers, piece by piece. Returns the number of missing ones.
    pub(super) fn each_piece(&self, elements: &[u8], mut visit: impl FnMut(&[u8])) -> MissingCount {
        let mut count = MissingCount::default();
        self.each_stored(elements, |stored| {
            if self.missing.is_empty() {
                return self.each_unpacked(stored, &mut visit);
            }
            count += self.missing.each_present(stored, |present| self.each_unpacked(present, &mut visit));
        });
        count
    }

    fn each_stored(&self, elements: &[u8], mut visit: impl FnMut(&[u8])) {
        let Some((size, values)) = &self.table else { return visit(elements) };
        let mut numbers = Vec::with_capacity(LOOKED_UP.min(elements.len() / size));
        for piece in elements.chunks(LOOKED_UP * size) {
            numbers.clear();
            numbers.extend(piece.chunks_exact(*size).map(|element| look_up(values, element_bits(element))));
            visit(bytemuck::cast_slice(&numbers));
        }
    }

    fn each_unpacked(&self, stored: &[u8], visit: &mut impl FnMut(&[u8])) {
        let Some(unpack) = &self.unpack else { return visit(stored) };
        let (size, target_size) = (unpack.source.size(), unpack.target.size());
        // The buffer is of `f64` for its alignment. The target may be float32, which then uses half of it.
        let mut values = vec![0.0_f64; (stored.len() / size).min(LOOKED_UP)];
        for piece in stored.chunks(LOOKED_UP * size) {
            let values = bytemuck::cast_slice_mut::<f64, u8>(&mut values);
            let length = piece.len() / size * target_size;
            unpack.convert(piece, &mut values[..length]);
            visit(&values[..length]);
        }
    }
}

fn look_up(values: &[f32], bits: u64) -> f32 {
    usize::try_from(bits).ok().and_then(|index| values.get(index)).copied().unwrap_or(f32::NAN)
}

/// An array or group in the search for coordinates: its path with a leading slash, the array, and the attributes.
pub(super) type Member<'a> = (&'a str, Option<&'a ArrayMetadata>, &'a Object);

/// Attributes that name other variables (CF conventions 3.4, 5, 7 and 8.4).
const NAMING: &str =
    "coordinates bounds climatology cell_measures ancillary_variables grid_mapping formula_terms quantization";

/// Attributes of the form `key: name key: name`. The keys are not names.
const WITH_KEYS: [&str; 2] = ["cell_measures", "formula_terms"];

/// Returns the paths of the coordinates of a hierarchy, and of arrays for computations with others: 1-D arrays with the
/// name of their dimension, and arrays that attributes name. They are not quantised or rounded by default.
pub(super) fn coordinates(members: &[Member<'_>]) -> HashSet<String> {
    let paths: HashSet<&str> = members.iter().map(|(path, ..)| *path).collect();
    let named = members.iter().flat_map(|member| named(member, |path| paths.contains(path)));
    let mut found: HashSet<String> = named.collect();
    let own = members.iter().filter(|(path, array, _)| {
        let name = path.rsplit_once('/').map_or(*path, |(_, name)| name);
        array.is_some_and(|array| is_of_its_own_dimension(array, name))
    });
    found.extend(own.map(|(path, ..)| (*path).to_owned()));
    found
}

/// Returns the existing paths that a member's attributes name. A name is searched in the group of the member, and then
/// in those above it (CF conventions 2.7).
pub(super) fn named((path, array, attributes): &Member<'_>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let group = if array.is_some() { parent } else { path.trim_end_matches('/') };
    let of = |attribute: &str| {
        let names = attributes.get(attribute).and_then(Json::as_str).unwrap_or_default();
        let has_keys = WITH_KEYS.contains(&attribute);
        let names = names.split_whitespace().filter(move |name| !(has_keys && name.ends_with(':')));
        names.map(|name| name.trim_end_matches(':').to_owned()).collect::<Vec<_>>()
    };
    let find = |name: String| {
        let groups = successors(Some(group), |group| group.rsplit_once('/').map(|(above, _)| above));
        groups.map(|group| joined(group, &name)).find(|path| exists(path))
    };
    NAMING.split(' ').flat_map(of).filter_map(find).collect()
}

/// Returns the path of a name in a group. The name may be a path itself, from the root if it begins with a slash.
fn joined(group: &str, name: &str) -> String {
    let mut names: Vec<&str> = if name.starts_with('/') { Vec::new() } else { group.split('/').skip(1).collect() };
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(names.pop()),
            part => names.push(part),
        }
    }
    format!("/{}", names.join("/"))
}

fn is_of_its_own_dimension(array: &ArrayMetadata, name: &str) -> bool {
    let in_v2 = array.attributes.get("_ARRAY_DIMENSIONS").and_then(Json::as_array);
    let is_own = match (&array.dimension_names, in_v2) {
        (Some(names), _) => names.first().is_some_and(|first| first.as_deref() == Some(name)),
        (None, Some(names)) => names.first().and_then(Json::as_str) == Some(name),
        (None, None) => false,
    };
    array.shape.len() == 1 && is_own
}

/// True if an array is a scalar without data that describes other arrays: the map projection of a grid (CF conventions
/// 5.6), or how values were rounded. Writers omit its single chunk, which has the fill value.
pub(super) fn describes_others(array: &ArrayMetadata) -> bool {
    const GRID_MAPPING: [&str; 3] = ["grid_mapping_name", "crs_wkt", "spatial_ref"];
    let is_grid_mapping = GRID_MAPPING.iter().any(|name| array.attributes.contains(name));
    array.shape.is_empty() && (is_grid_mapping || describes_rounding(array))
}

/// True if an array is a scalar without data that describes how values were rounded (CF conventions 8.4).
pub(super) fn describes_rounding(array: &ArrayMetadata) -> bool {
    array.shape.is_empty() && ["algorithm", "implementation"].iter().all(|name| array.attributes.contains(name))
}

#[cfg(test)]
mod numbers_tests {
    use super::*;
    use crate::element::SmallFloat;

    #[test]
    fn small_floats_are_read_by_a_table() {
        let float = DataType::Number(NumberType::small(SmallFloat::from_name("bfloat16").unwrap()));
        let numbers = Numbers::new(&float).unwrap();
        let elements: Vec<u8> = [0x3f80_u16, 0xc040, 0x7fc0].iter().flat_map(|bits| bits.to_ne_bytes()).collect();
        assert_eq!(numbers.stored_bits(&elements[..2]), u64::from(1_f32.to_bits()));
        let mut seen = Vec::new();
        numbers.each_piece(&elements, |piece| seen.extend_from_slice(bytemuck::cast_slice::<u8, f32>(piece)));
        assert_eq!(seen[..2], [1.0, -3.0]);
        assert!(seen[2].is_nan());
    }
}

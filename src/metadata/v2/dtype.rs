//! The `dtype` of a v2 array, read and written: a type string, or a list of named fields. Also the `fill_value`,
//! converted to v3's form for the data type, and back.
//!
//! A type string has numpy's byte order, kind and size, or is a name that only tensorstore has. tensorstore's `bfloat16`
//! is little-endian. Its integers and floats of less than a byte have one byte each. The fill value of its
//! `float8_e8m0fnu` means another number than written, so that name is not read here. Sources:
//! <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#data-type-encoding>,
//! <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#fill-value-encoding>,
//! <https://google.github.io/tensorstore/driver/zarr/index.html>

use super::{NotInV2, V2ByteOrder};
use crate::data_type::{DataType, Field, FillValue, FillValueError, StructType, base64};
use crate::diagnostic::{Code, Diagnostic, code};
use crate::metadata::{Findings, Json, Object, View};

/// The most bytes of an element that has fields.
const MAX_SIZE: u64 = 1 << 20;

/// The most fields of a structure, including those of nested ones.
const MAX_FIELDS: usize = 1 << 12;

/// A data type, and what else v2 has in its `dtype`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dtype {
    /// `Other` for objects, whose filter determines their type, and for unknown types. Their chunks can be copied.
    pub(super) data_type: DataType,
    /// Returns the bytes of an element.
    pub(super) size: u64,
    /// `None` if every component is a single byte.
    pub(super) order: Option<V2ByteOrder>,
    /// The name of a type that only tensorstore has, also if only a field has it.
    pub(super) extension: Option<&'static str>,
    /// True if v3 can describe the layout of an element: no field is an array. Otherwise the data type is raw bytes.
    pub(super) has_layout: bool,
}

/// The parts of a `dtype` while it is read.
struct Parts {
    /// True for each big-endian part. `None` for a part without byte order.
    orders: Vec<Option<bool>>,
    extension: Option<&'static str>,
    has_layout: bool,
}

impl Dtype {
    /// Reads a `dtype`. The error contains the expected and the found form.
    pub(super) fn read(json: &Json) -> Result<Dtype, String> {
        let mut parts = Parts { orders: Vec::new(), extension: None, has_layout: true };
        let (data_type, size) = read(json, &mut parts)?;
        let Parts { orders, extension, has_layout } = parts;
        let order = match [Some(false), Some(true)].map(|order| orders.contains(&order)) {
            [false, false] => None,
            [true, true] => Some(V2ByteOrder::Fields(orders.iter().map(|order| *order == Some(true)).collect())),
            [_, is_big] => Some(V2ByteOrder::whole(is_big)),
        };
        let raw = || DataType::Raw(usize::try_from(size).unwrap_or(usize::MAX));
        let data_type = if has_layout { data_type } else { raw() };
        Ok(Dtype { data_type, size, order, extension, has_layout })
    }

    /// Makes the `dtype` of a type that could not be read.
    pub(super) fn unknown(json: &Json) -> Dtype {
        // No data type has a name with a space.
        let data_type = DataType::Other(Json::from(format!("dtype {}", json.excerpt())));
        Dtype { data_type, size: 1, order: None, extension: None, has_layout: true }
    }

    /// Returns true if elements are objects, whose type a filter determines.
    pub(super) fn is_object(&self) -> bool {
        matches!(&self.data_type, DataType::Other(name) if name.as_str() == Some("object"))
    }

    /// Returns the view of elements of type `stored` as this type. `None` if the types are the same, or differ in size
    /// or in their components.
    pub(super) fn view_of(&self, stored: &Dtype) -> Option<View> {
        if self == stored || self.size != stored.size || self.component()? != stored.component()? {
            return None;
        }
        Some(if self.order == stored.order { View::AsStored } else { View::Swapped })
    }

    /// Returns the bytes of a component with a byte order, for numbers and times.
    fn component(&self) -> Option<usize> {
        match &self.data_type {
            DataType::Bool | DataType::Time(_) => self.data_type.size(),
            number => Some(number.components()?.0.size()),
        }
    }
}

fn read(json: &Json, parts: &mut Parts) -> Result<(DataType, u64), String> {
    match json {
        Json::String(text) => {
            let (data_type, size, is_big) = read_type_string(text)?;
            parts.extension = parts.extension.or_else(|| tensorstore_name(&data_type));
            parts.orders.push(is_big);
            Ok((data_type, size))
        }
        // The parser limits the depth of the document, and so this recursion.
        Json::Array(elements) if !elements.is_empty() => structure(elements, parts),
        other => Err(format!("expected a type string or a list of fields, found {}", other.excerpt())),
    }
}

fn structure(elements: &[Json], parts: &mut Parts) -> Result<(DataType, u64), String> {
    let (mut fields, mut size) = (Vec::<Field>::new(), 0_u64);
    for element in elements {
        if parts.orders.len() >= MAX_FIELDS {
            return Err(format!("more than {MAX_FIELDS} fields"));
        }
        let (name, dtype, count) = match element.as_array() {
            Some([Json::String(name), dtype]) => (name, dtype, 1),
            Some([Json::String(name), dtype, shape]) => {
                parts.has_layout = false;
                (name, dtype, subarray_elements(shape)?)
            }
            _ => {
                let found = element.excerpt();
                return Err(format!("expected a field as [name, dtype] or [name, dtype, shape], found {found}"));
            }
        };
        // The search is quadratic, but MAX_FIELDS keeps it short.
        if name.is_empty() || fields.iter().any(|field| *field.name == **name) {
            let found = Json::from(&**name).excerpt();
            return Err(format!("expected a field name that is not there yet, found {found}"));
        }
        let (data_type, bytes) = read(dtype, parts)?;
        let total = bytes.checked_mul(count).and_then(|bytes| size.checked_add(bytes));
        let total = total.filter(|size| *size <= MAX_SIZE);
        size = total.ok_or_else(|| format!("an element has more than {MAX_SIZE} bytes"))?;
        if let DataType::Other(_) = data_type {
            return Err(format!("the field {name:?} is of an object type, which has no fixed size"));
        }
        fields.push(Field { name: name.to_string(), data_type });
    }
    Ok((DataType::Struct(StructType::new(fields)), size))
}

/// Returns the number of elements of an array field.
fn subarray_elements(shape: &Json) -> Result<u64, String> {
    // numpy also accepts a single length in place of a list.
    let sizes = shape.as_array().unwrap_or(std::slice::from_ref(shape));
    let product = |product: u64, size: &Json| product.checked_mul(size.as_u64().filter(|size| *size > 0)?);
    let refused = || format!("expected the shape of a field as a list of integers, found {}", shape.excerpt());
    sizes.iter().try_fold(1_u64, product).ok_or_else(refused)
}

/// Returns a data type in v2's form, with the components in this byte order.
pub fn write_dtype(data_type: &DataType, is_big: bool) -> Result<Json, NotInV2> {
    let DataType::Struct(structure) = data_type else { return write_type_string(data_type, is_big).map(Json::from) };
    let field = |field: &Field| {
        let dtype = write_dtype(&field.data_type, is_big)?;
        Ok(Json::Array(vec![Json::from(field.name.as_str()), dtype]))
    };
    structure.fields.iter().map(field).collect::<Result<_, _>>().map(Json::Array)
}

/// The most bytes of an element, numpy's own limit.
const MAX_NUMPY_SIZE: u64 = i32::MAX as u64;

/// Numbers by their kinds in numpy: the beginning of their names in v3, and the bytes of an element.
const NUMBERS: [(char, &str, &[u64]); 4] =
    [('i', "int", &[1, 2, 4, 8]), ('u', "uint", &[1, 2, 4, 8]), ('f', "float", &[2, 4, 8]), ('c', "complex", &[8, 16])];

/// The names of tensorstore, which v3 has, too.
const OF_TENSORSTORE: &str = "
    bfloat16 float4_e2m1fn float8_e3m4 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
    int2 int4";

/// Returns the name of a type that only tensorstore has. `None` for any other.
fn tensorstore_name(data_type: &DataType) -> Option<&'static str> {
    OF_TENSORSTORE.split_whitespace().find(|name| *name == data_type.name())
}

/// Returns the finding for an array with such a type.
pub(super) fn tensorstore_finding(name: &str) -> Diagnostic {
    let message = format!("`dtype`: {name:?} is a type that tensorstore added to Zarr v2");
    Diagnostic::new(code::V2_DTYPE_EXTENSION, message)
        .with_help("no other reader of Zarr v2 knows it; Zarr v3 has the type")
}

/// Returns the kind, size and data type of booleans and numbers.
fn numbers() -> impl Iterator<Item = (char, u64, DataType)> {
    let sizes = |(kind, name, sizes): (char, &'static str, &'static [u64])| {
        sizes.iter().filter_map(move |size| Some((kind, *size, DataType::from_name(&format!("{name}{}", size * 8))?)))
    };
    std::iter::once(('b', 1, DataType::Bool)).chain(NUMBERS.into_iter().flat_map(sizes))
}

/// Reads a type string: the data type, the bytes of an element, and true if it is big-endian. `None` if it has no byte
/// order. The error contains the expected and the found form.
pub fn read_type_string(text: &str) -> Result<(DataType, u64, Option<bool>), String> {
    if OF_TENSORSTORE.split_whitespace().any(|name| name == text)
        && let Some(data_type) = DataType::from_name(text)
    {
        let (size, is_big) = (data_type.size().unwrap_or(1), data_type.has_byte_order().then_some(false));
        return Ok((data_type, size as u64, is_big));
    }
    let found = || Json::from(text).excerpt();
    let mut characters = text.chars();
    let is_big = match characters.next() {
        Some('<') => Some(false),
        Some('>') => Some(true),
        Some('|') => None,
        _ => return Err(format!("expected `<`, `>` or `|` first, found {}", found())),
    };
    let kind = characters.next().ok_or_else(|| format!("expected a kind and a size, found {}", found()))?;
    let rest = characters.as_str();
    if kind == 'O' {
        // In numpy, an object has the size of a pointer.
        return Ok((DataType::Other(Json::from("object")), 8, None));
    }
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, unit) = rest.split_at(digits);
    let size = digits.parse().ok().filter(|size| (1..=MAX_NUMPY_SIZE).contains(size) && !digits.starts_with('0'));
    let size = size.ok_or_else(|| {
        format!("expected a size in bytes from 1 to {MAX_NUMPY_SIZE} after the kind, found {}", found())
    })?;
    if !unit.is_empty() && !matches!(kind, 'm' | 'M') {
        return Err(format!("expected nothing after the size, found {}", found()));
    }
    let data_type = of_kind(kind, size, unit)
        .ok_or_else(|| format!("expected a type that numpy has, such as \"<f4\" or \"<M8[ns]\", found {}", found()))?;
    // The size of text counts code points, of four bytes each.
    let size = if kind == 'U' { size * 4 } else { size };
    // Text that is longer than this program reads is `Other`, which has no byte order. Its type string has one all the
    // same.
    if kind != 'U' && !data_type.has_byte_order() {
        return Ok((data_type, size, None));
    }
    let without = || format!("expected the byte order `<` or `>` for a type of {size} bytes, found {}", found());
    Ok((data_type, size, Some(is_big.ok_or_else(without)?)))
}

/// Returns the type of numpy's kind and size. Elements that are larger than this program reads have no decoded type.
fn of_kind(kind: char, size: u64, unit: &str) -> Option<DataType> {
    let of_length = |name: &str, bytes: u64| configured(name, Object::new().with("length_bytes", bytes));
    match kind {
        'M' if size == 8 => time("numpy.datetime64", unit),
        'm' if size == 8 => time("numpy.timedelta64", unit),
        'S' => of_length("null_terminated_bytes", size),
        'U' => of_length("fixed_length_utf32", size * 4),
        // The core specification's name, which no zarr-python reads.
        'V' => DataType::from_name(&format!("r{}", size * 8)),
        _ => numbers().find(|number| (number.0, number.1) == (kind, size)).map(|number| number.2),
    }
}

fn configured(name: &str, configuration: Object) -> Option<DataType> {
    let metadata = Object::new().with("name", name).with("configuration", configuration);
    DataType::from_metadata(&metadata.into()).ok()
}

/// Reads a unit such as `[ns]` or `[10us]`.
fn time(name: &str, unit: &str) -> Option<DataType> {
    let unit = unit.strip_prefix('[')?.strip_suffix(']')?;
    let (factor, unit) = unit.split_at(unit.find(|letter: char| !letter.is_ascii_digit())?);
    let factor = if factor.is_empty() { 1 } else { factor.parse::<u64>().ok()? };
    let unit = if unit == "μs" { "us" } else { unit };
    configured(name, Object::new().with("unit", unit).with("scale_factor", factor))
}

/// Returns a data type in the notation of numpy or tensorstore, with the components in this byte order.
fn write_type_string(data_type: &DataType, is_big: bool) -> Result<String, NotInV2> {
    let has_order = data_type.has_byte_order();
    if let Some(name) = tensorstore_name(data_type) {
        if is_big && has_order {
            return Err(NotInV2::new(format!("the data type `{name}` in big endian"))
                .with_help("give `bytes` with \"endian\": \"little\" in --codecs"));
        }
        return Ok(name.to_owned());
    }
    let kind_and_size = match data_type {
        DataType::Time(time) => {
            let kind = if time.name == "numpy.timedelta64" { 'm' } else { 'M' };
            let factor = if time.scale_factor == 1 { String::new() } else { time.scale_factor.to_string() };
            let unit = if time.unit == "μs" { "us" } else { time.unit };
            Some(format!("{kind}8[{factor}{unit}]"))
        }
        DataType::Raw(size) => Some(format!("V{size}")),
        DataType::FixedBytes(bytes) if bytes.name == "null_terminated_bytes" => Some(format!("S{}", bytes.size)),
        DataType::FixedBytes(bytes) => Some(format!("V{}", bytes.size)),
        DataType::FixedUtf32(code_points) => Some(format!("U{code_points}")),
        DataType::String | DataType::Bytes { .. } => Some("O".to_owned()),
        number => numbers().find(|known| known.2 == *number).map(|(kind, size, _)| format!("{kind}{size}")),
    };
    let order = match (has_order, is_big) {
        (false, _) => '|',
        (true, true) => '>',
        (true, false) => '<',
    };
    let help = "convert the values with --data-type";
    let unknown = || NotInV2::new(format!("the data type `{data_type}`")).with_help(help);
    Ok(format!("{order}{}", kind_and_size.ok_or_else(unknown)?))
}

const POINTER: &str = "/fill_value";

/// Returns the v3 form. An unknown form stays as written, and is an error when the data type is known.
pub(super) fn read_fill_value(dtype: &Dtype, fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    if fill_value.is_null() {
        let message = "`fill_value` is null: what absent chunks hold is undefined, and read here as zero";
        let help = "give the array a fill value, so that every reader sees the same";
        diagnostics.advise(code::V2_FILL_VALUE_NULL, POINTER, message, help);
        return zero(dtype);
    }
    if fill_value.is_not_finite() {
        return read_fill_value(dtype, &in_quotes(fill_value), diagnostics);
    }
    let data_type = &dtype.data_type;
    let is_text = dtype.is_object() || matches!(data_type, DataType::FixedBytes(_) | DataType::FixedUtf32(_));
    let understood = match data_type {
        // zarr-python before version 3 used 0 as the default for arrays of text.
        _ if is_text && fill_value.as_u64() == Some(0) => {
            let mut found = older_form("0 for a type of text", "\"\"");
            if dtype.is_object() {
                found.message += ": zarr-python 3 reads it as \"0\", this program as \"\"";
            }
            diagnostics.push(found);
            Some(Json::from(""))
        }
        DataType::Raw(_) | DataType::Struct(_) => elements_from_base64(dtype, fill_value),
        // The v3 form of such bytes is base64, too.
        DataType::FixedBytes(_) => data_type.fill_value_from_json(fill_value).ok().map(|_| fill_value.clone()),
        DataType::FixedUtf32(_) => fill_value.as_str().map(Json::from),
        DataType::Other(_) => Some(fill_value.clone()),
        _ if is_written_in_base64(data_type) => small_float_from_base64(data_type, fill_value),
        DataType::Bool => Some(boolean(fill_value, diagnostics)),
        _ => Some(number(dtype, fill_value, diagnostics)),
    };
    understood.unwrap_or_else(|| {
        let expected = match data_type {
            DataType::FixedUtf32(_) => "text".to_owned(),
            DataType::FixedBytes(_) => format!("at most {} bytes in base64", dtype.size),
            _ => format!("{} bytes in base64", dtype.size),
        };
        let message = format!("expected {expected} for the `dtype`, found {}", fill_value.excerpt());
        diagnostics.add(code::FILL_VALUE_INVALID, POINTER, message);
        zero(dtype)
    })
}

/// Converts the bare words `NaN` and infinities to strings, as v2 writes them.
fn in_quotes(fill_value: &Json) -> Json {
    match fill_value {
        Json::NotFinite(word) => Json::from(*word),
        Json::Array(parts) => Json::Array(parts.iter().map(in_quotes).collect()),
        other => other.clone(),
    }
}

fn older_form(found: &str, written: &str) -> Diagnostic {
    let message = format!("`fill_value` is {found}, which only some readers accept");
    Diagnostic::new(code::V2_FILL_VALUE_FORM, message).at_pointer(POINTER).with_help(format!("write {written}"))
}

/// Returns zero, false, or an empty value.
fn zero(dtype: &Dtype) -> Json {
    if dtype.is_object() {
        return Json::from("");
    }
    let zero = dtype.data_type.default_fill_value();
    zero.and_then(|zero| dtype.data_type.fill_value_to_json(&zero).ok()).unwrap_or_else(|| Json::from(0_u64))
}

fn boolean(fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    let value = match fill_value.as_u64() {
        Some(0) => false,
        Some(1) => true,
        _ => return fill_value.clone(),
    };
    diagnostics.push(older_form(&format!("{} for a boolean", fill_value.excerpt()), &value.to_string()));
    Json::Bool(value)
}

/// Forms of a number that are written in another one.
const OTHER_FORMS: [Code; 3] = [code::INTEGER_WITH_FRACTION, code::INTEGER_AS_STRING, code::PLUS_INFINITY];

/// Reads a number. Integers may have been written as `5.0` or `"5"`. v2 has no hexadecimal form.
fn number(dtype: &Dtype, fill_value: &Json, diagnostics: &mut Vec<Diagnostic>) -> Json {
    if let Some(part) = hexadecimal(fill_value)
        && dtype.data_type.fill_value_from_json(fill_value).is_ok()
    {
        let message = format!("v2 has no hexadecimal fill values, found {}", part.excerpt());
        let help = "v2 can say \"NaN\", \"Infinity\" and \"-Infinity\"; other NaNs need v3";
        diagnostics.advise(code::FILL_VALUE_INVALID, POINTER, message, help);
        return fill_value.clone();
    }
    if matches!(dtype.data_type, DataType::Time(_)) && fill_value.as_str() == Some("NaT") {
        return Json::from(i64::MIN);
    }
    if let Ok(read) = dtype.data_type.fill_value_from_json(fill_value)
        && read.notes.iter().any(|note| OTHER_FORMS.iter().any(|form| note.is(*form)))
        && let Ok(value) = dtype.data_type.fill_value_to_json(&read.value)
    {
        let found = format!("{} for an integer", fill_value.excerpt());
        diagnostics.extend(read.notes.into_iter().map(|note| {
            let is_older = note.is(code::INTEGER_WITH_FRACTION);
            if is_older { older_form(&found, &value.to_string()) } else { note.at_pointer(POINTER) }
        }));
        // The value goes on in its canonical form, so that reading it as v3 does not report the form again.
        return value;
    }
    fill_value.clone()
}

/// Returns the bits of a float, or of a part of a complex number, which v2 cannot express.
fn hexadecimal(json: &Json) -> Option<&Json> {
    let parts = json.as_array().unwrap_or(std::slice::from_ref(json));
    parts.iter().find(|part| part.as_str().is_some_and(|text| text.starts_with("0x")))
}

/// Reads the bytes of an element in their stored form.
fn elements_from_base64(dtype: &Dtype, fill_value: &Json) -> Option<Json> {
    let mut bytes = base64::decode(fill_value.as_str()?).filter(|bytes| bytes.len() as u64 == dtype.size)?;
    // Without an order all components are single bytes, which no order changes.
    dtype.order.as_ref().unwrap_or(&V2ByteOrder::Little).swap(&dtype.data_type, &mut bytes);
    dtype.data_type.fill_value_to_json(&FillValue(bytes)).ok()
}

/// Returns true if tensorstore writes a fill value of the type as its byte in base64.
fn is_written_in_base64(data_type: &DataType) -> bool {
    data_type.real_number().is_some() && data_type.is_small_float() && data_type.is_sub_byte()
}

/// Reads the byte of such a float. Its upper bits have no meaning.
fn small_float_from_base64(data_type: &DataType, fill_value: &Json) -> Option<Json> {
    let float = data_type.real_number()?.small_float()?;
    let bytes = base64::decode(fill_value.as_str()?)?;
    let [byte] = *bytes.as_slice() else { return None };
    let bits = byte & (u8::MAX >> (8 - float.bits().min(8)));
    data_type.fill_value_to_json(&FillValue(vec![bits])).ok()
}

/// Converts a fill value to v2's form, for an array whose components have this byte order.
///
/// Times are integers, bytes and structures are base64. Of NaN, v2 has only the canonical one.
pub fn write_fill_value(data_type: &DataType, fill_value: &FillValue, order: &V2ByteOrder) -> Result<Json, NotInV2> {
    let refused = |error: FillValueError| NotInV2::new(format!("the fill value: {error}"));
    let json = match data_type {
        DataType::Raw(_) | DataType::Struct(_) => {
            let mut bytes = fill_value.0.clone();
            order.swap(data_type, &mut bytes);
            return Ok(Json::from(base64::encode(&bytes)));
        }
        DataType::Time(_) => {
            let bytes = <[u8; 8]>::try_from(fill_value.0.as_slice()).unwrap_or_default();
            return Ok(Json::from(i64::from_ne_bytes(bytes)));
        }
        _ if is_written_in_base64(data_type) => return Ok(Json::from(base64::encode(fill_value.0.as_slice()))),
        _ => data_type.fill_value_to_json(fill_value).map_err(refused)?,
    };
    if data_type.components().is_some() && hexadecimal(&json).is_some() {
        let what = format!("the fill value {json}");
        return Err(NotInV2::new(what).with_help("`--fill-value NaN` makes it the NaN that v2 can name"));
    }
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_byte_orders_where_they_are_not_the_same() {
        let read = |text: &str| Dtype::read(&Json::parse_str(text).unwrap()).unwrap();
        let mixed = read(r#"[["a",">i2"],["b",[["c","|u1"],["d","<f4"]]],["e",">U2"]]"#);
        assert_eq!(mixed.order, Some(V2ByteOrder::Fields(vec![true, false, false, true])));
        assert_eq!(read(r#"[["a",">i2"],["b",">f4"]]"#).order, Some(V2ByteOrder::Big));
        assert!(!read(r#"[["a",">i2",[2]],["b","<f4"]]"#).has_layout);
        assert_eq!(read(r#"[["a",">i2"],["b","bfloat16"]]"#).extension, Some("bfloat16"));
    }

    #[test]
    fn single_bytes_are_taken_for_each_other_and_components_of_other_sizes_are_not() {
        let view = |own: &str, stored: &str| {
            let [own, stored] = [own, stored].map(|text| Dtype::read(&Json::from(text)).unwrap());
            own.view_of(&stored)
        };
        assert_eq!(view("|i1", "|u1"), Some(View::AsStored));
        assert_eq!(view("|b1", "|u1"), Some(View::AsStored));
        assert_eq!(view(">i8", "<M8[s]"), Some(View::Swapped));
        for (own, stored) in [("<c8", "<f8"), ("<i2", "<i2"), ("<i2", "<i4"), ("|u1", "|V1"), ("|S1", "|u1")] {
            assert_eq!(view(own, stored), None, "{own} {stored}");
        }
    }
}

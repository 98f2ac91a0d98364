//! Type strings: numpy's byte order, kind and size, and the names that only tensorstore has.
//!
//! tensorstore's `bfloat16` is little-endian. Its integers and floats of less than a byte have one byte each. The fill
//! value of its `float8_e8m0fnu` means another number than written, so that name is not read here. Sources:
//! <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#data-type-encoding>,
//! <https://google.github.io/tensorstore/driver/zarr/index.html>

use super::NotInV2;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::{Json, Object};

/// The most bytes of an element, numpy's own limit.
const MAX_SIZE: u64 = i32::MAX as u64;

/// Numbers by their kinds in numpy: the beginning of their names in v3, and the bytes of an element.
const NUMBERS: [(char, &str, &[u64]); 4] =
    [('i', "int", &[1, 2, 4, 8]), ('u', "uint", &[1, 2, 4, 8]), ('f', "float", &[2, 4, 8]), ('c', "complex", &[8, 16])];

/// The names of tensorstore, which v3 has, too.
const OF_TENSORSTORE: &str = "
    bfloat16 float4_e2m1fn float8_e3m4 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
    int2 int4";

/// Returns the name of a type that only tensorstore has. `None` for any other.
pub(super) fn tensorstore_name(data_type: &DataType) -> Option<&'static str> {
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
pub(super) fn read(text: &str) -> Result<(DataType, u64, Option<bool>), String> {
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
    let size = digits.parse().ok().filter(|size| (1..=MAX_SIZE).contains(size) && !digits.starts_with('0'));
    let size =
        size.ok_or_else(|| format!("expected a size in bytes from 1 to {MAX_SIZE} after the kind, found {}", found()))?;
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
pub(super) fn write(data_type: &DataType, is_big: bool) -> Result<String, NotInV2> {
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

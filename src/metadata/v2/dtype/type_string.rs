//! A `dtype` that is a string.

use super::{ByteOrder, Dtype, Kind, MAX_RAW_SIZE};
use crate::data_type::DataType;
use crate::metadata::json::{Json, Object};
use crate::metadata::v2::tensorstore;

/// The most bytes of an element: numpy's own bound.
const MAX_SIZE: u64 = i32::MAX as u64;

/// The units of `datetime64` and `timedelta64`.
const UNITS: [&str; 14] = ["generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

/// A type string: byte order, kind, size, and for times the unit in brackets; or a name of tensorstore's.
pub(super) fn read(text: &str) -> Result<Dtype, String> {
    if let Some(data_type) = tensorstore::from_name(text) {
        let order = if data_type.has_byte_order() { ByteOrder::Little } else { ByteOrder::None };
        let size = data_type.size().map_or(1, |size| size as u64);
        return Ok(Dtype { kind: Kind::Simple(data_type.to_metadata()), size, order });
    }
    let found = || Json::from(text).excerpt();
    let mut characters = text.chars();
    let order = match characters.next() {
        Some('<') => ByteOrder::Little,
        Some('>') => ByteOrder::Big,
        Some('|') => ByteOrder::None,
        _ => return Err(format!("expected `<`, `>` or `|` first, found {}", found())),
    };
    let kind = characters.next().ok_or_else(|| format!("expected a kind and a size, found {}", found()))?;
    let rest = characters.as_str();
    if kind == 'O' {
        return Ok(Dtype { kind: Kind::Object, size: 8, order: ByteOrder::None });
    }
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, unit) = rest.split_at(digits);
    let size: u64 = digits
        .parse()
        .ok()
        .filter(|size| *size > 0 && *size <= MAX_SIZE && !digits.starts_with('0'))
        .ok_or_else(|| {
            format!("expected a size in bytes from 1 to {MAX_SIZE} after the kind, found {}", found())
        })?;
    if !unit.is_empty() && !matches!(kind, 'm' | 'M') {
        return Err(format!("expected nothing after the size, found {}", found()));
    }
    let (kind, size, component) = of_kind(kind, size, unit).ok_or_else(|| {
        format!("expected a type that numpy has, such as \"<f4\" or \"<M8[ns]\", found {}", found())
    })?;
    let order = if component == 1 { ByteOrder::None } else { order };
    if component > 1 && order == ByteOrder::None {
        return Err(format!(
            "expected the byte order `<` or `>` for a type of {size} bytes, found {}",
            found()
        ));
    }
    Ok(Dtype { kind, size, order })
}

/// What numpy's kind and size mean, with the bytes of an element and of what the byte order is about.
fn of_kind(kind: char, size: u64, unit: &str) -> Option<(Kind, u64, u64)> {
    let named = |prefix: &str| {
        let name = format!("{prefix}{}", size.checked_mul(8)?);
        DataType::from_name(&name)
            .filter(|data_type| data_type.size().map(|size| size as u64) == Some(size))?;
        Some(Kind::Simple(Json::from(name)))
    };
    let whole = matches!(size, 1 | 2 | 4 | 8);
    Some(match kind {
        'b' if size == 1 => (Kind::Simple(Json::from("bool")), 1, 1),
        'i' if whole => (named("int")?, size, size),
        'u' if whole => (named("uint")?, size, size),
        'f' if whole => (named("float")?, size, size),
        'c' if matches!(size, 8 | 16) => (named("complex")?, size, size / 2),
        'M' if size == 8 => (Kind::Simple(time("numpy.datetime64", unit)?), 8, 8),
        'm' if size == 8 => (Kind::Simple(time("numpy.timedelta64", unit)?), 8, 8),
        'S' => (Kind::Bytes, size, 1),
        // The size counts code points, of four bytes each.
        'U' => (Kind::Text, size.checked_mul(4)?, 4),
        'V' if size <= MAX_RAW_SIZE => (Kind::Raw, size, 1),
        _ => return None,
    })
}

/// `[ns]`, `[10us]`.
fn time(name: &str, unit: &str) -> Option<Json> {
    let unit = unit.strip_prefix('[')?.strip_suffix(']')?;
    let letters = unit.find(|letter: char| !letter.is_ascii_digit())?;
    let (factor, unit) = unit.split_at(letters);
    let factor = match factor {
        "" => 1,
        digits => digits.parse::<u64>().ok().filter(|factor| (1..=MAX_SIZE).contains(factor))?,
    };
    let unit = if unit == "μs" { "us" } else { unit };
    UNITS.contains(&unit).then(|| {
        let configuration = Object::new().with("unit", unit).with("scale_factor", factor);
        Object::new().with("name", name).with("configuration", configuration).into()
    })
}

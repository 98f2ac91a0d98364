//! The data types that have a configuration, each held to its page and schema in the registry: a member that they do
//! not have is an error.

use super::error::DataTypeError;
use super::members::Members;
use super::{DataType, FixedBytes, TimeType, structure};
use crate::diagnostic::Diagnostic;
use crate::metadata::json::{Number, Object};

pub(super) const FIXED_LENGTH_UTF32: &str = "fixed_length_utf32";
pub(super) const OPTIONAL: &str = "zarrs.optional";

/// The units of time, "μs" being another spelling of "us".
const UNITS: [&str; 15] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic"];

/// A data type that needs a configuration; `None` for every other name, and for elements that are larger than this
/// program reads.
pub(super) fn read(
    name: &str,
    configuration: Option<&Object>,
    notes: &mut Vec<Diagnostic>,
) -> Result<Option<DataType>, DataTypeError> {
    let members = |known| Members::new(name, configuration, known);
    match name {
        "numpy.datetime64" => time("numpy.datetime64", &members(&["unit", "scale_factor"])?),
        "numpy.timedelta64" => time("numpy.timedelta64", &members(&["unit", "scale_factor"])?),
        FIXED_LENGTH_UTF32 => {
            let bytes = members(&["length_bytes"])?.length(4)?;
            Ok(bytes.map(|bytes| DataType::FixedUtf32(bytes / 4)))
        }
        "raw_bytes" => fixed_bytes("raw_bytes", &members(&["length_bytes"])?),
        "null_terminated_bytes" => fixed_bytes("null_terminated_bytes", &members(&["length_bytes"])?),
        "struct" | "structured" => structure::read(&members(&["fields"])?, notes),
        OPTIONAL => optional(&members(&["name", "configuration"])?),
        _ => Ok(None),
    }
}

/// `None` where the type of the values is not decoded, or has no fixed size.
fn optional(members: &Members<'_>) -> Result<Option<DataType>, DataTypeError> {
    let mut inner = Object::new().with("name", members.require("name")?.clone());
    let of_inner = members.require("configuration")?;
    if of_inner.as_object().is_none_or(|of_inner| !of_inner.is_empty()) {
        inner.insert("configuration", of_inner.clone());
    }
    let inner = DataType::from_metadata(&inner.into())?;
    Ok(inner.size().map(|_| DataType::Optional(Box::new(inner))))
}

fn time(name: &'static str, members: &Members<'_>) -> Result<Option<DataType>, DataTypeError> {
    let unit = members.require("unit")?;
    let found = UNITS.into_iter().find(|known| unit.as_str() == Some(known));
    let unit = found.ok_or_else(|| members.fault("unit", format!("one of {}", UNITS.join(", ")), unit))?;
    let json = members.require("scale_factor")?;
    let value = json.as_number().and_then(Number::as_integral_i128);
    let scale_factor = value
        .and_then(|value| u32::try_from(value).ok())
        .filter(|value| (1..=i32::MAX.cast_unsigned()).contains(value))
        .ok_or_else(|| members.fault("scale_factor", "an integer from 1 to 2147483647", json))?;
    Ok(Some(DataType::Time(TimeType { name, unit, scale_factor })))
}

fn fixed_bytes(name: &'static str, members: &Members<'_>) -> Result<Option<DataType>, DataTypeError> {
    let size = members.length(1)?;
    Ok(size.map(|size| DataType::FixedBytes(FixedBytes { name, size })))
}

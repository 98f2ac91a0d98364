//! The data types that have a configuration, each held to its page and schema in the registry: a member that they do
//! not have is an error.

use super::read::{DataTypeError, MAX_ELEMENT_SIZE};
use super::{DataType, FixedBytes, Leniency, TimeType, structure};
use crate::metadata::json::{Json, Number, Object};

pub(super) const FIXED_LENGTH_UTF32: &str = "fixed_length_utf32";

/// The units of time, "μs" being another spelling of "us".
const UNITS: [&str; 15] =
    ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic"];

/// A data type that needs a configuration; `None` for every other name, and for elements that are larger than this
/// program reads.
pub(super) fn read(
    name: &str,
    configuration: Option<&Object>,
    notes: &mut Vec<Leniency>,
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
        _ => Ok(None),
    }
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

/// The members of one configuration.
pub(super) struct Members<'a> {
    pub(super) name: &'a str,
    object: &'a Object,
}

impl<'a> Members<'a> {
    /// An error where there is no configuration, or a member that is not `known`.
    fn new(
        name: &'a str,
        configuration: Option<&'a Object>,
        known: &'static [&'static str],
    ) -> Result<Self, DataTypeError> {
        let object = configuration
            .ok_or_else(|| DataTypeError::Missing { name: name.to_owned(), member: known[0] })?;
        match object.names().find(|member| !known.contains(member)) {
            None => Ok(Members { name, object }),
            Some(member) => Err(DataTypeError::ConfigurationMember {
                name: name.to_owned(),
                member: Json::from(member).excerpt(),
                known,
            }),
        }
    }

    /// A member that must be there.
    pub(super) fn require(&self, member: &'static str) -> Result<&'a Json, DataTypeError> {
        self.object.get(member).ok_or_else(|| DataTypeError::Missing { name: self.name.to_owned(), member })
    }

    /// The fault of a member, or of what is inside it.
    pub(super) fn fault(
        &self,
        member: impl Into<String>,
        expected: impl Into<String>,
        found: &Json,
    ) -> DataTypeError {
        DataTypeError::Member {
            name: self.name.to_owned(),
            member: member.into(),
            expected: expected.into(),
            found: found.excerpt(),
        }
    }

    /// `length_bytes`, a positive multiple of `unit`; `None` where it is more than this program reads.
    fn length(&self, unit: u64) -> Result<Option<usize>, DataTypeError> {
        let json = self.require("length_bytes")?;
        let length = json.as_u64().filter(|&length| length > 0 && length % unit == 0).ok_or_else(|| {
            let of = if unit == 1 { String::new() } else { format!(" that is a multiple of {unit}") };
            self.fault("length_bytes", format!("a positive integer{of}"), json)
        })?;
        Ok(usize::try_from(length).ok().filter(|&length| length <= MAX_ELEMENT_SIZE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<DataType, DataTypeError> {
        DataType::from_metadata(&Json::parse_str(text).unwrap())
    }

    #[test]
    fn configurations_are_read_and_written_back() {
        for text in [
            r#"{"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1}}"#,
            r#"{"name":"numpy.timedelta64","configuration":{"unit":"μs","scale_factor":2147483647}}"#,
            r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":48}}"#,
            r#"{"name":"raw_bytes","configuration":{"length_bytes":3}}"#,
            r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":10}}"#,
        ] {
            assert_eq!(read(text).unwrap().to_metadata().to_string(), text);
        }
    }

    #[test]
    fn configurations_that_the_registry_does_not_allow_are_errors() {
        let time = |configuration: &str| {
            read(&format!(r#"{{"name":"numpy.datetime64","configuration":{configuration}}}"#))
        };
        for configuration in [
            "{}",
            r#"{"unit":"s"}"#,
            r#"{"scale_factor":1}"#,
            r#"{"unit":"S","scale_factor":1}"#,
            r#"{"unit":1,"scale_factor":1}"#,
            r#"{"unit":"s","scale_factor":0}"#,
            r#"{"unit":"s","scale_factor":2147483648}"#,
            r#"{"unit":"s","scale_factor":1.5}"#,
            r#"{"unit":"s","scale_factor":"1"}"#,
            r#"{"unit":"s","scale_factor":1,"endian":"little"}"#,
        ] {
            assert!(time(configuration).is_err(), "{configuration}");
        }
        for length in ["0", "6", "-4", "4.0", "\"4\"", "null"] {
            let text =
                format!(r#"{{"name":"fixed_length_utf32","configuration":{{"length_bytes":{length}}}}}"#);
            assert!(read(&text).is_err(), "{length}");
        }
        for text in [r#""numpy.datetime64""#, r#"{"name":"struct"}"#, r#""fixed_length_utf32""#] {
            assert!(matches!(read(text), Err(DataTypeError::Missing { .. })), "{text}");
        }
    }

    #[test]
    fn elements_of_more_than_a_mebibyte_are_kept_but_not_decoded() {
        let text = r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":4611686018427387904}}"#;
        assert!(matches!(read(text), Ok(DataType::Other(_))));
        assert!(matches!(read(r#""r99999999992""#), Ok(DataType::Other(_))));
    }
}

//! `bytes`: the byte order of elements of more than one byte.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/bytes/>

use super::members::Members;
use super::{Parsed, lenient};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::Object;

/// A byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The order of this machine.
    pub const NATIVE: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

    /// The name in metadata.
    pub const fn name(self) -> &'static str {
        match self {
            Endian::Little => "little",
            Endian::Big => "big",
        }
    }
}

/// The configuration of `bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BytesConfiguration {
    /// The byte order; types of one byte need none.
    pub endian: Option<Endian>,
}

/// Parses the configuration of the codec at `pointer`.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<BytesConfiguration> {
    let mut members = Members::of_codec("bytes", configuration, pointer, &["endian"]);
    let choices = [("little", Endian::Little), ("big", Endian::Big)];
    let endian = match members.get("endian") {
        Some(json) => members.choice("endian", json, &choices).map(Some),
        None => Some(None),
    };
    members.finish(endian.map(|endian| BytesConfiguration { endian }))
}

impl BytesConfiguration {
    /// The byte order for elements of `data_type`, for the codec at `pointer`; `None` for types that have none.
    ///
    /// A missing order is read as little, with a warning.
    pub fn bind(self, data_type: &DataType, pointer: &str) -> Parsed<Endian> {
        let is_ordered = match data_type {
            DataType::Number(number_type) => number_type.size() > 1,
            DataType::Complex(_) => true,
            DataType::Bool | DataType::Raw(_) | DataType::Other(_) => false,
        };
        if !is_ordered {
            return (None, Vec::new());
        }
        if self.endian.is_some() {
            return (self.endian, Vec::new());
        }
        let message = format!("`bytes` has no `endian`, which `{data_type}` needs; it is read as \"little\"");
        let diagnostic = Diagnostic::new(code::ENDIAN_MISSING, message)
            .with_help("add \"endian\": \"little\" to its configuration")
            .at_pointer(pointer);
        (Some(Endian::Little), vec![lenient(diagnostic)])
    }
}

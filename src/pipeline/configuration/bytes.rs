//! `bytes`: the byte order of elements of more than one byte.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/bytes/>

use crate::codec::kinds::Parsed;
use crate::codec::kinds::members::Members;
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
        if data_type.is_variable_length() {
            let message = format!("`bytes` encodes elements of a fixed size, but `{data_type}` reaches it");
            let diagnostic = Diagnostic::new(code::CODEC_DATA_TYPE, message)
                .with_help("use `vlen-utf8` for strings, `vlen-bytes` for bytes")
                .at_pointer(pointer);
            return (None, vec![diagnostic]);
        }
        if !data_type.has_byte_order() {
            return (None, Vec::new());
        }
        if self.endian.is_some() {
            return (self.endian, Vec::new());
        }
        let message = format!("`bytes` has no `endian`, which `{data_type}` needs; it is read as \"little\"");
        // Of the old name the page says that it is little endian, and that readers should warn.
        let is_legacy = matches!(data_type, DataType::Struct(structure) if structure.is_legacy());
        let code = if is_legacy { code::ENDIAN_MISSING_LEGACY } else { code::ENDIAN_MISSING };
        let diagnostic = Diagnostic::new(code, message)
            .with_help("add \"endian\": \"little\" to its configuration")
            .at_pointer(pointer);
        (Some(Endian::Little), vec![diagnostic])
    }
}

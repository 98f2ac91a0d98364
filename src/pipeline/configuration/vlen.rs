//! `vlen-utf8` and `vlen-bytes`: elements of any length, each with its length before it. They have no members.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/vlen-utf8>

use crate::codec::kinds::Parsed;
use crate::codec::kinds::members::Members;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::Object;

/// Which of the two it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VlenConfiguration {
    /// `vlen-utf8`: elements of `string`.
    Utf8,
    /// `vlen-bytes`: elements of `bytes`.
    Bytes,
}

impl VlenConfiguration {
    /// The codec's name.
    pub const fn name(self) -> &'static str {
        match self {
            VlenConfiguration::Utf8 => "vlen-utf8",
            VlenConfiguration::Bytes => "vlen-bytes",
        }
    }

    /// Parses the configuration of the codec at `pointer`.
    pub fn parse(self, configuration: Option<&Object>, pointer: &str) -> Parsed<VlenConfiguration> {
        Members::of_codec(self.name(), configuration, pointer, &[]).finish(Some(self))
    }

    /// Holds the codec at `pointer` to the one data type that it encodes.
    pub fn bind(self, data_type: &DataType, pointer: &str) -> Parsed<VlenConfiguration> {
        let (is_encoded, expected) = match self {
            VlenConfiguration::Utf8 => (*data_type == DataType::String, "string"),
            VlenConfiguration::Bytes => (matches!(data_type, DataType::Bytes { .. }), "bytes"),
        };
        if is_encoded {
            return (Some(self), Vec::new());
        }
        let message = format!("`{}` encodes `{expected}` alone, but `{data_type}` reaches it", self.name());
        (None, vec![Diagnostic::new(code::CODEC_DATA_TYPE, message).at_pointer(pointer)])
    }
}

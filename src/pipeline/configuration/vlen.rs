//! `vlen-utf8`, `vlen-bytes` and `zarrs.vlen_v2`: elements of any length, each with its length before it. They have no
//! members, and the same framing; the last takes either data type.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/vlen-utf8>

use crate::codec::kinds::Parsed;
use crate::codec::kinds::members::Members;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::Object;

/// Which of the three it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VlenConfiguration {
    /// `vlen-utf8`: elements of `string`.
    Utf8,
    /// `vlen-bytes`: elements of `bytes`.
    Bytes,
    /// `zarrs.vlen_v2`: elements of either.
    Zarrs,
}

impl VlenConfiguration {
    /// The codec's name.
    pub const fn name(self) -> &'static str {
        match self {
            VlenConfiguration::Utf8 => "vlen-utf8",
            VlenConfiguration::Bytes => "vlen-bytes",
            VlenConfiguration::Zarrs => "zarrs.vlen_v2",
        }
    }

    /// Parses the configuration of the codec at `pointer`.
    pub fn parse(self, configuration: Option<&Object>, pointer: &str) -> Parsed<VlenConfiguration> {
        Members::of_codec(self.name(), configuration, pointer, &[]).finish(Some(self))
    }

    /// Holds the codec at `pointer` to the data types that it encodes.
    pub fn bind(self, data_type: &DataType, pointer: &str) -> Parsed<VlenConfiguration> {
        let (is_text, is_bytes) =
            (*data_type == DataType::String, matches!(data_type, DataType::Bytes { .. }));
        let (is_encoded, expected) = match self {
            VlenConfiguration::Utf8 => (is_text, "`string`"),
            VlenConfiguration::Bytes => (is_bytes, "`bytes`"),
            VlenConfiguration::Zarrs => (is_text || is_bytes, "`string` and `bytes`"),
        };
        if is_encoded {
            return (Some(self), Vec::new());
        }
        let message = format!("`{}` encodes {expected} alone, but `{data_type}` reaches it", self.name());
        (None, vec![Diagnostic::new(code::CODEC_DATA_TYPE, message).at_pointer(pointer)])
    }
}

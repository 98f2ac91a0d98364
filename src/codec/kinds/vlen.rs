//! `vlen-utf8`, `vlen-bytes` and `zarrs.vlen_v2`: elements of any length, each with its length before it. They have no
//! members, and the same framing; the last takes either data type.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/vlen-utf8>

pub mod framing;

use super::array::{
    ArrayCodec, ArrayConfiguration, ArrayFault, ArrayKind, BoundArray, Role, copy_swapped, keep,
};
use super::members::Members;
use super::{ArrayRepresentation, BytesSize, Parsed, V2Form};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::extension::CodecMetadata;
use framing::Vlen;

/// All three. What numcodecs writes beside the id in v2 says nothing.
pub(crate) static VLEN: ArrayKind = ArrayKind::new::<VlenConfiguration>()
    .with_v2(V2Form { read: |_, _| (None, None), write: |members| members });

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

    /// Holds the codec at `pointer` to the data types that it encodes.
    fn bind_type(self, data_type: &DataType, pointer: &str) -> Parsed<VlenConfiguration> {
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

impl ArrayConfiguration for VlenConfiguration {
    fn parse(codec: &CodecMetadata) -> Parsed<Self> {
        let all = [VlenConfiguration::Utf8, VlenConfiguration::Bytes, VlenConfiguration::Zarrs];
        let own = all.into_iter().find(|own| own.name() == codec.name).unwrap_or(VlenConfiguration::Zarrs);
        Members::of_codec(own.name(), codec.configuration.as_ref(), &codec.pointer, &[]).finish(Some(own))
    }

    fn bind(
        self,
        codec: &CodecMetadata,
        array: &ArrayRepresentation,
        found: &mut Vec<Diagnostic>,
    ) -> Option<BoundArray> {
        keep(self.bind_type(&array.data_type, &codec.pointer), found)?;
        let num_elements = array.num_elements().unwrap_or(u64::MAX);
        let framing = Vlen { num_elements, is_text: array.data_type == DataType::String };
        Some(BoundArray::to_bytes(framing, BytesSize::Unbounded))
    }
}

/// Elements of any length have no other form: they pass as they are encoded, once that is proved right.
impl ArrayCodec for Vlen {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        self.check(decoded).map_err(|error| ArrayFault::bytes(&error))?;
        copy_swapped(decoded, encoded, None)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        self.encode(encoded, decoded)
    }

    fn role(&self) -> Role<'_> {
        Role::Vlen(*self)
    }
}

//! `vlen-utf8`, `vlen-bytes` and `zarrs.vlen_v2`: variable-length elements, each after its length. They have no
//! members, and the same framing. The last one supports both data types.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/vlen-utf8>

pub mod framing;

use framing::Vlen;

use super::error::CodecError;
use super::{Binding, BytesSize, Coder, Effect, Kind, Made, Output, V2Form, copy};
use crate::data_type::DataType;
use crate::diagnostic::code;

/// All three codecs. The members that numcodecs writes in addition to the id in v2 are ignored.
pub(crate) static VLEN: Kind =
    Kind { v2: V2Form { read: |_, _| (None, None), ..V2Form::SAME }, ..Kind::new(|_| &[], bind) };

fn bind(to: &mut Binding<'_>) -> Option<Made> {
    let array = to.array?;
    let (name, data_type) = (to.codec.name.as_str(), &array.data_type);
    let is_text = *data_type == DataType::String;
    let is_bytes = matches!(data_type, DataType::Bytes { .. });
    let (is_encoded, expected) = match name {
        "vlen-utf8" => (is_text, "`string`"),
        "vlen-bytes" => (is_bytes, "`bytes`"),
        _ => (is_text || is_bytes, "`string` and `bytes`"),
    };
    if !is_encoded {
        return to.refuse(code::CODEC_DATA_TYPE, format!("`{name}` encodes {expected} alone"));
    }
    let framing = Vlen { num_elements: array.num_elements().unwrap_or(u64::MAX), is_text };
    Some(Made::to_bytes(framing, BytesSize::Unbounded))
}

/// Variable-length elements have no other form, so valid chunks are copied unchanged.
impl Coder for Vlen {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        self.check(decoded)?;
        copy(decoded, out.bytes)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        self.encode(encoded, out)
    }

    fn effect(&self) -> Effect<'_> {
        Effect::Vlen(*self)
    }
}

//! `vlen-utf8`, `vlen-bytes` and `zarrs.vlen_v2`: variable-length elements. They have no members, and the same
//! framing: the number of elements, then each element after its length. The numbers are 32 bits, little-endian. The last
//! one supports both data types.
//!
//! Variable-length elements do not fit the fixed-size buffers of a chunk. So this only validates a chunk and copies it
//! unchanged. zarrs would panic for a length beyond the end of the chunk.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/vlen-utf8>

use super::error::CodecError;
use super::{Binding, BytesSize, Coder, Effect, Kind, Made, Output, V2Form, copy};
use crate::data_type::DataType;
use crate::diagnostic::code;
use crate::diagnostic::quantity::counted;

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

/// A bound `vlen-utf8`, `vlen-bytes` or `zarrs.vlen_v2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vlen {
    /// The number of elements of a chunk.
    pub num_elements: u64,
    /// True if the elements are UTF-8.
    pub is_text: bool,
}

impl Vlen {
    /// Checks that bytes are a chunk.
    pub fn check(self, encoded: &[u8]) -> Result<(), CodecError> {
        self.each(encoded, |_, _| {})
    }

    /// Checks a chunk, and calls `visit` with the offset and the length of each element.
    pub fn each(self, encoded: &[u8], mut visit: impl FnMut(usize, u32)) -> Result<(), CodecError> {
        let fault = |message: String| CodecError::Bytes(message);
        let truncated = |element: u64| {
            fault(format!("the chunk of {} ends in element {element}", counted(encoded.len() as u64, "byte")))
        };
        let (count, mut rest) = length(encoded).ok_or_else(|| truncated(0))?;
        if u64::from(count) != self.num_elements {
            return Err(fault(format!("{} found, {} expected", counted(count.into(), "element"), self.num_elements)));
        }
        for element in 0..self.num_elements {
            let (length, after) = length(rest).ok_or_else(|| truncated(element))?;
            let own = usize::try_from(length).ok().and_then(|length| after.split_at_checked(length));
            let Some((bytes, following)) = own else {
                let left = after.len();
                return Err(fault(format!("element {element} has {length} bytes, but only {left} are left")));
            };
            if self.is_text && std::str::from_utf8(bytes).is_err() {
                return Err(fault(format!("element {element} is not UTF-8")));
            }
            visit(encoded.len() - after.len(), length);
            rest = following;
        }
        if rest.is_empty() {
            Ok(())
        } else {
            Err(fault(format!("{} after the last element", counted(rest.len() as u64, "byte"))))
        }
    }
}

/// Returns a length, and the bytes after it.
fn length(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*length), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_chunk_or_a_fault(bytes in proptest::collection::vec(0_u8..4, 0..40), count in 0_u64..5) {
            let is_right = Vlen { num_elements: count, is_text: false }.check(&bytes).is_ok();
            prop_assert!(!is_right || bytes.len() as u64 >= 4 + 4 * count);
        }
    }
}

//! `numcodecs.packbits`: eight booleans in a byte, in a row of bytes. The registry's `packbits` is another codec.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/packbits.html>

use super::array::{ArrayKind, Binding, BoundArray, Role, zeroed};
use super::error::CodecError;
use super::{ArrayRepresentation, Coder, Output};
use crate::data_type::DataType;
use crate::diagnostic::code;
use crate::element::{ElementType, NumberType};
use crate::grid::num_elements;
use crate::kernel::numcodecs::pack_bits;

/// `numcodecs.packbits`, whose types numpy knows without a word in v2.
pub(crate) static PACK_BOOLEANS: ArrayKind =
    ArrayKind { v2_types: Some(("|b1", "|u1")), ..ArrayKind::new(|_| &[], bind) };

fn bind(to: &mut Binding<'_>) -> Option<BoundArray> {
    let array = to.array()?;
    let data_type = &array.data_type;
    // numcodecs views bytes as booleans.
    if *data_type != DataType::Bool && !(to.codec.view.is_some() && data_type.size() == Some(1)) {
        let message = format!("`numcodecs.packbits` takes bool, but `{data_type}` reaches it");
        to.report(code::CODEC_DATA_TYPE, message);
        return None;
    }
    let count = num_elements(&array.shape)?;
    let output = ArrayRepresentation {
        data_type: DataType::Number(NumberType::of(ElementType::UInt8)),
        shape: vec![count.div_ceil(8) + 1],
        fill_value: None,
    };
    let count = usize::try_from(count).ok()?;
    Some(BoundArray::to_array(PackBooleans { count }, output))
}

/// `numcodecs.packbits` of so many booleans.
#[derive(Debug)]
struct PackBooleans {
    count: usize,
}

impl Coder for PackBooleans {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        zeroed(out.bytes, pack_bits::encoded_size(decoded.len()))?;
        pack_bits::encode(decoded, out.bytes);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        zeroed(out.bytes, self.count)?;
        pack_bits::decode(encoded, out.bytes).map_err(|(expected, found)| {
            CodecError::Bytes(format!("expected a first byte of {expected}, the bits of padding, found {found}"))
        })
    }

    fn role(&self) -> Role<'_> {
        Role::Packs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::extension::CodecMetadata;

    #[test]
    fn packbits_gives_a_row_of_bytes() {
        let codec = CodecMetadata::new("numcodecs.packbits", None);
        let bind = |data_type: DataType, shape: &[u64]| {
            let array = ArrayRepresentation { data_type, shape: shape.to_vec(), fill_value: None };
            PACK_BOOLEANS.bind(&codec, Some(&array), &mut Vec::new())
        };
        let bound = bind(DataType::Bool, &[3, 5]);
        assert!(bound.codec.is_some());
        let output = bound.output.unwrap();
        let output = output.array().unwrap();
        assert_eq!((output.data_type.name().as_str(), &output.shape[..]), ("uint8", &[3][..]));
        assert!(bind(DataType::Raw(1), &[3]).output.is_none());
    }
}

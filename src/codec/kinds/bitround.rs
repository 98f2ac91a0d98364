//! `bitround`: keeps a number of leading bits.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/bitround>

use super::array::{ArrayKind, Binding, BoundArray, Effect, copy};
use super::error::CodecError;
use super::members::{Member, MemberType};
use super::{ArrayRepresentation, Coder, Output};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::kernel::keep_bits::BitRound;
use crate::metadata::extension::CodecMetadata;

/// `bitround` and `numcodecs.bitround`. v2 has it only for floats.
pub(crate) static BITROUND: ArrayKind = ArrayKind {
    v2_id: |data_type| data_type.number().is_some_and(NumberType::is_float).then_some("bitround"),
    ..ArrayKind::new(members, bind)
};

/// Returns the members. numcodecs accepts 0 as well.
fn members(codec: &CodecMetadata) -> &'static [Member] {
    const OF_NUMCODECS: &[Member] = &[Member::required("keepbits", MemberType::Integer(0, 64))];
    const OF_V3: &[Member] = &[Member::required("keepbits", MemberType::Integer(1, 64))];
    if codec.name == "numcodecs.bitround" { OF_NUMCODECS } else { OF_V3 }
}

fn bind(to: &mut Binding<'_>) -> Option<BoundArray> {
    let array = to.array?;
    let (data_type, keepbits) = (&array.data_type, to.members.integer_value("keepbits"));
    let Some((size, fraction_bits)) = component_of(data_type) else {
        return to.refuse(code::CODEC_DATA_TYPE, "`bitround` takes integers and floats");
    };
    let bits = fraction_bits.unwrap_or(u32::try_from(size * 8).unwrap_or(64));
    if keepbits > bits {
        let message = format!(
            "`keepbits` of `bitround`: expected at most the {bits} bits that `{data_type}` has, found {keepbits}"
        );
        return to.members.refuse(code::CONFIGURATION_VALUE, "keepbits", message);
    }
    let bound = BitRound { size, fraction_bits, keepbits };
    let fill_value = array.fill_value.as_ref().map(|fill| rounded_fill(bound, data_type, fill, to));
    Some(BoundArray::to_array(bound, ArrayRepresentation { fill_value, ..array.clone() }))
}

impl Coder for BitRound {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        copy(decoded, out.bytes)?;
        BitRound::encode(*self, out.bytes);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        copy(encoded, out.bytes)
    }

    fn effect(&self) -> Effect<'_> {
        Effect::BitRound(*self)
    }
}

/// Returns the bytes of a component and the stored bits of its significand, for the types of the page. The bits are
/// `None` for integers. The result is `None` for other types.
fn component_of(data_type: &DataType) -> Option<(usize, Option<u32>)> {
    let (number, _) = data_type.stored_components()?;
    // The page has only the small floats of 16 bits.
    if !number.is_whole() || number.small_float().is_some_and(|float| float.bits() != 16) {
        return None;
    }
    Some((number.size(), number.fraction_bits()))
}

/// Returns the fill value after `bitround`, which decoding does not change.
fn rounded_fill(codec: BitRound, data_type: &DataType, fill_value: &FillValue, to: &mut Binding<'_>) -> FillValue {
    let mut encoded = fill_value.clone();
    codec.encode(&mut encoded.0);
    if encoded != *fill_value {
        let text = |fill: &FillValue| {
            let json = data_type.fill_value_to_json(fill);
            json.map_or_else(|_| "no value".to_owned(), |json| json.to_string())
        };
        let message = format!(
            "the fill value {} does not survive `bitround`: it is rounded to {}",
            text(fill_value),
            text(&encoded)
        );
        let help = "a missing chunk reads differently from a stored one: keep more bits, or take another value";
        to.push(Diagnostic::new(code::BITROUND_FILL_VALUE_LOST, message).with_help(help));
    }
    encoded
}

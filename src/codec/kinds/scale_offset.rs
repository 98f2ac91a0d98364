//! `scale_offset`: two scalars of the codec's input data type.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/scale_offset>

use super::error::CodecError;
use super::members::{ConfigurationReader, Member, MemberType, shown};
use super::{ArrayRepresentation, Binding, Coder, Effect, Kind, Made, Output, convert, encoded_fill_value, scalar};
use crate::data_type::{value_from_json, value_to_json};
use crate::diagnostic::code;
use crate::element::NumberType;
use crate::kernel::scale_offset::ScaleOffset;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};

/// `scale_offset`, which v2 does not have.
pub(crate) static SCALE_OFFSET: Kind = Kind::new(|_| MEMBERS, bind);

const MEMBERS: &[Member] = &[Member::optional("offset", MemberType::Any), Member::optional("scale", MemberType::Any)];

const ZERO: &str = "`scale` of `scale_offset` is zero: nothing could be decoded";

/// Returns true if a member is absent, or has the form of a number or a float's string. Reports any other.
fn has_scalar_form(members: &mut ConfigurationReader<'_>, name: &str) -> bool {
    let Some(json) = members.get(name) else { return true };
    let is_scalar = matches!(json, Json::Number(_) | Json::String(_));
    if !is_scalar {
        let message = format!("`{name}` of `scale_offset`: expected a number, found {}", shown(json));
        members.report(code::SCALE_OFFSET_SCALAR, name, message);
    }
    is_scalar
}

/// Returns the metadata, without an offset of 0 and a scale of 1.
pub fn to_metadata(codec: &ScaleOffset) -> CodecMetadata {
    let (number_type, mut configuration) = (codec.number_type(), Object::new());
    if let Some(offset) = codec.offset().filter(|&bits| !is_zero(number_type, bits)) {
        configuration.insert("offset", value_to_json(number_type, offset));
    }
    if let Some(scale) = codec.scale().filter(|&bits| bits != one(number_type)) {
        configuration.insert("scale", value_to_json(number_type, scale));
    }
    CodecMetadata::new("scale_offset", Some(configuration).filter(|members| !members.is_empty()))
}

/// Returns true for the bits of 0 or -0.0.
fn is_zero(number_type: NumberType, bits: u64) -> bool {
    number_type.float_format().map_or(bits == 0, |format| format.is_zero(bits))
}

const fn one(number_type: NumberType) -> u64 {
    match number_type.float_format() {
        Some(format) if format.is_unsigned() => format.bias.unsigned_abs() as u64,
        // The biased exponent 0 is that of the subnormal numbers.
        Some(format) => (format.bias.unsigned_abs() as u64) << format.fraction_bits,
        None => 1,
    }
}

fn bind(to: &mut Binding<'_>) -> Option<Made> {
    let members = &mut to.members;
    let are_scalars = ["offset", "scale"].map(|name| has_scalar_form(members, name));
    // Zero is a fault for every data type, so it is reported even if the type is unknown.
    if let Some(Json::Number(number)) = members.get("scale")
        && number.as_f64() == 0.0
    {
        return members.refuse(code::SCALE_OFFSET_SCALE_ZERO, "scale", ZERO);
    }
    let array = to.array.filter(|_| are_scalars == [true, true])?;
    let number_type = to.real_number(code::SCALE_OFFSET_DATA_TYPE, "`scale_offset` takes")?;
    let members = &mut to.members;
    let [offset, scale] = ["offset", "scale"].map(|name| match members.get(name) {
        None => Some(None),
        Some(json) => {
            let (pointer, what) = (members.pointer_to(name), format!("`{name}` of `scale_offset`"));
            let read = value_from_json(number_type, json);
            scalar((code::SCALE_OFFSET_SCALAR, &what), read, &pointer, &mut members.diagnostics).map(Some)
        }
    });
    // Only the type shows whether a hexadecimal string is a zero, or a small number becomes one.
    if scale.flatten().is_some_and(|scale| is_zero(number_type, scale)) {
        return members.refuse(code::SCALE_OFFSET_SCALE_ZERO, "scale", ZERO);
    }
    let codec = ScaleOffset::new(number_type, offset?, scale?);
    let codes = [code::SCALE_OFFSET_FILL_VALUE, code::SCALE_OFFSET_FILL_VALUE_LOST];
    let (forward, back) = (|bits| codec.encode_one(bits), |bits| codec.decode_one(bits));
    let fill_value = encoded_fill_value(to, "scale_offset", (number_type, number_type), codes, forward, back);
    Some(Made::to_array(codec, ArrayRepresentation { fill_value, ..array.clone() }))
}

impl Coder for ScaleOffset {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let types = (self.number_type(), self.number_type());
        convert(types, decoded, out.bytes, |from, to| ScaleOffset::encode(self, from, to))
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let types = (self.number_type(), self.number_type());
        convert(types, encoded, out.bytes, |from, to| ScaleOffset::decode(self, from, to))
    }

    fn effect(&self) -> Effect<'_> {
        Effect::ScaleOffset(self)
    }

    fn written(&self) -> Option<CodecMetadata> {
        Some(to_metadata(self))
    }
}

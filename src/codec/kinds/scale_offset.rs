//! `scale_offset`: two scalars of the data type that reaches the codec.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/scale_offset>

use super::array::{ArrayConfiguration, ArrayKind, Binding, BoundArray, Role, zeroed};
use super::error::CodecError;
use super::fill::Passage;
use super::members::{Members, shown};
use super::numcodecs::{Absent, Form, Member};
use super::scalar::scalar;
use super::{ArrayRepresentation, Coder, Output, Parsed};
use crate::data_type::{DataType, value_from_json, value_to_json};
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::kernel::ElementFault;
use crate::kernel::scale_offset::ScaleOffset;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};

/// `scale_offset`, which v2 has not.
pub(crate) static SCALE_OFFSET: ArrayKind = ArrayKind::new::<ScaleOffsetConfiguration>();

/// The configuration of `scale_offset`, its scalars as they were written: without a data type they mean nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScaleOffsetConfiguration {
    /// What is subtracted.
    pub offset: Option<Json>,
    /// What the difference is multiplied by.
    pub scale: Option<Json>,
}

/// `scale_offset` for one data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundScaleOffset {
    /// The type on both sides.
    pub number_type: NumberType,
    /// Bits of the offset, zero-extended to 64; absent, the operation is skipped.
    pub offset: Option<u64>,
    /// Bits of the scale, which is not zero.
    pub scale: Option<u64>,
}

const ZERO: &str = "`scale` of `scale_offset` is zero: nothing could be decoded";

/// Whether a member, where there is one, has the form of some number: a number, or a string as floats have them.
fn has_scalar_form(members: &mut Members<'_>, name: &str) -> bool {
    let Some(json) = members.get(name) else { return true };
    let is_scalar = matches!(json, Json::Number(_) | Json::String(_));
    if !is_scalar {
        let message = format!("`{name}` of `scale_offset`: expected a number, found {}", shown(json));
        members.report(code::SCALE_OFFSET_SCALAR, name, message);
    }
    is_scalar
}

impl ScaleOffsetConfiguration {
    /// Binds the codec at `pointer` to the data type that reaches it.
    ///
    /// A type that this program does not decode gives nothing, not even a finding: the type has its own.
    pub fn bind_type(&self, data_type: &DataType, pointer: &str) -> Parsed<BoundScaleOffset> {
        let mut diagnostics = Vec::new();
        let number_type = match (data_type.real_number(), data_type) {
            (Some(number_type), _) => number_type,
            (None, DataType::Other(_)) => return (None, diagnostics),
            _ => {
                let message =
                    format!("`scale_offset` takes integers and real floats, but `{data_type}` reaches it");
                diagnostics.push(Diagnostic::new(code::SCALE_OFFSET_DATA_TYPE, message).at_pointer(pointer));
                return (None, diagnostics);
            }
        };
        let mut bits = |name: &str, json: &Option<Json>| match json {
            None => Some(None),
            Some(json) => {
                let pointer = format!("{pointer}/configuration/{name}");
                let what = format!("`{name}` of `scale_offset`");
                let read = value_from_json(number_type, json);
                scalar((code::SCALE_OFFSET_SCALAR, &what), read, &pointer, &mut diagnostics).map(Some)
            }
        };
        let (offset, scale) = (bits("offset", &self.offset), bits("scale", &self.scale));
        if let Some(Some(scale)) = scale
            && is_zero(number_type, scale)
        {
            let pointer = format!("{pointer}/configuration/scale");
            diagnostics.push(Diagnostic::new(code::SCALE_OFFSET_SCALE_ZERO, ZERO).at_pointer(pointer));
            return (None, diagnostics);
        }
        let bound = offset.zip(scale).map(|(offset, scale)| BoundScaleOffset { number_type, offset, scale });
        (bound, diagnostics)
    }
}

impl BoundScaleOffset {
    /// The metadata, without the members that say nothing: an offset of 0, a scale of 1.
    pub fn to_metadata(&self) -> CodecMetadata {
        let mut configuration = Object::new();
        if let Some(offset) = self.offset.filter(|&bits| !is_zero(self.number_type, bits)) {
            configuration.insert("offset", value_to_json(self.number_type, offset));
        }
        if let Some(scale) = self.scale.filter(|&bits| bits != one(self.number_type)) {
            configuration.insert("scale", value_to_json(self.number_type, scale));
        }
        CodecMetadata::new("scale_offset", Some(configuration).filter(|members| !members.is_empty()))
    }
}

/// Whether bits are 0, or -0.0.
fn is_zero(number_type: NumberType, bits: u64) -> bool {
    number_type.float_format().map_or(bits == 0, |format| format.is_zero(bits))
}

/// The bits of 1.
const fn one(number_type: NumberType) -> u64 {
    match number_type.float_format() {
        Some(format) if format.is_unsigned() => format.bias.unsigned_abs() as u64,
        // The biased exponent 0 is that of the subnormal numbers.
        Some(format) => (format.bias.unsigned_abs() as u64) << format.fraction_bits,
        None => 1,
    }
}

impl ArrayConfiguration for ScaleOffsetConfiguration {
    fn members(_: &CodecMetadata) -> &'static [Member] {
        const {
            &[
                Member::new("offset", Form::Any, Absent::Nothing),
                Member::new("scale", Form::Any, Absent::Nothing),
            ]
        }
    }

    fn read(members: &mut Members<'_>) -> Option<Self> {
        let are_scalars = ["offset", "scale"].map(|name| has_scalar_form(members, name));
        let (offset, scale) = (members.get("offset").cloned(), members.get("scale").cloned());
        if let Some(Json::Number(number)) = &scale
            && number.as_f64() == 0.0
        {
            members.report(code::SCALE_OFFSET_SCALE_ZERO, "scale", ZERO);
            return None;
        }
        (are_scalars == [true, true]).then_some(ScaleOffsetConfiguration { offset, scale })
    }

    fn bind(self, to: &mut Binding<'_>) -> Option<BoundArray> {
        let bound = to.keep(self.bind_type(&to.array.data_type, &to.codec.pointer))?;
        let kernel = ScaleOffset::new(bound.number_type, bound.offset, bound.scale);
        let passage = Passage {
            name: "scale_offset",
            types: (bound.number_type, bound.number_type),
            refused: code::SCALE_OFFSET_FILL_VALUE,
            lost: code::SCALE_OFFSET_FILL_VALUE_LOST,
        };
        let fill_value = passage.run(to, |bits| kernel.encode_one(bits), |bits| kernel.decode_one(bits));
        let output = ArrayRepresentation { fill_value, ..to.array.clone() };
        Some(BoundArray::to_array(Scaled { bound, kernel }, output))
    }

    fn output_unbound(_: &CodecMetadata, array: &ArrayRepresentation) -> Option<ArrayRepresentation> {
        Some(ArrayRepresentation { fill_value: None, ..array.clone() })
    }
}

/// `scale_offset` of one type, and what calculates it.
#[derive(Debug)]
struct Scaled {
    bound: BoundScaleOffset,
    kernel: ScaleOffset,
}

impl Scaled {
    fn fault(&self, fault: ElementFault, source: &[u8]) -> CodecError {
        CodecError::element(fault, Some((self.bound.number_type, self.bound.number_type)), source)
    }
}

impl Coder for Scaled {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        zeroed(out.bytes, decoded.len())?;
        self.kernel.encode(decoded, out.bytes).map_err(|fault| self.fault(fault, decoded))
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        zeroed(out.bytes, encoded.len())?;
        self.kernel.decode(encoded, out.bytes).map_err(|fault| self.fault(fault, encoded))
    }

    fn role(&self) -> Role<'_> {
        Role::ScaleOffset(&self.kernel)
    }

    fn written(&self) -> Option<CodecMetadata> {
        Some(self.bound.to_metadata())
    }
}

//! `cast_value`: the type of the encoded values, and how values that it does not have are treated.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value>

mod lossy;
pub use lossy::is_lossy;
mod scalar_map;
mod write;

use std::sync::Arc;

use super::array::{ArrayConfiguration, ArrayKind, Binding, BoundArray, Role, cast};
use super::error::CodecError;
use super::fill::Passage;
use super::member::{Absent, Form, Member};
use super::members::Members;
use super::{ArrayRepresentation, Coder, Output};
use crate::data_type::{DataType, meant_types};
use crate::diagnostic::code;
use crate::diagnostic::spelling::alternatives;
use crate::element::NumberType;
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Json;

/// `cast_value`, which v2 has not.
pub(crate) static CAST_VALUE: ArrayKind = ArrayKind::new::<CastValueConfiguration>();

/// The configuration of `cast_value`, without the type that it casts from.
#[derive(Debug, Clone, PartialEq)]
pub struct CastValueConfiguration {
    /// The type of the encoded values.
    pub data_type: NumberType,
    /// The rounding of values between two of the target, in both directions.
    pub rounding: Rounding,
    /// The rule for values outside of the target's range, in both directions.
    pub out_of_range: OutOfRange,
    /// `scalar_map.encode`: entries whose value is of `data_type`.
    encode: Vec<HalfRead>,
    /// `scalar_map.decode`: entries whose key is of `data_type`.
    decode: Vec<HalfRead>,
}

/// An entry of `scalar_map` of which only the side of `data_type` has been read.
#[derive(Debug, Clone, PartialEq)]
struct HalfRead {
    /// Its position in the list.
    index: usize,
    /// The bits of the side that has been read.
    bits: u64,
    /// The side whose type is not known yet.
    unread: Json,
}

/// `cast_value` from one data type to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundCastValue {
    /// The type of the decoded values.
    pub decoded: NumberType,
    /// The type of the encoded values.
    pub encoded: NumberType,
    /// The rounding of values between two of the target, in both directions.
    pub rounding: Rounding,
    /// The rule for values outside of the target's range, in both directions.
    pub out_of_range: OutOfRange,
    /// `scalar_map.encode`: decoded bits, encoded bits; no key twice.
    pub encode: Vec<(u64, u64)>,
    /// `scalar_map.decode`: encoded bits, decoded bits; no key twice.
    pub decode: Vec<(u64, u64)>,
}

const ROUNDINGS: [(&str, Rounding); 5] = [
    ("nearest-even", Rounding::NearestEven),
    ("towards-zero", Rounding::TowardsZero),
    ("towards-positive", Rounding::TowardsPositive),
    ("towards-negative", Rounding::TowardsNegative),
    ("nearest-away", Rounding::NearestAway),
];
const OUT_OF_RANGE: [(&str, OutOfRange); 2] = [("clamp", OutOfRange::Clamp), ("wrap", OutOfRange::Wrap)];

const MEMBERS: &[Member] = &[
    Member::required("data_type", Form::Any),
    Member::new("rounding", Form::Any, Absent::Nothing),
    Member::new("out_of_range", Form::Any, Absent::Nothing),
    Member::new("scalar_map", Form::Any, Absent::Nothing),
];

/// The type that is cast to.
fn target(members: &mut Members<'_>, json: &Json) -> Option<NumberType> {
    let pointer = members.pointer_to("data_type");
    let read = match DataType::read(json) {
        Ok(read) => read,
        Err(error) => {
            members.report(
                code::DATA_TYPE_INVALID,
                "data_type",
                format!("`data_type` of `cast_value`: {error}"),
            );
            return None;
        }
    };
    let notes = read.notes.iter().map(|note| note.diagnostic().at_pointer(pointer.as_str()));
    members.diagnostics.extend(notes);
    let number_type = read.value.real_number();
    if number_type.is_none() {
        let name = read.value.name();
        let meant = meant_types(&name);
        let question = match (&read.value, meant.as_slice()) {
            (DataType::Other(_), [_, ..]) => format!("; did you mean {}?", alternatives(&meant)),
            _ => String::new(),
        };
        let message = format!("`cast_value` casts to integers and real floats, not to `{name}`{question}");
        members.report(code::CAST_VALUE_DATA_TYPE, "data_type", message);
    }
    number_type
}

impl BoundCastValue {
    /// The cast of encoding.
    pub fn encode_options(&self) -> CastOptions {
        CastOptions {
            source: self.decoded,
            target: self.encoded,
            rounding: self.rounding,
            out_of_range: self.out_of_range,
            scalar_map: self.encode.clone(),
        }
    }

    /// The cast of decoding.
    pub fn decode_options(&self) -> CastOptions {
        CastOptions {
            source: self.encoded,
            target: self.decoded,
            rounding: self.rounding,
            out_of_range: self.out_of_range,
            scalar_map: self.decode.clone(),
        }
    }
}

impl ArrayConfiguration for CastValueConfiguration {
    fn members(_: &CodecMetadata) -> &'static [Member] {
        MEMBERS
    }

    fn read(members: &mut Members<'_>) -> Option<Self> {
        let data_type = members.get("data_type").and_then(|json| target(members, json));
        let rounding = members.choice_or_first("rounding", &ROUNDINGS);
        let mut out_of_range = match members.get("out_of_range") {
            Some(json) => members.choice("out_of_range", json, &OUT_OF_RANGE),
            None => Some(OutOfRange::Error),
        };
        if out_of_range == Some(OutOfRange::Wrap) && data_type.is_some_and(NumberType::is_float) {
            let message =
                "`out_of_range` of `cast_value` is \"wrap\", which only an integer `data_type` may have";
            members.report(code::CAST_VALUE_WRAP, "out_of_range", message);
            out_of_range = None;
        }
        let (encode, decode) = scalar_map::parse(members, data_type);
        Some(CastValueConfiguration {
            data_type: data_type?,
            rounding: rounding?,
            out_of_range: out_of_range?,
            encode,
            decode,
        })
    }

    fn bind(self, to: &mut Binding<'_>) -> Option<BoundArray> {
        let decoded = to.real_number(code::CAST_VALUE_DATA_TYPE, "`cast_value` casts from")?;
        let pointer = &to.codec.pointer;
        let encode = scalar_map::bind(("encode", &self.encode), decoded, pointer, to.found);
        let decode = scalar_map::bind(("decode", &self.decode), decoded, pointer, to.found);
        let bound = BoundCastValue {
            decoded,
            encoded: self.data_type,
            rounding: self.rounding,
            out_of_range: self.out_of_range,
            encode: encode?,
            decode: decode?,
        };
        to.found.extend(bound.lossy_diagnostic(pointer));
        let (encode, decode) = (Cast::new(bound.encode_options()), Cast::new(bound.decode_options()));
        let passage = Passage {
            name: "cast_value",
            types: (bound.decoded, bound.encoded),
            refused: code::CAST_VALUE_FILL_VALUE,
            lost: code::CAST_VALUE_FILL_VALUE_LOST,
        };
        let fill_value = passage.run(to, |bits| encode.convert_one(bits), |bits| decode.convert_one(bits));
        let data_type = DataType::Number(bound.encoded);
        let output = ArrayRepresentation { data_type, shape: to.array.shape.clone(), fill_value };
        Some(BoundArray::to_array(BothCasts { bound, encode, decode }, output))
    }

    fn output_unbound(codec: &CodecMetadata, array: &ArrayRepresentation) -> Option<ArrayRepresentation> {
        let data_type = DataType::from_metadata(codec.member("data_type")?).ok()?;
        Some(ArrayRepresentation { data_type, shape: array.shape.clone(), fill_value: None })
    }
}

/// `cast_value` of one type, and what calculates it.
#[derive(Debug, Clone)]
struct BothCasts {
    bound: BoundCastValue,
    encode: Cast,
    decode: Cast,
}

impl Coder for BothCasts {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        cast(&self.encode, decoded, out.bytes)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        cast(&self.decode, encoded, out.bytes)
    }

    /// Not a buffer, but it grows with the document: what an entry of a map takes in its table, and as it was read.
    fn context_bytes(&self, _: u64) -> u64 {
        const ENTRY: u64 = 384;
        ((self.bound.encode.len() + self.bound.decode.len()) as u64).saturating_mul(ENTRY)
    }

    fn role(&self) -> Role<'_> {
        Role::Cast { encode: &self.encode, decode: &self.decode }
    }

    fn written(&self) -> Option<CodecMetadata> {
        Some(self.bound.to_metadata())
    }

    fn to_nearest(&self) -> Option<Arc<dyn Coder>> {
        if self.bound.rounding.is_to_nearest() {
            return None;
        }
        let options = CastOptions { rounding: Rounding::default(), ..self.encode.options().clone() };
        Some(Arc::new(BothCasts { encode: Cast::new(options), ..self.clone() }))
    }
}

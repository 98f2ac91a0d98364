//! `cast_value`: the type of the encoded values, and how values that it does not have are treated.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value>

mod scalar_map;

use std::sync::Arc;

use super::array::{ArrayKind, Binding, BoundArray, Role, cast};
use super::error::CodecError;
use super::fill::Passage;
use super::member::{Absent, Form, Member};
use super::members::Members;
use super::{ArrayRepresentation, Coder, Output};
use crate::data_type::{DataType, meant_types, value_to_json};
use crate::diagnostic::spelling::alternatives;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{NumberType, SmallFloat};
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};

/// `cast_value`, which v2 has not.
pub(crate) static CAST_VALUE: ArrayKind = ArrayKind { output_unbound, ..ArrayKind::new(|_| MEMBERS, bind) };

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
            members.report(code::DATA_TYPE_INVALID, "data_type", format!("`data_type` of `cast_value`: {error}"));
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

/// Why values are lost where one type is a float that does not hold all integers of the other.
fn lossy_diagnostic(decoded: NumberType, encoded: NumberType) -> Option<Diagnostic> {
    let (direction, integer, float) = if is_lossy(decoded, encoded) {
        ("encodes", decoded, encoded)
    } else if is_lossy(encoded, decoded) {
        ("decodes", encoded, decoded)
    } else {
        return None;
    };
    let message = format!("`cast_value` {direction} `{integer}` as `{float}`, which does not hold all of its values");
    Some(Diagnostic::new(code::CAST_VALUE_LOSSY, message))
}

fn bind(to: &mut Binding<'_>) -> Option<BoundArray> {
    let members = &mut to.members;
    let data_type = members.get("data_type").and_then(|json| target(members, json));
    let rounding = members.choice_or_first("rounding", &ROUNDINGS);
    let mut out_of_range = match members.get("out_of_range") {
        Some(json) => members.choice("out_of_range", json, &OUT_OF_RANGE),
        None => Some(OutOfRange::Error),
    };
    if out_of_range == Some(OutOfRange::Wrap) && data_type.is_some_and(NumberType::is_float) {
        let message = "`out_of_range` of `cast_value` is \"wrap\", which only an integer `data_type` may have";
        members.report(code::CAST_VALUE_WRAP, "out_of_range", message);
        out_of_range = None;
    }
    let [encode, decode] = scalar_map::read(members, data_type);
    let (encoded, rounding, out_of_range) = (data_type?, rounding?, out_of_range?);
    let array = to.array()?;
    let decoded = to.real_number(code::CAST_VALUE_DATA_TYPE, "`cast_value` casts from")?;
    let encode = scalar_map::bind(("encode", &encode), decoded, &mut to.members);
    let decode = scalar_map::bind(("decode", &decode), decoded, &mut to.members);
    let options = CastOptions { source: decoded, target: encoded, rounding, out_of_range, scalar_map: encode? };
    let back = CastOptions { source: encoded, target: decoded, rounding, out_of_range, scalar_map: decode? };
    if let Some(found) = lossy_diagnostic(decoded, encoded) {
        to.push(found);
    }
    let (encode, decode) = (Cast::new(options), Cast::new(back));
    let passage = Passage {
        name: "cast_value",
        types: (decoded, encoded),
        refused: code::CAST_VALUE_FILL_VALUE,
        lost: code::CAST_VALUE_FILL_VALUE_LOST,
    };
    let fill_value = passage.run(to, |bits| encode.convert_one(bits), |bits| decode.convert_one(bits));
    let data_type = DataType::Number(encoded);
    let output = ArrayRepresentation { data_type, shape: array.shape.clone(), fill_value };
    Some(BoundArray::to_array(CastValue { encode, decode }, output))
}

fn output_unbound(codec: &CodecMetadata, array: &ArrayRepresentation) -> Option<ArrayRepresentation> {
    let data_type = DataType::from_metadata(codec.member("data_type")?).ok()?;
    Some(ArrayRepresentation { data_type, shape: array.shape.clone(), fill_value: None })
}

/// `cast_value` of one type.
#[derive(Debug, Clone)]
struct CastValue {
    encode: Cast,
    decode: Cast,
}

impl Coder for CastValue {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        cast(&self.encode, decoded, out.bytes)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        cast(&self.decode, encoded, out.bytes)
    }

    /// Not a buffer, but it grows with the document: what an entry of a map takes in its table, and as it was read.
    fn context_bytes(&self, _: u64) -> u64 {
        const ENTRY: u64 = 384;
        let [encode, decode] = [&self.encode, &self.decode].map(|cast| cast.options().scalar_map.len() as u64);
        (encode + decode).saturating_mul(ENTRY)
    }

    fn role(&self) -> Role<'_> {
        Role::Cast { encode: &self.encode, decode: &self.decode }
    }

    fn written(&self) -> Option<CodecMetadata> {
        Some(to_metadata(self.encode.options(), self.decode.options()))
    }

    fn to_nearest(&self) -> Option<Arc<dyn Coder>> {
        if self.encode.options().rounding.is_to_nearest() {
            return None;
        }
        let options = CastOptions { rounding: Rounding::default(), ..self.encode.options().clone() };
        Some(Arc::new(CastValue { encode: Cast::new(options), ..self.clone() }))
    }
}

/// The metadata of the casts of encoding and decoding: `rounding` other than nearest-even, `out_of_range` and `scalar_map`
/// where there is something to say, no key twice.
pub fn to_metadata(encode: &CastOptions, decode: &CastOptions) -> CodecMetadata {
    let mut configuration = Object::new().with("data_type", DataType::Number(encode.target).to_metadata());
    if encode.rounding != Rounding::default() {
        configuration.insert("rounding", name(&ROUNDINGS, encode.rounding));
    }
    if OUT_OF_RANGE.iter().any(|entry| entry.1 == encode.out_of_range) {
        configuration.insert("out_of_range", name(&OUT_OF_RANGE, encode.out_of_range));
    }
    let mut scalar_map = Object::new();
    for (name, cast) in [("encode", encode), ("decode", decode)] {
        let value = |number_type, bits: &u64| value_to_json(number_type, *bits);
        let pairs = cast.scalar_map.iter();
        let pairs = pairs.map(|(from, to)| Json::Array(vec![value(cast.source, from), value(cast.target, to)]));
        if !cast.scalar_map.is_empty() {
            scalar_map.insert(name, pairs.collect::<Vec<_>>());
        }
    }
    if !scalar_map.is_empty() {
        configuration.insert("scalar_map", scalar_map);
    }
    CodecMetadata::new("cast_value", Some(configuration))
}

fn name<T: PartialEq + Copy>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|entry| entry.1 == value).map_or("", |entry| entry.0)
}

/// True if a float type lacks values of an integer type: those beyond its significand, or beyond its range.
pub fn is_lossy(source: NumberType, target: NumberType) -> bool {
    let (Some((_, greatest)), Some(format)) = (source.integer_bounds(), target.float_format()) else {
        return false;
    };
    // Only small floats have more precision than range, and one of them has no zero.
    let is_beyond = |float: SmallFloat| {
        #[expect(clippy::cast_precision_loss, reason = "a bound that is rounded stays beyond theirs")]
        let greatest = greatest as f64;
        format.is_unsigned() || float.to_f64(format.greatest()).is_some_and(|bound| greatest > bound)
    };
    greatest >= 1_i128 << (format.fraction_bits + 1) || target.small_float().is_some_and(is_beyond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;

    #[test]
    fn integers_are_lossy_in_floats_with_a_shorter_significand() {
        let integer = |signed, bits| NumberType::integer(signed, bits).unwrap();
        let float = NumberType::of;
        let small = |name| NumberType::small(SmallFloat::from_name(name).unwrap());
        for (source, target, expected) in [
            (integer(true, 32), float(ElementType::Float64), false),
            (integer(true, 64), float(ElementType::Float64), true),
            (integer(false, 24), float(ElementType::Float32), false),
            (integer(true, 25), float(ElementType::Float32), false),
            (integer(false, 25), float(ElementType::Float32), true),
            (integer(false, 11), float(ElementType::Float16), false),
            (integer(false, 16), float(ElementType::Float16), true),
            (float(ElementType::Float64), integer(false, 8), false),
            (float(ElementType::Float64), float(ElementType::Float32), false),
            (integer(false, 8), small("bfloat16"), false),
            (integer(false, 9), small("bfloat16"), true),
            (integer(true, 5), small("float8_e4m3"), false),
            (integer(false, 5), small("float8_e4m3"), true),
            (integer(false, 4), small("float8_e3m4"), false),
            // 31 has 5 bits, as the type has, but its greatest value is 15.5.
            (integer(false, 5), small("float8_e3m4"), true),
            (integer(true, 2), small("float8_e8m0fnu"), true),
        ] {
            assert_eq!(is_lossy(source, target), expected, "{source} -> {target}");
        }
    }
}

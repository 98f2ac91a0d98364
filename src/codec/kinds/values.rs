//! `scale_offset`: two scalars of the codec's input data type. `cast_value`: the type of the encoded values, and the
//! treatment of values that it does not have.
//!
//! Each entry of `scalar_map` has a side of type `data_type`. The other side is read if the codec is bound to its input.
//! The first entry of a repeated key is used.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/scale_offset>,
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value>

use std::collections::HashSet;
use std::sync::Arc;

use super::error::CodecError;
use super::members::{ConfigurationReader, Member, MemberType, shown};
use super::{ArrayRepresentation, Binding, Coder, Effect, Kind, Made, Output, cast, convert};
use crate::data_type::{DataType, FillValue, FillValueError, Read, meant_types, value_from_json, value_to_json};
use crate::diagnostic::spelling::alternatives;
use crate::diagnostic::{Code, Diagnostic, Profile, code};
use crate::element::{NumberType, SmallFloat, element_bits};
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::{ElementFault, FaultKind, OutOfRange, Rounding};
use crate::metadata::extension::{CodecMetadata, Findings, MAX_FAULTS};
use crate::metadata::json::{Json, Object};

/// `scale_offset`, which v2 does not have.
pub(crate) static SCALE_OFFSET: Kind = Kind::new(|_| OF_SCALE_OFFSET, bind_scale_offset);

const OF_SCALE_OFFSET: &[Member] =
    &[Member::optional("offset", MemberType::Any), Member::optional("scale", MemberType::Any)];

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
pub fn scale_offset_metadata(codec: &ScaleOffset) -> CodecMetadata {
    let (number_type, mut configuration) = (codec.number_type, Object::new());
    if let Some(offset) = codec.offset.filter(|&bits| !is_zero(number_type, bits)) {
        configuration.insert("offset", value_to_json(number_type, offset));
    }
    if let Some(scale) = codec.scale.filter(|&bits| bits != one(number_type)) {
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

fn bind_scale_offset(to: &mut Binding<'_>) -> Option<Made> {
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
        let types = (self.number_type, self.number_type);
        convert(types, decoded, out.bytes, |from, to| ScaleOffset::encode(self, from, to))
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let types = (self.number_type, self.number_type);
        convert(types, encoded, out.bytes, |from, to| ScaleOffset::decode(self, from, to))
    }

    fn effect(&self) -> Effect<'_> {
        Effect::ScaleOffset(self)
    }

    fn written(&self) -> Option<CodecMetadata> {
        Some(scale_offset_metadata(self))
    }
}

/// `cast_value`, which v2 does not have.
pub(crate) static CAST_VALUE: Kind = Kind::new(|_| OF_CAST_VALUE, bind_cast_value);

pub(crate) const ROUNDINGS: [(&str, Rounding); 5] = [
    ("nearest-even", Rounding::NearestEven),
    ("towards-zero", Rounding::TowardsZero),
    ("towards-positive", Rounding::TowardsPositive),
    ("towards-negative", Rounding::TowardsNegative),
    ("nearest-away", Rounding::NearestAway),
];
pub(crate) const OUT_OF_RANGE: [(&str, OutOfRange); 2] = [("clamp", OutOfRange::Clamp), ("wrap", OutOfRange::Wrap)];

const OF_CAST_VALUE: &[Member] = &[
    Member::required("data_type", MemberType::Any),
    Member::optional("rounding", MemberType::Any),
    Member::optional("out_of_range", MemberType::Any),
    Member::optional("scalar_map", MemberType::Any),
];

const OF_SCALAR_MAP: &[Member] =
    &[Member::optional("encode", MemberType::Any), Member::optional("decode", MemberType::Any)];

/// Returns the type of the encoded values.
fn target(members: &mut ConfigurationReader<'_>, json: &Json) -> Option<NumberType> {
    let pointer = members.pointer_to("data_type");
    let read = DataType::read(json).map_err(|error| {
        members.report(code::DATA_TYPE_INVALID, "data_type", format!("`data_type` of `cast_value`: {error}"));
    });
    let read = read.ok()?;
    members.diagnostics.extend(read.notes.into_iter().map(|note| note.at_pointer(pointer.as_str())));
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

fn bind_cast_value(to: &mut Binding<'_>) -> Option<Made> {
    let members = &mut to.members;
    let data_type = members.get("data_type").and_then(|json| target(members, json));
    let rounding = members.choice("rounding", &ROUNDINGS, Rounding::default());
    let out_of_range = members.choice("out_of_range", &OUT_OF_RANGE, OutOfRange::Error);
    if out_of_range == Some(OutOfRange::Wrap) && data_type.is_some_and(NumberType::is_float) {
        let message = "`out_of_range` of `cast_value` is \"wrap\", which only an integer `data_type` may have";
        members.report(code::CAST_VALUE_WRAP, "out_of_range", message);
    }
    let decoded = to.array.and_then(|_| to.real_number(code::CAST_VALUE_DATA_TYPE, "`cast_value` casts from"));
    let [encode, decode] = read_map(&mut to.members, decoded, data_type);
    // All members are read by now, so that each of their faults is reported.
    if to.members.diagnostics.iter().any(|found| Profile::Read.forbids(found)) {
        return None;
    }
    let (decoded, encoded, rounding, out_of_range) = (decoded?, data_type?, rounding?, out_of_range?);
    let options = CastOptions { source: decoded, target: encoded, rounding, out_of_range, scalar_map: encode };
    let back = CastOptions { source: encoded, target: decoded, rounding, out_of_range, scalar_map: decode };
    let mut directions = [("encodes", decoded, encoded), ("decodes", encoded, decoded)].into_iter();
    if let Some((direction, integer, float)) = directions.find(|(_, from, into)| is_lossy(*from, *into)) {
        let lost = "which cannot represent all of its values";
        to.report(code::CAST_VALUE_LOSSY, format!("`cast_value` {direction} `{integer}` as `{float}`, {lost}"));
    }
    let (encode, decode) = (Cast::new(options), Cast::new(back));
    let codes = [code::CAST_VALUE_FILL_VALUE, code::CAST_VALUE_FILL_VALUE_LOST];
    let (forward, back) = (|bits| encode.convert_one(bits), |bits| decode.convert_one(bits));
    let fill_value = encoded_fill_value(to, "cast_value", (decoded, encoded), codes, forward, back);
    let data_type = DataType::Number(encoded);
    let output = ArrayRepresentation { data_type, shape: to.array?.shape.clone(), fill_value };
    Some(Made::to_array(CastValue { encode, decode }, output))
}

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

    /// Estimates memory that grows with the document, although it is no buffer: each map entry in its table, and as
    /// read.
    fn context_bytes(&self, _: u64) -> u64 {
        const ENTRY: u64 = 384;
        let [encode, decode] = [&self.encode, &self.decode].map(|cast| cast.options.scalar_map.len() as u64);
        (encode + decode).saturating_mul(ENTRY)
    }

    fn effect(&self) -> Effect<'_> {
        Effect::Cast { encode: &self.encode, decode: &self.decode }
    }

    fn written(&self) -> Option<CodecMetadata> {
        Some(cast_value_metadata(&self.encode.options, &self.decode.options))
    }

    fn to_nearest(&self) -> Option<Arc<dyn Coder>> {
        if self.encode.options.rounding.is_to_nearest() {
            return None;
        }
        let options = CastOptions { rounding: Rounding::default(), ..self.encode.options.clone() };
        // Decoding keeps its rounding, because that determines the values of the stored codes.
        Some(Arc::new(CastValue { encode: Cast::new(options), ..self.clone() }))
    }
}

/// Returns the metadata of the casts of encoding and decoding. `rounding` (if not nearest-even), `out_of_range` and
/// `scalar_map` are written only if needed, without repeated keys.
pub fn cast_value_metadata(encode: &CastOptions, decode: &CastOptions) -> CodecMetadata {
    let mut configuration = Object::new().with("data_type", DataType::Number(encode.target).to_metadata());
    // The first is the default.
    if let Some((name, _)) = ROUNDINGS[1..].iter().find(|entry| entry.1 == encode.rounding) {
        configuration.insert("rounding", *name);
    }
    if let Some((name, _)) = OUT_OF_RANGE.iter().find(|entry| entry.1 == encode.out_of_range) {
        configuration.insert("out_of_range", *name);
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

/// Returns true if a float type lacks values of an integer type: those beyond its significand, or beyond its range.
pub fn is_lossy(source: NumberType, target: NumberType) -> bool {
    let (Some((_, greatest)), Some(format)) = (source.integer_bounds(), target.float_format()) else {
        return false;
    };
    // Only small floats have more precision than range, and one of them has no zero.
    let is_beyond = |float: &SmallFloat| {
        #[expect(clippy::cast_precision_loss, reason = "rounding the greatest integer leaves it beyond their range")]
        let greatest = greatest as f64;
        format.is_unsigned() || float.to_f64(format.greatest()).is_some_and(|bound| greatest > bound)
    };
    greatest >= 1_i128 << (format.fraction_bits + 1) || target.small_float().is_some_and(is_beyond)
}

/// Reads `encode` and `decode` for a type before and a type after the codec.
fn read_map(
    members: &mut ConfigurationReader<'_>,
    decoded: Option<NumberType>,
    encoded: Option<NumberType>,
) -> [Vec<(u64, u64)>; 2] {
    let Some(json) = members.get("scalar_map") else { return Default::default() };
    let object = json.as_object();
    let object = object.or_else(|| members.unexpected(code::CONFIGURATION_TYPE, "scalar_map", "an object", json));
    let mut map = ConfigurationReader::new("scalar_map", object, members.pointer_to("scalar_map"), OF_SCALAR_MAP);
    let lists = [("encode", [decoded, encoded]), ("decode", [encoded, decoded])];
    let lists = lists.map(|(name, types)| read_list(&mut map, name, types));
    members.diagnostics.append(&mut map.diagnostics);
    lists
}

/// Reads a list of entries, and keeps the first of each key. An entry with a fault, or with a side of unknown type, is
/// left out.
fn read_list(
    map: &mut ConfigurationReader<'_>,
    name: &str,
    [source, target]: [Option<NumberType>; 2],
) -> Vec<(u64, u64)> {
    let Some(json) = map.get(name) else { return Vec::new() };
    let list = json.as_array().or_else(|| map.unexpected(code::CONFIGURATION_TYPE, name, "an array of pairs", json));
    let (mut pairs, mut keys) = (Vec::new(), HashSet::new());
    for (index, json) in list.unwrap_or_default().iter().enumerate() {
        let (pointer, what) =
            (format!("{}/{index}", map.pointer_to(name)), format!("entry {index} of `scalar_map.{name}`"));
        let Some([key, value]) = json.as_array() else {
            let found = json.as_array().map_or_else(|| shown(json), |pair| format!("{} values", pair.len()));
            if map.diagnostics.len() < MOST_ERRORS {
                let message = format!("{what}: expected a key and a value, found {found}");
                map.diagnostics.add(code::CAST_VALUE_SCALAR, pointer, message);
            }
            continue;
        };
        let Ok(key) = side(source, key, &what, &pointer, &mut map.diagnostics) else { continue };
        let Ok(value) = side(target, value, &what, &pointer, &mut map.diagnostics) else { continue };
        let Some((key, value)) = key.zip(value) else { continue };
        // Only equal bits repeat a key. An entry for 0.0 and one for -0.0 are both used.
        if keys.insert(key) {
            pairs.push((key, value));
        } else if map.diagnostics.len() < MAX_FAULTS {
            let message = format!("{what} repeats a key; the first entry counts");
            let help = "remove it: zarr-python takes the last entry of a key";
            map.diagnostics.advise(code::CAST_VALUE_SCALAR_REPEATED, pointer, message, help);
        }
    }
    pairs
}

/// The limit of errors is higher than that of warnings, so that many warnings hide no error.
const MOST_ERRORS: usize = 2 * MAX_FAULTS;

/// Reads one side of an entry: `None` if its type is not known. An error has been reported.
fn side(
    number_type: Option<NumberType>,
    json: &Json,
    what: &str,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<u64>, ()> {
    let Some(number_type) = number_type else { return Ok(None) };
    let read = value_from_json(number_type, json);
    let limit = if read.is_ok() { MAX_FAULTS } else { MOST_ERRORS };
    if diagnostics.len() < limit {
        scalar((code::CAST_VALUE_SCALAR, what), read, pointer, diagnostics).map(Some).ok_or(())
    } else {
        read.map(|read| Some(read.value)).map_err(drop)
    }
}

/// Returns the fill value after the codec `name`, which changes numbers. It is encoded like an element, and must decode
/// to the same bits (SEMANTICS: A1.8, A2.11, B17, B18). Otherwise a missing chunk would read differently from a stored
/// one.
///
/// `None` if there is none, or if it cannot be encoded. The two codes
/// are those of a value that cannot be encoded, and of one that does not decode to the same bits.
fn encoded_fill_value(
    to: &mut Binding<'_>,
    name: &str,
    (source, target): (NumberType, NumberType),
    [refused, lost]: [Code; 2],
    encode: impl Fn(u64) -> Result<u64, FaultKind>,
    decode: impl Fn(u64) -> Result<u64, FaultKind>,
) -> Option<FillValue> {
    let text = |number_type, bits| value_to_json(number_type, bits).to_string();
    let bits = element_bits(&to.array?.fill_value.as_ref()?.0);
    let fill = text(source, bits);
    let encoded = match encode(bits) {
        Ok(encoded) => encoded,
        Err(kind) => {
            let (fault, types) = (ElementFault { kind, index: 0 }, Some((source, target)));
            let reason = CodecError::Element { fault, position: None, bits, types };
            let message = format!("`{name}` cannot encode the fill value {fill} ({source}): {reason}");
            let help = "choose a fill value that the codec can encode, or map it in `scalar_map`";
            to.push(Diagnostic::new(refused, message).with_help(help));
            return None;
        }
    };
    let decoded = decode(encoded);
    if decoded != Ok(bits) {
        let back = decoded.map_or_else(|_| "an error".to_owned(), |bits| text(source, bits));
        let between = text(target, encoded);
        let message = format!(
            "the fill value {fill} does not survive `{name}`: it is encoded as {between} and decoded as {back}"
        );
        let help = "a missing chunk would read differently from a stored one; choose a fill value that is decoded \
                    bit for bit, or accept it with --no-fill-check";
        to.push(Diagnostic::new(lost, message).with_help(help));
    }
    Some(FillValue::from_bits(target, encoded))
}

/// Returns the bits of a scalar. Its notes, or the error, are added to `diagnostics`.
fn scalar(
    (code, what): (Code, &str),
    read: Result<Read<u64>, FillValueError>,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<u64> {
    match read {
        Ok(Read { value, notes }) => {
            diagnostics.extend(notes.into_iter().map(|note| note.at_pointer(pointer)));
            Some(value)
        }
        Err(error) => {
            diagnostics.add(code, pointer, format!("{what}: {error}"));
            None
        }
    }
}

//! `cast_value`: the type of the encoded values, and the treatment of values that it does not have.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value>
//!
//! Each entry of `scalar_map` has a side of type `data_type`, which is read at once. The other side is read when the
//! codec is bound to its input. The first entry of a repeated key is used.

use std::collections::HashSet;
use std::sync::Arc;

use super::array::{ArrayKind, Binding, BoundArray, Effect, cast, encoded_fill_value, scalar};
use super::error::CodecError;
use super::members::{ConfigurationReader, Member, MemberType, shown};
use super::{ArrayRepresentation, Coder, Output};
use crate::data_type::{DataType, meant_types, value_from_json, value_to_json};
use crate::diagnostic::spelling::alternatives;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{NumberType, SmallFloat};
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::extension::{CodecMetadata, Findings, MAX_FAULTS};
use crate::metadata::json::{Json, Object};

/// `cast_value`, which v2 does not have.
pub(crate) static CAST_VALUE: ArrayKind = ArrayKind { output_unbound, ..ArrayKind::new(|_| MEMBERS, bind) };

pub(crate) const ROUNDINGS: [(&str, Rounding); 5] = [
    ("nearest-even", Rounding::NearestEven),
    ("towards-zero", Rounding::TowardsZero),
    ("towards-positive", Rounding::TowardsPositive),
    ("towards-negative", Rounding::TowardsNegative),
    ("nearest-away", Rounding::NearestAway),
];
pub(crate) const OUT_OF_RANGE: [(&str, OutOfRange); 2] = [("clamp", OutOfRange::Clamp), ("wrap", OutOfRange::Wrap)];

const MEMBERS: &[Member] = &[
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

/// Returns the warning that values are lost, if one type is a float without some integers of the other.
fn lossy_diagnostic(decoded: NumberType, encoded: NumberType) -> Option<Diagnostic> {
    let (direction, integer, float) = if is_lossy(decoded, encoded) {
        ("encodes", decoded, encoded)
    } else if is_lossy(encoded, decoded) {
        ("decodes", encoded, decoded)
    } else {
        return None;
    };
    let message =
        format!("`cast_value` {direction} `{integer}` as `{float}`, which cannot represent all of its values");
    Some(Diagnostic::new(code::CAST_VALUE_LOSSY, message))
}

fn bind(to: &mut Binding<'_>) -> Option<BoundArray> {
    let members = &mut to.members;
    let data_type = members.get("data_type").and_then(|json| target(members, json));
    let rounding = members.choice("rounding", &ROUNDINGS, Rounding::default());
    let mut out_of_range = members.choice("out_of_range", &OUT_OF_RANGE, OutOfRange::Error);
    if out_of_range == Some(OutOfRange::Wrap) && data_type.is_some_and(NumberType::is_float) {
        let message = "`out_of_range` of `cast_value` is \"wrap\", which only an integer `data_type` may have";
        members.report(code::CAST_VALUE_WRAP, "out_of_range", message);
        out_of_range = None;
    }
    let [encode, decode] = read_map(members, data_type);
    // All members are read by now, so that each of their faults is reported.
    let encoded = data_type?;
    let array = to.array()?;
    let decoded = to.real_number(code::CAST_VALUE_DATA_TYPE, "`cast_value` casts from")?;
    let encode = bind_map(("encode", &encode), decoded, &mut to.members);
    let decode = bind_map(("decode", &decode), decoded, &mut to.members);
    let (rounding, out_of_range) = (rounding?, out_of_range?);
    let options = CastOptions { source: decoded, target: encoded, rounding, out_of_range, scalar_map: encode? };
    let back = CastOptions { source: encoded, target: decoded, rounding, out_of_range, scalar_map: decode? };
    if let Some(found) = lossy_diagnostic(decoded, encoded) {
        to.push(found);
    }
    let (encode, decode) = (Cast::new(options), Cast::new(back));
    let codes = [code::CAST_VALUE_FILL_VALUE, code::CAST_VALUE_FILL_VALUE_LOST];
    let (forward, back) = (|bits| encode.convert_one(bits), |bits| decode.convert_one(bits));
    let fill_value = encoded_fill_value(to, "cast_value", (decoded, encoded), codes, forward, back);
    let data_type = DataType::Number(encoded);
    let output = ArrayRepresentation { data_type, shape: array.shape.clone(), fill_value };
    Some(BoundArray::to_array(CastValue { encode, decode }, output))
}

fn output_unbound(codec: &CodecMetadata, array: &ArrayRepresentation) -> Option<ArrayRepresentation> {
    let data_type = DataType::from_metadata(codec.member("data_type")?).ok()?;
    Some(ArrayRepresentation { data_type, shape: array.shape.clone(), fill_value: None })
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
        let [encode, decode] = [&self.encode, &self.decode].map(|cast| cast.options().scalar_map.len() as u64);
        (encode + decode).saturating_mul(ENTRY)
    }

    fn effect(&self) -> Effect<'_> {
        Effect::Cast { encode: &self.encode, decode: &self.decode }
    }

    fn written(&self) -> Option<CodecMetadata> {
        Some(to_metadata(self.encode.options(), self.decode.options()))
    }

    fn to_nearest(&self) -> Option<Arc<dyn Coder>> {
        if self.encode.options().rounding.is_to_nearest() {
            return None;
        }
        let options = CastOptions { rounding: Rounding::default(), ..self.encode.options().clone() };
        // Decoding keeps its rounding, because that determines the values of the stored codes.
        Some(Arc::new(CastValue { encode: Cast::new(options), ..self.clone() }))
    }
}

/// Returns the metadata of the casts of encoding and decoding. `rounding` (if not nearest-even), `out_of_range` and
/// `scalar_map` are written only if needed, without repeated keys.
pub fn to_metadata(encode: &CastOptions, decode: &CastOptions) -> CodecMetadata {
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
    let is_beyond = |float: SmallFloat| {
        #[expect(clippy::cast_precision_loss, reason = "rounding the greatest integer leaves it beyond their range")]
        let greatest = greatest as f64;
        format.is_unsigned() || float.to_f64(format.greatest()).is_some_and(|bound| greatest > bound)
    };
    greatest >= 1_i128 << (format.fraction_bits + 1) || target.small_float().is_some_and(is_beyond)
}

/// The limit of errors is higher than that of warnings, so that many warnings hide no error.
const MOST_ERRORS: usize = 2 * MAX_FAULTS;

/// An entry whose side of type `data_type` has been read.
struct MapEntry<'a> {
    /// Its position in the list.
    index: usize,
    /// The bits of the side that has been read.
    bits: u64,
    /// The side whose type is not known yet.
    unread: &'a Json,
}

/// Reads `encode` and `decode`. Invalid entries are left out.
fn read_map<'a>(members: &mut ConfigurationReader<'a>, target: Option<NumberType>) -> [Vec<MapEntry<'a>>; 2] {
    let Some(json) = members.get("scalar_map") else { return Default::default() };
    let object = json.as_object();
    let object = object.or_else(|| members.unexpected(code::CONFIGURATION_TYPE, "scalar_map", "an object", json));
    let mut map = ConfigurationReader::new("scalar_map", object, members.pointer_to("scalar_map"), OF_SCALAR_MAP);
    let lists = ["encode", "decode"].map(|name| read_list(&mut map, name, target));
    members.diagnostics.append(&mut map.diagnostics);
    lists
}

fn read_list<'a>(map: &mut ConfigurationReader<'a>, name: &str, target: Option<NumberType>) -> Vec<MapEntry<'a>> {
    let Some(json) = map.get(name) else { return Vec::new() };
    let list = json.as_array().or_else(|| map.unexpected(code::CONFIGURATION_TYPE, name, "an array of pairs", json));
    let mut entries = Vec::new();
    for (index, json) in list.unwrap_or_default().iter().enumerate() {
        let (pointer, what) = (format!("{}/{index}", map.pointer_to(name)), what(name, index));
        let Some([key, value]) = json.as_array() else {
            let found = json.as_array().map_or_else(|| shown(json), |pair| format!("{} values", pair.len()));
            let message = format!("{what}: expected a key and a value, found {found}");
            if map.diagnostics.len() < MOST_ERRORS {
                map.diagnostics.add(code::CAST_VALUE_SCALAR, pointer, message);
            }
            continue;
        };
        let (read, unread) = if name == "encode" { (value, key) } else { (key, value) };
        let Some(target) = target else { continue };
        if let Some(bits) = side((target, read), &what, &pointer, (0, &mut map.diagnostics)) {
            entries.push(MapEntry { index, bits, unread });
        }
    }
    entries
}

/// Returns the name of an entry for messages.
fn what(name: &str, index: usize) -> String {
    format!("entry {index} of `scalar_map.{name}`")
}

/// Reads the other side of each entry of a list, and keeps the first entry of each key. `None` if a side is not a value
/// of `decoded`.
fn bind_map(
    (name, entries): (&str, &[MapEntry<'_>]),
    decoded: NumberType,
    members: &mut ConfigurationReader<'_>,
) -> Option<Vec<(u64, u64)>> {
    let pointer = members.pointer_to("scalar_map");
    let pointer_to = |index| format!("{pointer}/{name}/{index}");
    let diagnostics = &mut members.diagnostics;
    let before = diagnostics.len();
    let mut read = Vec::with_capacity(entries.len());
    for MapEntry { index, bits, unread } in entries {
        let rest = side((decoded, unread), &what(name, *index), &pointer_to(*index), (before, diagnostics));
        let pair = rest.map(|rest| if name == "encode" { (rest, *bits) } else { (*bits, rest) });
        read.extend(pair.map(|pair| (*index, pair)));
    }
    if read.len() < entries.len() {
        return None;
    }
    let before = diagnostics.len();
    // Only equal bits repeat a key. An entry for 0.0 and one for -0.0 are both used.
    let mut seen = HashSet::new();
    read.retain(|(index, (key, _))| {
        let is_first = seen.insert(*key);
        if !is_first && diagnostics.len() - before < MAX_FAULTS {
            let message = format!("{} repeats a key; the first entry counts", what(name, *index));
            let help = "remove it: zarr-python takes the last entry of a key";
            diagnostics.advise(code::CAST_VALUE_SCALAR_REPEATED, pointer_to(*index), message, help);
        }
        is_first
    });
    Some(read.into_iter().map(|(_, pair)| pair).collect())
}

/// Reads one side of an entry. `None` after an error if it is not a value. The findings after the first `before` are
/// limited to a readable number. If there is any error, one is always among them.
fn side(
    (number_type, json): (NumberType, &Json),
    what: &str,
    pointer: &str,
    (before, diagnostics): (usize, &mut Vec<Diagnostic>),
) -> Option<u64> {
    let read = value_from_json(number_type, json);
    let limit = before + if read.is_ok() { MAX_FAULTS } else { MOST_ERRORS };
    if diagnostics.len() < limit {
        scalar((code::CAST_VALUE_SCALAR, what), read, pointer, diagnostics)
    } else {
        read.ok().map(|read| read.value)
    }
}

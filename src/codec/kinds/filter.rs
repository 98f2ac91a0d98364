//! The filters of numcodecs from one type of numbers to another, and the byte order of their input in v2. Also
//! `numcodecs.packbits`, which packs eight booleans of a row into a byte. The registry's `packbits` is another codec.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/>

use super::error::CodecError;
use super::members::{Member, MemberType, numpy_data_type};
use super::{
    ArrayRepresentation, Binding, Coder, Effect, Kind, Made, Output, Representation, convert, copy, copy_swapped,
    unsupported, zeroed,
};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::grid::num_elements;
use crate::kernel::keep_bits::BitRound;
use crate::kernel::numcodecs::{
    ElementFilter, GREATEST_DIGITS, LEAST_DIGITS, NumpyType, PythonNumber, as_type, delta, fixed_scale_offset, quantize,
};
use crate::metadata::extension::{CodecMetadata, View};
use crate::metadata::json::Json;

pub(crate) static ASTYPE: Kind = Kind::new(
    |_| const { &[Member::required("encode_dtype", MemberType::DataType), data_type("decode_dtype")] },
    bind_filter,
);

pub(crate) static DELTA: Kind =
    Kind::new(|_| const { &[Member::required("dtype", MemberType::DataType), data_type("astype")] }, bind_filter);

pub(crate) static FIXED_SCALE_OFFSET: Kind =
    Kind::new(|_| const { &[number("offset"), number("scale"), data_type("dtype"), data_type("astype")] }, bind_filter);

pub(crate) static QUANTIZE: Kind =
    Kind::new(|_| const { &[DIGITS, data_type("dtype"), data_type("astype")] }, bind_filter);

const DIGITS: Member = Member::required("digits", MemberType::Integer(LEAST_DIGITS as i64, GREATEST_DIGITS as i64));

/// Makes a member that is a data type, and may be absent.
const fn data_type(name: &'static str) -> Member {
    Member::optional(name, MemberType::DataType)
}

const fn number(name: &'static str) -> Member {
    Member::required(name, MemberType::Number)
}

fn bind_filter(to: &mut Binding<'_>) -> Option<Made> {
    let (array, codec) = (to.array?, to.codec);
    let member = |names: [&str; 2]| names.iter().find_map(|name| numpy_data_type(to.members.get(name)?.as_str()?));
    let (name, data_type) = (codec.name.as_str(), &array.data_type);
    let decoded = member(["dtype", "decode_dtype"]).unwrap_or_else(|| data_type.clone());
    let encoded = member(["astype", "encode_dtype"]).unwrap_or_else(|| decoded.clone());
    let is_time = matches!(data_type, DataType::Time(_));
    let is_viewed = codec.view.is_some() && decoded.size() == data_type.size();
    let is_alike = decoded == *data_type || (is_time && numpy_type(&decoded) == numpy_type(data_type));
    let fault = |message: String| Diagnostic::new(code::CODEC_DATA_TYPE, format!("`{name}` {message}"));
    if !is_alike && !is_viewed {
        return to.refuse(code::CODEC_DATA_TYPE, format!("`{name}` is made for `{decoded}`"));
    }
    let (Some(from), Some(into)) = (numpy_type(&decoded), numpy_type(&encoded)) else {
        if !matches!(decoded, DataType::Complex(_)) || decoded.is_small_float() {
            to.push(fault(format!("takes numbers, but its input is `{decoded}`")));
            return None;
        }
        to.push(unsupported(name, &decoded));
        let output = Some(Representation::Array(output(array, encoded)));
        return Some(Made { codec: None, output });
    };
    let is_swapped = codec.view == Some(View::Swapped);
    let swap = decoded.size().filter(|size| is_swapped && *size > 1);
    let arithmetic = arithmetic(to, (from, into)).map_err(|expected| {
        to.push(fault(format!("takes {expected}, but goes from `{decoded}` to `{encoded}`")));
    });
    Some(Made::to_array(Filter { arithmetic: arithmetic.ok()?, swap }, output(array, encoded)))
}

/// Returns the array after a filter. Its fill value is not followed.
fn output(array: &ArrayRepresentation, data_type: DataType) -> ArrayRepresentation {
    ArrayRepresentation { data_type, shape: array.shape.clone(), fill_value: None }
}

/// Returns a type as numpy calculates with it. Times are integers.
fn numpy_type(data_type: &DataType) -> Option<NumpyType> {
    match data_type.stored_components() {
        None if *data_type == DataType::Bool => Some(NumpyType::Bool),
        Some((number, 1)) if number.is_whole() && !data_type.is_small_float() => Some(NumpyType::Number(number)),
        _ => None,
    }
}

/// Returns the arithmetic of the codec between two types. The error names the types that it supports.
fn arithmetic(to: &Binding<'_>, types: (NumpyType, NumpyType)) -> Result<ElementFilter, &'static str> {
    let number = |name: &str| to.members.get(name).and_then(python_number);
    match (to.codec.name.as_str(), types) {
        ("numcodecs.astype", (decoded, encoded)) => Ok(as_type(decoded, encoded)),
        (name, (NumpyType::Number(decoded), NumpyType::Number(encoded))) => {
            Ok(match (name, number("offset"), number("scale")) {
                ("numcodecs.delta", ..) => delta(decoded, encoded),
                (_, Some(offset), Some(scale)) => fixed_scale_offset((decoded, encoded), offset, scale),
                _ if !decoded.is_float() || !encoded.is_float() => return Err("real floats"),
                _ => quantize((decoded, encoded), to.members.integer_value("digits")),
            })
        }
        _ => Err("numbers"),
    }
}

#[derive(Debug)]
struct Filter {
    arithmetic: ElementFilter,
    /// The bytes of an element, if they are swapped before the filter.
    swap: Option<usize>,
}

impl Coder for Filter {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let types = self.arithmetic.types;
        let encode = |decoded: &[u8], encoded: &mut [u8]| self.arithmetic.encode(decoded, encoded);
        match self.swap {
            None => convert(types, decoded, out.bytes, encode),
            swap => out.contexts.with(|swapped: &mut Vec<u8>| {
                copy_swapped(decoded, swapped, swap)?;
                convert(types, swapped, out.bytes, encode)
            }),
        }
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let (to, from) = self.arithmetic.types;
        convert((from, to), encoded, out.bytes, |encoded, decoded| self.arithmetic.decode(encoded, decoded))?;
        if let Some(width) = self.swap {
            out.bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        Ok(())
    }

    fn context_bytes(&self, decoded: u64) -> u64 {
        self.swap.map_or(0, |_| decoded)
    }

    fn effect(&self) -> Effect<'_> {
        let Filter { arithmetic: filter, swap } = self;
        if filter.is_delta { Effect::Delta(filter) } else { Effect::Filter { filter, swap: *swap } }
    }
}

/// Reads a number as Python does: `10` is an integer, `10.0` and `1e1` are floats.
fn python_number(json: &Json) -> Option<PythonNumber> {
    let integer = json.as_number()?.is_integer_literal().then(|| json.as_i128()).flatten();
    let float = || json.as_number().map(|number| PythonNumber::Float(number.as_f64()));
    integer.map(PythonNumber::Integer).or_else(float)
}

/// `numcodecs.packbits`. Its numpy types are fixed, so that v2 does not contain them.
pub(crate) static PACK_BOOLEANS: Kind = Kind { v2_types: Some(("|b1", "|u1")), ..Kind::new(|_| &[], bind_booleans) };

fn bind_booleans(to: &mut Binding<'_>) -> Option<Made> {
    let array = to.array?;
    let data_type = &array.data_type;
    // numcodecs views bytes as booleans.
    if *data_type != DataType::Bool && !(to.codec.view.is_some() && data_type.size() == Some(1)) {
        return to.refuse(code::CODEC_DATA_TYPE, "`numcodecs.packbits` takes bool");
    }
    let count = num_elements(&array.shape)?;
    let output = ArrayRepresentation {
        data_type: DataType::Number(NumberType::of(ElementType::UInt8)),
        shape: vec![count.div_ceil(8) + 1],
        fill_value: None,
    };
    let count = usize::try_from(count).ok()?;
    Some(Made::to_array(PackBooleans { count }, output))
}

/// `numcodecs.packbits` of `count` booleans. The first byte is the number of padding bits in the last byte. Then each
/// boolean is one bit, the most significant first. Any byte other than 0 is true.
#[derive(Debug)]
struct PackBooleans {
    count: usize,
}

/// Returns the number of padding bits in the last byte of `count` booleans.
fn padding(count: usize) -> u8 {
    u8::try_from(count.next_multiple_of(8) - count).unwrap_or(0)
}

impl Coder for PackBooleans {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        zeroed(out.bytes, decoded.len().div_ceil(8) + 1)?;
        out.bytes[0] = padding(decoded.len());
        for (booleans, byte) in decoded.chunks(8).zip(&mut out.bytes[1..]) {
            let bits = booleans.iter().zip(0..).map(|(boolean, bit)| u8::from(*boolean != 0) << (7 - bit));
            *byte = bits.fold(0, |byte, bit| byte | bit);
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let (expected, found) = (padding(self.count), encoded.first().copied().unwrap_or(0));
        if expected != found {
            let message = format!("expected a first byte of {expected}, the bits of padding, found {found}");
            return Err(CodecError::Bytes(message));
        }
        zeroed(out.bytes, self.count)?;
        for (booleans, byte) in out.bytes.chunks_mut(8).zip(encoded.get(1..).unwrap_or_default()) {
            for (boolean, bit) in booleans.iter_mut().zip(0..) {
                *boolean = (byte >> (7 - bit)) & 1;
            }
        }
        Ok(())
    }

    fn effect(&self) -> Effect<'_> {
        Effect::Packs
    }
}

// `bitround`: keeps a number of leading bits.
//
// Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/bitround>

/// `bitround` and `numcodecs.bitround`. v2 has it only for floats.
pub(crate) static BITROUND: Kind = Kind {
    v2_id: |data_type| data_type.number().is_some_and(NumberType::is_float).then_some("bitround"),
    ..Kind::new(bitround_members, bind_bitround)
};

/// Returns the members. numcodecs accepts 0 as well.
fn bitround_members(codec: &CodecMetadata) -> &'static [Member] {
    const OF_NUMCODECS: &[Member] = &[Member::required("keepbits", MemberType::Integer(0, 64))];
    const OF_V3: &[Member] = &[Member::required("keepbits", MemberType::Integer(1, 64))];
    if codec.name == "numcodecs.bitround" { OF_NUMCODECS } else { OF_V3 }
}

fn bind_bitround(to: &mut Binding<'_>) -> Option<Made> {
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
    Some(Made::to_array(bound, ArrayRepresentation { fill_value, ..array.clone() }))
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

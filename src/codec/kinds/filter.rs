//! The filters of numcodecs that go from one type of numbers to another, and the byte order in which v2 gives them an
//! element.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/>

use std::sync::Arc;

use super::array::{
    ArrayConfiguration, ArrayKind, Binding, BoundArray, Role, copy_swapped, unsupported, zeroed,
};
use super::contexts::Scratch;
use super::error::CodecError;
use super::member::{Absent, Form, Member, numpy_data_type};
use super::members::Members;
use super::{ArrayRepresentation, Coder, Output, Representation};
use crate::data_type::DataType;
use crate::diagnostic::code;
use crate::element::{ElementType, NumberType};
use crate::kernel::ElementFault;
use crate::kernel::numcodecs::{
    Delta, ElementFilter, GREATEST_DIGITS, LEAST_DIGITS, NumpyType, PythonNumber, as_type,
    fixed_scale_offset, quantize,
};
use crate::metadata::extension::{CodecMetadata, View};
use crate::metadata::json::Json;

/// `numcodecs.astype`, `numcodecs.delta`, `numcodecs.fixedscaleoffset` and `numcodecs.quantize`.
pub(crate) static FILTER: ArrayKind = ArrayKind::new::<FilterConfiguration>();

/// A member that is a data type, and may be absent.
const fn data_type(name: &'static str) -> Member {
    Member::new(name, Form::DataType, Absent::Nothing)
}

const OF_ASTYPE: &[Member] = &[Member::required("encode_dtype", Form::DataType), data_type("decode_dtype")];
const OF_DELTA: &[Member] = &[Member::required("dtype", Form::DataType), data_type("astype")];
const OF_FIXED_SCALE_OFFSET: &[Member] = &[
    Member::required("offset", Form::Number),
    Member::required("scale", Form::Number),
    data_type("dtype"),
    data_type("astype"),
];
const OF_QUANTIZE: &[Member] = &[
    Member::required("digits", Form::Integer(LEAST_DIGITS as i64, GREATEST_DIGITS as i64)),
    data_type("dtype"),
    data_type("astype"),
];

/// The configuration of a filter; it has the members of its own table.
struct FilterConfiguration {
    /// `dtype`, or `decode_dtype`.
    decoded: Option<DataType>,
    /// `astype`, or `encode_dtype`.
    encoded: Option<DataType>,
    offset: Option<PythonNumber>,
    scale: Option<PythonNumber>,
    digits: i32,
}

impl ArrayConfiguration for FilterConfiguration {
    fn members(codec: &CodecMetadata) -> &'static [Member] {
        match codec.name.as_str() {
            "numcodecs.astype" => OF_ASTYPE,
            "numcodecs.delta" => OF_DELTA,
            "numcodecs.fixedscaleoffset" => OF_FIXED_SCALE_OFFSET,
            _ => OF_QUANTIZE,
        }
    }

    fn read(members: &mut Members<'_>) -> Option<Self> {
        let data_type = |name: &str| members.get(name).and_then(|json| numpy_data_type(json.as_str()?));
        Some(FilterConfiguration {
            decoded: data_type("dtype").or_else(|| data_type("decode_dtype")),
            encoded: data_type("astype").or_else(|| data_type("encode_dtype")),
            offset: members.get("offset").and_then(python_number),
            scale: members.get("scale").and_then(python_number),
            digits: members.integer_value("digits"),
        })
    }

    fn bind(self, to: &mut Binding<'_>) -> Option<BoundArray> {
        let (array, codec) = (to.array, to.codec);
        let (name, data_type) = (codec.name.as_str(), &array.data_type);
        let mut fault = |message: &str| to.report(code::CODEC_DATA_TYPE, format!("`{name}` {message}"));
        let decoded = self.decoded.clone().unwrap_or_else(|| data_type.clone());
        let is_time = matches!(data_type, DataType::Time(_));
        let is_viewed = codec.view.is_some() && decoded.size() == data_type.size();
        let is_alike = decoded == *data_type || (is_time && numpy_type(&decoded) == numpy_type(data_type));
        if !is_alike && !is_viewed {
            fault(&format!("is made for `{decoded}`, but `{data_type}` reaches it"));
            return None;
        }
        let encoded = self.encoded.clone().unwrap_or_else(|| decoded.clone());
        let (Some(from), Some(into)) = (numpy_type(&decoded), numpy_type(&encoded)) else {
            if !matches!(decoded, DataType::Complex(_)) || decoded.is_small_float() {
                fault(&format!("takes numbers, but `{decoded}` reaches it"));
                return None;
            }
            to.found.push(unsupported(name, &decoded, &codec.pointer));
            return Some(BoundArray { codec: None, output: Some(output(array, encoded)) });
        };
        let is_swapped = codec.view == Some(View::Swapped);
        let swap = decoded.size().filter(|size| is_swapped && *size > 1);
        match self.runs(name, (from, into), swap) {
            Ok(bound) => Some(BoundArray { codec: Some(bound), output: Some(output(array, encoded)) }),
            Err(expected) => {
                fault(&format!("takes {expected}, but goes from `{decoded}` to `{encoded}`"));
                None
            }
        }
    }
}

/// The array after a filter. What becomes of its fill value is not followed.
fn output(array: &ArrayRepresentation, data_type: DataType) -> Representation {
    Representation::Array(ArrayRepresentation { data_type, shape: array.shape.clone(), fill_value: None })
}

/// A type as numpy calculates with it; times are integers.
fn numpy_type(data_type: &DataType) -> Option<NumpyType> {
    match data_type {
        DataType::Bool => Some(NumpyType::Bool),
        DataType::Number(number) if number.is_whole() && !data_type.is_small_float() => {
            Some(NumpyType::Number(*number))
        }
        DataType::Time(_) => Some(NumpyType::Number(NumberType::of(ElementType::Int64))),
        _ => None,
    }
}

impl FilterConfiguration {
    /// The filter between two types, with the bytes of an element that are swapped before it. The error says what it takes.
    fn runs(
        &self,
        name: &str,
        types: (NumpyType, NumpyType),
        swap: Option<usize>,
    ) -> Result<Arc<dyn Coder>, &'static str> {
        let filter = match (name, types) {
            ("numcodecs.astype", (decoded, encoded)) => as_type(decoded, encoded),
            (_, (NumpyType::Number(decoded), NumpyType::Number(encoded))) => {
                match (name, self.offset, self.scale) {
                    ("numcodecs.delta", ..) => {
                        return Ok(Arc::new(BoundDelta { delta: Delta::new(decoded, encoded), swap }));
                    }
                    (_, Some(offset), Some(scale)) => fixed_scale_offset((decoded, encoded), offset, scale),
                    _ if !decoded.is_float() || !encoded.is_float() => return Err("real floats"),
                    _ => quantize((decoded, encoded), self.digits),
                }
            }
            _ => return Err("numbers"),
        };
        Ok(Arc::new(ByElement { filter, swap }))
    }
}

/// A filter that takes each element by itself.
#[derive(Debug)]
struct ByElement {
    /// The arithmetic.
    filter: ElementFilter,
    /// Bytes of an element that are swapped before it.
    swap: Option<usize>,
}

impl Coder for ByElement {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let filter = |source: &[u8], target: &mut [u8]| self.filter.encode(source, target);
        encode(self.filter.types(), self.swap, filter, decoded, out)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let filter = |source: &[u8], target: &mut [u8]| self.filter.decode(source, target);
        decode(self.filter.types(), self.swap, filter, encoded, out.bytes)
    }

    fn context_bytes(&self, decoded: u64) -> u64 {
        self.swap.map_or(0, |_| decoded)
    }

    fn role(&self) -> Role<'_> {
        Role::Filter { filter: &self.filter, swap: self.swap }
    }
}

/// Runs a filter forward, over elements whose bytes are swapped where v2 says so.
fn encode(
    (from, to): (NumberType, NumberType),
    swap: Option<usize>,
    filter: impl Fn(&[u8], &mut [u8]) -> Result<(), ElementFault>,
    decoded: &[u8],
    out: &mut Output<'_>,
) -> Result<(), CodecError> {
    zeroed(out.bytes, (decoded.len() / from.size()).saturating_mul(to.size()))?;
    let mut run = |decoded: &[u8]| {
        filter(decoded, out.bytes).map_err(|fault| CodecError::element(fault, Some((from, to)), decoded))
    };
    match swap {
        None => run(decoded),
        swap => out.contexts.with(|swapped: &mut Scratch| {
            copy_swapped(decoded, &mut swapped.0, swap)?;
            run(&swapped.0)
        }),
    }
}

/// Runs a filter backward, and undoes the swap.
fn decode(
    (to, from): (NumberType, NumberType),
    swap: Option<usize>,
    filter: impl Fn(&[u8], &mut [u8]) -> Result<(), ElementFault>,
    encoded: &[u8],
    decoded: &mut Vec<u8>,
) -> Result<(), CodecError> {
    zeroed(decoded, (encoded.len() / from.size()).saturating_mul(to.size()))?;
    filter(encoded, decoded).map_err(|fault| CodecError::element(fault, Some((from, to)), encoded))?;
    if let Some(width) = swap {
        decoded.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    Ok(())
}

/// `numcodecs.delta` of two types.
#[derive(Debug)]
struct BoundDelta {
    delta: Delta,
    /// Bytes of an element that are swapped before it.
    swap: Option<usize>,
}

impl Coder for BoundDelta {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let differences = |source: &[u8], target: &mut [u8]| self.delta.encode(source, target);
        encode(self.delta.types(), self.swap, differences, decoded, out)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let sums = |source: &[u8], target: &mut [u8]| self.delta.decode(source, target);
        decode(self.delta.types(), self.swap, sums, encoded, out.bytes)
    }

    fn context_bytes(&self, decoded: u64) -> u64 {
        self.swap.map_or(0, |_| decoded)
    }

    fn role(&self) -> Role<'_> {
        Role::Delta(&self.delta)
    }
}

/// Python reads `10` as an integer, `10.0` and `1e1` as floats.
fn python_number(json: &Json) -> Option<PythonNumber> {
    let integer = json.as_number()?.is_integer_literal().then(|| json.as_i128()).flatten();
    let float = || json.as_number().map(|number| PythonNumber::Float(number.as_f64()));
    integer.map(PythonNumber::Integer).or_else(float)
}

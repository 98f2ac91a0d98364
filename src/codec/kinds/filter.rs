//! The filters of numcodecs that go from one type of numbers to another, and the byte order in which v2 gives them an
//! element.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/>

use std::sync::Arc;

use super::array::{
    ArrayConfiguration, ArrayKind, Binding, BoundArray, Role, copy_swapped, unsupported, zeroed,
};
use super::error::CodecError;
use super::members::Members;
use super::numcodecs::{Absent, Form, Member, numpy_data_type};
use super::{ArrayRepresentation, Coder, Output, Representation};
use crate::data_type::DataType;
use crate::diagnostic::code;
use crate::element::{ElementType, NumberType};
use crate::kernel::ElementFault;
use crate::kernel::numcodecs::{
    Delta, ElementFilter, FilterOptions, GREATEST_DIGITS, LEAST_DIGITS, NumpyType, PythonNumber,
};
use crate::metadata::extension::{CodecMetadata, View};
use crate::metadata::json::Json;

/// One of these filters: what it has beside its types.
trait Filter: Sized {
    /// The name of the codec.
    const NAME: &'static str;
    /// The members of its configuration.
    const MEMBERS: &'static [Member];

    /// Reads a configuration that [`MEMBERS`](Self::MEMBERS) allow.
    fn read(members: &Members<'_>) -> Option<Self>;

    /// Binds it to the types before and after it, and the bytes of an element that are swapped before it. The error
    /// says what it takes.
    fn bound(&self, types: (NumpyType, NumpyType), swap: Option<usize>) -> Result<BoundFilter, &'static str>;
}

/// A filter that runs.
type BoundFilter = Arc<dyn Coder>;

/// A member that is a data type, and may be absent.
const fn data_type(name: &'static str) -> Member {
    Member::new(name, Form::DataType, Absent::Nothing)
}

/// The configuration of a filter.
struct FilterConfiguration<F> {
    filter: F,
    /// `dtype`, or `decode_dtype`.
    decoded: Option<DataType>,
    /// `astype`, or `encode_dtype`.
    encoded: Option<DataType>,
}

impl<F: Filter> ArrayConfiguration for FilterConfiguration<F> {
    fn members(_: &CodecMetadata) -> &'static [Member] {
        F::MEMBERS
    }

    fn read(members: &mut Members<'_>) -> Option<Self> {
        let data_type = |name: &str| members.get(name).and_then(|json| numpy_data_type(json.as_str()?));
        let decoded = data_type("dtype").or_else(|| data_type("decode_dtype"));
        let encoded = data_type("astype").or_else(|| data_type("encode_dtype"));
        F::read(members).map(|filter| FilterConfiguration { filter, decoded, encoded })
    }

    fn bind(self, to: &mut Binding<'_>) -> Option<BoundArray> {
        let (array, codec) = (to.array, to.codec);
        let data_type = &array.data_type;
        let mut fault = |message: &str| to.report(code::CODEC_DATA_TYPE, format!("`{}` {message}", F::NAME));
        let decoded = self.decoded.unwrap_or_else(|| data_type.clone());
        let is_time = matches!(data_type, DataType::Time(_));
        let is_viewed = codec.view.is_some() && decoded.size() == data_type.size();
        let is_alike = decoded == *data_type || (is_time && numpy_type(&decoded) == numpy_type(data_type));
        if !is_alike && !is_viewed {
            fault(&format!("is made for `{decoded}`, but `{data_type}` reaches it"));
            return None;
        }
        let encoded = self.encoded.unwrap_or_else(|| decoded.clone());
        let (Some(from), Some(into)) = (numpy_type(&decoded), numpy_type(&encoded)) else {
            if !matches!(decoded, DataType::Complex(_)) || decoded.is_small_float() {
                fault(&format!("takes numbers, but `{decoded}` reaches it"));
                return None;
            }
            to.found.push(unsupported(F::NAME, &decoded, &codec.pointer));
            return Some(BoundArray { codec: None, output: Some(output(array, encoded)) });
        };
        let is_swapped = codec.view == Some(View::Swapped);
        let swap = decoded.size().filter(|size| is_swapped && *size > 1);
        match self.filter.bound((from, into), swap) {
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

/// Both types of a filter that takes numbers alone.
fn numbers(types: (NumpyType, NumpyType)) -> Result<(NumberType, NumberType), &'static str> {
    match types {
        (NumpyType::Number(decoded), NumpyType::Number(encoded)) => Ok((decoded, encoded)),
        _ => Err("numbers"),
    }
}

/// A filter that takes each element by itself.
#[derive(Debug)]
struct ByElement {
    /// What it does to each.
    filter: ElementFilter,
    /// Bytes of an element that are swapped before it.
    swap: Option<usize>,
}

impl Coder for ByElement {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let filter = |source: &[u8], target: &mut [u8]| self.filter.encode(source, target);
        encode(self.filter.types(), self.swap, filter, decoded, out.bytes)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let filter = |source: &[u8], target: &mut [u8]| self.filter.decode(source, target);
        decode(self.filter.types(), self.swap, filter, encoded, out.bytes)
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
    encoded: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let mut swapped = Vec::new();
    let decoded = if swap.is_some() {
        copy_swapped(decoded, &mut swapped, swap)?;
        &swapped
    } else {
        decoded
    };
    zeroed(encoded, (decoded.len() / from.size()).saturating_mul(to.size()))?;
    filter(decoded, encoded).map_err(|fault| CodecError::element(fault, Some((from, to)), decoded))
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

/// `numcodecs.astype`.
pub(crate) static ASTYPE: ArrayKind = ArrayKind::new::<FilterConfiguration<AsType>>();

struct AsType;

impl Filter for AsType {
    const NAME: &'static str = "numcodecs.astype";
    const MEMBERS: &'static [Member] =
        &[Member::required("encode_dtype", Form::DataType), data_type("decode_dtype")];

    fn read(_: &Members<'_>) -> Option<Self> {
        Some(AsType)
    }

    fn bound(
        &self,
        (decoded, encoded): (NumpyType, NumpyType),
        swap: Option<usize>,
    ) -> Result<BoundFilter, &'static str> {
        let filter = ElementFilter::new(FilterOptions::AsType { decoded, encoded });
        Ok(Arc::new(ByElement { filter, swap }))
    }
}

/// `numcodecs.delta`.
pub(crate) static DELTA: ArrayKind = ArrayKind::new::<FilterConfiguration<Differences>>();

struct Differences;

impl Filter for Differences {
    const NAME: &'static str = "numcodecs.delta";
    const MEMBERS: &'static [Member] = &[Member::required("dtype", Form::DataType), data_type("astype")];

    fn read(_: &Members<'_>) -> Option<Self> {
        Some(Differences)
    }

    fn bound(&self, types: (NumpyType, NumpyType), swap: Option<usize>) -> Result<BoundFilter, &'static str> {
        let (decoded, encoded) = numbers(types)?;
        Ok(Arc::new(BoundDelta { delta: Delta::new(decoded, encoded), swap }))
    }
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
        encode(self.delta.types(), self.swap, differences, decoded, out.bytes)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let sums = |source: &[u8], target: &mut [u8]| self.delta.decode(source, target);
        decode(self.delta.types(), self.swap, sums, encoded, out.bytes)
    }

    fn role(&self) -> Role<'_> {
        Role::Delta(&self.delta)
    }
}

/// `numcodecs.fixedscaleoffset`.
pub(crate) static FIXED_SCALE_OFFSET: ArrayKind = ArrayKind::new::<FilterConfiguration<FixedScaleOffset>>();

struct FixedScaleOffset {
    offset: PythonNumber,
    scale: PythonNumber,
}

impl Filter for FixedScaleOffset {
    const NAME: &'static str = "numcodecs.fixedscaleoffset";
    const MEMBERS: &'static [Member] = &[
        Member::required("offset", Form::Number),
        Member::required("scale", Form::Number),
        data_type("dtype"),
        data_type("astype"),
    ];

    fn read(members: &Members<'_>) -> Option<Self> {
        let number = |name: &str| members.get(name).and_then(python_number);
        Some(FixedScaleOffset { offset: number("offset")?, scale: number("scale")? })
    }

    fn bound(&self, types: (NumpyType, NumpyType), swap: Option<usize>) -> Result<BoundFilter, &'static str> {
        let (decoded, encoded) = numbers(types)?;
        let FixedScaleOffset { offset, scale } = *self;
        let options = FilterOptions::FixedScaleOffset { decoded, encoded, offset, scale };
        Ok(Arc::new(ByElement { filter: ElementFilter::new(options), swap }))
    }
}

/// Python reads `10` as an integer, `10.0` and `1e1` as floats.
fn python_number(json: &Json) -> Option<PythonNumber> {
    let integer = json.as_number()?.is_integer_literal().then(|| json.as_i128()).flatten();
    let float = || json.as_number().map(|number| PythonNumber::Float(number.as_f64()));
    integer.map(PythonNumber::Integer).or_else(float)
}

/// `numcodecs.quantize`.
pub(crate) static QUANTIZE: ArrayKind = ArrayKind::new::<FilterConfiguration<Quantize>>();

struct Quantize {
    digits: i32,
}

impl Filter for Quantize {
    const NAME: &'static str = "numcodecs.quantize";
    const MEMBERS: &'static [Member] = &[
        Member::required("digits", Form::Integer(LEAST_DIGITS as i64, GREATEST_DIGITS as i64)),
        data_type("dtype"),
        data_type("astype"),
    ];

    fn read(members: &Members<'_>) -> Option<Self> {
        let digits = members.get("digits").and_then(Json::as_i128)?;
        Some(Quantize { digits: digits.try_into().ok()? })
    }

    fn bound(&self, types: (NumpyType, NumpyType), swap: Option<usize>) -> Result<BoundFilter, &'static str> {
        let (decoded, encoded) = numbers(types)?;
        if !decoded.is_float() || !encoded.is_float() {
            return Err("real floats");
        }
        let filter = ElementFilter::new(FilterOptions::Quantize { decoded, encoded, digits: self.digits });
        Ok(Arc::new(ByElement { filter, swap }))
    }
}

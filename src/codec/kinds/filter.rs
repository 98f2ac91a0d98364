//! What the filters of numcodecs share that go from one type of numbers to another: their types, and the byte order in
//! which v2 gives them an element.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/>

use super::array::{
    ArrayCodec, ArrayConfiguration, ArrayFault, BoundArray, Role, copy_swapped, unsupported, zeroed,
};
use super::members::Members;
use super::numcodecs::{Absent, Form, Member, check, names, numpy_data_type};
use super::{ArrayRepresentation, Parsed, Representation};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::kernel::ElementFault;
use crate::kernel::numcodecs::{ElementFilter, NumpyType};
use crate::metadata::extension::{CodecMetadata, View};

/// One of these filters: what it has beside its types.
pub(super) trait Filter: Sized {
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
pub(super) type BoundFilter = std::sync::Arc<dyn ArrayCodec>;

/// A member that is a data type, and may be absent.
pub(super) const fn data_type(name: &'static str) -> Member {
    Member::new(name, Form::DataType, Absent::Nothing)
}

/// The configuration of a filter.
pub(super) struct FilterConfiguration<F> {
    filter: F,
    /// `dtype`, or `decode_dtype`.
    decoded: Option<DataType>,
    /// `astype`, or `encode_dtype`.
    encoded: Option<DataType>,
}

impl<F: Filter> ArrayConfiguration for FilterConfiguration<F> {
    fn parse(codec: &CodecMetadata) -> Parsed<Self> {
        let configuration = codec.configuration.as_ref();
        let known = names(F::MEMBERS);
        let mut members = Members::of_codec(F::NAME, configuration, &codec.pointer, &known);
        let is_valid = check(&mut members, F::MEMBERS);
        let data_type = |name: &str| members.get(name).and_then(|json| numpy_data_type(json.as_str()?));
        let decoded = data_type("dtype").or_else(|| data_type("decode_dtype"));
        let encoded = data_type("astype").or_else(|| data_type("encode_dtype"));
        let filter = F::read(&members).filter(|_| is_valid);
        members.finish(filter.map(|filter| FilterConfiguration { filter, decoded, encoded }))
    }

    fn bind(
        self,
        codec: &CodecMetadata,
        array: &ArrayRepresentation,
        found: &mut Vec<Diagnostic>,
    ) -> Option<BoundArray> {
        let data_type = &array.data_type;
        let mut fault = |message: &str| {
            let message = format!("`{}` {message}", F::NAME);
            found.push(Diagnostic::new(code::CODEC_DATA_TYPE, message).at_pointer(codec.pointer.as_str()));
        };
        let decoded = self.decoded.unwrap_or_else(|| data_type.clone());
        let is_time = matches!(data_type, DataType::Time(_));
        let is_viewed = codec.view.is_some() && decoded.size() == data_type.size();
        let is_alike = decoded == *data_type || (is_time && numpy_type(&decoded) == numpy_type(data_type));
        if !is_alike && !is_viewed {
            fault(&format!("is made for `{decoded}`, but `{data_type}` reaches it"));
            return None;
        }
        let encoded = self.encoded.unwrap_or_else(|| decoded.clone());
        let (Some(from), Some(to)) = (numpy_type(&decoded), numpy_type(&encoded)) else {
            if decoded.size().is_none() || !matches!(decoded, DataType::Complex(_)) {
                fault(&format!("takes numbers, but `{decoded}` reaches it"));
                return None;
            }
            found.push(unsupported(F::NAME, &decoded, &codec.pointer));
            return Some(BoundArray { codec: None, output: Some(output(array, encoded)) });
        };
        let is_swapped = codec.view == Some(View::Swapped);
        let swap = decoded.size().filter(|size| is_swapped && *size > 1);
        match self.filter.bound((from, to), swap) {
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
        DataType::Number(number) if number.is_whole() => Some(NumpyType::Number(*number)),
        DataType::Time(_) => Some(NumpyType::Number(NumberType::of(ElementType::Int64))),
        _ => None,
    }
}

/// Both types of a filter that takes numbers alone.
pub(super) fn numbers(types: (NumpyType, NumpyType)) -> Result<(NumberType, NumberType), &'static str> {
    match types {
        (NumpyType::Number(decoded), NumpyType::Number(encoded)) => Ok((decoded, encoded)),
        _ => Err("numbers"),
    }
}

/// A filter that takes each element by itself.
#[derive(Debug)]
pub(super) struct ByElement {
    /// What it does to each.
    pub(super) filter: ElementFilter,
    /// Bytes of an element that are swapped before it.
    pub(super) swap: Option<usize>,
}

impl ArrayCodec for ByElement {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        let filter = |source: &[u8], target: &mut [u8]| self.filter.encode(source, target);
        encode(self.filter.types(), self.swap, filter, decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        let filter = |source: &[u8], target: &mut [u8]| self.filter.decode(source, target);
        decode(self.filter.types(), self.swap, filter, encoded, decoded)
    }

    fn role(&self) -> Role<'_> {
        Role::Filter { filter: &self.filter, swap: self.swap }
    }
}

/// Runs a filter forward, over elements whose bytes are swapped where v2 says so.
pub(super) fn encode(
    (from, to): (NumberType, NumberType),
    swap: Option<usize>,
    filter: impl Fn(&[u8], &mut [u8]) -> Result<(), ElementFault>,
    decoded: &[u8],
    encoded: &mut Vec<u8>,
) -> Result<(), ArrayFault> {
    let mut swapped = Vec::new();
    let decoded = if swap.is_some() {
        copy_swapped(decoded, &mut swapped, swap)?;
        &swapped
    } else {
        decoded
    };
    zeroed(encoded, (decoded.len() / from.size()).saturating_mul(to.size()))?;
    filter(decoded, encoded).map_err(|fault| ArrayFault::element(fault, Some((from, to)), decoded))
}

/// Runs a filter backward, and undoes the swap.
pub(super) fn decode(
    (to, from): (NumberType, NumberType),
    swap: Option<usize>,
    filter: impl Fn(&[u8], &mut [u8]) -> Result<(), ElementFault>,
    encoded: &[u8],
    decoded: &mut Vec<u8>,
) -> Result<(), ArrayFault> {
    zeroed(decoded, (encoded.len() / from.size()).saturating_mul(to.size()))?;
    filter(encoded, decoded).map_err(|fault| ArrayFault::element(fault, Some((from, to)), encoded))?;
    if let Some(width) = swap {
        decoded.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    Ok(())
}

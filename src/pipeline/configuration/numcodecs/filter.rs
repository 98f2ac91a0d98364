//! What the filters of numcodecs are for the chunk that reaches them.

use super::NumcodecsConfiguration;
use crate::codec::kinds::Parsed;
use crate::codec::kinds::members::Members;
use crate::codec::kinds::numcodecs::numpy_data_type;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::kernel::numcodecs::{FilterOptions, NumpyType, PythonNumber};
use crate::metadata::extension::{CodecMetadata, View};
use crate::metadata::json::Json;
use crate::pipeline::configuration::unsupported;

/// The members of a filter, as far as it has them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FilterMembers {
    /// `dtype`, or `decode_dtype`.
    decoded: Option<DataType>,
    /// `astype`, or `encode_dtype`.
    encoded: Option<DataType>,
    offset: Option<PythonNumber>,
    scale: Option<PythonNumber>,
    digits: Option<i32>,
}

/// A filter for one type and shape.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundFilter {
    /// What it does; `None` for types of which it is not decoded.
    pub options: Option<FilterOptions>,
    /// Bytes of an element that are swapped before it is filtered, where v2 says that it is taken in the other order.
    pub swap: Option<usize>,
    /// The type after it.
    pub data_type: DataType,
    /// The shape after it.
    pub shape: Vec<u64>,
}

impl FilterMembers {
    pub(super) fn read(members: &Members<'_>) -> Self {
        let data_type = |name: &str| members.get(name).and_then(|json| numpy_data_type(json.as_str()?));
        let number = |name: &str| members.get(name).and_then(python_number);
        FilterMembers {
            decoded: data_type("dtype").or_else(|| data_type("decode_dtype")),
            encoded: data_type("astype").or_else(|| data_type("encode_dtype")),
            offset: number("offset"),
            scale: number("scale"),
            digits: members.get("digits").and_then(Json::as_i128).and_then(|digits| digits.try_into().ok()),
        }
    }
}

/// Python reads `10` as an integer, `10.0` and `1e1` as floats.
fn python_number(json: &Json) -> Option<PythonNumber> {
    let integer = json.as_number()?.is_integer_literal().then(|| json.as_i128()).flatten();
    let float = || json.as_number().map(|number| PythonNumber::Float(number.as_f64()));
    integer.map(PythonNumber::Integer).or_else(float)
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

impl NumcodecsConfiguration {
    /// Binds a filter, which `codec` names, to the chunk that reaches it; `None` for a codec of another kind, and
    /// after a fault.
    pub fn bind(&self, data_type: &DataType, shape: &[u64], codec: &CodecMetadata) -> Parsed<BoundFilter> {
        match self.codec {
            "numcodecs.packbits" => self.bind_pack_bits(data_type, shape, codec),
            "numcodecs.astype" | "numcodecs.delta" | "numcodecs.fixedscaleoffset" | "numcodecs.quantize" => {
                self.bind_types(data_type, shape, codec)
            }
            _ => (None, Vec::new()),
        }
    }

    fn fault(&self, message: &str, codec: &CodecMetadata) -> Parsed<BoundFilter> {
        let message = format!("`{}` {message}", self.codec);
        (None, vec![Diagnostic::new(code::CODEC_DATA_TYPE, message).at_pointer(codec.pointer.as_str())])
    }

    fn bind_pack_bits(
        &self,
        data_type: &DataType,
        shape: &[u64],
        codec: &CodecMetadata,
    ) -> Parsed<BoundFilter> {
        // numcodecs views bytes as booleans.
        if *data_type != DataType::Bool && !(codec.view.is_some() && data_type.size() == Some(1)) {
            return self.fault(&format!("takes bool, but `{data_type}` reaches it"), codec);
        }
        let bytes = crate::metadata::array::num_elements(shape).map(|bits| bits.div_ceil(8) + 1);
        let bound = bytes.map(|bytes| BoundFilter {
            options: Some(FilterOptions::PackBits),
            swap: None,
            data_type: DataType::Number(NumberType::of(ElementType::UInt8)),
            shape: vec![bytes],
        });
        (bound, Vec::new())
    }

    fn bind_types(&self, data_type: &DataType, shape: &[u64], codec: &CodecMetadata) -> Parsed<BoundFilter> {
        let decoded = self.filter.decoded.clone().unwrap_or_else(|| data_type.clone());
        let is_time = matches!(data_type, DataType::Time(_));
        let is_viewed = codec.view.is_some() && decoded.size() == data_type.size();
        let is_alike = decoded == *data_type || (is_time && numpy_type(&decoded) == numpy_type(data_type));
        if !is_alike && !is_viewed {
            let message = format!("is made for `{decoded}`, but `{data_type}` reaches it");
            return self.fault(&message, codec);
        }
        let encoded = self.filter.encoded.clone().unwrap_or_else(|| decoded.clone());
        let is_swapped = codec.view == Some(View::Swapped);
        let mut bound = BoundFilter {
            options: None,
            swap: decoded.size().filter(|size| is_swapped && *size > 1),
            data_type: encoded.clone(),
            shape: shape.to_vec(),
        };
        let (Some(from), Some(to)) = (numpy_type(&decoded), numpy_type(&encoded)) else {
            if decoded.size().is_none() || !matches!(decoded, DataType::Complex(_)) {
                return self.fault(&format!("takes numbers, but `{decoded}` reaches it"), codec);
            }
            return (Some(bound), vec![unsupported(self.codec, &decoded, &codec.pointer)]);
        };
        match self.options(from, to) {
            Ok(options) => bound.options = Some(options),
            Err(expected) => {
                let message = format!("takes {expected}, but goes from `{decoded}` to `{encoded}`");
                return self.fault(&message, codec);
            }
        }
        (Some(bound), Vec::new())
    }

    /// What it does from type to type; the error says what it takes.
    fn options(&self, from: NumpyType, to: NumpyType) -> Result<FilterOptions, &'static str> {
        if self.codec == "numcodecs.astype" {
            return Ok(FilterOptions::AsType { decoded: from, encoded: to });
        }
        let (NumpyType::Number(decoded), NumpyType::Number(encoded)) = (from, to) else {
            return Err("numbers");
        };
        let FilterMembers { offset, scale, digits, .. } = self.filter;
        match (self.codec, offset, scale, digits) {
            ("numcodecs.delta", ..) => Ok(FilterOptions::Delta { decoded, encoded }),
            ("numcodecs.fixedscaleoffset", Some(offset), Some(scale), _) => {
                Ok(FilterOptions::FixedScaleOffset { decoded, encoded, offset, scale })
            }
            ("numcodecs.quantize", _, _, Some(digits)) if decoded.is_float() && encoded.is_float() => {
                Ok(FilterOptions::Quantize { decoded, encoded, digits })
            }
            _ => Err("real floats"),
        }
    }
}

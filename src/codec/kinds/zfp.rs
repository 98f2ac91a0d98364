//! `zfp`: a mode, and the parameters that it needs.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zfp>

pub mod stream;

use zfp_rs::{ZfpConfig, ZfpConfigError, ZfpDimensionality, ZfpMode, ZfpScalarType, ZfpStreamAlignment};

use super::array::{
    ArrayCodec, ArrayConfiguration, ArrayFault, ArrayKind, BoundArray, Role, keep, unsupported,
};
use super::members::Members;
use super::{ArrayRepresentation, BytesSize, Parsed};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};
use stream::{Zfp, ZfpError};

/// `zfp`, which v2 has not.
pub(crate) static ZFP: ArrayKind = ArrayKind::new::<ZfpConfiguration>();

/// The configuration of `zfp`: what it gives up of the numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ZfpConfiguration {
    /// Nothing.
    Reversible,
    /// By the parameters of the library.
    Expert {
        /// The least bits of a block.
        minbits: u32,
        /// The most bits of a block.
        maxbits: u32,
        /// The most bit planes of a block.
        maxprec: u32,
        /// The exponent of the least bit plane.
        minexp: i32,
    },
    /// No more than an absolute error.
    FixedAccuracy(f64),
    /// So much that each number takes so many bits.
    FixedRate(f64),
    /// All but so many bit planes.
    FixedPrecision(u32),
}

/// `zfp` for one type and shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundZfp {
    /// The primitive of an element.
    pub element: ElementType,
    /// The length of each dimension, the fastest first; 0 for those that the chunk does not have.
    pub lengths: [usize; 4],
    /// The parameters of the library.
    pub config: ZfpConfig,
    /// Whether a stream begins with the library's full header, which says all of this again.
    pub has_header: bool,
    /// By how much a number may change at most, as [`ArrayCodec::max_loss`] has it.
    pub max_loss: Option<f64>,
}

/// The most dimensions that zfp takes.
pub(super) const MAX_DIMENSIONS: usize = 4;

/// Each mode and its members, `mode` first.
const MODES: [(&str, &[&str]); 5] = [
    ("reversible", &["mode"]),
    ("expert", &["mode", "minbits", "maxbits", "maxprec", "minexp"]),
    ("fixed_accuracy", &["mode", "tolerance"]),
    ("fixed_rate", &["mode", "rate"]),
    ("fixed_precision", &["mode", "precision"]),
];

/// Every member of any mode: what is known where the mode is not.
const ALL: &[&str] = &["mode", "minbits", "maxbits", "maxprec", "minexp", "tolerance", "rate", "precision"];

/// Parses the configuration of the codec at `pointer`.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<ZfpConfiguration> {
    let mode = configuration.and_then(|members| members.get("mode")).and_then(Json::as_str);
    let known = MODES.into_iter().find(|(name, _)| Some(*name) == mode).map(|(_, known)| known);
    let mut members = Members::of_codec("zfp", configuration, pointer, known.unwrap_or(ALL));
    let Some(known) = known else {
        if let Some(json) = members.require("mode") {
            let modes: Vec<_> = MODES.iter().map(|(name, _)| (*name, ())).collect();
            members.choice("mode", json, &modes);
        }
        return members.finish(None);
    };
    let parameters = known[1..].iter().map(|name| parameter(&mut members, name)).collect::<Vec<_>>();
    let parameters = parameters.into_iter().collect::<Option<Vec<_>>>();
    let configuration =
        parameters.and_then(|parameters| of_parameters(mode.unwrap_or_default(), &parameters));
    members.finish(configuration)
}

/// The configuration of a mode and its parameters, in the order of the table.
fn of_parameters(mode: &str, parameters: &[f64]) -> Option<ZfpConfiguration> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was read from 32 bits")]
    let whole = |number: f64| number as u32;
    #[expect(clippy::cast_possible_truncation, reason = "it was read from 32 bits")]
    let signed = |number: f64| number as i32;
    Some(match (mode, parameters) {
        ("reversible", []) => ZfpConfiguration::Reversible,
        ("expert", [minbits, maxbits, maxprec, minexp]) => ZfpConfiguration::Expert {
            minbits: whole(*minbits),
            maxbits: whole(*maxbits),
            maxprec: whole(*maxprec),
            minexp: signed(*minexp),
        },
        ("fixed_accuracy", [tolerance]) => ZfpConfiguration::FixedAccuracy(*tolerance),
        ("fixed_rate", [rate]) => ZfpConfiguration::FixedRate(*rate),
        ("fixed_precision", [precision]) => ZfpConfiguration::FixedPrecision(whole(*precision)),
        _ => return None,
    })
}

/// One parameter of a mode; a float holds every integer of 32 bits.
fn parameter(members: &mut Members<'_>, name: &'static str) -> Option<f64> {
    let json = members.require(name)?;
    match name {
        "tolerance" | "rate" => members.number(name, json),
        "minexp" => members.integer(name, json, i32::MIN..=i32::MAX).map(f64::from),
        _ => members.integer(name, json, 0..=u32::MAX).map(f64::from),
    }
}

impl ZfpConfiguration {
    /// Holds the codec at `pointer` to what reaches it: numbers, in at most four dimensions.
    fn bind_array(self, data_type: &DataType, shape: &[u64], pointer: &str) -> Parsed<BoundZfp> {
        let mut found = Vec::new();
        if !matches!(data_type, DataType::Number(_) | DataType::SmallFloat(_) | DataType::Time(_)) {
            let message = format!("`zfp` takes integers and real floats, but `{data_type}` reaches it");
            found.push(Diagnostic::new(code::CODEC_DATA_TYPE, message).at_pointer(pointer));
        }
        if shape.len() > MAX_DIMENSIONS {
            let message = format!(
                "`zfp` takes at most {MAX_DIMENSIONS} dimensions, but a chunk of {} reaches it",
                shape.len()
            );
            found.push(
                Diagnostic::new(code::CODEC_DIMENSIONS, message)
                    .with_help("put `reshape` in front of it, or take another codec")
                    .at_pointer(pointer),
            );
        }
        if !found.is_empty() {
            return (None, found);
        }
        match self.bound(data_type, shape) {
            Ok(Some(bound)) => (Some(bound), found),
            Ok(None) => {
                let found = unsupported("zfp", data_type, pointer);
                let number = data_type.number().filter(|number| number.is_whole() && number.bits() >= 32);
                let is_wide = number.is_some_and(|number| !number.is_float());
                (None, vec![if is_wide { found.with_help(UNSIGNED) } else { found }])
            }
            Err(error) => {
                let message = format!("the parameters of `zfp` are not taken together: {error}");
                (None, vec![Diagnostic::new(code::CONFIGURATION_VALUE, message).at_pointer(pointer)])
            }
        }
    }

    /// The codec for this type and shape; `None` where it is not decoded here.
    fn bound(self, data_type: &DataType, shape: &[u64]) -> Result<Option<BoundZfp>, ZfpConfigError> {
        let number = data_type.number().filter(|number| number.is_whole() && number.small_float().is_none());
        let element = match data_type {
            DataType::Time(_) => Some(ElementType::Int64),
            _ => number.map(NumberType::element),
        };
        let scalar = element.and_then(scalar_type);
        let (Some(element), Some(scalar), Some(lengths)) = (element, scalar, lengths(shape)) else {
            return Ok(None);
        };
        let config = match self {
            ZfpConfiguration::Reversible => ZfpConfig::reversible(),
            ZfpConfiguration::FixedPrecision(precision) => ZfpConfig::fixed_precision(precision),
            ZfpConfiguration::FixedAccuracy(tolerance) => ZfpConfig::fixed_accuracy(tolerance),
            ZfpConfiguration::FixedRate(rate) => fixed_rate(rate, scalar, shape.len())?,
            ZfpConfiguration::Expert { minbits, maxbits, maxprec, minexp } => {
                ZfpConfig::expert(minbits, maxbits, maxprec, minexp)?
            }
        };
        let tolerance = match self {
            ZfpConfiguration::FixedAccuracy(tolerance) => Some(tolerance),
            _ => None,
        };
        let max_loss = max_loss(&config, element, tolerance);
        Ok(Some(BoundZfp { element, lengths, config, has_header: false, max_loss }))
    }
}

/// Why unsigned integers of 32 and 64 bits are not decoded: zarrs, for one, clamps them to the greatest signed integer.
const UNSIGNED: &str = "the library has signed integers alone, and the codec's page does not say how unsigned ones of \
                        32 and 64 bits become such: nobody knows what the chunks hold";

/// The lengths of a chunk as the library has them, the fastest dimension first: a chunk of no dimension has one of a
/// single element. `None` for an empty chunk, and one that no memory holds.
pub(super) fn lengths(shape: &[u64]) -> Option<[usize; MAX_DIMENSIONS]> {
    let mut lengths = [0; MAX_DIMENSIONS];
    lengths[0] = 1;
    for (length, own) in shape.iter().rev().zip(&mut lengths) {
        *own = usize::try_from(*length).ok().filter(|length| *length > 0)?;
    }
    lengths
        .iter()
        .filter(|length| **length > 0)
        .try_fold(1_usize, |count, length| count.checked_mul(*length))?;
    Some(lengths)
}

/// By how much a number may change: only floats that are not narrowed afterwards keep a tolerance.
pub(super) fn max_loss(config: &ZfpConfig, element: ElementType, tolerance: Option<f64>) -> Option<f64> {
    if config.mode() == ZfpMode::Reversible {
        return None;
    }
    let keeps = matches!(element, ElementType::Float32 | ElementType::Float64);
    Some(tolerance.filter(|tolerance| keeps && *tolerance > 0.0).unwrap_or(f64::INFINITY))
}

/// So many bits for each number of a block, which has as many dimensions as the chunk.
pub(super) fn fixed_rate(
    rate: f64,
    scalar: ZfpScalarType,
    dimensions: usize,
) -> Result<ZfpConfig, ZfpConfigError> {
    let dimensions = match dimensions {
        0 | 1 => ZfpDimensionality::D1,
        2 => ZfpDimensionality::D2,
        3 => ZfpDimensionality::D3,
        _ => ZfpDimensionality::D4,
    };
    ZfpConfig::fixed_rate(rate, scalar, dimensions, ZfpStreamAlignment::Unaligned)
}

/// What the library takes elements for; integers of 8 and 16 bits lie in the upper bits of 32, a half float becomes one of
/// 32 bits.
pub(super) const fn scalar_type(element: ElementType) -> Option<ZfpScalarType> {
    match element {
        ElementType::Int8
        | ElementType::Int16
        | ElementType::Int32
        | ElementType::UInt8
        | ElementType::UInt16 => Some(ZfpScalarType::I32),
        ElementType::Int64 => Some(ZfpScalarType::I64),
        ElementType::Float16 | ElementType::Float32 => Some(ZfpScalarType::F32),
        ElementType::Float64 => Some(ZfpScalarType::F64),
        ElementType::UInt32 | ElementType::UInt64 => None,
    }
}

impl BoundZfp {
    /// The most bytes of an encoded chunk; `None` where that overflows.
    pub fn max_encoded_bytes(&self) -> Option<u64> {
        let bytes = self.config.maximum_size(scalar_type(self.element)?, self.lengths)?;
        u64::try_from(bytes).ok()
    }
}

impl ArrayConfiguration for ZfpConfiguration {
    fn parse(codec: &CodecMetadata) -> Parsed<Self> {
        parse(codec.configuration.as_ref(), &codec.pointer)
    }

    fn bind(
        self,
        codec: &CodecMetadata,
        array: &ArrayRepresentation,
        found: &mut Vec<Diagnostic>,
    ) -> Option<BoundArray> {
        let bound = keep(self.bind_array(&array.data_type, &array.shape, &codec.pointer), found)?;
        let size = BytesSize::at_most(bound.max_encoded_bytes());
        Some(BoundArray::to_bytes(Zfp::new(bound), size))
    }
}

impl ArrayCodec for Zfp {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        Zfp::encode(self, decoded, encoded).map_err(fault)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        Zfp::decode(self, encoded, decoded).map_err(fault)
    }

    fn context_bytes(&self, decoded: u64) -> u64 {
        Zfp::context_bytes(self, decoded)
    }

    fn role(&self) -> Role<'_> {
        Role::Compress
    }

    fn max_loss(&self) -> Option<f64> {
        self.bound().max_loss
    }
}

fn fault(error: ZfpError) -> ArrayFault {
    match error {
        ZfpError::Memory { size } => ArrayFault::Memory { needed: size as u64 },
        error => ArrayFault::bytes(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_valid(text: &str) -> bool {
        let configuration = Json::parse_str(text).unwrap();
        let (parsed, diagnostics) = parse(configuration.as_object(), "");
        assert!(parsed.is_some() || !diagnostics.is_empty(), "{text}");
        diagnostics.is_empty()
    }

    #[test]
    fn zfp_has_the_members_of_its_mode() {
        for text in [
            r#"{"mode":"reversible"}"#,
            r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":19,"minexp":-2}"#,
            r#"{"mode":"fixed_accuracy","tolerance":0.05}"#,
            r#"{"mode":"fixed_rate","rate":10.5}"#,
            r#"{"mode":"fixed_precision","precision":19}"#,
        ] {
            assert!(is_valid(text), "{text}");
        }
        for text in [
            "{}",
            r#"{"mode":3}"#,
            r#"{"mode":"fast"}"#,
            r#"{"mode":"reversible","rate":1}"#,
            r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":19}"#,
            r#"{"mode":"fixed_precision","precision":1.5}"#,
            r#"{"mode":"fixed_rate","rate":"1"}"#,
        ] {
            assert!(!is_valid(text), "{text}");
        }
    }

    #[test]
    fn zfp_takes_numbers_in_four_dimensions() {
        let bind = |name: &str, shape: &[u64]| {
            let data_type = DataType::from_name(name).unwrap();
            let found = ZfpConfiguration::Reversible.bind_array(&data_type, shape, "").1;
            found.iter().map(|found| found.code).collect::<Vec<_>>()
        };
        assert!(bind("float32", &[1, 2, 3, 4]).is_empty());
        assert!(bind("float16", &[]).is_empty());
        assert_eq!(bind("uint32", &[4]), [code::CODEC_UNSUPPORTED.code]);
        assert_eq!(bind("bfloat16", &[4]), [code::CODEC_UNSUPPORTED.code]);
        assert_eq!(bind("complex64", &[1; 5]), [code::CODEC_DATA_TYPE.code, code::CODEC_DIMENSIONS.code]);
    }
}

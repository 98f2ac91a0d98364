//! `numcodecs.pcodec`: how numbers are compressed. A chunk says all that its decoder needs.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/compression/pcodec.html>

pub mod file;

use super::array::{ArrayCodec, ArrayConfiguration, ArrayFault, ArrayKind, BoundArray, Role, keep};
use super::members::Members;
use super::{ArrayRepresentation, BytesSize, Parsed};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};
use file::{Pcodec, PcodecError};

/// `numcodecs.pcodec`.
pub(crate) static PCODEC: ArrayKind = ArrayKind::new::<PcodecConfiguration>().little_endian_in_v2();

/// How differences between numbers are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PcodecDelta {
    /// As suits the numbers best.
    Auto,
    /// Not at all.
    None,
    /// So many times from one number to the next.
    Consecutive(usize),
    /// To a number further back.
    Lookback,
}

/// The configuration of `numcodecs.pcodec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PcodecConfiguration {
    /// 0 to 12.
    pub level: usize,
    /// Whether numbers are compressed as they are, and multiples of a common base are not looked for.
    pub is_classic: bool,
    /// How differences are taken.
    pub delta: PcodecDelta,
    /// The most numbers that are compressed together.
    pub page_size: usize,
}

/// `numcodecs.pcodec` for one data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundPcodec {
    /// The type of the numbers.
    pub element: ElementType,
    /// Numbers of an element: 2 for complex types.
    pub num_components: usize,
    /// The configuration.
    pub configuration: PcodecConfiguration,
}

/// The name of the codec.
const NAME: &str = "numcodecs.pcodec";

/// The most numbers that the format keeps together.
const MAX_PAGE_SIZE: usize = 1 << 24;

/// Parses the configuration of the codec at `pointer`.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<PcodecConfiguration> {
    let known =
        &["level", "mode_spec", "delta_spec", "paging_spec", "delta_encoding_order", "equal_pages_up_to"];
    let mut members = Members::of_codec(NAME, configuration, pointer, known);
    let level = integer(&mut members, "level", 0..=12, 8);
    let is_classic = choice(&mut members, "mode_spec", &[("auto", false), ("classic", true)]);
    let paging = choice(&mut members, "paging_spec", &[("equal_pages_up_to", ())]);
    let page_size = integer(&mut members, "equal_pages_up_to", 1..=usize::MAX >> 1, 1 << 18);
    let delta = delta(&mut members);
    let parsed = (|| {
        paging?;
        let page_size = page_size?.min(MAX_PAGE_SIZE);
        Some(PcodecConfiguration { level: level?, is_classic: is_classic?, delta: delta?, page_size })
    })();
    members.finish(parsed)
}

/// A member that numcodecs writes as null, or not at all, where it has its default.
fn present<'a>(members: &Members<'a>, name: &str) -> Option<&'a Json> {
    members.get(name).filter(|json| !json.is_null())
}

fn integer(
    members: &mut Members<'_>,
    name: &str,
    range: std::ops::RangeInclusive<usize>,
    default: usize,
) -> Option<usize> {
    match present(members, name) {
        Some(json) => members.integer(name, json, range),
        None => Some(default),
    }
}

/// One of some words, the first of which is the default.
fn choice<T: Copy>(members: &mut Members<'_>, name: &str, choices: &[(&str, T)]) -> Option<T> {
    match present(members, name) {
        Some(json) => members.choice(name, json, choices),
        None => choices.first().map(|choice| choice.1),
    }
}

/// `delta_spec`, and the order that some of its words take.
fn delta(members: &mut Members<'_>) -> Option<PcodecDelta> {
    let choices = [
        ("auto", PcodecDelta::Auto),
        ("no_op", PcodecDelta::None),
        ("none", PcodecDelta::None),
        ("try_consecutive", PcodecDelta::Consecutive(0)),
        ("try_lookback", PcodecDelta::Lookback),
    ];
    let word = choice(members, "delta_spec", &choices);
    let order = present(members, "delta_encoding_order")
        .map(|json| members.integer("delta_encoding_order", json, 0..=7));
    let expected = match (word?, order) {
        // numcodecs took an order alone before it had a word for it.
        (PcodecDelta::Auto | PcodecDelta::Consecutive(_), Some(order)) => {
            return order.map(PcodecDelta::Consecutive);
        }
        (PcodecDelta::Consecutive(_), None) => "is wanted for `delta_spec` \"try_consecutive\"",
        (PcodecDelta::None | PcodecDelta::Lookback, Some(_)) => {
            "is for `delta_spec` \"auto\" and \"try_consecutive\" alone"
        }
        (delta, None) => return Some(delta),
    };
    let message = format!("`delta_encoding_order` of `{NAME}` {expected}");
    members.report(code::CONFIGURATION_VALUE, "delta_encoding_order", message);
    None
}

impl PcodecConfiguration {
    /// Binds the codec at `pointer` to a data type.
    pub fn bind_type(self, data_type: &DataType, pointer: &str) -> Parsed<BoundPcodec> {
        let whole = |number: &NumberType| {
            let is_taken = number.is_whole() && number.small_float().is_none() && number.size() > 1;
            is_taken.then_some(number.element())
        };
        let element = match data_type {
            DataType::Number(number) => whole(number).map(|element| (element, 1)),
            DataType::Complex(component) => whole(component).map(|element| (element, 2)),
            DataType::Time(_) => Some((ElementType::Int64, 1)),
            _ => None,
        };
        if let Some((element, num_components)) = element {
            return (Some(BoundPcodec { element, num_components, configuration: self }), Vec::new());
        }
        let message = format!("`{NAME}` takes numbers of 16, 32 and 64 bits, but `{data_type}` reaches it");
        (None, vec![Diagnostic::new(code::CODEC_DATA_TYPE, message).at_pointer(pointer)])
    }
}

impl BoundPcodec {
    /// The most bytes of so many elements, by the format: a header, and for each page its own and the numbers as
    /// they are. `None` where that overflows.
    pub fn max_encoded_bytes(&self, num_elements: u64) -> Option<u64> {
        // Mode, differences and the one bin that holds any number, with what an encoder leaves free.
        const PAGE: u64 = 256;
        const HEADER: u64 = 32;
        let count = num_elements.checked_mul(self.num_components as u64)?;
        let pages = count.div_ceil(self.configuration.page_size as u64);
        let numbers = count.checked_mul(self.element.size() as u64)?;
        pages.checked_mul(PAGE)?.checked_add(numbers)?.checked_add(HEADER)
    }
}

impl ArrayConfiguration for PcodecConfiguration {
    fn parse(codec: &CodecMetadata) -> Parsed<Self> {
        parse(codec.configuration.as_ref(), &codec.pointer)
    }

    fn bind(
        self,
        codec: &CodecMetadata,
        array: &ArrayRepresentation,
        found: &mut Vec<Diagnostic>,
    ) -> Option<BoundArray> {
        let bound = keep(self.bind_type(&array.data_type, &codec.pointer), found)?;
        let num_elements = array.num_elements();
        let size = BytesSize::at_most(num_elements.and_then(|count| bound.max_encoded_bytes(count)));
        let num_elements = num_elements.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
        Some(BoundArray::to_bytes(Compressed { codec: Pcodec::new(bound), num_elements }, size))
    }
}

/// `numcodecs.pcodec` of a chunk.
#[derive(Debug)]
struct Compressed {
    codec: Pcodec,
    num_elements: usize,
}

impl ArrayCodec for Compressed {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        self.codec.encode(decoded, encoded).map_err(|error| ArrayFault::bytes(&error))
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        self.codec.decode(encoded, self.num_elements, decoded).map_err(|error| match error {
            PcodecError::Count { .. } => ArrayFault::Length(error.to_string()),
            PcodecError::Memory { size } => ArrayFault::Memory { needed: size as u64 },
            error => ArrayFault::bytes(&error),
        })
    }

    fn context_bytes(&self, decoded: u64) -> u64 {
        self.codec.context_bytes(decoded)
    }

    fn role(&self) -> Role<'_> {
        Role::Compress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Option<PcodecConfiguration>, Vec<&'static str>) {
        let json = Json::parse_str(text).unwrap();
        let (parsed, found) = parse(json.as_object(), "");
        (parsed, found.iter().map(|found| found.code).collect())
    }

    #[test]
    fn configurations_of_numcodecs_are_read() {
        let default =
            PcodecConfiguration { level: 8, is_classic: false, delta: PcodecDelta::Auto, page_size: 1 << 18 };
        let whole = r#"{"level":8,"mode_spec":"auto","delta_spec":"auto","paging_spec":"equal_pages_up_to",
            "delta_encoding_order":null,"equal_pages_up_to":262144}"#;
        for text in ["{}", whole] {
            assert_eq!(parsed(text), (Some(default), vec![]), "{text}");
        }
        for (text, delta) in [
            (r#"{"delta_encoding_order":2}"#, PcodecDelta::Consecutive(2)),
            (r#"{"delta_spec":"try_consecutive","delta_encoding_order":0}"#, PcodecDelta::Consecutive(0)),
            (r#"{"delta_spec":"none"}"#, PcodecDelta::None),
            (r#"{"delta_spec":"try_lookback"}"#, PcodecDelta::Lookback),
        ] {
            assert_eq!(parsed(text), (Some(PcodecConfiguration { delta, ..default }), vec![]), "{text}");
        }
    }

    #[test]
    fn configurations_that_numcodecs_refuses_are_faults() {
        for (text, code) in [
            (r#"{"level":13}"#, "ZC114"),
            (r#"{"level":"8"}"#, "ZC113"),
            (r#"{"mode_spec":"int_mult"}"#, "ZC114"),
            (r#"{"equal_pages_up_to":0}"#, "ZC114"),
            (r#"{"delta_spec":"try_consecutive"}"#, "ZC114"),
            (r#"{"delta_spec":"no_op","delta_encoding_order":1}"#, "ZC114"),
            (r#"{"delta_encoding_order":8}"#, "ZC114"),
            (r#"{"page":1}"#, "ZC111"),
        ] {
            assert_eq!(parsed(text).1, [code], "{text}");
        }
    }

    #[test]
    fn numbers_of_more_than_a_byte_are_taken() {
        let configuration = parsed("{}").0.unwrap();
        let bind = |name: &str| configuration.bind_type(&DataType::from_name(name).unwrap(), "").0;
        for name in ["int16", "uint64", "float16", "float64", "complex64"] {
            assert!(bind(name).is_some(), "{name}");
        }
        for name in ["bool", "int8", "uint8", "uint10", "bfloat16", "string", "r16"] {
            assert_eq!(bind(name), None, "{name}");
        }
        assert!(bind("float32").unwrap().max_encoded_bytes(u64::MAX).is_none());
    }
}

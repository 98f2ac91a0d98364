//! `n5_default`, a chain of codecs as N5 has them, which is not decoded here.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/n5_default>

use super::{ArrayRepresentation, BytesSize, Completeness, Pipeline, Representation};
use crate::codec::kinds::Parsed;
use crate::codec::kinds::array::keep;
use crate::codec::kinds::members::Members;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::CodecMetadata;
use crate::metadata::extension::read_codecs;
use crate::metadata::json::{Json, Object};

/// The configuration of `n5_default`.
#[derive(Debug, Clone, PartialEq)]
struct N5DefaultConfiguration {
    /// A reversing `transpose`, big-endian `bytes`, and at most one compressor.
    codecs: Vec<CodecMetadata>,
}

/// Parses the configuration of `n5_default` at `pointer`.
fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<N5DefaultConfiguration> {
    let mut members = Members::of_codec("n5_default", configuration, pointer, &["codecs"]);
    let codecs = codecs(&mut members);
    members.finish(codecs.map(|codecs| N5DefaultConfiguration { codecs }))
}

fn codecs(members: &mut Members<'_>) -> Option<Vec<CodecMetadata>> {
    let json = members.require("codecs")?;
    read_codecs(json, &members.pointer_to("codecs"), &mut members.diagnostics)
}

/// Follows the chunk through the chain inside, behind a header of mode, rank and shape; a block at the edge may be cut
/// off.
pub(super) fn bind(
    codec: &CodecMetadata,
    array: Option<&ArrayRepresentation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Representation> {
    let configuration = keep(parse(codec.configuration.as_ref(), &codec.pointer), diagnostics);
    // A type that is not known has its own finding.
    let array = array.filter(|array| !matches!(array.data_type, DataType::Other(_)))?;
    let configuration = configuration?;
    diagnostics.extend(configuration.faults(&array.data_type, &array.shape, &codec.pointer));
    let pointer = format!("{}/configuration/codecs", codec.pointer);
    let (codecs, complete) = (&configuration.codecs, Completeness::ToBytes);
    let inner = Pipeline::build(array.clone(), codecs, complete, &pointer, diagnostics);
    let header = 4 + 4 * array.shape.len() as u64;
    let bound = inner.output().and_then(|output| output.max_bytes()?.checked_add(header));
    Some(Representation::Bytes(BytesSize::at_most(bound)))
}

impl N5DefaultConfiguration {
    /// Holds the codec at `pointer` to what reaches it: what must be of the chain inside, beyond what any must.
    fn faults(&self, data_type: &DataType, shape: &[u64], pointer: &str) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let is_number = data_type
            .number()
            .is_some_and(|number| matches!(number.bits(), 8 | 16 | 32 | 64) && !is_float16(data_type));
        if !is_number {
            let message = format!("N5 has no data type `{data_type}`");
            found.push(Diagnostic::new(code::CODEC_DATA_TYPE, message).at_pointer(pointer));
        }
        let mut fault = |place: usize, expected: String| {
            let (at, actual) = match self.codecs.get(place) {
                Some(codec) => (codec.pointer.clone(), format!("`{}`", codec.name)),
                None => (format!("{pointer}/configuration/codecs"), "nothing".to_owned()),
            };
            let message = format!("codec {place} of `n5_default`: expected {expected}, found {actual}");
            found.push(Diagnostic::new(code::N5_CODECS, message).at_pointer(at));
        };
        let reversed: Vec<u64> = (0..shape.len() as u64).rev().collect();
        let is_member = |place: usize, name: &str, member: &str, expected: &Json| {
            self.codecs.get(place).is_some_and(|codec| {
                codec.name == name && codec.member(member).is_some_and(|found| found.same_value(expected))
            })
        };
        if !is_member(0, "transpose", "order", &Json::from(reversed.clone())) {
            fault(0, format!("`transpose` of the order {reversed:?}"));
        }
        let is_plain = self.codecs.get(1).is_some_and(|codec| {
            codec.name == "bytes" && codec.member("endian").is_none() && data_type.size() == Some(1)
        });
        if !is_plain && !is_member(1, "bytes", "endian", &Json::from("big")) {
            fault(1, "big-endian `bytes`".to_owned());
        }
        if self.codecs.len() > 3 {
            fault(3, "nothing more than one compressor".to_owned());
        }
        found
    }
}

fn is_float16(data_type: &DataType) -> bool {
    data_type.number().is_some_and(|number| number.is_float() && number.bits() == 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(found: &[Diagnostic]) -> Vec<&'static str> {
        found.iter().map(|found| found.code).collect()
    }

    fn n5(codecs: &str, data_type: &str) -> Vec<&'static str> {
        let json = Json::parse_str(&format!(r#"{{"codecs":{codecs}}}"#)).unwrap();
        let (parsed, found) = parse(json.as_object(), "/codecs/0");
        assert_eq!(found, [], "{codecs}");
        codes(&parsed.unwrap().faults(&DataType::from_name(data_type).unwrap(), &[3, 4], "/codecs/0"))
    }

    #[test]
    fn n5_default_reverses_and_is_big_endian() {
        let transpose = r#"{"name":"transpose","configuration":{"order":[1,0]}}"#;
        let bytes = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
        let gzip = r#"{"name":"gzip","configuration":{"level":1}}"#;
        assert!(n5(&format!("[{transpose},{bytes},{gzip}]"), "float64").is_empty());
        assert!(n5(&format!(r#"[{transpose},{{"name":"bytes"}}]"#), "uint8").is_empty());
        assert_eq!(n5(&format!(r#"[{transpose},{{"name":"bytes"}}]"#), "uint16"), ["ZC251"]);
        assert_eq!(n5(&format!("[{bytes}]"), "uint16"), ["ZC251", "ZC251"]);
        assert_eq!(n5(&format!("[{transpose},{bytes},{gzip},{gzip}]"), "uint16"), ["ZC251"]);
        assert_eq!(n5(&format!("[{transpose},{bytes}]"), "float16"), ["ZC115"]);
    }
}

//! The codecs of numcodecs by the names that zarr-python gives them in Zarr v3: their configurations, and what the
//! filters among them do to the chunk that reaches them. No registry has them; their pages are numcodecs' own.
//!
//! Documentation: <https://numcodecs.readthedocs.io/>

mod filter;

use crate::codec::kinds::Parsed;
use crate::codec::kinds::members::Members;
use crate::codec::kinds::numcodecs::{Absent, Form, Member, check, names};
use crate::kernel::numcodecs::{GREATEST_DIGITS, LEAST_DIGITS};
use crate::metadata::json::Object;
use filter::FilterMembers;

pub use filter::BoundFilter;

/// Each codec and its members, beside those that have a file of their own.
static TABLES: [(&str, &[Member]); 6] = [
    (
        "numcodecs.astype",
        &[Member::required("encode_dtype", Form::DataType), optional("decode_dtype", Form::DataType)],
    ),
    ("numcodecs.delta", &[Member::required("dtype", Form::DataType), optional("astype", Form::DataType)]),
    (
        "numcodecs.fixedscaleoffset",
        &[
            Member::required("offset", Form::Number),
            Member::required("scale", Form::Number),
            optional("dtype", Form::DataType),
            optional("astype", Form::DataType),
        ],
    ),
    ("numcodecs.packbits", &[]),
    (
        "numcodecs.quantize",
        &[
            Member::required("digits", Form::Integer(LEAST_DIGITS as i64, GREATEST_DIGITS as i64)),
            optional("dtype", Form::DataType),
            optional("astype", Form::DataType),
        ],
    ),
    (
        "numcodecs.zfpy",
        &[
            optional("mode", Form::Integer(0, 5)),
            optional("tolerance", Form::Number),
            optional("rate", Form::Number),
            optional("precision", Form::Number),
            optional("compression_kwargs", Form::Any),
        ],
    ),
];

const fn optional(name: &'static str, form: Form) -> Member {
    Member::new(name, form, Absent::Nothing)
}

/// A codec of numcodecs whose configuration is right.
#[derive(Debug, Clone, PartialEq)]
pub struct NumcodecsConfiguration {
    codec: &'static str,
    filter: FilterMembers,
}

/// Checks the configuration of the codec `name` at `pointer`; `None` where it is none of these.
pub fn parse(
    name: &str,
    configuration: Option<&Object>,
    pointer: &str,
) -> Option<Parsed<NumcodecsConfiguration>> {
    let (codec, table) = *TABLES.iter().find(|table| table.0 == name)?;
    let mut members = Members::of_codec(codec, configuration, pointer, &names(table));
    let is_valid = check(&mut members, table);
    let filter = FilterMembers::read(&members);
    let configuration = NumcodecsConfiguration { codec, filter };
    Some(members.finish(is_valid.then_some(configuration)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::registry::parse_bytes_codec;
    use crate::data_type::DataType;
    use crate::metadata::extension::CodecMetadata;
    use crate::metadata::json::Json;

    fn codes(name: &str, configuration: &str) -> Vec<&'static str> {
        let json = Json::parse_str(configuration).unwrap();
        let (is_parsed, found) = if let Some((parsed, found)) = parse(name, json.as_object(), "") {
            (parsed.is_some(), found)
        } else {
            let codec = CodecMetadata::new(name, json.as_object().cloned());
            let (parsed, found) = parse_bytes_codec(&codec).unwrap();
            (parsed.is_some(), found)
        };
        assert!(is_parsed || !found.is_empty(), "{name} {configuration}");
        found.iter().map(|found| found.code).collect()
    }

    #[test]
    fn table_is_sorted() {
        assert!(TABLES.iter().is_sorted_by_key(|table| table.0));
    }

    #[test]
    fn configurations_of_numcodecs_are_checked() {
        for (name, configuration, expected) in [
            ("delta", r#"{"dtype":"<i2"}"#, vec![]),
            ("delta", r#"{"dtype":"uint32","astype":null}"#, vec![]),
            ("delta", r#"{"dtype":"x"}"#, vec!["ZC114"]),
            ("delta", r#"{"astype":"<i2"}"#, vec!["ZC112"]),
            ("fixedscaleoffset", r#"{"offset":0,"scale":10.5,"dtype":"<f8","astype":"|u1"}"#, vec![]),
            ("fixedscaleoffset", r#"{"offset":"0","scale":1}"#, vec!["ZC113"]),
            ("zlib", "{}", vec![]),
            ("zlib", r#"{"level":10}"#, vec!["ZC114"]),
            ("lz4", r#"{"acceleration":1,"level":1}"#, vec!["ZC111"]),
            ("crc32", r#"{"location":"end"}"#, vec![]),
            ("crc32", r#"{"location":"middle"}"#, vec!["ZC114"]),
            ("blosc", r#"{"cname":"zstd","clevel":5,"shuffle":1,"blocksize":0}"#, vec![]),
        ] {
            assert_eq!(
                codes(&format!("numcodecs.{name}"), configuration),
                expected,
                "{name} {configuration}"
            );
        }
    }

    #[test]
    fn packbits_gives_a_row_of_bytes() {
        let (parsed, _) = parse("numcodecs.packbits", None, "").unwrap();
        let (parsed, codec) = (parsed.unwrap(), CodecMetadata::new("numcodecs.packbits", None));
        let bound = parsed.bind(&DataType::Bool, &[3, 5], &codec).0.unwrap();
        assert_eq!((bound.data_type.name().as_str(), bound.shape), ("uint8", vec![3]));
        assert!(parsed.bind(&DataType::Raw(1), &[3], &codec).0.is_none());
    }
}

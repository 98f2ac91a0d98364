//! The codecs of numcodecs by the names that zarr-python gives them in Zarr v3: their configurations, and what the
//! filters among them do to the chunk that reaches them. No registry has them; their pages are numcodecs' own.
//!
//! Documentation: <https://numcodecs.readthedocs.io/>

mod filter;

use super::Parsed;
use super::members::Members;
use crate::data_type::DataType;
use crate::element::{ElementType, NumberType};
use crate::kernel::numcodecs::{GREATEST_DIGITS, LEAST_DIGITS};
use crate::metadata::json::Object;
use filter::FilterMembers;

pub use filter::BoundFilter;

/// What a member must be.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// An integer of a range.
    Integer(i64, i64),
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// One of some strings.
    Choice(&'static [&'static str]),
    /// A data type as numpy writes it.
    DataType,
    /// Anything; numcodecs says more.
    Any,
}

/// A codec: its name, its members, and the forms of those; null is as good as nothing.
struct Table {
    codec: &'static str,
    names: &'static [&'static str],
    forms: &'static [Form],
    /// How many of the first members must be there.
    required: usize,
}

const fn table(
    codec: &'static str,
    names: &'static [&'static str],
    forms: &'static [Form],
    required: usize,
) -> Table {
    Table { codec, names, forms, required }
}

const LOCATION: Form = Form::Choice(&["start", "end"]);
const LEVEL: Form = Form::Integer(-1, 9);

/// Beside those that have a file of their own.
static TABLES: [Table; 18] = [
    table("numcodecs.adler32", &["location"], &[LOCATION], 0),
    table("numcodecs.astype", &["encode_dtype", "decode_dtype"], &[Form::DataType, Form::DataType], 1),
    table(
        "numcodecs.blosc",
        &["cname", "clevel", "shuffle", "blocksize", "typesize"],
        &[
            Form::Choice(&["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"]),
            Form::Integer(0, 9),
            Form::Integer(-1, 2),
            Form::Integer(0, i32::MAX as i64),
            Form::Integer(1, i32::MAX as i64),
        ],
        0,
    ),
    table("numcodecs.bz2", &["level"], &[Form::Integer(1, 9)], 0),
    table("numcodecs.crc32", &["location"], &[LOCATION], 0),
    table("numcodecs.crc32c", &["location"], &[LOCATION], 0),
    table("numcodecs.delta", &["dtype", "astype"], &[Form::DataType, Form::DataType], 1),
    table(
        "numcodecs.fixedscaleoffset",
        &["offset", "scale", "dtype", "astype"],
        &[Form::Number, Form::Number, Form::DataType, Form::DataType],
        2,
    ),
    table("numcodecs.fletcher32", &[], &[], 0),
    table("numcodecs.gzip", &["level"], &[LEVEL], 0),
    table(
        "numcodecs.jenkins_lookup3",
        &["initval", "prefix"],
        &[Form::Integer(0, u32::MAX as i64), Form::Any],
        0,
    ),
    table("numcodecs.lz4", &["acceleration"], &[Form::Integer(i32::MIN as i64, i32::MAX as i64)], 0),
    table("numcodecs.packbits", &[], &[], 0),
    table(
        "numcodecs.quantize",
        &["digits", "dtype", "astype"],
        &[Form::Integer(LEAST_DIGITS as i64, GREATEST_DIGITS as i64), Form::DataType, Form::DataType],
        1,
    ),
    table("numcodecs.shuffle", &["elementsize"], &[Form::Integer(1, i32::MAX as i64)], 0),
    table(
        "numcodecs.zfpy",
        &["mode", "tolerance", "rate", "precision", "compression_kwargs"],
        &[Form::Integer(0, 5), Form::Number, Form::Number, Form::Number, Form::Any],
        0,
    ),
    table("numcodecs.zlib", &["level"], &[LEVEL], 0),
    table("numcodecs.zstd", &["level", "checksum"], &[Form::Integer(-131_072, 22), Form::Boolean], 0),
];

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
    let table = TABLES.iter().find(|table| table.codec == name)?;
    let mut members = Members::of_codec(table.codec, configuration, pointer, table.names);
    let mut is_valid = true;
    for (place, (name, form)) in table.names.iter().zip(table.forms).enumerate() {
        let json = if place < table.required { members.require(name) } else { members.get(name) };
        match json {
            Some(json) if json.is_null() && place >= table.required => {}
            Some(json) => is_valid &= form.check(&mut members, name, json),
            None => is_valid &= place >= table.required,
        }
    }
    let filter = FilterMembers::read(&members);
    let configuration = NumcodecsConfiguration { codec: table.codec, filter };
    Some(members.finish(is_valid.then_some(configuration)))
}

impl Form {
    fn check(self, members: &mut Members<'_>, name: &str, json: &crate::metadata::json::Json) -> bool {
        match self {
            Form::Integer(least, greatest) => members.integer(name, json, least..=greatest).is_some(),
            Form::Number => members.number(name, json).is_some(),
            Form::Boolean => members.boolean(name, json).is_some(),
            Form::Choice(choices) => {
                let choices: Vec<_> = choices.iter().map(|choice| (*choice, ())).collect();
                members.choice(name, json, &choices).is_some()
            }
            Form::DataType => {
                let is_data_type = json.as_str().and_then(numpy_data_type).is_some();
                if !is_data_type {
                    let code = super::members::wrong(json.as_str().is_some());
                    members.report_found(code, name, "a data type of numpy, such as \"<f4\"", json);
                }
                is_data_type
            }
            Form::Any => true,
        }
    }
}

/// A number type as numpy writes it: `<f4`, `|u1`, `i2`, `float32`, `bool`. The byte order does not matter: an array
/// has none between codecs.
fn numpy_data_type(text: &str) -> Option<DataType> {
    let plain = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    if let Some(data_type) = DataType::from_name(plain) {
        let is_numpy = match &data_type {
            DataType::Bool => true,
            DataType::Number(number) => matches!(number.bits(), 8 | 16 | 32 | 64),
            DataType::Complex(component) => component.bits() > 16,
            _ => false,
        };
        return (is_numpy && plain == text).then_some(data_type);
    }
    let (kind, size) = plain.split_at_checked(1)?;
    let size: usize = size.parse().ok()?;
    let float = |size: usize| {
        let floats = [ElementType::Float16, ElementType::Float32, ElementType::Float64];
        floats.into_iter().find(|float| float.size() == size).map(NumberType::of)
    };
    let integer = |signed| {
        let bits = u32::try_from(size).ok()?.checked_mul(8)?;
        NumberType::integer(signed, bits).filter(|number| number.is_whole())
    };
    match kind {
        "b" if size == 1 => Some(DataType::Bool),
        "i" => integer(true).map(DataType::Number),
        "u" => integer(false).map(DataType::Number),
        "f" => float(size).map(DataType::Number),
        "c" if size >= 8 => float(size / 2).filter(|float| float.size() * 2 == size).map(DataType::Complex),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::extension::CodecMetadata;
    use crate::metadata::json::Json;

    fn codes(name: &str, configuration: &str) -> Vec<&'static str> {
        let json = Json::parse_str(configuration).unwrap();
        let (parsed, found) = parse(name, json.as_object(), "").unwrap();
        assert!(parsed.is_some() || !found.is_empty(), "{name} {configuration}");
        found.iter().map(|found| found.code).collect()
    }

    #[test]
    fn tables_are_sorted_and_whole() {
        assert!(TABLES.iter().is_sorted_by_key(|table| table.codec));
        assert!(TABLES.iter().all(|table| table.names.len() == table.forms.len()));
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
    fn numpy_names_are_data_types() {
        for (text, name) in [
            ("<f4", "float32"),
            (">c16", "complex128"),
            ("|u1", "uint8"),
            ("i8", "int64"),
            ("float16", "float16"),
            ("bool", "bool"),
            ("|b1", "bool"),
        ] {
            assert_eq!(numpy_data_type(text).map(|found| found.name()).as_deref(), Some(name), "{text}");
        }
        for text in ["", "f", "<f3", "i3", "<uint8", "r8", "uint10", "bfloat16", "<U4", "c4", "f-4", "é4"] {
            assert_eq!(numpy_data_type(text), None, "{text}");
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

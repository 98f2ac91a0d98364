//! Each configuration against what its specification says of it.

use crate::codec::kinds::array::{BoundArray, Role};
use crate::codec::kinds::cast_value::{self, is_lossy};
use crate::codec::kinds::members::numpy_data_type;
use crate::codec::kinds::scale_offset;
use crate::codec::registry;
use crate::data_type::DataType;
use crate::diagnostic::{Code, Diagnostic, Profile, code};
use crate::element::{ElementType, NumberType};
use crate::kernel::cast::CastOptions;
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};
use crate::pipeline::sharding_indexed::{self, IndexLocation};
use crate::pipeline::{ArrayRepresentation, BoundConfiguration, BytesSize, Representation};

fn object(text: &str) -> Option<Object> {
    let json = Json::parse_str(text).unwrap();
    json.as_object().cloned()
}

fn codes(diagnostics: &[Diagnostic]) -> Vec<(&str, &str)> {
    diagnostics.iter().map(|found| (found.code, found.location.pointer.as_deref().unwrap_or("none"))).collect()
}

fn number(name: &str) -> NumberType {
    DataType::from_name(name).unwrap().number().unwrap()
}

fn data_type(name: &str) -> DataType {
    DataType::from_name(name).unwrap()
}

/// The code of the only finding, where there is one.
fn only<T>((_, diagnostics): &(Option<T>, Vec<Diagnostic>)) -> Option<&'static str> {
    assert!(diagnostics.len() <= 1, "{diagnostics:?}");
    diagnostics.first().map(|found| found.code)
}

/// The findings of a configuration, of a codec that no array reaches.
fn found(name: &str, text: &str, pointer: &str) -> Vec<Diagnostic> {
    let codec = CodecMetadata { pointer: pointer.to_owned(), ..CodecMetadata::new(name, object(text)) };
    let mut found = Vec::new();
    registry::find(name).unwrap().array.unwrap().bind(&codec, None, &mut found);
    found
}

/// A codec bound to an array of a type and shape.
fn bound(name: &str, text: &str, data_type: DataType, shape: &[u64]) -> (BoundArray, Vec<Diagnostic>) {
    let array = ArrayRepresentation { data_type, shape: shape.to_vec(), fill_value: None };
    let (codec, mut found) = (CodecMetadata::new(name, object(text)), Vec::new());
    let kind = registry::find(name).unwrap().array.unwrap();
    (kind.bind(&codec, Some(&array), &mut found), found)
}

/// A codec of any kind made of its configuration, where it is one, and the findings.
fn parse(codec: &CodecMetadata) -> (Option<()>, Vec<Diagnostic>) {
    let array = ArrayRepresentation { data_type: data_type("uint8"), shape: vec![16], fill_value: None };
    let mut found = Vec::new();
    if codec.name == "sharding_indexed" {
        let (bound, _) = sharding_indexed::bind(codec, Some(&array), &mut found);
        return (matches!(bound, BoundConfiguration::Sharding(_)).then_some(()), found);
    }
    let Some(kind) = registry::find(&codec.name).unwrap().array else {
        let parsed = registry::parse_bytes_codec(codec, &mut found);
        return (parsed.map(drop), found);
    };
    (kind.bind(codec, Some(&array), &mut found).codec.map(drop), found)
}

#[test]
fn every_unknown_member_is_found_with_its_pointer() {
    let text = r#"{"data_type": "uint8", "a": 1, "b/c": 2, "scalar_map": {"x": []}}"#;
    let diagnostics = found("cast_value", text, "/codecs/1");
    let unknown = code::CONFIGURATION_UNKNOWN.code;
    assert_eq!(
        codes(&diagnostics),
        [
            (unknown, "/codecs/1/configuration/a"),
            (unknown, "/codecs/1/configuration/b~1c"),
            (unknown, "/codecs/1/configuration/scalar_map/x"),
        ]
    );
    assert!(diagnostics.iter().all(Diagnostic::is_error));
    for (name, text) in [
        ("scale_offset", r#"{"x": 1}"#),
        ("transpose", r#"{"order": [0], "x": 1}"#),
        ("bytes", r#"{"x": 1}"#),
        ("packbits", r#"{"x": 1}"#),
        ("crc32c", r#"{"x": 1}"#),
        ("zstd", r#"{"level": 1, "x": 1}"#),
        ("gzip", r#"{"level": 1, "x": 1}"#),
        ("blosc", r#"{"cname": "lz4", "clevel": 1, "shuffle": "noshuffle", "blocksize": 0, "x": 1}"#),
        (
            "sharding_indexed",
            r#"{"chunk_shape": [1], "codecs": [{"name": "bytes"}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "x": 1}"#,
        ),
    ] {
        let parsed = parse(&CodecMetadata::new(name, object(text)));
        assert_eq!(only(&parsed), Some(unknown), "{name}");
        assert!(parsed.0.is_some(), "{name}");
    }
}

#[test]
fn configuration_that_is_absent_is_one_fault_where_a_member_is_required() {
    for (name, expected) in [
        ("scale_offset", None),
        ("bytes", None),
        ("packbits", None),
        ("crc32c", None),
        ("cast_value", Some(code::CONFIGURATION_MISSING)),
        ("transpose", Some(code::CONFIGURATION_MISSING)),
        ("zstd", Some(code::CONFIGURATION_MISSING)),
        ("gzip", Some(code::CONFIGURATION_MISSING)),
        ("blosc", Some(code::CONFIGURATION_MISSING)),
        ("sharding_indexed", Some(code::CONFIGURATION_MISSING)),
    ] {
        let mut codec = CodecMetadata::new(name, None);
        codec.pointer = "/codecs/0".to_owned();
        let parsed = parse(&codec);
        assert_eq!(only(&parsed), expected.map(|code: Code| code.code), "{name}");
        assert_eq!(parsed.0.is_some(), expected.is_none(), "{name}");
        assert!(parsed.1.iter().all(|found| found.location.pointer.as_deref() == Some("/codecs/0")));
    }
}

#[test]
fn scale_offset_scalars_are_those_of_the_data_type() {
    let bind = |text: &str, name: &str| {
        let (bound, found) = bound("scale_offset", text, data_type(name), &[16]);
        let scalars = bound.codec.map(|codec| match codec.role() {
            Role::ScaleOffset(codec) => (codec.offset(), codec.scale()),
            other => panic!("{other:?}"),
        });
        (scalars, found)
    };
    let (scalars, diagnostics) = bind(r#"{"offset": "0x3fc00000", "scale": 0.1}"#, "float32");
    assert_eq!(scalars, Some((Some(0x3fc0_0000), Some(u64::from(0.1_f32.to_bits())))));
    assert_eq!(diagnostics, []);
    assert_eq!(bind(r#"{"offset": -1}"#, "int8").0, Some((Some(0xff), None)));
    assert_eq!(bind(r#"{"offset": 1023}"#, "uint10").0, Some((Some(1023), None)));
    for (text, name, expected) in [
        (r#"{"offset": 200}"#, "int8", code::SCALE_OFFSET_SCALAR),
        (r#"{"offset": 1024}"#, "uint10", code::SCALE_OFFSET_SCALAR),
        (r#"{"scale": 0.1}"#, "int8", code::SCALE_OFFSET_SCALAR),
        (r#"{"scale": "2"}"#, "int8", code::SCALE_OFFSET_SCALAR),
        (r#"{"scale": "0.1"}"#, "float32", code::SCALE_OFFSET_SCALAR),
        (r#"{"scale": "0x80000000"}"#, "float32", code::SCALE_OFFSET_SCALE_ZERO),
        ("{}", "bool", code::SCALE_OFFSET_DATA_TYPE),
        ("{}", "complex64", code::SCALE_OFFSET_DATA_TYPE),
        ("{}", "r16", code::SCALE_OFFSET_DATA_TYPE),
    ] {
        let parsed = bind(text, name);
        assert_eq!(only(&parsed), Some(expected.code), "{text} {name}");
        assert!(parsed.0.is_none(), "{text} {name}");
    }
    // Read with a warning.
    let parsed = bind(r#"{"scale": 2.0}"#, "int8");
    assert_eq!(only(&parsed), Some(code::INTEGER_WITH_FRACTION.code));
    assert!(!Profile::Read.forbids(&parsed.1[0]));
    assert_eq!(parsed.0, Some((None, Some(2))));
}

#[test]
fn scale_offset_of_zero_is_refused_without_a_data_type() {
    let zero = "/configuration/scale";
    for text in [r#"{"scale": 0}"#, r#"{"scale": -0.0}"#, r#"{"scale": 0e5}"#] {
        assert_eq!(codes(&found("scale_offset", text, "")), [(code::SCALE_OFFSET_SCALE_ZERO.code, zero)], "{text}");
    }
}

#[test]
fn scale_offset_is_written_without_what_says_nothing() {
    let written = |offset, scale, name| {
        let metadata = scale_offset::to_metadata(&ScaleOffset::new(number(name), offset, scale));
        metadata.configuration.map(|members| Json::from(members).to_string_compact())
    };
    let f32_bits = |value: f32| Some(u64::from(value.to_bits()));
    assert_eq!(written(f32_bits(0.0), f32_bits(1.0), "float32"), None);
    assert_eq!(written(f32_bits(-0.0), None, "float32"), None);
    assert_eq!(written(None, Some(1), "int16"), None);
    assert_eq!(written(f32_bits(1.5), f32_bits(1.0), "float32").as_deref(), Some(r#"{"offset":1.5}"#));
    assert_eq!(written(Some(0xff), Some(2), "int8").as_deref(), Some(r#"{"offset":-1,"scale":2}"#));
}

#[test]
fn cast_value_binds_both_directions() {
    let text = r#"{"data_type": "uint8", "rounding": "towards-zero", "out_of_range": "wrap", "scalar_map": {
        "encode": [["NaN", 0], ["+Infinity", 1], ["0x7fc00001", 2], [1.5, 7], [1.5, 9]],
        "decode": [[0, "NaN"], [2, "0x7fc00001"]]}}"#;
    let (bound, diagnostics) = bound("cast_value", text, data_type("float32"), &[16]);
    let map = "/configuration/scalar_map/encode";
    assert_eq!(
        codes(&diagnostics),
        [
            (code::PLUS_INFINITY.code, format!("{map}/1").as_str()),
            (code::CAST_VALUE_SCALAR_REPEATED.code, format!("{map}/4").as_str()),
        ]
    );
    assert!(!diagnostics.iter().any(Diagnostic::is_error));
    let bound = bound.codec.unwrap();
    let Role::Cast { encode, decode } = bound.role() else { panic!("{bound:?}") };
    let (encode, decode) = (encode.options(), decode.options());
    assert_eq!((encode.source, encode.target), (number("float32"), number("uint8")));
    assert_eq!((encode.rounding, encode.out_of_range), (Rounding::TowardsZero, OutOfRange::Wrap));
    assert_eq!(
        encode.scalar_map,
        [(0x7fc0_0000, 0), (0x7f80_0000, 1), (0x7fc0_0001, 2), (u64::from(1.5_f32.to_bits()), 7)]
    );
    assert_eq!((decode.source, decode.target), (number("uint8"), number("float32")));
    assert_eq!(decode.scalar_map, [(0, 0x7fc0_0000), (2, 0x7fc0_0001)]);
    let written = Json::from(bound.written().unwrap().configuration.unwrap()).to_string_compact();
    assert_eq!(
        written,
        concat!(
            r#"{"data_type":"uint8","rounding":"towards-zero","out_of_range":"wrap","scalar_map":{"#,
            r#""encode":[["NaN",0],["Infinity",1],["0x7fc00001",2],[1.5,7]],"#,
            r#""decode":[[0,"NaN"],[2,"0x7fc00001"]]}}"#
        )
    );
}

#[test]
fn cast_value_is_written_without_what_says_nothing() {
    let cast = |source, target| {
        let (rounding, out_of_range) = (Rounding::NearestEven, OutOfRange::Error);
        CastOptions { source, target, rounding, out_of_range, scalar_map: Vec::new() }
    };
    let (float64, uint10) = (NumberType::of(ElementType::Float64), number("uint10"));
    let metadata = cast_value::to_metadata(&cast(float64, uint10), &cast(uint10, float64));
    let written = Json::from(metadata.configuration.unwrap()).to_string_compact();
    assert_eq!(written, r#"{"data_type":"uint10"}"#);
}

#[test]
fn cast_value_finds_every_entry_that_is_no_value() {
    let text = r#"{"data_type": "int8", "scalar_map": {
        "encode": [["NaN", 128], [1], "x", ["NaN", 1.5]], "decode": [[-129, 0], ["NaN", 0]]}}"#;
    let diagnostics = found("cast_value", text, "");
    let map = "/configuration/scalar_map";
    let scalar = code::CAST_VALUE_SCALAR.code;
    let expected = ["encode/0", "encode/1", "encode/2", "encode/3", "decode/0", "decode/1"];
    let expected: Vec<String> = expected.iter().map(|entry| format!("{map}/{entry}")).collect();
    let found = codes(&diagnostics);
    assert!(found.iter().all(|entry| entry.0 == scalar), "{found:?}");
    assert_eq!(found.iter().map(|entry| entry.1).collect::<Vec<_>>(), expected);
}

#[test]
fn cast_value_takes_integers_and_real_floats_only() {
    for (text, expected) in [
        (r#"{"data_type": "bool"}"#, code::CAST_VALUE_DATA_TYPE),
        (r#"{"data_type": "complex64"}"#, code::CAST_VALUE_DATA_TYPE),
        (r#"{"data_type": "r8"}"#, code::CAST_VALUE_DATA_TYPE),
        (r#"{"data_type": 8}"#, code::DATA_TYPE_INVALID),
        (r#"{"data_type": "float32", "out_of_range": "wrap"}"#, code::CAST_VALUE_WRAP),
        (r#"{"data_type": "uint8", "rounding": "up"}"#, code::CONFIGURATION_VALUE),
        (r#"{"data_type": "uint8", "rounding": 1}"#, code::CONFIGURATION_TYPE),
        (r#"{"data_type": "uint8", "out_of_range": null}"#, code::CONFIGURATION_TYPE),
        (r#"{"data_type": "uint8", "scalar_map": []}"#, code::CONFIGURATION_TYPE),
    ] {
        assert_eq!(only(&(None::<()>, found("cast_value", text, ""))), Some(expected.code), "{text}");
    }
    // An integer array and its inverse: `data_type` decides, not the array.
    let bind = |text: &str, name: &str| {
        let (bound, found) = bound("cast_value", text, data_type(name), &[16]);
        (bound.codec, found)
    };
    let text = r#"{"data_type": {"name": "uint8"}, "out_of_range": "wrap"}"#;
    let bound = bind(text, "float32");
    assert!(bound.0.is_some() && only(&bound).is_none());
    assert_eq!(only(&bind(text, "bool")), Some(code::CAST_VALUE_DATA_TYPE.code));
    // An integer that the float does not hold: a warning.
    let text = r#"{"data_type": "float32"}"#;
    let bound = bind(text, "int32");
    assert_eq!(only(&bound), Some(code::CAST_VALUE_LOSSY.code));
    assert!(bound.0.is_some() && is_lossy(number("int32"), number("float32")));
    assert_eq!(only(&bind(text, "int16")), None);
}

#[test]
fn transpose_takes_permutations_and_letters() {
    let bind = |order: &str, dimensions: usize| {
        let shape = vec![2; dimensions];
        let (bound, found) = bound("transpose", &format!(r#"{{"order": {order}}}"#), DataType::Bool, &shape);
        let order = bound.codec.map(|codec| match codec.role() {
            Role::Transpose(order) => order.to_vec(),
            other => panic!("{other:?}"),
        });
        (order, found)
    };
    for order in ["[0, 0]", "[1, 2]", "[-1, 0]", "[0.0]", "[true]", "[\"0\"]", "\"f\""] {
        let bound = bind(order, 2);
        assert!(bound.0.is_none() && bound.1.iter().all(|found| found.is(code::TRANSPOSE_ORDER)), "{order}");
    }
    assert_eq!(only(&bind("{}", 2)), Some(code::CONFIGURATION_TYPE.code));
    for (order, dimensions, expected) in
        [("[]", 0, Some(vec![])), ("[1, 2, 0]", 3, Some(vec![1, 2, 0])), ("[0]", 2, None), ("[]", 1, None)]
    {
        let bound = bind(order, dimensions);
        assert_eq!(only(&bound).is_none(), expected.is_some(), "{order}");
        assert_eq!(bound.0, expected, "{order}");
    }
    for (order, expected) in [("\"C\"", vec![0, 1, 2]), ("\"F\"", vec![2, 1, 0])] {
        let bound = bind(order, 3);
        assert_eq!((only(&bound), &bound.0), (Some(code::TRANSPOSE_ORDER_LETTER.code), &Some(expected)));
    }
}

#[test]
fn bytes_without_a_byte_order_is_little_with_a_warning() {
    let bind = |name: &str| {
        let (bound, found) = bound("bytes", "{}", data_type(name), &[16]);
        (bound.codec.and_then(|codec| codec.written()?.configuration), found)
    };
    let (written, found) = bind("uint10");
    assert_eq!(written, object(r#"{"endian": "little"}"#));
    assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), [code::ENDIAN_MISSING.code]);
    assert!(!Profile::Read.forbids(&found[0]));
    for name in ["uint8", "bool", "r16"] {
        assert_eq!(bind(name), (None, Vec::new()), "{name}");
    }
}

#[test]
fn packbits_keeps_the_bits_of_the_data_type() {
    let bind = |text: &str, name: &str| {
        let (bound, found) = bound("packbits", text, data_type(name), &[16]);
        (bound.output, found)
    };
    let text = r#"{"first_bit": null, "padding_encoding": "last_byte"}"#;
    for (text, name, bytes) in [
        (text, "uint10", 21),
        ("{}", "complex128", 256),
        ("{}", "float16", 32),
        ("{}", "bool", 2),
        (r#"{"first_bit": 2, "last_bit": 5}"#, "int8", 8),
    ] {
        let expected = Some(Representation::Bytes(BytesSize::Fixed(bytes)));
        assert_eq!(bind(text, name), (expected, Vec::new()), "{text} {name}");
    }
    for (text, name, expected) in [
        (r#"{"last_bit": 10}"#, "uint10", code::CONFIGURATION_VALUE),
        (r#"{"first_bit": 10}"#, "uint10", code::CONFIGURATION_VALUE),
        ("{}", "r16", code::CODEC_DATA_TYPE),
    ] {
        assert_eq!(only(&bind(text, name)), Some(expected.code), "{text} {name}");
    }
    let found = found("packbits", r#"{"first_bit": 4, "last_bit": 3}"#, "");
    assert_eq!(codes(&found), [(code::CONFIGURATION_VALUE.code, "/configuration/last_bit")]);
}

#[test]
fn sharding_indexed_divides_the_shard() {
    let bind = |text: &str, shape: &[u64]| {
        let codec =
            CodecMetadata { pointer: "/codecs/0".to_owned(), ..CodecMetadata::new("sharding_indexed", object(text)) };
        let array = ArrayRepresentation { data_type: data_type("uint8"), shape: shape.to_vec(), fill_value: None };
        let mut found = Vec::new();
        let (bound, _) = sharding_indexed::bind(&codec, Some(&array), &mut found);
        let stage = if let BoundConfiguration::Sharding(stage) = bound { Some(stage) } else { None };
        (stage, found)
    };
    let endian = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
    let text = format!(r#"{{"chunk_shape": [2, 3], "codecs": [{{"name": "bytes"}}], "index_codecs": [{endian}]}}"#);
    let (stage, diagnostics) = bind(&text, &[4, 9]);
    assert_eq!(diagnostics, []);
    let stage = stage.unwrap();
    assert_eq!(stage.index_location, IndexLocation::End);
    assert_eq!(stage.inner.stages[0].metadata.pointer, "/codecs/0/configuration/codecs/0");
    assert_eq!(stage.index.input.shape, [2, 3, 2]);
    for shape in [&[4, 8][..], &[4], &[4, 9, 1]] {
        assert_eq!(only(&bind(&text, shape)), Some(code::SHARDING_SHAPE.code), "{shape:?}");
    }
    let text = r#"{"chunk_shape": [0, 1.0, "1", -1], "codecs": [{"name": "bytes"}], "index_codecs": [],
        "index_location": "middle"}"#;
    let (stage, diagnostics) = bind(text, &[4, 9]);
    assert!(stage.is_none());
    let pointers: Vec<&str> = codes(&diagnostics).iter().map(|found| found.1).collect();
    for pointer in ["chunk_shape/0", "chunk_shape/1", "chunk_shape/2", "chunk_shape/3", "index_location"] {
        assert!(pointers.contains(&format!("/codecs/0/configuration/{pointer}").as_str()), "{pointers:?}");
    }
}

#[test]
fn compressors_are_within_their_bounds() {
    for (name, text, expected) in [
        ("zstd", r#"{"level": 22}"#, None),
        ("zstd", r#"{"level": -131072, "checksum": true}"#, None),
        ("zstd", r#"{"level": 23}"#, Some(code::CONFIGURATION_VALUE)),
        ("zstd", r#"{"level": "1"}"#, Some(code::CONFIGURATION_TYPE)),
        ("zstd", r#"{"level": 1, "checksum": 1}"#, Some(code::CONFIGURATION_TYPE)),
        ("gzip", r#"{"level": 9}"#, None),
        ("gzip", r#"{"level": 10}"#, Some(code::CONFIGURATION_VALUE)),
        ("gzip", r#"{"level": -1}"#, Some(code::CONFIGURATION_VALUE)),
        ("blosc", r#"{"cname": "lz4", "clevel": 9, "shuffle": "noshuffle", "blocksize": 0}"#, None),
        (
            "blosc",
            r#"{"cname": "lz4", "clevel": 9, "shuffle": "shuffle", "blocksize": 0}"#,
            Some(code::CONFIGURATION_MISSING),
        ),
        (
            "blosc",
            r#"{"cname": "lz5", "clevel": 9, "shuffle": "noshuffle", "blocksize": 0}"#,
            Some(code::CONFIGURATION_VALUE),
        ),
        (
            "blosc",
            r#"{"cname": "lz4", "clevel": 9, "shuffle": "bitshuffle", "typesize": 0, "blocksize": 0}"#,
            Some(code::CONFIGURATION_VALUE),
        ),
    ] {
        let parsed = parse(&CodecMetadata::new(name, object(text)));
        assert_eq!(only(&parsed), expected.map(|code| code.code), "{name} {text}");
    }
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
        let codec = CodecMetadata::new(format!("numcodecs.{name}"), object(configuration));
        let (is_made, found) = if let Some(kind) = registry::find(&codec.name).unwrap().array {
            let own = codec.member("dtype").and_then(|json| numpy_data_type(json.as_str()?));
            let data_type = own.unwrap_or_else(|| data_type("float64"));
            let array = ArrayRepresentation { data_type, shape: vec![3], fill_value: None };
            let mut found = Vec::new();
            let bound = kind.bind(&codec, Some(&array), &mut found);
            (bound.codec.is_some() && bound.output.is_some(), found)
        } else {
            let mut found = Vec::new();
            let parsed = registry::parse_bytes_codec(&codec, &mut found);
            (parsed.is_some(), found)
        };
        assert!(is_made || !found.is_empty(), "{name} {configuration}");
        let found: Vec<_> = found.iter().map(|found| found.code).collect();
        assert_eq!(found, expected, "{name} {configuration}");
    }
}

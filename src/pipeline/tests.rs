//! Properties of every codec: no configuration and no order of codecs makes building a pipeline panic.

use proptest::prelude::*;

use super::*;
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::Profile;
use crate::metadata::extension::read_codecs;
use crate::metadata::json::Json;

/// Codecs of every kind, most of them valid, for any array.
const CODECS: [&str; 22] = [
    r#"{"name":"bytes","configuration":{"endian":"big"}}"#,
    r#"{"name":"bytes"}"#,
    r#"{"name":"transpose","configuration":{"order":[1,0]}}"#,
    r#"{"name":"transpose","configuration":{"order":"F"}}"#,
    r#"{"name":"reshape","configuration":{"shape":[-1]}}"#,
    r#"{"name":"reshape","configuration":{"shape":[[1],2]}}"#,
    r#"{"name":"bitround","configuration":{"keepbits":3}}"#,
    r#"{"name":"scale_offset","configuration":{"offset":1,"scale":2}}"#,
    r#"{"name":"cast_value","configuration":{"data_type":"int16"}}"#,
    r#"{"name":"cast_value","configuration":{"data_type":"float8_e4m3"}}"#,
    r#"{"name":"packbits"}"#,
    r#"{"name":"numcodecs.packbits"}"#,
    r#"{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f4"}}"#,
    r#"{"name":"vlen-utf8"}"#,
    r#"{"name":"zfp","configuration":{"mode":"reversible"}}"#,
    r#"{"name":"n5_default","configuration":{"codecs":[{"name":"bytes"}]}}"#,
    r#"{"name":"conditional","configuration":{"codecs":[{"name":"gzip","configuration":{"level":1}}]}}"#,
    r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[2,1],"codecs":[{"name":"bytes"}],
        "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}"#,
    r#"{"name":"gzip","configuration":{"level":5}}"#,
    r#"{"name":"numcodecs.lz4"}"#,
    r#"{"name":"mine"}"#,
    r#"{"name":"zstd","configuration":{"level":"x"}}"#,
];

const TYPES: [&str; 8] = [
    r#""float32""#,
    r#""uint8""#,
    r#""bool""#,
    r#""complex_bfloat16""#,
    r#""float6_e3m2fn""#,
    r#""string""#,
    r#""mine""#,
    r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"}]}}"#,
];

proptest! {
    #[test]
    fn any_codecs_build_a_pipeline_and_say_what_is_wrong(
        codecs in proptest::collection::vec(proptest::sample::select(CODECS.to_vec()), 1..5),
        data_type in proptest::sample::select(TYPES.to_vec()),
        shape in proptest::collection::vec(prop_oneof![1_u64..7, Just(1 << 40), Just(u64::MAX)], 0..4),
    ) {
        let text = format!("[{}]", codecs.join(","));
        let mut diagnostics = Vec::new();
        let codecs = read_codecs(&Json::parse_str(&text).unwrap(), "/codecs", &mut diagnostics).unwrap();
        let data_type = DataType::from_metadata(&Json::parse_str(data_type).unwrap()).unwrap();
        let fill_value: Option<FillValue> = data_type.default_fill_value();
        let input = ArrayRepresentation { data_type, shape, fill_value };
        let pipeline = Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut diagnostics);
        prop_assert_eq!(pipeline.stages.len(), codecs.len());
        let is_faulty = diagnostics.iter().any(|found| Profile::Read.forbids(found));
        let is_known = pipeline.stages.iter().all(|stage| stage.kind.is_some());
        let elements = !matches!(pipeline.input.data_type, DataType::Other(_));
        if !is_faulty && is_known && elements {
            prop_assert!(pipeline.output().is_some(), "{}", text);
        }
        for found in &diagnostics {
            let pointer = found.location.pointer.as_deref().unwrap_or("");
            prop_assert!(pointer.starts_with("/codecs"), "{} at {}", found, pointer);
        }
        prop_assert!(pipeline.innermost_chunk_shape().len() <= 4);
    }
}

//! Our stages equal those of zarrs: the data type, shape, fill value and fixed size of a chunk after each codec. This
//! is checked for every array of the valid fixtures, also inside shards.

#![expect(clippy::disallowed_methods, reason = "tests read the repository's files")]
#![expect(clippy::unwrap_used, reason = "a failed test reports the line")]
#![expect(clippy::panic, reason = "a failed test reports the line")]

use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zarrcast::data_type::DataType;
use zarrcast::diagnostic::Profile;
use zarrcast::metadata::json::Json;
use zarrcast::operation::open::open_array;
use zarrcast::pipeline::{ArrayRepresentation, BoundConfiguration, BytesSize, Pipeline, Representation};
use zarrs::array::{BytesRepresentation, Codec, DataType as ZarrsDataType, FillValue};
use zarrs::metadata::v3::MetadataV3;

/// Codecs that zarrs 0.23.14 does not have, or has in another form (`fixedscaleoffset` with other type strings). `zfp`
/// and `numcodecs.zfpy` are features of zarrs that need cmake.
const NOT_IN_ZARRS: &str =
    "cast_value scale_offset numcodecs.delta numcodecs.lz4 numcodecs.fixedscaleoffset numcodecs.zfpy zfp";

/// The arrays that zarrs cannot check, because of these codecs or of an unknown data type.
const SKIPPED: &str = "\
    numcodecs_0.16.6_named_delta numcodecs_0.16.6_named_fixedscaleoffset numcodecs_0.16.6_named_lz4 uint10_bytes \
    uint10_bytes_big_endian uint10_packbits zarr-python_3.4.2_around_shards zarr-python_3.4.2_before_shards \
    zarr-python_3.4.2_cast_clamp zarr-python_3.4.2_cast_float32_to_float16 \
    zarr-python_3.4.2_cast_float64_to_float32 zarr-python_3.4.2_cast_nearest-away \
    zarr-python_3.4.2_cast_nearest-even zarr-python_3.4.2_cast_scalar_map \
    zarr-python_3.4.2_cast_towards-negative zarr-python_3.4.2_cast_towards-positive \
    zarr-python_3.4.2_cast_towards-zero zarr-python_3.4.2_cast_uint16_to_float32 zarr-python_3.4.2_cast_wrap \
    zarr-python_3.4.2_float16_as_uint16 zarr-python_3.4.2_float32_as_int16_big_endian \
    zarr-python_3.4.2_float32_as_int8_fill_finite zarr-python_3.4.2_float32_as_uint8 \
    zarr-python_3.4.2_float32_as_uint8_missing_chunks zarr-python_3.4.2_float32_as_uint8_transposed \
    zarr-python_3.4.2_float32_as_uint8_zstd zarr-python_3.4.2_float32_transposed_as_uint8 \
    zarr-python_3.4.2_float64_as_int16 zarr-python_3.4.2_float64_as_uint16 zarr-python_3.4.2_group/deeper/packed \
    zarr-python_3.4.2_group/packed zarr-python_3.4.2_inside_shards zarr-python_3.4.2_rectilinear_as_uint8 \
    zarr-python_3.4.2_registry_float32_scale_offset zarr-python_3.4.2_registry_float64_as_uint8 \
    zarr-python_3.4.2_registry_numpy_compatibility zarr-python_3.4.2_registry_uint16_as_uint8 \
    zarr-python_3.4.2_scale_offset_int32 zarr-python_3.4.2_scale_offset_no_configuration zfpy_1.0.1_named_zfpy \
    zfpy_1.0.1_zfp_fixed_accuracy zfpy_1.0.1_zfp_fixed_precision zfpy_1.0.1_zfp_fixed_rate \
    zfpy_1.0.1_zfp_reversible";

/// A chunk as zarrs describes it.
enum Seen {
    Array(Vec<NonZeroU64>, ZarrsDataType, FillValue),
    Bytes(BytesRepresentation),
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Returns the path and the document of every array of the fixtures.
fn arrays() -> Vec<(String, PathBuf, Value)> {
    let index = fs::read(fixtures().join("expected/index.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    let array = |entry: &Value| {
        let (fixture, node) = (entry["fixture"].as_str().unwrap(), entry["node"].as_str().unwrap());
        let path = fixtures().join(fixture).join(node);
        let document = serde_json::from_slice(&fs::read(path.join("zarr.json")).unwrap()).unwrap();
        let name = format!("{}/{node}", fixture.trim_start_matches("valid/"));
        (name.trim_end_matches('/').to_owned(), path, document)
    };
    index["arrays"].as_array().unwrap().iter().map(array).collect()
}

/// Checks whether a chain, or one inside its shards, has a codec that zarrs does not know.
fn is_foreign(codecs: &Value) -> bool {
    codecs.as_array().unwrap().iter().any(|codec| {
        let inner = codec.pointer("/configuration/codecs");
        NOT_IN_ZARRS.split(' ').any(|name| codec["name"] == name) || inner.is_some_and(is_foreign)
    })
}

fn metadata(json: &Value) -> MetadataV3 {
    serde_json::from_value(json.clone()).unwrap()
}

fn shape(shape: &[u64]) -> Vec<NonZeroU64> {
    shape.iter().map(|length| NonZeroU64::new(*length).unwrap()).collect()
}

/// Returns the chunk after a codec according to zarrs.
fn after(codec: &Value, seen: Seen) -> Seen {
    let name = &codec["name"];
    match (Codec::from_metadata(&metadata(codec)).unwrap(), seen) {
        (Codec::ArrayToArray(codec), Seen::Array(shape, data_type, fill)) => {
            let (shape, data_type, fill) = codec.encoded_representation(&shape, &data_type, &fill).unwrap();
            Seen::Array(shape, data_type, fill)
        }
        (Codec::ArrayToBytes(codec), Seen::Array(shape, data_type, fill)) => {
            Seen::Bytes(codec.encoded_representation(&shape, &data_type, &fill).unwrap())
        }
        (Codec::BytesToBytes(codec), Seen::Bytes(bytes)) => Seen::Bytes(codec.encoded_representation(&bytes)),
        _ => panic!("{name} does not take what reaches it"),
    }
}

fn assert_same(place: &str, ours: &Representation, theirs: &Seen) {
    match (ours, theirs) {
        (Representation::Array(array), Seen::Array(shape, data_type, fill)) => {
            let extents: Vec<u64> = shape.iter().map(|length| length.get()).collect();
            assert_eq!(array.shape, extents, "{place}: shape");
            let theirs = data_type.name_v3().unwrap().into_owned();
            assert_eq!(array.data_type.name(), theirs, "{place}: data type");
            if let Some(own) = &array.fill_value {
                assert_eq!(own.0.as_slice(), fill.as_ne_bytes(), "{place}: fill value");
            }
        }
        (Representation::Bytes(own), Seen::Bytes(theirs)) => {
            let fixed = if let BytesSize::Fixed(bytes) = own { Some(*bytes) } else { None };
            let is_shard = matches!(theirs, BytesRepresentation::BoundedSize(_)) && fixed.is_none();
            assert!(fixed == theirs.size_fixed() || is_shard, "{place}: {own:?} and {theirs:?}");
        }
        _ => panic!("{place}: an array on one side, bytes on the other"),
    }
}

trait FixedSize {
    fn size_fixed(&self) -> Option<u64>;
}

impl FixedSize for BytesRepresentation {
    fn size_fixed(&self) -> Option<u64> {
        if let BytesRepresentation::FixedSize(size) = self { Some(*size) } else { None }
    }
}

/// Compares every stage of our pipeline with the codecs of the document. Returns the number of stages.
fn compare(place: &str, pipeline: &Pipeline, codecs: &Value, fill: &FillValue) -> usize {
    let ArrayRepresentation { data_type, shape: extents, .. } = &pipeline.input;
    let data_type: Value = serde_json::from_str(&data_type.to_metadata().to_string()).unwrap();
    let zarrs_type = ZarrsDataType::from_metadata(&metadata(&data_type)).unwrap();
    let mut seen = Seen::Array(shape(extents), zarrs_type, fill.clone());
    let codecs = codecs.as_array().unwrap();
    assert_eq!(pipeline.stages.len(), codecs.len(), "{place}");
    let mut count = 0;
    for (stage, codec) in pipeline.stages.iter().zip(codecs) {
        let place = format!("{place} > {}", stage.metadata.name);
        let before = match &seen {
            Seen::Array(_, _, fill) => fill.clone(),
            Seen::Bytes(_) => fill.clone(),
        };
        seen = after(codec, seen);
        assert_same(&place, stage.output.as_ref().unwrap(), &seen);
        count += 1;
        if let BoundConfiguration::Sharding(sharding) = &stage.configuration {
            let configuration = &codec["configuration"];
            count += compare(&place, &sharding.inner, &configuration["codecs"], &before);
            let absent = FillValue::from(u64::MAX);
            count += compare(&place, &sharding.index, &configuration["index_codecs"], &absent);
        }
    }
    count
}

#[test]
fn stages_of_every_valid_fixture_equal_those_of_zarrs() {
    let (mut count, mut skipped) = (0, Vec::new());
    for (name, path, document) in arrays() {
        let pipeline = open_array(&path.into(), None, Profile::Validate).unwrap().pipeline;
        assert!(pipeline.stages.iter().all(|stage| stage.output.is_some()), "{name}: a stage has no output");
        let odd = ZarrsDataType::from_metadata(&metadata(&document["data_type"])).is_err();
        if odd || is_foreign(&document["codecs"]) {
            skipped.push(name);
            continue;
        }
        let zarrs_type = ZarrsDataType::from_metadata(&metadata(&document["data_type"])).unwrap();
        let fill = serde_json::from_value(document["fill_value"].clone()).unwrap();
        let fill = zarrs_type.fill_value_v3(&fill).unwrap();
        let own = pipeline.input.fill_value.as_ref().unwrap();
        assert_eq!(own.0.as_slice(), fill.as_ne_bytes(), "{name}: fill value");
        count += compare(&name, &pipeline, &document["codecs"], &fill);
    }
    for name in &skipped {
        eprintln!("not in zarrs: {name}");
    }
    assert_eq!(skipped.join(" "), SKIPPED);
    assert!(count > 150, "only {count} stages were compared");
}

/// Data types of zarrs, each with a fill value that it accepts.
const TYPES: [(&str, &str); 16] = [
    (r#""int4""#, "-8"),
    (r#""uint2""#, "3"),
    (r#""bfloat16""#, r#""0x7fc1""#),
    (r#""float8_e4m3""#, r#""0x7c""#),
    (r#""float8_e8m0fnu""#, r#""0xff""#),
    (r#""float6_e3m2fn""#, r#""0x1f""#),
    (r#""complex_bfloat16""#, r#"["0x3f80", "0x8000"]"#),
    (r#""complex_float16""#, r#"[1.5, "NaN"]"#),
    (r#""complex_float32""#, "[0.1, -0.0]"),
    (r#""complex_float8_e5m2""#, r#"["0x3c", "0x7e"]"#),
    (r#"{"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1}}"#, r#""NaT""#),
    (r#"{"name":"numpy.timedelta64","configuration":{"unit":"s","scale_factor":10}}"#, "-5"),
    (r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":12}}"#, r#""é!""#),
    (r#""string""#, r#""é""#),
    (r#""r24""#, "[1, 2, 255]"),
    (r#""bool""#, "true"),
];

#[test]
fn fill_values_and_sizes_of_every_type_equal_those_of_zarrs() {
    for (data_type, fill_value) in TYPES {
        let own = DataType::from_metadata(&Json::parse_str(data_type).unwrap()).unwrap();
        let theirs = serde_json::from_str::<Value>(data_type).unwrap();
        let theirs = ZarrsDataType::from_metadata(&metadata(&theirs)).unwrap();
        assert_eq!(own.size(), theirs.fixed_size(), "{data_type}");
        let json: Value = serde_json::from_str(fill_value).unwrap();
        let fill = theirs.fill_value_v3(&serde_json::from_value(json).unwrap());
        let fill = fill.unwrap_or_else(|error| panic!("{data_type} {fill_value}: {error}"));
        let read = own.fill_value_from_json(&Json::parse_str(fill_value).unwrap()).unwrap();
        assert_eq!(read.value.0.as_slice(), fill.as_ne_bytes(), "{data_type} {fill_value}");
    }
}

//! Codecs in places of `.zarray` where other writers put them: documents and chunks never disagree.

use serde_json::{Value, json};

use super::support::{CliTest, float32};

/// The document of a 2 x 2 array of float32 in one chunk.
fn document(filters: &Value, compressor: &Value) -> String {
    let document = json!({"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "<f4", "fill_value": 0.0,
        "order": "C", "filters": filters, "compressor": compressor});
    document.to_string()
}

/// An array with the chunk that its codecs have made.
fn array(name: &str, filters: &Value, compressor: &Value, chunk: &[u8]) -> CliTest {
    let test = CliTest::new();
    test.write(&format!("{name}/.zarray"), document(filters, compressor))
        .write(&format!("{name}/0.0"), chunk);
    test
}

const VALUES: [f32; 4] = [1.0, 2.5, -3.0, 4.0];

fn zarray(test: &CliTest, name: &str) -> [Value; 2] {
    let document = test.read_json(&format!("{name}/.zarray"));
    ["filters", "compressor"].map(|member| document[member].clone())
}

fn transcode(test: &CliTest, source: &str, destination: &str, options: &[&str]) {
    let run = test.run(["transcode", "--json", "--verify", source, destination].iter().chain(options));
    assert_eq!(run.status, 0, "{options:?}: {}", run.error);
    assert_eq!(run.json()["nodes"][0]["verify"]["equal"], true, "{options:?}");
}

fn is_equal(test: &CliTest, name: &str, other: &str) {
    let run = test.run(["validate", "--level", "data", name, "--against", other]);
    assert_eq!(run.status, 0, "{}", run.text());
}

#[test]
fn d7_shuffle_and_checksums_as_compressor_are_taken_off_with_the_chunks() {
    for compressor in [
        json!({"id": "shuffle", "elementsize": 4}),
        json!({"id": "crc32"}),
        json!({"id": "crc32c"}),
        json!({"id": "adler32"}),
        json!({"id": "fletcher32"}),
        json!({"id": "jenkins_lookup3"}),
    ] {
        let test = array("plain", &Value::Null, &Value::Null, &float32(&VALUES));
        let codec = format!("numcodecs.{}", compressor["id"].as_str().unwrap());
        let mut configuration = compressor.clone();
        configuration.as_object_mut().unwrap().remove("id");
        let chain = json!([{"name": "bytes", "configuration": {"endian": "little"}},
            {"name": codec, "configuration": configuration}]);
        transcode(&test, "plain", "filter", &["--codecs", &chain.to_string()]);
        assert_eq!(zarray(&test, "filter"), [json!([compressor]), Value::Null]);
        // As other writers have it.
        test.write("a/.zarray", document(&Value::Null, &compressor)).write("a/0.0", test.read("filter/0.0"));
        is_equal(&test, "a", "plain");
        for (name, options, expected) in [
            ("none", ["--compress", "none"], Value::Null),
            ("zstd", ["--compress", "zstd:1"], json!({"id": "zstd", "level": 1})),
            (
                "codecs",
                ["--codecs", r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#],
                Value::Null,
            ),
            ("cut", ["-c", "1,2"], compressor.clone()),
            ("double", ["-d", "float64"], compressor.clone()),
        ] {
            transcode(&test, "a", name, &options);
            assert_eq!(zarray(&test, name), [Value::Null, expected], "{name}");
            is_equal(&test, name, "plain");
        }
    }
}

#[test]
fn d7_delta_as_compressor_is_read_as_a_filter_with_a_warning() {
    let delta = json!({"id": "delta", "dtype": "<f4"});
    let test = array("a", &Value::Null, &delta, &float32(&[1.0, 1.5, -5.5, 7.0]));
    let run = test.run(["validate", "--json", "--level", "data", "a"]);
    assert_eq!((run.status, run.json()["findings"][0]["code"].clone()), (0, json!("ZM213")));
    test.run(["apply-codec", "--decode", "--like", "a", "--chunk", "0,0", "out"]);
    assert_eq!(test.read("out"), float32(&VALUES));
    for (name, compress, expected) in [
        ("copy", "none", [Value::Null, delta.clone()]),
        ("zstd", "zstd:1", [json!([delta]), json!({"id": "zstd", "level": 1})]),
    ] {
        transcode(&test, "a", name, &["--compress", compress]);
        assert_eq!(zarray(&test, name), expected);
        is_equal(&test, name, "a");
    }
    transcode(&test, "a", "v3", &["--zarr-format", "3"]);
    is_equal(&test, "v3", "a");
    transcode(
        &test,
        "a",
        "plain",
        &["--codecs", r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#],
    );
    assert_eq!(zarray(&test, "plain"), [Value::Null, Value::Null]);
    assert_eq!(test.read("plain/0.0"), float32(&VALUES));
}

#[test]
fn d6_unknown_compressor_becomes_a_filter_when_its_chunks_are_compressed() {
    let lerc = json!({"id": "imagecodecs_lerc", "level": 0});
    let test = array("a", &Value::Null, &lerc, b"what only lerc reads");
    transcode(&test, "a", "none", &["--compress", "none"]);
    assert_eq!(zarray(&test, "none"), [Value::Null, lerc.clone()]);
    assert_eq!(test.read("none/0.0"), b"what only lerc reads");
    transcode(&test, "a", "zstd", &["--compress", "zstd:1"]);
    assert_eq!(zarray(&test, "zstd"), [json!([lerc]), json!({"id": "zstd", "level": 1})]);
    transcode(&test, "zstd", "gzip", &["--compress", "gzip:1"]);
    assert_eq!(zarray(&test, "gzip"), [json!([lerc]), json!({"id": "gzip", "level": 1})]);
    transcode(&test, "gzip", "off", &["--compress", "none"]);
    assert_eq!(zarray(&test, "off"), [json!([lerc]), Value::Null]);
    assert_eq!(test.read("off/0.0"), b"what only lerc reads");
    let chain = r#"[{"name":"bytes","configuration":{"endian":"little"}},
        {"name":"numcodecs.imagecodecs_lerc","configuration":{"level":0}},{"name":"gzip","configuration":{"level":1}}]"#;
    transcode(&test, "a", "codecs", &["--codecs", chain]);
    assert_eq!(zarray(&test, "codecs"), zarray(&test, "gzip"));
    let bytes = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
    test.run(["transcode", "--codecs", bytes, "a", "b"]).fails(1, &["imagecodecs_lerc", "cannot be decoded"]);
    assert!(!test.exists("b"));
}

#[test]
fn d6_unknown_filter_stays_whatever_compresses_behind_it() {
    let wavpack = json!([{"id": "wavpack", "level": 1}]);
    let zlib = json!({"id": "zlib", "level": 1});
    let test = array("a", &wavpack, &Value::Null, b"sound");
    transcode(&test, "a", "zlib", &["--compress", "gzip:1"]);
    assert_eq!(zarray(&test, "zlib"), [wavpack.clone(), json!({"id": "gzip", "level": 1})]);
    transcode(&test, "zlib", "none", &["--compress", "none"]);
    assert_eq!(
        (zarray(&test, "none"), test.read("none/0.0")),
        ([wavpack.clone(), Value::Null], b"sound".to_vec())
    );
    transcode(&test, "a", "v3", &["--zarr-format", "3", "--compress", "zstd:1"]);
    let document = test.read_json("v3/zarr.json");
    let names = document["codecs"].as_array().unwrap().iter().map(|codec| codec["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["numcodecs.wavpack", "bytes", "zstd"]);
    let both = array("a", &wavpack, &zlib, b"");
    both.run(["transcode", "--compress", "zstd:1", "a", "b"]).fails(1, &["zlib"]);
}

const BESIDE: &str = "{\"units\":\"K\",\n \"_FillValue\": -9.999e3, \"_ARRAY_DIMENSIONS\":[\"y\", \"x\"]}";

/// An array whose `_FillValue` stands beside its fill value, as netCDF-C and GDAL write it.
fn beside(fill_value: &str, attributes: &str) -> CliTest {
    let test = array("a", &Value::Null, &Value::Null, &float32(&VALUES));
    let document = document(&Value::Null, &Value::Null).replace("\"fill_value\":0.0", fill_value);
    assert!(document.contains(fill_value));
    test.write("a/.zarray", document).write("a/.zattrs", attributes);
    test
}

#[test]
fn d5_fill_value_attribute_beside_the_fill_value_is_kept_as_written() {
    for (fill_value, attributes) in [
        ("\"fill_value\":-9999.0", BESIDE),
        ("\"fill_value\":null", BESIDE),
        // They differ: xarray masks by the fill value, others by the attribute.
        ("\"fill_value\":0.5", BESIDE),
        (
            "\"fill_value\":\"NaN\"",
            "{\"_FillValue\":NaN,\"_ARRAY_DIMENSIONS\":[\"y\",\"x\"],\"units\":\"K\"}",
        ),
        ("\"fill_value\":\"NaN\"", "{\"_FillValue\":\"AAAAAAAA+H8=\",\"_ARRAY_DIMENSIONS\":[\"y\",\"x\"]}"),
        ("\"fill_value\":-9999.0", "{\"_FillValue\":-9999,\"units\":\"K\"}"),
    ] {
        let test = beside(fill_value, attributes);
        for (name, options) in [
            ("copy", &[][..]),
            ("compressed", &["--compress", "zstd:1"]),
            ("cut", &["-c", "1,1"]),
            ("renamed", &["--separator", "/"]),
        ] {
            let run = test.run(["transcode", "a", name].iter().chain(options));
            assert_eq!(run.status, 0, "{options:?}: {}", run.error);
            assert_eq!(
                test.read(&format!("{name}/.zattrs")),
                attributes.as_bytes(),
                "{fill_value} {options:?}"
            );
        }
    }
}

#[test]
fn d5_fill_value_attribute_follows_what_makes_it_wrong_in_its_place() {
    let test = beside("\"fill_value\":-9999.0", BESIDE);
    let attributes = |name: &str, options: &[&str]| {
        let run = test.run(["transcode", "a", name].iter().chain(options));
        assert_eq!(run.status, 0, "{options:?}: {}", run.error);
        let text = String::from_utf8(test.read(&format!("{name}/.zattrs"))).unwrap();
        text.split_whitespace().collect::<String>()
    };
    let names = r#""_ARRAY_DIMENSIONS":["y","x"]"#;
    let expected = format!(r#"{{"units":"K","_FillValue":7.0,{names}}}"#);
    assert_eq!(attributes("filled", &["--fill-value", "7"]), expected);
    let appended = attributes("appended", &["--attributes-append", r#"{"a":1}"#]);
    assert_eq!(appended, format!(r#"{{"units":"K","_FillValue":-9.999e3,{names},"a":1}}"#));
    let replaced = attributes("replaced", &["--attributes", r#"{"a":1}"#]);
    assert_eq!(replaced, format!(r#"{{"a":1,{names}}}"#));
    let packed = attributes("packed", &["--quantize", "uint8", "--as", "cf", "--nan-value", "255"]);
    assert!(packed.contains("\"_FillValue\":255") && packed.contains("scale_factor"), "{packed}");
}

#[test]
fn copy_refuses_what_validate_calls_an_error() {
    for (member, wrong, code) in [
        ("\"dtype\":\"<f4\"", "\"dtype\":null", "ZM103"),
        ("\"dtype\":\"<f4\"", "\"dtype\":7", "ZM103"),
        ("\"dtype\":\"<f4\"", "\"dtype\":[\"<f4\"]", "ZM103"),
        ("\"fill_value\":0.0,", "", "ZM101"),
        ("\"order\":\"C\"", "\"order\":\"A\"", "ZM211"),
        ("\"chunks\":[2,2]", "\"chunks\":[2,0]", ""),
        ("\"filters\":null", "\"filters\":{}", ""),
        ("\"zarr_format\":2", "\"zarr_format\":2,\"dimension_separator\":\"-\"", ""),
    ] {
        let test = array("a", &Value::Null, &Value::Null, &float32(&VALUES));
        let right = document(&Value::Null, &Value::Null);
        assert!(right.contains(member), "{member}: {right}");
        test.write("a/.zarray", right.replace(member, wrong));
        let found = test.run(["validate", "--json", "--level", "metadata", "a"]);
        assert_eq!(found.status, 1, "{wrong}");
        assert!(found.text().contains(code), "{wrong}: {}", found.text());
        test.run(["transcode", "a", "b"]).fails(1, &["the metadata of `a` are in error"]);
        assert!(!test.exists("b"));
    }
}

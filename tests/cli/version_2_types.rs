//! Data types of Zarr v2 that are not numpy's plain ones: tensorstore's, raw bytes, structures, and what nobody knows.

use serde_json::{Value, json};

use super::support::CliTest;

/// An array of 4 elements in a chunk of 4 in the folder `a`.
fn array(dtype: &str, fill_value: &str, chunk: &[u8]) -> CliTest {
    let test = CliTest::new();
    let document = format!(
        r#"{{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":{dtype},"fill_value":{fill_value},"order":"C",
        "filters":null,"compressor":null}}"#
    );
    test.write("a/.zarray", document).write("a/0", chunk);
    test
}

fn document(test: &CliTest, name: &str) -> Value {
    test.read_json(name)
}

/// Runs `transcode` to another folder; warnings are allowed.
fn transcode(test: &CliTest, arguments: &[&str], folders: [&str; 2]) -> Value {
    let run = test.run(["transcode", "--json", "--verify"].iter().chain(arguments).chain(&folders));
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.error);
    run.json()
}

fn codes(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

/// dtype, fill value in v2 and in v3, a chunk, and the least and greatest of its elements.
type Case = (&'static str, &'static str, &'static str, &'static [u8], [f64; 2]);

const OF_TENSORSTORE: [Case; 6] = [
    ("bfloat16", "\"NaN\"", "\"NaN\"", &[0x80, 0x3f, 0, 0xc0, 0, 0, 0x40, 0x40], [-2.0, 3.0]),
    ("int4", "-8", "-8", &[0x0f, 0xf8, 7, 0], [-8.0, 7.0]),
    ("int2", "1", "1", &[3, 0xfe, 1, 0], [-2.0, 1.0]),
    ("float8_e4m3fn", "\"NaN\"", "\"NaN\"", &[0x7e, 0xfe, 1, 0x38], [-448.0, 448.0]),
    ("float8_e5m2", "\"-Infinity\"", "\"-Infinity\"", &[0x3c, 0xbc, 0, 0x40], [-1.0, 2.0]),
    ("float4_e2m1fn", "\"Ag==\"", "1.0", &[7, 0x0f, 0, 1], [-6.0, 6.0]),
];

#[test]
fn types_of_tensorstore_are_read_with_a_warning() {
    for (name, fill_value, in_v3, chunk, [least, greatest]) in OF_TENSORSTORE {
        let test = array(&format!("\"{name}\""), fill_value, chunk);
        let found = test.run(["inspect", "--json", "--stats", "a"]).json();
        assert_eq!((&found["data_type"], &found["data_type_v2"]), (&json!(name), &json!(name)));
        assert_eq!(found["fill_value"].to_string(), in_v3, "{name}");
        let bounds = ["min", "max"].map(|bound| found["stats"][bound].as_f64().unwrap());
        assert_eq!(bounds, [least, greatest], "{name}");
        let found = test.run(["validate", "--level", "data", "--json", "a"]).succeeds().json();
        assert_eq!(codes(&found["findings"])[0], "ZM240", "{name}");
        assert!(found["findings"].as_array().unwrap().iter().all(|finding| finding["severity"] != "error"));
    }
}

#[test]
fn types_of_tensorstore_go_to_v3_and_back_as_they_are() {
    for (name, fill_value, in_v3, chunk, _) in OF_TENSORSTORE {
        let test = array(&format!("\"{name}\""), fill_value, chunk);
        transcode(&test, &[], ["a", "copy"]);
        assert_eq!(test.all_files("copy"), test.all_files("a"));
        transcode(&test, &["--chunk-shape", "3"], ["a", "small"]);
        test.run(["validate", "--against", "a", "small"]).succeeds();
        let result = transcode(&test, &["--zarr-format", "3"], ["a", "b"]);
        assert_eq!(result["nodes"][0]["route"], "copy", "{name}");
        let written = document(&test, "b/zarr.json");
        assert_eq!(
            (&written["data_type"], written["fill_value"].to_string().as_str()),
            (&json!(name), in_v3)
        );
        let result = transcode(&test, &["--zarr-format", "2"], ["b", "c"]);
        assert!(codes(&result["warnings"]).contains(&"ZM240"), "{name}");
        let written = document(&test, "c/.zarray");
        assert_eq!(written["dtype"], json!(name));
        assert_eq!(written["fill_value"].to_string(), fill_value);
        assert_eq!(test.read("c/0"), chunk);
    }
}

#[test]
fn bfloat16_is_little_endian_in_v2() {
    let test = CliTest::new();
    let document_of = |endian: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"bfloat16",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2]}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":0.0,
            "codecs":[{{"name":"bytes","configuration":{{"endian":"{endian}"}}}}]}}"#
        )
    };
    test.write("a/zarr.json", document_of("big")).write("a/c/0", [0x3f, 0x80, 0xc0, 0]);
    transcode(&test, &["--zarr-format", "2"], ["a", "b"]);
    assert_eq!(document(&test, "b/.zarray")["dtype"], "bfloat16");
    assert_eq!(test.read("b/0"), [0x80, 0x3f, 0, 0xc0]);
    let big = r#"[{"name":"bytes","configuration":{"endian":"big"}}]"#;
    test.run(["transcode", "--zarr-format", "2", "--codecs", big, "a", "c"])
        .fails(1, &["`bfloat16` in big endian", "--codecs"]);
    // The only NaN that v2 can name is the canonical one.
    test.run(["transcode", "--zarr-format", "2", "--fill-value", "\"0x7fc1\"", "a", "c"])
        .fails(1, &["0x7fc1"]);
}

#[test]
fn array_of_an_unknown_dtype_is_copied_and_compressed_anew_and_nothing_else() {
    for dtype in ["\"<f16\"", "\"float8_e8m0fnu\"", "\"float32\"", r#"[["a","<i2"],["b","|O"]]"#] {
        let test = array(dtype, "0", &[1, 2, 3]);
        let found = test.run(["validate", "--level", "data", "--json", "a"]);
        assert_eq!(found.status, 1, "{dtype}");
        assert_eq!(codes(&found.json()["findings"])[0], "ZM201", "{dtype}");
        let found = test.run(["inspect", "--json", "a"]).json();
        assert_eq!(found["data_type_v2"].to_string(), dtype);
        assert_eq!(codes(&found["warnings"]), ["ZM201"], "{dtype}");
        let result = transcode(&test, &[], ["a", "b"]);
        assert_eq!(codes(&result["warnings"]), ["ZM201"], "{dtype}");
        assert_eq!(test.all_files("b"), test.all_files("a"), "{dtype}");
        for options in [["--zarr-format", "3"], ["--data-type", "int32"], ["--chunk-shape", "2"]] {
            let run = test.run(["transcode"].iter().chain(&options).chain(&["a", "c"]));
            assert_eq!(run.status, 1, "{options:?}");
            assert!(run.error.contains("`a`") && run.error.contains("error: "), "{}", run.error);
            assert!(!test.exists("c"), "{options:?}");
        }
        // Compressors need not know what they compress.
        transcode(&test, &["--compress", "zstd:1"], ["a", "c"]);
        assert_eq!(document(&test, "c/.zarray")["dtype"], document(&test, "a/.zarray")["dtype"]);
        transcode(&test, &["--compress", "none"], ["c", "d"]);
        assert_eq!(test.read("d/0"), test.read("a/0"), "{dtype}");
    }
}

#[test]
fn raw_bytes_get_the_name_of_the_core_or_that_of_zarr_python() {
    let test = array("\"|V2\"", "\"AQI=\"", &[1, 2, 3, 4, 5, 6, 7, 8]);
    let of_zarr_python = json!({"name": "raw_bytes", "configuration": {"length_bytes": 2}});
    let asked = of_zarr_python.to_string();
    for (more, data_type, fill_value, codes_of_warnings) in [
        ([].as_slice(), json!("r16"), json!([1, 2]), ["ZD107"].as_slice()),
        (&["--data-type", &asked], of_zarr_python.clone(), json!("AQI="), &[]),
    ] {
        let options: Vec<&str> = ["--overwrite", "--zarr-format", "3"].iter().chain(more).copied().collect();
        let result = transcode(&test, &options, ["a", "b"]);
        assert_eq!(codes(&result["warnings"]), codes_of_warnings);
        let written = document(&test, "b/zarr.json");
        assert_eq!((&written["data_type"], &written["fill_value"]), (&data_type, &fill_value));
        assert_eq!(test.read("b/0"), test.read("a/0"));
        test.run(["validate", "--against", "a", "b"]).succeeds();
        transcode(&test, &["--overwrite", "--zarr-format", "2"], ["b", "c"]);
        let written = document(&test, "c/.zarray");
        assert_eq!((&written["dtype"], &written["fill_value"]), (&json!("|V2"), &json!("AQI=")));
    }
}

/// `[(1, 2, 3), (4, 5, 6), ...]` of a big, a nested little and a nested big field.
const MIXED: &str = r#"[["a",">i2"],["b",[["c","<i2"],["d",">i2"]]]]"#;
const MIXED_CHUNK: &[u8] = &[0, 1, 2, 0, 0, 3, 0, 4, 5, 0, 0, 6, 0, 7, 8, 0, 0, 9, 1, 0, 0, 1, 1, 0];

#[test]
fn fields_of_both_byte_orders_become_little_endian_in_v3() {
    let test = array(MIXED, "\"AAECAAAD\"", MIXED_CHUNK);
    let fill = json!({"a": 1, "b": {"c": 2, "d": 3}});
    assert_eq!(test.run(["inspect", "--json", "a"]).succeeds().json()["fill_value"], fill);
    test.run(["validate", "--level", "data", "a"]).succeeds();
    let result = transcode(&test, &["--zarr-format", "3"], ["a", "b"]);
    assert_eq!(result["nodes"][0]["route"], "recode");
    let written = document(&test, "b/zarr.json");
    assert_eq!((&written["data_type"]["name"], &written["fill_value"]), (&json!("struct"), &fill));
    assert_eq!(written["codecs"], json!([{"name": "bytes", "configuration": {"endian": "little"}}]));
    let little = [1_i16, 2, 3, 4, 5, 6, 7, 8, 9, 256, 256, 256].map(i16::to_le_bytes).concat();
    assert_eq!(test.read("b/0"), little);
    test.run(["validate", "--against", "a", "b"]).succeeds();
    transcode(&test, &["--zarr-format", "3", "--shard-shape", "4", "--chunk-shape", "2"], ["a", "shards"]);
    test.run(["validate", "--against", "a", "shards"]).succeeds();
}

#[test]
fn fields_of_both_byte_orders_stay_so_in_v2() {
    let test = array(MIXED, "\"AAECAAAD\"", MIXED_CHUNK);
    let dtype: Value = serde_json::from_str(MIXED).unwrap();
    transcode(&test, &["--compress", "zstd:1"], ["a", "b"]);
    transcode(&test, &["--compress", "none", "--chunk-shape", "3"], ["b", "c"]);
    let written = document(&test, "c/.zarray");
    assert_eq!((&written["dtype"], &written["fill_value"]), (&dtype, &json!("AAECAAAD")));
    assert_eq!(test.read("c/0"), MIXED_CHUNK[..18]);
    // Beyond the edge stands the fill value, in the order of the fields.
    assert_eq!(test.read("c/1"), [&MIXED_CHUNK[18..], &[0, 1, 2, 0, 0, 3].repeat(2)].concat());
    let other = r#"{"a":4,"b":{"c":5,"d":6}}"#;
    transcode(&test, &["--fill-value", other], ["a", "d"]);
    assert_eq!(document(&test, "d/.zarray")["fill_value"], "AAQFAAAG");
    assert_eq!(test.read("d/0"), MIXED_CHUNK);
    let big = r#"[{"name":"bytes","configuration":{"endian":"big"}}]"#;
    transcode(&test, &["--codecs", big], ["a", "e"]);
    let dtype = json!([["a", ">i2"], ["b", [["c", ">i2"], ["d", ">i2"]]]]);
    let written = document(&test, "e/.zarray");
    assert_eq!((&written["dtype"], &written["fill_value"]), (&dtype, &json!("AAEAAgAD")));
    test.run(["validate", "--against", "a", "e"]).succeeds();
}

#[test]
fn fields_that_are_arrays_stay_in_v2() {
    let dtype = r#"[["a","<i2"],["b",[["c",">i2",[2,1]]]]]"#;
    let test = array(dtype, "\"AAAAAAAA\"", &(1..=24).collect::<Vec<u8>>());
    let found = test.run(["validate", "--level", "data", "--json", "a"]).succeeds().json();
    assert_eq!(codes(&found["findings"]), ["ZM202", "ZX105"]);
    transcode(&test, &[], ["a", "copy"]);
    assert_eq!(test.all_files("copy"), test.all_files("a"));
    transcode(&test, &["--chunk-shape", "3"], ["a", "b"]);
    let written = document(&test, "b/.zarray");
    assert_eq!(written["dtype"], serde_json::from_str::<Value>(dtype).unwrap());
    assert_eq!(test.read("b/1"), [(19..=24).collect(), vec![0; 12]].concat());
    test.run(["transcode", "--zarr-format", "3", "a", "c"]).fails(1, &["fields that are arrays", "help: "]);
}

#[test]
fn quantize_of_big_endian_floats_becomes_little_endian_in_v3() {
    let test = CliTest::new();
    let document_of = |filters: &str| {
        format!(
            r#"{{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":">f4","fill_value":0.0,"order":"C",
            "filters":{filters},"compressor":null}}"#
        )
    };
    let quantize = r#"[{"id":"quantize","digits":2,"dtype":">f4","astype":">f4"}]"#;
    let chunk = [1.5_f32, f32::MAX].map(f32::to_be_bytes).concat();
    test.write("a/.zarray", document_of(quantize)).write("a/0", chunk);
    transcode(&test, &["--zarr-format", "3"], ["a", "b"]);
    let codecs = json!([
        {"name": "numcodecs.quantize", "configuration": {"digits": 2, "dtype": "<f4", "astype": "<f4"}},
        {"name": "bytes", "configuration": {"endian": "little"}},
    ]);
    assert_eq!(document(&test, "b/zarr.json")["codecs"], codecs);
    // The filter is not done again: it would make the greatest number infinite.
    assert_eq!(test.read("b/0"), [1.5_f32, f32::MAX].map(f32::to_le_bytes).concat());
}

//! Arrays of Zarr v2, read into the form of v3.

use serde_json::json;

use super::support::CliTest;

const ZARRAY: &str = r#"{"zarr_format":2,"shape":[2,3],"chunks":[2,3],"dtype":">i2","fill_value":-1,"order":"F",
    "filters":null,"compressor":null}"#;

/// `[[1, 2, 3], [4, 5, 6]]`, column by column, big endian.
const CHUNK: &[u8] = &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6];

fn array() -> CliTest {
    let test = CliTest::new();
    test.write("a/.zarray", ZARRAY).write("a/.zattrs", r#"{"units":"K"}"#).write("a/0.0", CHUNK);
    test
}

#[test]
fn inspect_shows_a_v2_array_in_v3_form() {
    let result = array().run(["inspect", "--json", "a"]).succeeds().json();
    assert_eq!(result["zarr_format"], 2);
    assert_eq!(result["data_type"], "int16");
    assert_eq!(result["data_type_v2"], ">i2");
    assert_eq!(result["fill_value"], -1);
    assert_eq!(result["attributes"], json!({"units": "K"}));
    assert_eq!(result["chunk_key_encoding"], json!({"name": "v2", "configuration": {"separator": "."}}));
    let codecs = json!([
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "bytes", "configuration": {"endian": "big"}},
    ]);
    assert_eq!(result["codecs"], codecs);
    assert_eq!(result["storage"]["chunks_present"], 1);
    assert_eq!(result["storage"]["unknown_keys"], json!([]));
}

#[test]
fn chunk_of_a_v2_array_decodes_by_its_order_and_endianness() {
    let test = array();
    test.run(["apply-codec", "--decode", "--like", "a", "--chunk", "0,0", "out"]).succeeds();
    let expected: Vec<u8> = (1..=6_i16).flat_map(i16::to_ne_bytes).collect();
    assert_eq!(test.read("out"), expected);
}

#[test]
fn faults_of_a_v2_array_point_into_its_documents() {
    let test = array();
    test.write(
        "a/.zarray",
        ZARRAY.replace("\"compressor\":null", r#""compressor":{"id":"zstd","level":99}"#),
    );
    test.write("a/.zattrs", "[]");
    let run = test.run(["inspect", "--json", "a"]);
    assert_eq!(run.status, 1);
    let warnings = run.json()["warnings"].clone();
    let found: Vec<_> = warnings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["key"].as_str().unwrap(), finding["pointer"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [(".zarray", "/compressor/level"), (".zattrs", "")]);
}

#[test]
fn zarr_json_counts_where_both_formats_stand() {
    let test = array();
    test.write(
        "a/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","chunk_grid":{"name":"regular",
        "configuration":{"chunk_shape":[4]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,
        "codecs":[{"name":"bytes"}]}"#,
    );
    let result = test.run(["inspect", "--json", "a"]).json();
    assert_eq!((&result["zarr_format"], &result["shape"]), (&json!(3), &json!([4])));
    assert_eq!(result["warnings"][0]["code"], "ZH111");
    test.write("a/zarr.json", "{");
    let run = test.run(["inspect", "a"]);
    assert_eq!(run.status, 1);
    assert!(run.error.contains("zarr.json` is not JSON"), "{}", run.error);
}

//! `inspect`: metadata and pipeline, as text and as JSON.

use serde_json::json;

use super::support::{CliTest, fixture};

fn inspect_json(name: &str) -> serde_json::Value {
    CliTest::new().run(["inspect", "--json", fixture(name).to_str().unwrap()]).succeeds().json()
}

#[test]
fn json_has_every_member_of_an_array() {
    let result = inspect_json("zarr-python_3.4.2_float32_as_uint8_zstd");
    assert_eq!(result["schema"], "zarrcast.inspect/2");
    assert_eq!(result["node_type"], "array");
    assert_eq!(result["zarr_format"], 3);
    assert_eq!(result["shape"], json!([24, 40]));
    assert_eq!(result["data_type"], "float32");
    assert_eq!(result["fill_value"], "NaN");
    assert_eq!(result["chunk_shape"], json!([14, 25]));
    assert_eq!(result["chunk_key_encoding"], json!({"name": "default", "configuration": {"separator": "/"}}));
    assert_eq!(result["attributes"], json!({}));
    assert_eq!(result["codecs"].as_array().unwrap().len(), 4);
    assert_eq!(result["warnings"], json!([]));
    for name in ["data_type_v2", "shard_shape", "dimension_names", "stats", "histogram", "suggestion"] {
        assert_eq!(result.get(name), Some(&json!(null)), "{name}");
    }
    let storage = &result["storage"];
    assert_eq!(storage["chunks"], 4);
    assert_eq!(storage["chunks_present"], 4);
    assert_eq!(storage["shards"], json!(null));
    assert_eq!(storage["bytes_logical"], 24 * 40 * 4);
    assert_eq!(storage["unknown_keys"], json!([]));
    let pipeline = result["pipeline"].as_array().unwrap();
    let row = |place: usize| {
        let row = &pipeline[place];
        json!([row["codec"], row["kind"], row["data_type"], row["shape"], row["fill_value"], row["bytes"]])
    };
    assert_eq!(row(0), json!(["scale_offset", "array->array", "float32", [14, 25], "NaN", 1400]));
    assert_eq!(row(1), json!(["cast_value", "array->array", "uint8", [14, 25], 0, 350]));
    assert_eq!(row(2), json!(["bytes", "array->bytes", null, null, null, 350]));
    assert_eq!(row(3), json!(["zstd", "bytes->bytes", null, null, null, null]));
    assert_eq!(pipeline[3]["configuration"], json!({"level": 1, "checksum": false}));
}

#[test]
fn sharded_array_has_both_shapes_and_an_inner_pipeline() {
    let result = inspect_json("zarr-python_3.4.2_inside_shards");
    assert_eq!(result["chunk_shape"], json!([4, 8]));
    assert_eq!(result["shard_shape"], json!([16, 16]));
    let inner = &result["pipeline"][0]["pipeline"];
    assert_eq!(inner[1]["codec"], "cast_value");
    assert_eq!(inner[1]["bytes"], 32);
}

#[test]
fn text_shows_metadata_then_a_row_for_each_codec() {
    let store = fixture("zarr-python_3.4.2_float32_as_uint8_zstd");
    let run = CliTest::new().run(["inspect", store.to_str().unwrap()]).succeeds();
    let text = run.text().replace(store.to_str().unwrap(), "[STORE]");
    let expected = "\
[STORE]: array, Zarr v3
  shape         24, 40
  data type     float32
  fill value    NaN
  chunk shape   14, 25
  key encoding  default {\"separator\":\"/\"}
  chunks        4 of 4 stored
  bytes         987 B stored, 3.75 KiB decoded

pipeline of a chunk, in encode order
  codec         kind          data type  shape   fill value   bytes
  (decoded)                   float32    14, 25  NaN          1,400
  scale_offset  array->array  float32    14, 25  NaN          1,400
    {\"offset\":-20.25,\"scale\":4}
  cast_value    array->array  uint8      14, 25  0              350
    {\"data_type\":\"uint8\",\"scalar_map\":{\"encode\":[[\"NaN\",0]],\"decode\":[[0,\"NaN\"]]}}
  bytes         array->bytes                                    350
  zstd          bytes->bytes                                 varies
    {\"level\":1,\"checksum\":false}
";
    assert_eq!(text, expected);
}

#[test]
fn storage_of_a_sharded_array_counts_inner_chunks_by_the_shard_indexes() {
    let storage = inspect_json("zarr-python_3.1.6_sharded_index_end")["storage"].clone();
    let number = |name: &str| storage[name].as_u64().unwrap();
    assert!(number("shards_present") < number("shards"), "one shard is missing: {storage}");
    assert!(number("chunks_present") < number("chunks"), "inner chunks are missing: {storage}");
    assert!(number("chunks") > number("shards"));
    let store = fixture("zarr-python_3.1.6_sharded_index_end");
    let never = CliTest::new().run(["inspect", "--json", "--storage", "never", store.to_str().unwrap()]);
    assert_eq!(never.succeeds().json()["storage"], json!(null));
}

#[test]
fn node_is_named_by_going_on_or_by_option() {
    let store = fixture("zarr-python_3.4.2_group");
    let member = std::fs::read_dir(&store)
        .unwrap()
        .map(|entry| entry.unwrap())
        .find(|entry| entry.path().is_dir() && entry.path().join("c").exists())
        .map(|entry| entry.file_name().into_string().unwrap());
    let Some(member) = member else { return };
    let by_option = CliTest::new()
        .run(["inspect", "--json", "--node", &member, store.to_str().unwrap()])
        .succeeds()
        .json();
    let by_path =
        CliTest::new().run(["inspect", "--json", store.join(&member).to_str().unwrap()]).succeeds().json();
    assert_eq!(by_option["path"], format!("/{member}"));
    assert_eq!(by_option["pipeline"], by_path["pipeline"]);
}

#[test]
fn damaged_array_shows_what_it_can_and_exits_with_1() {
    let test = CliTest::new();
    test.write(
        "a/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,
        "codecs":[{"name":"scale_offset","configuration":{"scale":0}},"bytes"]}"#,
    );
    let run = test.run(["inspect", "a"]);
    assert_eq!(run.status, 1);
    assert!(run.text().contains("float32"), "{}", run.text());
    assert!(run.error.contains("scale"), "{}", run.error);
    let run = test.run(["inspect", "--json", "a"]);
    assert_eq!(run.status, 1);
    assert_eq!(run.json()["shape"], json!([4]));
    assert!(!run.json()["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn document_that_is_not_json_is_1_and_no_document_3() {
    let test = CliTest::new();
    test.write("a/zarr.json", "{").write("b/file", "");
    test.run(["inspect", "a"]).fails(1, &["a/zarr.json", "JSON"]);
    test.run(["inspect", "b"]).fails(3, &["zarr.json"]);
    test.run(["inspect", "missing"]).fails(3, &["missing"]);
}

#[test]
fn colour_is_used_only_when_asked_for() {
    let store = fixture("zarr-python_3.4.2_float32_as_uint8_zstd");
    let run = |when: &str| {
        let run = CliTest::new().run(["inspect", "--color", when, store.to_str().unwrap()]).succeeds();
        run.text().contains('\u{1b}')
    };
    assert_eq!([run("auto"), run("always"), run("never")], [false, true, false]);
}

#[test]
fn variables_decide_of_colour_where_no_option_does() {
    let store = fixture("zarr-python_3.4.2_float32_as_uint8_zstd");
    let run = |when: &str, variables: &[(&str, &str)]| {
        let arguments = ["inspect", "--color", when, store.to_str().unwrap()];
        CliTest::new().run_with(arguments, variables).succeeds().text().contains('\u{1b}')
    };
    let (force, refuse) = (("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1"));
    assert!(run("auto", &[force]) && !run("auto", &[force, refuse]));
    assert!(run("always", &[refuse]) && !run("never", &[force]));
}

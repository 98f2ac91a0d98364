//! `inspect --chunk`: one stored chunk, codec by codec, and a census that damaged shards do not stop.

use serde_json::{Value, json};

use super::support::{CliTest, fixture, float32};

fn chunk_of(name: &str, arguments: &[&str]) -> Value {
    let store = fixture(name);
    let arguments = [&["inspect", "--json"], arguments, &[store.to_str().unwrap()]].concat();
    CliTest::new().run(arguments).succeeds().json()["chunk"].clone()
}

/// The members of each stage that do not depend on the clock.
fn stages(chunk: &Value) -> Value {
    let stage = |stage: &Value| {
        assert!(stage["seconds"].as_f64().unwrap() >= 0.0);
        json!([
            stage["codec"],
            stage["place"],
            stage["bytes"],
            stage["checksum"],
            stage["data_type"],
            stage["shape"]
        ])
    };
    chunk["stages"].as_array().unwrap().iter().map(stage).collect()
}

#[test]
fn chunk_is_shown_with_bytes_after_each_codec_and_checksums() {
    let chunk = chunk_of("zarr-python_3.1.6_gzip_zstd_crc32c", &["--chunk", "0,0"]);
    assert_eq!(
        [&chunk["key"], &chunk["present"], &chunk["inner"]],
        [&json!("c/0/0"), &json!(true), &json!(false)]
    );
    let stored = std::fs::metadata(fixture("zarr-python_3.1.6_gzip_zstd_crc32c/c/0/0")).unwrap().len();
    assert_eq!(chunk["bytes_stored"], stored);
    let stages = stages(&chunk);
    let elements =
        chunk["shape"].as_array().unwrap().iter().map(|length| length.as_u64().unwrap()).product::<u64>();
    assert_eq!(stages[0], json!(["crc32c", 3, stored - 4, "ok", null, null]));
    assert_eq!([&stages[1][0], &stages[2][0]], ["zstd", "gzip"]);
    assert_eq!(stages[2][3], "ok");
    assert_eq!(stages[3], json!(["bytes", 0, elements * 4, null, "float32", chunk["shape"]]));
}

#[test]
fn inner_chunk_is_found_in_its_shard() {
    let name = "zarr-python_3.1.6_sharded_index_end";
    let shard = chunk_of(name, &["--chunk", "0,0"]);
    assert_eq!(shard["stages"][0]["codec"], "sharding_indexed");
    assert_eq!(shard["stages"][0]["checksum"], "ok");
    let inner = chunk_of(name, &["--chunk", "1,1", "--inner-chunk"]);
    assert_eq!(
        [&inner["key"], &inner["inner"], &inner["present"]],
        [&json!("c/0/0"), &json!(true), &json!(true)]
    );
    assert!(inner["offset"].as_u64().unwrap() > 0);
    assert!(inner["bytes_stored"].as_u64() < shard["bytes_stored"].as_u64());
    assert_eq!(inner["stages"][0]["codec"], "zstd");
}

#[test]
fn absent_chunk_says_so_and_one_outside_is_1() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([1.0; 4]), None]);
    let absent = test.run(["inspect", "--json", "--chunk", "1", "a"]).succeeds().json()["chunk"].clone();
    assert_eq!(
        [&absent["present"], &absent["stages"], &absent["bytes_stored"]],
        [&json!(false), &json!([]), &Value::Null]
    );
    let text = test.run(["inspect", "--chunk", "1", "a"]).succeeds();
    assert!(text.text().contains("no: its elements are the fill value"), "{}", text.text());
    test.run(["inspect", "--chunk", "2", "a"]).fails(1, &["[2]", "the last of them is 1"]);
    test.run(["inspect", "--chunk", "0,0", "a"]).fails(1, &["[0, 0]"]);
    test.run(["inspect", "--chunk", "x", "a"]).fails(2, &["--chunk"]);
    test.run(["inspect", "--inner-chunk", "a"]).fails(2, &["--chunk"]);
}

#[test]
fn scalar_has_one_chunk() {
    let chunk = chunk_of("zarr-python_3.1.6_scalar", &["--chunk", "scalar"]);
    assert_eq!([&chunk["key"], &chunk["shape"]], [&json!("c"), &json!([])]);
}

#[test]
fn corrupt_chunk_shows_the_codecs_that_worked_and_the_one_that_failed() {
    let test = CliTest::new();
    test.write(
        "a/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"},{"name":"crc32c"}]}"#,
    );
    // The outer checksum is right, the inner one is not.
    let mut bytes = float32(&[1.0, 2.0, 3.0, 4.0]);
    bytes.extend([1, 2, 3, 4]);
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend(checksum.to_le_bytes());
    test.write("a/c/0", &bytes);
    let run = test.run(["inspect", "--json", "--chunk", "0", "a"]);
    assert_eq!(run.status, 1);
    let chunk = run.json()["chunk"].clone();
    assert_eq!(
        stages(&chunk),
        json!([["crc32c", 2, 20, "ok", null, null], ["crc32c", 1, null, "wrong", null, null]])
    );
    assert!(chunk["stages"][1]["error"].as_str().unwrap().contains("checksum"));
    assert_eq!(run.json()["warnings"][0]["code"], "ZX101");
    let run = test.run(["inspect", "--chunk", "0", "a"]);
    assert!(run.text().contains("failed") && run.text().contains("wrong"), "{}", run.text());
}

#[test]
fn damaged_shard_is_counted_and_found() {
    let test = CliTest::new();
    let name = "zarr-python_3.1.6_sharded_index_end";
    let intact =
        test.run(["inspect", "--json", fixture(name).to_str().unwrap()]).succeeds().json()["storage"].clone();
    for key in ["zarr.json", "c/0/0", "c/0/1", "c/1/0", "c/1/1", "c/0/2", "c/1/2"] {
        if let Ok(mut bytes) = std::fs::read(fixture(name).join(key)) {
            let last = bytes.len() - 1;
            if key == "c/0/0" {
                bytes[last] ^= 1; // The index's checksum.
            }
            test.write(&format!("a/{key}"), bytes);
        }
    }
    let run = test.run(["inspect", "--json", "a"]);
    assert_eq!(run.status, 1, "{}", run.error);
    let (storage, finding) = (&run.json()["storage"], &run.json()["warnings"][0]);
    assert_eq!(storage["shards_present"], intact["shards_present"]);
    assert_eq!(storage["bytes_stored"], intact["bytes_stored"]);
    assert!(storage["chunks_present"].as_u64() < intact["chunks_present"].as_u64());
    assert_eq!(
        [&finding["code"], &finding["key"], &finding["chunk"]],
        [&json!("ZS102"), &json!("c/0/0"), &json!([0, 0])]
    );
    // So it is where the shard itself is asked for.
    let run = test.run(["inspect", "--json", "--chunk", "0,0", "--inner-chunk", "a"]);
    assert_eq!((run.status, &run.json()["chunk"]["present"]), (1, &json!(true)));
}

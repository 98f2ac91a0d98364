//! What `transcode` refuses: a message that names the thing and the way out, the right exit status, and no DEST.

use super::support::{CliTest, float32};

const ZSTD: &str = r#"[{"name":"bytes","configuration":{"endian":"little"}},
    {"name":"zstd","configuration":{"level":1,"checksum":true}}]"#;

/// Runs `transcode` from `a` to `b`, which must fail and leave nothing beside `a`.
#[track_caller]
fn refused(test: &CliTest, options: &[&str], status: i32, parts: &[&str]) {
    let before = test.names();
    test.run(["transcode"].iter().chain(options).chain(&["a", "b"])).fails(status, parts);
    let openable = test.exists("b/zarr.json");
    assert!(!openable, "a destination that opens was left");
    assert_eq!(test.names(), before);
}

fn with_array(chunks: &[Option<[f32; 4]>]) -> CliTest {
    let test = CliTest::new();
    test.write_float32("a", "0", chunks);
    test
}

#[test]
fn value_out_of_range_names_chunk_index_value_bounds_and_option() {
    let test = with_array(&[Some([0.0, 1.0, 2.0, 3.0]), Some([4.0, 5.0, 12.5, 7.0])]);
    let parts = ["chunk [1]", "element [6]", "12.5", "0 to 10", "--out-of-range clamp"];
    refused(&test, &["--quantize", "uint8", "--range", "0,10"], 1, &parts);
    refused(&test, &["--data-type", "uint8", "--scale", "1"], 2, &["--scale"]);
    test.write("a/c/1", float32(&[0.0, 300.0, 0.0, 0.0]));
    refused(&test, &["--data-type", "uint8"], 1, &["300", "0 to 255", "element [5]", "--out-of-range clamp"]);
}

#[test]
fn nan_that_nothing_maps_names_the_option() {
    // With a chunk that is absent the fill value stays, and no code is set aside for NaN.
    let test = with_array(&[Some([0.0, 1.0, f32::NAN, 3.0]), None]);
    refused(&test, &["--quantize", "uint8", "--range", "0,10"], 1, &["NaN", "--nan-value"]);
    refused(&test, &["--data-type", "int16"], 1, &["NaN", "--nan-value"]);
}

#[test]
fn infinity_is_refused_with_a_way_out() {
    let test = with_array(&[Some([0.0, f32::INFINITY, 2.0, 3.0])]);
    refused(&test, &["--quantize", "uint8"], 1, &["nfinity"]);
}

#[test]
fn fill_value_that_does_not_survive_is_refused() {
    let test = CliTest::new();
    test.write_float32("a", "1.25", &[Some([0.0, 1.0, 2.0, 3.0]), None]);
    let cast = r#"[{"name":"cast_value","configuration":{"data_type":"uint8"}},{"name":"bytes"}]"#;
    refused(&test, &["--codecs", cast], 1, &["fill value", "1.25", "--no-fill-check"]);
}

#[test]
fn chain_in_the_wrong_order_or_with_a_bad_configuration_is_1() {
    let test = with_array(&[Some([0.0, 1.0, 2.0, 3.0])]);
    for (codecs, part) in [
        (r#"[{"name":"zstd","configuration":{"level":1,"checksum":false}},{"name":"bytes"}]"#, "zstd"),
        (r#"[{"name":"scale_offset"}]"#, "bytes"),
        (r#"[{"name":"bytes","configuration":{"endian":"middle"}}]"#, "endian"),
        (r#"[{"name":"transpose","configuration":{"order":[1]}},{"name":"bytes"}]"#, "order"),
        (r"[]", "codec"),
    ] {
        refused(&test, &["--codecs", codecs], 1, &[part]);
    }
    refused(&test, &["--codecs", "[{]"], 2, &["JSON"]);
}

#[test]
fn truncated_chunk_is_named() {
    let test = with_array(&[Some([0.0, 1.0, 2.0, 3.0]), Some([4.0, 5.0, 6.0, 7.0])]);
    test.write("a/c/1", float32(&[4.0, 5.0]));
    refused(&test, &["--quantize", "uint8"], 1, &["chunk [1]", "c/1"]);
    // Once it is restored the run can go on.
    test.run(["transcode", "--compress", "zstd:1", "a", "b"]).fails(1, &["chunk [1]", "c/1", "--resume"]);
    assert!(!test.exists("b/zarr.json"));
}

#[test]
fn corrupt_chunk_is_named() {
    let test = with_array(&[Some([0.0, 1.0, 2.0, 3.0])]);
    test.run(["transcode", "--codecs", ZSTD, "a", "zstd"]).output.clear();
    let mut chunk = test.read("zstd/c/0");
    let last = chunk.len() - 1;
    chunk[last] ^= 1;
    test.write("zstd/c/0", chunk);
    test.run(["transcode", "--quantize", "uint8", "zstd", "b"]).fails(1, &["chunk [0]", "zstd", "c/0"]);
    assert!(!test.exists("b/zarr.json"));
}

#[test]
fn destination_that_exists_is_left_alone() {
    let test = with_array(&[Some([0.0, 1.0, 2.0, 3.0])]);
    test.write("file", "mine").write("folder/mine", "mine");
    for destination in ["file", "folder", "a"] {
        test.run(["transcode", "a", destination]).fails(3, &[destination]);
    }
    test.run(["transcode", "a", "a/inside"]).fails(3, &["inside"]);
    assert_eq!((test.read("file"), test.read("folder/mine")), (b"mine".to_vec(), b"mine".to_vec()));
    assert_eq!(test.names(), ["a", "file", "folder"]);
}

#[test]
fn source_that_is_missing_or_damaged_is_refused() {
    let test = CliTest::new();
    refused(&test, &[], 3, &["a"]);
    test.write("a/zarr.json", "{");
    refused(&test, &[], 1, &["a/zarr.json", "JSON"]);
    test.write("a/zarr.json", r#"{"zarr_format":3,"node_type":"array"}"#);
    refused(&test, &[], 1, &["shape"]);
    test.write("a/zarr.json", "[".repeat(100_000));
    refused(&test, &[], 1, &["a/zarr.json"]);
}

#[test]
fn array_that_is_quantised_already_is_refused() {
    let test = with_array(&[Some([0.0, 1.0, 2.0, 3.0])]);
    assert_eq!(test.run(["transcode", "--quantize", "uint8", "a", "q"]).status, 0);
    test.run(["transcode", "--quantize", "uint8", "q", "b"]).fails(1, &["--unpack"]);
    assert!(!test.exists("b"));
}

#[test]
fn integers_are_not_quantised() {
    let test = with_array(&[Some([0.0, 1.0, 2.0, 3.0])]);
    assert_eq!(test.run(["transcode", "--data-type", "int16", "a", "i"]).status, 0);
    test.run(["transcode", "--quantize", "uint8", "i", "b"]).fails(1, &["int16"]);
    assert!(!test.exists("b"));
}

#[test]
fn file_that_is_not_there_is_named_once_and_one_that_is_there_with_its_sign() {
    let test = CliTest::new();
    let run =
        test.run(["apply-codec", "--codecs", "bytes", "-d", "int8", "--shape", "4", "nofile.raw", "out"]);
    let error = run.fails(3, &["INPUT `nofile.raw` cannot be read", "because No such file", "help: "]).error;
    assert_eq!(error.matches("nofile.raw").count(), 1, "{error}");
    test.write("codecs.json", r#"["bytes"]"#).write("attributes.json", "{}");
    for arguments in [
        ["apply-codec", "--codecs", "codecs.json", "in", "out"],
        ["transcode", "--codecs", "codecs.json", "a", "b"],
    ] {
        test.run(arguments).fails(2, &["given as `@codecs.json`"]);
    }
    test.run(["transcode", "--attributes", "attributes.json", "a", "b"])
        .fails(2, &["given as `@attributes.json`"]);
}

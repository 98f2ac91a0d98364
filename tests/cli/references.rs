//! Reference files of kerchunk as SOURCE: arrays whose chunks are parts of other files.

use std::fs;

use serde_json::{Value, json};

use super::support::{CliTest, float32};

/// Two arrays, of 8 and 3 elements, whose chunks of 4 lie in `data/one.bin` and `data/two.bin`, behind what is no chunk;
/// one chunk is inline, one is missing.
fn references(test: &CliTest) -> Value {
    test.write("in/data/one.bin", [b"header".as_slice(), &float32(&[0.0, 1.0, 2.0, 3.0])].concat());
    test.write("in/data/two.bin", float32(&[7.0, 8.0, 9.0, -1.0]));
    let array = |length: u64| {
        json!({"zarr_format": 2, "shape": [length], "chunks": [4], "dtype": "<f4", "compressor": null, "filters": null,
            "fill_value": 5.0, "order": "C"})
        .to_string()
    };
    let refs = json!({
        ".zgroup": "{\"zarr_format\":2}",
        "a/.zarray": array(8),
        "a/.zattrs": "{\"units\":\"K\"}",
        "a/0": ["{{d}}/one.bin", 6, 16],
        "g/.zgroup": {"zarr_format": 2},
        "g/b/.zarray": array(3),
        "g/b/0": ["data/two.bin"],
    });
    let document = json!({"version": 1, "templates": {"d": "data"}, "refs": refs});
    test.write("in/refs.json", document.to_string());
    document
}

#[test]
fn arrays_are_read_from_parts_of_other_files_by_every_command() {
    let test = CliTest::new();
    references(&test);
    let tree = test.run(["inspect", "--json", "in/refs.json"]).succeeds().json();
    let paths: Vec<_> = tree["nodes"].as_array().unwrap().iter().map(|node| node["path"].clone()).collect();
    assert!(["/a", "/g", "/g/b"].iter().all(|path| paths.contains(&json!(path))), "{paths:?}");
    for store in ["in/refs.json/a", "in/refs.json"] {
        let node = if store.ends_with('a') { &[][..] } else { &["--node", "a"] };
        let run = test.run([&["inspect", "--json", "--stats"], node, &[store]].concat());
        let result = run.succeeds().json();
        assert_eq!((&result["stats"]["min"], &result["stats"]["max"]), (&json!(0.0), &json!(5.0)), "{store}");
        let storage = &result["storage"];
        assert_eq!(
            (&storage["chunks"], &storage["chunks_present"], &storage["bytes_stored"]),
            (&json!(2), &json!(1), &json!(16))
        );
    }
    test.run(["validate", "--level", "data", "in/refs.json"]).succeeds();
    test.run(["transcode", "--verify", "in/refs.json", "copy"]).succeeds();
    assert_eq!(test.read("copy/a/0"), float32(&[0.0, 1.0, 2.0, 3.0]));
    test.run(["validate", "copy", "--against", "in/refs.json"]).succeeds();
    let options = ["--quantize", "uint8", "--shard-shape", "8", "--zarr-format", "3", "--verify"];
    test.run([&["transcode"], &options[..], &["in/refs.json/a", "quantised"]].concat()).succeeds();
    test.run(["validate", "quantised", "--against", "in/refs.json/a", "--atol", "0.02"]).succeeds();
}

#[test]
fn what_references_point_at_has_to_be_there() {
    let test = CliTest::new();
    references(&test);
    test.write("in/data/one.bin", b"short");
    let run = test.run(["validate", "--level", "data", "--node", "a", "in/refs.json"]);
    assert!(run.status == 1 && run.text().contains("one.bin"), "{}{}", run.text(), run.error);
    test.run(["transcode", "in/refs.json/a", "b"]).fails(1, &["in/refs.json/a/0", "byte 22", "one.bin"]);
    fs::remove_file(test.path("in/data/one.bin")).unwrap();
    test.run(["transcode", "in/refs.json/a", "c"]).fails(1, &["one.bin", "not there"]);
    assert!(!test.exists("b/.zarray") && !test.exists("c/.zarray"));
}

#[test]
fn files_outside_the_folder_are_not_read() {
    let test = CliTest::new();
    references(&test);
    let text = String::from_utf8(test.read("in/refs.json")).unwrap();
    test.write("other/refs.json", text.replace("{{d}}", "../in/data"));
    test.run(["inspect", "--stats", "other/refs.json/a"])
        .fails(3, &["outside the folder", "--allow-file-references"]);
    let run = test.run(["inspect", "--stats", "--json", "--allow-file-references", "other/refs.json/a"]);
    assert_eq!(run.succeeds().json()["stats"]["max"], json!(5.0));
}

#[test]
fn file_that_is_no_reference_file_is_told() {
    let test = CliTest::new();
    references(&test);
    test.write("plain.json", r#"{"zarr_format": 3}"#);
    test.run(["inspect", "plain.json"]).fails(3, &["not a Zarr store", "a file, not a folder"]);
    test.write("torn.json", r#"{"version": 1, "refs": {"#);
    test.run(["inspect", "torn.json"]).fails(3, &["torn.json", "no JSON"]);
    test.write("gen.json", r#"{"version": 1, "refs": {}, "gen": [{"key": "x"}]}"#);
    test.run(["inspect", "gen.json"]).fails(3, &["\"gen\""]);
    test.run(["inspect", "none.json"]).fails(3, &["none.json"]);
    test.run(["inspect", "in/refs.json/none"]).fails(3, &["none"]);
    // It is read only.
    test.run(["transcode", "in/refs.json", "in/refs.json"]).fails(2, &[]);
    test.run(["transcode", "in/refs.json/a", "in/refs.json/c"]).fails(2, &[]);
    test.run(["transcode", "--overwrite", "in/refs.json/a", "in/refs.json"]).fails(2, &[]);
}

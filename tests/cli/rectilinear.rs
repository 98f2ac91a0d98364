//! The rectilinear chunk grid: each chunk has the shape that the grid gives it, in every command.

use std::fs;

use serde_json::{Value, json};

use super::support::{CliTest, Run};

/// The document of an array of int16 whose chunks have these lengths.
fn document(shape: &Value, chunk_shapes: &Value, codecs: &Value) -> String {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int16", "fill_value": -1,
        "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": chunk_shapes}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": codecs
    })
    .to_string()
}

fn little() -> Value {
    json!([{"name": "bytes", "configuration": {"endian": "little"}}])
}

fn bytes(values: impl IntoIterator<Item = i16>) -> Vec<u8> {
    values.into_iter().flat_map(i16::to_le_bytes).collect()
}

/// A run that went well, whatever it noted: that few readers have the grid.
#[track_caller]
fn done(run: Run) -> Run {
    assert_eq!(run.status, 0, "{}{}", run.error, run.text());
    run
}

/// 5 x 4 elements, 0 to 19 in C order, in chunks of 2 or 3 rows and of 1 or 3 columns; the last chunk down and one to
/// the right lie beyond the array, and that of 7 rows would not fit in what is there.
fn array(test: &CliTest, name: &str) {
    let codecs = little();
    test.write(
        &format!("{name}/zarr.json"),
        document(&json!([5, 4]), &json!([[2, 3, 7], [1, 3, [2, 9]]]), &codecs),
    );
    for (row, rows) in [0..2_i16, 2..5].into_iter().enumerate() {
        for (column, columns) in [0..1_i16, 1..4].into_iter().enumerate() {
            let columns = &columns;
            let values = rows.clone().flat_map(|y| columns.clone().map(move |x| 4 * y + x));
            test.write(&format!("{name}/c/{row}/{column}"), bytes(values));
        }
    }
}

#[test]
fn inspect_tells_the_grid_and_counts_the_chunks_inside_the_array() {
    let test = CliTest::new();
    array(&test, "a");
    let result = done(test.run(["inspect", "--json", "--stats", "a"])).json();
    assert_eq!(result["chunk_shape"], Value::Null);
    assert_eq!(result["chunk_grid"]["configuration"]["chunk_shapes"], json!([[2, 3, 7], [1, 3, [2, 9]]]));
    assert_eq!((&result["storage"]["chunks"], &result["storage"]["chunks_present"]), (&json!(4), &json!(4)));
    assert_eq!(result["pipeline"][0]["bytes"], Value::Null);
    assert_eq!((&result["stats"]["min"], &result["stats"]["max"]), (&json!(0), &json!(19)));
    let chunk = done(test.run(["inspect", "--json", "--chunk", "1,1", "a"])).json();
    assert_eq!(chunk["chunk"]["shape"], json!([3, 3]));
    test.run(["inspect", "--chunk", "2,0", "a"]).fails(1, &["outside", "[2, 2]"]);
}

#[test]
fn validate_holds_each_chunk_to_its_own_size() {
    let test = CliTest::new();
    array(&test, "a");
    done(test.run(["validate", "--level", "data", "a"]));
    // As long as another chunk of the array.
    test.write("a/c/1/1", bytes(0..6));
    let run = test.run(["validate", "--level", "keys", "--json", "a"]);
    let result = run.json();
    assert_eq!(run.status, 1);
    let found: Vec<&Value> = result["findings"].as_array().unwrap().iter().collect();
    let size = found.iter().find(|found| found["code"] == "ZK212").unwrap_or_else(|| panic!("{result}"));
    assert_eq!(size["chunk"], json!([1, 1]));
    assert!(size["message"].as_str().unwrap().contains("12 bytes found, 18 expected"), "{size}");
    array(&test, "b");
    test.write("b/c/2/0", bytes(0..7));
    let result = test.run(["validate", "--level", "keys", "--json", "b"]).json();
    assert!(result["findings"].as_array().unwrap().iter().any(|found| found["key"] == "c/2/0"), "{result}");
}

#[test]
fn transcode_keeps_the_grid_or_makes_it_regular() {
    let test = CliTest::new();
    array(&test, "a");
    for (number, (options, chunks)) in [
        (&[][..], None),
        (&["--compress", "zstd:1", "--verify"], None),
        (&["--data-type", "float64", "--verify"], None),
        (&["-c", "2,2", "--verify"], Some(json!([2, 2]))),
        (&["-c", "1,2", "-s", "4,4", "--verify"], Some(json!([4, 4]))),
    ]
    .into_iter()
    .enumerate()
    {
        let name = number.to_string();
        done(test.run([&["transcode"], options, &["a", &name]].concat()));
        let grid = done(test.run(["inspect", "--json", &name])).json()["chunk_grid"].clone();
        match chunks {
            Some(shape) => assert_eq!(grid["configuration"]["chunk_shape"], shape, "{options:?}"),
            None => assert_eq!(grid["name"], "rectilinear", "{options:?}"),
        }
        done(test.run(["validate", "--level", "data", &name]));
        done(test.run(["validate", &name, "--against", "a"]));
    }
}

#[test]
fn shards_of_several_shapes_are_read_and_written() {
    let test = CliTest::new();
    let sharded = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2], "codecs": little(), "index_codecs": little(), "index_location": "end"}}]);
    test.write("a/zarr.json", document(&json!([8]), &json!([[2, 6]]), &sharded));
    let index = |chunks: u64| -> Vec<u8> {
        (0..chunks).flat_map(|chunk| [4 * chunk, 4]).flat_map(u64::to_le_bytes).collect()
    };
    test.write("a/c/0", [bytes(0..2), index(1)].concat());
    test.write("a/c/1", [bytes(2..8), index(3)].concat());
    let result = done(test.run(["inspect", "--json", "a"])).json();
    assert_eq!((&result["chunk_shape"], &result["shard_shape"]), (&json!([2]), &Value::Null));
    assert_eq!((&result["storage"]["chunks_present"], &result["storage"]["shards"]), (&json!(4), &json!(2)));
    let inner = done(test.run(["inspect", "--json", "--inner-chunk", "--chunk", "2", "a"])).json();
    assert_eq!((&inner["chunk"]["key"], &inner["chunk"]["offset"]), (&json!("c/1"), &json!(4)));
    done(test.run(["validate", "--level", "data", "a"]));
    for (name, options) in [
        ("recoded", &["--compress", "zstd:1"][..]),
        ("whole", &["--codecs", r#"[{"name":"bytes","configuration":{"endian":"big"}}]"#]),
        ("unsharded", &["-s", "none"]),
        ("regular", &["-c", "2", "-s", "4"]),
    ] {
        done(test.run([&["transcode", "--verify"], options, &["a", name]].concat()));
        done(test.run(["validate", "--level", "data", name]));
        done(test.run(["validate", name, "--against", "a"]));
    }
    // Inner chunks that do not divide every shard.
    test.run(["transcode", "-c", "3", "a", "refused"]).fails(1, &["several shapes", "--shard-shape"]);
    test.write("b/zarr.json", document(&json!([8]), &json!([[3, 6]]), &sharded));
    assert_eq!(test.run(["validate", "b"]).status, 1);
}

#[test]
fn fill_value_changes_and_absent_chunks_keep_their_values() {
    let test = CliTest::new();
    array(&test, "a");
    fs::remove_file(test.path("a/c/0/1")).unwrap();
    done(test.run(["transcode", "--fill-value", "7", "--verify", "a", "b"]));
    let result = done(test.run(["inspect", "--json", "--stats", "b"])).json();
    assert_eq!((&result["fill_value"], &result["stats"]["min"]), (&json!(7), &json!(-1)));
    done(test.run(["validate", "--level", "data", "b"]));
    done(test.run(["validate", "b", "--against", "a"]));
    // The one chunk that holds nothing but the new fill value is not written.
    test.write("a/c/0/0", bytes([7, 7]));
    done(test.run(["transcode", "--fill-value", "7", "--verify", "a", "c"]));
    assert!(!test.exists("c/c/0/0") && test.exists("c/c/0/1"));
    done(test.run(["validate", "c", "--against", "a"]));
}

#[test]
fn histogram_and_suggestion_count_each_element_once() {
    let test = CliTest::new();
    array(&test, "a");
    let result = done(test.run(["inspect", "--json", "--histogram", "4,0,20", "a"])).json();
    assert_eq!(result["histogram"]["counts"], json!([5, 5, 5, 5]));
    done(test.run(["transcode", "--data-type", "float32", "a", "b"]));
    let result = done(test.run(["inspect", "--json", "--stats", "--suggest", "uint8", "b"])).json();
    assert_eq!(
        (&result["stats"]["count"], &result["suggestion"]["range"]),
        (&json!(20), &json!([0.0, 19.0]))
    );
    done(test.run(["transcode", "--quantize", "uint8", "--verify", "b", "q"]));
    let max_abs_error = result["suggestion"]["max_abs_error"].to_string();
    done(test.run(["validate", "q", "--against", "b", "--atol", &max_abs_error]));
    done(test.run(["transcode", "--unpack", "--verify", "q", "u"]));
    done(test.run(["validate", "u", "--against", "q"]));
}

#[test]
fn group_with_consolidated_metadata_keeps_the_grid_in_both_places() {
    let test = CliTest::new();
    array(&test, "g/a");
    let member = test.read_json("g/a/zarr.json");
    let root = json!({"zarr_format": 3, "node_type": "group", "attributes": {}, "consolidated_metadata":
        {"kind": "inline", "must_understand": false, "metadata": {"a": member}}});
    test.write("g/zarr.json", root.to_string());
    done(test.run(["validate", "--level", "data", "g"]));
    for (name, options) in
        [("copy", &[][..]), ("recoded", &["--compress", "zstd:1"]), ("cut", &["--chunk-shape", "2,2"])]
    {
        done(test.run([&["transcode", "--verify"], options, &["g", name]].concat()));
        let read = |key: &str| -> Value { test.read_json(&format!("{name}/{key}")) };
        assert_eq!(read("zarr.json")["consolidated_metadata"]["metadata"]["a"], read("a/zarr.json"));
        done(test.run(["validate", "--level", "data", name]));
        done(test.run(["validate", name, "--against", "g"]));
    }
}

/// An array of 60 rows in chunks of one or two, of which a part is absent.
fn rows(test: &CliTest, name: &str, columns: i16) {
    test.write(
        &format!("{name}/zarr.json"),
        document(&json!([60, columns]), &json!([[[1, 20], [2, 20]], [[columns, 1]]]), &little()),
    );
    for chunk in (0..40_i16).filter(|chunk| chunk % 7 != 3) {
        let rows = if chunk < 20 { 0..1 } else { 0..2 };
        let values = rows.flat_map(|row| (0..columns).map(move |value| value.wrapping_mul(chunk + row)));
        test.write(&format!("{name}/c/{chunk}/0"), bytes(values));
    }
}

#[test]
fn rechunking_in_two_passes_reads_each_chunk_once() {
    let test = CliTest::new();
    rows(&test, "a", 30_000);
    let options =
        ["--chunk-shape", "60,200", "--max-memory", "800000", "--threads", "1", "--verify", "--json"];
    let result = done(test.run([&["transcode"], &options[..], &["a", "b"]].concat())).json();
    let node = &result["nodes"][0];
    assert!(node["bytes_temporary"].as_u64().unwrap() > 0, "{node}");
    assert_eq!(node["verify"]["equal"], json!(true));
    done(test.run(["validate", "--level", "data", "b"]));
    done(test.run(["validate", "b", "--against", "a"]));
}

#[test]
fn run_that_a_corrupt_chunk_ended_goes_on() {
    for (options, is_rechunked) in
        [(&["--compress", "zstd:1"][..], false), (&["--chunk-shape", "7,100"], true)]
    {
        let test = CliTest::new();
        rows(&test, "a", 480);
        let whole = test.read("a/c/36/0");
        done(test.run([&["transcode"], options, &["a", "whole"]].concat()));
        test.write("a/c/36/0", b"torn");
        let command = [&["transcode", "--threads", "1"], options].concat();
        let run = test.run([&command[..], &["a", "b"]].concat());
        assert_eq!(run.status, 1, "{}", run.error);
        test.write("a/c/36/0", whole);
        if !is_rechunked {
            // What is done is not read again: it may be gone.
            fs::remove_file(test.path("a/c/0/0")).unwrap();
        }
        done(test.run([&command[..], &["--resume", "a", "b"]].concat()));
        assert_eq!(test.all_files("b"), test.all_files("whole"), "{options:?}");
    }
}

#[test]
fn text_has_chunks_of_several_shapes() {
    let test = CliTest::new();
    let document = document(&json!([5]), &json!([[2, 3]]), &json!([{"name": "vlen-utf8"}]));
    let text = document.replace("\"int16\"", "\"string\"").replace("-1", "\"\"");
    test.write("a/zarr.json", text);
    let length = |length: usize| u32::try_from(length).unwrap().to_le_bytes();
    let framed = |words: &[&str]| -> Vec<u8> {
        let words_framed =
            words.iter().flat_map(|word| [length(word.len()).as_slice(), word.as_bytes()].concat());
        length(words.len()).into_iter().chain(words_framed).collect()
    };
    test.write("a/c/0", framed(&["one", "zwei"]));
    test.write("a/c/1", framed(&["", "quatre", "fünf"]));
    done(test.run(["validate", "--level", "data", "a"]));
    for (name, options) in
        [("copy", &[][..]), ("packed", &["--compress", "zstd:1"]), ("cut", &["--chunk-shape", "2"])]
    {
        done(test.run([&["transcode", "--verify"], options, &["a", name]].concat()));
        done(test.run(["validate", "--level", "data", name]));
        done(test.run(["validate", name, "--against", "a"]));
    }
    // As many words as another chunk has.
    test.write("a/c/1", framed(&["one", "two"]));
    let run = test.run(["validate", "--level", "data", "a"]);
    assert!(run.status == 1 && run.text().contains("2 elements found, 3 expected"), "{}", run.text());
}

#[test]
fn version_2_has_no_chunks_of_several_shapes() {
    let test = CliTest::new();
    array(&test, "a");
    test.run(["transcode", "--zarr-format", "2", "a", "b"]).fails(1, &["several shapes", "--chunk-shape"]);
    done(test.run(["transcode", "--zarr-format", "2", "-c", "2,2", "--verify", "a", "c"]));
    done(test.run(["validate", "c", "--against", "a"]));
}

#[test]
fn grid_that_claims_a_million_million_chunks_costs_what_it_holds() {
    let test = CliTest::new();
    let length = 1_u64 << 40;
    let codecs = little();
    test.write(
        "a/zarr.json",
        document(&json!([length + 3]), &json!([[[1, length], 3, [7, length]]]), &codecs),
    );
    test.write("a/c/5", bytes([5]));
    test.write(&format!("a/c/{length}"), bytes([6, 7, 8]));
    let result = done(test.run(["inspect", "--json", "--stats", "a"])).json();
    assert_eq!(
        (&result["storage"]["chunks"], &result["storage"]["chunks_present"]),
        (&json!(length + 1), &json!(2))
    );
    assert_eq!((&result["stats"]["min"], &result["stats"]["max"]), (&json!(-1), &json!(8)));
    for arguments in [
        &["validate", "--level", "data", "a"][..],
        &["transcode", "a", "b"],
        &["transcode", "--compress", "zstd:1", "a", "c"],
    ] {
        done(test.run(arguments));
    }
}

#[test]
fn array_without_elements_is_copied() {
    let test = CliTest::new();
    test.write("a/zarr.json", document(&json!([0, 10]), &json!([[3, 4], [4, 6]]), &little()));
    done(test.run(["transcode", "a", "b"]));
    done(test.run(["transcode", "--compress", "zstd:1", "a", "c"]));
    for copy in ["b", "c"] {
        let result = done(test.run(["validate", "--json", copy, "--against", "a"])).json();
        assert_eq!(result["valid"], true, "{result}");
    }
}

//! `transcode` to other chunks and shards, as its users see it.

use serde_json::{Value, json};

use super::support::{CliTest, Run};

/// An int16 array of 6 x 5, whose elements count up from 0, in chunks of 2 x 5 of which the last is not stored: it
/// holds the fill value 7.
fn counted(codecs: &str) -> CliTest {
    let test = CliTest::new();
    test.write(
        "a/zarr.json",
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[6,5],"data_type":"int16",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2,5]}}}},
            "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},"fill_value":7,
            "codecs":{codecs},"dimension_names":["time","lat"],"attributes":{{"scale":1.50}}}}"#
        ),
    );
    for row in [0_i16, 1] {
        let bytes: Vec<u8> = (row * 10..row * 10 + 10).flat_map(i16::to_le_bytes).collect();
        test.write(&format!("a/c/{row}/0"), bytes);
    }
    test
}

const LITTLE: &str = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;

fn int16(bytes: &[u8]) -> Vec<i16> {
    bytes.as_chunks::<2>().0.iter().map(|bytes| i16::from_le_bytes(*bytes)).collect()
}

fn transcode(test: &CliTest, options: &[&str]) -> Run {
    let fixed = ["transcode", "--json", "--verify", "a", "b"];
    test.run(options.iter().copied().fold(fixed.to_vec(), |mut all, option| {
        all.push(option);
        all
    }))
}

fn node(run: &Run) -> Value {
    assert_eq!((run.status, run.error.as_str()), (0, ""));
    let node = run.json()["nodes"][0].clone();
    assert_eq!(node["verify"]["equal"], true);
    node
}

fn document(test: &CliTest) -> Value {
    test.read_json("b/zarr.json")
}

#[test]
fn chunk_shape_by_numbers_rechunks_and_pads_with_the_fill_value() {
    let test = counted(LITTLE);
    let node = node(&transcode(&test, &["-c", "4,3"]));
    assert_eq!((&node["route"], &node["chunks"]), (&json!("rechunk"), &json!(4)));
    assert_eq!((&node["chunks_absent"], &node["chunks_read"]), (&json!(1), &json!(2)));
    assert_eq!((&node["chunks_written"], &node["bytes_written"]), (&json!(2), &json!(48)));
    assert_eq!((&node["read_amplification"], &node["bytes_temporary"]), (&json!(1.0), &json!(0)));
    assert_eq!(int16(&test.read("b/c/0/0")), [0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17]);
    assert_eq!(int16(&test.read("b/c/0/1")), [3, 4, 7, 8, 9, 7, 13, 14, 7, 18, 19, 7]);
    assert!(!test.exists("b/c/1"), "a chunk of nothing but the fill value");
    let text = String::from_utf8(test.read("b/zarr.json")).unwrap();
    assert!(text.contains("1.50"), "{text}");
    let document = document(&test);
    assert_eq!(document["chunk_grid"]["configuration"]["chunk_shape"], json!([4, 3]));
    assert_eq!(document["dimension_names"], json!(["time", "lat"]));
}

#[test]
fn chunk_shape_by_name_and_zero_is_the_whole_axis() {
    let test = counted(LITTLE);
    let node = node(&transcode(&test, &["--chunk-shape", "time=0"]));
    assert_eq!(node["destination"]["chunk_shape"], json!([6, 5]));
    let expected: Vec<i16> = (0..20).chain([7; 10]).collect();
    assert_eq!(int16(&test.read("b/c/0/0")), expected);
}

#[test]
fn shard_shape_puts_the_chain_inside_and_moves_the_chunks() {
    let test = counted(LITTLE);
    let node = node(&transcode(&test, &["-s", "time=4"]));
    assert_eq!(node["route"], "reshard");
    assert_eq!(
        (&node["destination"]["shard_shape"], &node["destination"]["chunk_shape"]),
        (&json!([4, 5]), &json!([2, 5]))
    );
    let codecs = &document(&test)["codecs"];
    assert_eq!(codecs.as_array().unwrap().len(), 1);
    assert_eq!(codecs[0]["name"], "sharding_indexed");
    let configuration = &codecs[0]["configuration"];
    assert_eq!(configuration["codecs"], serde_json::from_str::<Value>(LITTLE).unwrap());
    assert_eq!(
        configuration["index_codecs"],
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}])
    );
    assert_eq!(configuration["index_location"], "end");
    let shard = test.read("b/c/0/0");
    // Both chunks, then their places, then the checksum of these.
    assert_eq!((shard.len(), int16(&shard[..40])), (40 + 2 * 16 + 4, (0..20).collect()));
    assert_eq!(shard[40..72], [0, 20, 20, 20].map(|word: u64| word.to_le_bytes()).concat());
    assert!(!test.exists("b/c/1"));
}

#[test]
fn shards_are_taken_out_and_put_into_others_with_their_chunks_unchanged() {
    let test = counted(LITTLE);
    assert_eq!(test.run(["transcode", "-s", "6,5", "a", "shards"]).status, 0);
    let reshard = |shape: &str, name: &str| {
        let run = test.run(["transcode", "--json", "--verify", "-s", shape, "shards", name]);
        assert_eq!((run.status, run.error.as_str()), (0, ""));
        assert_eq!(run.json()["nodes"][0]["route"], "reshard");
    };
    reshard("none", "plain");
    for key in ["c/0/0", "c/1/0"] {
        assert_eq!(test.read(&format!("plain/{key}")), test.read(&format!("a/{key}")));
    }
    assert!(!test.exists("plain/c/2"));
    reshard("2,5", "small");
    assert_eq!(test.read("small/c/1/0")[..20], test.read("a/c/1/0"));
}

#[test]
fn chunk_shape_of_a_sharded_array_is_that_of_the_inner_chunks() {
    let test = counted(LITTLE);
    assert_eq!(test.run(["transcode", "-c", "2,5", "-s", "4,5", "a", "shards"]).status, 0);
    let run = test.run(["transcode", "--json", "--verify", "-c", "1,5", "shards", "b"]).succeeds();
    let node = &run.json()["nodes"][0];
    assert_eq!(node["route"], "rechunk");
    assert_eq!(
        (&node["destination"]["shard_shape"], &node["destination"]["chunk_shape"]),
        (&json!([4, 5]), &json!([1, 5]))
    );
    assert_eq!(int16(&test.read("b/c/0/0")[..40]), (0..20).collect::<Vec<i16>>());
    let refused = ["transcode", "-c", "3,5", "shards", "c"];
    test.run(refused).fails(1, &["[3, 5]", "[4, 5]", "--shard-shape"]);
    assert!(!test.exists("c"));
}

#[test]
fn shape_that_does_not_fit_the_array_is_refused_before_anything_is_written() {
    let test = counted(LITTLE);
    for (options, status, part) in [
        (["-c", "4"], 1, "2 dimensions"),
        (["-c", "lon=4"], 1, "time, lat"),
        (["-s", "5,5"], 1, "does not hold whole chunks"),
        (["-c", "4,x"], 2, "4,x"),
        (["-c", "none"], 2, "none"),
        (["-s", "time=4,5"], 2, "time=4"),
    ] {
        let run = test.run(["transcode", options[0], options[1], "a", "b"]).fails(status, &[part]);
        assert!(run.error.contains("shape"), "{}", run.error);
        assert!(!test.exists("b"));
    }
}

#[test]
fn budget_that_is_too_small_names_the_least_that_will_do() {
    let test = counted(LITTLE);
    // Reading back needs more than writing, so that both runs do it.
    let refused = transcode(&test, &["-c", "1,1", "--max-memory", "10"])
        .fails(3, &["`--max-memory` 10 B is too small"]);
    assert!(!test.exists("b"));
    let least = refused.error.split("--max-memory ").last().unwrap().split('`').next().unwrap();
    let node = node(&transcode(&test, &["-c", "1,1", "--max-memory", least]));
    assert_eq!(node["memory_bytes"].to_string(), least);
    assert_eq!(test.names(), ["a", "b"]);
}

#[test]
fn result_is_the_same_for_any_number_of_threads_and_any_budget() {
    let of = |threads: &str, memory: &str| {
        let test = counted(LITTLE);
        node(&transcode(&test, &["-c", "2,1", "-s", "6,2", "--threads", threads, "--max-memory", memory]));
        ["b/c/0/0", "b/c/0/1", "b/c/0/2", "b/zarr.json"].map(|key| test.read(key))
    };
    let expected = of("1", "1GiB");
    for (threads, memory) in [("1", "540000"), ("4", "540000"), ("4", "1500kB"), ("7", "1GiB")] {
        assert_eq!(of(threads, memory), expected, "{threads} threads, {memory}");
    }
}

#[test]
fn rechunking_goes_together_with_other_changes() {
    let test = counted(LITTLE);
    let options = [
        "-c",
        "3,5",
        "--data-type",
        "float32",
        "--compress",
        "zstd:1",
        "--fill-value",
        "\"NaN\"",
        "--separator",
    ];
    let node = node(&transcode(&test, &options[..8]));
    assert_eq!((&node["route"], &node["destination"]["data_type"]), (&json!("rechunk"), &json!("float32")));
    // The fill value is another now: what was absent is written.
    assert_eq!(node["chunks_written"], 2);
    let run = test.run(["transcode", "--json", "--quantize", "uint8", "--verify", "-c", "2,2", "b", "c"]);
    assert_eq!(run.status, 0, "{}", run.error);
    let quantized = &run.json()["nodes"][0];
    assert_eq!((&quantized["route"], &quantized["quantization"]["count"]), (&json!("rechunk"), &json!(30)));
    assert_eq!(quantized["verify"]["equal"], true);
}

#[test]
fn plan_of_a_rechunk_names_route_memory_and_what_is_read() {
    let test = counted(LITTLE);
    let run = test.run(["transcode", "--dry-run", "-c", "6,1", "a", "b"]).succeeds();
    for part in ["route        rechunk", "2, 5 -> 6, 1", "memory"] {
        assert!(run.text().contains(part), "{part}:\n{}", run.text());
    }
    let run = test.run(["transcode", "--dry-run", "--json", "-c", "6,1", "--max-memory", "540000", "a", "b"]);
    let node = &run.succeeds().json()["nodes"][0];
    assert_eq!(
        (&node["route"], &node["chunks"], &node["chunks_written"]),
        (&json!("rechunk"), &json!(5), &json!(5))
    );
    assert!(node["memory_bytes"].as_u64().unwrap() <= 540_000);
    assert!(!test.exists("b"));
}

#[test]
fn damaged_chunk_is_named_and_nothing_is_left() {
    let test = counted(LITTLE);
    test.write("a/c/1/0", [1, 2, 3]);
    test.run(["transcode", "-c", "6,1", "a", "b"]).fails(1, &["chunk [1, 0] (`c/1/0`) of `a`", "bytes"]);
    assert_eq!(test.names(), ["a"]);
}

/// Text in one chunk of an array of this shape.
fn text(test: &CliTest, name: &str, (shape, chunk): (u64, u64), words: &[String]) {
    test.write(
        &format!("{name}/zarr.json"),
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[{shape}],"data_type":"string","fill_value":"",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{chunk}]}}}},
            "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},
            "codecs":[{{"name":"vlen-utf8"}}]}}"#
        ),
    );
    let mut bytes = u32::try_from(words.len()).unwrap().to_le_bytes().to_vec();
    for word in words {
        bytes.extend(u32::try_from(word.len()).unwrap().to_le_bytes());
        bytes.extend(word.as_bytes());
    }
    test.write(&format!("{name}/c/0"), bytes);
}

#[test]
fn shape_that_claims_more_text_than_a_chunk_can_hold_is_refused() {
    let test = CliTest::new();
    text(&test, "a", (2_000_000_000_000, 1_000_000_000_000), &["word".to_owned()]);
    test.run(["transcode", "-c", "1000", "a", "b"]).fails(1, &["of `a` would have 1000000000000 elements"]);
    text(&test, "c", (1_000_000_000_000, 1), &["word".to_owned()]);
    test.run(["transcode", "-c", "0", "c", "d"]).fails(1, &["1000000000000 elements", "--chunk-shape"]);
    // What is not there takes no time.
    test.run(["transcode", "-c", "1000", "c", "e"]).succeeds();
    assert_eq!(test.all_files("e").len(), 2);
}

#[test]
fn text_of_one_chunk_is_read_once_for_all_that_it_is_cut_into() {
    let test = CliTest::new();
    let words: Vec<String> = (0..5000).map(|number| format!("word {number}")).collect();
    text(&test, "a", (5000, 5000), &words);
    let result = test.run(["transcode", "--json", "--verify", "-c", "7", "a", "b"]).succeeds().json();
    let node = &result["nodes"][0];
    assert_eq!(node["bytes_read"], test.read("a/c/0").len(), "{node}");
    assert_eq!(
        (&node["read_amplification"], &node["verify"]["equal"]),
        (&1.0.into(), &true.into()),
        "{node}"
    );
    test.run(["transcode", "--json", "-c", "5000", "b", "c"]).succeeds();
    assert_eq!(test.read("c/c/0"), test.read("a/c/0"));
}

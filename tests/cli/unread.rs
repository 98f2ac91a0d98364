//! `transcode` of arrays whose chunks are not decoded to elements of a size: text and bytes of any length, and what a
//! codec wrote that this program does not run.

use std::collections::BTreeMap;

use super::support::{CliTest, fixture};

/// A chunk of `vlen-utf8` and `vlen-bytes`.
fn chunk<S: AsRef<[u8]>>(elements: &[S]) -> Vec<u8> {
    let length = |length: usize| u32::try_from(length).unwrap().to_le_bytes();
    let mut bytes = length(elements.len()).to_vec();
    for element in elements {
        bytes.extend(length(element.as_ref().len()));
        bytes.extend(element.as_ref());
    }
    bytes
}

/// The word at a place: of any length, none too.
fn word(number: usize) -> String {
    "né ".repeat(number % 4) + &number.to_string().repeat(number % 3)
}

/// An array of 10 words in chunks of 4, of which the second is absent.
fn words(test: &CliTest, name: &str, fill_value: &str) {
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[10],"data_type":"string",
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},
        "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},"fill_value":"{fill_value}",
        "codecs":[{{"name":"vlen-utf8"}}],"dimension_names":["x"],"attributes":{{"n":1.0}}}}"#
    );
    test.write(&format!("{name}/zarr.json"), document);
    let of = |first: usize| (first..first + 4).map(word).collect::<Vec<_>>();
    test.write(&format!("{name}/c/0"), chunk(&of(0)));
    let last: Vec<String> = of(8).into_iter().take(2).chain([String::new(), "beyond".to_owned()]).collect();
    test.write(&format!("{name}/c/2"), chunk(&last));
}

/// The stored chunks of an array.
fn chunks(test: &CliTest, name: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = test.all_files(name);
    files.retain(|key, _| !key.ends_with("zarr.json") && !key.starts_with('.'));
    files
}

/// Runs each of these one after the other, the first on `a`; where the last leads to.
fn through(test: &CliTest, steps: &[&[&str]]) -> String {
    let mut source = "a".to_owned();
    for (number, options) in steps.iter().enumerate() {
        let destination = format!("step{number}");
        let mut arguments = vec!["transcode", "-q", "--verify"];
        arguments.extend_from_slice(options);
        arguments.extend([source.as_str(), destination.as_str()]);
        test.run(arguments).succeeds();
        source = destination;
    }
    source
}

#[test]
fn text_compressed_anew_comes_back_bit_for_bit() {
    let test = CliTest::new();
    words(&test, "a", "");
    let steps: [&[&str]; 6] = [
        &["--compress", "zstd:1"],
        &["--compress", "blosc:lz4:5:shuffle"],
        &[
            "--codecs",
            r#"[{"name":"vlen-utf8"},{"name":"gzip","configuration":{"level":1}},{"name":"crc32c"}]"#,
        ],
        &["--compress", "zstd:19", "--zarr-format", "2"],
        &["--compress", "gzip:3", "--zarr-format", "3"],
        &["--compress", "none"],
    ];
    let last = through(&test, &steps);
    assert!(chunks(&test, &last).values().eq(chunks(&test, "a").values()));
    assert!(
        chunks(&test, "step0")
            .values()
            .zip(chunks(&test, "a").values())
            .all(|(packed, plain)| packed != plain)
    );
    test.run(["validate", "-q", "--level", "data", "step0", "step1", "step2", "step3"]).succeeds();
}

#[test]
fn text_in_the_framing_of_zarrs_is_read_and_written() {
    let test = CliTest::new();
    words(&test, "a", "");
    let zarrs = r#"[{"name":"zarrs.vlen_v2"},{"name":"zstd","configuration":{"level":1}}]"#;
    let plain = r#"[{"name":"vlen-utf8"}]"#;
    let last = through(&test, &[&["--codecs", zarrs], &["-c", "3"], &["-c", "4"], &["--codecs", plain]]);
    test.run(["validate", "-q", "--level", "data", "--against", "a", &last]).succeeds();
    test.run(["validate", "-q", "--level", "data", "step0", "step1", "step2"]).succeeds();
}

#[test]
fn text_that_zarrs_wrote_is_read() {
    let test = CliTest::new();
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[5,3],"data_type":"string",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3,3]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":"-","codecs":[{"name":"vlen-utf8"}],"attributes":{}}"#;
    test.write("words/zarr.json", document);
    let words = ["winter", "", "Frühling", "summer", "été", "秋", "a", "bb", "ccc"];
    test.write("words/c/0/0", chunk(&words));
    let zarrs = fixture("zarrs_0.23.14_vlen_v2");
    let zarrs = zarrs.to_str().unwrap();
    test.run(["validate", "-q", "--level", "data", "--against", "words", zarrs]).succeeds();
    test.write("words/c/0/0", chunk(&["winter", "", "Frühling", "summer", "été", "秋", "a", "bb", "other"]));
    let run = test.run(["validate", "--against", "words", zarrs]);
    assert!(run.status != 0 && run.text().contains("1 of 15 elements differs"), "{}", run.text());
}

#[test]
fn text_in_shards_is_compressed_anew_inside_them() {
    let test = CliTest::new();
    words(&test, "a", "");
    let into: &[&str] = &["-s", "8", "--compress", "zstd:1"];
    let last = through(&test, &[into, &["--compress", "gzip:1"], &["--compress", "none", "-s", "none"]]);
    assert_eq!(chunks(&test, &last), chunks(&test, "a"));
    let report = test.run(["transcode", "--json", "--compress", "zstd:5", "step0", "b"]).succeeds().json();
    assert_eq!(report["nodes"][0]["route"], "recode");
    test.run(["validate", "-q", "--level", "data", "step0", "step1"]).succeeds();
}

#[test]
fn text_moves_into_shards_and_out_as_it_is_encoded() {
    let test = CliTest::new();
    words(&test, "a", "");
    for (source, options, destination) in
        [("a", ["-s", "12"], "b"), ("b", ["-s", "8"], "c"), ("c", ["-s", "none"], "d")]
    {
        let mut arguments = vec!["transcode", "--json", "--verify"];
        arguments.extend(options);
        arguments.extend([source, destination]);
        let report = test.run(arguments).succeeds().json();
        assert_eq!(
            (&report["nodes"][0]["route"], &report["nodes"][0]["verify"]["equal"]),
            (&"reshard".into(), &true.into())
        );
    }
    assert_eq!(chunks(&test, "d"), chunks(&test, "a"));
}

#[test]
fn chunks_of_an_unknown_codec_are_compressed_anew() {
    let test = CliTest::new();
    let document = |codecs: &str, data_type: &str, fill_value: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[8],"data_type":{data_type},
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},"fill_value":{fill_value},
            "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},"codecs":[{codecs}]}}"#
        )
    };
    for (number, (codec, data_type, fill_value)) in [
        (r#"{"name":"vlen-array","configuration":{"dtype":"<i4"}}"#, r#""float32""#, "0.0"),
        (r#"{"name":"example.unknown"}"#, r#""float32""#, "0.0"),
        (r#"{"name":"bytes"},{"name":"example.unknown"}"#, r#""uint8""#, "0"),
        (r#"{"name":"zarrs.vlen"}"#, r#""string""#, r#""""#),
        (r#"{"name":"bytes"}"#, r#"{"name":"example.type"}"#, r#"[1,{"a":2}]"#),
    ]
    .into_iter()
    .enumerate()
    {
        let name = |part: &str| format!("{part}{number}");
        let [a, b, c, d] = ["a", "b", "c", "d"].map(name);
        test.write(&format!("{a}/zarr.json"), document(codec, data_type, fill_value));
        test.write(&format!("{a}/c/1"), "whatever ".repeat(100));
        for (source, compression, destination) in [(&a, "zstd:1", &b), (&b, "gzip:1", &c), (&c, "none", &d)] {
            let run =
                test.run(["transcode", "--json", "--verify", "--compress", compression, source, destination]);
            assert_eq!(run.status, 0, "{codec}: {}", run.error);
            assert_eq!(run.json()["nodes"][0]["route"], "recode", "{codec}");
        }
        assert!(test.read(&format!("{b}/c/1")).len() < 100, "{codec}");
        assert_eq!(chunks(&test, &d), chunks(&test, &a), "{codec}");
    }
    let codecs = r#"[{"name":"bytes","configuration":{"endian":"big"}}]"#;
    test.run(["transcode", "--codecs", codecs, "a0", "e"]).fails(1, &["vlen-array", "is not supported"]);
}

#[test]
fn tree_with_a_text_coordinate_is_compressed_as_a_whole() {
    let test = CliTest::new();
    test.group("a");
    words(&test, "a/words", "");
    let numbers = r#"{"zarr_format":3,"node_type":"array","shape":[10],"data_type":"uint8","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"codecs":[{"name":"bytes"}]}"#;
    test.write("a/numbers/zarr.json", numbers).write("a/numbers/c/0", [1, 2, 3, 4]);
    let report =
        test.run(["transcode", "--json", "--verify", "--compress", "zstd:1", "a", "b"]).succeeds().json();
    let routes: Vec<_> = report["nodes"].as_array().unwrap().iter().map(|node| &node["route"]).collect();
    assert_eq!(routes, ["metadata", "recode", "recode"]);
    assert_eq!(report["nodes"][2]["destination"]["codecs"][1]["name"], "zstd");
}

#[test]
fn damaged_text_is_an_error_that_names_its_chunk() {
    let test = CliTest::new();
    words(&test, "a", "");
    test.write("a/c/2", &chunk(&["one", "two"])[..12]);
    test.run(["transcode", "--compress", "zstd:1", "a", "b"])
        .fails(1, &["`c/2`", "vlen-utf8", "2 elements found, 4 expected"]);
    assert!(!test.exists("b/zarr.json"));
}

#[test]
fn result_is_the_same_for_any_number_of_threads() {
    let test = CliTest::new();
    words(&test, "a", "");
    let run = |threads: &str, destination: &str| {
        let fixed =
            ["transcode", "-q", "--compress", "zstd:3", "-s", "8", "--threads", threads, "a", destination];
        test.run(fixed).succeeds();
        test.all_files(destination)
    };
    assert_eq!(run("1", "b"), run("7", "c"));
}

/// A 5 x 6 array of words in chunks of 2 x 4, of which one is absent, reversed in order where it is.
fn table(test: &CliTest, name: &str, codecs: &str, fill_value: &str) {
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[5,6],"data_type":"string",
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2,4]}}}},
        "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},"fill_value":"{fill_value}",
        "codecs":{codecs}}}"#
    );
    test.write(&format!("{name}/zarr.json"), document);
    let is_reversed = codecs.contains("transpose");
    for (row, column) in [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)] {
        let at = |index: usize| if is_reversed { (index % 2, index / 2) } else { (index / 4, index % 4) };
        let elements: Vec<String> = (0..8)
            .map(|index| {
                let (y, x) = (row * 2 + at(index).0, column * 4 + at(index).1);
                if y < 5 && x < 6 { word(y * 6 + x) } else { "beyond".to_owned() }
            })
            .collect();
        test.write(&format!("{name}/c/{row}/{column}"), chunk(&elements));
    }
}

const FORWARD: &str = r#"[{"name":"vlen-utf8"}]"#;
const REVERSED: &str = r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"vlen-utf8"}]"#;

#[test]
fn text_is_written_in_any_other_chunks_and_shards() {
    for (codecs, fill_value) in [(FORWARD, ""), (FORWARD, "none"), (REVERSED, "none")] {
        let test = CliTest::new();
        table(&test, "a", codecs, fill_value);
        for (number, options) in [
            &["-c", "1,1"][..],
            &["-c", "5,6", "--compress", "zstd:1"],
            &["-c", "3,5"],
            &["-c", "2,3", "-s", "4,6"],
            &["-c", "4,1", "-s", "8,3", "--write-empty-chunks"],
            &["--codecs", REVERSED],
            &["--codecs", FORWARD, "-c", "0,0"],
        ]
        .into_iter()
        .enumerate()
        {
            let run = |threads: &str, source: &str, destination: &str, options: &[&str]| {
                let mut arguments = vec!["transcode", "--json", "--verify", "--threads", threads];
                arguments.extend_from_slice(options);
                arguments.extend([source, destination]);
                let report = test.run(arguments).succeeds().json();
                let verified = &report["nodes"][0]["verify"];
                assert_eq!((&verified["equal"], &verified["elements"]), (&true.into(), &30.into()));
            };
            let [there, alike, back] = ["b", "c", "d"].map(|name| format!("{name}{number}"));
            run("1", "a", &there, options);
            run("5", "a", &alike, options);
            assert_eq!(test.all_files(&there), test.all_files(&alike), "{options:?}");
            test.run(["validate", "-q", "--against", "a", &there]).succeeds();
            let codecs = if codecs == FORWARD { FORWARD } else { REVERSED };
            run("2", &there, &back, &["-c", "2,4", "-s", "none", "--codecs", codecs]);
            test.run(["validate", "-q", "--against", &back, "a"]).succeeds();
        }
    }
}

#[test]
fn chunks_of_nothing_but_the_fill_value_are_left_out() {
    let test = CliTest::new();
    words(&test, "a", "none");
    test.write("a/c/0", chunk(&["none", "none", "one", "two"]));
    test.run(["transcode", "-q", "-c", "2", "a", "b"]).succeeds();
    assert_eq!(chunks(&test, "b").into_keys().collect::<Vec<_>>(), ["c/1", "c/4"]);
    test.run(["transcode", "-q", "-c", "2", "--write-empty-chunks", "a", "c"]).succeeds();
    assert_eq!(test.read("c/c/0"), chunk(&["none", "none"]));
    assert_eq!(test.read("c/c/4"), chunk(&[word(8), word(9)]));
}

#[test]
fn absent_text_keeps_its_fill_value_under_another() {
    let test = CliTest::new();
    words(&test, "a", "old");
    test.run(["transcode", "-q", "--verify", "-f", "\"new\"", "a", "b"]).succeeds();
    assert_eq!(test.read("b/c/1"), chunk(&["old"; 4]));
    test.run(["validate", "-q", "--against", "a", "b"]).succeeds();
}

#[test]
fn against_names_the_first_text_that_differs() {
    let test = CliTest::new();
    words(&test, "a", "x");
    words(&test, "b", "x");
    test.write("b/c/2", chunk(&[word(8).as_str(), "other", "", ""]));
    let report = test.run(["validate", "--json", "--against", "b", "a"]);
    assert_eq!(report.status, 1, "{}", report.error);
    let node = &report.json()["against"]["nodes"][0];
    assert_eq!((&node["differing"], &node["at"]), (&1.into(), &serde_json::json!([9])));
    assert_eq!((&node["value"], &node["other_value"]), (&word(9).into(), &"other".into()));
    words(&test, "c", "y");
    let report = test.run(["validate", "--json", "--against", "c", "a"]);
    assert_eq!(report.json()["against"]["nodes"][0]["differing"], 4);
}

#[test]
fn fill_value_that_readers_differ_about_is_said_as_it_was_taken() {
    let test = CliTest::new();
    test.write(
        "a/.zarray",
        r#"{"zarr_format":2,"shape":[5],"chunks":[2],"dtype":"|O","fill_value":0,"order":"C",
        "filters":[{"id":"vlen-utf8"}],"compressor":null}"#,
    );
    test.write("a/0", chunk(&["a0", "bb"]));
    let fill_value = |name: &str| {
        let document = test.read_json(&format!("{name}/.zarray"));
        document["fill_value"].clone()
    };
    let run = test.run(["transcode", "--compress", "zstd:1", "a", "b"]);
    assert!(run.status == 0 && run.error.contains("ZM222"), "{}", run.error);
    assert_eq!(fill_value("b"), 0);
    // Elements of absent chunks come to stand beside others.
    assert_eq!(test.run(["transcode", "-c", "3", "--verify", "a", "c"]).status, 0);
    assert_eq!(fill_value("c"), "");
    assert_eq!(test.read("c/0"), chunk(&["a0", "bb", ""]));
}

#[test]
fn against_of_text_names_damaged_chunks_and_memory_that_is_too_little() {
    let test = CliTest::new();
    let document = |length: usize| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[3],"data_type":"string","fill_value":"",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{length}]}}}},
            "chunk_key_encoding":{{"name":"default"}},"codecs":[{{"name":"vlen-utf8"}}]}}"#
        )
    };
    let long = "word".repeat(750_000);
    test.write("a/zarr.json", document(3)).write("a/c/0", chunk(&[&long, &long, &long]));
    test.write("b/zarr.json", document(1));
    for index in 0..3 {
        test.write(&format!("b/c/{index}"), chunk(&[&long]));
    }
    let run = test.run(["validate", "--max-memory", "8MiB", "a", "--against", "b"]);
    assert!(run.status == 3 && run.error.contains("give `--max-memory"), "{}", run.error);
    test.run(["validate", "--max-memory", "80MiB", "a", "--against", "b"]).succeeds();
    test.write("b/c/1", b"\xff\xff\xff\xff");
    let report = test.run(["validate", "--json", "a", "--against", "b"]);
    let reason = report.json()["against"]["nodes"][0]["reason"].to_string();
    assert!(reason.contains("chunk c/1 of b"), "{reason}");
}

#[test]
fn transposed_text_is_checked_as_to_its_framing() {
    let test = CliTest::new();
    test.write(
        "a/.zarray",
        r#"{"zarr_format":2,"shape":[2,2],"chunks":[2,2],"dtype":"|O","fill_value":"","order":"F",
        "filters":[{"id":"vlen-utf8"}],"compressor":null}"#,
    );
    test.write("a/0.0", chunk(&["a", "né", "", "b"]));
    let run = test.run(["validate", "--level", "data", "a"]).succeeds();
    assert!(!run.text().contains("ZX104"), "{}", run.text());
    test.write("a/0.0", chunk(&["a", "b", "c"]));
    let report = test.run(["validate", "--level", "data", "--json", "a"]);
    assert_eq!(report.json()["findings"][0]["code"], "ZX101", "{}", report.json()["findings"]);
}

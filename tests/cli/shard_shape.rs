//! `transcode` where a shard of one side has the shape of a chunk of the other: what is written reads as it should.

use super::support::{CliTest, float32};

/// Arrays of 10 x 7 in objects of 4 x 4, of which the last row is not stored: `plain`, `v2`, `inner` in shards of four
/// inner chunks, `whole` in shards of one; of codes, `packed` and `packed_inner`.
fn arrays() -> CliTest {
    let test = CliTest::new();
    let values: Vec<f32> =
        (0..8_u8).flat_map(|row| (0..8).map(move |i| f32::from(row * 8 + i) / 2.0)).collect();
    let document = |name: &str, fill_value: &str, codecs: &str| {
        test.write(
            &format!("{name}/zarr.json"),
            format!(
                r#"{{"zarr_format":3,"node_type":"array","shape":[10,7],"data_type":"float32",
                "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4,4]}}}},
                "chunk_key_encoding":{{"name":"default"}},"fill_value":{fill_value},"codecs":{codecs}}}"#
            ),
        );
    };
    document("plain", "1.5", r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#);
    let zarray = r#"{"zarr_format":2,"shape":[10,7],"chunks":[4,4],"dtype":"<f4","fill_value":1.5,"order":"C",
        "filters":null,"compressor":null}"#;
    test.write("v2/.zarray", zarray);
    for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let of_row = |i: usize| values[(row * 4 + i) * 8 + column * 4..][..4].to_vec();
        let chunk = float32(&(0..4).flat_map(of_row).collect::<Vec<_>>());
        test.write(&format!("plain/c/{row}/{column}"), &chunk).write(&format!("v2/{row}.{column}"), &chunk);
    }
    // These go another way than what is tried: objects of another shape lie between.
    test.run(["transcode", "-c", "2,2", "plain", "between"]).succeeds();
    test.run(["transcode", "-s", "4,4", "between", "inner"]).succeeds();
    test.run(["transcode", "-c", "4,4", "-s", "4,4", "between", "whole"]).succeeds();
    for (source, name) in [("plain", "packed"), ("inner", "packed_inner")] {
        // The fill value moves to one that the codes have, with a warning.
        let run = test.run(["transcode", "--quantize", "uint8", "--range", "-40,40", source, name]);
        assert_eq!(run.status, 0, "{}", run.error);
    }
    test
}

/// Transcodes and compares DEST, read anew, with SOURCE.
fn reads_back(test: &CliTest, source: &str, options: &[&str], tolerance: &str) {
    let case = format!("{source} {options:?}");
    let run =
        test.run(["transcode", "--json", "--verify", "--overwrite", source, "out"].iter().chain(options));
    assert_eq!(run.status, 0, "{case}: {}", run.error);
    let node = &run.json()["nodes"][0];
    assert_eq!(node["verify"]["equal"], true, "{case}");
    let against = ["validate", "--json", "--level", "data", "out", "--against", source, "--atol", tolerance];
    let run = test.run(against);
    assert_eq!(run.status, 0, "{case}: {}", run.text());
    assert_eq!(run.json()["against"]["equal"], true, "{case}");
}

const SHARDED: [&[&str]; 4] =
    [&["-s", "4,4"], &["-s", "4,4", "-c", "2,2"], &["-s", "4,4", "-c", "4,4"], &["-s", "4,4", "-c", "1,4"]];

const CHANGES: [(&[&str], &str); 5] = [
    (&[], "0"),
    (&["--compress", "gzip:1"], "0"),
    (&["--fill-value", "-2"], "0"),
    (&["--write-empty-chunks"], "0"),
    (&["--data-type", "float64"], "0"),
];

#[test]
fn shards_of_the_shape_of_plain_chunks_hold_the_values() {
    let test = arrays();
    for (changes, tolerance) in CHANGES.iter().chain(&QUANTISED) {
        for shapes in SHARDED {
            reads_back(&test, "plain", &[shapes, changes].concat(), tolerance);
        }
        reads_back(&test, "v2", &[&["--zarr-format", "3"], SHARDED[1], changes].concat(), tolerance);
        reads_back(&test, "v2", &[&["--zarr-format", "3"], SHARDED[0], changes].concat(), tolerance);
    }
}

const QUANTISED: [(&[&str], &str); 3] = [
    (&["--quantize", "uint8"], "0.1"),
    (&["--quantize", "uint8", "--range", "-1,40", "--compress", "zstd:1"], "0.1"),
    (&["--quantize", "uint16", "--nan-value", "0", "--range=-50,50"], "0.01"),
];

#[test]
fn chunks_of_the_shape_of_shards_hold_the_values() {
    let test = arrays();
    for source in ["inner", "whole"] {
        for (changes, tolerance) in CHANGES.iter().chain(&QUANTISED) {
            reads_back(&test, source, &[&["-s", "none", "-c", "4,4"], *changes].concat(), tolerance);
            for shapes in SHARDED {
                reads_back(&test, source, &[shapes, changes].concat(), tolerance);
            }
        }
    }
}

#[test]
fn codecs_with_shards_of_the_shape_of_the_chunks_hold_the_values() {
    let test = arrays();
    let chain = r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"sharding_indexed","configuration":{
        "chunk_shape":[INNER],"index_location":"start","codecs":[{"name":"bytes","configuration":{"endian":"big"}},
        {"name":"crc32c"}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#;
    for source in ["plain", "inner", "whole", "packed", "packed_inner"] {
        for inner in ["2,4", "4,4", "1,1"] {
            let chain = chain.replace("INNER", inner);
            reads_back(&test, source, &["--codecs", &chain], "0");
            if !source.starts_with("packed") {
                let options = ["--codecs", &chain, "--quantize", "uint8", "--range", "-1,40"];
                reads_back(&test, source, &options, "0.1");
            }
        }
    }
}

#[test]
fn unpacked_codes_in_shards_of_the_shape_of_the_chunks_are_the_values() {
    let test = arrays();
    for shapes in SHARDED {
        reads_back(&test, "packed", &[shapes, &["--unpack"]].concat(), "0");
        reads_back(&test, "packed_inner", &[shapes, &["--unpack"]].concat(), "0");
        reads_back(&test, "packed", shapes, "0");
    }
    reads_back(&test, "packed_inner", &["-s", "none", "-c", "4,4"], "0");
    reads_back(&test, "packed_inner", &["-s", "none", "-c", "4,4", "--unpack"], "0");
}

#[test]
fn inner_chunks_that_are_whole_chunks_are_moved_as_they_are() {
    let test = arrays();
    for [source, shards, out] in [["plain", "4,4", "sharded"], ["sharded", "none", "out"]] {
        let run = test.run(["transcode", "--json", "-s", shards, source, out]).succeeds();
        assert_eq!(run.json()["nodes"][0]["route"], "reshard");
    }
    assert_eq!(test.all_files("out/c"), test.all_files("plain/c"));
}

#[test]
fn absent_chunks_that_are_written_out_are_compared_as_any_reader_gets_them() {
    let test = arrays();
    let document = String::from_utf8(test.read("plain/zarr.json")).unwrap();
    test.write("plain/zarr.json", document.replace("\"fill_value\":1.5", "\"fill_value\":1.3"));
    let chain = r#"[{"name":"bitround","configuration":{"keepbits":3}},
        {"name":"bytes","configuration":{"endian":"little"}}]"#;
    for options in [
        &["-f", "7", "--codecs", chain][..],
        &["-f", "7", "--codecs", chain, "-c", "2,2"],
        &["--quantize", "uint8", "--nan-value", "255", "-f", "\"NaN\""],
        &["--quantize", "uint8", "--nan-value", "255", "-f", "\"NaN\"", "-c", "2,2"],
        &["--quantize", "uint8", "--nan-value", "0", "-s", "8,8"],
        &["--quantize", "uint8", "--nan-value", "0", "-c", "2,2"],
    ] {
        let fixed = ["transcode", "--json", "--verify", "--overwrite", "plain", "out"];
        let run = test.run(fixed.iter().chain(options));
        assert_eq!(run.status, 0, "{options:?}: {}", run.error);
        assert_eq!(run.json()["nodes"][0]["verify"]["equal"], true, "{options:?}");
        let against =
            ["validate", "--level", "data", "out", "--against", "plain", "--atol", "0.2", "--rtol", "0.1"];
        let run = test.run(against);
        assert_eq!(run.status, 0, "{options:?}: {}", run.text());
    }
}

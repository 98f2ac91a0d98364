//! The rectilinear chunk grid in runs of two passes and in resumed runs.

use std::fs;

use serde_json::json;

use super::support::{CliTest, Run};

fn bytes(values: impl IntoIterator<Item = i16>) -> Vec<u8> {
    values.into_iter().flat_map(i16::to_le_bytes).collect()
}

/// Asserts status 0. The run may warn that few readers support the grid.
#[track_caller]
fn done(run: Run) -> Run {
    assert_eq!(run.status, 0, "{}{}", run.error, run.text());
    run
}

/// Writes an array of 60 rows in chunks of one or two rows. Some chunks are missing.
fn rows(test: &CliTest, name: &str, columns: i16) {
    let chunk_shapes = json!([[[1, 20], [2, 20]], [[columns, 1]]]);
    let grid = json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": chunk_shapes}});
    test.array(name, json!({"shape": [60, columns], "data_type": "int16", "fill_value": -1, "chunk_grid": grid}));
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
    let options = ["--chunk-shape", "60,200", "--max-memory", "800000", "--threads", "1", "--verify", "--json"];
    let result = done(test.run([&["transcode"], &options[..], &["a", "b"]].concat())).json();
    let node = &result["nodes"][0];
    assert!(node["bytes_temporary"].as_u64().unwrap() > 0, "{node}");
    assert_eq!(node["verify"]["equal"], json!(true));
    done(test.run(["validate", "--level", "data", "b"]));
    done(test.run(["validate", "b", "--against", "a"]));
}

#[test]
fn run_that_a_corrupt_chunk_ended_goes_on() {
    for (options, is_rechunked) in [(&["--compress", "zstd:1"][..], false), (&["--chunk-shape", "7,100"], true)] {
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
            // Finished chunks are not read again, so they may be removed.
            fs::remove_file(test.path("a/c/0/0")).unwrap();
        }
        done(test.run([&command[..], &["--resume", "a", "b"]].concat()));
        assert_eq!(test.all_files("b"), test.all_files("whole"), "{options:?}");
    }
}

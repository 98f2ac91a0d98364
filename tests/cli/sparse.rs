//! Arrays with hardly any stored chunks, and chunks that claim more than they contain: all commands end at once.

use serde_json::{Value, json};

use super::support::{CliTest, Run};

/// Writes a uint8 array with 10^12 chunks. One of them is stored.
fn sparse(test: &CliTest) {
    test.array("a", json!({"shape": [4_000_000, 4_000_000], "chunk_shape": [4, 4], "data_type": "uint8"}));
    test.write("a/c/3/5", [7; 16]);
}

/// Runs a command that must end soon: after 30 seconds of processor time, of all threads together.
fn at_once(test: &CliTest, arguments: &[&str]) -> Run {
    let run = test.run_within(30, arguments);
    assert!(run.status < 128, "{arguments:?} was killed: {}", run.status);
    run
}

#[test]
fn sparse_array_of_a_million_million_chunks_is_read_and_written_at_once() {
    let test = CliTest::new();
    sparse(&test);
    for arguments in [
        &["inspect", "a"][..],
        &["inspect", "--stats", "--histogram", "4", "a"],
        &["inspect", "--preview", "a"],
        &["validate", "--level", "data", "a"],
        &["validate", "--against", "a", "a"],
    ] {
        at_once(&test, arguments).succeeds();
    }
    // Options, and the number of stored objects of DEST that have no stored source.
    let written: [(&[&str], u64); 7] = [
        (&[], 999_999_999_999),
        (&["--compress", "zstd:1"], 999_999_999_999),
        (&["-c", "8,8"], 249_999_999_999),
        (&["-s", "400,400"], 99_999_999),
        (&["-s", "4000,4000"], 999_999),
        (&["-s", "4000,4000", "--verify"], 999_999),
        (&["-c", "10,10", "-s", "100,100"], 1_599_999_999),
    ];
    for (number, (options, absent)) in written.iter().enumerate() {
        let destination = number.to_string();
        let arguments = [&["transcode", "--json"], *options, &["a", &destination]].concat();
        let result = at_once(&test, &arguments).succeeds().json();
        let node = &result["nodes"][0];
        assert_eq!(node["chunks_written"], json!(1), "{options:?}");
        assert_eq!(node["chunks"].as_u64().unwrap() - 1, *absent, "{options:?}: {node}");
    }
}

#[test]
fn text_that_claims_elements_and_holds_none_fails_at_once() {
    let count = 4_000_000_000_u64;
    let test = CliTest::new();
    test.array(
        "a",
        json!({"shape": [count], "data_type": "string", "fill_value": "", "codecs": [{"name": "vlen-utf8"}]}),
    );
    for chunk in [Vec::new(), u32::try_from(count).unwrap().to_le_bytes().to_vec()] {
        test.write("a/c/0", chunk);
        for arguments in [
            &["validate", "--level", "data", "a"][..],
            &["validate", "--against", "a", "a"],
            &["transcode", "--compress", "zstd:1", "a", "b"],
            &["transcode", "-c", "1000", "a", "b"],
        ] {
            assert_eq!(at_once(&test, arguments).status, 1, "{arguments:?}");
            assert!(!test.exists("b"));
        }
    }
}

#[test]
fn shard_shorter_than_its_index_is_an_error_however_many_inner_chunks_it_claims() {
    for length in [1_000_000_u64, 10_000_000_000] {
        let test = CliTest::new();
        let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
        test.array("a", json!({"shape": [length], "data_type": "uint8", "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [1], "codecs": [{"name": "bytes"}], "index_codecs": [little, {"name": "crc32c"}], "index_location": "end"}}]}));
        test.write("a/c/0", b"0123456789");
        for level in ["keys", "index", "data"] {
            let run = at_once(&test, &["validate", "--level", level, "a"]);
            assert_eq!(run.status, 1, "{level}: {}", run.error);
            let message = format!("the shard of 10 bytes is shorter than its index of {}", 16 * length + 4);
            let output = String::from_utf8(run.output).unwrap();
            // Lines are wrapped if they are too long for a terminal.
            let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(output.contains(&message), "{level}: {output}");
        }
        let inspected = at_once(&test, &["inspect", "--json", "a"]);
        let message = format!("the shard of 10 bytes is shorter than its index of {}", 16 * length + 4);
        let is_said = |found: &Value| found["code"] == "ZS101" && found["message"] == json!(message);
        let warnings = inspected.json()["warnings"].clone();
        assert!(warnings.as_array().unwrap().iter().any(is_said), "{warnings}");
        assert_eq!(inspected.status, 1);
        assert_eq!(at_once(&test, &["transcode", "--compress", "zstd:1", "a", "b"]).status, 1);
        assert!(!test.exists("b"));
    }
}

#[test]
fn reader_that_has_gone_ends_a_command_quietly_with_0() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([1.0; 4])]);
    test.write_float32("torn", "0", &[Some([1.0; 4])]);
    test.write("torn/c/0", b"torn");
    for arguments in [
        &["validate", "--level", "data", "torn"][..],
        &["validate", "--json", "torn"],
        &["validate", "--list-rules"],
        &["inspect", "a"],
        &["apply-codec", "--codecs", "[]", "--data-type", "uint8", "--shape", "16", "a/c/0", "-"],
        &["transcode", "a", "b"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = std::process::Command::new(env!("CARGO_BIN_EXE_zarrcast"))
            .args(arguments)
            .current_dir(test.path(""))
            .stdout(writer)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), error.as_ref()), (Some(0), ""), "{arguments:?}");
    }
    // The destination is complete nevertheless.
    assert_eq!(test.all_files("b"), test.all_files("a"));
}

//! DEST as a zip file: complete or absent, never in part.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::support::{CliTest, fixture, float32};

/// Writes an array of 3 chunks. One is missing.
fn with_array() -> CliTest {
    let test = CliTest::new();
    test.write_float32("a.zarr", "0", &[Some([1.0, 2.0, 3.0, 4.0]), None, Some([5.0, 6.0, 7.0, 8.0])]);
    test
}

/// Checks the contents of a zip file with a copy.
#[track_caller]
fn holds(test: &CliTest, zip: &str, folder: &str) {
    test.run(["transcode", zip, "unzipped"]).succeeds();
    assert!(test.all_files("unzipped") == test.all_files(folder), "{zip} and {folder} differ");
    std::fs::remove_dir_all(test.path("unzipped")).unwrap();
}

#[test]
fn zip_holds_what_a_folder_would() {
    let test = CliTest::new();
    for name in ["zarr-python_3.1.6_sharded_index_start", "zarr-python_3.1.6_sharded_index_end"] {
        let source = fixture(name);
        let source = source.to_str().unwrap();
        for options in [&[][..], &["--compress", "zstd:3", "--verify"], &["--shard-shape", "none", "--verify"]] {
            for threads in ["1", "4"] {
                let run = |destination| {
                    let words = ["transcode", source, destination, "--threads", threads];
                    test.run(words.iter().chain(options)).succeeds();
                };
                run("b.zip");
                run("b.zarr");
                holds(&test, "b.zip", "b.zarr");
                test.run(["validate", "--level", "data", "b.zip"]).succeeds();
                std::fs::remove_dir_all(test.path("b.zarr")).unwrap();
                std::fs::remove_file(test.path("b.zip")).unwrap();
                assert!(test.names().is_empty());
            }
        }
    }
}

#[test]
fn shards_and_chunks_larger_than_what_is_held_are_written() {
    let test = CliTest::new();
    let values: Vec<f32> = (0_u16..60_000).cycle().take(800_000).map(f32::from).collect();
    test.array("a.zarr", json!({"shape": [800_000]}));
    test.write("a.zarr/c/0", float32(&values));
    let sharded = |location: &str| {
        format!(
            r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[1000],"index_location":"{location}",
            "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}],
            "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}},{{"name":"crc32c"}}]}}}}]"#
        )
    };
    let (start, end) = (sharded("start"), sharded("end"));
    for options in [&[][..], &["--codecs", &start], &["--codecs", &end], &["-c", "400000"]] {
        for destination in ["b.zip", "b.zarr"] {
            test.run(["transcode", "--verify", "a.zarr", destination].iter().chain(options)).succeeds();
        }
        holds(&test, "b.zip", "b.zarr");
        test.run(["validate", "b.zip", "--level", "data", "--against", "a.zarr"]).succeeds();
        std::fs::remove_dir_all(test.path("b.zarr")).unwrap();
        std::fs::remove_file(test.path("b.zip")).unwrap();
        assert_eq!(test.names(), ["a.zarr"]);
    }
}

#[test]
fn zip_has_the_permissions_of_the_document() {
    let test = with_array();
    for mode in [0o600, 0o640] {
        let document = test.path("a.zarr/zarr.json");
        std::fs::set_permissions(&document, std::fs::Permissions::from_mode(mode)).unwrap();
        test.run(["transcode", "a.zarr", "b.zip", "--overwrite"]).succeeds();
        let found = std::fs::metadata(test.path("b.zip")).unwrap().permissions().mode() & 0o777;
        // The umask may remove more.
        assert!(found & !mode == 0 && found & 0o600 == 0o600, "{found:o}");
    }
}

//! DEST as a zip file: whole or not there, never half.

use std::os::unix::fs::PermissionsExt;

use super::support::zip::{Member, zip};
use super::support::{CliTest, fixture, float32};

/// An array of 3 chunks, one of them absent.
fn with_array() -> CliTest {
    let test = CliTest::new();
    test.write_float32("a.zarr", "0", &[Some([1.0, 2.0, 3.0, 4.0]), None, Some([5.0, 6.0, 7.0, 8.0])]);
    test
}

/// What a zip file holds, by way of a copy.
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
        for options in
            [&[][..], &["--compress", "zstd:3", "--verify"], &["--shard-shape", "none", "--verify"]]
        {
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
    test.write(
        "a.zarr/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[800000],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[800000]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"attributes":{}}"#,
    );
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
fn hierarchy_with_names_of_any_alphabet_is_written() {
    let test = CliTest::new();
    test.group("g.zarr");
    test.write_float32("g.zarr/température", "0", &[Some([1.0; 4])])
        .write("g.zarr/notes/read me.txt", "text");
    test.run(["transcode", "g.zarr", "g.zip"]).succeeds();
    holds(&test, "g.zip", "g.zarr");
    test.run(["inspect", "g.zip", "--node", "température"]).succeeds();
    test.run(["transcode", "g.zip", "h.zip", "--compress", "gzip"]).succeeds();
    test.run(["validate", "h.zip", "--against", "g.zip"]).succeeds();
    assert_eq!(test.names(), ["g.zarr", "g.zip", "h.zip"]);
}

#[test]
fn zip_is_replaced_only_where_it_is_asked_for_and_is_one() {
    let test = with_array();
    test.run(["transcode", "a.zarr", "b.zip"]).succeeds();
    let before = test.read("b.zip");
    test.run(["transcode", "a.zarr", "b.zip"]).fails(3, &["`b.zip` exists already", "--overwrite"]);
    test.run(["transcode", "a.zarr", "b.zip", "--resume"]).fails(3, &["`b.zip` is complete"]);
    assert_eq!(test.read("b.zip"), before);
    test.run(["transcode", "a.zarr", "b.zip", "--overwrite", "-f", "1"]).succeeds();
    test.run(["transcode", "a.zarr", "b.zip", "--overwrite", "--resume"]).succeeds();
    holds(&test, "b.zip", "a.zarr");
    test.run(["transcode", "a.zarr", "c.zip", "--resume"]).succeeds();
    let others = [zip(&[Member::stored("readme", "mine")]), b"PK\x03\x04rest".to_vec(), b"text".to_vec()];
    for other in others {
        test.write("d.zip", &other);
        for option in ["--overwrite", "--threads=1"] {
            test.run(["transcode", "a.zarr", "d.zip", option]).fails(3, &["`d.zip`"]);
        }
        assert_eq!(test.read("d.zip"), other);
    }
    test.group("f.zip");
    test.run(["transcode", "a.zarr", "f.zip/b"]).succeeds();
    assert!(test.exists("f.zip/b/zarr.json"));
    assert_eq!(test.names(), ["a.zarr", "b.zip", "c.zip", "d.zip", "f.zip"]);
}

#[test]
fn one_thread_gives_the_same_bytes_each_time() {
    let test = CliTest::new();
    let source = fixture("zarr-python_3.1.6_sharded_index_end");
    for name in ["a.zip", "b.zip"] {
        test.run(["transcode", source.to_str().unwrap(), name, "--threads", "1", "--compress", "gzip"])
            .succeeds();
    }
    assert!(test.read("a.zip") == test.read("b.zip"));
}

#[test]
fn destination_inside_a_zip_is_refused() {
    let test = with_array();
    test.run(["transcode", "a.zarr", "b.zip"]).succeeds();
    for name in ["b.zip/inner", "b.zip|zip:inner", "b.zip|zip:", "new.zip/inner"] {
        test.run(["transcode", "a.zarr", name])
            .fails(2, &["lies in a zip file, which is written as a whole"]);
    }
    assert_eq!(test.names(), ["a.zarr", "b.zip"]);
}

#[test]
fn source_and_destination_are_told_apart_in_zips_too() {
    let test = with_array();
    test.run(["transcode", "a.zarr", "b.zip"]).succeeds();
    let before = test.read("b.zip");
    std::os::unix::fs::symlink("b.zip", test.path("link.zip")).unwrap();
    std::fs::hard_link(test.path("b.zip"), test.path("hard.zip")).unwrap();
    for [source, destination] in [
        ["b.zip", "b.zip"],
        ["link.zip", "b.zip"],
        ["b.zip", "link.zip"],
        ["hard.zip", "b.zip"],
        ["./b.zip", "b.zip"],
    ] {
        let run = test.run(["transcode", source, destination, "--overwrite"]);
        run.fails(3, &["is SOURCE itself"]);
    }
    test.run(["transcode", "a.zarr", "a.zarr/b.zip"]).fails(3, &["one inside the other"]);
    test.group("g.zarr");
    std::fs::rename(test.path("hard.zip"), test.path("g.zarr/hard.zip")).unwrap();
    test.run(["transcode", "g.zarr/hard.zip", "g.zarr", "--overwrite"]).fails(3, &["one inside the other"]);
    assert_eq!(test.read("b.zip"), before);
    // What a link leads to is replaced, and the link stays.
    test.run(["transcode", "a.zarr", "link.zip", "--overwrite", "-f", "1"]).succeeds();
    assert!(std::fs::symlink_metadata(test.path("link.zip")).unwrap().is_symlink());
    assert_ne!(test.read("b.zip"), before);
    std::os::unix::fs::symlink("nowhere.zip", test.path("dangling.zip")).unwrap();
    test.run(["transcode", "a.zarr", "dangling.zip"]).fails(3, &["`dangling.zip` exists already"]);
}

#[test]
fn run_that_fails_or_writes_nothing_leaves_nothing() {
    let test = with_array();
    test.run(["transcode", "a.zarr", "b.zip", "--dry-run"]).succeeds();
    assert_eq!(test.names(), ["a.zarr"]);
    test.write("a.zarr/c/2", [1, 2, 3]);
    for options in [&[][..], &["--overwrite"]] {
        let words = ["transcode", "a.zarr", "b.zip", "--compress", "gzip"];
        test.run(words.iter().chain(options)).fails(1, &["c/2"]);
        assert_eq!(test.names(), ["a.zarr"]);
    }
    // What a run that was killed has left is taken over.
    test.write(".b.zip.zarrcast/journal", "torn").write(".b.zip.zarrcast/data", "PK");
    test.write_float32("a.zarr", "0", &[Some([1.0; 4]), None, None]);
    std::fs::remove_file(test.path("a.zarr/c/2")).unwrap();
    test.run(["transcode", "a.zarr", "b.zip", "--resume"]).succeeds();
    holds(&test, "b.zip", "a.zarr");
    assert_eq!(test.names(), ["a.zarr", "b.zip"]);
    // What is no run's is not.
    test.write(".c.zip.zarrcast/mine", "mine");
    test.run(["transcode", "a.zarr", "c.zip"])
        .fails(3, &[".c.zip.zarrcast` stands where `c.zip` would be written"]);
    assert_eq!(test.read(".c.zip.zarrcast/mine"), b"mine");
}

#[test]
fn zip_has_the_permissions_of_the_document() {
    let test = with_array();
    for mode in [0o600, 0o640] {
        let document = test.path("a.zarr/zarr.json");
        std::fs::set_permissions(&document, std::fs::Permissions::from_mode(mode)).unwrap();
        test.run(["transcode", "a.zarr", "b.zip", "--overwrite"]).succeeds();
        let found = std::fs::metadata(test.path("b.zip")).unwrap().permissions().mode() & 0o777;
        // The umask may take away more.
        assert!(found & !mode == 0 && found & 0o600 == 0o600, "{found:o}");
    }
}

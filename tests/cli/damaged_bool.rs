//! Bytes other than 0 and 1 in arrays of bool: an error wherever elements are decoded, and kept where they are not.

use super::support::{CliTest, Run};

/// An array of 3 x 2 in chunks of 2 x 2, of which the second is half padding; `codecs` of v3.
fn version_3(test: &CliTest, name: &str, codecs: &str, chunks: [&[u8]; 2]) {
    test.write(
        &format!("{name}/zarr.json"),
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[3,2],"data_type":"bool",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2,2]}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":false,"codecs":{codecs}}}"#
        ),
    );
    test.write(&format!("{name}/c/0/0"), chunks[0]).write(&format!("{name}/c/1/0"), chunks[1]);
}

/// The same in v2.
fn version_2(test: &CliTest, name: &str, chunks: [&[u8]; 2]) {
    test.write(
        &format!("{name}/.zarray"),
        r#"{"chunks":[2,2],"compressor":null,"dtype":"|b1","fill_value":false,"filters":null,"order":"C","shape":[3,2],"zarr_format":2}"#,
    );
    test.write(&format!("{name}/0.0"), chunks[0]).write(&format!("{name}/1.0"), chunks[1]);
}

const BYTES: &str = r#"[{"name":"bytes"}]"#;
/// Wrong at [2, 1], and the padding below is anything.
const DAMAGED: [&[u8]; 2] = [&[0, 1, 1, 0], &[1, 3, 7, 9]];
/// Wrong in the padding alone.
const PADDED: [&[u8]; 2] = [&[0, 1, 1, 0], &[1, 0, 7, 9]];

fn stores(chunks: [&[u8]; 2]) -> (CliTest, [&'static str; 2]) {
    let test = CliTest::new();
    version_3(&test, "v3", BYTES, chunks);
    version_2(&test, "v2", chunks);
    (test, ["v3", "v2"])
}

/// Asserts that the element is named, and its byte.
#[track_caller]
fn names_the_element(run: &Run) {
    assert_eq!(run.status, 1, "{}{}", run.error, run.text());
    let all = format!("{}{}", run.error, run.text());
    assert!(all.contains("[2, 1]") && all.contains("the byte 3"), "{all}");
    assert!(!all.contains("panicked"), "{all}");
}

#[test]
fn d16_damaged_bool_is_an_error_of_every_conversion_that_decodes() {
    let (test, stores) = stores(DAMAGED);
    for store in stores {
        for options in [
            ["-c", "3,1"],
            ["-c", "1,1"],
            ["--codecs", r#"[{"name":"packbits"}]"#],
            ["--codecs", r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes"}]"#],
        ] {
            let destination = format!("{store} {}", options[1].len());
            let format = ["--zarr-format", "3"];
            let arguments = ["transcode", store, &destination].into_iter().chain(options).chain(format);
            let run = test.run(arguments);
            names_the_element(&run);
            assert!(!test.exists(&format!("{destination}/zarr.json")), "{store} {options:?}");
        }
    }
}

#[test]
fn d16_damaged_bool_is_an_error_of_everything_that_reads_values() {
    let (test, stores) = stores(DAMAGED);
    version_3(&test, "right", BYTES, [&[0, 1, 1, 0], &[1, 1, 0, 0]]);
    for store in stores {
        for arguments in [
            vec!["inspect", store, "--stats"],
            vec!["inspect", store, "--preview"],
            vec!["validate", store, "--level", "data"],
            vec!["validate", "right", "--against", store],
            vec!["inspect", store, "--chunk", "1,0"],
        ] {
            names_the_element(&test.run(arguments));
        }
        test.run(["apply-codec", "--like", store, "--chunk", "1,0", "--decode", "out"])
            .fails(1, &["element [0, 1] of the decoded array", "the byte 3"]);
        assert!(!test.exists("out"));
    }
}

#[test]
fn d16_damaged_bool_in_shards_is_an_error() {
    let test = CliTest::new();
    version_3(&test, "right", BYTES, PADDED);
    let sharded = ["transcode", "right", "sharded", "-s", "2,2", "-c", "1,2"];
    assert_eq!(test.run(sharded).status, 0);
    let mut shard = test.read("sharded/c/1/0");
    assert_eq!(shard[..2], [1, 0]);
    shard[1] = 3;
    test.write("sharded/c/1/0", shard);
    names_the_element(&test.run(["inspect", "sharded", "--stats"]));
    names_the_element(&test.run(["validate", "sharded", "--level", "data"]));
    names_the_element(&test.run(["transcode", "sharded", "out", "-s", "none", "-c", "3,2"]));
}

#[test]
fn d16_damaged_bool_is_kept_where_no_element_is_decoded() {
    let (test, stores) = stores(DAMAGED);
    for store in stores {
        let (copy, packed, back) =
            (format!("{store} copy"), format!("{store} packed"), format!("{store} back"));
        test.run(["transcode", store, &copy]).succeeds();
        assert_eq!(test.all_files(&copy), test.all_files(store));
        assert_eq!(test.run(["transcode", store, &packed, "--compress", "zstd:1"]).status, 0);
        assert_eq!(test.run(["transcode", &packed, &back, "--compress", "none"]).status, 0);
        let key = if store == "v3" { "c/1/0" } else { "1.0" };
        assert_eq!(test.read(&format!("{back}/{key}")), DAMAGED[1]);
    }
}

#[test]
fn d16_padding_of_bool_means_nothing() {
    let (test, stores) = stores(PADDED);
    for store in stores {
        let stats = test.run(["inspect", store, "--stats", "--json"]).succeeds().json();
        assert_eq!(stats["stats"]["max"], 1, "{stats}");
        assert_eq!(test.run(["validate", store, "--level", "data"]).status, 0);
        assert_eq!(test.run(["inspect", store, "--chunk", "1,0"]).status, 0);
        let out = format!("{store} out");
        assert_eq!(test.run(["apply-codec", "--like", store, "--chunk", "1,0", "--decode", &out]).status, 0);
        let packed = format!("{store} packed");
        let codecs = r#"[{"name":"packbits"}]"#;
        let run = test.run(["transcode", store, &packed, "--zarr-format", "3", "--codecs", codecs]);
        assert_eq!(run.status, 0, "{}", run.error);
        let chunked = format!("{store} chunked");
        let run = test.run(["transcode", store, &chunked, "-c", "3,1", "--verify"]);
        assert_eq!(run.status, 0, "{}", run.error);
        let equal = test.run(["validate", &packed, "--against", &chunked]);
        assert_eq!(equal.status, 0, "{}{}", equal.error, equal.text());
    }
}

#[test]
fn d16_damaged_bool_of_a_struct_is_an_error() {
    let test = CliTest::new();
    test.write(
        "a/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[2],"data_type":{"name":"struct","configuration":
        {"fields":[{"name":"n","data_type":"uint8"},{"name":"b","data_type":"bool"}]}},
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":{"n":0,"b":false},"codecs":[{"name":"bytes"}]}"#,
    );
    test.write("a/c/0", [9, 1, 9, 2]);
    for arguments in [vec!["transcode", "a", "b", "-c", "1"], vec!["validate", "a", "--level", "data"]] {
        let run = test.run(arguments);
        assert_eq!(run.status, 1, "{}", run.error);
        let all = format!("{}{}", run.error, run.text());
        assert!(all.contains("[1]") && all.contains("the byte 2"), "{all}");
    }
}

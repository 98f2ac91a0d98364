//! `validate`: what each level finds, in which order, and what bounds it.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use super::support::{CliTest, fixture};

/// Two chunks of four int16.
const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[8],"data_type":"int16","chunk_grid":
    {"name":"regular","configuration":{"chunk_shape":[4]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,
    "codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"gzip","configuration":{"level":1}}]}"#;

fn validate(test: &CliTest, level: &str, more: &[&str]) -> (i32, Value) {
    let run = test.run(["validate", "--json", "--level", level, "s"].iter().chain(more));
    (run.status, run.json())
}

fn codes(result: &Value) -> Vec<&str> {
    result["findings"].as_array().unwrap().iter().map(|found| found["code"].as_str().unwrap()).collect()
}

/// A group of two arrays with a fault at every level.
fn damaged() -> CliTest {
    let test = CliTest::new();
    test.group("s").write("s/notes", "x");
    for (array, chunks) in [("a", ["no gzip", "nor this"]), ("b", ["still none", "none"])] {
        test.write(&format!("s/{array}/zarr.json"), ARRAY);
        for (index, chunk) in chunks.iter().enumerate() {
            test.write(&format!("s/{array}/c/{index}"), chunk);
        }
        test.write(&format!("s/{array}/c/9"), "x");
    }
    test.write("s/b/zarr.json", ARRAY.replace("\"fill_value\":0", "\"fill_value\":\"x\""));
    test
}

#[test]
fn fixture_of_every_writer_is_valid_down_to_its_data() {
    let folder = fixture("");
    let mut stores: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    stores.sort();
    let mut arguments = vec!["validate".to_owned(), "--json".into(), "--level".into(), "data".into()];
    arguments.extend(stores.iter().cloned());
    let run = CliTest::new().run(&arguments);
    assert_eq!((run.status, run.error.as_str()), (0, ""));
    let result = run.json();
    assert_eq!(result["errors"], 0);
    // Names that no registry has, what a registry's example permits, a cast that can lose bits, and names that zarrs writes alone.
    let expected = BTreeSet::from(["ZC104", "ZC235", "ZD101", "ZD204", "ZM111"]);
    for finding in
        result["findings"].as_array().unwrap().iter().filter(|found| found["severity"] == "warning")
    {
        assert!(expected.contains(finding["code"].as_str().unwrap()), "{finding}");
    }
}

#[test]
fn each_level_finds_what_those_before_it_find_and_more() {
    let test = damaged();
    assert_eq!(codes(&validate(&test, "metadata", &[]).1), ["ZD201"]);
    let keys = ["ZK201", "ZK203", "ZD201", "ZK203"];
    assert_eq!(codes(&validate(&test, "keys", &[]).1), keys);
    assert_eq!(codes(&validate(&test, "index", &[]).1), keys);
    let (status, result) = validate(&test, "data", &[]);
    assert_eq!(status, 1);
    assert_eq!(codes(&result), ["ZK201", "ZK203", "ZX101", "ZX101", "ZD201", "ZK203", "ZX101", "ZX101"]);
    let finding = &result["findings"][3];
    let place =
        json!([finding["store"], finding["node"], finding["key"], finding["pointer"], finding["chunk"]]);
    assert_eq!(place, json!(["s", "/a", "a/c/1", null, [1]]));
}

#[test]
fn findings_are_the_same_for_any_number_of_threads() {
    let test = damaged();
    let expected = validate(&test, "data", &["--threads", "1"]);
    for threads in ["2", "5"] {
        assert_eq!(validate(&test, "data", &["--threads", threads]), expected);
    }
}

#[test]
fn max_findings_bounds_what_is_shown_and_counts_stay_exact() {
    let test = damaged();
    let (_, all) = validate(&test, "data", &["--max-findings", "0"]);
    let (_, some) = validate(&test, "data", &["--max-findings", "3"]);
    assert_eq!(some["findings"], json!(all["findings"].as_array().unwrap()[..3]));
    for count in ["errors", "warnings", "infos", "valid"] {
        assert_eq!(some[count], all[count], "{count}");
    }
    assert_eq!((&some["truncated"], &all["truncated"]), (&json!(true), &json!(false)));
}

#[test]
fn deny_makes_errors_and_allow_makes_nothing() {
    let test = CliTest::new();
    test.write("s/zarr.json", ARRAY).write("s/notes", "x");
    let count = |more: &[&str]| {
        let (status, result) = validate(&test, "keys", more);
        (
            status,
            [&result["errors"], &result["warnings"], &result["infos"]].map(|count| count.as_u64().unwrap()),
        )
    };
    assert_eq!(count(&[]), (0, [0, 1, 1]));
    assert_eq!(count(&["--deny", "warnings"]), (1, [1, 0, 1]));
    assert_eq!(count(&["--deny", "ZK222"]), (1, [1, 1, 0]));
    assert_eq!(count(&["--allow", "ZK201"]), (0, [0, 0, 1]));
}

#[test]
fn store_that_is_not_there_is_3_and_hides_nothing_of_another() {
    let test = damaged();
    let run = test.run(["validate", "--json", "missing", "s"]);
    assert_eq!(run.status, 3);
    assert!(run.error.contains("`missing` does not exist"), "{}", run.error);
    assert_eq!(codes(&run.json()), ["ZK201", "ZK203", "ZD201", "ZK203"]);
}

#[test]
fn node_is_checked_alone_and_named_by_its_path_in_the_store() {
    let test = damaged();
    let (_, result) = validate(&test, "keys", &["--node", "b"]);
    assert_eq!(codes(&result), ["ZD201", "ZK203"]);
    assert_eq!(
        (&result["findings"][0]["node"], &result["findings"][0]["key"]),
        (&json!("/b"), &json!("b/zarr.json"))
    );
}

#[test]
fn chunk_beyond_the_memory_is_3_and_the_least_is_named() {
    let test = CliTest::new();
    let huge = "1152921504606846976";
    test.write(
        "s/zarr.json",
        ARRAY.replace("[8]", &format!("[{huge}]")).replace("[4]", &format!("[{huge}]")),
    );
    assert_eq!(validate(&test, "data", &[]).0, 0, "nothing is stored, nothing is needed");
    test.write("s/c/0", "a few bytes");
    let run = test.run(["validate", "--level", "data", "s"]);
    assert_eq!(run.status, 3);
    assert!(run.error.contains("--max-memory"), "{}", run.error);
    assert_eq!(test.run(["validate", "--level", "keys", "s"]).status, 0);
}

#[test]
fn links_in_circles_and_names_that_are_no_text_end_the_walk() {
    let test = CliTest::new();
    test.group("s").group("s/a");
    for (link, target) in [("s/a/up", "../../s"), ("s/up", "."), ("s/a/side", "../a")] {
        std::os::unix::fs::symlink(target, test.path(link)).unwrap();
    }
    std::fs::write(test.path("s/a").join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), "x").unwrap();
    let (status, result) = validate(&test, "data", &[]);
    assert_eq!(status, 0);
    assert_eq!(codes(&result), ["ZK205", "ZK205", "ZK205", "ZK206"]);
}

#[test]
fn shard_inside_a_shard_is_looked_into() {
    let test = CliTest::new();
    let store = fixture("zarr-python_3.1.6_sharded_twice");
    let key = "s/c/0/0";
    for name in ["zarr.json", "c/0/0"] {
        test.write(&format!("s/{name}"), std::fs::read(store.join(name)).unwrap());
    }
    let mut bytes = test.read(key);
    let sound = validate(&test, "data", &[]).1;
    assert_eq!(sound["errors"], 0);
    // The index of the first shard inside follows its 384 bytes of elements.
    bytes[400] ^= 0xff;
    test.write(key, &bytes);
    let result = validate(&test, "index", &[]).1;
    assert_eq!(codes(&result), ["ZK221", "ZS102"]);
    let message = result["findings"][1]["message"].as_str().unwrap();
    assert!(message.starts_with("inner chunk [0, 0]: the shard index cannot be decoded"), "{message}");
}

#[test]
fn chunk_of_texts_is_right_whatever_its_size_and_wrong_where_its_framing_is() {
    let test = CliTest::new();
    let document =
        ARRAY.replace("\"int16\"", "\"string\"").replace("\"fill_value\":0", "\"fill_value\":\"\"");
    let document = document
        .replace("\"bytes\",\"configuration\":{\"endian\":\"little\"}", "\"vlen-utf8\"")
        .replace(",{\"name\":\"gzip\",\"configuration\":{\"level\":1}}", "");
    test.write("s/zarr.json", document);
    test.write("s/c/0", b"\x04\0\0\0\x01\0\0\0a\0\0\0\0\x02\0\0\0\xc3\xbc\0\0\0\0");
    let (status, result) = validate(&test, "data", &[]);
    assert_eq!((status, result["errors"].as_u64()), (0, Some(0)), "{result}");
    test.write("s/c/1", b"\x04\0\0\0\x01\0\0\0a\0\0\0\0\x02\0\0\0\xc3\xbc\0\0\0");
    assert_eq!(validate(&test, "data", &[]).0, 1);
}

/// Findings without their order.
fn finding_set(result: &Value) -> BTreeSet<String> {
    result["findings"].as_array().unwrap().iter().map(Value::to_string).collect()
}

#[test]
fn shares_of_a_store_find_together_what_one_run_finds() {
    let test = damaged();
    for array in ["c", "d", "e"] {
        test.write(&format!("s/{array}/zarr.json"), ARRAY).write(&format!("s/{array}/c/0"), "no gzip");
    }
    let (status, whole) = validate(&test, "data", &[]);
    assert_eq!((status, &whole["partition"]), (1, &Value::Null));
    for shares in [1, 2, 3, 20] {
        let (mut all, mut corrupt, mut busiest) = (BTreeSet::new(), 0, 0);
        for share in 0..shares {
            let (_, result) = validate(&test, "data", &["--partition", &format!("{share}/{shares}")]);
            assert_eq!(result["partition"], json!({ "index": share, "partitions": shares }));
            let verdict = result["verdict"].as_str().unwrap();
            assert!(verdict.contains(&format!("share {share}/{shares} ")), "{verdict}");
            let count = codes(&result).iter().filter(|code| **code == "ZX101").count();
            (corrupt, busiest) = (corrupt + count, busiest.max(count));
            all.extend(finding_set(&result));
        }
        assert_eq!(all, finding_set(&whole), "{shares}");
        // Each object is looked at once, and small arrays do not all fall to one share.
        assert_eq!(corrupt, codes(&whole).iter().filter(|code| **code == "ZX101").count(), "{shares}");
        assert!(busiest <= corrupt.div_ceil(shares) + 1, "{shares}: {busiest}");
    }
}

#[test]
fn share_may_be_that_of_a_scheduler() {
    let test = damaged();
    let index = |variables: &[(&str, &str)], more: &[&str]| {
        let arguments = ["validate", "--json", "--level", "index", "s", "--partition", "auto/4"];
        let run = test.run_with(arguments.iter().chain(more), variables);
        if run.status == 2 { json!(run.error) } else { run.json()["partition"]["index"].clone() }
    };
    assert_eq!(index(&[("SLURM_ARRAY_TASK_ID", "3")], &[]), 3);
    assert_eq!(index(&[("SGE_TASK_ID", "1")], &[]), 0);
    assert_eq!(index(&[("SLURM_ARRAY_TASK_ID", "7")], &["--first-index", "5"]), 2);
    assert!(index(&[("SLURM_ARRAY_TASK_ID", "4")], &[]).as_str().unwrap().contains("no share 4 of 4"));
    assert!(index(&[], &[]).as_str().unwrap().contains("no scheduler"));
}

#[test]
fn share_that_there_cannot_be_is_a_usage_error() {
    let test = damaged();
    let run = |arguments: &[&str]| test.run(["validate", "s"].iter().chain(arguments));
    for text in ["0/0", "-1/2", "1", "1/", "/2", "1/2/3", "x/2", "0/-2", "1.0/2", ""] {
        run(&["--level", "data", "--partition", text]).fails(2, &["expected I/N, such as 0/8, or auto/N"]);
    }
    run(&["--level", "data", "--partition", "3/3"]).fails(2, &["no share 3 of 3", "give 0/3 to 2/3"]);
    for level in [&["--level", "keys"][..], &["--level", "metadata"], &[]] {
        run(&[level, &["--partition", "0/2"]].concat())
            .fails(2, &["--partition needs --level data or index"]);
    }
    run(&["--level", "data", "--partition", "0/2", "--against", "s"]).fails(2, &["--against"]);
    run(&["--level", "data", "--first-index", "1"]).fails(2, &["--partition"]);
}

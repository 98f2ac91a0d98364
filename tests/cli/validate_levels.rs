//! `validate`: the findings of each level, their order, and their limits.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use super::support::terminal::OnTerminal;
use super::support::{CliTest, fixture};

fn validate(test: &CliTest, level: &str, more: &[&str]) -> (i32, Value) {
    let run = test.run(["validate", "--json", "--level", level, "s"].iter().chain(more));
    (run.status, run.json())
}

fn codes(result: &Value) -> Vec<&str> {
    result["findings"].as_array().unwrap().iter().map(|found| found["code"].as_str().unwrap()).collect()
}

/// Writes an array of two chunks of four int16.
fn array(test: &CliTest, name: &str, fill_value: &Value) {
    let codecs = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]);
    let members =
        json!({"shape": [8], "chunk_shape": [4], "data_type": "int16", "fill_value": fill_value, "codecs": codecs});
    test.array(name, members);
}

#[test]
fn fixture_of_every_writer_is_valid_down_to_its_data() {
    let folder = fixture("");
    let mut stores: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path().to_str().unwrap().to_owned()).collect();
    stores.sort();
    let mut arguments = vec!["validate".to_owned(), "--json".into(), "--level".into(), "data".into()];
    arguments.extend(stores.iter().cloned());
    let run = CliTest::new().run(&arguments);
    assert_eq!((run.status, run.error.as_str()), (0, ""));
    let result = run.json();
    assert_eq!(result["errors"], 0);
    // A cast that can lose bits, an example of a registry, and names that only zarrs writes or no registry has.
    let expected = BTreeSet::from(["ZC104", "ZC235", "ZD101", "ZD204", "ZM111"]);
    for finding in result["findings"].as_array().unwrap().iter().filter(|found| found["severity"] == "warning") {
        assert!(expected.contains(finding["code"].as_str().unwrap()), "{finding}");
    }
}

#[test]
fn long_lists_of_absent_chunks_are_wrapped_in_a_terminal_and_whole_in_a_pipe() {
    let test = CliTest::new();
    test.array("s", json!({"shape": [60], "chunk_shape": [1], "data_type": "uint8", "fill_value": 0}));
    for chunk in (0..60).step_by(2) {
        test.write(&format!("s/c/{chunk}"), [1]);
    }
    let arguments = ["validate", "-v", "--level", "keys", "--color", "never", "s"];
    let shown = test.run_in_terminal(80, OnTerminal::Both, &arguments);
    assert!(shown.lines.iter().all(|line| line.chars().count() <= 80), "{:#?}", shown.lines);
    assert!(shown.lines.iter().any(|line| line.starts_with("    ") && line.contains("59")), "{:#?}", shown.lines);
    assert!(test.run(arguments).succeeds().text().lines().any(|line| line.contains(" 1, 3, 5") && line.contains("59")));
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

/// Returns the findings as a set.
fn finding_set(result: &Value) -> BTreeSet<String> {
    result["findings"].as_array().unwrap().iter().map(Value::to_string).collect()
}

#[test]
fn shares_of_a_store_find_together_what_one_run_finds() {
    let test = CliTest::new();
    test.group("s").write("s/notes", "x");
    for (name, fill_value) in [("a", json!(0)), ("b", json!("x")), ("c", json!(0)), ("d", json!(0)), ("e", json!(0))] {
        array(&test, &format!("s/{name}"), &fill_value);
        test.write(&format!("s/{name}/c/0"), "no gzip");
    }
    for name in ["a", "b"] {
        test.write(&format!("s/{name}/c/1"), "nor this").write(&format!("s/{name}/c/9"), "x");
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
        // Each object is checked once, and small arrays are not all in one share.
        assert_eq!(corrupt, codes(&whole).iter().filter(|code| **code == "ZX101").count(), "{shares}");
        assert!(busiest <= corrupt.div_ceil(shares) + 1, "{shares}: {busiest}");
    }
}

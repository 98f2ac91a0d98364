//! Line ends and control characters in every name of a store. None reaches a terminal, and no name begins a line.

use serde_json::{Value, json};

use super::support::{CliTest, Run, float32};

/// A name that would begin a line, in red, from right to left.
const NAME: &str = "n\nINJECTED\rINJECTED\u{1b}[31m\u{7}\u{9b}\u{202e}\u{2028}";

/// Returns a float32 array that uses the name everywhere.
fn array(changes: &Value) -> String {
    let mut document = json!({"shape": [4, 4], "chunk_shape": [2, 4], "fill_value": 0.0, "dimension_names": [NAME, format!("x{NAME}")], "attributes": {NAME: NAME, "units": NAME, "nested": {NAME: [NAME]}, "flag_meanings": NAME}});
    for (member, value) in changes.as_object().unwrap() {
        document[member] = value.clone();
    }
    super::support::array::document(&document).to_string()
}

/// Writes a group with the name. Its arrays, groups and files have the name, too, and some are valid.
fn hostile() -> (CliTest, String) {
    let test = CliTest::new();
    let store = format!("{NAME}.zarr");
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {NAME: NAME}}).to_string();
    let values: Vec<f32> = (0..8_u8).map(f32::from).collect();
    let right = format!("{store}/{NAME}");
    test.write(&format!("{store}/zarr.json"), &group)
        .write(&format!("{right}/zarr.json"), array(&json!({})))
        .write(&format!("{right}/c/0/0"), float32(&values))
        .write(&format!("{right}/c/1/0"), float32(&values))
        .write(&format!("{right}/{NAME}"), "")
        .write(&format!("{store}/g{NAME}/zarr.json"), &group)
        .write(&format!("{store}/damaged{NAME}/zarr.json"), array(&json!({})))
        .write(&format!("{store}/damaged{NAME}/c/0/0"), "too short")
        .write(
            &format!("{store}/v2{NAME}/.zarray"),
            r#"{"chunks":[4],"compressor":null,"dtype":"<f4","fill_value":0,"filters":null,"order":"C","shape":[4],"zarr_format":2}"#,
        )
        .write(&format!("{store}/v2{NAME}/.zattrs"), json!({"_ARRAY_DIMENSIONS": [NAME], NAME: NAME}).to_string());
    for (name, changes) in [
        ("codec", json!({"codecs": ["bytes", {"name": NAME, "configuration": {NAME: NAME}}]})),
        ("type", json!({"data_type": {"name": NAME, "configuration": {NAME: NAME}}})),
        ("fill", json!({"fill_value": NAME})),
        ("grid", json!({"chunk_grid": {"name": NAME, "configuration": {NAME: NAME}}})),
        ("key", json!({"chunk_key_encoding": {"name": NAME}})),
        ("member", json!({NAME: {"must_understand": false}})),
        ("text", json!({"data_type": "string", "fill_value": NAME, "codecs": ["vlen-utf8"]})),
    ] {
        test.write(&format!("{store}/{name}{NAME}/zarr.json"), array(&changes));
    }
    (test, store)
}

/// Asserts that the output contains no terminal control characters and no name at the start of a line.
#[track_caller]
fn is_harmless(run: &Run, arguments: &[&str]) {
    let output = String::from_utf8(run.output.clone()).unwrap();
    for text in [&output, &run.error] {
        let obeyed = |letter: char| {
            (letter.is_control() && letter != '\n') || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2028}')
        };
        let line = text.lines().find(|line| line.contains(obeyed));
        assert_eq!(line, None, "{arguments:?}");
        let begins = |line: &str| line.trim_start().starts_with("INJECTED");
        assert!(!text.lines().any(begins), "{arguments:?}:\n{}", text.chars().take(800).collect::<String>());
    }
    assert!(run.status < 100 && !run.error.contains("panicked"), "{arguments:?}: {}", run.error);
}

/// Runs a command and checks its output.
#[track_caller]
fn run(test: &CliTest, arguments: &[&str]) -> Run {
    let run = test.run(arguments);
    is_harmless(&run, arguments);
    run
}

#[test]
fn names_with_line_ends_are_escaped_by_inspect() {
    let (test, store) = hostile();
    let nodes: Vec<String> = std::fs::read_dir(test.path(&store))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "zarr.json")
        .map(|name| format!("{store}/{name}"))
        .collect();
    assert_eq!(nodes.len(), 11);
    let group = run(&test, &["inspect", &store]);
    assert!(group.text().contains("n\\nINJECTED\\u000dINJECTED\\u001b[31m"), "{}", group.text());
    run(&test, &["inspect", "--json", &store]);
    run(&test, &["inspect", "--depth", "1", "-v", &store]);
    for node in nodes.iter().map(String::as_str) {
        run(&test, &["inspect", node]);
        run(&test, &["inspect", "--json", node]);
        run(&test, &["inspect", "--stats", "--histogram", "3", "--preview", node]);
        run(&test, &["inspect", "--suggest", "uint8", node]);
        run(&test, &["inspect", "--chunk", "0,0", node]);
    }
    let right = format!("{store}/{NAME}");
    let axis = format!("{NAME}=0");
    run(&test, &["inspect", "--preview", &axis, &right]);
    run(&test, &["inspect", "--node", NAME, &store]);
    run(&test, &["inspect", "--node", "absent", &store]);
    run(&test, &["inspect", &format!("{store}/absent{NAME}")]);
    run(&test, &["inspect", &format!("{store}/{NAME}/{NAME}")]);
}

#[test]
fn names_with_line_ends_are_escaped_by_validate_in_every_format() {
    let (test, store) = hostile();
    let right = format!("{store}/{NAME}");
    for format in ["text", "json", "github", "junit", "sarif"] {
        for level in ["metadata", "keys", "data"] {
            run(&test, &["validate", "--format", format, "--level", level, "-v", &store]);
        }
        run(&test, &["validate", "--format", format, &right, &format!("{store}/absent{NAME}")]);
        run(&test, &["validate", "--format", format, &right, "--against", &format!("{store}/damaged{NAME}")]);
        run(&test, &["validate", "--format", format, &store, "--against", &store]);
    }
    let text = run(&test, &["validate", &store]);
    assert!(text.text().contains("INJECTED\\u000dINJECTED"), "{}", text.text());
}

#[test]
fn names_with_line_ends_are_escaped_by_transcode() {
    let (test, store) = hostile();
    let right = format!("{store}/{NAME}");
    let out = |number: usize| format!("{NAME}.{number}");
    run(&test, &["transcode", "-v", &store, &out(0)]);
    run(&test, &["transcode", "--include", "n*", "--verify", "-c", "4,2", &store, &out(1)]);
    run(&test, &["transcode", "--json", "--quantize", "uint8", &right, &out(2)]);
    run(&test, &["transcode", "-v", "--quantize", "uint8", "--verify", &right, &out(3)]);
    run(&test, &["transcode", "--dry-run", "--compress", "zstd:1", &store, &out(4)]);
    run(&test, &["transcode", &right, &out(3)]);
    run(&test, &["transcode", "--overwrite", "--zarr-format", "2", &right, &out(3)]);
    let entries = std::fs::read_dir(test.path(&store)).unwrap();
    for (number, entry) in entries.enumerate() {
        let node = format!("{store}/{}", entry.unwrap().file_name().into_string().unwrap());
        run(&test, &["transcode", &node, &out(10 + number)]);
        run(&test, &["transcode", "-f", "1", "--verify", "--progress", "never", &node, &out(40 + number)]);
        run(&test, &["transcode", "-d", NAME, &node, &out(70 + number)]);
    }
    let group = format!("{store}/g{NAME}");
    test.write(&format!("{group}/{NAME}/zarr.json"), array(&json!({})));
    test.write(&format!("{group}/b{NAME}/zarr.json"), array(&json!({})));
    run(&test, &["transcode", "-v", "--verify", "--quantize", "uint8", "--range", "0,9", &group, &out(100)]);
    run(&test, &["transcode", "--rule", &format!("{NAME}: -c 1,1"), &group, &out(101)]);
}

#[test]
fn names_with_line_ends_are_escaped_by_apply_codec() {
    let (test, store) = hostile();
    let right = format!("{store}/{NAME}");
    let damaged = format!("{store}/damaged{NAME}");
    let file = format!("out{NAME}");
    for like in [&right, &damaged, &format!("{store}/codec{NAME}"), &format!("{store}/absent{NAME}"), &store] {
        run(&test, &["apply-codec", "--like", like, "--chunk", "0,0", "--stages", "--round-trip", &file]);
        run(&test, &["apply-codec", "--like", like, "--chunk", "9,9", &file]);
        run(&test, &["apply-codec", "--like", like, "--json", "--chunk", "0,0", &file]);
    }
    run(&test, &["apply-codec", "-d", "float32", "--shape", "4", "--codecs", NAME, &file, "out"]);
    run(&test, &["apply-codec", "-d", "float32", "--shape", "400", "--codecs", "zstd:1", &file, "out"]);
}

#[test]
fn arguments_with_line_ends_are_escaped() {
    let test = CliTest::new();
    let scheme = format!("s3://{NAME}/x");
    for arguments in [
        ["inspect", &scheme, "--stats"],
        ["inspect", NAME, NAME],
        ["validate", "--explain", NAME],
        ["validate", "--level", NAME],
        ["transcode", "a", &scheme],
        ["inspect", "--histogram", NAME],
        [NAME, "a", "b"],
    ] {
        run(&test, &arguments);
    }
}

#[test]
fn option_with_control_characters_is_shown_escaped() {
    let run = CliTest::new().run(["inspect", "--a\n\u{1b}[31m", "b"]);
    run.fails(2, &["unexpected argument '--a\\n\\u001b[31m' found\n\nUsage: zarrcast inspect "]);
}

#[test]
fn names_with_control_characters_are_no_keys() {
    let test = CliTest::new();
    test.group("a").array("a/x", json!({}));
    test.write("a/no\tes", "x").write("a/\u{7f}/inside", "x");
    for arguments in [&["transcode", "a", "b"][..], &["inspect", "a"]] {
        let run = test.run(arguments);
        assert_eq!(run.status, 0, "{}", run.error);
        assert!(run.error.contains("ZK206") && run.error.contains("2 names"), "{}", run.error);
    }
    assert!(!test.exists("b/no\tes") && !test.exists("b/\u{7f}"));
    let found = test.run(["validate", "--json", "a"]).json();
    let codes = found["findings"].as_array().unwrap().iter().filter(|found| found["code"] == "ZK206").count();
    assert_eq!(codes, 2, "{found}");
    for node in ["x//y", ".", "x/../y", "no\tes"] {
        test.run(["inspect", "--node", node, "a"]).fails(2, &["--node: `", "is not the name of a node"]);
    }
}

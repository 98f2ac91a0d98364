//! `validate`: stores that could not be read, and findings on a terminal.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::support::CliTest;
use super::support::terminal::OnTerminal;

/// Writes an array of four chunks of two uint8 each.
fn array(test: &CliTest, path: &str, fill_value: i8) {
    let members = json!({"shape": [8], "chunk_shape": [2], "data_type": "uint8", "codecs": [{"name": "bytes"}], "fill_value": fill_value});
    test.array(path, members);
    for chunk in 0..4 {
        test.write(&format!("{path}/c/{chunk}"), [1, 2]);
    }
}

/// Checks whether files without permission are readable, as they are for root.
fn is_root(test: &CliTest) -> bool {
    test.write("probe", "x");
    std::fs::set_permissions(test.path("probe"), std::fs::Permissions::from_mode(0o000)).unwrap();
    std::fs::read(test.path("probe")).is_ok()
}

#[test]
fn chunk_and_folder_that_cannot_be_read_are_failures_with_their_keys() {
    let test = CliTest::new();
    if is_root(&test) {
        return; // Root can read everything.
    }
    test.group("s");
    array(&test, "s/a", 0);
    array(&test, "s/b", 0);
    let close = |path: &str| {
        std::fs::set_permissions(test.path(path), std::fs::Permissions::from_mode(0o000)).unwrap();
    };
    close("s/a/c/1");
    close("s/a/c/3");
    close("s/b/c");
    let run = test.run(["validate", "--json", "s", "--level", "data"]);
    let (status, result) = (run.status, run.json());
    std::fs::set_permissions(test.path("s/b/c"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!((status, &result["valid"], &result["errors"]), (3, &json!(false), &json!(0)));
    let places: Vec<Value> = result["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| json!([failure["store"], failure["node"], failure["key"]]))
        .collect();
    assert_eq!(places, [json!(["s", "/a", "a/c/1"]), json!(["s", "/a", "a/c/3"]), json!(["s", "/b", null])]);
}

#[test]
fn findings_on_a_terminal_stand_under_their_node_within_its_width() {
    let test = CliTest::new();
    test.group("s");
    array(&test, "s/a", -1);
    let shown = test.run_in_terminal(60, OnTerminal::Both, &["validate", "--color", "never", "s"]);
    assert_eq!(shown.status, Some(1));
    let text = shown.lines.join("\n");
    assert!(text.contains("s /a\n  a/zarr.json\n    error ZD201 fill-value-invalid at /fill_value\n"), "{text}");
    assert!(shown.width <= 60 && text.contains("\n      help: "), "{text}");
}

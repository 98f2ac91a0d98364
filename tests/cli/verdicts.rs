//! `validate`: the verdict and what it rests on, what is absent, and what could not be read.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::support::CliTest;
use super::support::terminal::OnTerminal;

/// Four chunks of two uint8 each.
const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[8],"data_type":"uint8",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
    "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
    "fill_value":0,"codecs":[{"name":"bytes"}]}"#;

/// The array with these chunks.
fn array(test: &CliTest, path: &str, document: &str, chunks: &[u64]) {
    test.write(&format!("{path}/zarr.json"), document);
    for chunk in chunks {
        test.write(&format!("{path}/c/{chunk}"), [1, 2]);
    }
}

fn validate(test: &CliTest, arguments: &[&str]) -> (i32, Value) {
    let run = test.run(["validate", "--json"].iter().chain(arguments));
    (run.status, run.json())
}

/// The findings of a code.
fn of_code<'a>(result: &'a Value, code: &str) -> Vec<&'a Value> {
    result["findings"].as_array().unwrap().iter().filter(|found| found["code"] == code).collect()
}

/// Whether files without permission can be read all the same, as root does.
fn is_root(test: &CliTest) -> bool {
    test.write("probe", "x");
    std::fs::set_permissions(test.path("probe"), std::fs::Permissions::from_mode(0o000)).unwrap();
    std::fs::read(test.path("probe")).is_ok()
}

#[test]
fn verdict_says_what_was_looked_at_at_each_level() {
    let test = CliTest::new();
    array(&test, "s", ARRAY, &[0, 1, 2, 3]);
    for (level, verdict) in [
        ("metadata", "no errors in metadata; keys and chunks were not looked at"),
        ("keys", "no errors in metadata and keys; chunks were not decoded"),
        ("index", "no errors in metadata, keys and shard indexes; chunks were not decoded"),
        ("data", "valid"),
    ] {
        let (status, result) = validate(&test, &["s", "--level", level]);
        assert_eq!((status, &result["valid"], &result["verdict"]), (0, &json!(true), &json!(verdict)));
        let text = test.run(["validate", "s", "--level", level]).succeeds();
        assert!(text.text().lines().last().unwrap().starts_with(verdict), "{}", text.text());
    }
}

#[test]
fn verdict_of_a_comparison_does_not_say_that_chunks_were_not_decoded() {
    let test = CliTest::new();
    array(&test, "s", ARRAY, &[0, 1, 2, 3]);
    array(&test, "t", ARRAY, &[0, 1, 2]);
    for (level, verdict) in [
        ("metadata", "equal; no errors in metadata; keys were not looked at"),
        ("keys", "equal; no errors in metadata and keys"),
        ("index", "equal; no errors in metadata, keys and shard indexes"),
        ("data", "valid"),
    ] {
        let (status, result) = validate(&test, &["s", "--level", level, "--against", "s"]);
        assert_eq!((status, &result["valid"], &result["verdict"]), (0, &json!(true), &json!(verdict)));
    }
    let text = test.run(["validate", "s", "--against", "s"]).succeeds();
    assert!(text.text().contains("equal; no errors in metadata and keys in 1 node"), "{}", text.text());
    let (status, result) = validate(&test, &["s", "--against", "t"]);
    assert_eq!((status, &result["verdict"]), (1, &json!("differs")));
}

#[test]
fn scalar_that_describes_a_grid_mapping_is_not_told_to_be_without_chunks() {
    let test = CliTest::new();
    let scalar =
        ARRAY.replace("\"shape\":[8]", "\"shape\":[]").replace("\"chunk_shape\":[2]", "\"chunk_shape\":[]");
    let with = |attributes: &str| scalar.replacen('{', &format!("{{\"attributes\":{attributes},"), 1);
    for (attributes, findings) in
        [(r#"{"grid_mapping_name":"latitude_longitude"}"#, 0), (r#"{"crs_wkt":"GEOGCS[]"}"#, 0), ("{}", 1)]
    {
        array(&test, "crs", &with(attributes), &[]);
        let (status, result) = validate(&test, &["crs"]);
        assert_eq!((status, of_code(&result, "ZK222").len()), (0, findings), "{result}");
        assert_eq!(result["absent"].as_array().unwrap().len(), 1);
    }
    // What has elements of its own is looked at, whatever its attributes.
    array(&test, "field", &ARRAY.replacen('{', r#"{"attributes":{"crs_wkt":"x"},"#, 1), &[]);
    assert_eq!(of_code(&validate(&test, &["field"]).1, "ZK222").len(), 1);
}

#[test]
fn array_of_a_contract_that_the_store_lacks_is_named_as_an_array() {
    let test = CliTest::new();
    test.group("s");
    array(&test, "s/a", ARRAY, &[0]);
    array(&test, "s/b", ARRAY, &[0]);
    test.run(["validate", "s", "--write-expect", "contract.json"]).succeeds();
    std::fs::remove_dir_all(test.path("s/b")).unwrap();
    let (status, result) = validate(&test, &["s", "--expect", "contract.json"]);
    let found = of_code(&result, "ZM302");
    assert_eq!((status, found.len()), (1, 1), "{result}");
    assert_eq!(found[0]["message"], "the array `/b` is expected, but `s` has none of that path");
    assert_eq!(found[0]["node"], "/b");
    // What has no member of a node may be a member that is misspelt.
    test.write("typo.json", r#"{"atributes": {"units": "K"}}"#);
    let (_, result) = validate(&test, &["s", "--expect", "typo.json"]);
    let message = of_code(&result, "ZM302")[0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("neither a node of the store nor a member"), "{message}");
}

#[test]
fn verdict_of_a_codec_that_nobody_decodes_is_never_valid() {
    let test = CliTest::new();
    let mystery = ARRAY.replace(r#"{"name":"bytes"}"#, r#"{"name":"bytes"},{"name":"mystery"}"#);
    array(&test, "s", &mystery, &[0, 1, 3]);
    for level in ["metadata", "keys", "index", "data"] {
        let (status, result) = validate(&test, &["s", "--level", level]);
        assert_eq!(status, 0);
        assert_ne!(result["verdict"], "valid", "{level}");
        let unchecked = result["unchecked"].as_array().unwrap();
        assert_eq!(unchecked.len(), 1, "{result}");
        assert!(unchecked[0]["reason"].as_str().unwrap().contains("mystery"), "{result}");
        assert_eq!(unchecked[0]["count"], if level == "metadata" { 1 } else { 3 });
    }
    let text = test.run(["validate", "s", "--level", "data"]).succeeds();
    assert!(text.text().contains("not looked at: 3 chunks that are not decoded: "), "{}", text.text());
}

#[test]
fn absent_chunks_are_ranges_in_json_and_listed_with_v() {
    let test = CliTest::new();
    test.group("s");
    array(&test, "s/a", ARRAY, &[1]);
    array(&test, "s/b", ARRAY, &[]);
    array(&test, "s/c", ARRAY, &[0, 1, 2, 3]);
    let (status, result) = validate(&test, &["s"]);
    assert_eq!(status, 0);
    assert_eq!(
        result["absent"],
        json!([
            {"store": "s", "node": "/a", "ranges": [[0, 0], [2, 3]]},
            {"store": "s", "node": "/b", "ranges": [[0, 3]]},
        ])
    );
    assert_eq!(of_code(&result, "ZK221").len(), 1);
    let listed = test.run(["validate", "-v", "s"]).succeeds();
    assert!(listed.text().contains("absent: s/a: chunks 0, 2-3\nabsent: s/b: chunks 0-3\n"));
    assert!(!test.run(["validate", "s"]).succeeds().text().contains("\nabsent: "));
}

#[test]
fn absent_ranges_are_at_most_100_of_all_arrays() {
    let test = CliTest::new();
    test.group("s");
    let long = ARRAY.replace("\"shape\":[8]", "\"shape\":[4000000000000]");
    let every_second: Vec<u64> = (0..70).map(|chunk| 2 * chunk + 1).collect();
    for name in ["s/a", "s/b", "s/c"] {
        array(&test, name, &long, &every_second);
    }
    let (_, result) = validate(&test, &["s"]);
    let counts: Vec<usize> = result["absent"]
        .as_array()
        .unwrap()
        .iter()
        .map(|absent| absent["ranges"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [71, 29]);
    assert_eq!(result["absent"][0]["ranges"][70], json!([140, 1_999_999_999_999_u64]));
    assert_eq!(of_code(&result, "ZK221").len(), 3);
}

#[test]
fn store_that_cannot_be_read_is_a_failure_and_hides_nothing_of_the_others() {
    let test = CliTest::new();
    array(&test, "bad", &ARRAY.replace("\"fill_value\":0", "\"fill_value\":-1"), &[0]);
    array(&test, "good", ARRAY, &[0, 1, 2, 3]);
    let (status, result) = validate(&test, &["bad", "missing", "good"]);
    assert_eq!((status, &result["valid"], &result["errors"]), (3, &json!(false), &json!(1)));
    let failures = result["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1);
    assert_eq!((&failures[0]["store"], &failures[0]["key"]), (&json!("missing"), &Value::Null));
    assert!(failures[0]["message"].as_str().unwrap().contains("does not exist"));
    let (status, result) = validate(&test, &["missing", "good"]);
    assert_eq!((status, &result["valid"]), (3, &json!(false)));
    assert_eq!(result["verdict"], "incomplete: not everything could be read");
    let text = test.run(["validate", "missing", "good"]);
    assert_eq!(text.status, 3);
    assert!(text.text().starts_with("not read: missing: "), "{}", text.text());
}

#[test]
fn chunk_and_folder_that_cannot_be_read_are_failures_with_their_keys() {
    let test = CliTest::new();
    if is_root(&test) {
        return; // Nothing is unreadable to root.
    }
    test.group("s");
    array(&test, "s/a", ARRAY, &[0, 1, 2, 3]);
    array(&test, "s/b", ARRAY, &[0, 1, 2, 3]);
    let close = |path: &str| {
        std::fs::set_permissions(test.path(path), std::fs::Permissions::from_mode(0o000)).unwrap();
    };
    close("s/a/c/1");
    close("s/a/c/3");
    close("s/b/c");
    let (status, result) = validate(&test, &["s", "--level", "data"]);
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
fn difference_is_1_and_the_verdict_and_leaves_valid_alone() {
    let test = CliTest::new();
    array(&test, "s", ARRAY, &[0, 1, 2, 3]);
    array(&test, "o", ARRAY, &[0, 1, 2]);
    let (status, result) = validate(&test, &["s", "--against", "o", "--level", "data"]);
    assert_eq!((status, &result["valid"]), (1, &json!(true)));
    assert_eq!((&result["verdict"], &result["against"]["equal"]), (&json!("differs"), &json!(false)));
    let text = test.run(["validate", "s", "--against", "o"]);
    assert_eq!(text.status, 1);
    assert!(text.text().lines().last().unwrap().starts_with("differs"), "{}", text.text());
    let (status, result) = validate(&test, &["s", "--against", "s", "--level", "data"]);
    assert_eq!((status, &result["verdict"]), (0, &json!("valid")));
}

#[test]
fn other_that_is_not_there_is_3_before_anything_is_checked() {
    let test = CliTest::new();
    array(&test, "s", &ARRAY.replace("\"fill_value\":0", "\"fill_value\":-1"), &[0]);
    let (status, result) = validate(&test, &["s", "--against", "missing", "--level", "data"]);
    assert_eq!((status, &result["errors"], &result["valid"]), (3, &json!(0), &json!(false)));
    assert_eq!(result["failures"][0]["store"], "missing");
    let (status, result) = validate(&test, &["missing", "--against", "s"]);
    assert_eq!((status, result["failures"].as_array().unwrap().len()), (3, 1));
}

#[test]
fn chunks_without_a_checksum_are_one_info_an_array_at_data() {
    let test = CliTest::new();
    let with = |codec: &str| ARRAY.replace(r#"{"name":"bytes"}"#, &format!(r#"{{"name":"bytes"}}{codec}"#));
    let zstd = r#",{"name":"zstd","configuration":{"level":1,"checksum":true}}"#;
    for (codec, count) in [
        ("", 1),
        (r#",{"name":"crc32c"}"#, 0),
        (r#",{"name":"gzip","configuration":{"level":1}}"#, 0),
        (zstd, 0),
        (&zstd.replace("true", "false"), 1),
    ] {
        array(&test, "s", &with(codec), &[0, 1, 2, 3]);
        let (_, result) = validate(&test, &["s", "--level", "data"]);
        let found = of_code(&result, "ZX105");
        assert_eq!(found.len(), count, "{codec}: {result}");
        assert!(found.iter().all(|found| found["severity"] == "info" && found["node"] == "/"));
        assert_eq!(of_code(&validate(&test, &["s"]).1, "ZX105").len(), 0);
    }
    array(&test, "p", ARRAY, &[0, 1, 2, 3]);
    for (compression, count) in [("none", 1), ("crc32c", 0)] {
        let shards = format!("shards of {compression}");
        test.run(["transcode", "-s", "4", "--compress", compression, "p", &shards]).succeeds();
        assert_eq!(of_code(&validate(&test, &[&shards, "--level", "data"]).1, "ZX105").len(), count);
    }
}

#[test]
fn finding_of_many_nodes_is_one_line_of_text_and_whole_in_json() {
    let test = CliTest::new();
    test.group("s");
    let odd = ARRAY.replace("\"fill_value\":0", "\"fill_value\":0,\"dimension_names\":null");
    for name in ["a", "b", "c", "d", "e"] {
        array(&test, &format!("s/{name}"), &odd, &[0, 1, 2, 3]);
    }
    let (_, result) = validate(&test, &["s"]);
    assert_eq!(of_code(&result, "ZM109").len(), 5);
    let text = test.run(["validate", "s"]).succeeds();
    let lines: Vec<&str> = text.text().lines().collect();
    assert_eq!(lines.len(), 2, "{}", text.text());
    assert!(lines[0].starts_with("5 nodes: warning ZM109 dimension-names-null at /dimension_names: "));
    assert!(lines[0].contains("; in s/a, s/b, s/c, 2 more (-v names all)"), "{}", lines[0]);
    let all = test.run(["validate", "-v", "s"]).succeeds();
    assert!(all.text().contains("; in s/a, s/b, s/c, s/d, s/e"), "{}", all.text());
}

#[test]
fn absent_chunks_are_named_by_indices_that_inspect_takes() {
    let test = CliTest::new();
    let array = r#"{"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"uint8","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2]}},
        "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]}"#;
    test.write("a/zarr.json", array).write("a/c/0/0", [1; 4]).write("a/c/1/1", [1; 4]);
    let run = test.run(["validate", "-v", "a"]).succeeds();
    assert!(run.text().contains("absent: a: chunks 0,1 to 1,0; 1,2 (in C order)\n"), "{}", run.text());
    for chunk in ["0,1", "1,0", "1,2"] {
        let found = test.run(["inspect", "--json", "--chunk", chunk, "a"]).succeeds().json();
        assert_eq!(found["chunk"]["present"], false, "{chunk}");
    }
    let (_, result) = validate(&test, &["a"]);
    assert_eq!(result["absent"][0]["ranges"], json!([[1, 3], [5, 5]]));
}

/// A v2 array of four chunks whose fill value is null.
const NULL_FILL: &str = r#"{"zarr_format":2,"shape":[8],"chunks":[2],"dtype":"|u1","fill_value":null,"order":"C",
    "filters":null,"compressor":null}"#;

#[test]
fn null_fill_value_is_found_only_where_a_chunk_is_absent() {
    let test = CliTest::new();
    test.write("a/.zarray", NULL_FILL);
    for chunk in 0..4 {
        test.write(&format!("a/{chunk}"), [1, 2]);
    }
    let transcode = |destination: &str| {
        let run = test.run(["transcode", "--json", "--compress", "gzip:1", "a", destination]);
        assert_eq!(run.status, 0, "{}", run.error);
        run.json()["warnings"].to_string().contains("ZM221")
    };
    let inspect = || {
        let run = test.run(["inspect", "--json", "a"]);
        assert_eq!(run.status, 0, "{}", run.error);
        run.json()["warnings"].to_string().contains("ZM221")
    };
    for level in ["metadata", "keys", "data"] {
        let (status, result) = validate(&test, &["a", "--level", level, "--deny", "warnings"]);
        assert_eq!((status, of_code(&result, "ZM221").len()), (0, 0), "{level}");
    }
    assert!(!transcode("b") && !inspect());
    std::fs::remove_file(test.path("a/2")).unwrap();
    for (level, count) in [("metadata", 0), ("keys", 1), ("data", 1)] {
        // What writers make by default fails no contract.
        let (status, result) = validate(&test, &["a", "--level", level, "--deny", "warnings"]);
        let found = of_code(&result, "ZM221");
        assert_eq!((status, found.len()), (0, count), "{level}");
        assert!(found.iter().all(|found| found["severity"] == "info"), "{level}");
    }
    assert!(transcode("c") && inspect());
}

#[test]
fn difference_is_a_finding_in_the_formats_of_runners() {
    let test = CliTest::new();
    array(&test, "s", ARRAY, &[0]);
    array(&test, "o", ARRAY, &[1]);
    for format in ["github", "junit", "sarif"] {
        let run = test.run(["validate", "s", "--against", "o", "--format", format]);
        assert_eq!(run.status, 1, "{format}");
        assert!(run.text().contains("ZM303 values-differ") || run.text().contains(r#""ZM303""#), "{format}");
    }
}

#[test]
fn fill_value_that_the_codes_do_not_bring_back_is_moved_with_a_warning() {
    let test = CliTest::new();
    let floats = ARRAY
        .replace("uint8", "float32")
        .replace("\"fill_value\":0", "\"fill_value\":0.3")
        .replace(r#"{"name":"bytes"}"#, r#"{"name":"bytes","configuration":{"endian":"little"}}"#);
    test.write("a/zarr.json", floats);
    let values: Vec<u8> = [0.0_f32, 7.1].iter().flat_map(|value| value.to_le_bytes()).collect();
    test.write("a/c/0", values);
    let run = test.run(["transcode", "--json", "--quantize", "uint8", "a", "b"]);
    assert_eq!(run.status, 0, "{}", run.error);
    let warnings = run.json()["warnings"].clone();
    let codes: Vec<&Value> = warnings.as_array().unwrap().iter().map(|found| &found["code"]).collect();
    assert!(codes.contains(&&json!("ZC302")), "{warnings}");
}

#[test]
fn contract_of_a_store_holds_for_it_and_names_what_changes() {
    let test = CliTest::new();
    test.write(
        "s/zarr.json",
        r#"{"zarr_format":3,"node_type":"group","attributes":{"title":"t","n":[1.50]}}"#,
    );
    array(&test, "s/a", ARRAY, &[0, 1, 2, 3]);
    array(&test, "s/g/b", &ARRAY.replace("\"codecs\"", "\"attributes\":{\"units\":\"K\"},\"codecs\""), &[0]);
    test.group("s/g");
    test.run(["validate", "s", "--write-expect", "contract.json"]).succeeds();
    let contract = test.read_json("contract.json");
    assert_eq!(contract["attributes"]["title"], "t");
    assert_eq!(
        (&contract["/a"]["shape"], &contract["/g/b"]["attributes"]["units"]),
        (&json!([8]), &json!("K"))
    );
    assert!(contract["/a"].get("path").is_none() && contract["/a"].get("pipeline").is_none());
    test.run(["validate", "s", "--expect", "contract.json"]).succeeds();
    // What is added is not forbidden; what changes or goes is named.
    array(&test, "s/new", ARRAY, &[]);
    array(&test, "s/a", &ARRAY.replace("\"shape\":[8]", "\"shape\":[10]"), &[0, 1, 2, 3]);
    array(&test, "s/g/b", &ARRAY.replace("\"codecs\"", "\"attributes\":{\"units\":\"C\"},\"codecs\""), &[0]);
    let (status, result) = validate(&test, &["s", "--expect", "contract.json"]);
    assert_eq!(status, 1);
    let found: Vec<Value> =
        of_code(&result, "ZM301").iter().map(|found| json!([found["node"], found["pointer"]])).collect();
    assert_eq!(found, [json!(["/a", "/shape"]), json!(["/g/b", "/attributes/units"])]);
}

#[test]
fn contract_of_one_array_and_documents_of_inspect_serve_for_expect() {
    let test = CliTest::new();
    test.group("s");
    array(&test, "s/a", ARRAY, &[0]);
    for (name, arguments) in [
        ("group.json", &["inspect", "--json", "s"][..]),
        ("array.json", &["inspect", "--json", "--stats", "s/a"]),
    ] {
        let inspected = test.run(arguments).succeeds();
        test.write(name, &inspected.output);
    }
    test.run(["validate", "s", "--expect", "group.json"]).succeeds();
    test.run(["validate", "s/a", "--expect", "array.json"]).succeeds();
    test.run(["validate", "s", "--node", "a", "--expect", "array.json"]).succeeds();
    test.run(["validate", "s", "--node", "a", "--write-expect", "of-node.json"]).succeeds();
    test.run(["validate", "s/a", "--expect", "of-node.json"]).succeeds();
    array(&test, "s/a", &ARRAY.replace("\"fill_value\":0", "\"fill_value\":1"), &[0]);
    for (store, expect) in [("s", "group.json"), ("s/a", "array.json"), ("s/a", "of-node.json")] {
        let (status, result) = validate(&test, &[store, "--expect", expect]);
        assert_eq!((status, of_code(&result, "ZM301").len()), (1, 1), "{expect}: {result}");
    }
}

#[test]
fn contract_of_several_stores_is_2_and_a_file_that_cannot_be_written_3() {
    let test = CliTest::new();
    array(&test, "s", ARRAY, &[0]);
    test.run(["validate", "s", "s", "--write-expect", "x"]).fails(2, &["--write-expect"]);
    test.run(["validate", "s", "--write-expect", "none/x"]).fails(3, &["--write-expect"]);
    assert_eq!(test.run(["validate", "missing", "--write-expect", "x"]).status, 3);
    assert!(!test.exists("x"));
}

#[test]
fn retired_code_is_explained_and_accepted() {
    let test = CliTest::new();
    array(&test, "s", ARRAY, &[0, 1, 2, 3]);
    let page = test.run(["validate", "--explain", "ZC301"]).succeeds();
    assert!(page.text().starts_with("# ZC301 quantize-code-reserved: retired"), "{}", page.text());
    assert!(!test.run(["validate", "--list-rules"]).succeeds().text().contains("ZC301"));
    test.run(["validate", "s", "--allow", "ZC301"]).succeeds();
}

#[test]
fn warning_of_many_nodes_is_said_once_on_stderr_and_whole_in_json() {
    let test = CliTest::new();
    test.group("s");
    for name in ["a", "b", "c", "d"] {
        array(&test, &format!("s/{name}"), &ARRAY.replace("uint8", "uint7"), &[]);
    }
    let text = test.run(["inspect", "s"]);
    assert_eq!(text.status, 0);
    let about: Vec<&str> = text.error.lines().filter(|line| line.contains("ZD101")).collect();
    assert_eq!(about.len(), 1, "{}", text.error);
    assert!(about[0].contains("; in s/a, s/b, s/c, 1 more (-v names all)"), "{}", about[0]);
    let json = test.run(["inspect", "--json", "s"]).json();
    assert_eq!(json["warnings"].as_array().unwrap().len(), 4);
    let copied = test.run(["transcode", "s", "t"]);
    assert_eq!(copied.status, 0);
    assert_eq!(copied.error.matches("ZD101").count(), 1, "{}", copied.error);
}

#[test]
fn d11_name_that_the_core_forbids_or_that_is_nearly_known_is_an_error() {
    let test = CliTest::new();
    for (name, code, offered) in [
        ("|f8", "ZD108", "float64"),
        ("Float32", "ZD108", "float32"),
        ("", "ZD108", ""),
        ("unit8", "ZD108", "uint8"),
        ("uint7", "ZD101", ""),
        ("https://example.com/decimal", "ZD101", ""),
    ] {
        array(&test, "s", &ARRAY.replace("uint8", name), &[]);
        let (status, result) = validate(&test, &["s"]);
        let found = of_code(&result, code);
        assert_eq!((status, found.len()), (i32::from(code == "ZD108"), 1), "{name:?}: {result}");
        assert!(found[0]["message"].as_str().unwrap().contains(offered), "{result}");
        let copied = test.run(["transcode", "s", &format!("copy-of-{}", name.len())]);
        assert_eq!(copied.status, i32::from(code == "ZD108"), "{name:?}: {}", copied.error);
    }
    for (name, code) in [("zsdt", "ZC107"), ("lzma", "ZC107"), ("Bytes", "ZC107"), ("mystery", "ZC103")] {
        let codecs = format!(r#"{{"name":"bytes"}},{{"name":"{name}"}}"#);
        array(&test, "s", &ARRAY.replace(r#"{"name":"bytes"}"#, &codecs), &[]);
        let (_, result) = validate(&test, &["s"]);
        assert_eq!(of_code(&result, code).len(), 1, "{name}: {result}");
    }
}

#[test]
fn shards_whose_zero_overflows_are_warned_of_as_few_readers_open_them() {
    let test = CliTest::new();
    let floats = ARRAY
        .replace("uint8", "float16")
        .replace("\"fill_value\":0", "\"fill_value\":\"NaN\"")
        .replace(r#"{"name":"bytes"}"#, r#"{"name":"bytes","configuration":{"endian":"little"}}"#);
    test.write("a/zarr.json", floats);
    // 1000 and 1003: the scale takes 0 to -80,000, beyond float16.
    let values: Vec<u8> = [0x63d0_u16, 0x63d6].iter().flat_map(|bits| bits.to_le_bytes()).collect();
    test.write("a/c/0", values);
    let shards = ["transcode", "--json", "--quantize", "uint8", "-c", "2", "-s", "4", "a", "b"];
    let run = test.run(shards.iter().chain(&["--scale", "80", "--offset", "1000", "--nan-value", "255"]));
    assert_eq!(run.status, 0, "{}", run.error);
    let warnings = run.json()["warnings"].clone();
    let codes: Vec<&Value> = warnings.as_array().unwrap().iter().map(|found| &found["code"]).collect();
    assert!(codes.contains(&&json!("ZC305")), "{warnings}");
}

#[test]
fn findings_on_a_terminal_stand_under_their_node_within_its_width() {
    let test = CliTest::new();
    test.group("s");
    array(&test, "s/a", &ARRAY.replace("\"fill_value\":0", "\"fill_value\":-1"), &[0, 1, 2, 3]);
    let shown = test.run_in_terminal(60, OnTerminal::Both, &["validate", "--color", "never", "s"]);
    assert_eq!(shown.status, Some(1));
    let text = shown.lines.join("\n");
    assert!(
        text.contains("s /a\n  a/zarr.json\n    error ZD201 fill-value-invalid at /fill_value\n"),
        "{text}"
    );
    assert!(shown.width <= 60 && text.contains("\n      help: "), "{text}");
}

#[test]
fn bare_nan_of_a_document_is_not_said_again_of_its_consolidated_copy() {
    let test = CliTest::new();
    let zarray = NULL_FILL.replace("null,\"order\"", "0,\"order\"");
    test.write("s/.zgroup", r#"{"zarr_format":2}"#).write("s/a/.zarray", &zarray);
    let consolidated = |attributes: &str| {
        format!(
            r#"{{"zarr_consolidated_format":1,"metadata":{{".zgroup":{{"zarr_format":2}},"a/.zarray":{zarray},
                "a/.zattrs":{attributes}}}}}"#
        )
    };
    test.write("s/a/.zattrs", r#"{"x":NaN}"#).write("s/.zmetadata", consolidated(r#"{"x":NaN}"#));
    let keys = || -> Vec<Value> {
        let (_, result) = validate(&test, &["s"]);
        of_code(&result, "ZM003").iter().map(|found| found["key"].clone()).collect()
    };
    assert_eq!(keys(), ["a/.zattrs"]);
    test.write("s/a/.zattrs", r#"{"x":1}"#);
    assert_eq!(keys(), [".zmetadata"]);
}

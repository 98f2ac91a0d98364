//! `validate` around its rules: options, formats, pages of rules.

use serde_json::{Value, json};

use super::support::{CliTest, fixture};

/// A valid array, uint8 of 4 elements in chunks of 2, without any chunk.
const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
    "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
    "fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{"units":"K"}}"#;

/// A group with a valid array `a` and an array `b` with an error in one document and a warning.
fn hierarchy() -> CliTest {
    let test = CliTest::new();
    test.write("s/zarr.json", r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#)
        .write("s/a/zarr.json", ARRAY)
        .write(
            "s/b/zarr.json",
            ARRAY.replace("\"fill_value\":0", "\"fill_value\":-1,\"dimension_names\":null"),
        );
    test
}

#[test]
fn unknown_code_is_2_and_the_nearest_is_named() {
    let test = CliTest::new();
    for option in ["--deny", "--allow", "--explain"] {
        let stores: &[&str] = if option == "--explain" { &[] } else { &["s"] };
        let run = test.run(["validate", option, "endian-mising"].iter().chain(stores));
        run.fails(2, &["endian-mising", "ZC201 (endian-missing)"]);
    }
}

#[test]
fn contradictory_options_are_2() {
    let usage = |arguments: &[&str], part: &str| {
        CliTest::new().run(["validate"].iter().chain(arguments)).fails(2, &[part]);
    };
    usage(&[], "STORE");
    usage(&["s", "--json", "--format", "sarif"], "--format");
    usage(&["s", "--rtol", "1"], "--against");
    usage(&["s", "--against", "o", "--atol", "-1"], "--atol");
    usage(&["s", "t", "--against", "o"], "--against");
    usage(&["s", "--list-rules"], "--list-rules");
    usage(&["s", "--explain", "ZC201"], "--explain");
    usage(&["--list-rules", "--format", "junit"], "--list-rules");
    usage(&["s", "--level", "deep"], "--level");
    usage(&["s", "--max-findings", "-1"], "--max-findings");
}

#[test]
fn explain_prints_the_page_of_a_code_or_name() {
    let test = CliTest::new();
    let page = test.run(["validate", "--explain", "ZC201"]).succeeds();
    assert!(page.text().starts_with("# ZC201 endian-missing: "), "{}", page.text());
    assert!(page.text().contains("## References\n"));
    let by_name = test.run(["validate", "--explain", "Endian-Missing"]).succeeds();
    assert_eq!(by_name.output, page.output);
    let json = test.run(["validate", "--explain", "ZC201", "--json"]).succeeds().json();
    assert_eq!(json["schema"], "zarrcast.rule/1");
    assert_eq!((&json["code"], &json["severity"]), (&json!("ZC201"), &json!("error")));
    assert_eq!(json["page"], page.text());
}

#[test]
fn list_rules_has_every_code_once_in_order() {
    let test = CliTest::new();
    let json = test.run(["validate", "--list-rules", "--json"]).succeeds().json();
    let codes: Vec<&str> =
        json["rules"].as_array().unwrap().iter().map(|rule| rule["code"].as_str().unwrap()).collect();
    assert!(codes.len() > 70 && codes.windows(2).all(|pair| pair[0] < pair[1]));
    let text = test.run(["validate", "--list-rules"]).succeeds();
    for code in codes {
        assert_eq!(text.text().matches(&format!("\n  {code}  ")).count(), 1, "{code}");
    }
    assert!(text.text().lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn expectations_that_hold_pass_and_others_are_named() {
    let test = hierarchy();
    test.write(
        "good",
        r#"{"shape":[4.0],"attributes":{"units":"K"},"data_type":"uint8","shard_shape":null}"#,
    );
    test.write("bad", r#"{"shape":[5],"attributes":{"units":"degC"},"dtype":"uint8"}"#);
    test.run(["validate", "--level", "metadata", "s/a", "--expect", "good"]).succeeds();
    let run = test.run(["validate", "--json", "--level", "metadata", "s/a", "--expect", "bad"]);
    assert_eq!(run.status, 1);
    let of = |member: &str| -> Vec<Value> {
        run.json()["findings"].as_array().unwrap().iter().map(|finding| finding[member].clone()).collect()
    };
    assert_eq!(of("code"), ["ZM301", "ZM301", "ZM302"]);
    assert_eq!(of("pointer")[..2], ["/shape", "/attributes/units"]);
    let messages = of("message");
    assert_eq!(messages[0], "`shape`: expected [5], found [4]");
    assert_eq!(messages[1], "the attribute `units`: expected \"degC\", found \"K\"");
}

#[test]
fn expectations_of_a_group_are_by_path() {
    let test = hierarchy();
    test.write(
        "expect",
        r#"{"/a":{"shape":[4]},"a/":{"codecs":[{"name":"bytes"}]},"node_type":"group","c":{"shape":[1]}}"#,
    );
    let run = test
        .run(["validate", "--json", "--level", "metadata", "s", "--expect", "expect", "--allow", "ZD201"]);
    assert_eq!(run.status, 1);
    let findings = run.json()["findings"].clone();
    let codes: Vec<_> = findings.as_array().unwrap().iter().map(|finding| finding["code"].clone()).collect();
    assert_eq!(
        codes.iter().filter(|code| code.as_str().unwrap().starts_with("ZM3")).count(),
        1,
        "{findings}"
    );
    assert!(run.json()["findings"].to_string().contains("`c` is expected"), "{findings}");
}

#[test]
fn expect_file_that_is_missing_is_3_and_without_an_object_2() {
    let test = hierarchy();
    test.write("list", "[]").write("text", "{");
    test.run(["validate", "s", "--expect", "missing"]).fails(3, &["--expect", "missing"]);
    test.run(["validate", "s", "--expect", "text"]).fails(2, &["--expect", "text"]);
    test.run(["validate", "s", "--expect", "list"]).fails(2, &["--expect", "object"]);
}

#[test]
fn fixtures_of_other_writers_are_valid() {
    for name in ["zarr-python_3.1.6_gzip", "tensorstore_0.1.86_sharded_index_end", "zarr-python_3.1.6_group"]
    {
        let run =
            CliTest::new().run(["validate", "--level", "data", fixture(name).to_str().unwrap()]).succeeds();
        assert!(run.text().contains("valid"), "{}", run.text());
    }
}

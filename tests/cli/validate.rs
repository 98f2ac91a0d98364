//! `validate` around its rules: options, formats, pages of rules.

use serde::Deserialize;
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
    test.group("s").write("s/a/zarr.json", ARRAY).write(
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
    usage(&["s", "--max-findings", "some"], "--max-findings");
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
    assert!(run.json()["findings"].to_string().contains("the array `/c` is expected"), "{findings}");
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

/// The members of `--json`, and no others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: String,
    valid: bool,
    verdict: String,
    errors: u64,
    warnings: u64,
    infos: u64,
    unchecked: Vec<Value>,
    absent: Vec<Value>,
    failures: Vec<Value>,
    truncated: bool,
    findings: Vec<Finding>,
    against: Option<Against>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finding {
    code: String,
    name: String,
    severity: String,
    message: String,
    help: Option<String>,
    store: Option<String>,
    node: Option<String>,
    key: Option<String>,
    pointer: Option<String>,
    chunk: Option<Vec<u64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Against {
    other: String,
    equal: bool,
    nodes: Vec<Value>,
}

#[test]
fn json_has_the_members_of_the_contract() {
    let test = hierarchy();
    let run = test.run(["validate", "--json", "--level", "metadata", "s", "--against", "s"]);
    assert_eq!(run.status, 1);
    let document: Document = serde_json::from_slice(&run.output).unwrap();
    assert_eq!(document.schema, "zarrcast.validate/1");
    assert!(!document.valid && !document.truncated);
    assert_eq!(document.verdict, "differs");
    assert!(document.unchecked.is_empty() && document.absent.is_empty() && document.failures.is_empty());
    assert_eq!([document.errors, document.warnings, document.infos], [1, 1, 0]);
    let of = |finding: &Finding| [finding.code.clone(), finding.name.clone(), finding.severity.clone()];
    assert_eq!(of(&document.findings[0]), ["ZM109", "dimension-names-null", "warning"]);
    let error = &document.findings[1];
    assert_eq!(of(error), ["ZD201", "fill-value-invalid", "error"]);
    assert!(!error.message.is_empty() && error.help.is_some() && error.chunk.is_none());
    let place = [&error.store, &error.node, &error.key, &error.pointer].map(|part| part.as_deref().unwrap());
    assert_eq!(place, ["s", "/b", "b/zarr.json", "/fill_value"]);
    let against = document.against.unwrap();
    assert_eq!((against.other.as_str(), against.equal, against.nodes.len()), ("s", false, 2));
}

#[test]
fn deny_allow_and_max_findings_change_what_counts_and_what_is_shown() {
    let test = hierarchy();
    let run = |options: &[&str]| {
        let run = test.run(["validate", "--json", "--level", "metadata", "s"].iter().chain(options));
        let json = run.json();
        let shown = json["findings"].as_array().unwrap().len();
        (run.status, json["errors"].clone(), json["warnings"].clone(), shown)
    };
    assert_eq!(run(&[]), (1, json!(1), json!(1), 2));
    assert_eq!(run(&["--allow", "ZD201"]), (0, json!(0), json!(1), 1));
    assert_eq!(run(&["--allow", "ZD201", "--deny", "warnings"]), (1, json!(1), json!(0), 1));
    assert_eq!(run(&["--allow", "ZD201", "--deny", "dimension-names-null"]), (1, json!(1), json!(0), 1));
    assert_eq!(run(&["--max-findings", "1"]), (1, json!(1), json!(1), 1));
    assert_eq!(run(&["--max-findings", "0"]), (1, json!(1), json!(1), 2));
}

#[test]
fn each_format_names_the_finding_and_its_place() {
    let test = hierarchy();
    let report = |format: &str| {
        let run = test.run(["validate", "--format", format, "--level", "metadata", "s"]);
        assert_eq!((run.status, run.error.as_str()), (1, ""), "{format}");
        run.text().to_owned()
    };
    let text = report("text");
    // What is wrong comes first.
    assert!(text.starts_with("s/b/zarr.json: error ZD201 fill-value-invalid at /fill_value: "), "{text}");
    let second = "\ns/b/zarr.json: warning ZM109 dimension-names-null at /dimension_names: ";
    assert!(text.contains(second), "{text}");
    assert!(text.ends_with("not valid: 1 error, 1 warning in 3 nodes (level metadata)\n"), "{text}");
    let github = report("github");
    assert!(github.contains("\n::error file=s/b/zarr.json,title=ZD201 fill-value-invalid::"), "{github}");
    let sarif: Value = serde_json::from_str(&report("sarif")).unwrap();
    let results = &sarif["runs"][0]["results"];
    assert_eq!((&results[1]["ruleId"], &results[1]["level"]), (&json!("ZD201"), &json!("error")));
    let rules = &sarif["runs"][0]["tool"]["driver"]["rules"];
    assert!(rules[0]["helpUri"].as_str().unwrap().starts_with("https://"), "{rules}");
    let junit = report("junit");
    assert!(junit.contains(r#"<testcase classname="s" name="/a"/>"#), "{junit}");
    assert!(junit.contains(r#"<failure type="ZD201 fill-value-invalid""#), "{junit}");
}

#[test]
fn missing_store_is_3_and_hides_nothing_of_the_others() {
    let test = hierarchy();
    let run = test.run(["validate", "--json", "--level", "metadata", "missing", "s"]);
    assert_eq!(run.status, 3);
    assert!(run.error.contains("missing"), "{}", run.error);
    assert_eq!(run.json()["errors"], 1);
}

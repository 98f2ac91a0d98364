//! `validate` around its rules: all rules, and the members of its JSON.

use serde::Deserialize;
use serde_json::{Value, json};

use super::support::CliTest;

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
    let test = CliTest::new();
    let array = json!({"chunk_shape": [2], "data_type": "uint8", "codecs": [{"name": "bytes"}]});
    let mut wrong = array.clone();
    wrong["fill_value"] = json!(-1);
    wrong["dimension_names"] = Value::Null;
    test.group("s").array("s/a", array).array("s/b", wrong);
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

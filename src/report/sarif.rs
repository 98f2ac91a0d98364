//! `validate` as SARIF 2.1.0, which code scanning reads.
//!
//! Specification: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::uri::uri_of;
use crate::diagnostic::{Code, Diagnostic, Location, Severity, code};
use crate::operation::validate::ValidateOutcome;

/// Where the schema is published.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// Writes it.
pub fn write(outcome: &ValidateOutcome, output: &mut dyn Write) -> io::Result<()> {
    let findings = outcome.result.findings_and_differences();
    let used = used_rules(&findings);
    let rules: Vec<Value> = used.keys().filter_map(|used| code::of(used)).map(descriptor).collect();
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, used.get(finding.code).copied())).collect();
    let notifications: Vec<Value> = outcome
        .failures
        .iter()
        .map(|failure| json!({ "level": "error", "message": { "text": failure.to_string() } }))
        .collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "zarrcast",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "invocations": [{
                "executionSuccessful": notifications.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *output, &log)?;
    writeln!(output)
}

/// The codes that were found, sorted, each with its place in the list of rules.
fn used_rules(findings: &[Diagnostic]) -> BTreeMap<&'static str, usize> {
    let mut used: BTreeMap<_, _> = findings.iter().map(|finding| (finding.code, 0)).collect();
    used.values_mut().enumerate().for_each(|(place, index)| *index = place);
    used
}

fn descriptor(code: Code) -> Value {
    let page = code.page();
    let mut rule = json!({
        "id": code.code,
        "name": code.name,
        "shortDescription": { "text": code.title() },
        "help": { "text": page, "markdown": page },
        "defaultConfiguration": { "level": level(code.severity) },
    });
    if let Some(reference) = code.reference() {
        rule["helpUri"] = reference.into();
    }
    rule
}

fn result(finding: &Diagnostic, place: Option<usize>) -> Value {
    let text = match &finding.help {
        Some(help) => format!("{}\nhelp: {help}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = json!({
        "ruleId": finding.code,
        "level": level(finding.severity),
        "message": { "text": text },
    });
    if let Some(place) = place {
        result["ruleIndex"] = place.into();
    }
    if let Some(location) = location(&finding.location) {
        result["locations"] = json!([location]);
    }
    result
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// The file, and what it is inside the store: the node, the pointer into the document, the chunk.
fn location(location: &Location) -> Option<Value> {
    let mut described = Map::new();
    if let Some(uri) = uri_of(location) {
        described.insert("physicalLocation".to_owned(), json!({ "artifactLocation": { "uri": uri } }));
    }
    let chunk = location.chunk.as_ref().map(|chunk| format!("{chunk:?}"));
    let places = [("node", &location.node), ("pointer", &location.pointer), ("chunk", &chunk)];
    let logical: Vec<Value> = places
        .into_iter()
        .filter_map(|(kind, name)| name.as_ref().map(|name| json!({ "fullyQualifiedName": name, "kind": kind })))
        .collect();
    if !logical.is_empty() {
        described.insert("logicalLocations".to_owned(), Value::Array(logical));
    }
    (!described.is_empty()).then_some(Value::Object(described))
}

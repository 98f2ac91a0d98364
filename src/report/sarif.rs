//! `validate` as SARIF 2.1.0, which code scanning reads:
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::{Value, json};

use super::formats::{SHOWS_ALL, first_shown, uri_of};
use crate::diagnostic::{Code, Diagnostic, Location, Severity, code};
use crate::operation::Failure;
use crate::operation::validate::ValidateOutcome;

/// The address of the published schema.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// Writes a SARIF log.
pub fn write_sarif(outcome: &ValidateOutcome, output: &mut dyn Write) -> io::Result<()> {
    let findings = outcome.result.findings_and_differences();
    // The codes that were found, sorted, each with its place in the list of rules.
    let codes: BTreeSet<&'static str> = findings.iter().map(|finding| finding.code).collect();
    let used: BTreeMap<_, _> = codes.into_iter().zip(0..).collect();
    let rules: Vec<Value> = used.keys().filter_map(|used| code::of(used)).map(descriptor).collect();
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, used.get(finding.code).copied())).collect();
    let notification = |failure: &Failure| json!({ "level": "error", "message": { "text": failure.message } });
    let mut notifications: Vec<Value> = outcome.result.failures.iter().map(notification).collect();
    let is_successful = notifications.is_empty();
    if outcome.result.truncated {
        let text = format!("{}; {SHOWS_ALL}", first_shown(outcome.result.findings.len()));
        notifications.push(json!({ "level": "note", "message": { "text": text } }));
    }
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
                "executionSuccessful": is_successful,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *output, &log)?;
    writeln!(output)
}

/// Returns an object without the members that are null.
fn object(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    value
}

fn descriptor(code: Code) -> Value {
    let page = code.page();
    object(json!({
        "id": code.code,
        "name": code.name(),
        "shortDescription": { "text": code.title() },
        "help": { "text": page, "markdown": page },
        "defaultConfiguration": { "level": level(code.severity) },
        "helpUri": code.reference(),
    }))
}

fn result(finding: &Diagnostic, index: Option<usize>) -> Value {
    let help = finding.help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {help}"));
    object(json!({
        "ruleId": finding.code,
        "level": level(finding.severity),
        "message": { "text": format!("{}{help}", finding.message) },
        "ruleIndex": index,
        "locations": location(&finding.location).map(|location| [location]),
    }))
}

fn level(severity: Severity) -> &'static str {
    if severity == Severity::Info { "note" } else { severity.name() }
}

/// Returns the file, and the location inside the store: the node, the pointer into the document, the chunk.
fn location(location: &Location) -> Option<Value> {
    let uri = uri_of(location).map(|uri| json!({ "artifactLocation": { "uri": uri } }));
    let chunk = location.chunk.as_ref().map(|chunk| format!("{chunk:?}"));
    let members = [("node", &location.node), ("pointer", &location.pointer), ("chunk", &chunk)];
    let named = |(kind, name): (&str, &Option<String>)| {
        name.as_ref().map(|name| json!({ "fullyQualifiedName": name, "kind": kind }))
    };
    let logical: Vec<Value> = members.into_iter().filter_map(named).collect();
    let logical = (!logical.is_empty()).then_some(logical);
    let is_any = uri.is_some() || logical.is_some();
    is_any.then(|| object(json!({ "physicalLocation": uri, "logicalLocations": logical })))
}

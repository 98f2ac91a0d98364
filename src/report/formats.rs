//! `validate` in the formats of other programs. Also the file of a finding, as a path and as a URI reference (RFC
//! 3986).
//!
//! SARIF 2.1.0, which code scanning reads: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.
//!
//! `JUnit` XML: a test suite for each store, and a test case for each of its nodes. An error is a `failure` of its
//! node. Other findings are in its `system-out`. A store that could not be read is a test case with an `error`. Schema:
//! `jenkins-junit.xsd`, which the common readers follow.
//!
//! Workflow commands of GitHub Actions, which shows them as annotations. Grammar:
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>. The runner unescapes `%`, CR
//! and LF everywhere, and `:` and `,` in properties. These are therefore escaped.
//!
//! Results as JSON: one document with the version of its schema first.
//!
//! The members are those of the result structs in `operation`, by their names. A version may get new members. None is
//! renamed, removed or changed in meaning.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::{Value, json};

use super::quantity;
use crate::diagnostic::{Code, Diagnostic, Location, Severity, code};
use crate::operation::validate::ValidateOutcome;
use crate::operation::validate_result::CheckedStore;
use crate::operation::{Failure, ValidateResult};

/// The address of the published schema.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// The advice where findings are not shown.
pub(super) const SHOWS_ALL: &str = "--max-findings 0 shows all";

/// Returns `only the first 3 findings are shown`.
pub(super) fn first_shown(shown: usize) -> String {
    match shown {
        1 => "only the first finding is shown".to_owned(),
        _ => format!("only the first {} findings are shown", quantity::count(shown as u64)),
    }
}

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

/// The findings of a node that are shown, and whether it has errors that are not.
type Case = (Vec<Diagnostic>, bool);

/// The nodes of a store.
type Cases = Vec<(String, Case)>;

/// Writes a `JUnit` report.
pub fn write_junit(outcome: &ValidateOutcome, output: &mut dyn Write) -> io::Result<()> {
    let suites = suites(&outcome.result);
    let errors = outcome.failures.len();
    let tests = suites.iter().map(|(_, cases)| cases.len()).sum::<usize>() + errors;
    let failures = suites.iter().map(|(_, cases)| num_failures(cases)).sum();
    writeln!(output, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(output, "<testsuites {}>", attributes("zarrcast", [tests, failures, errors]))?;
    for (store, cases) in &suites {
        writeln!(output, "  <testsuite {}>", attributes(store, [cases.len(), num_failures(cases), 0]))?;
        cases.iter().try_for_each(|(node, case)| write_case(store, node, case, output))?;
        writeln!(output, "  </testsuite>")?;
    }
    if errors > 0 {
        writeln!(output, "  <testsuite {}>", attributes("stores not looked at", [errors, 0, errors]))?;
        for (named, failure) in outcome.result.failures.iter().zip(&outcome.failures) {
            let (name, message) = (escape(&failure.to_string()), escape(&named.message));
            let help = escape(failure.help().unwrap_or_default());
            writeln!(output, r#"    <testcase classname="zarrcast" name="{name}">"#)?;
            writeln!(output, r#"      <error type="failed" message="{message}">{help}</error>"#)?;
            writeln!(output, "    </testcase>")?;
        }
        writeln!(output, "  </testsuite>")?;
    }
    writeln!(output, "</testsuites>")
}

/// Returns the name of a suite, and the numbers of its tests, failures and errors.
fn attributes(name: &str, [tests, failures, errors]: [usize; 3]) -> String {
    format!(r#"name="{}" tests="{tests}" failures="{failures}" errors="{errors}""#, escape(name))
}

/// Returns the number of nodes with an error.
fn num_failures(cases: &Cases) -> usize {
    cases.iter().filter(|(_, (findings, is_cut))| *is_cut || findings.iter().any(Diagnostic::is_error)).count()
}

/// Returns the findings by store and node. Nodes without findings are included.
fn suites(result: &ValidateResult) -> Vec<(String, Cases)> {
    // A node that was not read did not pass.
    let unread: HashSet<_> = result.failures.iter().map(|failure| (&failure.store, &failure.node)).collect();
    let cases = |CheckedStore { store, nodes, .. }: &CheckedStore| {
        let store = Some(store.clone());
        let read = nodes.iter().filter(|node| !unread.contains(&(&store, &Some((*node).clone()))));
        read.map(|node| (node.clone(), Case::default())).collect()
    };
    let mut suites: Vec<(String, Cases)> =
        result.checked.iter().map(|checked| (checked.store.clone(), cases(checked))).collect();
    for finding in result.findings_and_differences() {
        let Location { store, node, .. } = &finding.location;
        case_of(&mut suites, store.as_deref(), node.as_deref()).0.push(finding);
    }
    for (store, node) in &result.cut {
        case_of(&mut suites, store.as_deref(), node.as_deref()).1 = true;
    }
    suites
}

fn case_of<'a>(suites: &'a mut Vec<(String, Cases)>, store: Option<&str>, node: Option<&str>) -> &'a mut Case {
    entry(entry(suites, store.unwrap_or("(no store)")), node.unwrap_or("/"))
}

/// Returns the entry of a name, and adds it if it is missing. Findings are in the order of the nodes, so the last entry
/// is nearly always the right one.
fn entry<'a, T: Default>(entries: &'a mut Vec<(String, T)>, name: &str) -> &'a mut T {
    let index = entries.iter().rposition(|(known, _)| known == name).unwrap_or_else(|| {
        entries.push((name.to_owned(), T::default()));
        entries.len() - 1
    });
    &mut entries[index].1
}

fn write_case(store: &str, node: &str, (findings, is_cut): &Case, output: &mut dyn Write) -> io::Result<()> {
    let open = format!(r#"<testcase classname="{}" name="{}""#, escape(store), escape(node));
    if findings.is_empty() && !is_cut {
        return writeln!(output, "    {open}/>");
    }
    writeln!(output, "    {open}>")?;
    let (errors, others): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.is_error());
    for finding in errors {
        let kind = escape(&format!("{} {}", finding.code, finding.name));
        let (message, text) = (escape(&finding.message), escape(&describe(finding)));
        writeln!(output, r#"      <failure type="{kind}" message="{message}">{text}</failure>"#)?;
    }
    if *is_cut {
        writeln!(output, r#"      <failure type="not shown" message="errors are left out; {SHOWS_ALL}"/>"#)?;
    }
    let others: Vec<String> = others.iter().map(|finding| format!("{finding}\n{}", describe(finding))).collect();
    if !others.is_empty() {
        writeln!(output, "      <system-out>{}</system-out>", escape(&others.join("\n")))?;
    }
    writeln!(output, "    </testcase>")
}

/// Returns the location and the help of a finding, a line each.
fn describe(finding: &Diagnostic) -> String {
    let file = path_of(&finding.location).map(|path| format!("in {path}"));
    file.into_iter().chain(details(finding)).collect::<Vec<_>>().join("\n")
}

/// Returns the location inside a file and the help, a line each.
fn details(finding: &Diagnostic) -> impl Iterator<Item = String> {
    let Location { pointer, chunk, .. } = &finding.location;
    let pointer = pointer.as_ref().filter(|pointer| !pointer.is_empty()).map(|pointer| format!("at {pointer}"));
    let chunk = chunk.as_ref().map(|chunk| format!("at chunk {chunk:?}"));
    let help = finding.help.as_ref().map(|help| format!("help: {help}"));
    pointer.into_iter().chain(chunk).chain(help)
}

/// Escapes text for an element or an attribute. Characters that XML 1.0 does not even allow escaped become U+FFFD.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // A reader of XML turns white space in attributes into spaces, unless it is escaped.
            '\t' => escaped.push_str("&#9;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Writes a command for each finding and for each failure, each on a line.
pub fn write_github(result: &ValidateResult, output: &mut dyn Write) -> io::Result<()> {
    for finding in &result.findings_and_differences() {
        writeln!(output, "{}", command(finding))?;
    }
    for Failure { store, node, key, message } in &result.failures {
        let [store, node, key] = [store, node, key].map(Clone::clone);
        let file = file(&Location { store, node, key, ..Location::default() });
        writeln!(output, "::error {file}title=not read::{}", data(message))?;
    }
    if result.truncated {
        writeln!(output, "::notice title=findings left out::{}", first_shown(result.findings.len()))?;
    }
    Ok(())
}

fn command(finding: &Diagnostic) -> String {
    let word = if finding.severity == Severity::Info { "notice" } else { finding.severity.name() };
    let file = file(&finding.location);
    let title = property(&format!("{} {}", finding.code, finding.name));
    let lines: Vec<String> = std::iter::once(finding.message.clone()).chain(details(finding)).collect();
    format!("::{word} {file}title={title}::{}", data(&lines.join("\n")))
}

/// Returns the property that names the file, with a comma. Empty if there is none.
fn file(location: &Location) -> String {
    path_of(location).map_or_else(String::new, |path| format!("file={},", property(&path)))
}

/// Escapes the text after the last `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Returns the file or folder: the store, and below it the key or else the node.
pub(super) fn path_of(location: &Location) -> Option<String> {
    let store = location.store.as_deref()?.trim_end_matches('/');
    let below = location.key.as_deref().or(location.node.as_deref()).unwrap_or_default();
    let below = below.trim_start_matches('/');
    Some(if below.is_empty() { store.to_owned() } else { format!("{store}/{below}") })
}

/// Returns this path as a URI reference. A local path is percent-encoded, and an absolute one is a `file` URI.
fn uri_of(location: &Location) -> Option<String> {
    let path = path_of(location)?;
    let scheme = path.split_once("://").map(|(scheme, _)| scheme);
    let is_url = scheme.is_some_and(|s| !s.is_empty() && s.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let prefix = if path.starts_with('/') { "file://" } else { "" };
    Some(format!("{prefix}{}", encode(&path, is_url)))
}

/// Percent-encodes characters that a path does not allow. In a URL, only those that no part of it allows.
fn encode(text: &str, is_url: bool) -> String {
    let stays = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        is_plain || (is_url && b":?#[]@!$&'()*+,;=%".contains(&byte))
    };
    let encode = |byte| if stays(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

/// A result with the version of its schema.
#[derive(Debug, Serialize)]
pub struct Document<'a, T> {
    schema: String,
    #[serde(flatten)]
    result: &'a T,
}

impl<'a, T> Document<'a, T> {
    pub fn new(command: &str, result: &'a T) -> Self {
        // Both lost members: the interval of an estimate, and the skew of values.
        let version = if matches!(command, "inspect" | "transcode") { 2 } else { 1 };
        Document { schema: format!("zarrcast.{command}/{version}"), result }
    }
}

/// Writes the result of a command, and a line end.
pub fn write<T: Serialize>(command: &str, result: &T, output: &mut dyn Write) -> io::Result<()> {
    let document = Document::new(command, result);
    // The buffer joins small writes and splits none. The output must not get part of a character.
    let mut output = BufWriter::with_capacity(1 << 16, output);
    serde_json::to_writer_pretty(&mut output, &document)?;
    writeln!(output)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(store: &str, node: &str, key: Option<&str>) -> Location {
        Location {
            store: Some(store.to_owned()),
            node: Some(node.to_owned()),
            key: key.map(str::to_owned),
            ..Location::default()
        }
    }

    #[test]
    fn node_that_was_not_read_is_no_passed_test_case() {
        let (store, nodes) = ("s".to_owned(), vec!["/".to_owned(), "/v".to_owned()]);
        let (node, message) = (Some("/v".to_owned()), "refused".to_owned());
        let failure = Failure { store: Some(store.clone()), node, key: None, message };
        let checked = vec![CheckedStore { store, nodes, ..CheckedStore::default() }];
        let result = ValidateResult { failures: vec![failure], checked, ..ValidateResult::default() };
        assert_eq!(suites(&result), [("s".to_owned(), vec![("/".to_owned(), Case::default())])]);
    }

    #[test]
    fn path_is_the_key_below_the_store_or_else_the_node() {
        assert_eq!(path_of(&location("a.zarr/", "/b", Some("b/zarr.json"))).unwrap(), "a.zarr/b/zarr.json");
        assert_eq!(path_of(&location("a.zarr", "/b", None)).unwrap(), "a.zarr/b");
        assert_eq!(path_of(&location("a.zarr", "/", None)).unwrap(), "a.zarr");
        assert_eq!(path_of(&Location::default()), None);
    }

    #[test]
    fn uri_encodes_what_a_path_may_not_hold() {
        assert_eq!(uri_of(&location("a b:c", "/", Some("d%e/é"))).unwrap(), "a%20b%3Ac/d%25e/%C3%A9");
        assert_eq!(uri_of(&location("/tmp/a", "/", None)).unwrap(), "file:///tmp/a");
        assert_eq!(uri_of(&location("s3://bucket/a", "/x y", None)).unwrap(), "s3://bucket/a/x%20y");
        assert_eq!(uri_of(&location("://a", "/", None)).unwrap(), "%3A//a");
    }
}

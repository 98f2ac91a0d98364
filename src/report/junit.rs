//! `validate` as `JUnit` XML: a test suite for each store, a test case for each of its nodes.
//!
//! An error is a `failure` of its node, what else was found stands in its `system-out`; a store that could not be
//! looked at is a test case with an `error`. Schema: `jenkins-junit.xsd`, which the common readers follow.

use std::io::{self, Write};

use super::uri::path_of;
use crate::diagnostic::Diagnostic;
use crate::operation::error::OperationError;
use crate::operation::validate::ValidateOutcome;

/// A store's suite.
struct Suite {
    store: String,
    cases: Vec<Case>,
}

/// A node's findings.
struct Case {
    node: String,
    findings: Vec<Diagnostic>,
}

/// Writes it.
pub fn write(outcome: &ValidateOutcome, output: &mut dyn Write) -> io::Result<()> {
    let suites = suites(outcome);
    let errors = outcome.failures.len();
    let tests = suites.iter().map(|suite| suite.cases.len()).sum::<usize>() + errors;
    let failures: usize = suites.iter().map(Suite::num_failures).sum();
    writeln!(output, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(output, r#"<testsuites name="zarrcast" tests="{tests}" failures="{failures}" errors="{errors}">"#)?;
    for suite in &suites {
        write_suite(suite, output)?;
    }
    if errors > 0 {
        writeln!(
            output,
            r#"  <testsuite name="stores not looked at" tests="{errors}" failures="0" errors="{errors}">"#
        )?;
        for failure in &outcome.failures {
            write_failure(failure, output)?;
        }
        writeln!(output, "  </testsuite>")?;
    }
    writeln!(output, "</testsuites>")
}

/// The findings by store and node; nodes without any are there, too.
fn suites(outcome: &ValidateOutcome) -> Vec<Suite> {
    let result = &outcome.result;
    let mut suites: Vec<Suite> = Vec::new();
    for checked in &result.checked {
        let case = |node: &String| Case { node: node.clone(), findings: Vec::new() };
        suites.push(Suite { store: checked.store.clone(), cases: checked.nodes.iter().map(case).collect() });
    }
    for finding in result.findings_and_differences() {
        let store = finding.location.store.as_deref().unwrap_or("(no store)");
        let node = finding.location.node.as_deref().unwrap_or("/");
        let place = suites.iter().position(|suite| suite.store == store).unwrap_or_else(|| {
            suites.push(Suite { store: store.to_owned(), cases: Vec::new() });
            suites.len() - 1
        });
        let cases = &mut suites[place].cases;
        // Findings come in the order of the nodes: the one before is nearly always of the same node.
        let place = cases.iter().rposition(|case| case.node == node).unwrap_or_else(|| {
            cases.push(Case { node: node.to_owned(), findings: Vec::new() });
            cases.len() - 1
        });
        cases[place].findings.push(finding);
    }
    suites
}

impl Suite {
    /// Nodes with an error.
    fn num_failures(&self) -> usize {
        self.cases.iter().filter(|case| case.findings.iter().any(Diagnostic::is_error)).count()
    }
}

fn write_suite(suite: &Suite, output: &mut dyn Write) -> io::Result<()> {
    let (tests, failures, store) = (suite.cases.len(), suite.num_failures(), escape(&suite.store));
    writeln!(output, r#"  <testsuite name="{store}" tests="{tests}" failures="{failures}" errors="0">"#)?;
    for case in &suite.cases {
        let open = format!(r#"<testcase classname="{store}" name="{}""#, escape(&case.node));
        if case.findings.is_empty() {
            writeln!(output, "    {open}/>")?;
            continue;
        }
        writeln!(output, "    {open}>")?;
        for finding in case.findings.iter().filter(|finding| finding.is_error()) {
            let kind = escape(&format!("{} {}", finding.code, finding.name));
            let message = escape(&finding.message);
            let text = escape(&describe(finding));
            writeln!(output, r#"      <failure type="{kind}" message="{message}">{text}</failure>"#)?;
        }
        let others: Vec<String> = case
            .findings
            .iter()
            .filter(|finding| !finding.is_error())
            .map(|finding| format!("{finding}\n{}", describe(finding)))
            .collect();
        if !others.is_empty() {
            writeln!(output, "      <system-out>{}</system-out>", escape(&others.join("\n")))?;
        }
        writeln!(output, "    </testcase>")?;
    }
    writeln!(output, "  </testsuite>")
}

fn write_failure(failure: &OperationError, output: &mut dyn Write) -> io::Result<()> {
    let message = escape(&failure.to_string());
    let help = escape(failure.help().unwrap_or_default());
    writeln!(output, r#"    <testcase classname="zarrcast" name="{message}">"#)?;
    writeln!(output, r#"      <error type="failed" message="{message}">{help}</error>"#)?;
    writeln!(output, "    </testcase>")
}

/// Where it is and what to do, a line each.
fn describe(finding: &Diagnostic) -> String {
    let location = &finding.location;
    let parts = [
        path_of(location).map(|path| format!("in {path}")),
        location.pointer.as_ref().filter(|pointer| !pointer.is_empty()).map(|at| format!("at {at}")),
        location.chunk.as_ref().map(|chunk| format!("chunk {chunk:?}")),
        finding.help.as_ref().map(|help| format!("help: {help}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Text for an element or an attribute. What XML 1.0 has no place for, even escaped, becomes U+FFFD.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' => escaped.push_str("&#9;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::code;
    use crate::operation::validate_result::{CheckedStore, ValidateResult};

    #[test]
    fn nodes_are_cases_and_errors_their_failures() {
        let found = |code| Diagnostic::new(code, "a < b & \u{1}\n").in_store("s").at_node("/a");
        let outcome = ValidateOutcome {
            result: ValidateResult {
                valid: false,
                verdict: "not valid".to_owned(),
                partition: None,
                errors: 1,
                warnings: 1,
                infos: 0,
                unchecked: Vec::new(),
                absent: Vec::new(),
                failures: Vec::new(),
                truncated: false,
                findings: vec![found(code::MEMBER_MISSING), found(code::KEY_UNKNOWN)],
                against: None,
                checked: vec![CheckedStore {
                    store: "s".to_owned(),
                    level: "keys",
                    nodes: vec!["/".to_owned(), "/a".to_owned()],
                    objects: 0,
                }],
            },
            failures: vec![OperationError::environment("`t` does not exist").with_help("check the path")],
        };
        let mut text = Vec::new();
        write(&outcome, &mut text).unwrap();
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="zarrcast" tests="3" failures="1" errors="1">
  <testsuite name="s" tests="2" failures="1" errors="0">
    <testcase classname="s" name="/"/>
    <testcase classname="s" name="/a">
      <failure type="ZM101 member-missing" message="a &lt; b &amp; �&#10;">in s/a</failure>
      <system-out>warning[ZK201] a &lt; b &amp; �&#10;&#10;in s/a</system-out>
    </testcase>
  </testsuite>
  <testsuite name="stores not looked at" tests="1" failures="0" errors="1">
    <testcase classname="zarrcast" name="`t` does not exist">
      <error type="failed" message="`t` does not exist">check the path</error>
    </testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}

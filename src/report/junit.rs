//! `validate` as `JUnit` XML: a test suite for each store, and a test case for each of its nodes. An error is a `failure`
//! of its node. Other findings are in its `system-out`. A store that could not be read is a test case with an `error`.
//! Schema: `jenkins-junit.xsd`, which the common readers follow.

use std::collections::HashSet;
use std::io::{self, Write};

use super::formats::{SHOWS_ALL, path_of};
use crate::diagnostic::{Diagnostic, Location};
use crate::operation::ValidateResult;
use crate::operation::validate::ValidateOutcome;
use crate::operation::validate_result::CheckedStore;

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
pub(super) fn details(finding: &Diagnostic) -> impl Iterator<Item = String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Failure;
    use crate::operation::validate_result::CheckedStore;

    #[test]
    fn node_that_was_not_read_is_no_passed_test_case() {
        let (store, nodes) = ("s".to_owned(), vec!["/".to_owned(), "/v".to_owned()]);
        let (node, message) = (Some("/v".to_owned()), "refused".to_owned());
        let failure = Failure { store: Some(store.clone()), node, key: None, message };
        let checked = vec![CheckedStore { store, nodes, ..CheckedStore::default() }];
        let result = ValidateResult { failures: vec![failure], checked, ..ValidateResult::default() };
        assert_eq!(suites(&result), [("s".to_owned(), vec![("/".to_owned(), Case::default())])]);
    }
}

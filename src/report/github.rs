//! `validate` as workflow commands of GitHub Actions, which shows them as annotations. Grammar:
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>. The runner unescapes `%`, CR
//! and LF everywhere, and `:` and `,` in properties. These are therefore escaped.

use std::io::{self, Write};

use super::formats::{first_shown, path_of};
use super::junit::details;
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::operation::{Failure, ValidateResult};

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

//! Errors and findings, as they stand on stderr.

use std::error::Error;
use std::io::{self, Write};

use super::terminal::{Role, Style};
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::operation::error::OperationError;

/// `error: `, what happened, each cause that says more on a line of its own, and the next step.
pub fn write_error(error: &(dyn Error + 'static), style: Style, output: &mut dyn Write) -> io::Result<()> {
    let headline = error.to_string();
    writeln!(output, "{} {headline}", style.paint(Role::Error, "error:"))?;
    let mut help = None;
    let mut said = headline;
    let mut next = Some(error);
    while let Some(cause) = next {
        let clause = cause.to_string();
        // A transparent wrapper repeats what it wraps.
        if !said.ends_with(&clause) {
            writeln!(output, "  {} {clause}", style.paint(Role::Faint, "because"))?;
            said = clause;
        }
        if let Some(operation) = cause.downcast_ref::<OperationError>() {
            help = help.or(operation.help());
        }
        next = cause.source();
    }
    match help {
        Some(help) => writeln!(output, "  {} {help}", style.paint(Role::Good, "help:")),
        None => Ok(()),
    }
}

/// One finding after the other: severity, code, message, place, help.
pub fn write_findings(findings: &[Diagnostic], style: Style, output: &mut dyn Write) -> io::Result<()> {
    for finding in findings {
        let (role, word) = match finding.severity {
            Severity::Error => (Role::Error, "error"),
            Severity::Warning => (Role::Warning, "warning"),
            Severity::Info => (Role::Good, "info"),
        };
        let head = style.paint(role, &format!("{word}[{}]:", finding.code));
        writeln!(output, "{head} {}", finding.message)?;
        if let Some(place) = place(&finding.location) {
            writeln!(output, "  {} {place}", style.paint(Role::Faint, "at"))?;
        }
        if let Some(help) = &finding.help {
            writeln!(output, "  {} {help}", style.paint(Role::Good, "help:"))?;
        }
    }
    Ok(())
}

fn place(location: &Location) -> Option<String> {
    let chunk = location.chunk.as_ref().map(|chunk| format!("chunk {chunk:?}"));
    let pointer = location.pointer.as_ref().filter(|pointer| !pointer.is_empty());
    let parts: Vec<&str> = [location.node.as_ref(), location.key.as_ref(), pointer, chunk.as_ref()]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_written_with_its_causes_and_the_next_step() {
        let error = OperationError::environment("a.zarr cannot be opened")
            .because(std::io::Error::other("permission denied"))
            .with_help("check the path");
        let mut text = Vec::new();
        write_error(&error, Style::PLAIN, &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "error: a.zarr cannot be opened\n  because permission denied\n  help: check the path\n"
        );
    }
}

//! Errors and findings, as they stand on stderr.

use std::error::Error;
use std::io::{self, Write};

use super::defused::one_line;
use super::grouped::grouped;
use super::terminal::{Role, Style};
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::operation::error::OperationError;
use crate::store::RemoteError;

/// `error: `, what happened, each cause that says more on a line of its own, and the next step.
pub fn write_error(error: &(dyn Error + 'static), style: Style, output: &mut dyn Write) -> io::Result<()> {
    let headline = error.to_string();
    writeln!(output, "{} {headline}", style.paint(Role::Error, "error:"), headline = one_line(&headline))?;
    let mut help = None;
    let mut said = headline;
    let mut next = Some(error);
    while let Some(cause) = next {
        let clause = cause.to_string();
        // A transparent wrapper repeats what it wraps.
        if !said.ends_with(&clause) {
            writeln!(
                output,
                "  {} {clause}",
                style.paint(Role::Faint, "because"),
                clause = one_line(&clause)
            )?;
            said = clause;
        }
        if let Some(operation) = cause.downcast_ref::<OperationError>() {
            help = help.or(operation.help());
        }
        // The store knows best what to do about what it answered.
        if let Some(remote) = cause.downcast_ref::<Box<RemoteError>>() {
            help = Some(&remote.help);
        }
        next = cause.source();
    }
    match help {
        Some(help) => {
            writeln!(output, "  {} {help}", style.paint(Role::Good, "help:"), help = one_line(help))
        }
        None => Ok(()),
    }
}

/// How findings look on stderr.
#[derive(Debug, Clone, Copy)]
pub struct FindingsLook {
    /// Colours, or none.
    pub style: Style,
    /// Whether somebody watches: place and help have lines of their own; else a finding is one line.
    pub is_terminal: bool,
    /// Whether all nodes of a finding are named.
    pub is_verbose: bool,
}

/// One finding after the other: severity, code, message, place, help. One that holds for many nodes is said once.
pub fn write_findings(findings: &[Diagnostic], look: FindingsLook, output: &mut dyn Write) -> io::Result<()> {
    let style = look.style;
    for group in grouped(findings) {
        let finding = group.first();
        let (role, word) = match finding.severity {
            Severity::Error => (Role::Error, "error"),
            Severity::Warning => (Role::Warning, "warning"),
            Severity::Info => (Role::Good, "info"),
        };
        let head = style.paint(role, &format!("{word}[{}]:", finding.code));
        write!(output, "{head} {}", one_line(&finding.message))?;
        let mut add = |role, label: &str, text: &str| {
            let (label, text) = (style.paint(role, label), one_line(text));
            if look.is_terminal {
                write!(output, "\n  {label} {text}")
            } else {
                write!(output, "; {label} {text}")
            }
        };
        if group.is_of_many() {
            add(Role::Faint, "in", &group.nodes(look.is_verbose).join(", "))?;
        } else if let Some(place) = place(&finding.location) {
            add(Role::Faint, "at", &place)?;
        }
        if let Some(help) = &finding.help {
            add(Role::Good, "help:", help)?;
        }
        writeln!(output)?;
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

    #[test]
    fn finding_is_one_line_where_nobody_watches_and_said_once_of_many_nodes() {
        use crate::diagnostic::code;
        let of = |node: &str| {
            Diagnostic::new(code::CODEC_UNREGISTERED, "x").in_store("s").at_node(node).with_help("mend")
        };
        let text = |findings: &[Diagnostic], is_terminal| {
            let mut text = Vec::new();
            let look = FindingsLook { style: Style::PLAIN, is_terminal, is_verbose: false };
            write_findings(findings, look, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(text(&[of("/a")], false), "warning[ZC104]: x; at /a; help: mend\n");
        assert_eq!(text(&[of("/a")], true), "warning[ZC104]: x\n  at /a\n  help: mend\n");
        assert_eq!(text(&[of("/a"), of("/b")], false), "warning[ZC104]: x; in s/a, s/b; help: mend\n");
    }
}

//! Errors and findings, as they stand on stderr.

use std::error::Error;
use std::io::{self, Write};

use super::defused::one_line;
use super::grouped::grouped;
use super::table::wrap_prose;
use super::terminal::{Role, Style};
use crate::diagnostic::{Diagnostic, Location};
use crate::operation::error::{OperationError, says_more};
use crate::store::RemoteError;

/// `error: `, what happened, each cause that says more on a line of its own, and the next step.
pub fn write_error(error: &(dyn Error + 'static), style: Style, output: &mut dyn Write) -> io::Result<()> {
    let headline = error.to_string();
    write_clause((Role::Error, "error:", 0), &headline, style, output)?;
    let mut help = None;
    let mut said = headline;
    let mut next = Some(error);
    while let Some(cause) = next {
        let clause = cause.to_string();
        if says_more(&said, &clause) {
            write_clause((Role::Faint, "because", 2), &clause, style, output)?;
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
    help.map_or(Ok(()), |help| write_clause((Role::Good, "help:", 2), help, style, output))
}

/// Columns by which text that goes on is indented more than its first line.
const HANGING: usize = 4;

/// A label behind an indent, and text in as many lines as the terminal needs.
fn write_clause(
    (role, label, indent): (Role, &str, usize),
    text: &str,
    style: Style,
    output: &mut dyn Write,
) -> io::Result<()> {
    let painted = style.paint(role, label);
    for (number, line) in broken(&one_line(text), label.len() + 1, indent, style).iter().enumerate() {
        match number {
            0 => writeln!(output, "{:indent$}{painted} {line}", "")?,
            _ => writeln!(output, "{:1$}{line}", "", indent + HANGING)?,
        }
    }
    Ok(())
}

/// Text behind a label, broken where the terminal ends; what goes on is indented.
fn broken(text: &str, label: usize, indent: usize, style: Style) -> Vec<String> {
    let Some(columns) = style.width() else { return vec![text.to_owned()] };
    let room = columns.saturating_sub(indent);
    let first = wrap_prose(text, room.saturating_sub(label)).into_iter().next().unwrap_or_default();
    let rest = text.get(first.len()..).unwrap_or_default().trim_start();
    let rest = if rest.is_empty() { Vec::new() } else { wrap_prose(rest, room.saturating_sub(HANGING)) };
    [first].into_iter().chain(rest).collect()
}

/// Writes the message of the argument parser, each line broken where the terminal ends.
pub fn write_usage_error(text: &str, style: Style, output: &mut dyn Write) -> io::Result<()> {
    const LABELS: [(&str, Role); 3] = [("error:", Role::Error), ("tip:", Role::Good), ("Usage:", Role::Heading)];
    for line in text.lines() {
        let clause = line.trim_start();
        let indent = line.len() - clause.len();
        let label = LABELS.iter().find_map(|(label, role)| Some((*label, *role, clause.strip_prefix(label)?)));
        match label {
            Some((label, role, text)) => {
                write_clause((role, label, indent), text.trim_start(), style, output)?;
            }
            None => {
                for (number, part) in broken(clause, 0, indent, style).iter().enumerate() {
                    let indent = if number == 0 { indent } else { indent + HANGING };
                    writeln!(output, "{:indent$}{part}", "")?;
                }
            }
        }
    }
    Ok(())
}

/// The look of findings on stderr.
#[derive(Debug, Clone, Copy)]
pub struct FindingsLook {
    /// Colours, or none.
    pub style: Style,
    /// True if somebody watches: place and help have lines of their own; else a finding is one line.
    pub is_terminal: bool,
    /// True if all nodes of a finding are named.
    pub is_verbose: bool,
}

/// One finding after the other: severity, code, message, place, help. One that holds for many nodes is said once.
pub fn write_findings(findings: &[Diagnostic], look: FindingsLook, output: &mut dyn Write) -> io::Result<()> {
    let style = look.style;
    for group in grouped(findings) {
        let finding = group.first();
        let role = Role::of(finding.severity);
        let head = format!("{}[{}]:", finding.severity.name(), finding.code);
        let mut clauses = Vec::new();
        if group.is_of_many() {
            clauses.push((Role::Faint, "in", group.nodes(look.is_verbose)));
        } else if let Some(place) = place(&finding.location) {
            clauses.push((Role::Faint, "at", place));
        }
        clauses.extend(finding.help.clone().map(|help| (Role::Good, "help:", help)));
        if look.is_terminal {
            write_clause((role, &head, 0), &finding.message, style, output)?;
            for (role, label, text) in clauses {
                write_clause((role, label, 2), &text, style, output)?;
            }
        } else {
            write!(output, "{} {}", style.paint(role, &head), one_line(&finding.message))?;
            for (role, label, text) in clauses {
                write!(output, "; {} {}", style.paint(role, label), one_line(&text))?;
            }
            writeln!(output)?;
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

    #[test]
    fn error_is_broken_where_a_terminal_ends_and_whole_elsewhere() {
        let error = OperationError::environment("one two three four five six seven eight nine ten")
            .with_help("run `a command that is pasted whole` and then see what it has done");
        let text = |columns| {
            let mut text = Vec::new();
            write_error(&error, Style::PLAIN.within(columns), &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(text(None).lines().count(), 2);
        assert_eq!(
            text(Some(40)),
            "error: one two three four five six seven\n    eight nine ten\n  help: run\n\
             \x20     `a command that is pasted whole`\n      and then see what it has done\n"
        );
    }

    #[test]
    fn usage_error_is_broken_where_a_terminal_ends() {
        let said = "error: an argument that is not known to this command at all\n\n  tip: say it otherwise\n\n\
                    Usage: zarrcast transcode [OPTIONS] <SOURCE> <DEST>\n";
        let text = |columns| {
            let mut text = Vec::new();
            write_usage_error(said, Style::PLAIN.within(columns), &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(text(None), said);
        assert!(text(Some(40)).lines().all(|line| line.len() <= 40), "{}", text(Some(40)));
        assert_eq!(text(Some(40)).split_whitespace().collect::<Vec<_>>(), said.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn finding_is_one_line_where_nobody_watches_and_said_once_of_many_nodes() {
        use crate::diagnostic::code;
        let of =
            |node: &str| Diagnostic::new(code::CODEC_UNREGISTERED, "x").in_store("s").at_node(node).with_help("mend");
        let text = |findings: &[Diagnostic], is_terminal| {
            let mut text = Vec::new();
            let look = FindingsLook { style: Style::PLAIN, is_terminal, is_verbose: false };
            write_findings(findings, look, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(text(&[of("/a")], false), "warning[ZC104]: x; at /a; help: mend\n");
        assert_eq!(text(&[of("/a")], true), "warning[ZC104]: x\n  at /a\n  help: mend\n");
        assert_eq!(text(&[of("/a"), of("/b")], false), "warning[ZC104]: x; in s: /a, /b; help: mend\n");
    }
}

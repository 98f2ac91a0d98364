//! Errors and findings on stderr and in results. A finding about many nodes is reported once.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::io::{self, Write};

use anstream::adapter::strip_str;

use super::formats::{SHOWS_ALL, first_shown, path_of};
use super::quantity;
use super::table::{wrap, wrapped, write_hanging};
use super::terminal::{Role, Style, one_line};
use crate::array::listing::is_document;
use crate::diagnostic::{Diagnostic, Location};
use crate::operation::error::{help_of, says_more};

/// Writes `error: `, the message, each cause that adds information on a line of its own, and the next step.
pub fn write_error(error: &(dyn Error + 'static), style: Style, output: &mut dyn Write) -> io::Result<()> {
    let headline = error.to_string();
    write_clause((Role::Error, "error:", 0), &headline, style, output)?;
    let mut said = headline;
    let mut next = Some(error);
    while let Some(cause) = next {
        let clause = cause.to_string();
        if says_more(&said, &clause) {
            write_clause((Role::Faint, "because", 2), &clause, style, output)?;
            said = clause;
        }
        next = cause.source();
    }
    help_of(error).map_or(Ok(()), |help| write_clause((Role::Good, "help:", 2), help, style, output))
}

/// The extra indent of continuation lines, in columns.
const HANGING: usize = 4;

/// Writes an indent, a label, and text in as many lines as the terminal needs.
fn write_clause(
    (role, label, indent): (Role, &str, usize),
    text: &str,
    style: Style,
    output: &mut dyn Write,
) -> io::Result<()> {
    let first = format!("{:indent$}{} ", "", style.paint(role, label));
    write_hanging(&first, indent + HANGING, &broken(&one_line(text), label.len() + 1, indent, style), output)
}

/// Returns the lines of text after a label, wrapped at the width of the terminal. Continuation lines are indented.
fn broken(text: &str, label: usize, indent: usize, style: Style) -> Vec<String> {
    let Some(columns) = style.width else { return vec![text.to_owned()] };
    let available = columns.saturating_sub(indent);
    // The first line begins after the label, the others after the hanging indent. So each has its own width.
    let first = wrap(text, available.saturating_sub(label)).into_iter().next().unwrap_or_default();
    let rest = text.get(first.len()..).unwrap_or_default().trim_start();
    let rest = if rest.is_empty() { Vec::new() } else { wrap(rest, available.saturating_sub(HANGING)) };
    [first].into_iter().chain(rest).collect()
}

/// Writes the message of the argument parser without its styles, each line wrapped at the width of the terminal.
pub fn write_usage_error(text: &str, style: Style, output: &mut dyn Write) -> io::Result<()> {
    /// The labels of the parser, those of this program, and their roles.
    const LABELS: [(&str, &str, Role); 3] =
        [("error:", "error:", Role::Error), ("tip:", "help:", Role::Good), ("Usage:", "Usage:", Role::Heading)];
    for line in strip_str(text).to_string().lines() {
        let clause = line.trim_start();
        let indent = line.len() - clause.len();
        let labelled = LABELS.iter().find_map(|(said, label, role)| Some((*role, *label, clause.strip_prefix(said)?)));
        if let Some((role, label, text)) = labelled {
            write_clause((role, label, indent), text.trim_start(), style, output)?;
        } else {
            write_hanging(&" ".repeat(indent), indent + HANGING, &broken(clause, 0, indent, style), output)?;
        }
    }
    Ok(())
}

/// Writes findings: severity, code, message, location, help. A finding about many nodes is reported once. On a
/// terminal, location and help have separate lines. Otherwise a finding is one line.
pub fn write_findings(found: &[Diagnostic], style: Style, output: &mut dyn Write) -> io::Result<()> {
    for group in grouped(found) {
        let finding = group.first();
        let role = Role::from_severity(finding.severity);
        let head = format!("{}[{}]:", finding.severity.name(), finding.code);
        let location = location_of(&finding.location).filter(|_| !group.is_of_many());
        let location = location.map(|location| (Role::Faint, "at", location));
        let clauses = location.into_iter().chain(group.clauses(style));
        if style.width.is_some() {
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

fn location_of(location: &Location) -> Option<String> {
    let chunk = location.chunk.as_ref().map(|chunk| format!("chunk {chunk:?}"));
    let pointer = location.pointer.as_deref().filter(|pointer| !pointer.is_empty());
    let parts = [location.node.as_deref(), location.key.as_deref(), pointer, chunk.as_deref()];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Writes findings, and whether there are more.
pub(super) fn write_found(found: &[Diagnostic], is_cut: bool, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { style, output, before: None };
    for group in grouped(found) {
        match style.width {
            Some(_) => page.paragraphs(&group)?,
            None => page.line(&group)?,
        }
    }
    if is_cut {
        let line = format!("... {}; {SHOWS_ALL}", first_shown(found.len()));
        writeln!(page.output, "{}", style.paint(Role::Faint, &line))?;
    }
    if !found.is_empty() && style.width.is_some() { writeln!(page.output) } else { Ok(()) }
}

/// The output, and the location of the last finding.
struct Page<'a> {
    style: Style,
    output: &'a mut dyn Write,
    before: Option<&'a Location>,
}

impl<'a> Page<'a> {
    /// Writes a finding, or one of many nodes, on one line.
    fn line(&mut self, group: &Group) -> io::Result<()> {
        let finding = group.first();
        let (location, severity) = (group.location("(no store)"), self.severity(finding));
        let mut rest = format!("{}: {}", pointer(&finding.location), finding.message);
        rest.extend(group.clauses(self.style).map(|(_, label, text)| format!("; {label} {text}")));
        let (location, rest) = (one_line(&location), one_line(&rest));
        writeln!(self.output, "{location}: {severity} {} {}{rest}", finding.code, finding.name)
    }

    fn paragraphs(&mut self, group: &Group<'a>) -> io::Result<()> {
        let finding = group.first();
        if group.is_of_many() {
            if self.before.take().is_some() {
                writeln!(self.output)?;
            }
            writeln!(self.output, "{}", self.style.paint(Role::Heading, &group.location("")))?;
        } else {
            self.headings(&finding.location)?;
        }
        let severity = self.severity(finding);
        let pointer = pointer(&finding.location);
        writeln!(self.output, "    {severity} {} {}{}", finding.code, finding.name, one_line(&pointer))?;
        self.paragraph("", &finding.message)?;
        group.clauses(self.style).try_for_each(|(_, label, text)| self.paragraph(&format!("{label} "), &text))?;
        if group.is_of_many() {
            self.before = Some(&finding.location);
        }
        Ok(())
    }

    fn severity(&self, finding: &Diagnostic) -> String {
        self.style.paint(Role::from_severity(finding.severity), finding.severity.name())
    }

    /// Writes the store, the node and the key, if they differ from the last ones.
    fn headings(&mut self, location: &'a Location) -> io::Result<()> {
        let before = self.before.replace(location);
        let is_new = |same: fn(&Location, &Location) -> bool| before.is_none_or(|b| !same(b, location));
        let store = is_new(|a, b| a.store == b.store);
        let node = store || is_new(|a, b| a.node == b.node);
        let key = node || is_new(|a, b| a.key == b.key && a.chunk == b.chunk);
        if node {
            if before.is_some() {
                writeln!(self.output)?;
            }
            let store = location.store.as_deref().unwrap_or("(no store)");
            let node = location.node.as_deref().filter(|node| *node != "/");
            let node = node.map_or_else(String::new, |node| format!(" {}", one_line(node)));
            writeln!(self.output, "{}{node}", self.style.paint(Role::Heading, store))?;
        }
        if key {
            let chunk = location.chunk.as_ref().map(|chunk| format!("chunk {chunk:?}"));
            let parts: Vec<String> = location.key.clone().into_iter().chain(chunk).collect();
            if !parts.is_empty() {
                writeln!(self.output, "  {}", self.style.paint(Role::Label, &parts.join(", ")))?;
            }
        }
        Ok(())
    }

    /// Writes text after an indent, in as many lines as the terminal needs.
    fn paragraph(&mut self, label: &str, text: &str) -> io::Result<()> {
        const INDENT: usize = 6;
        let indent = INDENT + label.len();
        let first = format!("{:INDENT$}{}", "", self.style.paint(Role::Good, label));
        write_hanging(&first, indent, &wrapped(&one_line(text), self.style, indent), self.output)
    }
}

/// Returns ` at /codecs/0`, or nothing for a whole document.
pub(super) fn pointer(location: &Location) -> String {
    let pointer = location.pointer.as_deref().filter(|pointer| !pointer.is_empty());
    pointer.map_or_else(String::new, |pointer| format!(" at {pointer}"))
}

/// The number of nodes of a group that are named by default.
const SHOWN: usize = 3;

/// One finding, or the same finding about several nodes.
pub(super) struct Group<'a> {
    /// The findings in their order. Never empty.
    findings: Vec<&'a Diagnostic>,
}

/// Returns the text with each run of digits as one `0`. Two arrays that lack chunks rarely lack equally many.
fn without_numbers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        // A comma between digits separates thousands.
        let is_comma = letter == ',' && letters.peek().is_some_and(char::is_ascii_digit);
        let is_of_number = letter.is_ascii_digit() || (is_comma && kept.ends_with('0'));
        if !is_of_number {
            kept.push(letter);
        } else if !kept.ends_with('0') {
            kept.push('0');
        }
    }
    kept
}

/// Returns the groups, errors first, then in the order of the first findings. Findings about chunks are not grouped,
/// nor are those of a kind that only one node has.
pub(super) fn grouped(findings: &[Diagnostic]) -> Vec<Group<'_>> {
    let (mut alone, mut kinds): (Vec<usize>, HashMap<_, Vec<usize>>) = Default::default();
    for (index, finding) in findings.iter().enumerate() {
        // Findings of one kind are equal in all of these, except in numbers.
        let texts = [Some(&finding.message), finding.help.as_ref(), finding.location.pointer.as_ref()];
        let kind = || (finding.code, finding.severity, texts.map(|text| text.map(|text| without_numbers(text))));
        let of_chunk = finding.location.chunk.is_some();
        let indices = if of_chunk { &mut alone } else { kinds.entry(kind()).or_default() };
        indices.push(index);
    }
    let node = |index: usize| (&findings[index].location.store, &findings[index].location.node);
    let has_many_nodes = |indices: &Vec<usize>| indices.iter().any(|index| node(*index) != node(indices[0]));
    let (of_many, of_one): (Vec<_>, Vec<_>) = kinds.into_values().partition(has_many_nodes);
    alone.extend(of_one.into_iter().flatten());
    let mut groups: Vec<_> = alone.into_iter().map(|index| vec![index]).chain(of_many).collect();
    // The map has no order. The index of the first finding gives the same order each time.
    groups.sort_unstable_by_key(|indices| (Reverse(findings[indices[0]].severity), indices[0]));
    let group = |indices: Vec<usize>| Group { findings: indices.into_iter().map(|index| &findings[index]).collect() };
    groups.into_iter().map(group).collect()
}

impl<'a> Group<'a> {
    /// Returns the first finding, which represents all.
    pub(super) fn first(&self) -> &'a Diagnostic {
        self.findings[0]
    }

    pub(super) fn is_of_many(&self) -> bool {
        self.findings.len() > 1
    }

    /// Returns the clauses after the message, each with its label: the nodes if there are many, and the help.
    fn clauses(&self, style: Style) -> impl Iterator<Item = (Role, &'static str, String)> {
        let nodes = self.is_of_many().then(|| (Role::Faint, "in", self.nodes(style.is_verbose)));
        let help = self.first().help.clone().map(|help| (Role::Good, "help:", help));
        nodes.into_iter().chain(help)
    }

    /// Returns the file or folder, and the chunk. For several nodes, returns their number.
    pub(super) fn location(&self, no_store: &str) -> String {
        if self.is_of_many() {
            return format!("{} nodes", quantity::count(self.num_nodes() as u64));
        }
        let location = &self.first().location;
        let chunk = location.chunk.as_ref().map_or_else(String::new, |chunk| format!(", chunk {chunk:?}"));
        path_of(location).unwrap_or_else(|| no_store.to_owned()) + &chunk
    }

    pub(super) fn num_nodes(&self) -> usize {
        self.findings.iter().map(|found| (&found.location.store, &found.location.node)).collect::<HashSet<_>>().len()
    }

    /// Returns the first finding of each node, and of each key that is no document.
    fn first_of_each(&self) -> Vec<&Diagnostic> {
        let (mut seen, mut first) = (HashSet::new(), self.findings.clone());
        first.retain(|&found| seen.insert((&found.location.store, &found.location.node, stray(&found.location))));
        first
    }

    /// Returns the nodes, each once: all of them, or the first three and the number of others. If the messages differ
    /// in their numbers, each node has its own. A common store is named once.
    pub(super) fn nodes(&self, all: bool) -> String {
        let first = self.first();
        let is_same = self.findings.iter().all(|found| found.message == first.message);
        let is_shared = self.findings.iter().all(|found| found.location.store == first.location.store);
        let store = first.location.store.as_deref().filter(|_| is_shared);
        let each = self.first_of_each();
        let shown = if all { each.len() } else { SHOWN };
        let node = |found: &&Diagnostic| {
            let node = match named(&found.location, store.is_none()) {
                name if name.is_empty() => "/".to_owned(),
                name => name,
            };
            if is_same { node } else { format!("{node} ({})", found.message) }
        };
        let mut nodes: Vec<String> = each.iter().take(shown).map(node).collect();
        if each.len() > shown {
            nodes.push(format!("{} more (-v names all)", each.len() - shown));
        }
        let nodes = nodes.join(", ");
        store.map_or_else(|| nodes.clone(), |store| format!("{store}: {nodes}"))
    }
}

/// Returns the path of a node, with its store if asked for, and with the key if that is no document.
fn named(location: &Location, with_store: bool) -> String {
    let store = location.store.as_deref().filter(|_| with_store).unwrap_or_default().trim_end_matches('/');
    let node = location.node.as_deref().unwrap_or_default().trim_end_matches('/');
    format!("{store}{node}{}", stray(location))
}

/// Returns the key below its node, after a slash. Empty for a document, which the node implies.
fn stray(location: &Location) -> String {
    let node = location.node.as_deref().unwrap_or_default().trim_matches('/');
    let key = location.key.as_deref().unwrap_or_default();
    let below = if node.is_empty() { Some(key) } else { key.strip_prefix(node).and_then(|key| key.strip_prefix('/')) };
    let stray = below.filter(|key| !key.is_empty() && !is_document(key));
    stray.map_or_else(String::new, |key| format!("/{key}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::code;

    #[test]
    fn usage_error_is_broken_where_a_terminal_ends() {
        let said = "error: an argument that is not known to this command at all\n\n  tip: say it otherwise\n\n\
                    Usage: zarrcast transcode [OPTIONS] <SOURCE> <DEST>\n";
        let text = |columns| {
            let mut text = Vec::new();
            write_usage_error(said, Style::PLAIN.within(columns), &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let said = said.replace("tip:", "help:");
        assert_eq!(text(None), said);
        assert!(text(Some(40)).lines().all(|line| line.len() <= 40), "{}", text(Some(40)));
        assert_eq!(text(Some(40)).split_whitespace().collect::<Vec<_>>(), said.split_whitespace().collect::<Vec<_>>());
    }

    fn absent(store: &str, node: &str, count: u64) -> Diagnostic {
        let message = format!("{count} of 10 chunks are absent");
        Diagnostic::new(code::CHUNKS_ABSENT, message).in_store(store).at_node(node)
    }

    #[test]
    fn findings_that_differ_in_numbers_alone_are_one_group_that_names_each() {
        let findings = [absent("s", "/", 1), absent("t", "/", 12)];
        let groups = grouped(&findings);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].nodes(false), "s (1 of 10 chunks are absent), t (12 of 10 chunks are absent)");
        assert_eq!(without_numbers("12 of 1,234,567 in [3, 4]"), "0 of 0 in [0, 0]");
    }

    #[test]
    fn findings_of_one_node_or_of_chunks_stand_alone() {
        let chunk = |node| Diagnostic::new(code::CHUNK_CORRUPT, "x").at_node(node).at_chunk([0]);
        let findings = [absent("s", "/a", 1), absent("s", "/a", 1), chunk("/a"), chunk("/b")];
        assert_eq!(grouped(&findings).len(), 4);
    }
}

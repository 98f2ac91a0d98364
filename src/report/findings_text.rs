//! Findings as text. On a terminal findings stand under their store, node and document, chunk or key;
//! elsewhere each is one line.

use std::io::{self, Write};

use super::defused::one_line;
use super::grouped::{Group, grouped};
use super::quantity;
use super::table::wrap_prose;
use super::terminal::{Role, Style};
use super::uri::path_of;
use crate::diagnostic::{Diagnostic, Location};

/// Writes findings, and whether there are more.
pub(super) fn write(
    findings: &[Diagnostic],
    is_truncated: bool,
    style: Style,
    output: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page { style, output, before: None };
    for group in grouped(findings) {
        match style.width() {
            Some(_) => page.paragraphs(&group)?,
            None => page.line(&group)?,
        }
    }
    if is_truncated {
        let shown = quantity::count(findings.len() as u64);
        let line = format!("... only the first {shown} findings are shown; --max-findings 0 shows all");
        writeln!(page.output, "{}", style.paint(Role::Faint, &line))?;
    }
    if !findings.is_empty() && style.width().is_some() { writeln!(page.output) } else { Ok(()) }
}

/// The output, and the headings of the last finding.
struct Page<'a> {
    style: Style,
    output: &'a mut dyn Write,
    before: Option<&'a Location>,
}

impl<'a> Page<'a> {
    /// A finding, or one of many nodes, on one line.
    fn line(&mut self, group: &Group) -> io::Result<()> {
        let finding = group.first();
        let location = &finding.location;
        let mut place = path_of(location).unwrap_or_else(|| "(no store)".to_owned());
        if group.is_of_many() {
            place = format!("{} nodes", quantity::count(group.num_nodes() as u64));
        } else if let Some(chunk) = &location.chunk {
            place = format!("{place}, chunk {chunk:?}");
        }
        let severity = self.severity(finding);
        let mut line = format!("{}: {severity} {} {}", one_line(&place), finding.code, finding.name);
        line.push_str(&one_line(&format!("{}: {}", pointer(location), finding.message)));
        if group.is_of_many() {
            line.push_str(&one_line(&format!("; in {}", group.nodes(self.style.is_verbose()))));
        }
        if let Some(help) = &finding.help {
            line.push_str(&one_line(&format!("; help: {help}")));
        }
        writeln!(self.output, "{line}")
    }

    fn paragraphs(&mut self, group: &Group<'a>) -> io::Result<()> {
        let finding = group.first();
        if group.is_of_many() {
            if self.before.take().is_some() {
                writeln!(self.output)?;
            }
            let heading = format!("{} nodes", quantity::count(group.num_nodes() as u64));
            writeln!(self.output, "{}", self.style.paint(Role::Heading, &heading))?;
        } else {
            self.headings(&finding.location)?;
        }
        let severity = self.severity(finding);
        let pointer = pointer(&finding.location);
        let place = one_line(&pointer);
        writeln!(self.output, "    {severity} {} {}{place}", finding.code, finding.name)?;
        self.paragraph("", &finding.message)?;
        if let Some(help) = &finding.help {
            self.paragraph("help: ", help)?;
        }
        if group.is_of_many() {
            self.paragraph("in ", &group.nodes(self.style.is_verbose()))?;
            self.before = Some(&finding.location);
        }
        Ok(())
    }

    fn severity(&self, finding: &Diagnostic) -> String {
        self.style.paint(Role::of(finding.severity), finding.severity.name())
    }

    /// The store, the node and the key, where they are others than before.
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
            let store = one_line(location.store.as_deref().unwrap_or("(no store)"));
            let node = location.node.as_deref().filter(|node| *node != "/");
            let node = node.map_or_else(String::new, |node| format!(" {}", one_line(node)));
            writeln!(self.output, "{}{node}", self.style.paint(Role::Heading, &store))?;
        }
        if key {
            let chunk = location.chunk.as_ref().map(|chunk| format!("chunk {chunk:?}"));
            let parts: Vec<String> =
                location.key.as_deref().map(|key| one_line(key).into_owned()).into_iter().chain(chunk).collect();
            if !parts.is_empty() {
                writeln!(self.output, "  {}", self.style.paint(Role::Label, &parts.join(", ")))?;
            }
        }
        Ok(())
    }

    /// Text under an indent, in as many lines as the terminal needs.
    fn paragraph(&mut self, label: &str, text: &str) -> io::Result<()> {
        const INDENT: usize = 6;
        let text = one_line(text);
        let width = self.style.width().map_or(usize::MAX, |width| width - INDENT - label.len());
        for (number, line) in wrap_prose(&text, width).iter().enumerate() {
            let label = if number == 0 { label } else { &" ".repeat(label.len()) };
            let label = if label.trim().is_empty() { label.to_owned() } else { self.style.paint(Role::Good, label) };
            writeln!(self.output, "{:INDENT$}{label}{line}", "")?;
        }
        Ok(())
    }
}

/// ` at /codecs/0`, or nothing for a whole document.
fn pointer(location: &Location) -> String {
    let pointer = location.pointer.as_deref().filter(|pointer| !pointer.is_empty());
    pointer.map_or_else(String::new, |pointer| format!(" at {pointer}"))
}

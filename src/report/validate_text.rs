//! `validate` as text: findings by store, node and document, chunk or key, then the comparison, then the counts.

use std::io::{self, Write};

use super::quantity;
use super::table::{WIDTH, wrap};
use super::terminal::{Role, Style};
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::operation::validate_result::{AgainstResult, ValidateResult};

/// Writes it.
pub fn write(result: &ValidateResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { style, output, before: None };
    for finding in &result.findings {
        page.finding(finding)?;
    }
    if result.truncated {
        let shown = quantity::count(result.findings.len() as u64);
        let line = format!("... only the first {shown} findings are shown; --max-findings 0 shows all");
        writeln!(page.output, "{}", style.paint(Role::Faint, &line))?;
    }
    if !result.findings.is_empty() {
        writeln!(page.output)?;
    }
    if let Some(against) = &result.against {
        page.against(against)?;
    }
    if result.checked.is_empty() && result.findings.is_empty() {
        return Ok(()); // No STORE could be looked at: stderr says why.
    }
    let role = match result {
        ValidateResult { valid: false, .. } => Role::Error,
        ValidateResult { warnings: 1.., .. } => Role::Warning,
        _ => Role::Good,
    };
    writeln!(page.output, "{}", style.paint(role, &summary(result)))
}

/// Where text goes, and under which headings.
struct Page<'a> {
    style: Style,
    output: &'a mut dyn Write,
    before: Option<&'a Location>,
}

impl<'a> Page<'a> {
    fn finding(&mut self, finding: &'a Diagnostic) -> io::Result<()> {
        self.headings(&finding.location)?;
        let role = match finding.severity {
            Severity::Error => Role::Error,
            Severity::Warning => Role::Warning,
            Severity::Info => Role::Good,
        };
        let severity = self.style.paint(role, finding.severity.name());
        let pointer = finding.location.pointer.as_deref().filter(|pointer| !pointer.is_empty());
        let place = pointer.map_or_else(String::new, |pointer| format!(" at {}", plain(pointer)));
        writeln!(self.output, "    {severity} {} {}{place}", finding.code, finding.name)?;
        self.paragraph("", &finding.message)?;
        if let Some(help) = &finding.help {
            self.paragraph("help: ", help)?;
        }
        Ok(())
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
            let store = plain(location.store.as_deref().unwrap_or("(no store)"));
            let node = location.node.as_deref().filter(|node| *node != "/");
            let node = node.map_or_else(String::new, |node| format!(" {}", plain(node)));
            writeln!(self.output, "{}{node}", self.style.paint(Role::Heading, &store))?;
        }
        if key {
            let chunk = location.chunk.as_ref().map(|chunk| format!("chunk {chunk:?}"));
            let parts: Vec<String> = location.key.as_deref().map(plain).into_iter().chain(chunk).collect();
            if !parts.is_empty() {
                writeln!(self.output, "  {}", self.style.paint(Role::Label, &parts.join(", ")))?;
            }
        }
        Ok(())
    }

    fn paragraph(&mut self, label: &str, text: &str) -> io::Result<()> {
        const INDENT: usize = 6;
        let text = plain(text);
        for (number, line) in wrap(&text, WIDTH - INDENT - label.len()).iter().enumerate() {
            let label = if number == 0 { label } else { &" ".repeat(label.len()) };
            let label =
                if label.trim().is_empty() { label.to_owned() } else { self.style.paint(Role::Good, label) };
            writeln!(self.output, "{:INDENT$}{label}{line}", "")?;
        }
        Ok(())
    }

    fn against(&mut self, against: &AgainstResult) -> io::Result<()> {
        let word = if against.equal { "equal to" } else { "differs from" };
        let role = if against.equal { Role::Good } else { Role::Error };
        let heading = format!("{word} {}", plain(&against.other));
        writeln!(self.output, "{}", self.style.paint(role, &heading))?;
        for node in &against.nodes {
            writeln!(self.output, "  {}", self.style.paint(Role::Label, &plain(&node.path)))?;
            for clause in node.comparison() {
                self.paragraph("", &clause)?;
            }
        }
        writeln!(self.output)
    }
}

/// `2 errors, 1 warning in 3 nodes (level keys)`.
fn summary(result: &ValidateResult) -> String {
    let count = |count: u64, word: &str| {
        let plural = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{} {word}{plural}", quantity::count(count)))
    };
    let nodes: usize = result.checked.iter().map(|store| store.nodes.len()).sum();
    let valid = result.valid.then(|| "valid".to_owned());
    let counts = [
        valid,
        count(result.errors, "error"),
        count(result.warnings, "warning"),
        count(result.infos, "info"),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let nodes = count(nodes as u64, "node").map_or_else(String::new, |nodes| format!(" in {nodes}"));
    let mut levels: Vec<&str> = result.checked.iter().map(|store| store.level).collect();
    levels.sort_unstable();
    levels.dedup();
    let objects = count(result.checked.iter().map(|store| store.objects).sum(), "object");
    let looked = objects.map_or_else(String::new, |objects| format!(", {objects}"));
    let level =
        if levels.is_empty() { String::new() } else { format!(" (level {}{looked})", levels.join(", ")) };
    format!("{}{nodes}{level}", counts.join(", "))
}

/// Text from a store as one line that no terminal obeys.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

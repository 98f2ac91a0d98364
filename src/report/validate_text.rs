//! `validate` as text: the findings, what is absent or could not be read, the comparison, and the verdict.
//!
//! On a terminal findings stand under their store, node and document, chunk or key; elsewhere each is one line.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::defused::one_line;
use super::grouped::{Group, grouped};
use super::quantity;
use super::table::wrap_prose;
use super::terminal::{Role, Style};
use super::uri::path_of;
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::grid::unravel;
use crate::operation::validate_result::{AgainstResult, ValidateResult};

/// How the text looks.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Colours, or none.
    pub style: Style,
    /// The columns of the terminal; `None` where there is none, and each finding is one line.
    pub width: Option<usize>,
    /// Whether all nodes of a finding and all absent chunks are named.
    pub is_verbose: bool,
}

/// Writes it.
pub fn write(result: &ValidateResult, look: Look, output: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { look, output, before: None };
    let mut groups = grouped(&result.findings);
    // What is wrong comes first, each kind in the order of the findings.
    groups.sort_by_key(|group| Reverse(group.first().severity));
    for group in groups {
        match look.width {
            Some(_) => page.paragraphs(&group)?,
            None => page.line(&group)?,
        }
    }
    if result.truncated {
        let shown = quantity::count(result.findings.len() as u64);
        let line = format!("... only the first {shown} findings are shown; --max-findings 0 shows all");
        writeln!(page.output, "{}", look.style.paint(Role::Faint, &line))?;
    }
    if !result.findings.is_empty() && look.width.is_some() {
        writeln!(page.output)?;
    }
    page.not_read(result)?;
    if let Some(against) = &result.against {
        page.against(against)?;
    }
    let role = match result {
        ValidateResult { valid: false, .. }
        | ValidateResult { against: Some(AgainstResult { equal: false, .. }), .. } => Role::Error,
        ValidateResult { warnings: 1.., .. } => Role::Warning,
        _ => Role::Good,
    };
    let verdict = summary(result);
    for line in look.width.map_or_else(|| vec![verdict.clone()], |columns| wrap_prose(&verdict, columns)) {
        writeln!(page.output, "{}", look.style.paint(role, &line))?;
    }
    Ok(())
}

/// Where text goes, and under which headings.
struct Page<'a> {
    look: Look,
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
            line.push_str(&one_line(&format!("; in {}", group.nodes(self.look.is_verbose).join(", "))));
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
            writeln!(self.output, "{}", self.look.style.paint(Role::Heading, &heading))?;
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
            self.paragraph("in ", &group.nodes(self.look.is_verbose).join(", "))?;
            self.before = Some(&finding.location);
        }
        Ok(())
    }

    fn severity(&self, finding: &Diagnostic) -> String {
        let role = match finding.severity {
            Severity::Error => Role::Error,
            Severity::Warning => Role::Warning,
            Severity::Info => Role::Good,
        };
        self.look.style.paint(role, finding.severity.name())
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
            writeln!(self.output, "{}{node}", self.look.style.paint(Role::Heading, &store))?;
        }
        if key {
            let chunk = location.chunk.as_ref().map(|chunk| format!("chunk {chunk:?}"));
            let parts: Vec<String> = location
                .key
                .as_deref()
                .map(|key| one_line(key).into_owned())
                .into_iter()
                .chain(chunk)
                .collect();
            if !parts.is_empty() {
                writeln!(self.output, "  {}", self.look.style.paint(Role::Label, &parts.join(", ")))?;
            }
        }
        Ok(())
    }

    /// Text under an indent, in as many lines as the terminal needs.
    fn paragraph(&mut self, label: &str, text: &str) -> io::Result<()> {
        const INDENT: usize = 6;
        let text = one_line(text);
        let width = self.look.width.map_or(usize::MAX, |width| width.max(40) - INDENT - label.len());
        for (number, line) in wrap_prose(&text, width).iter().enumerate() {
            let label = if number == 0 { label } else { &" ".repeat(label.len()) };
            let label = if label.trim().is_empty() {
                label.to_owned()
            } else {
                self.look.style.paint(Role::Good, label)
            };
            writeln!(self.output, "{:INDENT$}{label}{line}", "")?;
        }
        Ok(())
    }

    /// What is absent, on request; what could not be read, and what no rule could look at.
    fn not_read(&mut self, result: &ValidateResult) -> io::Result<()> {
        for absent in result.absent.iter().filter(|_| self.look.is_verbose) {
            // As `inspect --chunk` takes them.
            let dash = if absent.grid_shape.len() == 1 { "-" } else { " to " };
            let chunk = |index| quantity::shape(&unravel(index, &absent.grid_shape)).replace(", ", ",");
            let range = |[first, last]: &[u64; 2]| {
                if first == last { chunk(*first) } else { format!("{}{dash}{}", chunk(*first), chunk(*last)) }
            };
            let ranges: Vec<String> = absent.ranges.iter().map(range).collect();
            let node = node_of(Some(&absent.store), Some(&absent.node), None);
            let (ranges, order) = match absent.grid_shape.as_slice() {
                [_] => (ranges.join(", "), ""),
                _ => (ranges.join("; "), " (in C order)"),
            };
            writeln!(self.output, "absent: {node}chunks {ranges}{order}")?;
        }
        for failure in &result.failures {
            let place = node_of(failure.store.as_deref(), failure.node.as_deref(), failure.key.as_deref());
            let word = self.look.style.paint(Role::Error, "not read:");
            writeln!(self.output, "{word} {place}{}", one_line(&failure.message))?;
        }
        for unchecked in &result.unchecked {
            let count = quantity::count(unchecked.count);
            writeln!(self.output, "not looked at: {count} {}", one_line(&unchecked.reason))?;
        }
        Ok(())
    }

    fn against(&mut self, against: &AgainstResult) -> io::Result<()> {
        let word = if against.equal { "equal to" } else { "differs from" };
        let role = if against.equal { Role::Good } else { Role::Error };
        let heading = format!("{word} {}", one_line(&against.other));
        writeln!(self.output, "{}", self.look.style.paint(role, &heading))?;
        for node in &against.nodes {
            if self.look.width.is_none() {
                let clauses = node.comparison().join("; ");
                writeln!(self.output, "  {}: {}", one_line(&node.path), one_line(&clauses))?;
                continue;
            }
            writeln!(self.output, "  {}", self.look.style.paint(Role::Label, &one_line(&node.path)))?;
            for clause in node.comparison() {
                self.paragraph("", &clause)?;
            }
        }
        if self.look.width.is_some() { writeln!(self.output) } else { Ok(()) }
    }
}

/// ` at /codecs/0`, or nothing for a whole document.
fn pointer(location: &Location) -> String {
    let pointer = location.pointer.as_deref().filter(|pointer| !pointer.is_empty());
    pointer.map_or_else(String::new, |pointer| format!(" at {pointer}"))
}

/// A store, a node in it or a key, with a colon; nothing where none is known.
pub(super) fn node_of(store: Option<&str>, node: Option<&str>, key: Option<&str>) -> String {
    let location =
        Location { store: store.map(str::to_owned), node: node.map(str::to_owned), ..Location::default() };
    let location = Location { key: key.map(str::to_owned), ..location };
    path_of(&location).map_or_else(String::new, |path| format!("{}: ", one_line(&path)))
}

/// `not valid: 2 errors, 1 warning in 3 nodes (level keys)`.
pub(super) fn summary(result: &ValidateResult) -> String {
    let count = |count: u64, word: &str| {
        let plural = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{} {word}{plural}", quantity::count(count)))
    };
    let nodes: usize = result.checked.iter().map(|store| store.nodes.len()).sum();
    let counts =
        [count(result.errors, "error"), count(result.warnings, "warning"), count(result.infos, "info")];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let nodes = count(nodes as u64, "node").map_or_else(String::new, |nodes| format!(" in {nodes}"));
    let mut levels: Vec<&str> = result.checked.iter().map(|store| store.level).collect();
    levels.sort_unstable();
    levels.dedup();
    let objects = count(result.checked.iter().map(|store| store.objects).sum(), "object");
    let looked = objects.map_or_else(String::new, |objects| format!(", {objects}"));
    let level =
        if levels.is_empty() { String::new() } else { format!(" (level {}{looked})", levels.join(", ")) };
    let colon = if counts.is_empty() { "" } else { ": " };
    format!("{}{colon}{}{nodes}{level}", result.verdict, counts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::code;
    use crate::operation::validate_result::{AbsentChunks, AgainstNode, CheckedStore, Failure, Unchecked};

    fn result(findings: Vec<Diagnostic>) -> ValidateResult {
        let count = |severity| findings.iter().filter(|found| found.severity == severity).count() as u64;
        let nodes = vec!["/".to_owned(), "/a".to_owned()];
        ValidateResult {
            valid: count(Severity::Error) == 0,
            verdict: "the verdict".to_owned(),
            partition: None,
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            infos: count(Severity::Info),
            unchecked: Vec::new(),
            absent: Vec::new(),
            failures: Vec::new(),
            truncated: false,
            findings,
            against: None,
            checked: vec![CheckedStore { store: "s.zarr".to_owned(), level: "keys", nodes, objects: 12 }],
        }
    }

    fn text_as(result: &ValidateResult, width: Option<usize>, is_verbose: bool) -> String {
        let mut text = Vec::new();
        write(result, Look { style: Style::PLAIN, width, is_verbose }, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn text(result: &ValidateResult) -> String {
        text_as(result, Some(80), false)
    }

    fn at(finding: Diagnostic, node: &str, key: &str) -> Diagnostic {
        finding.in_store("s.zarr").at_node(node).at_key(key)
    }

    #[test]
    fn findings_are_grouped_by_node_and_key_and_counted() {
        let long =
            "a message that is so long that it does not fit on one line of eighty columns, not even nearly";
        let found = result(vec![
            at(Diagnostic::new(code::MEMBER_MISSING, long), "/", "zarr.json").with_help("add it"),
            at(Diagnostic::new(code::DIMENSION_NAMES_NULL, "null"), "/", "zarr.json")
                .at_pointer("/dimension_names"),
            at(Diagnostic::new(code::CHUNK_CORRUPT, "a bad\u{1b}[31m chunk"), "/a", "a/c/0/1")
                .at_chunk([0, 1]),
        ]);
        let expected = "\
s.zarr
  zarr.json
    error ZM101 member-missing
      a message that is so long that it does not fit on one line of eighty
      columns, not even nearly
      help: add it

s.zarr /a
  a/c/0/1, chunk [0, 1]
    error ZX101 chunk-corrupt
      a bad\\u001b[31m chunk

s.zarr
  zarr.json
    warning ZM109 dimension-names-null at /dimension_names
      null

the verdict: 2 errors, 1 warning in 2 nodes (level keys, 12 objects)
";
        assert_eq!(text(&found), expected);
    }

    #[test]
    fn errors_come_first_and_infos_last_each_in_their_order() {
        let of = |code, node: &str| at(Diagnostic::new(code, "x"), node, "k");
        let found = result(vec![
            of(code::NO_CHECKSUM, "/a"),
            of(code::KEY_UNKNOWN, "/a"),
            of(code::CHUNK_CORRUPT, "/b"),
            of(code::CHUNKS_ABSENT, "/b"),
            of(code::CHUNK_LENGTH, "/c"),
        ]);
        let text = text_as(&found, None, false);
        let codes: Vec<&str> = text.lines().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(codes[..5], ["ZX101", "ZX102", "ZK201", "ZX105", "ZK221"], "{text}");
    }

    #[test]
    fn finding_is_one_line_where_there_is_no_terminal() {
        let long = "long ".repeat(40);
        let found = result(vec![
            at(Diagnostic::new(code::MEMBER_MISSING, long.trim()), "/", "zarr.json").at_pointer("/a"),
            at(Diagnostic::new(code::CHUNK_CORRUPT, "a\nb"), "/a", "a/c/0")
                .at_chunk([0])
                .with_help("mend it"),
        ]);
        let text = text_as(&found, None, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0], format!("s.zarr/zarr.json: error ZM101 member-missing at /a: {}", long.trim()));
        assert_eq!(lines[1], "s.zarr/a/c/0, chunk [0]: error ZX101 chunk-corrupt: a\\nb; help: mend it");
    }

    #[test]
    fn finding_of_many_nodes_is_said_once() {
        let of = |node: &str| at(Diagnostic::new(code::CODEC_UNREGISTERED, "x"), node, "k").at_pointer("/p");
        let found = result(["/a", "/b", "/c", "/d"].map(of).into());
        assert_eq!(
            text_as(&found, None, false).lines().next().unwrap(),
            "4 nodes: warning ZC104 codec-unregistered at /p: x; in s.zarr/a, s.zarr/b, s.zarr/c, 1 more \
             (-v names all)"
        );
        let expected = "4 nodes\n    warning ZC104 codec-unregistered at /p\n      x\n      in s.zarr/a, s.zarr/b, \
                        s.zarr/c, s.zarr/d\n\nthe";
        assert!(text_as(&found, Some(80), true).starts_with(expected), "{}", text_as(&found, Some(80), true));
    }

    #[test]
    fn absent_chunks_are_listed_on_request_and_failures_always() {
        let mut found = result(Vec::new());
        found.absent = vec![AbsentChunks {
            store: "s".into(),
            node: "/a".into(),
            grid_shape: vec![4, 3],
            ranges: vec![[0, 0], [3, 9]],
        }];
        let (store, key) = (Some("s".to_owned()), Some("a/c/0".to_owned()));
        found.failures =
            vec![Failure { store, node: Some("/a".to_owned()), key, message: "no permission".into() }];
        found.unchecked = vec![Unchecked { reason: "chunks".into(), count: 1200 }];
        let text = text_as(&found, None, true);
        assert!(
            text.starts_with(
                "absent: s/a: chunks 0,0; 1,0 to 3,0 (in C order)\nnot read: s/a/c/0: no permission\n"
            ),
            "{text}"
        );
        assert!(text.contains("not looked at: 1,200 chunks\n"), "{text}");
        assert!(text_as(&found, None, false).starts_with("not read: "));
    }

    #[test]
    fn store_without_findings_is_a_verdict_in_one_line() {
        assert_eq!(text(&result(Vec::new())), "the verdict in 2 nodes (level keys, 12 objects)\n");
        let narrow = text_as(&result(Vec::new()), Some(40), false);
        assert_eq!(narrow, "the verdict in 2 nodes (level keys, 12\nobjects)\n", "but as wide as a terminal");
        let nothing = ValidateResult { checked: Vec::new(), ..result(Vec::new()) };
        assert_eq!(text(&nothing), "the verdict\n");
    }

    #[test]
    fn comparison_stands_before_the_counts() {
        let mut compared = result(Vec::new());
        let node = AgainstNode {
            path: "/a".to_owned(),
            elements: 10,
            differing: 2,
            at: Some(vec![3]),
            value: Some(crate::metadata::json::Json::from(1_u64)),
            other_value: Some(crate::metadata::json::Json::from(2_u64)),
            ..AgainstNode::default()
        };
        compared.against = Some(AgainstResult { other: "o".to_owned(), equal: false, nodes: vec![node] });
        let text = text(&compared);
        assert!(text.starts_with("differs from o\n  /a\n      2 of 10 elements differ\n"), "{text}");
        assert!(text.contains("      at [3] 1, there 2\n"), "{text}");
    }
}

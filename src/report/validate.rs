//! The report of `validate`: the findings, what could not be read, the comparison, and the verdict.

use std::collections::{BTreeMap, BTreeSet};

use super::block::{Block, Report, heading};
use super::formats::path_of;
use super::quantity::{self, count, counted};
use super::table::Table;
use super::terminal::Role;
use crate::diagnostic::{Diagnostic, Location, Severity};
use crate::grid::unravel;
use crate::operation::ValidateResult;
use crate::operation::validate_result::{AbsentChunks, AgainstNode, AgainstResult, Unchecked};

/// Returns the report of a result. `is_verbose` names the absent chunks in text. A page always names them.
pub fn report(result: &ValidateResult, is_verbose: bool) -> Report<'_> {
    let title = match result.checked.as_slice() {
        [store] => store.store.clone(),
        [] => "no store could be read".to_owned(),
        stores => counted(stores.len() as u64, "store"),
    };
    let role = match result {
        ValidateResult { valid: false, .. }
        | ValidateResult { against: Some(AgainstResult { equal: false, .. }), .. } => Role::Error,
        ValidateResult { warnings: 1.., .. } => Role::Warning,
        _ => Role::Good,
    };
    let numbers = [
        ("Errors", result.errors),
        ("Warnings", result.warnings),
        ("Infos", result.infos),
        ("Not read", result.failures.len() as u64),
    ];
    let absent: Vec<_> = result.absent.iter().map(|absent| (None, "absent:", absent_chunks(absent))).collect();
    let unread = result.failures.iter().map(|failure| {
        let node = node_of(failure.store.as_deref(), failure.node.as_deref(), failure.key.as_deref());
        (Some(Role::Error), "not read:", format!("{node}{}", failure.message))
    });
    // A reason begins with a plural.
    let not_checked = |Unchecked { reason, count }: &Unchecked| match count {
        1 => format!("1 {}", reason.replacen("s ", " ", 1)),
        _ => format!("{} {reason}", quantity::count(*count)),
    };
    let unchecked = result.unchecked.iter().map(|unchecked| (None, "not checked:", not_checked(unchecked)));
    let unread: Vec<_> = unread.chain(unchecked).collect();
    let mut blocks = vec![Block::Page(overview(&result.findings)), Block::Findings(&result.findings, result.truncated)];
    if !absent.is_empty() || !unread.is_empty() {
        blocks.push(Block::Page(vec![heading(2, "what was not checked")]));
    }
    let absent = Block::Remarks(absent);
    blocks.push(if is_verbose { absent } else { Block::Page(vec![absent]) });
    blocks.push(Block::Remarks(unread));
    blocks.extend(result.against.iter().flat_map(comparison));
    if !result.checked.is_empty() {
        let mut table = Table::new(&["store", "level", ">nodes", ">objects"]);
        for store in &result.checked {
            let nodes = count(store.nodes.len() as u64);
            table.push([&store.store, store.level, &nodes, &count(store.objects)], None);
        }
        let table = Block::Table("Stores and the level of the check", table);
        blocks.push(Block::Page(vec![heading(2, "what was looked at"), table]));
    }
    Report {
        title,
        state: summary(result),
        role: Some(role),
        ends_with_state: true,
        figures: numbers.map(|(label, number)| (label, count(number), String::new())).to_vec(),
        blocks,
    }
}

/// Returns the comparison of `--against`: a line for each array, on a page a row.
fn comparison(against: &AgainstResult) -> Vec<Block<'_>> {
    let (role, word) = if against.equal { (Role::Good, "equal to") } else { (Role::Error, "differs from") };
    let found = |node: &AgainstNode| node.comparison().join("; ");
    let lines = against.nodes.iter().map(|node| (node.path.as_str(), found(node))).collect();
    let mut table = Table::new(&["array", "equal", "what was found", ">elements", ">differing"]);
    for node in &against.nodes {
        let equal = if node.equal { "yes" } else { "no" };
        // Arrays that could not be compared have no counts.
        let number = |number| if node.equal || node.elements > 0 { count(number) } else { String::new() };
        let cells = [node.path.clone(), equal.to_owned(), found(node)];
        table.push(cells.into_iter().chain([node.elements, node.differing].map(number)), None);
    }
    vec![
        Block::Page(vec![heading(2, "comparison")]),
        Block::Remarks(vec![(Some(role), word, against.other.clone())]),
        Block::Text(vec![Block::Members(lines)]),
        Block::Page(vec![Block::Table("Arrays paired by path", table)]),
    ]
}

/// Returns the number of findings of each code, and of each node.
fn overview(findings: &[Diagnostic]) -> Vec<Block<'_>> {
    if findings.is_empty() {
        return vec![heading(2, "findings"), Block::Note("There are none.".to_owned())];
    }
    let mut codes: BTreeMap<&str, (&Diagnostic, u64)> = BTreeMap::new();
    let mut nodes: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for finding in findings {
        codes.entry(finding.code).or_insert((finding, 0)).1 += 1;
        let Location { store, node, .. } = &finding.location;
        let node = node_of(store.as_deref(), node.as_deref(), None);
        let counts = nodes.entry(node.trim_end_matches(": ").to_owned()).or_default();
        // Errors come first.
        counts[Severity::Error as usize - finding.severity as usize] += 1;
    }
    let mut by_code = Table::new(&["code", "name", "severity", ">findings"]);
    for (code, (finding, number)) in codes {
        by_code.push_sizes([code, finding.name, finding.severity.name(), &count(number)], vec![Some(number)]);
    }
    let mut by_node = Table::new(&["node", ">errors", ">warnings", ">infos"]);
    for (node, counts) in nodes {
        by_node.push_sizes(std::iter::once(node).chain(counts.map(count)), vec![Some(counts.iter().sum())]);
    }
    let codes = "How often each code was found; zarrcast validate --explain CODE says what it means";
    let nodes = "Findings of each node by severity; bars are as long as there are findings";
    vec![
        heading(2, "findings by code"),
        Block::Table(codes, by_code),
        heading(2, "findings by node"),
        Block::Table(nodes, by_node),
        heading(2, "all findings"),
    ]
}

/// Returns ranges of chunks in the form of `inspect --chunk`.
fn absent_chunks(absent: &AbsentChunks) -> String {
    let (dash, between, order) = match absent.grid_shape.as_slice() {
        [_] => ("-", ", ", ""),
        _ => (" to ", "; ", " (in C order)"),
    };
    let chunk = |index| quantity::shape(&unravel(index, &absent.grid_shape)).replace(", ", ",");
    let range = |[first, last]: &[u64; 2]| {
        if first == last { chunk(*first) } else { format!("{}{dash}{}", chunk(*first), chunk(*last)) }
    };
    let ranges: Vec<String> = absent.ranges.iter().map(range).collect();
    let node = node_of(Some(&absent.store), Some(&absent.node), None);
    format!("{node}chunks {}{order}", ranges.join(between))
}

/// Returns a store, a node in it or a key, with a colon. Empty if none is known.
fn node_of(store: Option<&str>, node: Option<&str>, key: Option<&str>) -> String {
    let [store, node, key] = [store, node, key].map(|name| name.map(str::to_owned));
    let location = Location { store, node, key, ..Location::default() };
    path_of(&location).map_or_else(String::new, |path| format!("{path}: "))
}

/// Returns a summary: `not valid: 2 errors, 1 warning (3 nodes, level keys)`.
fn summary(result: &ValidateResult) -> String {
    let count = |count: u64, word: &str| (count > 0).then(|| counted(count, word));
    let join = |texts: [Option<String>; 3]| texts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let counts = join([count(result.errors, "error"), count(result.warnings, "warning"), count(result.infos, "info")]);
    let nodes: usize = result.checked.iter().map(|store| store.nodes.len()).sum();
    let objects = result.checked.iter().map(|store| store.objects).sum();
    let levels: BTreeSet<&str> = result.checked.iter().map(|store| store.level).collect();
    let level = (!levels.is_empty()).then(|| format!("level {}", Vec::from_iter(levels).join(", ")));
    let scope = join([count(nodes as u64, "node"), level, count(objects, "object")]);
    let scope = if scope.is_empty() { scope } else { format!(" ({scope})") };
    let colon = if counts.is_empty() { "" } else { ": " };
    format!("{}{colon}{counts}{scope}", result.verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::code;
    use crate::operation::validate_result::CheckedStore;
    use crate::report::terminal::Style;

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
            cut: std::collections::BTreeSet::default(),
            against: None,
            checked: vec![CheckedStore { store: "s.zarr".to_owned(), level: "keys", nodes, objects: 12 }],
        }
    }

    fn text_as(result: &ValidateResult, width: Option<usize>, is_verbose: bool) -> String {
        let mut text = Vec::new();
        let style = Style { is_verbose, ..Style::PLAIN }.within(width);
        report(result, is_verbose).write(style, &mut text).unwrap();
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
        let long = "a message that is so long that it does not fit on one line of eighty columns, not even nearly";
        let found = result(vec![
            at(Diagnostic::new(code::MEMBER_MISSING, long), "/", "zarr.json").with_help("add it"),
            at(Diagnostic::new(code::DIMENSION_NAMES_NULL, "null"), "/", "zarr.json").at_pointer("/dimension_names"),
            at(Diagnostic::new(code::CHUNK_CORRUPT, "a bad\u{1b}[31m chunk"), "/a", "a/c/0/1").at_chunk([0, 1]),
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

the verdict: 2 errors, 1 warning (2 nodes, level keys, 12 objects)
";
        assert_eq!(text(&found), expected);
    }

    #[test]
    fn finding_of_many_nodes_is_said_once() {
        let of = |node: &str| at(Diagnostic::new(code::CODEC_UNREGISTERED, "x"), node, "k").at_pointer("/p");
        let found = result(["/a", "/b", "/c", "/d"].map(of).into());
        let expected =
            "4 nodes\n    warning ZC104 codec-unregistered at /p\n      x\n      in s.zarr: /a, /b, /c, /d\n\nthe";
        assert!(text_as(&found, Some(80), true).starts_with(expected), "{}", text_as(&found, Some(80), true));
    }
}

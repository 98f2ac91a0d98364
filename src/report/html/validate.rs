//! `validate` as a page: the verdict, findings by code and by node, what could not be read, the comparison.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::findings::findings;
use super::page::{Header, page};
use super::parts::{self, Ids, heading, members};
use super::text;
use crate::diagnostic::{Diagnostic, Severity};
use crate::operation::validate_result::{AgainstResult, ValidateResult};
use crate::report::quantity::{count, counted};
use crate::report::table::{Align, Table};
use crate::report::validate_text::{node_of, summary};

/// Rows, ranges or reasons that are written.
const MOST_ROWS: usize = 500;

/// The page.
pub fn validate(result: &ValidateResult) -> String {
    let ids = &mut Ids::default();
    let title = match result.checked.as_slice() {
        [store] => store.store.clone(),
        [] => "no store could be read".to_owned(),
        stores => counted(stores.len() as u64, "store"),
    };
    let differs = result.against.as_ref().is_some_and(|against| !against.equal);
    let class = match result {
        _ if differs || !result.valid => "error",
        ValidateResult { warnings: 1.., .. } => "warning",
        _ => "good",
    };
    let figures = [
        ("Errors", count(result.errors), String::new()),
        ("Warnings", count(result.warnings), String::new()),
        ("Infos", count(result.infos), String::new()),
        ("Not read", count(result.failures.len() as u64), String::new()),
    ];
    let shown = html! { p class={ "verdict " (class) } { bdi { (text(&summary(result))) } } (parts::figures(&figures)) };
    let header = Header { command: "validate", title, summary: shown };
    let main = html! {
        @if !result.failures.is_empty() { (failures(result, ids)) }
        @if let Some(against) = &result.against { (comparison(against, ids)) }
        @if result.findings.is_empty() {
            (heading(2, "Findings")) p { "There are none." }
        } @else {
            (heading(2, "Findings by code"))
            (by_code(&result.findings, ids))
            (heading(2, "Findings by node"))
            (by_node(&result.findings, ids))
            (heading(2, "All findings"))
            (findings(&result.findings))
            @if result.truncated {
                p { "Only the first " (counted(result.findings.len() as u64, "finding")) " are shown and counted by code and by node; --max-findings 0 gives all." }
            }
        }
        (looked_at(result, ids))
    };
    page(&header, &main)
}

/// A table of text columns, then of numbers.
fn columns(text: &[&str], numbers: &[&str]) -> Table {
    let text = text.iter().map(|name| (*name, Align::Left));
    let all: Vec<(&str, Align)> = text.chain(numbers.iter().map(|name| (*name, Align::Right))).collect();
    Table::new(&all)
}

/// A node by its store and path.
fn named(store: Option<&str>, node: Option<&str>, key: Option<&str>) -> String {
    node_of(store, node, key).trim_end_matches(": ").to_owned()
}

fn failures(result: &ValidateResult, ids: &mut Ids) -> Markup {
    let mut table = columns(&["what", "why it was not read"], &[]);
    for failure in &result.failures {
        let what = named(failure.store.as_deref(), failure.node.as_deref(), failure.key.as_deref());
        table.push(vec![what, failure.message.clone()], None);
    }
    html! {
        (heading(2, "Not read"))
        (parts::first_rows("What could not be read, and so was not checked", &table, MOST_ROWS, ids))
    }
}

fn by_code(found: &[Diagnostic], ids: &mut Ids) -> Markup {
    let mut codes: BTreeMap<&str, (&Diagnostic, u64)> = BTreeMap::new();
    for finding in found {
        codes.entry(finding.code).or_insert((finding, 0)).1 += 1;
    }
    let mut table = columns(&["code", "name", "severity"], &["findings"]);
    for (code, (finding, number)) in codes {
        let cells = [code, finding.name, finding.severity.name(), &count(number)];
        table.push_sizes(cells.map(str::to_owned).to_vec(), vec![number]);
    }
    parts::first_rows(
        "How often each code was found; zarrcast validate --explain CODE says what it means",
        &table,
        MOST_ROWS,
        ids,
    )
}

fn by_node(found: &[Diagnostic], ids: &mut Ids) -> Markup {
    const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Info];
    let mut nodes: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for Diagnostic { location, severity, .. } in found {
        let counts =
            nodes.entry(named(location.store.as_deref(), location.node.as_deref(), None)).or_default();
        for (number, _) in counts.iter_mut().zip(SEVERITIES).filter(|(_, other)| other == severity) {
            *number += 1;
        }
    }
    let mut table = columns(&["node"], &["errors", "warnings", "infos"]);
    for (node, counts) in nodes {
        table.push_sizes(std::iter::once(node).chain(counts.map(count)).collect(), vec![counts.iter().sum()]);
    }
    parts::first_rows(
        "Findings of each node by severity; bars are as long as there are findings",
        &table,
        MOST_ROWS,
        ids,
    )
}

fn comparison(against: &AgainstResult, ids: &mut Ids) -> Markup {
    let (class, word) = if against.equal { ("good", "Equal to") } else { ("error", "Differs from") };
    let mut table = columns(&["array", "equal", "what was found"], &["elements", "differing"]);
    for node in &against.nodes {
        let equal = if node.equal { "yes" } else { "no" }.to_owned();
        let found = node.comparison().join("; ");
        table.push(vec![node.path.clone(), equal, found, count(node.elements), count(node.differing)], None);
    }
    html! {
        (heading(2, "Comparison"))
        p { strong class=(class) { (word) } " " bdi { (text(&against.other)) } }
        (parts::first_rows("Arrays paired by path", &table, MOST_ROWS, ids))
    }
}

/// What was looked at, what was not, and what is absent.
fn looked_at(result: &ValidateResult, ids: &mut Ids) -> Markup {
    let mut table = columns(&["store", "level"], &["nodes", "objects"]);
    for store in &result.checked {
        let cells = [&store.store, store.level, &count(store.nodes.len() as u64), &count(store.objects)];
        table.push(cells.map(str::to_owned).to_vec(), None);
    }
    let range =
        |[first, last]: &[u64; 2]| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let absent = result.absent.iter().take(MOST_ROWS).map(|absent| {
        let ranges: Vec<String> = absent.ranges.iter().map(range).collect();
        (named(Some(&absent.store), Some(&absent.node), None), format!("chunks {}", ranges.join(", ")))
    });
    let absent: Vec<(String, String)> = absent.collect();
    html! {
        @if !result.checked.is_empty() {
            (heading(2, "What was looked at"))
            (parts::first_rows("Stores and how deep they were looked into", &table, MOST_ROWS, ids))
        }
        @if !result.unchecked.is_empty() {
            (heading(2, "What was not looked at"))
            ul { @for unchecked in result.unchecked.iter().take(MOST_ROWS) {
                li { (count(unchecked.count)) " " bdi { (text(&unchecked.reason)) } }
            } }
        }
        @if !absent.is_empty() {
            (heading(2, "Absent chunks"))
            (members(&absent))
        }
    }
}

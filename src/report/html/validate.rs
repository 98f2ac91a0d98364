//! `validate` as a page: the verdict, findings by code and by node, what could not be read, the comparison.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::findings::findings;
use super::page::{Header, page};
use super::parts::{self, Ids, heading, members, scrolling};
use super::text;
use crate::diagnostic::{Diagnostic, Severity};
use crate::operation::validate_result::{AgainstResult, ValidateResult};
use crate::report::quantity::{count, counted};
use crate::report::validate_text::{node_of, summary};

/// Nodes, codes or ranges that have a row.
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

fn failures(result: &ValidateResult, ids: &mut Ids) -> Markup {
    let shown = result.failures.iter().take(MOST_ROWS);
    let rows = html! {
        thead { tr { th scope="col" { "what" } th scope="col" { "why it was not read" } } }
        tbody { @for failure in shown {
            tr {
                th scope="row" { bdi { (node_of(failure.store.as_deref(), failure.node.as_deref(), failure.key.as_deref()).trim_end_matches(": ")) } }
                td.text { bdi { (text(&failure.message)) } }
            }
        } }
    };
    let more = result.failures.len().saturating_sub(MOST_ROWS);
    html! {
        (heading(2, "Not read"))
        (scrolling("What could not be read, and so was not checked", "", &rows, ids))
        @if more > 0 { p { "... and " (count(more as u64)) " more, which --json has." } }
    }
}

/// How many findings of each severity something has.
#[derive(Debug, Default, Clone, Copy)]
struct Counts([u64; 3]);

impl Counts {
    fn add(&mut self, severity: Severity) {
        self.0[match severity {
            Severity::Error => 0,
            Severity::Warning => 1,
            Severity::Info => 2,
        }] += 1;
    }

    fn all(self) -> u64 {
        self.0.iter().sum()
    }
}

fn by_code(found: &[Diagnostic], ids: &mut Ids) -> Markup {
    let mut codes: BTreeMap<&str, (&Diagnostic, u64)> = BTreeMap::new();
    for finding in found {
        codes.entry(finding.code).or_insert((finding, 0)).1 += 1;
    }
    let most = codes.values().map(|(_, number)| *number).max().unwrap_or(1);
    let rows = html! {
        thead { tr { th scope="col" { "code" } th scope="col" { "name" } th scope="col" { "severity" } th.number scope="col" { "findings" } td {} } }
        tbody { @for (code, (finding, number)) in &codes {
            tr {
                th scope="row" { code { (code) } }
                td { (finding.name) }
                td class=(finding.severity.name()) { (finding.severity.name()) }
                td.number { (count(*number)) }
                td.bar { span.stripe style=(share(*number, most)) {} }
            }
        } }
    };
    scrolling(
        "How often each code was found; zarrcast validate --explain CODE says what it means",
        "bars",
        &rows,
        ids,
    )
}

fn by_node(found: &[Diagnostic], ids: &mut Ids) -> Markup {
    let mut nodes: BTreeMap<String, Counts> = BTreeMap::new();
    for finding in found {
        let location = &finding.location;
        let name = node_of(location.store.as_deref(), location.node.as_deref(), None);
        nodes.entry(name.trim_end_matches(": ").to_owned()).or_default().add(finding.severity);
    }
    let most = nodes.values().map(|counts| counts.all()).max().unwrap_or(1);
    let rows = html! {
        thead { tr {
            th scope="col" { "node" }
            @for name in ["errors", "warnings", "infos"] { th.number scope="col" { (name) } }
            td {}
        } }
        tbody { @for (node, counts) in nodes.iter().take(MOST_ROWS) {
            tr {
                th scope="row" { bdi { (node) } }
                @for number in counts.0 { td.number { (count(number)) } }
                td.bar { span.stripe style=(share(counts.all(), most)) {} }
            }
        } }
    };
    let more = nodes.len().saturating_sub(MOST_ROWS);
    html! {
        (scrolling("Findings of each node by severity; bars are as long as there are findings", "bars", &rows, ids))
        @if more > 0 { p { "... and " (counted(more as u64, "node")) " more." } }
    }
}

/// What share of the most a number is, as the width of a bar.
fn share(number: u64, most: u64) -> String {
    super::bars::width(number, most)
}

fn comparison(against: &AgainstResult, ids: &mut Ids) -> Markup {
    let (class, word) = if against.equal { ("good", "Equal to") } else { ("error", "Differs from") };
    let rows = html! {
        thead { tr {
            th scope="col" { "array" } th scope="col" { "equal" } th.number scope="col" { "elements" }
            th.number scope="col" { "differing" } th scope="col" { "what was found" }
        } }
        tbody { @for node in against.nodes.iter().take(MOST_ROWS) {
            tr {
                th scope="row" { bdi { (text(&node.path)) } }
                td { @if node.equal { "yes" } @else { strong.error { "no" } } }
                td.number { (count(node.elements)) }
                td.number { (count(node.differing)) }
                td.text { bdi { (text(&node.comparison().join("; "))) } }
            }
        } }
    };
    let more = against.nodes.len().saturating_sub(MOST_ROWS);
    html! {
        (heading(2, "Comparison"))
        p { strong class=(class) { (word) } " " bdi { (text(&against.other)) } }
        (scrolling("Arrays paired by path", "", &rows, ids))
        @if more > 0 { p { "... and " (counted(more as u64, "array")) " more, which --json has." } }
    }
}

/// What was looked at, what was not, and what is absent.
fn looked_at(result: &ValidateResult, ids: &mut Ids) -> Markup {
    let rows = html! {
        thead { tr {
            th scope="col" { "store" } th scope="col" { "level" } th.number scope="col" { "nodes" }
            th.number scope="col" { "objects" }
        } }
        tbody { @for store in result.checked.iter().take(MOST_ROWS) {
            tr {
                th scope="row" { bdi { (text(&store.store)) } }
                td { (store.level) }
                td.number { (count(store.nodes.len() as u64)) }
                td.number { (count(store.objects)) }
            }
        } }
    };
    let range =
        |[first, last]: &[u64; 2]| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let absent = result.absent.iter().take(MOST_ROWS).map(|absent| {
        let ranges: Vec<String> = absent.ranges.iter().map(range).collect();
        let node = node_of(Some(&absent.store), Some(&absent.node), None);
        (node.trim_end_matches(": ").to_owned(), format!("chunks {}", ranges.join(", ")))
    });
    let absent: Vec<(String, String)> = absent.collect();
    html! {
        @if !result.checked.is_empty() {
            (heading(2, "What was looked at"))
            (scrolling("Stores and how deep they were looked into", "", &rows, ids))
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

//! Findings as a list; what holds for many nodes is said once.

use maud::{Markup, html};

use super::{marked, text};
use crate::diagnostic::Diagnostic;
use crate::report::grouped::grouped;
use crate::report::quantity;
use crate::report::uri::path_of;

/// Findings that are written; of more, how many there are is said.
const MOST: usize = 1000;

/// Each with severity, code, place, message and help.
pub(super) fn findings(findings: &[Diagnostic]) -> Markup {
    let groups = grouped(findings);
    let more = groups.len().saturating_sub(MOST);
    html! {
        ul.findings {
            @for group in groups.iter().take(MOST) {
                @let finding = group.first();
                li class=(finding.severity.name()) {
                    p {
                        strong class=(finding.severity.name()) { (finding.severity.name()) } " "
                        code { (finding.code) } " " (finding.name)
                        " " span.faint { bdi { (text(&place(group.is_of_many().then(|| group.num_nodes()), finding))) } }
                    }
                    p { (marked(&finding.message)) }
                    @if let Some(help) = &finding.help { p.faint { "help: " (marked(help)) } }
                    @if group.is_of_many() { p.faint { "in " bdi { (text(&group.nodes(group.num_nodes() <= 50))) } } }
                }
            }
        }
        @if more > 0 { p { "... and " (quantity::count(more as u64)) " more, which `--json` has." } }
    }
}

/// The location of a finding: the store, node and key, the chunk, the member of the document.
fn place(nodes: Option<usize>, finding: &Diagnostic) -> String {
    let location = &finding.location;
    let place = match nodes {
        Some(nodes) => format!("{} nodes", quantity::count(nodes as u64)),
        None => path_of(location).unwrap_or_default(),
    };
    let chunk = location.chunk.as_ref().filter(|_| nodes.is_none());
    let chunk = chunk.map_or_else(String::new, |chunk| format!(", chunk {chunk:?}"));
    let pointer = location.pointer.as_deref().filter(|pointer| !pointer.is_empty());
    format!("{place}{chunk}{}", pointer.map_or_else(String::new, |pointer| format!(" at {pointer}")))
}

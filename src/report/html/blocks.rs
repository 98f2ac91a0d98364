//! The blocks of a result as parts of a page.

use maud::{Markup, html};

use super::comparison::{self, with_units};
use super::parts::{self, Ids, capital, code, members};
use super::picture::{Pixels, Scale, colour_bar, picture};
use super::{chart, class, marked, text};
use crate::diagnostic::Diagnostic;
use crate::metadata::json::Json;
use crate::operation::drawing::{ArrayDrawing, finite_range};
use crate::operation::inspect_result::PreviewResult;
use crate::report::block::Block;
use crate::report::failure::grouped;
use crate::report::uri::path_of;
use crate::report::{histogram, inspect_preview, quantity};

/// Attributes that are written, and letters of one.
const MOST_ATTRIBUTES: (usize, usize) = (200, 1000);

/// Remarks that are written.
const MOST_REMARKS: usize = 500;

/// The blocks, with headings that are so many levels deeper.
pub(super) fn write_blocks(blocks: &[Block<'_>], deeper: u8, ids: &mut Ids) -> Markup {
    html! { @for block in blocks { (write_block(block, deeper, ids)) } }
}

fn write_block(block: &Block<'_>, deeper: u8, ids: &mut Ids) -> Markup {
    match block {
        Block::Heading(level, name, words) => {
            let words = name.as_ref().map_or_else(|| capital(words), |name| format!("{name}: {words}"));
            parts::heading(level + deeper, &words)
        }
        Block::Members(shown) => members(shown),
        Block::Attributes(attributes) => write_attributes(attributes, deeper),
        Block::Table(caption, table) => parts::table(caption, table, ids),
        Block::Code(label, lines) => html! {
            p { (capital(label)) ":" }
            @for line in lines { (code(line)) }
        },
        Block::Json(label, json) => html! { p { (capital(label)) ", as JSON:" } (code(&json.to_string())) },
        Block::Note(note) => html! { p { (marked(&capital(note))) @if !note.ends_with('.') { "." } } },
        Block::Verified(name, (role, outcome), rest) => html! {
            p { @if name.is_empty() { "Verified: " } @else { bdi { (text(name)) } " verified: " } strong class=(class(*role)) { (outcome) } (rest) "." }
        },
        Block::Findings(found, is_truncated) => html! {
            (findings(found))
            @if *is_truncated {
                p { "Only the first " (quantity::counted(found.len() as u64, "finding")) " are shown and counted by code and by node; --max-findings 0 gives all." }
            }
        },
        Block::Remarks(remarks) => html! {
            @for (role, label, words) in remarks.iter().take(MOST_REMARKS) {
                p { strong class=[role.map(class)] { (label) } " " (marked(words)) }
            }
            @if remarks.len() > MOST_REMARKS { p { "... and " (remarks.len() - MOST_REMARKS) " more." } }
        },
        Block::Histogram(histogram) => html! {
            details {
                summary { "The histogram in numbers" }
                (parts::table("Values in each bin", &histogram::bins(histogram), ids))
            }
        },
        Block::Preview(preview) => slice(preview),
        Block::Drawing(drawing) => draw(drawing, ids),
        Block::Comparison(compared, quantization) => match &compared.comparison {
            Ok(comparison) => comparison::pictures(comparison, quantization, ids),
            Err(message) => html! { p { "The pictures could not be drawn: " bdi { (text(message)) } } },
        },
        Block::Page(blocks) => write_blocks(blocks, deeper, ids),
        Block::Blank | Block::Bits(_) | Block::Text(_) => html! {},
    }
}

fn write_attributes(attributes: &Json, deeper: u8) -> Markup {
    let Some(attributes) = attributes.as_object().filter(|attributes| !attributes.is_empty()) else {
        return html! {};
    };
    let (most, letters) = MOST_ATTRIBUTES;
    let value = |value: &Json| quantity::shortened(quantity::json_text(value), letters);
    let shown: Vec<_> = attributes.iter().take(most).map(|(name, json)| (name, value(json))).collect();
    let more = attributes.len().saturating_sub(most);
    html! {
        (parts::heading(2 + deeper, "Attributes"))
        (members(&shown))
        @if more > 0 { p { "... and " (quantity::count(more as u64)) " more." } }
    }
}

/// A level of an array, and a histogram of its values or of all.
fn draw(drawing: &ArrayDrawing, ids: &mut Ids) -> Markup {
    let units = drawing.level.as_ref().and_then(|level| level.units.as_deref());
    let is_one = drawing.level.as_ref().is_some_and(|level| level.values.len() == 1);
    html! {
        div.charts {
            @if let Some(level) = &drawing.level { (comparison::drawn(level, ids)) }
            @if let Some(histogram) = drawing.histogram.as_ref().filter(|_| !is_one) {
                figure {
                    (chart::histogram(histogram, (&[], &[]), ("Histogram of the values", with_units("values", units)), ids))
                    figcaption {
                        strong { "Histogram" } " of "
                        @if drawing.is_of_all { "all values" } @else { "the values of the level beside it" }
                        " in " (quantity::counted(histogram.counts.len() as u64, "bin")) " from "
                        (quantity::figure(histogram.min)) " to " (quantity::figure(histogram.max))
                        @if histogram.below > 0 { "; below: " (quantity::count(histogram.below)) }
                        @if histogram.above > 0 { "; above: " (quantity::count(histogram.above)) }
                        "."
                    }
                }
            }
        }
    }
}

/// The slice of `--preview`.
fn slice(preview: &PreviewResult) -> Markup {
    let values: Vec<f64> = preview.values.iter().flat_map(|row| row.0.iter().copied()).collect();
    let columns = preview.values.first().map_or(1, |row| row.0.len());
    let pixels = Pixels { values: &values, columns, is_upside_down: preview.is_upside_down };
    let scale = Scale::of(finite_range(&values));
    let reduced = if preview.reduction == "mean" { "means of finite values" } else { "nearest values" };
    let words = format!("{}; {reduced}", inspect_preview::heading(preview));
    html! {
        (picture(pixels, scale, &text(&words), &html! { bdi { (text(&words)) } "." }))
        (colour_bar(scale, &with_units("values", preview.units.as_deref()), values.iter().any(|value| value.is_nan())))
    }
}

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

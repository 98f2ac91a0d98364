//! Results as one HTML page: everything in the text, and pictures. The page loads nothing, and contains no script.
//!
//! Names and texts of a store are hostile. The macro escapes HTML, and `text` control and direction characters.

mod chart;
mod comparison;
mod picture;

use chart::with_units;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use picture::{Pixels, Scale, colour_bar, picture};

use super::block::{Block, Report};
use super::failure::{grouped, pointer};
use super::terminal::{Role, one_line};
use super::{inspect_preview, quantity, quantity::counted, table::Table, text};
use crate::diagnostic::Diagnostic;
use crate::metadata::Json;
use crate::operation::{ArrayDrawing, PreviewResult, drawing::finite_range};

const STYLE: &str = include_str!("style.css");

/// Returns the page of a command with one report, or with a section for each of several.
pub fn page(command: &str, reports: &[Report<'_>]) -> String {
    let ids = &mut Ids::default();
    let (title, summary, main) = if let [report] = reports {
        (text(&report.title), summary(report), write_blocks(&report.blocks, 0, ids))
    } else {
        let main = html! {
            @for report in reports {
                section {
                    (heading(2, &report.title))
                    (summary(report))
                    (write_blocks(&report.blocks, 1, ids))
                }
            }
        };
        (counted(reports.len() as u64, "store"), html! {}, main)
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("zarrcast ", env!("CARGO_PKG_VERSION")));
                title { "zarrcast " (command) ": " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.kind { "zarrcast " (command) }
                    h1 { bdi { (title) } }
                    (summary)
                }
                main { (main) }
                footer { p { "Written by zarrcast " (env!("CARGO_PKG_VERSION")) ". The page is complete: it loads no other files." } }
            }
        }
    };
    page.into_string()
}

/// Returns the state and the most important figures, for the position below a title.
fn summary(report: &Report<'_>) -> Markup {
    let class = report.role.map(|role| format!("verdict {}", class(role)));
    html! {
        p class=[class] { bdi { (text(&report.state)) } }
        @if !report.figures.is_empty() {
            dl.figures {
                @for (label, value, note) in &report.figures {
                    div {
                        dt { (label) }
                        dd { (text(value)) @if !note.is_empty() { " " small { (text(note)) } } }
                    }
                }
            }
        }
    }
}

/// Returns the CSS class of a role.
fn class(role: Role) -> &'static str {
    match role {
        Role::Error => "error",
        Role::Warning => "warning",
        Role::Good => "good",
        Role::Heading | Role::Label | Role::Faint => "faint",
    }
}

/// Returns words with code for text in backticks. No line is broken inside an arrow.
fn marked(words: &str) -> Markup {
    let words = text(words).replace("->", "\u{2192}");
    // `bdi` keeps text from a store that is written from right to left from reordering the words around it.
    html! { bdi { @for (index, part) in words.split('`').enumerate() {
        @if index % 2 == 1 { code { (part) } } @else { (part) }
    } } }
}

/// Returns text from a store. Control characters, and those that change the direction of writing, are escaped.
fn text(text: &str) -> String {
    one_line(text).into_owned()
}

/// The maximum number of rows of a table: a hierarchy of 2,000 nodes, with its sums.
const MOST_ROWS: usize = 2002;

/// Unique numbers for the elements of one page.
#[derive(Debug, Default)]
pub(super) struct Ids(u32);

impl Ids {
    /// Returns an id that the page does not have yet.
    pub(super) fn next(&mut self) -> String {
        self.0 += 1;
        format!("n{}", self.0)
    }
}

/// Returns a heading of a level from 2 to 4.
pub(super) fn heading(level: u8, words: &str) -> Markup {
    let words = text(words);
    match level {
        2 => html! { h2 { bdi { (words) } } },
        3 => html! { h3 { bdi { (words) } } },
        _ => html! { h4 { bdi { (words) } } },
    }
}

/// Returns labels with their values.
pub(super) fn members<S: AsRef<str>>(members: &[(S, String)]) -> Markup {
    html! {
        @if !members.is_empty() {
            dl.members {
                @for (label, value) in members {
                    dt { bdi { (text(label.as_ref())) } }
                    dd { (marked(value)) }
                }
            }
        }
    }
}

/// Returns a table like that in the text. A table wider than the page scrolls. The first cell is the name of its row.
/// Sizes are bars in a last column, relative to the greatest of all. The number of omitted rows is shown.
pub(super) fn table(caption: &str, table: &Table, ids: &mut Ids) -> Markup {
    let shown = &table.body()[..table.body().len().min(MOST_ROWS)];
    let more = table.body().len() - shown.len();
    let sizes = || shown.iter().flat_map(|row| &row.sizes);
    let greatest = sizes().flatten().copied().max().unwrap_or(0).max(1);
    let has_bars = sizes().next().is_some();
    let of_column: Vec<_> = table.columns().map(|(_, is_number)| is_number.then_some("number")).collect();
    let id = ids.next();
    html! {
        p.caption id=(id) { (text(caption)) }
        // `tabindex` lets the keyboard scroll a table that is wider than the page.
        div.scroll role="group" aria-labelledby=(id) tabindex="0" {
            table aria-labelledby=(id) class=[has_bars.then_some("bars")] {
                thead { tr {
                    @for ((name, _), class) in table.columns().zip(&of_column) {
                        @if name.is_empty() { td {} } @else { th scope="col" class=[class] { (name) } }
                    }
                    @if has_bars { td {} }
                } }
                tbody { @for row in shown {
                    tr {
                        @for (index, (cell, class)) in row.cells.iter().zip(&of_column).enumerate() {
                            @if index == 0 { th scope="row" { (indented(cell, cell.trim_start())) } }
                            @else { td class=[class] { (marked(cell)) } }
                        }
                        @if has_bars { td.bar { @for (index, size) in row.sizes.iter().enumerate() { @if let Some(size) = size {
                            span class=(if index == 0 { "stripe" } else { "stripe after" }) style=(width(*size, greatest)) {}
                        } } } }
                    }
                    @if let Some(note) = &row.note {
                        tr { td.note colspan=(of_column.len()) { (indented(row.cells.first().map_or("", String::as_str), note)) } }
                    }
                } }
            }
        }
        @if more > 0 { p { "... and " (counted(more as u64, "row")) " more, which --json has." } }
    }
}

/// Returns a size relative to the greatest as a CSS width, in tenths of a per cent.
fn width(size: u64, greatest: u64) -> String {
    let tenths = u128::from(size) * 1000 / u128::from(greatest);
    format!("width:{}.{}%", tenths / 10, tenths % 10)
}

/// Returns words with the same indent as the name of their row.
fn indented(cell: &str, words: &str) -> Markup {
    let depth = (cell.len() - cell.trim_start().len()) / 2;
    html! {
        @if depth == 0 { bdi { (text(words)) } }
        @else { span.level style=(format!("--depth:{}", depth.min(12))) { bdi { (text(words)) } } }
    }
}

pub(super) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The maximum number of attributes, and of characters in one of them.
const MOST_ATTRIBUTES: (usize, usize) = (200, 1000);

/// The maximum number of remarks.
const MOST_REMARKS: usize = 500;

/// Returns the blocks, with headings that are `deeper` levels deeper.
pub(super) fn write_blocks(blocks: &[Block<'_>], deeper: u8, ids: &mut Ids) -> Markup {
    html! { @for block in blocks { (write_block(block, deeper, ids)) } }
}

fn write_block(block: &Block<'_>, deeper: u8, ids: &mut Ids) -> Markup {
    match block {
        Block::Heading(level, name, words) => {
            let words = name.as_ref().map_or_else(|| capital(words), |name| format!("{name}: {words}"));
            heading(level + deeper, &words)
        }
        Block::Members(shown) => members(shown),
        Block::Attributes(attributes) => write_attributes(attributes, deeper),
        Block::Table(caption, rows) => table(caption, rows, ids),
        Block::Code(label, lines) => html! {
            p { (capital(label)) ":" }
            @for line in lines { pre { code { (text(line)) } } }
        },
        Block::Json(label, json) => html! {
            p { (capital(label)) ", as JSON:" }
            pre { code { (text(&json.to_string())) } }
        },
        Block::Note(note) => html! { p { (marked(&capital(note))) @if !note.ends_with('.') { "." } } },
        Block::Verified(name, outcome, rest) => html! {
            p { @if name.is_empty() { "Verified: " } @else { bdi { (text(name)) } " verified: " } strong.good { (outcome) } (rest) "." }
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
                (table("Values in each bin", &text::bins(histogram), ids))
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
        (heading(2 + deeper, "Attributes"))
        (members(&shown))
        @if more > 0 { p { "... and " (quantity::count(more as u64)) " more." } }
    }
}

/// Returns a slice of an array, and a histogram of its values or of all.
fn draw(drawing: &ArrayDrawing, ids: &mut Ids) -> Markup {
    let units = drawing.level.as_ref().and_then(|level| level.units.as_deref());
    let is_one = drawing.level.as_ref().is_some_and(|level| level.values.len() == 1);
    html! {
        div.charts {
            @if let Some(level) = &drawing.level { (comparison::drawn(level, ids)) }
            @if let Some(histogram) = drawing.histogram.as_ref().filter(|_| !is_one) {
                @let caption = html! {
                    strong { "Histogram" } " of "
                    @if drawing.is_of_all { "all values" } @else { "the values of the level next to it" }
                    " in " (quantity::counted(histogram.counts.len() as u64, "bin")) " from "
                    (quantity::figure(histogram.min)) " to " (quantity::figure(histogram.max))
                    @if histogram.below > 0 { "; below: " (quantity::count(histogram.below)) }
                    @if histogram.above > 0 { "; above: " (quantity::count(histogram.above)) }
                    "."
                };
                @let words = ("Histogram of the values", with_units("values", units));
                (chart::histogram(histogram, (&[], &[]), words, caption, ids))
            }
        }
    }
}

/// Returns the slice of `--preview`.
fn slice(preview: &PreviewResult) -> Markup {
    let values: Vec<f64> = preview.values.iter().flat_map(|row| row.0.iter().copied()).collect();
    let columns = preview.values.first().map_or(1, |row| row.0.len());
    let pixels = Pixels { values: &values, columns, is_upside_down: preview.is_upside_down };
    let scale = Scale::new(finite_range(&values));
    let reduced = if preview.reduction == "mean" { "means of finite values" } else { "nearest values" };
    let words = format!("{}; {reduced}", inspect_preview::heading(preview));
    html! {
        (picture(pixels, scale, &text(&words), &html! { bdi { (text(&words)) } "." }))
        (colour_bar(scale, &with_units("values", preview.units.as_deref()), &values))
    }
}

/// The maximum number of findings. The number of others is shown.
const MOST: usize = 1000;

/// Returns the findings, each with severity, code, location, message and help.
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
                        " " span.faint { bdi { (text(&(group.location("") + &pointer(&finding.location)))) } }
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

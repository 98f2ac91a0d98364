//! Elements of pages: headings, members, tables.

use maud::{Markup, html};

use super::{marked, text};
use crate::report::quantity::counted;
use crate::report::table::Table;

/// Rows of a table that are written: a tree of 2,000 nodes, with its sums.
const MOST_ROWS: usize = 2002;

/// Numbers that tell the elements of one page apart.
#[derive(Debug, Default)]
pub(super) struct Ids(u32);

impl Ids {
    /// One that the page does not have yet.
    pub(super) fn next(&mut self) -> String {
        self.0 += 1;
        format!("n{}", self.0)
    }
}

/// A heading of a level from 2 to 4.
pub(super) fn heading(level: u8, words: &str) -> Markup {
    let words = text(words);
    match level {
        2 => html! { h2 { bdi { (words) } } },
        3 => html! { h3 { bdi { (words) } } },
        _ => html! { h4 { bdi { (words) } } },
    }
}

/// Labels with their values.
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

/// The few figures that say most.
pub(super) fn figures(figures: &[(&str, String, String)]) -> Markup {
    html! {
        @if !figures.is_empty() {
            dl.figures {
                @for (label, value, beside) in figures {
                    div {
                        dt { (label) }
                        dd { (text(value)) @if !beside.is_empty() { " " small { (text(beside)) } } }
                    }
                }
            }
        }
    }
}

/// A table as text has it, which scrolls by itself where it is wider than the page. The first cell names its row. Sizes are
/// bars in a last column, longest for the greatest of all. Of more rows than are written, how many there are is said.
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
                        @for (place, (cell, class)) in row.cells.iter().zip(&of_column).enumerate() {
                            @if place == 0 { th scope="row" { (indented(cell, cell.trim_start())) } }
                            @else { td class=[class] { (marked(cell)) } }
                        }
                        @if has_bars { td.bar { @for (place, size) in row.sizes.iter().enumerate() { @if let Some(size) = size {
                            span class=(if place == 0 { "stripe" } else { "stripe after" }) style=(width(*size, greatest)) {}
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

/// A share of the cell, in tenths of a per cent.
fn width(size: u64, greatest: u64) -> String {
    let tenths = u128::from(size) * 1000 / u128::from(greatest);
    format!("width:{}.{}%", tenths / 10, tenths % 10)
}

/// Words behind as much space as the name of their row has.
fn indented(cell: &str, words: &str) -> Markup {
    let depth = (cell.len() - cell.trim_start().len()) / 2;
    html! {
        @if depth == 0 { bdi { (text(words)) } }
        @else { span.level style=(format!("--depth:{}", depth.min(12))) { bdi { (text(words)) } } }
    }
}

/// Text that is copied: a command, JSON.
pub(super) fn code(words: &str) -> Markup {
    html! { pre { code { (text(words)) } } }
}

/// The words with a capital letter in front.
pub(super) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

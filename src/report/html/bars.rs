//! Sizes as bars in a table, with their numbers beside them.

use maud::{Markup, html};

use super::parts::{Ids, class, indented, scrolling};
use super::text;
use crate::report::table::Align;

/// A row: its name, its numbers as text, and the sizes that are drawn.
#[derive(Debug)]
pub(super) struct Row {
    pub name: String,
    pub cells: Vec<String>,
    pub sizes: Vec<u64>,
}

/// Rows under the names of their columns; the bars stand in the last, longest for the greatest size of all.
pub(super) fn bars(caption: &str, columns: &[(&str, Align)], rows: &[Row], ids: &mut Ids) -> Markup {
    let greatest = rows.iter().flat_map(|row| &row.sizes).copied().max().unwrap_or(0).max(1);
    let body = html! {
        thead { tr {
            @for (name, side) in columns { th scope="col" class=[class(*side)] { (name) } }
            td {}
        } }
        tbody { @for row in rows {
            tr {
                th scope="row" { (indented(&row.name)) }
                @for (cell, (_, side)) in row.cells.iter().zip(columns.iter().skip(1)) { td class=[class(*side)] { bdi { (text(cell)) } } }
                td.bar { @for (place, size) in row.sizes.iter().enumerate() {
                    span class=(if place == 0 { "stripe" } else { "stripe after" }) style=(width(*size, greatest)) {}
                } }
            }
        } }
    };
    scrolling(caption, "bars", &body, ids)
}

/// A share of the cell, in tenths of a per cent.
pub(super) fn width(size: u64, greatest: u64) -> String {
    let tenths = u128::from(size) * 1000 / u128::from(greatest.max(1));
    format!("width:{}.{}%", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::width;

    #[test]
    fn width_is_a_share_of_the_greatest() {
        assert_eq!([width(0, 8), width(1, 8), width(8, 8)], ["width:0.0%", "width:12.5%", "width:100.0%"]);
        assert_eq!(width(u64::MAX, u64::MAX), "width:100.0%");
    }
}

//! A level of an array: a picture of two dimensions, a line of one, a number of none.

use maud::{Markup, html};

use super::chart::{BAR, Words, lines};
use super::parts::{Ids, capital};
use super::picture::{Pixels, colour_bar, picture};
use super::scale::Scale;
use super::text;
use crate::operation::drawing::{LevelResult, finite_range};
use crate::report::inspect_preview;
use crate::report::quantity::{counted, figure};

/// The level with its scale.
pub(super) fn drawn(level: &LevelResult, ids: &mut Ids) -> Markup {
    let range = finite_range(&level.values);
    let place = place(level);
    let Some((low, high)) = range else {
        return html! { p { "There is no finite value to draw: " bdi { (place) } "." } };
    };
    if level.values.len() == 1 {
        return html! { p { "The one value is " (figure(level.values[0])) "." } };
    }
    let name = with_units("values", level.units.as_deref());
    let words = format!("{name} from {} to {}: {place}", figure(low), figure(high));
    let caption = html! { strong { (capital(&name)) } ": " bdi { (place) } "." };
    if level.size().0 == 1 {
        return html! {
            figure {
                (lines(places(level), &[(&level.values, BAR)], &of_line(&capital(&name), words, level), ids))
                figcaption { (caption) }
            }
        };
    }
    let scale = Scale::of(range);
    html! {
        div {
            (picture(Pixels::of(level, &level.values), scale, &words, &caption))
            (colour_bar(scale, &name, level.values.iter().any(|value| value.is_nan())))
        }
    }
}

/// A name with its units where they are known: `values (K)`.
pub(super) fn with_units(name: &str, units: Option<&str>) -> String {
    units.map_or_else(|| name.to_owned(), |units| text(&format!("{name} ({units})")))
}

/// The words of a line along the one dimension of a level.
pub(super) fn of_line(title: &str, description: String, level: &LevelResult) -> Words {
    let across = level.axes.last().map_or_else(String::new, |axis| text(&inspect_preview::axis(axis)));
    let axes = [across, with_units("values", level.units.as_deref())];
    Words { title: title.to_owned(), description, axes }
}

/// The elements along the dimension of a level of one row.
pub(super) fn places(level: &LevelResult) -> &[u64] {
    level.lines.last().map_or(&[], Vec::as_slice)
}

/// The part of the array that is drawn, in words.
pub(super) fn place(level: &LevelResult) -> String {
    let mut place = vec![inspect_preview::place(&level.axes, &level.at, level.is_upside_down)];
    if level.is_window() {
        let part = |line: &Vec<u64>| match (line.first(), line.last()) {
            (Some(first), Some(last)) => format!("{first} to {last}"),
            _ => String::new(),
        };
        let parts: Vec<String> = level.lines.iter().map(part).collect();
        place.push(format!("; the part in its middle, elements {}", parts.join(" and ")));
    }
    if level.is_thinned() {
        let drawn: Vec<String> = level.lines.iter().map(|line| line.len().to_string()).collect();
        let elements: usize = level.lines.iter().map(Vec::len).product();
        let elements = counted(elements as u64, "element");
        place.push(format!("; {elements} of it, evenly spread ({})", drawn.join(" \u{d7} ")));
    }
    text(&place.concat())
}

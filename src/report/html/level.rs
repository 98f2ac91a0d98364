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

/// A level and what its values are called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn<'a> {
    pub level: &'a LevelResult,
    pub name: &'a str,
}

/// The level with its scale.
pub(super) fn drawn(drawn: Drawn<'_>, ids: &mut Ids) -> Markup {
    let Drawn { level, name } = drawn;
    let (rows, columns) = level.size();
    let range = finite_range(&level.values);
    let place = place(level);
    let Some((low, high)) = range else {
        return html! { p { "There is no finite value to draw: " bdi { (place) } "." } };
    };
    if level.values.len() == 1 {
        return html! { p { "The one value is " (figure(level.values[0])) "." } };
    }
    let words = format!("{name} from {} to {}: {place}", figure(low), figure(high));
    let caption = html! { strong { (capital(name)) } ": " bdi { (place) } "." };
    if rows == 1 {
        let words = Words { title: capital(name), description: words };
        return html! {
            figure {
                (lines(places(level), &[(&level.values, BAR)], &words, ids))
                figcaption { (caption) }
            }
        };
    }
    let scale = Scale::of(range);
    html! {
        div {
            (picture(Pixels { values: &level.values, columns }, scale, &words, &caption))
            (colour_bar(scale, name, level.values.iter().any(|value| value.is_nan())))
        }
    }
}

/// The elements along the dimension of a level of one row.
pub(super) fn places(level: &LevelResult) -> &[u64] {
    level.lines.last().map_or(&[], Vec::as_slice)
}

/// What of the array is drawn, in words.
pub(super) fn place(level: &LevelResult) -> String {
    let axes: Vec<String> = level.axes.iter().map(inspect_preview::axis).collect();
    let axes = match axes.as_slice() {
        [] => "one value".to_owned(),
        [right] => right.clone(),
        _ => format!("{} to the right", axes.join(" down, ")),
    };
    let at = level
        .at
        .iter()
        .map(|at| format!("{}={}", at.name.clone().unwrap_or_else(|| format!("axis {}", at.axis)), at.index));
    let at: Vec<String> = at.collect();
    let mut place = vec![axes];
    if !at.is_empty() {
        place.push(format!(", at {}", at.join(", ")));
    }
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

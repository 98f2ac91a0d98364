//! A quantised array in pictures: a level before, after and their difference; values and errors by size.

use maud::{Markup, html};

use super::chart::{self, BAR, Mark, SECOND, Words, lines};
use super::parts::{Ids, capital};
use super::picture::{Pixels, Scale, colour_bar, picture};
use super::text;
use crate::metadata::json::Json;
use crate::operation::drawing::{Comparison, LevelResult, finite_range};
use crate::operation::transcode_result::QuantizationResult;
use crate::report::inspect_preview;
use crate::report::quantity::{count, counted, figure};

/// Everything that is drawn.
pub(super) fn pictures(comparison: &Comparison, quantization: &QuantizationResult, ids: &mut Ids) -> Markup {
    let Comparison { before, after, .. } = comparison;
    let difference: Vec<f64> = before.values.iter().zip(after).map(|(before, after)| after - before).collect();
    let range = finite_range(before.values.iter().chain(after));
    let drawn = counted(before.values.len() as u64, "element");
    html! {
        @match range {
            None => { p { "There is no finite value to draw." } }
            Some(range) => {
                p { "Pictures and histograms are of " (drawn) ": " bdi { (place(before)) } ". The figures above are of all." }
                @if before.size().0 == 1 { (as_lines(before, after, &difference, ids)) }
                @else { (as_pictures(before, after, &difference, range)) }
                (histograms(comparison, quantization, ids))
            }
        }
    }
}

fn as_pictures(before: &LevelResult, after: &[f64], difference: &[f64], (low, high): (f64, f64)) -> Markup {
    let units = before.units.as_deref();
    let scale = Scale::of(Some((low, high)));
    let of_differences = Scale::of_differences(finite_range(difference));
    let pixels = |values| Pixels::of(before, values);
    let most = figure(of_differences.max);
    let has_nan = after.iter().any(|value| value.is_nan());
    let alt = |name: &str| format!("The level {name}, values from {} to {}", figure(low), figure(high));
    html! {
        div.pictures {
            (picture(pixels(&before.values), scale, &alt("before"), &html! { strong { "Before" } }))
            (picture(pixels(after), scale, &alt("after"), &html! { strong { "After" } }))
            (picture(pixels(difference), of_differences, &format!("After less before, differences up to {most}"),
                &html! { strong { "Difference" } ", after \u{2212} before" }))
        }
        div.charts {
            (colour_bar(scale, &with_units("Before and after", units), has_nan))
            (colour_bar(of_differences, &with_units("Difference", units), false))
        }
    }
}

fn as_lines(before: &LevelResult, after: &[f64], difference: &[f64], ids: &mut Ids) -> Markup {
    if before.values.len() == 1 {
        let value = |values: &[f64]| values.first().copied().map_or_else(String::new, figure);
        return html! {
            p { "The one value was " (value(&before.values)) " and is " (value(after)) ", a difference of " (value(difference)) "." }
        };
    }
    let words = |title: &str| of_line(title, place(before), before);
    html! {
        div.charts {
            figure {
                (lines(places(before), &[(&before.values, BAR), (after, SECOND)], &words("The values before and after"), ids))
                figcaption { strong { "Values" } ": the wide line is before, the narrow one over it after." }
            }
            figure {
                (lines(places(before), &[(difference, BAR)], &words("The difference, after less before"), ids))
                figcaption { strong { "Difference" } ", after \u{2212} before." }
            }
        }
    }
}

fn histograms(comparison: &Comparison, quantization: &QuantizationResult, ids: &mut Ids) -> Markup {
    let Comparison { before, values, errors, .. } = comparison;
    let across = |name: &str| with_units(name, before.units.as_deref());
    let codes = codes(values.min, values.max, quantization);
    let marks: Vec<Mark> = quantization
        .bound
        .filter(|bound| *bound > 0.0)
        .map(|bound| [(-bound, "\u{2212}bound"), (bound, "bound")])
        .into_iter()
        .flatten()
        .map(|(value, label)| Mark { value, label: label.to_owned() })
        .collect();
    let greatest = quantization.max_abs_error.map_or_else(String::new, figure);
    html! {
        div.charts {
            figure {
                (chart::histogram(values, (&[], &codes), ("Histogram of the values before", across("values")), ids))
                figcaption { strong { "Values" } " before" (code_words(values.min, values.max, values.counts.len(), quantization)) }
            }
            @if errors.max > 0.0 {
                figure {
                    (chart::histogram(errors, (&marks, &[]), ("Histogram of the errors", across("errors")), ids))
                    figcaption { strong { "Errors" } ", after \u{2212} before; the maximum of all is " (greatest)
                        @if let Some(bound) = quantization.bound { ", the bound " (figure(bound)) } "." }
                }
            } @else {
                p { "Each of these values came back as it was." }
            }
        }
    }
}

/// Codes that are marked one by one; of more, none would be seen.
const MOST_CODES: f64 = 150.0;

/// The values of the codes in a range, where these are few enough to be seen.
fn codes(min: f64, max: f64, quantization: &QuantizationResult) -> Vec<f64> {
    let literal = |json: &Option<Json>| match json {
        Some(Json::Number(number)) => Some(number.as_f64()),
        _ => None,
    };
    let (Some(step), Some(scale), Some(offset)) =
        (quantization.step, literal(&quantization.scale), literal(&quantization.offset))
    else {
        return Vec::new();
    };
    if !(step > 0.0 && (max - min) / step <= MOST_CODES && scale.is_finite()) {
        return Vec::new();
    }
    let first = ((min - offset) / step).ceil();
    let mut codes = Vec::new();
    let mut number = first;
    while offset + number * step <= max && codes.len() < 200 {
        codes.push(offset + number * step);
        number += 1.0;
    }
    codes
}

/// The width of codes compared with that of bins.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a number of bins, at most a thousand million"
)]
fn code_words(min: f64, max: f64, bins: usize, quantization: &QuantizationResult) -> String {
    let Some(step) = quantization.step.filter(|step| *step > 0.0) else { return ".".to_owned() };
    let all = match quantization.codes {
        Some([first, last]) => counted(last.abs_diff(first).saturating_add(1), "code"),
        None => "codes".to_owned(),
    };
    let in_bin = (max - min) / bins.max(1) as f64 / step;
    let in_bin = if in_bin >= 1.0 {
        format!("a bin is {} steps wide", figure((in_bin * 10.0).round() / 10.0))
    } else if (max - min) / step <= MOST_CODES {
        "the ticks at the top are the codes".to_owned()
    } else {
        format!("a step is {} bins wide", count((1.0 / in_bin.max(1e-9)).round() as u64))
    };
    format!("; {all}, {} apart: {in_bin}.", figure(step))
}

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

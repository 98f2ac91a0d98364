//! The pictures of a quantised array: a slice before, after and their difference, and histograms of values and errors.

use maud::{Markup, html};

use super::chart::{histogram, lines, with_units};
use super::picture::{Pixels, Scale, colour_bar, picture};
use super::{Ids, capital, text};
use crate::metadata::Json;
use crate::operation::drawing::{Comparison, finite_range};
use crate::operation::{LevelResult, QuantizationResult};
use crate::report::inspect_preview;
use crate::report::quantity::{approximate, count, counted, figure, whole};

/// Returns all pictures of a comparison.
pub(super) fn pictures(comparison: &Comparison, quantization: &QuantizationResult, ids: &mut Ids) -> Markup {
    let Comparison { before, after, .. } = comparison;
    let difference: Vec<f64> = before.values.iter().zip(after).map(|(before, after)| after - before).collect();
    let range = finite_range(before.values.iter().chain(after));
    let drawn = counted(before.values.len() as u64, "element");
    html! {
        @match range {
            None => { p { "There is no finite value to draw." } }
            Some(range) => {
                p { "Pictures and histograms are of " (drawn) ": " bdi { (location(before)) } ". The figures above are for all." }
                @if before.size().0 == 1 { (as_lines(before, after, &difference, ids)) }
                @else { (as_pictures(before, after, &difference, range)) }
                (histograms(comparison, quantization, ids))
            }
        }
    }
}

fn as_pictures(before: &LevelResult, after: &[f64], difference: &[f64], (low, high): (f64, f64)) -> Markup {
    let units = before.units.as_deref();
    let scale = Scale::new(Some((low, high)));
    let of_differences = Scale::of_differences(finite_range(difference));
    let pixels = |values| Pixels::new(before, values);
    let most = figure(of_differences.max);
    let alt = |name: &str| format!("The level {name}, values from {} to {}", figure(low), figure(high));
    html! {
        div.pictures {
            (picture(pixels(&before.values), scale, &alt("before"), &html! { strong { "Before" } }))
            (picture(pixels(after), scale, &alt("after"), &html! { strong { "After" } }))
            (picture(pixels(difference), of_differences, &format!("After less before, differences up to {most}"),
                &html! { strong { "Difference" } ", after \u{2212} before" }))
        }
        div.charts {
            (colour_bar(scale, &with_units("Before and after", units), after))
            (colour_bar(of_differences, &with_units("Difference", units), &[]))
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
    let of_values = html! { strong { "Values" } ": the wide line is before, the narrow one over it after." };
    let of_difference = html! { strong { "Difference" } ", after \u{2212} before." };
    html! {
        div.charts {
            (lines(before, &[&before.values, after], ("The values before and after", location(before)), of_values, ids))
            (lines(before, &[difference], ("The difference, after less before", location(before)), of_difference, ids))
        }
    }
}

fn histograms(comparison: &Comparison, quantization: &QuantizationResult, ids: &mut Ids) -> Markup {
    let Comparison { before, values, errors, .. } = comparison;
    let across = |name: &str| with_units(name, before.units.as_deref());
    let codes = codes(values.min, values.max, quantization);
    let bound = quantization.bound.filter(|bound| *bound > 0.0);
    let marks = bound.map(|bound| vec![(-bound, "\u{2212}bound"), (bound, "bound")]).unwrap_or_default();
    let words = code_words(values.min, values.max, values.counts.len(), quantization);
    let of_values = html! { strong { "Values" } " before" (words) };
    let of_errors = html! {
        strong { "Errors" } ", after \u{2212} before; the maximum of all is "
        (quantization.max_abs_error.map_or_else(String::new, figure))
        @if let Some(bound) = quantization.bound { ", the bound " (figure(bound)) } "."
    };
    html! {
        div.charts {
            (histogram(values, (&[], &codes), ("Histogram of the values before", across("values")), of_values, ids))
            @if errors.max > 0.0 {
                (histogram(errors, (&marks, &[]), ("Histogram of the errors", across("errors")), of_errors, ids))
            } @else {
                p { "Each of these values is unchanged." }
            }
        }
    }
}

/// The maximum number of codes that are marked. More would not be visible.
const MOST_CODES: f64 = 150.0;

/// Returns the values of the codes in a range. Empty if there are too many to be visible.
fn codes(min: f64, max: f64, quantization: &QuantizationResult) -> Vec<f64> {
    let literal = |json: &Option<Json>| Some(json.as_ref()?.as_number()?.as_f64());
    let (Some(step), Some(scale), Some(offset)) =
        (quantization.step, literal(&quantization.scale), literal(&quantization.offset))
    else {
        return Vec::new();
    };
    if !(step > 0.0 && (max - min) / step <= MOST_CODES && scale.is_finite()) {
        return Vec::new();
    }
    let first = ((min - offset) / step).ceil();
    // The range has at most MOST_CODES codes, so 200 steps reach its end.
    (0..200).map(|number| offset + (first + f64::from(number)) * step).take_while(|code| *code <= max).collect()
}

/// Returns the width of codes compared with that of bins, in words.
fn code_words(min: f64, max: f64, bins: usize, quantization: &QuantizationResult) -> String {
    let Some(step) = quantization.step.filter(|step| *step > 0.0) else { return ".".to_owned() };
    let number = quantization.codes.map(|[first, last]| last.abs_diff(first).saturating_add(1));
    let all = number.map_or_else(|| "codes".to_owned(), |number| counted(number, "code"));
    let in_bin = (max - min) / approximate(bins.max(1) as u64) / step;
    let in_bin = if in_bin >= 1.0 {
        format!("a bin is {} steps wide", figure((in_bin * 10.0).round() / 10.0))
    } else if (max - min) / step <= MOST_CODES {
        "the ticks at the top are the codes".to_owned()
    } else {
        format!("a step is {} bins wide", count(whole((1.0 / in_bin.max(1e-9)).round()) as u64))
    };
    format!("; {all}, {} apart: {in_bin}.", figure(step))
}

/// Returns the slice with its scale.
pub(super) fn drawn(level: &LevelResult, ids: &mut Ids) -> Markup {
    let (range, location) = (finite_range(&level.values), location(level));
    let Some((low, high)) = range else {
        return html! { p { "There is no finite value to draw: " bdi { (location) } "." } };
    };
    if level.values.len() == 1 {
        return html! { p { "The one value is " (figure(level.values[0])) "." } };
    }
    let name = with_units("values", level.units.as_deref());
    let words = format!("{name} from {} to {}: {location}", figure(low), figure(high));
    let caption = html! { strong { (capital(&name)) } ": " bdi { (location) } "." };
    if level.size().0 == 1 {
        return lines(level, &[&level.values], (&capital(&name), words), caption, ids);
    }
    let scale = Scale::new(range);
    html! {
        div {
            (picture(Pixels::new(level, &level.values), scale, &words, &caption))
            (colour_bar(scale, &name, &level.values))
        }
    }
}

/// Returns the part of the array that is drawn, in words.
pub(super) fn location(level: &LevelResult) -> String {
    let mut location = vec![inspect_preview::location(&level.axes, &level.at, level.is_upside_down)];
    if level.is_window() {
        let part = |line: &Vec<u64>| match (line.first(), line.last()) {
            (Some(first), Some(last)) => format!("{first} to {last}"),
            _ => String::new(),
        };
        let parts: Vec<String> = level.lines.iter().map(part).collect();
        location.push(format!("; the part in its middle, elements {}", parts.join(" and ")));
    }
    if level.is_thinned() {
        let drawn: Vec<String> = level.lines.iter().map(|line| line.len().to_string()).collect();
        let elements: usize = level.lines.iter().map(Vec::len).product();
        let elements = counted(elements as u64, "element");
        location.push(format!("; {elements} of it, evenly spread ({})", drawn.join(" \u{d7} ")));
    }
    text(&location.concat())
}

//! Pictures of arrays: PNG inside the page, with a bar of their colours. For a quantised array: a slice before, after
//! and their difference, and histograms of values and errors.
//!
//! Charts as SVG inside the page, in the colours of its style.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use super::{Ids, capital, text};
use crate::metadata::Json;
use crate::operation::drawing::{Comparison, finite_range};
use crate::operation::{HistogramResult, LevelResult, QuantizationResult};
use crate::report::inspect_preview::{self, colour, mixed, png, share};
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

/// The minimum number of pixels of the longer side. Hatching is then visible in a picture of few values, too.
const LEAST_PIXELS: usize = 256;

/// Values in row-major order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pixels<'a> {
    pub values: &'a [f64],
    pub columns: usize,
    /// True if the first row is drawn at the bottom.
    pub is_upside_down: bool,
}

/// Returns a picture with its words and its caption.
pub(super) fn picture(pixels: Pixels<'_>, scale: Scale, words: &str, caption: &Markup) -> Markup {
    html! {
        figure {
            @match uri(pixels, scale) {
                Some(uri) => { img.picture src=(uri) alt=(words) style=(format!("--w:{};--h:{}", pixels.columns, pixels.rows())); }
                None => { p { (words) } }
            }
            figcaption { (caption) }
        }
    }
}

/// The bar of a scale, with its ends in numbers, and what is hatched where any of the values is.
pub(super) fn colour_bar(scale: Scale, label: &str, values: &[f64]) -> Markup {
    let ramp: Vec<f64> = (0..COLOURS).map(|step| f64::from(step) / f64::from(COLOURS - 1)).collect();
    let shares = Scale { min: 0.0, max: 1.0, ..scale };
    let row = |values, columns| Pixels { values, columns, is_upside_down: false };
    let hatched = uri(row(&[f64::NAN; 12], 4), scale);
    html! {
        div.scale {
            div { (label) }
            @if let Some(uri) = uri(row(&ramp, ramp.len()), shares) { img src=(uri) alt=""; }
            div.ends {
                span { (figure(scale.min)) }
                @if scale.is_of_differences { span { "0" } }
                span { (figure(scale.max)) }
            }
            @if values.iter().any(|value| value.is_nan()) { @if let Some(uri) = hatched {
                div.faint { img.swatch src=(uri) alt=""; " hatched grey: NaN or missing" }
            } }
        }
    }
}

impl<'a> Pixels<'a> {
    /// Returns values in the layout of a slice.
    pub(super) fn new(level: &LevelResult, values: &'a [f64]) -> Self {
        Pixels { values, columns: level.size().1, is_upside_down: level.is_upside_down }
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }
}

/// Returns the picture as a `data:` address. `None` if it cannot be encoded.
fn uri(pixels: Pixels<'_>, scale: Scale) -> Option<String> {
    encoded(pixels, scale).ok().map(|bytes| format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
}

fn encoded(pixels: Pixels<'_>, scale: Scale) -> Result<Vec<u8>, png::EncodingError> {
    let Pixels { values, columns, is_upside_down } = pixels;
    let rows = pixels.rows();
    // The page stretches a bar of one row.
    let factor =
        if rows <= 1 && columns == usize::from(COLOURS) { 1 } else { LEAST_PIXELS.div_ceil(columns.max(rows).max(1)) };
    let (width, height) = (columns * factor, rows * factor);
    let mut indices = Vec::with_capacity(width * height);
    for y in 0..height {
        let row = if is_upside_down { rows - 1 - y / factor } else { y / factor };
        let row = &values[row * columns..][..columns];
        for x in 0..width {
            // Diagonal stripes of four pixels.
            let hatched = COLOURS + u8::from((x + y) / 4 % 2 == 0);
            indices.push(scale.index(row[x / factor]).unwrap_or(hatched));
        }
    }
    png((width, height), Some(scale.palette()), &indices)
}

/// The number of colours of a scale. The palette also has two greys for NaN.
const COLOURS: u8 = 254;

/// The colours of differences at the minimum, 0 and the maximum: blue, white, red, as `RdBu` of `ColorBrewer`.
const DIFFERENCES: [u32; 3] = [0x21_66_ac, 0xf7_f7_f7, 0xb2_18_2b];

/// A scale of colours for values from `min` to `max`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub min: f64,
    pub max: f64,
    /// True for differences, with white at 0 in the middle.
    pub is_of_differences: bool,
}

impl Scale {
    /// Returns the scale of values in a range.
    pub(super) fn new(range: Option<(f64, f64)>) -> Self {
        let (min, max) = range.unwrap_or_default();
        Scale { min, max, is_of_differences: false }
    }

    /// Returns the scale of differences, symmetric about 0.
    pub(super) fn of_differences(range: Option<(f64, f64)>) -> Self {
        let most = range.map_or(0.0, |(low, high)| low.abs().max(high.abs()));
        Scale { min: -most, max: most, is_of_differences: true }
    }

    /// Returns the index of a value in the palette. `None` for NaN.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share from 0 to 1 of the colours")]
    pub(super) fn index(self, value: f64) -> Option<u8> {
        share(value, self.min, self.max).map(|share| (share * f64::from(COLOURS - 1)).round() as u8)
    }

    /// Returns red, green and blue of each colour, then of the two greys.
    pub(super) fn palette(self) -> Vec<u8> {
        let of = |step: u8| {
            let share = f64::from(step) / f64::from(COLOURS - 1);
            if self.is_of_differences { mixed(&DIFFERENCES, share) } else { colour(share) }
        };
        // These are 256 entries, the most that the palette of a PNG has.
        (0..COLOURS).flat_map(of).chain([125; 3]).chain([176; 3]).collect()
    }
}

/// The right end of the horizontal axis, and the lower end of the vertical one. The unit is that of the font size. A
/// phone shows it at three quarters.
const END: (f64, f64) = (436.0, 202.0);

/// The maximum number of bars of a histogram. A bar is then hardly wider than a pixel.
const MOST_BARS: usize = 400;

/// The colour and the width of the lines of each series.
const SERIES: [(&str, u32); 2] = [("var(--bar)", 2), ("var(--second)", 1)];

/// The title and description for people who cannot see the chart, its axis titles (across, up), and its caption.
struct Words<'a> {
    title: &'a str,
    description: String,
    axes: [String; 2],
    caption: Markup,
}

/// Returns bars for counts, with marks across them, and ticks at the top for codes. `across` is the title of the axis
/// of values.
pub(super) fn histogram(
    data: &HistogramResult,
    (marks, codes): (&[(f64, &str)], &[f64]),
    (title, across): (&str, String),
    caption: Markup,
    ids: &mut Ids,
) -> Markup {
    let mut description = description(data, marks);
    if !codes.is_empty() {
        let _ = write!(description, " {} codes are marked at the top.", codes.len());
    }
    let words = Words { title, description, axes: [across, "elements".to_owned()], caption };
    // Neighbours that are too close to distinguish are drawn as one. The page then does not grow with the bins.
    let together = data.counts.len().div_ceil(MOST_BARS).max(1);
    let bins = data.counts.len().max(1);
    let counts: Vec<u64> = data.counts.chunks(together).map(|some| some.iter().sum()).collect();
    let most = approximate(counts.iter().copied().max().unwrap_or(0).max(1)) * 1.06;
    let top = if marks.is_empty() { 8.0 } else { 22.0 };
    let x = Axis::new((data.min, data.max), [68.0, END.0], figure);
    let y = Axis::new((0.0, most), [END.1, top], short);
    let edge = |bin: usize| x.at(approximate((bin * together).min(bins) as u64) / approximate(bins as u64));
    let drawn = html! {
        @for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            @let (left, upper) = (edge(bin), y.at(approximate(*count) / most));
            @let (width, height) = (rounded(edge(bin + 1) - left), rounded(END.1 - upper));
            rect x=(rounded(left)) y=(rounded(upper)) width=(width) height=(height) fill="var(--bar)" {}
        }
        @for x in codes.iter().filter_map(|code| x.offset(*code)) {
            path d=(format!("M{x:.1} {top}v6")) stroke="var(--second)" {}
        }
        @for (x, label) in marks.iter().filter_map(|(value, label)| Some((x.offset(*value)?, label))) {
            path d=(format!("M{x:.1} {}V{top}", END.1)) stroke="var(--second)" stroke-width="2" {}
            text x=(rounded(x)) y=(top - 6.0) text-anchor="middle" fill="var(--ink)" { (label) }
        }
    };
    svg(&words, [&x, &y], &drawn, ids)
}

/// Returns lines along the single dimension of a slice, at most as many as [`SERIES`]. A value that is not finite makes
/// a gap.
pub(super) fn lines(
    level: &LevelResult,
    series: &[&[f64]],
    (title, description): (&str, String),
    caption: Markup,
    ids: &mut Ids,
) -> Markup {
    let across = level.axes.last().map_or_else(String::new, |axis| text(&inspect_preview::axis(axis)));
    let axes = [across, with_units("values", level.units.as_deref())];
    let words = Words { title, description, axes, caption };
    let indices = level.lines.last().map_or(&[][..], Vec::as_slice);
    let range = finite_range(series.iter().copied().flatten()).unwrap_or((0.0, 1.0));
    let ends = [indices.first().copied().unwrap_or(0), indices.last().copied().unwrap_or(1)].map(approximate).into();
    let (x, y) = (Axis::new(ends, [84.0, END.0], short), Axis::new(range, [END.1 - 7.0, 14.0], figure));
    let point = |(index, value): (&u64, &f64)| Some((x.offset(approximate(*index))?, y.offset(*value)?));
    let drawn = html! { @for (values, (colour, width)) in series.iter().zip(SERIES) {
        @let points: Vec<_> = indices.iter().zip(*values).map(point).collect();
        @for line in points.split(Option::is_none) {
            @match line {
                [Some((x, y))] => circle cx=(rounded(*x)) cy=(rounded(*y)) r="2" fill=(colour) {},
                _ => {
                    @let line: Vec<String> = line.iter().flatten().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                    polyline points=(line.join(" ")) fill="none" stroke=(colour) stroke-width=(width) {}
                }
            }
        }
    } };
    svg(&words, [&x, &y], &drawn, ids)
}

/// Returns a name with its units, if known: `values (K)`.
pub(super) fn with_units(name: &str, units: Option<&str>) -> String {
    units.map_or_else(|| name.to_owned(), |units| text(&format!("{name} ({units})")))
}

/// Returns the SVG element with a title and a description, both axes with their labels, and grid lines.
fn svg(words: &Words, [across, up]: [&Axis; 2], drawn: &Markup, ids: &mut Ids) -> Markup {
    let (title, description) = (ids.next(), ids.next());
    let labelled = format!("{title} {description}");
    let ([left, right], top, bottom) = (across.ends, up.ends[1], END.1);
    let turned = format!("translate(16 {}) rotate(-90)", f64::midpoint(top, bottom));
    html! {
        figure {
            svg viewBox="0 0 460 250" role="img" aria-labelledby=(labelled) font-size="11" fill="var(--faint)" {
                title id=(title) { (words.title) }
                desc id=(description) { (words.description) }
                @for (y, label) in up.labels() {
                    path d=(format!("M{left} {y:.1}H{right}")) stroke="var(--grid)" {}
                    text x=(left - 8.0) y=(rounded(y + 4.0)) text-anchor="end" { (label) }
                }
                @for (x, label) in across.labels() {
                    path d=(format!("M{x:.1} {bottom}v5")) stroke="var(--faint)" {}
                    text x=(rounded(x)) y=(bottom + 17.0) text-anchor="middle" { (label) }
                }
                path d=(format!("M{left} {top}V{bottom}H{right}")) fill="none" stroke="var(--faint)" {}
                text x=(f64::midpoint(left, right)) y="240" text-anchor="middle" { (words.axes[0]) }
                text transform=(turned) text-anchor="middle" { (words.axes[1]) }
                (drawn)
            }
            figcaption { (words.caption) }
        }
    }
}

/// Returns a coordinate, rounded to a tenth of a unit.
fn rounded(offset: f64) -> String {
    format!("{offset:.1}")
}

/// An axis from one value to another: the coordinates of both, and the format of its labels.
struct Axis {
    range: (f64, f64),
    ends: [f64; 2],
    label: fn(f64) -> String,
}

impl Axis {
    /// Returns an axis. An axis of one value has the length of its absolute value, at least 1.
    fn new((min, max): (f64, f64), ends: [f64; 2], label: fn(f64) -> String) -> Self {
        let around = if min == max { min.abs().max(1.0) / 2.0 } else { 0.0 };
        Axis { range: (min - around, max + around), ends, label }
    }

    /// Returns the coordinate at a share of the axis.
    fn at(&self, share: f64) -> f64 {
        self.ends[0] * (1.0 - share) + self.ends[1] * share
    }

    /// Returns the coordinate of a value. `None` if it is outside by more than a rounding error. It uses halves, since
    /// an axis may be longer than the greatest float.
    fn offset(&self, value: f64) -> Option<f64> {
        let (min, max) = self.range;
        let share = (value / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0);
        (-1e-9..=1.0 + 1e-9).contains(&share).then(|| self.at(share))
    }

    /// Returns about five labels with their coordinates, at multiples of 1, 2 or 5 times a power of ten. If floats
    /// cannot count in such steps, the labels are at both ends.
    fn labels(&self) -> Vec<(f64, String)> {
        let (min, max) = self.range;
        let (width, largest) = (max - min, min.abs().max(max.abs()));
        let mut values = vec![min, max];
        if (1e-100..1e100).contains(&width) && width > largest * 1e-9 {
            let power = 10_f64.powf((width / 5.0).log10().floor());
            let step = [1.0, 2.0, 5.0].into_iter().map(|factor| factor * power).find(|step| step * 5.0 >= width);
            let step = step.unwrap_or(10.0 * power);
            values = (0..=5).map(|number| ((min / step).ceil() + f64::from(number)) * step).collect();
        }
        values.iter().filter_map(|value| Some((self.offset(*value)?, (self.label)(*value)))).collect()
    }
}

/// Returns a count in few characters: `1.2M`.
fn short(number: f64) -> String {
    // The least number that is written with a unit, the unit, and its letter.
    const UNITS: [(f64, f64, &str); 4] = [(1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")];
    let unit = UNITS.iter().find(|(least, ..)| number.abs() >= *least);
    unit.map_or_else(|| figure(number), |(_, unit, name)| figure((number / unit * 100.0).round() / 100.0) + name)
}

/// Returns a histogram in words.
fn description(data: &HistogramResult, marks: &[(f64, &str)]) -> String {
    let fullest = data.counts.iter().enumerate().max_by_key(|(bin, count)| (**count, std::cmp::Reverse(*bin)));
    let (all, bins) = (count(data.counts.iter().sum()), data.counts.len());
    let (min, max) = (figure(data.min), figure(data.max));
    let mut words = format!("{all} values in {bins} bins of equal width from {min} to {max}.");
    if let Some((bin, most)) = fullest.filter(|(_, most)| **most > 0) {
        let _ = write!(words, " The fullest is bin {} with {}.", bin + 1, count(*most));
    }
    for (label, part) in [("below", data.below), ("above", data.above)].iter().filter(|(_, part)| *part > 0) {
        let _ = write!(words, " {label}: {}.", count(*part));
    }
    for (value, label) in marks {
        let _ = write!(words, " Marked: {label} at {}.", figure(*value));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_holds_the_colours_and_hatches_nan() {
        let values = [0.0, 8.0, f64::NAN, 4.0];
        let pixels = Pixels { values: &values, columns: 2, is_upside_down: false };
        let at = decoded(pixels);
        assert_eq!((at(0, 0), at(255, 0)), (vec![68, 1, 84], vec![253, 231, 37]));
        assert_ne!(at(0, 255), at(4, 255));
        assert!(at(0, 255).iter().all(|part| *part == at(0, 255)[0]), "grey");
        let at = decoded(Pixels { is_upside_down: true, ..pixels });
        assert_eq!((at(0, 255), at(255, 255)), (vec![68, 1, 84], vec![253, 231, 37]));
    }

    /// Returns the colour of each pixel of a picture of values from 0 to 8, 256 pixels wide and high.
    fn decoded(pixels: Pixels<'_>) -> impl Fn(usize, usize) -> Vec<u8> {
        let bytes = encoded(pixels, Scale::new(Some((0.0, 8.0)))).unwrap();
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (256, 256));
        move |x, y| pixels[(y * 256 + x) * 3..][..3].to_vec()
    }

    #[test]
    fn scale_of_differences_is_white_at_zero() {
        let scale = Scale::of_differences(Some((-1.0, 3.0)));
        assert_eq!((scale.min, scale.max), (-3.0, 3.0));
        let palette = scale.palette();
        let middle = usize::from(scale.index(0.0).unwrap()) * 3;
        assert!(palette[middle..middle + 3].iter().all(|part| *part > 240), "{:?}", &palette[middle..middle + 3]);
        assert_eq!(palette.len(), 256 * 3);
        assert_eq!((scale.index(f64::NAN), scale.index(-3.0), scale.index(9.0)), (None, Some(0), Some(253)));
    }
}

#[cfg(test)]
mod chart_tests {
    use super::*;

    fn drawn(min: f64, max: f64) -> String {
        let data = HistogramResult { min, max, counts: vec![1, 0, 5], below: 0, above: 2 };
        let words = ("values <x>", "values (K)".to_owned());
        let caption = html! { "below" };
        histogram(&data, (&[(max, "bound <b>")], &[]), words, caption, &mut Ids::default()).into_string()
    }

    #[test]
    fn any_range_is_drawn() {
        for (min, max) in [
            (f64::MIN, f64::MAX),
            (0.0, f64::from_bits(1)),
            (1e300, 1.000_000_000_000_001e300),
            (1.0, 1.0),
            (0.0, 0.0),
            (-1e-320, 1e-310),
            (9_007_199_254_740_991.0, 9_007_199_254_740_993.0),
        ] {
            assert!(drawn(min, max).starts_with("<figure><svg"), "{min} to {max}");
        }
    }

    #[test]
    fn counts_are_short() {
        assert_eq!([0.0, 9999.0, 20_000.0, 1_250_000.0].map(short), ["0", "9999", "20k", "1.25M"]);
    }
}

//! Charts as SVG inside the page, in the colours of its style.

use std::fmt::Write;

use maud::{Markup, html};

use super::{Ids, text};
use crate::operation::drawing::finite_range;
use crate::operation::{HistogramResult, LevelResult};
use crate::report::inspect_preview;
use crate::report::quantity::{approximate, count, figure};

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

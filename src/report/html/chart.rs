//! Charts as SVG inside the page. The colours are placeholders that the style of the page replaces, light or dark.

use std::fmt::Write;
use std::ops::Range;

use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Ids;
use crate::operation::HistogramResult;
use crate::report::quantity::{count, figure};

const INK: RGBColor = RGBColor(1, 1, 1);
const FAINT: RGBColor = RGBColor(2, 2, 2);
const GRID: RGBColor = RGBColor(3, 3, 3);
/// The colour of the first series.
pub(super) const BAR: RGBColor = RGBColor(4, 4, 4);
/// The colour of the second series.
pub(super) const SECOND: RGBColor = RGBColor(5, 5, 5);

/// Width and height, in letters' units: a phone shows it at three quarters.
const SIZE: (u32, u32) = (460, 250);

/// Letters, in the same units.
const LETTERS: i32 = 13;
/// Bars of a histogram at most: one is hardly wider than a pixel then.
const MOST_BARS: usize = 400;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Fault = DrawingAreaErrorKind<std::io::Error>;
type Drawn = Result<(), Fault>;

/// The words of a chart for those who do not see it, and the titles of its axes: across, and up.
#[derive(Debug)]
pub(super) struct Words {
    pub title: String,
    pub description: String,
    pub axes: [String; 2],
}

/// A value that a line across a histogram marks.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub value: f64,
    pub label: String,
}

/// Bars as high as their counts, marks across them, and ticks at the top where codes are. `across` is the title of the axis
/// of values.
pub(super) fn histogram(
    data: &HistogramResult,
    (marks, codes): (&[Mark], &[f64]),
    (title, across): (&str, String),
    ids: &mut Ids,
) -> Markup {
    let mut description = description(data, marks);
    if !codes.is_empty() {
        let _ = write!(description, " {} codes are marked at the top.", codes.len());
    }
    let words = Words { title: title.to_owned(), description, axes: [across, "elements".to_owned()] };
    svg(&words, ids, |area| draw_histogram(area, &words, data, (marks, codes)))
}

/// Lines of values at places; a gap where a value is not finite.
pub(super) fn lines(places: &[u64], series: &[(&[f64], RGBColor)], words: &Words, ids: &mut Ids) -> Markup {
    svg(words, ids, |area| draw_lines(area, words, places, series))
}

/// Runs a drawing. Nothing but a bug keeps it from succeeding; then the words stand alone.
fn svg(words: &Words, ids: &mut Ids, draw: impl FnOnce(&Area<'_>) -> Drawn) -> Markup {
    let mut drawn = String::new();
    let outcome = {
        let area = SVGBackend::with_string(&mut drawn, SIZE).into_drawing_area();
        draw(&area).and_then(|()| area.present())
    };
    // The element itself is written here: with a role, and words for those who do not see it.
    let inside = drawn.split_once('>').and_then(|(_, rest)| rest.trim_end().strip_suffix("</svg>"));
    let (title, description) = (ids.next(), ids.next());
    html! {
        @match inside.filter(|_| outcome.is_ok()) {
            Some(inside) => { svg viewBox=(format!("0 0 {} {}", SIZE.0, SIZE.1)) role="img" aria-labelledby=(format!("{title} {description}")) {
                title id=(title) { (words.title) }
                desc id=(description) { (words.description) }
                (PreEscaped(inside))
            } }
            None => { p { (words.title) ": " (words.description) } }
        }
    }
}

/// The frame of a chart: both axes with their labels, and lines across.
struct Frame<'f> {
    /// The first and the last value to the right and upwards.
    ends: [Range<f64>; 2],
    /// The room above, and that of the labels beside.
    above: i32,
    beside: i32,
    /// The number of labels along each axis, and their texts.
    labels: [usize; 2],
    label: [&'f dyn Fn(&f64) -> String; 2],
    titles: &'f [String; 2],
}

impl Frame<'_> {
    /// Draws it; what is in it is drawn into the chart.
    fn draw<'a, 'b>(self, area: &'a Area<'b>) -> Result<Chart<'a, 'b>, Fault> {
        let [across, up] = self.ends;
        let mut chart = ChartBuilder::on(area)
            .margin(6)
            .margin_right(24)
            .margin_top(self.above)
            .x_label_area_size(42)
            .y_label_area_size(self.beside)
            .build_cartesian_2d(across, up)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(FAINT)
            .label_style(("sans-serif", LETTERS).into_font().color(&FAINT))
            .x_labels(self.labels[0])
            .y_labels(self.labels[1])
            .x_label_formatter(self.label[0])
            .y_label_formatter(self.label[1])
            .axis_desc_style(("sans-serif", LETTERS).into_font().color(&FAINT))
            .x_desc(&self.titles[0])
            .y_desc(&self.titles[1])
            .draw()?;
        Ok(chart)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts and bins are drawn to a pixel")]
fn draw_histogram(area: &Area<'_>, words: &Words, data: &HistogramResult, (marks, codes): (&[Mark], &[f64])) -> Drawn {
    let axis = Axis::new(data.min, data.max);
    // Neighbours that no eye could tell apart are drawn as one, so that the page does not grow with the bins.
    let together = data.counts.len().div_ceil(MOST_BARS).max(1);
    let (bins, counts) = (data.counts.len().max(1), data.counts.chunks(together).map(|some| some.iter().sum()));
    let counts: Vec<u64> = counts.collect();
    let top = counts.iter().copied().max().unwrap_or(0).max(1) as f64 * 1.06;
    let frame = Frame {
        ends: [axis.start..axis.end, 0.0..top],
        above: if marks.is_empty() { 8 } else { 22 },
        beside: 62,
        labels: [axis.labels, 4],
        label: [&|place| axis.label(*place), &|number| short(*number)],
        titles: &words.axes,
    };
    let mut chart = frame.draw(area)?;
    let edge = |bin: usize| {
        let share = (bin * together).min(bins) as f64 / bins as f64;
        axis.start * (1.0 - share) + axis.end * share
    };
    let bars = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    chart.draw_series(
        bars.map(|(bin, count)| Rectangle::new([(edge(bin), 0.0), (edge(bin + 1), *count as f64)], BAR.filled())),
    )?;
    let ticks = codes.iter().filter_map(|code| axis.place(*code));
    chart.draw_series(ticks.map(|place| PathElement::new([(place, top * 0.97), (place, top)], SECOND)))?;
    for mark in marks {
        let Some(place) = axis.place(mark.value) else { continue };
        let line = [(place, 0.0), (place, top)];
        chart.draw_series(std::iter::once(PathElement::new(line, SECOND.stroke_width(2))))?;
        let (x, y) = chart.backend_coord(&(place, top));
        let style = ("sans-serif", LETTERS).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Bottom));
        area.draw(&Text::new(mark.label.clone(), (x, y - 3), style))?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "places are drawn to a pixel")]
fn draw_lines(area: &Area<'_>, words: &Words, places: &[u64], series: &[(&[f64], RGBColor)]) -> Drawn {
    let all = series.iter().flat_map(|(values, _)| values.iter());
    let (low, high) = crate::operation::drawing::finite_range(all).unwrap_or((0.0, 1.0));
    let axis = Axis::new(low, high);
    let room = (axis.end - axis.start) * 0.04;
    let ends = (places.first().copied().unwrap_or(0) as f64, places.last().copied().unwrap_or(1) as f64);
    let ends = if ends.0 < ends.1 { ends } else { (ends.0 - 0.5, ends.0 + 0.5) };
    let frame = Frame {
        ends: [ends.0..ends.1, axis.start - room..axis.end + room],
        above: 6,
        beside: 78,
        labels: [5, 5],
        label: [&|place| short(*place), &|value| axis.label(*value)],
        titles: &words.axes,
    };
    let mut chart = frame.draw(area)?;
    for (values, colour) in series {
        let points = places.iter().zip(*values);
        let points: Vec<_> =
            points.map(|(place, value)| axis.place(*value).map(|value| (*place as f64, value))).collect();
        for line in points.split(Option::is_none) {
            let line: Vec<(f64, f64)> = line.iter().flatten().copied().collect();
            match line.as_slice() {
                [] => {}
                [point] => {
                    chart.draw_series(std::iter::once(Circle::new(*point, 2, colour.filled())))?;
                }
                _ => {
                    let style = colour.stroke_width(if *colour == SECOND { 1 } else { 2 });
                    chart.draw_series(std::iter::once(PathElement::new(line, style)))?;
                }
            }
        }
    }
    Ok(())
}

/// An axis over a range of any width: in its own numbers where the library can count in them, else from 0 to 1.
#[derive(Debug, Clone, Copy)]
struct Axis {
    start: f64,
    end: f64,
    labels: usize,
    range: Option<(f64, f64)>,
}

impl Axis {
    fn new(min: f64, max: f64) -> Self {
        let (min, max) =
            if min == max { (min - min.abs().max(1.0) / 2.0, max + max.abs().max(1.0) / 2.0) } else { (min, max) };
        let (width, largest) = (max - min, min.abs().max(max.abs()));
        if (1e-100..1e100).contains(&width) && width > largest * 1e-9 {
            return Axis { start: min, end: max, labels: 5, range: None };
        }
        Axis { start: 0.0, end: 1.0, labels: 2, range: Some((min, max)) }
    }

    /// The position of a value; `None` outside.
    fn place(self, value: f64) -> Option<f64> {
        let place = match self.range {
            None => value,
            Some((min, max)) => (value / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0),
        };
        (place >= self.start && place <= self.end).then_some(place)
    }

    fn label(self, place: f64) -> String {
        let value = self.range.map_or(place, |(min, max)| min * (1.0 - place) + max * place);
        // What is left of a zero after roundings is shown as one.
        let largest = self.start.abs().max(self.end.abs());
        figure(if self.range.is_none() && value.abs() < largest * 1e-9 { 0.0 } else { value })
    }
}

/// A count in few letters: `1.2M`.
fn short(number: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")];
    let unit = UNITS.iter().find(|(unit, _)| number.abs() >= *unit);
    unit.map_or_else(
        || figure(number),
        |(unit, name)| figure((number / if *name == "k" { 1e3 } else { *unit } * 100.0).round() / 100.0) + name,
    )
}

/// A histogram in words.
fn description(data: &HistogramResult, marks: &[Mark]) -> String {
    let bins = data.counts.len();
    let all: u64 = data.counts.iter().sum();
    let fullest = data.counts.iter().enumerate().max_by_key(|(bin, count)| (**count, std::cmp::Reverse(*bin)));
    let mut words = format!(
        "{} values in {bins} bins of equal width from {} to {}.",
        count(all),
        figure(data.min),
        figure(data.max)
    );
    if let Some((bin, most)) = fullest.filter(|(_, most)| **most > 0) {
        let _ = write!(words, " The fullest is bin {} with {}.", bin + 1, count(*most));
    }
    for (label, part) in [("below", data.below), ("above", data.above)] {
        if part > 0 {
            let _ = write!(words, " {label}: {}.", count(part));
        }
    }
    for mark in marks {
        let _ = write!(words, " Marked: {} at {}.", mark.label, figure(mark.value));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(min: f64, max: f64) -> String {
        let data = HistogramResult { min, max, counts: vec![1, 0, 5], below: 0, above: 2 };
        let mark = Mark { value: max, label: "bound <b>".to_owned() };
        let words = ("values <x>", "values (K)".to_owned());
        histogram(&data, (&[mark], &[]), words, &mut Ids::default()).into_string()
    }

    #[test]
    fn histogram_is_one_svg_with_words() {
        let svg = drawn(0.0, 3.0);
        assert!(svg.starts_with("<svg viewBox=") && svg.ends_with("</svg>"), "{svg}");
        assert_eq!(svg.matches("fill=\"#040404\"").count(), 2, "{svg}");
        assert!(svg.contains("values &lt;x&gt;") && !svg.contains("<b>") && svg.contains("6 values in 3 bins"));
        assert!(svg.contains("values (K)") && svg.contains("elements"), "titles of the axes: {svg}");
        assert!(!svg.contains("http"));
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
            assert!(drawn(min, max).starts_with("<svg"), "{min} to {max}");
        }
    }

    #[test]
    fn counts_are_short() {
        assert_eq!([0.0, 9999.0, 20_000.0, 1_250_000.0].map(short), ["0", "9999", "20k", "1.25M"]);
    }
}

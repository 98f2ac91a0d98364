//! The numbers of the pictures in a report: no part of any `--json`.

use serde::Serialize;

/// Counts of values in bins of equal width, absent chunks included, as `numpy.histogram` counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct HistogramResult {
    /// The lower edge of the first bin.
    pub min: f64,
    /// The upper edge of the last bin, which belongs to it.
    pub max: f64,
    /// One for each bin.
    pub counts: Vec<u64>,
    /// Less than `min`, -Infinity too.
    pub below: u64,
    /// Greater than `max`, +Infinity too. NaN is nowhere.
    pub above: u64,
}

/// A dimension of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PreviewAxis {
    /// Its number.
    pub axis: u64,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its length, in elements.
    pub length: u64,
}

/// Where a slice is taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PreviewIndex {
    /// The dimension.
    pub axis: u64,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// The index along it.
    pub index: u64,
}

/// A part of an array of two dimensions or fewer, at some of its elements.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LevelResult {
    /// The dimension that runs down and the one that runs to the right; one alone runs to the right.
    pub axes: Vec<PreviewAxis>,
    /// Where the level is taken along the others.
    pub at: Vec<PreviewIndex>,
    /// The elements that are drawn along each of `axes`.
    pub lines: Vec<Vec<u64>>,
    /// Their values, row by row; NaN also where they are missing.
    pub values: Vec<f64>,
    /// The attribute `units` of the array.
    pub units: Option<String>,
    /// True if the first row belongs at the bottom of a picture: the rows are latitudes from south to north.
    pub is_upside_down: bool,
}

/// The pictures of an array's values in a report.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ArrayDrawing {
    /// A level; `None` of an array without elements, or of values that are no real numbers.
    pub level: Option<LevelResult>,
    /// The values by size.
    pub histogram: Option<HistogramResult>,
    /// True if the histogram is over all values of the array; else over those of `level`.
    pub is_of_all: bool,
    /// Why there is less than there could be.
    pub note: Option<String>,
}

impl ArrayDrawing {
    /// Nothing, and why.
    pub(super) fn noted(note: impl Into<String>) -> Self {
        ArrayDrawing { note: Some(note.into()), ..ArrayDrawing::default() }
    }
}

/// The values of one array before and after.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ComparedArray {
    /// The array, as in the result.
    pub path: String,
    /// Its pictures, or why there are none, in one line.
    pub comparison: Result<Comparison, String>,
}

/// An array before and after a quantisation, at the same elements.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// As SOURCE has it; NaN also where DEST has NaN, of values that counted as missing.
    pub before: LevelResult,
    /// As DEST gives it back; in float64, without what `--as plain` leaves to its maker.
    pub after: Vec<f64>,
    /// The values of `before` that are finite, by size.
    pub values: HistogramResult,
    /// `after - before` where both are finite, by size.
    pub errors: HistogramResult,
}

impl LevelResult {
    /// Rows and columns of `values`.
    pub fn size(&self) -> (usize, usize) {
        let columns = self.lines.last().map_or(1, Vec::len);
        (self.values.len() / columns.max(1), columns)
    }

    /// True if elements between those that are drawn are left out.
    pub fn is_thinned(&self) -> bool {
        self.lines.iter().any(|line| line.windows(2).any(|pair| pair[1] - pair[0] > 1))
    }

    /// True if the level goes on beyond what is drawn.
    pub fn is_window(&self) -> bool {
        let goes_on = |(axis, line): (&PreviewAxis, &Vec<u64>)| match (line.first(), line.last()) {
            (Some(first), Some(last)) => {
                // Of thinned lines each element stands in the middle of what it is drawn for.
                let step = (last - first) / (line.len() as u64 - 1).max(1) + 1;
                *first > step || axis.length - last > step
            }
            _ => false,
        };
        self.axes.iter().zip(&self.lines).any(goes_on)
    }
}

/// The least and the greatest of the finite values.
pub fn finite_range<'a>(values: impl IntoIterator<Item = &'a f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().copied().filter(|value| value.is_finite());
    finite.fold(None, |range: Option<(f64, f64)>, value| {
        Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_of_finite_values() {
        assert_eq!(finite_range(&[f64::NAN, 2.0, f64::INFINITY, -1.0]), Some((-1.0, 2.0)));
        assert_eq!(finite_range(&[f64::NAN]), None);
    }

    #[test]
    fn level_knows_what_it_leaves_out() {
        let level = |length, line: Vec<u64>| LevelResult {
            axes: vec![PreviewAxis { axis: 0, name: None, length }],
            at: Vec::new(),
            values: vec![0.0; line.len()],
            lines: vec![line],
            units: None,
            is_upside_down: false,
        };
        assert!(!level(3, vec![0, 1, 2]).is_thinned() && !level(3, vec![0, 1, 2]).is_window());
        assert!(level(9, vec![1, 4, 7]).is_thinned() && !level(9, vec![1, 4, 7]).is_window());
        assert!(level(100, vec![40, 41, 42]).is_window() && !level(100, vec![40, 41, 42]).is_thinned());
    }
}

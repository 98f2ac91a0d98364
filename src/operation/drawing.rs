//! The numbers of the pictures in a report. Types that do not serialise are in no `--json`.

use serde::Serialize;

/// Counts of values in bins of equal width, as `numpy.histogram` counts. Absent chunks are included.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct HistogramResult {
    /// The lower edge of the first bin.
    pub min: f64,
    /// The upper edge of the last bin, which includes it.
    pub max: f64,
    /// The count of each bin.
    pub counts: Vec<u64>,
    /// The count of values less than `min`, also -Infinity.
    pub below: u64,
    /// The count of values greater than `max`, also +Infinity. NaN is not counted.
    pub above: u64,
}

/// A dimension of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PreviewAxis {
    /// Number of the dimension.
    pub axis: u64,
    /// Name of the dimension, if it has one.
    pub name: Option<String>,
    /// The length in elements.
    pub length: u64,
}

/// The index of a slice along a dimension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PreviewIndex {
    /// The number of the dimension.
    pub axis: u64,
    /// Name of the dimension, if it has one.
    pub name: Option<String>,
    /// The index.
    pub index: u64,
}

/// A slice of at most two dimensions, with some of its elements.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelResult {
    /// The vertical and the horizontal dimension. A single one is horizontal.
    pub axes: Vec<PreviewAxis>,
    /// The indices of the slice along the other dimensions.
    pub at: Vec<PreviewIndex>,
    /// The indices of the drawn elements along each of `axes`.
    pub lines: Vec<Vec<u64>>,
    /// The values in row-major order. NaN also if a value is missing.
    pub values: Vec<f64>,
    /// The attribute `units` of the array.
    pub units: Option<String>,
    /// True if the first row belongs at the bottom: the rows are latitudes from south to north. Only for pictures.
    pub is_upside_down: bool,
}

/// The pictures of an array's values in a report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArrayDrawing {
    /// The slice. `None` for an array without elements, or with values that are not real numbers.
    pub level: Option<LevelResult>,
    /// The histogram of the values.
    pub histogram: Option<HistogramResult>,
    /// True if the histogram counts all values of the array. Otherwise it counts those of `level`.
    pub is_of_all: bool,
    /// The reason why a picture is missing or incomplete.
    pub note: Option<String>,
}

impl ArrayDrawing {
    /// Returns a drawing without pictures, with the reason.
    pub(super) fn noted(note: impl Into<String>) -> Self {
        ArrayDrawing { note: Some(note.into()), ..ArrayDrawing::default() }
    }
}

/// The values of one array before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedArray {
    /// The path of the array, as in the result.
    pub path: String,
    /// The pictures, or the reason why there are none, in one line.
    pub comparison: Result<Comparison, String>,
}

/// An array before and after a quantisation, at the same elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The values of SOURCE. NaN also where DEST has NaN for values that counted as missing.
    pub before: LevelResult,
    /// The values of DEST as float64. The codes of `--as plain` are decoded.
    pub after: Vec<f64>,
    /// The histogram of the finite values of `before`.
    pub values: HistogramResult,
    /// The histogram of `after - before` where both are finite.
    pub errors: HistogramResult,
}

impl LevelResult {
    /// Returns the number of rows and of columns of `values`.
    pub fn size(&self) -> (usize, usize) {
        let columns = self.lines.last().map_or(1, Vec::len);
        (self.values.len() / columns.max(1), columns)
    }

    /// True if elements between the drawn ones are left out.
    pub fn is_thinned(&self) -> bool {
        self.lines.iter().any(|line| line.windows(2).any(|pair| pair[1] - pair[0] > 1))
    }

    /// True if the slice continues beyond the drawn elements.
    pub fn is_window(&self) -> bool {
        let goes_on = |(axis, line): (&PreviewAxis, &Vec<u64>)| match (line.first(), line.last()) {
            (Some(first), Some(last)) => {
                // In a thinned line, each element is the middle of those that it represents.
                let step = (last - first) / (line.len() as u64 - 1).max(1) + 1;
                *first > step || axis.length - last > step
            }
            _ => false,
        };
        self.axes.iter().zip(&self.lines).any(goes_on)
    }
}

/// Returns the minimum and the maximum of the finite values. `None` if there are none.
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

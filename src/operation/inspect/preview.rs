//! The picture of `--preview`, a two-dimensional slice reduced to pixels. Also the numbers for the pictures of
//! `--report`, from a bounded number of chunks.

use super::{Contents, Stop};
use crate::array::{ChunkFault, StoredArray};
use crate::metadata::{ArrayMetadata, array::num_elements};
use crate::operation::drawing::finite_range;
use crate::operation::histogram::{BINS, Binning, absent, range_of};
use crate::operation::options::{PictureSize, PreviewOptions};
use crate::operation::slice::{Side, Slice, SliceReader, is_upside_down, units};
use crate::operation::{
    ArrayDrawing, ArrayResult, FaultClass, Histogram, LevelResult, Numbers, OperationError, PreviewResult, Result,
    Stats, explain, inspect_result::PreviewRow, stored::listed,
};

/// The maximum number of elements of a slice that is read whole.
const MOST_ELEMENTS: u64 = 1 << 26;

/// The maximum number of objects of a slice that is read whole.
const MOST_OBJECTS: u64 = 1 << 18;

/// The maximum number of objects that are requested by key. If there are more, the stored ones are listed first.
const MOST_PROBED: u64 = 1 << 12;

impl Contents<'_> {
    /// Adds the requested pictures. A chunk that cannot be read is a finding.
    pub(super) fn preview(&self, numbers: &Numbers, wanted: &PreviewOptions, result: &mut ArrayResult) -> Result<()> {
        let at = indices(&self.source.metadata, &self.source.store, &wanted.at)?;
        let draw = |size| self.draw(numbers, &slice(&self.source.metadata, &at, size));
        let pictures = wanted.picture.map(draw).transpose().and_then(|picture| {
            result.preview = picture;
            wanted.image.map(draw).transpose()
        });
        match pictures {
            Ok(image) => result.image = image,
            // The other picture is of the same slice, and would give the same finding again.
            Err(Stop::Fault(fault)) => self.found(fault, result)?,
            Err(Stop::Error(error)) => return Err(error),
        }
        Ok(())
    }

    /// Reads a slice.
    fn draw(&self, numbers: &Numbers, slice: &Slice) -> Result<PreviewResult, Stop> {
        let array = self.fold.array;
        let mut objects = slice.objects(array);
        if objects.len() > MOST_PROBED {
            objects = objects.common(&listed(self.source, self.fold.driver).map_err(Stop::Error)?.present);
        }
        let reader = SliceReader::new(slice, self.source, numbers);
        let mut values = reader.read(self.fold, "preview", &objects).map_err(Stop::Fault)?;
        let is_mean = slice.sides[1].is_mean;
        values.iter_mut().filter(|value| !is_mean && value.is_infinite()).for_each(|value| *value = f64::NAN);
        let (min, max) = finite_range(&values).unzip();
        let (axes, at) = slice.axes(&self.source.metadata);
        Ok(PreviewResult {
            axes,
            at,
            reduction: if is_mean { "mean" } else { "nearest" },
            min,
            max,
            values: values.chunks(slice.sides[1].pixels.len()).map(|row| PreviewRow(row.to_vec())).collect(),
            units: units(&self.source.metadata),
            is_upside_down: is_upside_down(self.source, slice, self.fold.driver),
        })
    }

    /// Returns a slice and a histogram. The histogram is the requested one, or one of all values. For a large array it
    /// is of the slice. A chunk that cannot be read is a note.
    pub(super) fn drawing(&self, numbers: Option<&Numbers>, result: &ArrayResult) -> Result<ArrayDrawing> {
        let Some(numbers) = numbers else {
            let data_type = &self.source.data_type;
            let note = format!("values of type {data_type} are not real numbers and are not drawn");
            return Ok(ArrayDrawing::noted(note));
        };
        let (array, metadata) = (self.fold.array, &self.source.metadata);
        let Some(slice) = Slice::in_middle(&metadata.shape, &[array], PIXELS) else {
            return Ok(ArrayDrawing::noted("the array has no elements to draw"));
        };
        let (fold, histogram) = (self.fold, result.histogram.clone());
        let mut drawing = ArrayDrawing { histogram, is_of_all: true, ..ArrayDrawing::default() };
        let counts_all = drawing.histogram.is_none() && is_small(array);
        let range = match &result.stats {
            _ if !counts_all => None,
            Some(stats) => range_of(stats),
            None => Stats::of(numbers, fold, false).map(|stats| range_of(&stats)).or_else(|fault| {
                drawing.note = Some(self.note(fault)?);
                Ok::<_, OperationError>(None)
            })?,
        };
        let reader = SliceReader::new(&slice, self.source, numbers);
        let picture = if let Some(range) = range {
            let histogram = Histogram::new(numbers.number_type(), BINS, range);
            // The pass for the histogram reads all chunks, so it also serves the slice.
            let both = (Binning { numbers, histogram }, reader);
            fold.run("picture", &both).map(|found| {
                let absent = absent(fold, &found);
                drawing.histogram = Some(both.0.finish(found.part.0, absent));
                both.1.values(&found.part.1)
            })
        } else {
            reader.read(fold, "picture", &slice.objects(array))
        };
        match picture {
            Ok(values) => {
                let is_upside_down = is_upside_down(self.source, &slice, self.fold.driver);
                drawing.level = Some(LevelResult { is_upside_down, ..slice.level(metadata, values) });
            }
            Err(fault) => drawing.note = Some(self.note(fault)?),
        }
        if let (None, false, Some(level)) = (&drawing.histogram, counts_all, &drawing.level) {
            let range = finite_range(&level.values);
            drawing.histogram = range.map(|range| Histogram::of(&level.values, range));
            drawing.is_of_all = false;
        }
        Ok(drawing)
    }

    /// Returns the reason why a chunk cannot be read. An error if the run was interrupted.
    fn note(&self, fault: ChunkFault) -> Result<String> {
        let error = explain(fault, &self.fold.array.metadata, &self.source.store, None);
        if error.class() == FaultClass::Interrupted { Err(error) } else { Ok(error.in_one_line()) }
    }
}

/// Returns the given index along each dimension. `None` where there is none.
fn indices(metadata: &ArrayMetadata, store: &str, given: &[(String, u64)]) -> Result<Vec<Option<u64>>> {
    let mut at = vec![None; metadata.shape.len()];
    for (axis, index) in given {
        let dimension = dimension(metadata, store, axis)?;
        let length = metadata.shape[dimension];
        if *index >= length {
            let outside = format!("--preview {axis}={index} is outside of `{store}`");
            return Err(OperationError::data(format!("{outside}: that dimension has {length} elements"))
                .with_help("indices count from 0"));
        }
        if at[dimension].replace(*index).is_some() {
            return Err(OperationError::usage(format!("--preview {axis}={index}: this dimension is given twice"))
                .with_help("give one index for each dimension"));
        }
    }
    if metadata.shape.contains(&0) {
        return Err(OperationError::data(format!("`{store}` has no elements to preview")));
    }
    Ok(at)
}

/// Returns the slice of the last two dimensions without a given index, within `size`. Others have that index, or 0.
fn slice(metadata: &ArrayMetadata, at: &[Option<u64>], size: PictureSize) -> Slice {
    let mut free = (0..at.len()).rev().filter(|dimension| at[*dimension].is_none());
    let right = free.next();
    let down = free.next();
    let length = |side: Option<usize>, shape: &[u64]| side.map_or(1, |dimension| shape[dimension]);
    let grid = metadata.grid.counts();
    let (height, width) = (length(down, &metadata.shape), length(right, &metadata.shape));
    let is_mean = length(down, &grid).saturating_mul(length(right, &grid)) <= MOST_OBJECTS
        && height.checked_mul(width).is_some_and(|elements| elements <= MOST_ELEMENTS);
    let (rows, columns) = fit(height, width, size);
    let sides = [Side::new(down, (0, height), rows, is_mean), Side::new(right, (0, width), columns, is_mean)];
    Slice { sides, at: at.iter().map(|index| index.unwrap_or_default()).collect() }
}

/// Returns the dimension of this name or number.
fn dimension(metadata: &ArrayMetadata, store: &str, axis: &str) -> Result<usize> {
    let names = metadata.dimension_names.as_deref().unwrap_or_default();
    let named = names.iter().position(|name| name.as_deref() == Some(axis));
    let numbered = axis.parse().ok().filter(|dimension| *dimension < metadata.shape.len());
    named.or(numbered).ok_or_else(|| {
        let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        let known = if names.is_empty() { String::new() } else { format!(", or {}", names.join(", ")) };
        OperationError::data(format!("`{store}` has no dimension {axis:?}"))
            .with_help(format!("name one of 0 to {}{known}", metadata.shape.len().saturating_sub(1)))
    })
}

/// Returns the rows and columns of a picture. It has the proportions of the slice, unless a strip would be too thin.
fn fit(height: u64, width: u64, size: PictureSize) -> (u64, u64) {
    /// The minimum width and height of a picture, unless its slice is smaller.
    const LEAST: u64 = 16;
    let scaled = |length: u64, by: u64, of: u64| {
        let scaled = (u128::from(length) * u128::from(by) + u128::from(of) / 2) / u128::from(of.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    };
    let columns = width.min(size.columns);
    let rows = scaled(height, columns, width) / size.pixel_height;
    let rows = rows.max(LEAST / size.pixel_height).min(height);
    if rows <= size.rows {
        return (rows.max(1), columns.max(1));
    }
    let rows = height.min(size.rows);
    let columns = scaled(width, rows.saturating_mul(size.pixel_height), height);
    (rows.max(1), columns.max(LEAST).min(width).min(size.columns).max(1))
}

/// The maximum width and height of a picture, in pixels.
const PIXELS: u64 = 512;

/// The maximum number of elements of an array that is counted whole.
const MOST_COUNTED: u64 = 1 << 26;

/// The maximum number of objects of such an array.
const MOST_COUNTED_OBJECTS: u64 = 1 << 12;

/// True if the whole array is counted.
fn is_small(array: &StoredArray) -> bool {
    num_elements(&array.metadata.shape).is_some_and(|elements| elements <= MOST_COUNTED)
        && array.metadata.num_chunks() <= MOST_COUNTED_OBJECTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_keeps_the_proportions_of_its_slice() {
        let size = PictureSize { columns: 80, rows: 40, pixel_height: 1 };
        assert_eq!(fit(1000, 2000, size), (40, 80));
        assert_eq!(fit(2000, 1000, size), (40, 20));
        assert_eq!(fit(24, 30, size), (24, 30));
        assert_eq!(fit(1, 1_000_000, size), (1, 80));
        assert_eq!(fit(1_000_000, 30, size), (40, 16));
        assert_eq!(fit(1, 1, size), (1, 1));
        assert_eq!(fit(u64::MAX, u64::MAX, size), (40, 40));
        assert_eq!(fit(1000, 2000, PictureSize { pixel_height: 2, rows: 20, ..size }), (20, 80));
    }
}

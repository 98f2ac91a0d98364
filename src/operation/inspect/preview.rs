//! `--preview`: a two-dimensional slice, reduced to a picture. Only the chunks that the slice meets are read, and what
//! is kept of each is its part of the picture.

use super::picture::{Picture, Reduction};
use crate::array::ChunkSet;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::reader::ReadBuffers;
use crate::array::stored::StoredArray;
use crate::codec::region::as_index;
use crate::engine::driver::Driver;
use crate::engine::listing;
use crate::engine::progress::Progress;
use crate::grid::{Region, ravel};
use crate::metadata::array::ArrayMetadata;
use crate::operation::error::OperationError;
use crate::operation::fault::explain;
use crate::operation::inspect_result::{PreviewAxis, PreviewIndex, PreviewResult, PreviewRow};
use crate::operation::numbers::CfNumbers;
use crate::operation::open::OpenedArray;
use crate::operation::options::PictureSize;

/// Slices of more elements than this are not read whole.
const MOST_ELEMENTS: u64 = 1 << 26;

/// Nor are those of more objects.
const MOST_OBJECTS: u64 = 1 << 18;

/// Objects that are looked for by their keys; among more, those that are there are listed first.
const MOST_PROBED: u64 = 1 << 12;

/// A slice of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slice {
    /// The dimension that runs down, where there are two, and that which runs to the right, where there is one.
    axes: [Option<usize>; 2],
    /// The index along each dimension; 0 along those that run.
    at: Vec<u64>,
}

/// A slice on its way to a picture.
struct Preview<'a> {
    side: &'a StoredArray,
    numbers: &'a CfNumbers,
    slice: &'a Slice,
    down: Reduction,
    right: Reduction,
}

impl Slice {
    /// The last two dimensions that no index is given for; the others where they are given, or at 0.
    pub(super) fn of(
        metadata: &ArrayMetadata,
        store: &str,
        given: &[(String, u64)],
    ) -> Result<Self, OperationError> {
        let rank = metadata.shape.len();
        let mut at: Vec<Option<u64>> = vec![None; rank];
        for (axis, index) in given {
            let dimension = dimension(metadata, store, axis)?;
            let length = metadata.shape[dimension];
            if *index >= length {
                return Err(OperationError::data(format!(
                    "--preview {axis}={index} is outside of `{store}`: that dimension has {length} elements"
                ))
                .with_help("indices count from 0"));
            }
            at[dimension] = Some(*index);
        }
        if metadata.shape.contains(&0) {
            return Err(OperationError::data(format!("`{store}` has no elements to preview")));
        }
        let mut free = (0..rank).rev().filter(|dimension| at[*dimension].is_none());
        let right = free.next();
        let down = free.next();
        Ok(Slice { axes: [down, right], at: at.into_iter().map(Option::unwrap_or_default).collect() })
    }

    fn length(&self, place: usize, shape: &[u64]) -> u64 {
        self.axes[place].map_or(1, |dimension| shape[dimension])
    }

    /// Objects of the stored grid that the slice meets.
    fn num_objects(&self, metadata: &ArrayMetadata) -> u64 {
        let grid = metadata.chunk_grid_shape();
        self.length(0, &grid).saturating_mul(self.length(1, &grid))
    }
}

/// The dimension of this name or number.
fn dimension(metadata: &ArrayMetadata, store: &str, axis: &str) -> Result<usize, OperationError> {
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

/// What is drawn.
#[derive(Debug)]
pub(super) struct Drawn<'a> {
    /// The array.
    pub source: &'a OpenedArray,
    /// It, with its chain bound.
    pub side: &'a StoredArray,
    /// Its elements as numbers.
    pub numbers: &'a CfNumbers,
    /// The part that is drawn.
    pub slice: &'a Slice,
}

impl Drawn<'_> {
    /// Reads the slice into a picture of at most `size`. An error of the data where a chunk cannot be read.
    pub(super) fn draw(
        &self,
        size: PictureSize,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<PreviewResult, OperationError> {
        let Drawn { source, side, numbers, slice } = *self;
        let (store, metadata) = (&source.store, &source.metadata);
        let (height, width) = (slice.length(0, &metadata.shape), slice.length(1, &metadata.shape));
        let (rows, columns) = fit(height, width, size);
        let is_mean = slice.num_objects(metadata) <= MOST_OBJECTS
            && height.checked_mul(width).is_some_and(|elements| elements <= MOST_ELEMENTS);
        let down = Reduction { length: height, pixels: rows, is_mean };
        let right = Reduction { length: width, pixels: columns, is_mean };
        let preview = Preview { side, numbers, slice, down, right };
        let objects = preview.objects(driver).map_err(|error| OperationError::cannot_list(store, error))?;
        let picture = preview.read(&objects, driver, progress);
        let mut picture = picture.map_err(|fault| explain(fault, &side.metadata, store, None))?;
        let fill_value = source.fill_value.as_ref().map_or(f64::NAN, |fill| numbers.value(fill.as_bytes()));
        picture.fill_absent(fill_value, &down, &right);
        Ok(result(source, slice, &picture, is_mean))
    }
}

/// Rows and columns of a picture that keeps the slice's proportions, as far as a long strip is still seen.
fn fit(height: u64, width: u64, size: PictureSize) -> (u64, u64) {
    /// A picture is no narrower than this, where its slice is not.
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

impl Preview<'_> {
    /// The objects that the slice needs, as far as they may be there.
    fn objects(&self, driver: &Driver) -> Result<ChunkSet, crate::store::StoreError> {
        let metadata = &self.side.metadata;
        let chunk_of = |place: usize| {
            let axis = self.slice.axes[place];
            move |element| axis.map_or(element, |dimension| metadata.grid.chunk_of(dimension, element))
        };
        let needed: [Vec<u64>; 2] = [self.down.chunks(chunk_of(0)), self.right.chunks(chunk_of(1))];
        let grid = metadata.chunk_grid_shape();
        let at = Region::between(self.slice.at.clone(), &self.slice.at);
        let mut position = metadata.grid.chunks_in(&at).start;
        let count = (needed[0].len() as u64).saturating_mul(needed[1].len() as u64);
        let listed = if count > MOST_PROBED {
            Some(listing::list(&self.side.node, metadata, driver)?.present)
        } else {
            None
        };
        let mut indices = Vec::new();
        for down in &needed[0] {
            for right in &needed[1] {
                for (axis, index) in self.slice.axes.iter().zip([down, right]) {
                    if let Some(dimension) = axis {
                        position[*dimension] = *index;
                    }
                }
                let index = ravel(&position, &grid);
                if listed.as_ref().is_none_or(|present| present.contains(index)) {
                    indices.push(index);
                }
            }
        }
        Ok(ChunkSet::from_indices(indices))
    }

    fn read(
        &self,
        objects: &ChunkSet,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<Picture, ChunkFault> {
        let mut picture = Picture::new((0, self.down.pixels), (0, self.right.pixels));
        progress.start("preview", Some(objects.len().saturating_mul(self.side.chunk_bytes())));
        let outcome = driver.run_ahead::<ReadBuffers, Vec<Picture>>(
            objects,
            &[self.side],
            |buffers, index| self.object(buffers, index),
            |_, parts| {
                for part in &parts {
                    picture.add(part);
                }
                progress.advance(self.side.chunk_bytes());
            },
        );
        progress.finish();
        outcome.map(|()| picture)
    }

    /// The parts of a picture in an object, one for each unit that the slice meets.
    fn object(&self, buffers: &mut ReadBuffers, index: u64) -> Result<Vec<Picture>, Fault> {
        let object = self.side.open(index, buffers)?;
        let mut parts = Vec::new();
        object.each_place(|place| {
            let subchunk = object.subchunk(place);
            let (Some(down), Some(right)) = (self.part(&subchunk, 0), self.part(&subchunk, 1)) else {
                return Ok(());
            };
            let holds = |dimension: usize| {
                let (first, index) = (subchunk.start[dimension], self.slice.at[dimension]);
                self.slice.axes.contains(&Some(dimension))
                    || (index >= first && index - first < subchunk.shape[dimension])
            };
            if !(0..subchunk.start.len()).all(holds) {
                return Ok(());
            }
            if let Some(elements) = object.read(place, &subchunk, buffers)? {
                let mut part = Picture::new(down, right);
                self.gather(&subchunk, elements, &mut part);
                parts.push(part);
            }
            Ok(())
        })?;
        Ok(parts)
    }

    /// The pixels of a subchunk along one side of the picture; `None` where none needs it.
    fn part(&self, subchunk: &Region, place: usize) -> Option<(u64, u64)> {
        let (first, length) = self.extent(subchunk, place);
        [&self.down, &self.right][place].pixels_of(first, length)
    }

    fn extent(&self, subchunk: &Region, place: usize) -> (u64, u64) {
        self.slice.axes[place]
            .map_or((0, 1), |dimension| (subchunk.start[dimension], subchunk.shape[dimension]))
    }

    fn gather(&self, subchunk: &Region, elements: &[u8], part: &mut Picture) {
        let stride = |dimension: usize| subchunk.shape[dimension + 1..].iter().product::<u64>();
        let strides = self.slice.axes.map(|axis| axis.map_or(0, stride));
        let origin: u64 = (0..subchunk.start.len())
            .filter(|dimension| !self.slice.axes.contains(&Some(*dimension)))
            .map(|dimension| (self.slice.at[dimension] - subchunk.start[dimension]) * stride(dimension))
            .sum();
        let (down, right) = (self.extent(subchunk, 0), self.extent(subchunk, 1));
        let size = self.numbers.size();
        self.down.each(down, |row, y| {
            let line = origin + (row - down.0) * strides[0];
            self.right.each(right, |column, x| {
                let at = as_index(line + (column - right.0) * strides[1]) * size;
                let value =
                    elements.get(at..at + size).map_or(f64::NAN, |element| self.numbers.value(element));
                part.put(y, x, value);
            });
        });
    }
}

fn result(source: &OpenedArray, slice: &Slice, picture: &Picture, is_mean: bool) -> PreviewResult {
    let shape = &source.metadata.shape;
    let names = source.metadata.dimension_names.as_deref().unwrap_or_default();
    let name = |dimension: usize| names.get(dimension).cloned().flatten();
    let axes = slice.axes.iter().flatten();
    let fixed = (0..shape.len()).filter(|dimension| !slice.axes.contains(&Some(*dimension)));
    let values = picture.values();
    let finite = || values.iter().flatten().copied().filter(|value| value.is_finite());
    PreviewResult {
        axes: axes
            .map(|axis| PreviewAxis { axis: *axis as u64, name: name(*axis), length: shape[*axis] })
            .collect(),
        at: fixed
            .map(|axis| PreviewIndex { axis: axis as u64, name: name(axis), index: slice.at[axis] })
            .collect(),
        reduction: if is_mean { "mean" } else { "nearest" },
        min: finite().reduce(f64::min),
        max: finite().reduce(f64::max),
        values: values.into_iter().map(PreviewRow).collect(),
    }
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

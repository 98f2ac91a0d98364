//! A level of an array for a picture: the last two dimensions at the middle of all others, at elements that are evenly
//! spread. However large the array is, a bounded number of chunks is read: where the level has more, a window in its
//! middle is taken.

use std::ops::Range;

use super::drawing::LevelResult;
use super::inspect_result::{PreviewAxis, PreviewIndex};
use super::numbers::CfNumbers;
use super::open::OpenedArray;
use crate::array::ChunkSet;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::reader::ReadBuffers;
use crate::array::stored::StoredArray;
use crate::codec::region::{advance, as_index};
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::grid::{Region, ravel};

/// Chunks (inner ones of shards) that are read for a picture, at most.
const MOST_CHUNKS: u64 = 1 << 11;

/// Bytes of these, decoded.
const MOST_BYTES: u64 = 1 << 30;

/// The elements of arrays of one shape that are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    /// The dimension that runs down, where there are two, and that which runs to the right, where there is one.
    axes: [Option<usize>; 2],
    /// The index along each dimension; 0 along those that run.
    at: Vec<u64>,
    /// The elements along each side, in order; one where no dimension runs.
    lines: [Vec<u64>; 2],
}

impl Level {
    /// The level of arrays of this shape that is drawn with at most `pixels` a side; `None` where they have no elements.
    pub(super) fn of(shape: &[u64], arrays: &[&StoredArray], pixels: u64) -> Option<Self> {
        if shape.contains(&0) {
            return None;
        }
        let rank = shape.len();
        let axes = [rank.checked_sub(2), rank.checked_sub(1)];
        let middle = |(dimension, length): (usize, &u64)| {
            if axes.contains(&Some(dimension)) { 0 } else { length / 2 }
        };
        let mut at: Vec<u64> = shape.iter().enumerate().map(middle).collect();
        let mut extents = axes.map(|axis| (0, axis.map_or(1, |dimension| shape[dimension])));
        loop {
            let lines = extents.map(|extent| spread(extent, pixels));
            let level = Level { axes, at, lines };
            let needed = |side: usize| {
                arrays.iter().map(|array| level.chunks_along(array, side).len() as u64).max().unwrap_or(1)
            };
            let needed = [needed(0), needed(1)];
            let chunks = needed[0].saturating_mul(needed[1]);
            let bytes = arrays.iter().map(|array| level.bytes_of(array)).max().unwrap_or(0);
            if chunks == 1 || (chunks <= MOST_CHUNKS && bytes <= MOST_BYTES) {
                return Some(level);
            }
            // The window keeps its middle and loses half of the side that takes more chunks.
            let side = usize::from(needed[1] >= needed[0]);
            let (first, length) = extents[side];
            let half = (length / 2).max(1);
            extents[side] = (first + (length - half) / 2, half);
            at = level.at;
        }
    }

    /// The same level of an array that has so many more elements in front of it along each dimension.
    pub(super) fn moved_by(&self, skipped: &[u64]) -> Self {
        let mut moved = self.clone();
        for (dimension, skipped) in skipped.iter().enumerate() {
            match self.axes.iter().position(|axis| *axis == Some(dimension)) {
                Some(side) => moved.lines[side].iter_mut().for_each(|line| *line += skipped),
                None => moved.at[dimension] += skipped,
            }
        }
        moved
    }

    /// Bytes of an array that are read of it: chunks, decoded, and the indexes of shards.
    fn bytes_of(&self, array: &StoredArray) -> u64 {
        let along = [self.chunks_along(array, 0), self.chunks_along(array, 1)];
        let chunks = along.iter().map(|chunks| chunks.len() as u64).fold(1, u64::saturating_mul);
        let objects = along.map(|mut chunks| {
            chunks.dedup_by_key(|(object, _)| *object);
            chunks.len() as u64
        });
        let objects = objects.into_iter().fold(1, u64::saturating_mul);
        let decoded = array.subchunk_chain().decoded().num_bytes().unwrap_or(0);
        decoded.saturating_mul(chunks).saturating_add(array.index_bytes().saturating_mul(objects))
    }

    /// Its description, with these values.
    pub(super) fn result(
        &self,
        shape: &[u64],
        names: Option<&[Option<String>]>,
        values: Vec<f64>,
    ) -> LevelResult {
        let name = |dimension: usize| names?.get(dimension).cloned().flatten();
        let running = self.axes.iter().zip(&self.lines).filter_map(|(axis, line)| Some(((*axis)?, line)));
        let fixed = (0..shape.len()).filter(|dimension| !self.axes.contains(&Some(*dimension)));
        LevelResult {
            axes: running
                .clone()
                .map(|(axis, _)| PreviewAxis { axis: axis as u64, name: name(axis), length: shape[axis] })
                .collect(),
            at: fixed
                .map(|axis| PreviewIndex { axis: axis as u64, name: name(axis), index: self.at[axis] })
                .collect(),
            lines: running.map(|(_, line)| line.clone()).collect(),
            values,
        }
    }

    /// The chunks along a side, as far as something is drawn of them: by the grid of objects and the chunk in them.
    fn chunks_along(&self, array: &StoredArray, side: usize) -> Vec<(u64, u64)> {
        let Some(dimension) = self.axes[side] else { return vec![(0, 0)] };
        let grid = &array.metadata.grid;
        let inner = array.layout.as_ref().map(|_| array.subchunk_shape()[dimension].max(1));
        let chunk_of =
            |element: &u64| (grid.chunk_of(dimension, *element), inner.map_or(0, |length| element / length));
        let mut chunks: Vec<(u64, u64)> = self.lines[side].iter().map(chunk_of).collect();
        chunks.dedup();
        chunks
    }

    /// Reads the level of an array. What is not stored has the value of the fill value, NaN where that is missing.
    pub(super) fn read(
        &self,
        (source, array, numbers): (&OpenedArray, &StoredArray, &CfNumbers),
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<Vec<f64>, ChunkFault> {
        let absent = source.fill_value.as_ref().map_or(f64::NAN, |fill| numbers.value(fill.as_bytes()));
        let width = self.lines[1].len();
        let mut values = vec![absent; self.lines[0].len() * width];
        let objects = self.objects(array);
        progress.start("picture", Some(objects.len().saturating_mul(array.chunk_bytes())));
        let reading = Reading { level: self, array, numbers };
        let outcome = driver.run_ahead::<ReadBuffers, Vec<Part>>(
            &objects,
            &[array],
            |buffers, index| reading.object(buffers, index),
            |_, parts| {
                for part in parts {
                    for (row, line) in part.rows.zip(part.values.chunks(part.columns.len().max(1))) {
                        let start = row * width + part.columns.start;
                        values[start..start + line.len()].copy_from_slice(line);
                    }
                }
                progress.advance(array.chunk_bytes());
            },
        );
        progress.finish();
        outcome.map(|()| values)
    }

    /// The objects of an array that hold it.
    fn objects(&self, array: &StoredArray) -> ChunkSet {
        let along = |side: usize| {
            let mut objects: Vec<u64> =
                self.chunks_along(array, side).into_iter().map(|(object, _)| object).collect();
            objects.dedup();
            objects
        };
        let grid = array.metadata.chunk_grid_shape();
        let mut position = array.metadata.grid.chunks_in(&Region::between(self.at.clone(), &self.at)).start;
        let (down, right) = (along(0), along(1));
        let mut indices = Vec::with_capacity(down.len() * right.len());
        for row in &down {
            for column in &right {
                for (axis, index) in self.axes.iter().zip([row, column]) {
                    if let Some(dimension) = axis {
                        position[*dimension] = *index;
                    }
                }
                indices.push(ravel(&position, &grid));
            }
        }
        ChunkSet::from_indices(indices)
    }
}

/// At most so many elements of an extent, each in the middle of what it stands for.
fn spread((first, length): (u64, u64), most: u64) -> Vec<u64> {
    let count = length.min(most.max(1));
    let place = |number: u64| {
        let middle = (u128::from(number) * 2 + 1) * u128::from(length) / (u128::from(count) * 2);
        first + u64::try_from(middle).unwrap_or(u64::MAX)
    };
    (0..count).map(place).collect()
}

/// What a chunk gives to a level.
struct Part {
    rows: Range<usize>,
    columns: Range<usize>,
    values: Vec<f64>,
}

/// A level on its way out of an array.
struct Reading<'a> {
    level: &'a Level,
    array: &'a StoredArray,
    numbers: &'a CfNumbers,
}

impl Reading<'_> {
    fn object(&self, buffers: &mut ReadBuffers, index: u64) -> Result<Vec<Part>, Fault> {
        let mut parts = Vec::new();
        if !self.array.may_hold(index) {
            return Ok(parts);
        }
        let object = self.array.open(index, buffers)?;
        let places = self.places(index);
        let counts: Vec<u64> = places.iter().map(|along| along.len() as u64).collect();
        let mut number = vec![0; counts.len()];
        while !counts.contains(&0) {
            let place: Vec<u64> =
                number.iter().zip(&places).map(|(at, along)| along[as_index(*at)]).collect();
            let subchunk = object.subchunk(&place);
            let (rows, columns) = (self.lines_in(&subchunk, 0), self.lines_in(&subchunk, 1));
            let is_drawn = !rows.is_empty() && !columns.is_empty() && self.holds(&subchunk);
            if is_drawn && let Some(elements) = object.read(&place, &subchunk, buffers)? {
                let values = self.gather(&subchunk, elements, (&rows, &columns));
                parts.push(Part { rows, columns, values });
            }
            if !advance(&mut number, &counts) {
                break;
            }
        }
        Ok(parts)
    }

    /// The places along each dimension of the chunks in an object that the level goes through: of a shard there may be far
    /// more others.
    fn places(&self, index: u64) -> Vec<Vec<u64>> {
        let (start, shape) = (self.array.start_of(index), self.array.shape_of(index));
        let along = |dimension: usize| {
            let Some(inner) = self.array.layout.as_ref().map(|_| self.array.subchunk_shape()[dimension])
            else {
                return vec![0];
            };
            let inside = start[dimension]..start[dimension].saturating_add(shape[dimension]);
            let lines = match self.level.axes.iter().position(|axis| *axis == Some(dimension)) {
                Some(side) => self.level.lines[side].as_slice(),
                None => std::slice::from_ref(&self.level.at[dimension]),
            };
            let mut places: Vec<u64> = lines
                .iter()
                .filter(|line| inside.contains(line))
                .map(|line| (line - inside.start) / inner.max(1))
                .collect();
            places.dedup();
            places
        };
        (0..start.len()).map(along).collect()
    }

    /// Whether the level goes through a chunk along the dimensions that do not run.
    fn holds(&self, subchunk: &Region) -> bool {
        (0..subchunk.start.len()).all(|dimension| {
            let (first, index) = (subchunk.start[dimension], self.level.at[dimension]);
            self.level.axes.contains(&Some(dimension))
                || (index >= first && index - first < subchunk.shape[dimension])
        })
    }

    /// The places of the lines along a side that lie in a chunk.
    fn lines_in(&self, subchunk: &Region, side: usize) -> Range<usize> {
        let lines = &self.level.lines[side];
        let Some(dimension) = self.level.axes[side] else { return 0..lines.len() };
        let (first, length) = (subchunk.start[dimension], subchunk.shape[dimension]);
        let start = lines.partition_point(|line| *line < first);
        start..start + lines[start..].partition_point(|line| line - first < length)
    }

    fn gather(
        &self,
        subchunk: &Region,
        elements: &[u8],
        (rows, columns): (&Range<usize>, &Range<usize>),
    ) -> Vec<f64> {
        let stride = |dimension: usize| subchunk.shape[dimension + 1..].iter().product::<u64>();
        let along = |side: usize, place: usize| {
            let line = self.level.lines[side][place];
            self.level.axes[side]
                .map_or(0, |dimension| (line - subchunk.start[dimension]) * stride(dimension))
        };
        let origin: u64 = (0..subchunk.start.len())
            .filter(|dimension| !self.level.axes.contains(&Some(*dimension)))
            .map(|dimension| (self.level.at[dimension] - subchunk.start[dimension]) * stride(dimension))
            .sum();
        let size = self.numbers.size();
        let value = |row: usize, column: usize| {
            let at = as_index(origin + along(0, row) + along(1, column)) * size;
            elements.get(at..at + size).map_or(f64::NAN, |element| self.numbers.value(element))
        };
        rows.clone()
            .flat_map(|row| columns.clone().map(move |column| (row, column)))
            .map(|(row, column)| value(row, column))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn lines_are_all_elements_or_evenly_spread() {
        assert_eq!(spread((5, 4), 10), [5, 6, 7, 8]);
        assert_eq!(spread((0, 9), 3), [1, 4, 7]);
        assert_eq!(spread((100, 10), 1), [105]);
        let many = spread((0, u64::MAX), 512);
        assert!(many.len() == 512 && many.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

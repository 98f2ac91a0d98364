//! Chunk grids: regular (all chunks have one shape) and rectilinear (each dimension has a list of chunk lengths).
//!
//! Only chunks that begin inside the array are counted. A chunk that reaches beyond the edge is stored as a whole, with
//! its full shape (zarr-extensions, `chunk-grids/rectilinear`; Zarr v3 core, regular grid).
//!
//! Along a dimension, consecutive chunks of the same length are stored as one run. So memory and time do not grow with
//! the number of chunks that a document claims.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum number of dimensions of an array, as in numpy.
pub const MAX_RANK: usize = 64;

/// Chunk grid of an array of known shape. Clones share the axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    axes: Arc<[Axis]>,
    /// Largest chunk length along each dimension.
    largest: Vec<u64>,
    /// True if every chunk has the shape `largest`.
    is_regular: bool,
}

/// Box of elements of an array, or of chunks of a grid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Region {
    /// Position of the first element.
    pub start: Vec<u64>,
    /// Number of elements along each dimension.
    pub shape: Vec<u64>,
}

impl Region {
    /// Returns the box of a whole array of this shape.
    pub fn whole(shape: &[u64]) -> Self {
        Region { start: vec![0; shape.len()], shape: shape.to_vec() }
    }

    /// Returns the box of the chunk at a position of a regular grid.
    pub fn chunk(position: &[u64], shape: &[u64]) -> Self {
        Region { start: zip_with(position, shape, u64::saturating_mul), shape: shape.to_vec() }
    }

    /// Returns the box from `start` up to `end`, which is exclusive.
    pub fn between(start: Vec<u64>, end: &[u64]) -> Self {
        Region { shape: zip_with(end, &start, u64::saturating_sub), start }
    }

    /// Returns the number of elements.
    pub fn num_elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Returns true if the box is empty.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Returns the exclusive end.
    pub fn end(&self) -> Vec<u64> {
        zip_with(&self.start, &self.shape, u64::saturating_add)
    }

    /// Returns true if the box contains an element.
    pub fn contains(&self, position: &[u64]) -> bool {
        let mut axes = self.start.iter().zip(&self.shape).zip(position);
        axes.all(|((start, length), index)| index.checked_sub(*start).is_some_and(|inside| inside < *length))
    }

    /// Returns the intersection with another box. It may be empty.
    #[must_use]
    pub fn common(&self, other: &Region) -> Region {
        self.within(&other.start, &other.end())
    }

    /// Returns the part from `first` up to `end`. It may be empty.
    #[must_use]
    pub fn within(&self, first: &[u64], end: &[u64]) -> Region {
        let axes = self.start.iter().zip(&self.shape).zip(first.iter().zip(end));
        let (start, shape) = axes
            .map(|((start, length), (first, end))| {
                let (from, end) = (*start.max(first), start.saturating_add(*length).min(*end));
                (from, end.saturating_sub(from))
            })
            .unzip();
        Region { start, shape }
    }

    /// Returns the box after `elements` more elements are inserted before the array along each dimension.
    #[must_use]
    pub fn moved_by(&self, elements: &[u64]) -> Region {
        Region { start: zip_with(&self.start, elements, u64::saturating_add), shape: self.shape.clone() }
    }

    /// Returns the box relative to another origin.
    #[must_use]
    pub fn relative_to(&self, start: &[u64]) -> Region {
        Region { start: self.offset_in(start), shape: self.shape.clone() }
    }

    /// Returns the position of the first element relative to another origin.
    pub fn offset_in(&self, start: &[u64]) -> Vec<u64> {
        zip_with(&self.start, start, |a, b| a - b)
    }

    /// Returns the position of an element from its linear index in the box (C order).
    pub fn position(&self, index: u64) -> Vec<u64> {
        let mut position = unravel(index, &self.shape);
        position.iter_mut().zip(&self.start).for_each(|(index, start)| *index += start);
        position
    }

    /// Returns the positions of the elements in C order.
    pub fn cells(&self) -> impl Iterator<Item = Vec<u64>> + use<> {
        let Region { start, shape } = self.clone();
        let first = (!self.is_empty()).then(|| start.clone());
        std::iter::successors(first, move |cell| {
            let mut next = cell.clone();
            for dimension in (0..next.len()).rev() {
                next[dimension] += 1;
                if next[dimension] - start[dimension] < shape[dimension] {
                    return Some(next);
                }
                next[dimension] = start[dimension];
            }
            None
        })
    }

    /// Returns the chunks of this shape that overlap the box, as a box of their grid.
    #[must_use]
    pub fn chunks(&self, chunk_shape: &[u64]) -> Region {
        let start = zip_with(&self.start, chunk_shape, |start, length| start / length);
        Region::between(start, &zip_with(&self.end(), chunk_shape, u64::div_ceil))
    }
}

/// Position of a part in its array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOf {
    /// Indices of its first chunk.
    pub first_chunk: Vec<u64>,
    /// First element of that chunk.
    pub start: Vec<u64>,
    /// True for each dimension whose end cuts chunks that contain more of the whole array.
    pub cuts: Vec<bool>,
}

impl Grid {
    /// Creates the regular grid of chunks of `chunk_shape`, which contains no 0.
    pub fn regular(array_shape: &[u64], chunk_shape: &[u64]) -> Self {
        let axes = array_shape.iter().zip(chunk_shape);
        Self::of_axes(axes.map(|(length, chunk)| Axis::new(*length, [(*chunk, u64::MAX)])).collect())
    }

    /// Creates the grid of these axes. It is regular if the chunk length is constant along each axis.
    pub fn of_axes(axes: Vec<Axis>) -> Self {
        let largest = axes.iter().map(Axis::longest).collect();
        let is_regular = axes.iter().all(Axis::is_uniform);
        Grid { axes: axes.into(), largest, is_regular }
    }

    /// Returns `counts` chunks along each dimension from `first` on, as the grid of an array of this shape.
    #[must_use]
    pub fn part(&self, first: &[u64], counts: &[u64], shape: &[u64]) -> Self {
        if self.is_regular {
            return Self::regular(shape, &self.largest);
        }
        let chunks = self.axes.iter().zip(first.iter().zip(counts).zip(shape));
        let axes = chunks.map(|(axis, ((first, count), length))| axis.part(*first, *count, *length));
        // The largest shape is kept, as users of the whole grid rely on it.
        Grid { axes: axes.collect(), largest: self.largest.clone(), is_regular: false }
    }

    /// Returns the chunks along each dimension.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns the number of chunks along each dimension.
    pub fn counts(&self) -> Vec<u64> {
        self.axes.iter().map(Axis::count).collect()
    }

    /// Returns the largest chunk length along each dimension. In a regular grid it is the shape of every chunk.
    pub fn largest(&self) -> &[u64] {
        &self.largest
    }

    /// Returns the shape of every chunk, or `None` if it varies.
    pub fn uniform(&self) -> Option<&[u64]> {
        self.is_regular.then_some(&self.largest)
    }

    /// Returns the first element of a chunk.
    pub fn start_of(&self, indices: &[u64]) -> Vec<u64> {
        self.axes.iter().zip(indices).map(|(axis, index)| axis.start_of(*index)).collect()
    }

    /// Returns the stored shape of a chunk.
    pub fn shape_of(&self, indices: &[u64]) -> Cow<'_, [u64]> {
        match self.uniform() {
            Some(shape) => Cow::Borrowed(shape),
            None => self.axes.iter().zip(indices).map(|(axis, index)| axis.length_of(*index)).collect(),
        }
    }

    /// Returns the box of a chunk, which may reach beyond the edge of the array.
    pub fn region_of(&self, indices: &[u64]) -> Region {
        Region { start: self.start_of(indices), shape: self.shape_of(indices).into_owned() }
    }

    /// Returns the chunks that overlap a box inside the array, as a box of the grid.
    pub fn chunks_in(&self, region: &Region) -> Region {
        let elements = self.axes.iter().zip(region.start.iter().zip(&region.shape));
        let chunks = elements.map(|(axis, (start, length))| axis.chunks_in(*start, start.saturating_add(*length)));
        let (start, shape) = chunks.unzip();
        Region { start, shape }
    }

    /// Returns true if chunks at the same indices have the same box in both grids.
    pub fn has_chunks_of(&self, other: &Grid) -> bool {
        let is_same = |(one, two): (&Axis, &Axis)| {
            one == two || (one.is_uniform() && two.is_uniform() && one.longest() == two.longest())
        };
        self.axes.len() == other.axes.len() && self.axes.iter().zip(&*other.axes).all(is_same)
    }
}

/// Returns the product of a shape, or `None` if it overflows. It is 0 if any length is 0.
pub fn num_elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))
}

/// Returns the product of a shape, or the largest number if it overflows.
pub fn volume(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |product, length| product.saturating_mul(*length))
}

/// Combines two shapes or positions along each dimension.
pub fn zip_with(a: &[u64], b: &[u64], with: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    a.iter().zip(b).map(|(a, b)| with(*a, *b)).collect()
}

/// Returns the position of a linear index in a grid (C order).
pub fn unravel(mut linear: u64, shape: &[u64]) -> Vec<u64> {
    let mut indices = vec![0; shape.len()];
    for (index, length) in indices.iter_mut().zip(shape).rev() {
        // An array without elements has a length of 0.
        *index = linear % length.max(&1);
        linear /= length.max(&1);
    }
    indices
}

/// Returns the linear index of a position in a grid (C order).
pub fn ravel(indices: &[u64], shape: &[u64]) -> u64 {
    indices.iter().zip(shape).fold(0, |linear, (index, length)| linear * length + index)
}

/// Chunks along one dimension of an array that begin inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Neighbouring runs differ in chunk length.
    runs: Vec<Run>,
    count: u64,
    /// Number of elements of the array along this dimension.
    length: u64,
}

/// Consecutive chunks of the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// First element of the first chunk.
    start: u64,
    /// Index of the first chunk.
    first: u64,
    /// Number of elements of each chunk.
    chunk: u64,
}

impl Axis {
    /// Creates the axis of a dimension of `length` elements. `runs` are chunk lengths and their counts. No length is 0.
    ///
    /// Chunks beyond the array are dropped. If the chunks do not reach its end, the last length is repeated. That is a
    /// fault of the document, which its reader reports.
    pub fn new(length: u64, runs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut axis = Axis { runs: Vec::new(), count: 0, length };
        let (mut start, mut before_edge) = (0_u64, 1);
        for (chunk, count) in runs.into_iter().filter(|(chunk, count)| *chunk > 0 && *count > 0) {
            before_edge = chunk;
            if start >= length {
                break;
            }
            if axis.runs.last().is_none_or(|run| run.chunk != chunk) {
                axis.runs.push(Run { start, first: axis.count, chunk });
            }
            // Regular grids pass `u64::MAX` as the count, and a document may claim any count.
            axis.count += count.min((length - start).div_ceil(chunk));
            start = start.saturating_add(chunk.saturating_mul(count));
        }
        if axis.runs.is_empty() {
            // An array without elements has no chunk, but callers still need a chunk length.
            axis.runs.push(Run { start: 0, first: 0, chunk: before_edge });
        }
        if start < length {
            axis.count += (length - start).div_ceil(before_edge);
        }
        axis.runs.shrink_to_fit();
        axis
    }

    /// Returns `count` chunks from `first` on, as an axis of `length` elements.
    fn part(&self, first: u64, count: u64, length: u64) -> Self {
        if length == 0 {
            // There is no chunk, but its length is kept.
            return Self::new(0, self.runs.iter().map(|run| (run.chunk, 1)));
        }
        let (mut index, end) = (0_u64, first.saturating_add(count));
        let runs = self.runs_of_chunks().map(|(chunk, count)| {
            let own = index.max(first)..index.saturating_add(count).min(end);
            index = index.saturating_add(count);
            (chunk, own.end.saturating_sub(own.start))
        });
        Self::new(length, runs)
    }

    /// Returns the runs of chunks: the chunk length and the number of chunks.
    pub fn runs_of_chunks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let ends = self.runs.iter().skip(1).map(|run| run.first).chain([self.count]);
        self.runs.iter().zip(ends).map(|(run, end)| (run.chunk, end - run.first))
    }

    /// Returns the number of chunks that begin inside the array.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the length of the longest chunk.
    pub fn longest(&self) -> u64 {
        self.runs.iter().map(|run| run.chunk).max().unwrap_or(1)
    }

    /// Returns true if all chunks have the same length.
    pub fn is_uniform(&self) -> bool {
        self.runs.len() == 1
    }

    /// Returns the distinct chunk lengths, ascending.
    pub fn distinct_lengths(&self) -> BTreeSet<u64> {
        self.runs.iter().map(|run| run.chunk).collect()
    }

    /// Returns the first element of a chunk.
    pub fn start_of(&self, index: u64) -> u64 {
        let run = self.run_of(index);
        run.start.saturating_add((index - run.first).saturating_mul(run.chunk))
    }

    /// Returns the stored length of a chunk, which may reach beyond the array.
    pub fn length_of(&self, index: u64) -> u64 {
        self.run_of(index).chunk
    }

    /// Returns the index of the chunk that contains an element.
    pub fn chunk_of(&self, element: u64) -> u64 {
        let after = self.runs.partition_point(|run| run.start <= element);
        let run = self.runs[after.saturating_sub(1)];
        run.first + (element - run.start) / run.chunk
    }

    /// Returns the first chunk that overlaps the elements from `start` up to `end`, and the number of such chunks.
    fn chunks_in(&self, start: u64, end: u64) -> (u64, u64) {
        let first = self.chunk_of(start);
        (first, if end > start { self.chunk_of(end - 1) + 1 - first } else { 0 })
    }

    fn run_of(&self, index: u64) -> Run {
        let after = self.runs.partition_point(|run| run.first <= index);
        self.runs[after.saturating_sub(1)]
    }
}

/// Possible lengths of a chunk along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// Any length from 1 up to this one. 0 counts as 1.
    UpTo(u64),
    /// Any divisor of this length, which is not 0.
    Dividing(u64),
}

/// Returns lengths whose product is at most `limit`, where 0 counts as 1. The last dimensions are kept whole first.
///
/// The first dimension that does not fit is cut into pieces of nearly equal length. If all lengths are `UpTo`, the
/// product is that of whole dimensions, or more than half of `limit`.
pub fn fit(dimensions: &[Lengths], limit: u64) -> Vec<u64> {
    let mut left = limit.max(1);
    let fitted = dimensions.iter().rev().map(|lengths| {
        let length = lengths.longest(left);
        left /= length;
        length
    });
    let mut lengths: Vec<u64> = fitted.collect();
    lengths.reverse();
    lengths
}

impl Lengths {
    /// Returns the longest allowed length of at most `most`, which is not 0. `UpTo` is cut into pieces of nearly equal
    /// length.
    fn longest(self, most: u64) -> u64 {
        match self {
            Lengths::UpTo(whole) | Lengths::Dividing(whole) if whole <= most => whole.max(1),
            Lengths::UpTo(whole) => whole.div_ceil(whole.div_ceil(most)),
            Lengths::Dividing(whole) => greatest_divisor(whole, most),
        }
    }
}

/// Returns the greatest divisor of `whole` that is at most `most`. Above 2^40 it may miss larger ones, to limit the
/// time.
fn greatest_divisor(whole: u64, most: u64) -> u64 {
    const MOST_TRIED: u64 = 1 << 20;
    let small = (1..=MOST_TRIED).take_while(|small| *small <= whole / small);
    let pairs = small.filter(|small| whole.is_multiple_of(*small)).flat_map(|small| [small, whole / small]);
    pairs.filter(|divisor| *divisor <= most).max().unwrap_or(1)
}

/// Returns the greatest common divisor.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the least common multiple, or `None` if it overflows.
pub fn lcm(a: u64, b: u64) -> Option<u64> {
    (a / gcd(a, b).max(1)).checked_mul(b)
}

//! Chunk grids: regular (all chunks have one shape) and rectilinear (each dimension has a list of chunk lengths).
//!
//! Only chunks that begin inside the array are counted. A chunk that reaches beyond the edge is stored as a whole, with
//! its full shape (zarr-extensions, `chunk-grids/rectilinear`; Zarr v3 core, regular grid).

mod axis;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

pub use axis::{Axis, Lengths, fit, gcd, lcm};

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

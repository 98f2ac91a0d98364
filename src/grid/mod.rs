//! Chunk grids: the regular one, whose chunks have one shape, and the rectilinear one, whose chunks have a length of
//! their own along each dimension.
//!
//! Only chunks that begin inside the array are counted. A chunk that reaches beyond the edge is stored whole, in the
//! shape that its grid gives it (zarr-extensions, `chunk-grids/rectilinear`; Zarr v3 core, regular grid).

mod axis;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

pub use axis::{Axis, Lengths, fit, gcd, lcm};

/// The most dimensions of an array (as numpy has).
pub const MAX_RANK: usize = 64;

/// The chunk grid of an array of known shape. A copy shares what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    axes: Arc<[Axis]>,
    /// The shape of a chunk that no other exceeds along any dimension.
    largest: Vec<u64>,
    /// Whether that is the shape of every chunk.
    is_regular: bool,
}

/// A box of an array in elements, or of a grid in chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Region {
    /// Its first element.
    pub start: Vec<u64>,
    /// Elements along each dimension.
    pub shape: Vec<u64>,
}

impl Region {
    /// All of an array of this shape.
    pub fn whole(shape: &[u64]) -> Self {
        Region { start: vec![0; shape.len()], shape: shape.to_vec() }
    }

    /// The chunk at a position of a regular grid.
    pub fn chunk(position: &[u64], shape: &[u64]) -> Self {
        Region { start: zip_with(position, shape, u64::saturating_mul), shape: shape.to_vec() }
    }

    /// The region from `start` up to `end`.
    pub fn between(start: Vec<u64>, end: &[u64]) -> Self {
        Region { shape: zip_with(end, &start, u64::saturating_sub), start }
    }

    /// Elements of it.
    pub fn num_elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// After its last element.
    pub fn end(&self) -> Vec<u64> {
        zip_with(&self.start, &self.shape, u64::saturating_add)
    }

    /// Whether an element is one of it.
    pub fn contains(&self, position: &[u64]) -> bool {
        let mut axes = self.start.iter().zip(&self.shape).zip(position);
        axes.all(|((start, length), index)| index.checked_sub(*start).is_some_and(|inside| inside < *length))
    }

    /// The intersection with another region. It may be empty.
    #[must_use]
    pub fn common(&self, other: &Region) -> Region {
        self.within(&other.start, &other.end())
    }

    /// The part of it from `first` up to `end`.
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

    /// The same box of an array in front of which so many more elements lie.
    #[must_use]
    pub fn moved_by(&self, elements: &[u64]) -> Region {
        Region { start: zip_with(&self.start, elements, u64::saturating_add), shape: self.shape.clone() }
    }

    /// The same box, counted from another element.
    #[must_use]
    pub fn relative_to(&self, start: &[u64]) -> Region {
        Region { start: self.offset_in(start), shape: self.shape.clone() }
    }

    /// Its first element, counted from another.
    pub fn offset_in(&self, start: &[u64]) -> Vec<u64> {
        zip_with(&self.start, start, |a, b| a - b)
    }

    /// The position of an element of it, by its place in C order.
    pub fn position(&self, place: u64) -> Vec<u64> {
        let mut position = unravel(place, &self.shape);
        position.iter_mut().zip(&self.start).for_each(|(index, start)| *index += start);
        position
    }

    /// The positions of its elements in C order.
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

    /// The chunks of this shape that overlap it, as a box of their grid.
    #[must_use]
    pub fn chunks(&self, chunk_shape: &[u64]) -> Region {
        let start = zip_with(&self.start, chunk_shape, |start, length| start / length);
        Region::between(start, &zip_with(&self.end(), chunk_shape, u64::div_ceil))
    }
}

/// Where a part lies in the array that it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOf {
    /// The indices of its first chunk.
    pub first_chunk: Vec<u64>,
    /// The first element of that chunk.
    pub start: Vec<u64>,
    /// Along which dimensions its end cuts chunks that hold more of the whole.
    pub cuts: Vec<bool>,
}

impl Grid {
    /// The regular grid of chunks of `chunk_shape`, no length of which is 0.
    pub fn regular(array_shape: &[u64], chunk_shape: &[u64]) -> Self {
        let axes = array_shape.iter().zip(chunk_shape);
        Self::of_axes(axes.map(|(length, chunk)| Axis::new(*length, [(*chunk, u64::MAX)])).collect())
    }

    /// The grid of these axes; where every chunk has the same length along each, that is a regular one.
    pub fn of_axes(axes: Vec<Axis>) -> Self {
        let largest = axes.iter().map(Axis::longest).collect();
        let is_regular = axes.iter().all(Axis::is_uniform);
        Grid { axes: axes.into(), largest, is_regular }
    }

    /// Some chunks of the grid, `counts` along each dimension from `first` on, as the grid of an array of this shape, which
    /// begins where they do.
    #[must_use]
    pub fn part(&self, first: &[u64], counts: &[u64], shape: &[u64]) -> Self {
        if self.is_regular {
            return Self::regular(shape, &self.largest);
        }
        let chunks = self.axes.iter().zip(first.iter().zip(counts).zip(shape));
        let axes = chunks.map(|(axis, ((first, count), length))| axis.part(*first, *count, *length));
        // Whoever knows the grid knows how large its chunks are at most: that stays, whichever are left.
        Grid { axes: axes.collect(), largest: self.largest.clone(), is_regular: false }
    }

    /// The chunks along each dimension.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The number of chunks along each dimension.
    pub fn counts(&self) -> Vec<u64> {
        self.axes.iter().map(Axis::count).collect()
    }

    /// The shape of a chunk that no other exceeds along any dimension: that of every chunk of a regular grid.
    pub fn largest(&self) -> &[u64] {
        &self.largest
    }

    /// The shape of every chunk, where all have the same.
    pub fn uniform(&self) -> Option<&[u64]> {
        self.is_regular.then_some(&self.largest)
    }

    /// The first element of the chunk at `indices`.
    pub fn start_of(&self, indices: &[u64]) -> Vec<u64> {
        self.axes.iter().zip(indices).map(|(axis, index)| axis.start_of(*index)).collect()
    }

    /// The shape of the chunk at `indices`, as it is stored.
    pub fn shape_of(&self, indices: &[u64]) -> Cow<'_, [u64]> {
        match self.uniform() {
            Some(shape) => Cow::Borrowed(shape),
            None => self.axes.iter().zip(indices).map(|(axis, index)| axis.length_of(*index)).collect(),
        }
    }

    /// The chunk at `indices`, which may reach beyond the edge of the array.
    pub fn region_of(&self, indices: &[u64]) -> Region {
        Region { start: self.start_of(indices), shape: self.shape_of(indices).into_owned() }
    }

    /// The chunks that overlap a box, which lies inside the array, as a box of the grid.
    pub fn chunks_in(&self, region: &Region) -> Region {
        let elements = self.axes.iter().zip(region.start.iter().zip(&region.shape));
        let chunks = elements.map(|(axis, (start, length))| axis.chunks_in(*start, start.saturating_add(*length)));
        let (start, shape) = chunks.unzip();
        Region { start, shape }
    }

    /// Whether chunks at the same indices are the same box of an array, in both grids.
    pub fn has_chunks_of(&self, other: &Grid) -> bool {
        let is_same = |(one, two): (&Axis, &Axis)| {
            one == two || (one.is_uniform() && two.is_uniform() && one.longest() == two.longest())
        };
        self.axes.len() == other.axes.len() && self.axes.iter().zip(&*other.axes).all(is_same)
    }
}

/// The product of a shape; `None` where it does not fit into 64 bits (a zero anywhere makes it 0).
pub fn num_elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))
}

/// The same, or the largest number where it does not fit.
pub fn volume(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |product, length| product.saturating_mul(*length))
}

/// Combines two shapes or positions, dimension by dimension.
pub fn zip_with(a: &[u64], b: &[u64], with: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    a.iter().zip(b).map(|(a, b)| with(*a, *b)).collect()
}

/// The position of a linear index in a C-order grid.
pub fn unravel(mut linear: u64, shape: &[u64]) -> Vec<u64> {
    let mut indices = vec![0; shape.len()];
    for (index, length) in indices.iter_mut().zip(shape).rev() {
        *index = linear % length.max(&1);
        linear /= length.max(&1);
    }
    indices
}

/// The linear index of a position in a C-order grid.
pub fn ravel(indices: &[u64], shape: &[u64]) -> u64 {
    indices.iter().zip(shape).fold(0, |linear, (index, length)| linear * length + index)
}

//! How an array is cut into chunks: the regular grid, where all have one shape, and the rectilinear, where chunks have
//! a length of their own along each dimension.
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

/// A box of an array.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Region {
    /// Its first element.
    pub start: Vec<u64>,
    /// Elements along each dimension.
    pub shape: Vec<u64>,
}

impl Region {
    /// Elements of it.
    pub fn num_elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// After its last element.
    pub fn end(&self) -> Vec<u64> {
        self.start.iter().zip(&self.shape).map(|(start, extent)| start + extent).collect()
    }

    /// What it has in common with another; `None` where that is nothing.
    pub fn common(&self, other: &Region) -> Option<Region> {
        let start: Vec<u64> = self.start.iter().zip(&other.start).map(|(a, b)| *a.max(b)).collect();
        let ends = self.end().into_iter().zip(other.end()).map(|(a, b)| a.min(b)).zip(&start);
        let shape: Option<Vec<u64>> =
            ends.map(|(end, start)| end.checked_sub(*start).filter(|extent| *extent > 0)).collect();
        shape.map(|shape| Region { start, shape })
    }

    /// Its first element, counted from another.
    pub fn offset_in(&self, start: &[u64]) -> Vec<u64> {
        self.start.iter().zip(start).map(|(a, b)| a - b).collect()
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

    /// How many chunks there are along each dimension.
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

    /// The index along a dimension of the chunk that holds an element.
    pub fn chunk_of(&self, dimension: usize, element: u64) -> u64 {
        self.axes[dimension].chunk_of(element)
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

    /// The chunks that overlap the elements from `start` up to `end`, which lie inside the array: the indices of the
    /// first, and how many there are along each dimension.
    pub fn chunks_in(&self, start: &[u64], end: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let elements = self.axes.iter().zip(start.iter().zip(end));
        elements.map(|(axis, (start, end))| axis.chunks_in(*start, *end)).unzip()
    }

    /// Whether chunks at the same indices are the same box of an array, in both grids.
    pub fn has_chunks_of(&self, other: &Grid) -> bool {
        let is_same = |(one, two): (&Axis, &Axis)| {
            one == two || (one.is_uniform() && two.is_uniform() && one.longest() == two.longest())
        };
        self.axes.len() == other.axes.len() && self.axes.iter().zip(&*other.axes).all(is_same)
    }
}

/// The positions of a box of a grid in C order: `counts` along each dimension from `first` on.
pub(crate) fn cells(first: &[u64], counts: &[u64]) -> impl Iterator<Item = Vec<u64>> + use<> {
    let (first, counts) = (first.to_vec(), counts.to_vec());
    let begin = (!counts.contains(&0)).then(|| first.clone());
    std::iter::successors(begin, move |cell| {
        let mut next = cell.clone();
        for dimension in (0..next.len()).rev() {
            next[dimension] += 1;
            if next[dimension] - first[dimension] < counts[dimension] {
                return Some(next);
            }
            next[dimension] = first[dimension];
        }
        None
    })
}

/// The chunks of this shape that overlap the elements from `start` up to `end`: the indices of the first, and how many
/// there are along each dimension.
pub fn chunks_of_shape(chunk_shape: &[u64], start: &[u64], end: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let first: Vec<u64> = start.iter().zip(chunk_shape).map(|(start, length)| start / length).collect();
    let counts = end.iter().zip(chunk_shape).zip(&first);
    let counts = counts.map(|((end, length), first)| end.div_ceil(*length) - first).collect();
    (first, counts)
}

/// The product of a shape; `None` where it does not fit into 64 bits (a zero anywhere makes it 0).
pub fn num_elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))
}

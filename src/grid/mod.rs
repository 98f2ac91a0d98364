//! How an array is cut into chunks: the regular grid, where all have one shape, and the rectilinear, where chunks have
//! a length of their own along each dimension.
//!
//! Only chunks that begin inside the array are counted. A chunk that reaches beyond the edge is stored whole, in the
//! shape that its grid gives it (zarr-extensions, `chunk-grids/rectilinear`; Zarr v3 core, regular grid).

mod axis;
mod divisor;
mod fit;
mod part;
mod shape;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

pub use axis::Axis;
pub use divisor::{gcd, lcm};
pub use fit::{Lengths, fit};
pub use part::PartOf;
pub use shape::{MAX_RANK, num_elements};

/// The chunk grid of an array of known shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grid {
    /// Every chunk has the same shape.
    Regular {
        /// Elements of the array along each dimension.
        array_shape: Vec<u64>,
        /// Elements of a chunk along each dimension, none of them 0.
        chunk_shape: Vec<u64>,
    },
    /// Chunks are of more than one length along some dimension. A copy shares what it holds.
    Rectilinear {
        /// Where chunks begin along each dimension.
        axes: Arc<[Axis]>,
        /// The shape of a chunk that no other exceeds along any dimension. It need not be the shape of any.
        largest: Vec<u64>,
    },
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

impl Grid {
    /// The regular grid of chunks of `chunk_shape`, no length of which is 0.
    pub fn regular(array_shape: &[u64], chunk_shape: &[u64]) -> Self {
        Grid::Regular { array_shape: array_shape.to_vec(), chunk_shape: chunk_shape.to_vec() }
    }

    /// The grid of these axes; where every chunk has the same length along each, that is a regular one.
    pub fn of_axes(axes: Vec<Axis>) -> Self {
        let largest = axes.iter().map(Axis::longest).collect();
        if axes.iter().all(Axis::is_uniform) {
            let array_shape = axes.iter().map(Axis::length).collect();
            return Grid::Regular { array_shape, chunk_shape: largest };
        }
        Grid::Rectilinear { axes: axes.into(), largest }
    }

    /// Some chunks of the grid, `counts` along each dimension from `first` on, as the grid of an array of this shape, which
    /// begins where they do.
    #[must_use]
    pub fn part(&self, first: &[u64], counts: &[u64], shape: &[u64]) -> Self {
        match self {
            Grid::Regular { chunk_shape, .. } => Self::regular(shape, chunk_shape),
            // Whoever knows the grid knows how large its chunks are at most: that stays, whichever are left.
            Grid::Rectilinear { axes, largest } => {
                let chunks = axes.iter().zip(first.iter().zip(counts).zip(shape));
                let axes = chunks.map(|(axis, ((first, count), length))| axis.part(*first, *count, *length));
                Grid::Rectilinear { axes: axes.collect(), largest: largest.clone() }
            }
        }
    }

    /// Chunks along each dimension.
    pub fn counts(&self) -> Vec<u64> {
        match self {
            Grid::Regular { array_shape, chunk_shape } => array_shape
                .iter()
                .zip(chunk_shape)
                .map(|(&size, &chunk)| size.div_ceil(chunk.max(1)))
                .collect(),
            Grid::Rectilinear { axes, .. } => axes.iter().map(Axis::count).collect(),
        }
    }

    /// The shape of a chunk that no other exceeds along any dimension: that of every chunk of a regular grid.
    pub fn largest(&self) -> &[u64] {
        match self {
            Grid::Regular { chunk_shape, .. } => chunk_shape,
            Grid::Rectilinear { largest, .. } => largest,
        }
    }

    /// The shape of every chunk, where all have the same.
    pub fn uniform(&self) -> Option<&[u64]> {
        match self {
            Grid::Regular { chunk_shape, .. } => Some(chunk_shape),
            Grid::Rectilinear { .. } => None,
        }
    }

    /// The index along a dimension of the chunk that holds an element.
    pub fn chunk_of(&self, dimension: usize, element: u64) -> u64 {
        match self {
            Grid::Regular { chunk_shape, .. } => element / chunk_shape[dimension].max(1),
            Grid::Rectilinear { axes, .. } => axes[dimension].chunk_of(element),
        }
    }

    /// The first element of the chunk at `indices`.
    pub fn start_of(&self, indices: &[u64]) -> Vec<u64> {
        match self {
            Grid::Regular { chunk_shape, .. } => {
                indices.iter().zip(chunk_shape).map(|(index, length)| index * length).collect()
            }
            Grid::Rectilinear { axes, .. } => {
                axes.iter().zip(indices).map(|(axis, index)| axis.start_of(*index)).collect()
            }
        }
    }

    /// The shape of the chunk at `indices`, as it is stored.
    pub fn shape_of(&self, indices: &[u64]) -> Cow<'_, [u64]> {
        match self {
            Grid::Regular { chunk_shape, .. } => Cow::Borrowed(chunk_shape),
            Grid::Rectilinear { axes, .. } => {
                axes.iter().zip(indices).map(|(axis, index)| axis.length_of(*index)).collect()
            }
        }
    }

    /// The chunk at `indices`, which may reach beyond the edge of the array.
    pub fn region_of(&self, indices: &[u64]) -> Region {
        Region { start: self.start_of(indices), shape: self.shape_of(indices).into_owned() }
    }

    /// The chunks that overlap the elements from `start` up to `end`, which lie inside the array: the indices of the
    /// first, and how many there are along each dimension.
    pub fn chunks_in(&self, start: &[u64], end: &[u64]) -> (Vec<u64>, Vec<u64>) {
        match self {
            Grid::Regular { chunk_shape, .. } => chunks_of_shape(chunk_shape, start, end),
            Grid::Rectilinear { axes, .. } => axes
                .iter()
                .zip(start.iter().zip(end))
                .map(|(axis, (start, end))| axis.chunks_in(*start, *end))
                .unzip(),
        }
    }

    /// Whether chunks at the same indices are the same box of an array, in both grids.
    pub fn has_chunks_of(&self, other: &Grid) -> bool {
        match (self, other) {
            (Grid::Regular { chunk_shape: one, .. }, Grid::Regular { chunk_shape: two, .. }) => one == two,
            (Grid::Rectilinear { axes: one, .. }, Grid::Rectilinear { axes: two, .. }) => one == two,
            (Grid::Regular { chunk_shape, .. }, Grid::Rectilinear { axes, .. })
            | (Grid::Rectilinear { axes, .. }, Grid::Regular { chunk_shape, .. }) => {
                let is_same = |(axis, length): (&Axis, &u64)| axis.is_uniform() && axis.longest() == *length;
                axes.iter().zip(chunk_shape).all(is_same)
            }
        }
    }
}

/// The chunks of this shape that overlap the elements from `start` up to `end`: the indices of the first, and how many
/// there are along each dimension.
pub fn chunks_of_shape(chunk_shape: &[u64], start: &[u64], end: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let first: Vec<u64> = start.iter().zip(chunk_shape).map(|(start, length)| start / length).collect();
    let counts = end.iter().zip(chunk_shape).zip(&first);
    let counts = counts.map(|((end, length), first)| end.div_ceil(*length) - first).collect();
    (first, counts)
}

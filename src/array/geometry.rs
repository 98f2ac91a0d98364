//! Where the objects and subchunks of an array lie, and of what shape each is. Of a regular grid all have one shape, and
//! nothing is looked up; the shards of a rectilinear one have the same inner chunks throughout.

use std::borrow::Cow;

use super::chunk_set::position;
use super::fault::Fault;
use super::shard::ShardLayout;
use super::stored::StoredArray;
use crate::codec::chain::OfShape;
use crate::codec::{BindError, BoundChain};
use crate::grid::{Region, chunks_of_shape};

impl StoredArray {
    /// Whether all objects have one shape.
    pub fn is_regular(&self) -> bool {
        self.metadata.grid.uniform().is_some()
    }

    /// The shape of an object of the grid, as it is stored.
    pub fn shape_of(&self, index: u64) -> Cow<'_, [u64]> {
        match self.metadata.grid.uniform() {
            Some(shape) => Cow::Borrowed(shape),
            None => self.metadata.grid.shape_of(&position(index, &self.metadata)),
        }
    }

    /// The chain of an object of the grid.
    pub fn chain_of(&self, index: u64) -> Result<OfShape<'_, BoundChain>, Fault> {
        if self.is_regular() {
            return Ok(OfShape::Same(&self.chain));
        }
        self.chain.for_shape(&self.shape_of(index)).map_err(|error| unbound(&error))
    }

    /// How an object of the grid is streamed, where shards are.
    pub fn layout_of(&self, index: u64) -> Result<Option<OfShape<'_, ShardLayout>>, Fault> {
        let Some(layout) = &self.layout else { return Ok(None) };
        if self.is_regular() {
            return Ok(Some(OfShape::Same(layout)));
        }
        layout.for_chain(&*self.chain_of(index)?).map(Some).ok_or_else(|| {
            Fault::Other("the shard cannot be taken apart as others of its array are".to_owned())
        })
    }

    /// The chain of a subchunk.
    pub fn chain_of_subchunk(&self, subchunk: &[u64]) -> Result<OfShape<'_, BoundChain>, Fault> {
        match &self.layout {
            Some(layout) => Ok(OfShape::Same(&layout.subchunk)),
            None => self.chain.for_chunk(&self.metadata.grid, subchunk).map_err(|error| unbound(&error)),
        }
    }

    /// A subchunk as a box of the array, with what of it lies beyond the edge.
    pub fn region_of_subchunk(&self, subchunk: &[u64]) -> Region {
        match &self.layout {
            Some(_) => {
                Region { start: self.start_of_subchunk(subchunk), shape: self.subchunk_shape().to_vec() }
            }
            None => self.metadata.grid.region_of(subchunk),
        }
    }

    /// The part of a box that lies inside what is taken of the array; its shape may have zeros.
    pub fn inside(&self, region: Region) -> Region {
        let Region { mut start, mut shape } = match self.cropped(&region.start, &region.shape) {
            Some(shape) => Region { shape, ..region },
            None => region,
        };
        let skipped = self.metadata.skipped.iter();
        for ((start, length), skipped) in start.iter_mut().zip(&mut shape).zip(skipped) {
            let in_front = skipped.saturating_sub(*start).min(*length);
            (*start, *length) = (*start + in_front, *length - in_front);
        }
        Region { start, shape }
    }

    /// Whether the subchunks of both arrays are the same boxes.
    pub fn has_subchunks_of(&self, other: &StoredArray) -> bool {
        match (self.shape_of_subchunks(), other.shape_of_subchunks()) {
            (None, None) => self.metadata.grid.has_chunks_of(&other.metadata.grid),
            (one, other) => one == other,
        }
    }

    /// The shape of all subchunks; `None` where they have several.
    fn shape_of_subchunks(&self) -> Option<&[u64]> {
        (self.layout.is_some() || self.is_regular()).then(|| self.subchunk_shape())
    }

    /// The first subchunk of an object, and how many it has along each dimension.
    pub fn subchunks_of(&self, object: u64) -> (Vec<u64>, Vec<u64>) {
        if self.layout.is_none() {
            let position = position(object, &self.metadata);
            let ones = vec![1; position.len()];
            return (position, ones);
        }
        let (start, shape) = (self.start_of(object), self.shape_of(object));
        let lengths = start.iter().zip(&*shape).zip(self.subchunk_shape());
        lengths.map(|((start, shape), inner)| (start / inner.max(&1), shape / inner.max(&1))).unzip()
    }

    /// The inner chunks of a shard that hold something of the array: the position of the first in the shard, and how many there
    /// are along each dimension.
    pub fn taken_of(&self, object: u64) -> (Vec<u64>, Vec<u64>) {
        let (first, counts) = self.subchunks_of(object);
        let (from, taken) = self.subchunks_in(&self.metadata.skipped, &self.metadata.shape);
        let bounds = first.iter().zip(&counts).zip(from.iter().zip(&taken));
        bounds
            .map(|((first, count), (from, taken))| {
                let low = *first.max(from);
                (low - first, (first + count).min(from + taken).saturating_sub(low))
            })
            .unzip()
    }

    /// The subchunks that overlap the elements from `start` up to `end`: the first, and how many there are along each
    /// dimension.
    pub fn subchunks_in(&self, start: &[u64], end: &[u64]) -> (Vec<u64>, Vec<u64>) {
        match &self.layout {
            Some(layout) => chunks_of_shape(&layout.subchunk.decoded().shape, start, end),
            None => self.metadata.grid.chunks_in(start, end),
        }
    }
}

/// A chunk of a shape that the codecs of its array do not take.
pub fn unbound(error: &BindError) -> Fault {
    Fault::Other(format!("the chunk cannot be decoded: {error}"))
}

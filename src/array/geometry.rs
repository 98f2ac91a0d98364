//! Where the objects and subchunks of an array lie, and of what shape each is. Of a regular grid all have one shape, and
//! nothing is looked up; the shards of a rectilinear one have the same inner chunks throughout.

use std::borrow::Cow;

use super::{Fault, Result, ShardLayout, StoredArray, position};
use crate::codec::chain::OfShape;
use crate::codec::{BindError, BoundChain};
use crate::grid::{Region, ravel};

impl StoredArray {
    /// True if all objects have one shape.
    pub fn is_regular(&self) -> bool {
        self.metadata.grid.uniform().is_some()
    }

    /// An object of the grid as a box of the array, with what of it lies beyond the edge.
    pub fn region_of(&self, object: u64) -> Region {
        self.metadata.grid.region_of(&position(object, &self.metadata))
    }

    /// The shape of an object of the grid, as it is stored.
    pub fn shape_of(&self, index: u64) -> Cow<'_, [u64]> {
        match self.metadata.grid.uniform() {
            Some(shape) => Cow::Borrowed(shape),
            None => self.metadata.grid.shape_of(&position(index, &self.metadata)),
        }
    }

    /// The chain of an object of the grid.
    pub fn chain_of(&self, index: u64) -> Result<OfShape<'_, BoundChain>> {
        if self.is_regular() {
            return Ok(OfShape::Same(&self.chain));
        }
        self.chain.for_shape(&self.shape_of(index)).map_err(|error| unbound(&error))
    }

    /// The layout of an object of the grid, where shards are streamed.
    pub fn layout_of(&self, index: u64) -> Result<Option<OfShape<'_, ShardLayout>>> {
        let Some(layout) = &self.layout else { return Ok(None) };
        if self.is_regular() {
            return Ok(Some(OfShape::Same(layout)));
        }
        layout
            .for_chain(&*self.chain_of(index)?)
            .map(Some)
            .ok_or_else(|| Fault::Other("the shard cannot be taken apart as others of its array are".to_owned()))
    }

    /// The chain of a subchunk.
    pub fn chain_of_subchunk(&self, subchunk: &[u64]) -> Result<OfShape<'_, BoundChain>> {
        match &self.layout {
            Some(layout) => Ok(OfShape::Same(&layout.subchunk)),
            None => self.chain.for_chunk(&self.metadata.grid, subchunk).map_err(|error| unbound(&error)),
        }
    }

    /// A subchunk as a box of the array, with what of it lies beyond the edge.
    pub fn region_of_subchunk(&self, subchunk: &[u64]) -> Region {
        match &self.layout {
            Some(_) => Region { start: self.start_of_subchunk(subchunk), shape: self.subchunk_shape().to_vec() },
            None => self.metadata.grid.region_of(subchunk),
        }
    }

    /// The part of a box that lies inside what is taken of the array; its shape may have zeros.
    #[must_use]
    pub fn inside(&self, region: &Region) -> Region {
        region.within(&self.metadata.skipped, &self.metadata.shape)
    }

    /// The objects of the grid that overlap a box, which lies inside the array.
    pub fn objects_in(&self, region: &Region) -> impl Iterator<Item = u64> + use<> {
        let grid = self.metadata.chunk_grid_shape();
        self.metadata.grid.chunks_in(region).cells().map(move |position| ravel(&position, &grid))
    }

    /// True if all of an object that lies inside the whole array is taken.
    pub fn takes_whole(&self, object: u64) -> bool {
        let region = self.region_of(object);
        let is_skipped = region.start.iter().zip(&self.metadata.skipped).any(|(start, skipped)| start < skipped);
        !is_skipped && !self.metadata.cuts(&region)
    }

    /// True if the subchunks of both arrays are the same boxes.
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

    /// The subchunks of an object, as a box of their grid.
    pub fn subchunks_of(&self, object: u64) -> Region {
        if self.layout.is_some() {
            return self.region_of(object).chunks(self.subchunk_shape());
        }
        let start = position(object, &self.metadata);
        Region { shape: vec![1; start.len()], start }
    }

    /// The inner chunks of a shard that hold something of the array, by their positions in the shard.
    pub fn taken_of(&self, object: u64) -> Region {
        let subchunks = self.subchunks_of(object);
        let taken = Region::between(self.metadata.skipped.clone(), &self.metadata.shape);
        subchunks.common(&self.subchunks_in(&taken)).relative_to(&subchunks.start)
    }

    /// The subchunks that overlap a box, as a box of their grid.
    pub fn subchunks_in(&self, region: &Region) -> Region {
        match &self.layout {
            Some(_) => region.chunks(self.subchunk_shape()),
            None => self.metadata.grid.chunks_in(region),
        }
    }
}

/// A chunk of a shape that the codecs of its array do not take.
pub fn unbound(error: &BindError) -> Fault {
    Fault::Other(format!("the chunk cannot be decoded: {error}"))
}

//! Chains for chunks of other shapes, which a rectilinear grid has.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use super::{BindError, BoundChain};
use crate::grid::Grid;
use crate::metadata::CodecMetadata;
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// The most shapes that are kept. One more clears the list.
const MOST_SHAPES: usize = 1 << 10;

/// Values that were made for chunks of some shapes.
#[derive(Debug)]
pub struct ShapeCache<T>(Mutex<HashMap<Vec<u64>, Arc<T>>>);

/// Such values, shared by threads and copies.
pub type PerShape<T> = Arc<ShapeCache<T>>;

/// A value for the chunks of one shape.
#[derive(Debug)]
pub enum ForShape<'a, T> {
    /// The value that is the same for all shapes.
    Same(&'a T),
    /// A value made for this shape.
    Made(Arc<T>),
}

impl<T> ShapeCache<T> {
    /// Returns the value that was made for a shape, or makes it.
    pub fn get<E>(&self, shape: &[u64], make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        // Only complete values are inserted, so the map is valid even if a thread panicked while it had the lock.
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = kept().get(shape) {
            return Ok(made.clone());
        }
        // The lock is free during this slow work. Two threads may make the same value. Either of the two results is
        // right.
        let made = Arc::new(make()?);
        let mut kept = kept();
        if kept.len() >= MOST_SHAPES {
            kept.clear();
        }
        kept.insert(shape.to_vec(), made.clone());
        Ok(made)
    }
}

impl<T> Default for ShapeCache<T> {
    fn default() -> Self {
        ShapeCache(Mutex::default())
    }
}

impl<T> Deref for ForShape<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            ForShape::Same(same) => same,
            ForShape::Made(made) => made,
        }
    }
}

impl BoundChain {
    /// Returns the chain for the chunk of a grid at `indices`: this chain if the grid is regular. Fails if the codecs
    /// do not support a chunk of that shape.
    pub fn for_chunk(&self, grid: &Grid, indices: &[u64]) -> Result<ForShape<'_, BoundChain>, BindError> {
        if grid.uniform().is_some() { Ok(ForShape::Same(self)) } else { self.for_shape(&grid.shape_of(indices)) }
    }

    /// Returns the chain for chunks of another shape.
    pub fn for_shape(&self, shape: &[u64]) -> Result<ForShape<'_, BoundChain>, BindError> {
        if self.decoded.shape == shape {
            return Ok(ForShape::Same(self));
        }
        self.by_shape.get(shape, || self.bound_anew(shape)).map(ForShape::Made)
    }

    fn bound_anew(&self, shape: &[u64]) -> Result<BoundChain, BindError> {
        let codecs: Vec<CodecMetadata> = self.codecs.iter().map(|codec| codec.metadata.clone()).collect();
        let input = ArrayRepresentation { shape: shape.to_vec(), ..self.decoded.clone() };
        // The diagnostics are not needed. A codec that does not support the shape has no output, and binding fails
        // there.
        let pipeline = Pipeline::build(input, &codecs, Completeness::Partial, "/codecs", &mut Vec::new());
        let mut chain = BoundChain::bind_elements(&pipeline, self.elements)?;
        // The metadata do not contain these two options. They change only bound codecs.
        if self.is_to_nearest {
            chain.encode_to_nearest();
        }
        if self.writes_empty {
            chain.write_empty_chunks();
        }
        Ok(chain)
    }
}

//! The `zarr.json` of an array, read member by member: a fault in one hides none in another.

use super::chunk_key::ChunkKeyEncoding;
use super::extension::CodecMetadata;
use super::json::{Json, Object};
use crate::diagnostic::Diagnostic;

/// The most dimensions of an array (as numpy has).
pub const MAX_RANK: usize = 64;

/// The chunk grid.
#[derive(Debug, Clone, PartialEq)]
pub enum ChunkGrid {
    /// `regular`: every chunk has this shape.
    Regular {
        /// Elements per dimension, none of them 0.
        chunk_shape: Vec<u64>,
    },
    /// Any other, kept as written.
    Other(Json),
}

/// What could be read of an array's `zarr.json`, and all that is wrong with it.
///
/// A member is `None` where it is missing or faulty; a diagnostic then says so.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArrayDocument {
    /// Elements per dimension.
    pub shape: Option<Vec<u64>>,
    /// As written.
    pub data_type: Option<Json>,
    /// The grid; `None` also where the chunk shape does not fit the array.
    pub chunk_grid: Option<ChunkGrid>,
    /// How chunks are named.
    pub chunk_key_encoding: Option<ChunkKeyEncoding>,
    /// As written.
    pub fill_value: Option<Json>,
    /// The codecs whose form is right; their order and configurations are not looked at.
    pub codecs: Option<Vec<CodecMetadata>>,
    /// The attributes, if there are any.
    pub attributes: Option<Object>,
    /// One name or null per dimension, if there are any.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The storage transformers (each of them is an error).
    pub storage_transformers: Vec<Json>,
    /// Members that the specification does not have.
    pub unknown: Object,
    /// Every fault, in the order of the specification's members.
    pub diagnostics: Vec<Diagnostic>,
}

/// An array's metadata with every member there, for a grid that this program decodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayMetadata {
    /// Elements per dimension.
    pub shape: Vec<u64>,
    /// As written.
    pub data_type: Json,
    /// Elements per dimension of an object of the stored grid.
    pub chunk_shape: Vec<u64>,
    /// How chunks are named.
    pub chunk_key_encoding: ChunkKeyEncoding,
    /// As written.
    pub fill_value: Json,
    /// The codecs, in encode order.
    pub codecs: Vec<CodecMetadata>,
    /// Empty where there are none.
    pub attributes: Object,
    /// One name or null per dimension, if there are any.
    pub dimension_names: Option<Vec<Option<String>>>,
}

impl ArrayDocument {
    /// Reads what can be read; faults go to `diagnostics`.
    pub fn read(_document: &Json) -> Self {
        unimplemented!()
    }

    /// Whether a diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The metadata where nothing is missing (there may be errors elsewhere); `None` also for another grid than `regular`.
    pub fn metadata(&self) -> Option<ArrayMetadata> {
        unimplemented!()
    }
}

impl ArrayMetadata {
    /// Chunks per dimension.
    pub fn chunk_grid_shape(&self) -> Vec<u64> {
        unimplemented!()
    }
}

/// The product of a shape; `None` where it does not fit into 64 bits (a zero anywhere makes it 0).
pub fn num_elements(_shape: &[u64]) -> Option<u64> {
    unimplemented!()
}

//! Chunk grids: the regular one is read, any other is kept.

use super::extension::{Extension, MAX_FAULTS};
use super::json::Json;
use super::shape::{num_elements, read_sizes};
use crate::diagnostic::{Diagnostic, code};

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

/// Reads metadata; the chunk shape of a regular grid is held against the shape of the array.
pub(super) fn read_chunk_grid(
    json: &Json,
    shape: Option<&[u64]>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ChunkGrid> {
    let extension = Extension::read(json, "/chunk_grid", diagnostics)?;
    if extension.name != "regular" {
        let name = &extension.name;
        let (code, message) = if name == "rectilinear" {
            (code::GRID_UNSUPPORTED, format!("the chunk grid {name:?} is not decoded by this program"))
        } else {
            (code::GRID_UNREGISTERED, format!("the chunk grid {name:?} is in no registry"))
        };
        diagnostics.push(Diagnostic::new(code, message).at_pointer("/chunk_grid/name"));
        return Some(ChunkGrid::Other(json.clone()));
    }
    let configuration = extension.configuration.unwrap_or_default();
    for name in configuration.names().filter(|name| *name != "chunk_shape").take(MAX_FAULTS) {
        let message = format!("the regular grid has no member {}", Json::from(name).excerpt());
        diagnostics
            .push(Diagnostic::new(code::GRID_CONFIGURATION, message).at_pointer("/chunk_grid/configuration"));
    }
    let Some(json) = configuration.get("chunk_shape") else {
        diagnostics.push(
            Diagnostic::new(code::GRID_CONFIGURATION, "`chunk_shape` is missing")
                .at_pointer("/chunk_grid/configuration"),
        );
        return None;
    };
    let pointer = "/chunk_grid/configuration/chunk_shape";
    let chunk_shape = read_sizes(json, pointer, code::GRID_CONFIGURATION, diagnostics)?;
    let fits = check_chunk_shape(&chunk_shape, shape, pointer, diagnostics);
    fits.then_some(ChunkGrid::Regular { chunk_shape })
}

/// Whether a chunk shape has a rank, dimensions and a product that can be worked with.
pub(super) fn check_chunk_shape(
    chunk_shape: &[u64],
    shape: Option<&[u64]>,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let before = diagnostics.len();
    let mut push = |code, message: String, pointer: String| {
        diagnostics.push(Diagnostic::new(code, message).at_pointer(pointer));
    };
    if let Some(shape) = shape
        && shape.len() != chunk_shape.len()
    {
        let message =
            format!("the chunk shape has {} dimensions, the array {}", chunk_shape.len(), shape.len());
        push(code::CHUNK_SHAPE_RANK, message, pointer.to_owned());
    }
    for (index, _) in chunk_shape.iter().enumerate().filter(|(_, size)| **size == 0) {
        let message = format!("the chunk shape is 0 in dimension {index}, expected at least 1");
        push(code::CHUNK_SHAPE_ZERO, message, format!("{pointer}/{index}"));
    }
    if num_elements(chunk_shape).is_none() {
        let message =
            format!("the number of elements of a chunk of {chunk_shape:?} does not fit into 64 bits");
        push(code::CHUNK_SHAPE_OVERFLOW, message, pointer.to_owned());
    }
    diagnostics.len() == before
}

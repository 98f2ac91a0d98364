//! The `rectilinear` chunk grid: chunks of their own length along each dimension. Runs stay runs: what a document says
//! in twenty bytes takes no more memory here.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/chunk-grids/rectilinear>

use super::chunk_grid::{MAX_RANK, num_elements};
use super::extension::{Findings, MAX_FAULTS};
use super::json::{Json, Object};
use crate::diagnostic::{Code, Diagnostic, code};
use crate::grid::Grid;

const POINTER: &str = "/chunk_grid/configuration";

/// The lengths of the chunks along one dimension: each with how often it comes, none of them 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeLengths(Vec<(u64, u64)>);

impl EdgeLengths {
    /// Length and number of the chunks, in their order.
    pub fn runs(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Elements that the chunks cover; `None` where they do not fit into 64 bits.
    pub fn total(&self) -> Option<u64> {
        let runs = self.0.iter().map(|(length, count)| length.checked_mul(*count));
        runs.into_iter().try_fold(0_u64, |total, run| total.checked_add(run?))
    }

    /// The longest chunk; 0 where there is none.
    pub fn longest(&self) -> u64 {
        self.0.iter().map(|(length, _)| *length).max().unwrap_or(0)
    }
}

/// The lengths of the chunks of a grid along each dimension, as `chunk_shapes` has them, in runs.
pub(super) fn chunk_shapes(grid: &Grid) -> Json {
    // Along a dimension without elements there is no chunk, and the grid has one all the same.
    let run = |(length, count): (u64, u64)| Json::from(vec![length, count.max(1)]);
    let dimensions = grid.axes().iter().map(|axis| Json::Array(axis.runs_of_chunks().map(run).collect()));
    Json::Array(dimensions.collect())
}

/// Reads the configuration and holds it against the shape of the array; faults go to `diagnostics`.
pub(super) fn read(
    configuration: &Object,
    shape: Option<&[u64]>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<EdgeLengths>> {
    let mut reader = Reader { diagnostics, is_valid: true };
    for name in configuration.unknown_names(&["kind", "chunk_shapes"]).take(MAX_FAULTS) {
        let message = format!("the rectilinear grid has no member {}", Json::from(name).excerpt());
        reader.fault::<()>(code::GRID_CONFIGURATION, POINTER, message);
    }
    if configuration.get("kind").and_then(Json::as_str) != Some("inline") {
        let message = format!("expected \"inline\" as `kind`, found {}", configuration.excerpt("kind"));
        reader.fault::<()>(code::GRID_CONFIGURATION, &format!("{POINTER}/kind"), message);
    }
    let pointer = format!("{POINTER}/chunk_shapes");
    let Some(dimensions) = configuration.get("chunk_shapes").and_then(Json::as_array) else {
        let found = configuration.excerpt("chunk_shapes");
        let message = format!("expected the lengths of each dimension as `chunk_shapes`, found {found}");
        return reader.fault(code::GRID_CONFIGURATION, &pointer, message);
    };
    let rank = shape.map_or(dimensions.len(), <[u64]>::len);
    if dimensions.len() != rank || rank > MAX_RANK {
        let message = format!("`chunk_shapes` has {} dimensions, the array {rank}", dimensions.len());
        return reader.fault(code::CHUNK_SHAPE_RANK, &pointer, message);
    }
    let edges: Vec<EdgeLengths> = (0..rank)
        .map(|dimension| {
            let length = shape.map(|shape| shape[dimension]);
            reader.dimension(&dimensions[dimension], length, &format!("{pointer}/{dimension}"))
        })
        .collect();
    let longest: Vec<u64> = edges.iter().map(EdgeLengths::longest).collect();
    if num_elements(&longest).is_none() {
        let message = format!("the number of elements of a chunk of {longest:?} does not fit into 64 bits");
        reader.fault::<()>(code::CHUNK_SHAPE_OVERFLOW, &pointer, message);
    }
    reader.is_valid.then_some(edges)
}

/// Where faults go, and whether there was one.
struct Reader<'a> {
    diagnostics: &'a mut Vec<Diagnostic>,
    is_valid: bool,
}

impl Reader<'_> {
    fn fault<T>(&mut self, code: Code, pointer: &str, message: impl Into<String>) -> Option<T> {
        self.is_valid = false;
        if self.diagnostics.len() < MAX_FAULTS {
            self.diagnostics.add(code, pointer, message);
        }
        None
    }

    /// The lengths along a dimension of `length` elements: one for all chunks, or a list of them and of runs.
    fn dimension(&mut self, json: &Json, length: Option<u64>, pointer: &str) -> EdgeLengths {
        let runs = match json {
            Json::Array(entries) => {
                let runs = entries.iter().enumerate();
                runs.filter_map(|(index, entry)| self.run(entry, &format!("{pointer}/{index}"))).collect()
            }
            single => {
                let edge = self.edge(single, pointer);
                edge.map(|edge| (edge, length.unwrap_or(0).div_ceil(edge))).into_iter().collect()
            }
        };
        let edges = EdgeLengths(runs);
        if let (true, Some(total), Some(length)) = (self.is_valid, edges.total(), length)
            && total < length
        {
            let message = format!("the chunks cover {total} elements of a dimension of {length}");
            self.fault::<()>(code::GRID_TOO_SHORT, pointer, message);
        }
        edges
    }

    fn run(&mut self, json: &Json, pointer: &str) -> Option<(u64, u64)> {
        let Some(pair) = json.as_array() else { return Some((self.edge(json, pointer)?, 1)) };
        let [length, count] = pair else {
            let message = format!("expected a run as [length, count], found an array of {}", pair.len());
            return self.fault(code::GRID_CONFIGURATION, pointer, message);
        };
        self.edge(length, &format!("{pointer}/0")).zip(self.edge(count, &format!("{pointer}/1")))
    }

    fn edge(&mut self, json: &Json, pointer: &str) -> Option<u64> {
        match json.as_u64() {
            Some(0) => self.fault(code::CHUNK_SHAPE_ZERO, pointer, "a length is 0, expected at least 1"),
            Some(edge) => Some(edge),
            None => {
                let message = format!("expected a positive integer, found {}", json.excerpt());
                self.fault(code::GRID_CONFIGURATION, pointer, message)
            }
        }
    }
}

//! Chunk keys: conversion from chunk indices to the key of a chunk relative to its array, and back. Also chunk grids.
//! The regular and the rectilinear one are read, any other is kept.
//!
//! In a `rectilinear` grid, chunks have their own lengths along each dimension. Runs are stored as runs: twenty bytes
//! of a document need no more memory here. Specification:
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/chunk-grids/rectilinear>

use serde::{Deserialize, Serialize};

use super::extension::{Findings, MAX_FAULTS, read_extension};
use super::json::{Json, Object, index};
use crate::diagnostic::{Code, Diagnostic, code};
use crate::grid::{Axis, Grid};
pub use crate::grid::{MAX_RANK, num_elements};

/// The character between the indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Separator {
    /// `/`
    #[serde(rename = "/")]
    Slash = b'/',
    /// `.`
    #[serde(rename = ".")]
    Dot = b'.',
}

impl Separator {
    /// Returns the character.
    pub const fn character(self) -> char {
        self as u8 as char
    }

    /// Reads the member at `pointer`. Without it, the separator is `default`.
    pub(super) fn read(json: Option<&Json>, default: Self, pointer: &str, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let Some(json) = json else { return Some(default) };
        match json.as_str() {
            Some(".") => Some(Separator::Dot),
            Some("/") => Some(Separator::Slash),
            _ => found.unexpected(code::KEY_SEPARATOR, json, "\".\" or \"/\"", pointer),
        }
    }
}

/// The names of an array's chunks, in one of the two encodings of the core specification.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChunkKeyEncoding {
    /// The text before the indices: `c`, or nothing.
    prefix: &'static str,
    /// Between the indices.
    pub separator: Separator,
    /// The indices of the first chunk in the whole array, for a part of an array. Otherwise empty.
    first_chunk: Vec<u64>,
}

impl ChunkKeyEncoding {
    /// Makes `default`: `c/0/1`, and `c` for an array without dimensions.
    pub const fn v3_default(separator: Separator) -> Self {
        ChunkKeyEncoding { prefix: "c", separator, first_chunk: Vec::new() }
    }

    /// Makes `v2`: `0.1`, and `0` for an array without dimensions.
    pub const fn v2(separator: Separator) -> Self {
        ChunkKeyEncoding { prefix: "", separator, first_chunk: Vec::new() }
    }

    /// Returns this encoding with another separator.
    #[must_use]
    pub fn with_separator(&self, separator: Separator) -> Self {
        ChunkKeyEncoding { separator, ..self.clone() }
    }

    /// Returns the encoding of a part whose first chunk has these indices in the whole array.
    #[must_use]
    pub fn of_part(&self, first_chunk: &[u64]) -> Self {
        // A part may be taken of a part. Its indices are then moved twice.
        let first_chunk = first_chunk.iter().zip(self.firsts()).map(|(own, first)| own + first);
        ChunkKeyEncoding { first_chunk: first_chunk.collect(), ..*self }
    }

    /// Returns the encoding of the whole array.
    #[must_use]
    pub fn of_whole(&self) -> Self {
        ChunkKeyEncoding { first_chunk: Vec::new(), ..*self }
    }

    /// Returns the key of a chunk, relative to the array.
    pub fn key(&self, chunk_indices: &[u64]) -> String {
        let mut key = String::from(self.prefix);
        for (index, first) in chunk_indices.iter().zip(self.firsts()) {
            if !key.is_empty() {
                key.push(self.separator.character());
            }
            key.push_str(&(index + first).to_string());
        }
        if key.is_empty() {
            key.push('0');
        }
        key
    }

    /// Returns the chunk indices of a key. `None` if it is not a key of [`Self::key`] for an array of this rank.
    pub fn chunk_indices(&self, key: &str, rank: usize) -> Option<Vec<u64>> {
        if rank == 0 {
            return (self.key(&[]) == key).then(Vec::new);
        }
        let indices: Option<Vec<u64>> = self.indices(key)?.collect();
        indices.filter(|indices| indices.len() == rank)
    }

    /// Returns true for a part of an array if the key is that of a chunk of the whole.
    pub fn is_key_of_whole(&self, key: &str, rank: usize) -> bool {
        !self.first_chunk.is_empty() && self.of_whole().chunk_indices(key, rank).is_some()
    }

    /// Returns the linear index (C order) of a key's chunk in a grid. `None` if the grid does not contain it.
    pub fn linear_index(&self, key: &str, grid_shape: &[u64]) -> Option<u64> {
        if grid_shape.is_empty() {
            return (self.key(&[]) == key).then_some(0);
        }
        let mut lengths = grid_shape.iter();
        let linear = self.indices(key)?.try_fold(0_u64, |linear, index| {
            let (length, index) = (lengths.next()?, index?);
            // Only the indices of a grid that has chunks fit into 64 bits for certain.
            if index < *length { linear.checked_mul(*length)?.checked_add(index) } else { None }
        })?;
        lengths.next().is_none().then_some(linear)
    }

    /// Parses the indices in a key, for an array with dimensions. `None` for the key, or for an index, that is not
    /// valid.
    fn indices<'k>(&self, key: &'k str) -> Option<impl Iterator<Item = Option<u64>> + use<'_, 'k>> {
        let separator = self.separator.character();
        let indices = key.strip_prefix(self.prefix)?;
        let indices = if self.prefix.is_empty() { indices } else { indices.strip_prefix(separator)? };
        Some(indices.split(separator).zip(self.firsts()).map(|(text, first)| index::<u64>(text)?.checked_sub(first)))
    }

    fn firsts(&self) -> impl Iterator<Item = u64> + '_ {
        self.first_chunk.iter().copied().chain(std::iter::repeat(0))
    }

    /// Returns true if a folder may contain chunks, for an array of this rank.
    pub fn is_folder_of_chunks(&self, folder: &str, rank: usize) -> bool {
        let (whole, mut key) = (self.of_whole(), folder.to_owned());
        (0..rank).any(|_| {
            // A folder lacks the last indices of a key. If indices of 0 complete it to a key, chunks may be below it.
            key.push_str("/0");
            whole.chunk_indices(&key, rank).is_some()
        })
    }

    /// Returns the metadata, including the separator.
    pub fn to_json(&self) -> Json {
        let configuration = Object::new().with("separator", self.separator.character().to_string());
        let name = if self.prefix.is_empty() { "v2" } else { "default" };
        Object::new().with("name", name).with("configuration", configuration).into()
    }

    /// Reads metadata at `pointer`. Any other encoding is an error, so that no key can name a file outside the array.
    pub(super) fn read(json: &Json, pointer: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let extension = read_extension(json, pointer, diagnostics)?;
        let name = &extension.name;
        let encoding = match name.as_str() {
            "default" => Self::v3_default(Separator::Slash),
            "v2" => Self::v2(Separator::Dot),
            _ => {
                let message = format!("the chunk key encoding {name:?} is not supported");
                let help = "supported are \"default\" and \"v2\"";
                diagnostics.advise(code::KEY_ENCODING_UNKNOWN, format!("{pointer}/name"), message, help);
                return None;
            }
        };
        let configuration = extension.configuration.unwrap_or_default();
        let pointer = format!("{pointer}/configuration");
        let separator = configuration.get("separator");
        let separator = Separator::read(separator, encoding.separator, &format!("{pointer}/separator"), diagnostics);
        if let Some(unknown) = configuration.unknown_names(&["separator"]).next() {
            let unknown = Json::from(unknown).excerpt();
            let message = format!("the chunk key encoding {name:?} has no member {unknown}");
            return diagnostics.refuse(code::KEY_ENCODING_CONFIGURATION, pointer, message);
        }
        Some(encoding.with_separator(separator?))
    }
}

/// The chunk grid.
#[derive(Debug, Clone, PartialEq)]
pub enum ChunkGrid {
    /// `regular`: every chunk has this shape.
    Regular {
        /// Elements per dimension, none of them 0.
        chunk_shape: Vec<u64>,
    },
    /// `rectilinear`: chunks have their own lengths along each dimension.
    Rectilinear {
        /// The lengths of the chunks along each dimension.
        edges: Vec<EdgeLengths>,
    },
    /// Any other grid, kept as written.
    Other(Json),
}

impl ChunkGrid {
    /// Returns the chunks of an array of `shape`. `None` for an unknown grid, or one of another rank.
    pub fn grid(&self, shape: &[u64]) -> Option<Grid> {
        match self {
            ChunkGrid::Regular { chunk_shape: chunk } => {
                (shape.len() == chunk.len()).then(|| Grid::regular(shape, chunk))
            }
            ChunkGrid::Rectilinear { edges } => {
                let axes = edges.iter().zip(shape);
                let axes = axes.map(|(edges, length)| Axis::new(*length, edges.iter().copied()));
                (shape.len() == edges.len()).then(|| Grid::of_axes(axes.collect()))
            }
            ChunkGrid::Other(_) => None,
        }
    }

    /// Returns the greatest length of a chunk along each dimension, in an array of `shape`. Without a shape all chunks
    /// count. `None` for an unknown grid.
    pub fn greatest_chunk_shape(&self, shape: Option<&[u64]>) -> Option<Vec<u64>> {
        match (self, shape) {
            (ChunkGrid::Regular { chunk_shape }, _) => Some(chunk_shape.clone()),
            (ChunkGrid::Rectilinear { edges }, None) => Some(longest(edges)),
            (_, Some(shape)) => self.grid(shape).map(|grid| grid.largest().to_vec()),
            (ChunkGrid::Other(_), None) => None,
        }
    }
}

/// Reads the metadata, and checks the chunk shape of a regular grid against the shape of the array.
pub(super) fn read_chunk_grid(json: &Json, shape: Option<&[u64]>, found: &mut Vec<Diagnostic>) -> Option<ChunkGrid> {
    let extension = read_extension(json, "/chunk_grid", found)?;
    let (name, configuration) = (extension.name, extension.configuration.unwrap_or_default());
    let known: &[&str] = match name.as_str() {
        "regular" => &["chunk_shape"],
        "rectilinear" => &["kind", "chunk_shapes"],
        name => {
            let message = format!("the chunk grid {name:?} is in no registry");
            found.add(code::GRID_UNREGISTERED, "/chunk_grid/name", message);
            return Some(ChunkGrid::Other(json.clone()));
        }
    };
    for unknown in configuration.unknown_names(known).take(MAX_FAULTS) {
        let message = format!("the {name} grid has no member {}", Json::from(unknown).excerpt());
        found.add(code::GRID_CONFIGURATION, POINTER, message);
    }
    if name == "rectilinear" {
        let message = "the chunk grid \"rectilinear\" is read by zarr-python from 3.2 on, and there behind a switch";
        found.add(code::GRID_FEW_READERS, "/chunk_grid/name", message);
        return read_rectilinear(&configuration, shape, found).map(|edges| ChunkGrid::Rectilinear { edges });
    }
    let Some(json) = configuration.get("chunk_shape") else {
        return found.refuse(code::GRID_CONFIGURATION, POINTER, "`chunk_shape` is missing");
    };
    let pointer = "/chunk_grid/configuration/chunk_shape";
    read_chunk_shape((json, pointer), code::GRID_CONFIGURATION, shape, found)
}

/// Reads the chunk shape at `pointer`, and checks its rank, lengths and product. If it is no list of lengths, the fault
/// is of code `fault`. A length of 0 along a dimension of length 0, which zarr-python 3.1.6 and 3.2.1 write, becomes 1.
pub(super) fn read_chunk_shape(
    (json, pointer): (&Json, &str),
    fault: Code,
    shape: Option<&[u64]>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ChunkGrid> {
    let mut chunk_shape = read_sizes(json, pointer, fault, diagnostics)?;
    let before = diagnostics.len();
    if let Some(shape) = shape
        && shape.len() != chunk_shape.len()
    {
        let message = format!("the chunk shape has {} dimensions, the array {}", chunk_shape.len(), shape.len());
        diagnostics.add(code::CHUNK_SHAPE_RANK, pointer, message);
    }
    // A length of 0 that is read as 1 is no fault. Its findings stay apart until `is_sound` has counted the faults.
    let mut empty = Vec::new();
    for (index, size) in chunk_shape.iter_mut().enumerate().filter(|(_, size)| **size == 0) {
        let pointer = format!("{pointer}/{index}");
        if shape.and_then(|shape| shape.get(index)) == Some(&0) {
            *size = 1;
            let message = format!("the chunk shape is 0 in dimension {index}, of length 0, and is read as 1");
            empty.advise(code::CHUNK_SHAPE_ZERO_EMPTY, pointer, message, "write 1: not every reader opens the array");
        } else {
            let message = format!("the chunk shape is 0 in dimension {index}, expected at least 1");
            diagnostics.add(code::CHUNK_SHAPE_ZERO, pointer, message);
        }
    }
    if num_elements(&chunk_shape).is_none() {
        diagnostics.add(code::CHUNK_SHAPE_OVERFLOW, pointer, too_many("a chunk", &chunk_shape));
    }
    let is_sound = diagnostics.len() == before;
    diagnostics.extend(empty);
    is_sound.then_some(ChunkGrid::Regular { chunk_shape })
}

/// A list of integers from 0 to 2^64-1, at most [`MAX_RANK`] of them; a list that is no such one is of code `fault`.
fn read_sizes(json: &Json, pointer: &str, fault: Code, found: &mut Vec<Diagnostic>) -> Option<Vec<u64>> {
    let Some(elements) = json.as_array() else { return found.unexpected(fault, json, "an array of integers", pointer) };
    if elements.len() > MAX_RANK {
        let message = format!("{} dimensions; at most {MAX_RANK} are supported", elements.len());
        return found.refuse(code::RANK_LIMIT, pointer, message);
    }
    let mut sizes = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        let expected = "an integer from 0 to 2^64-1";
        let size = element.as_u64();
        sizes.extend(size.or_else(|| found.unexpected(fault, element, expected, &format!("{pointer}/{index}"))));
    }
    (sizes.len() == elements.len()).then_some(sizes)
}

pub(super) fn read_shape(json: &Json, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<u64>> {
    let shape = read_sizes(json, "/shape", code::MEMBER_TYPE, diagnostics)?;
    if num_elements(&shape).is_none() {
        let help = "correct the shape; for an axis that grows, write its present length and resize it later";
        diagnostics.advise(code::SHAPE_OVERFLOW, "/shape", too_many("an array", &shape), help);
        return None;
    }
    Some(shape)
}

fn too_many(owner: &str, shape: &[u64]) -> String {
    format!("{owner} of shape {shape:?} has more than 2^64 - 1 elements, the most that are supported")
}

const POINTER: &str = "/chunk_grid/configuration";

/// The lengths of the chunks along one dimension, none of them 0, each with its number of repetitions.
type EdgeLengths = Vec<(u64, u64)>;

/// Returns the length of the longest chunk along each dimension. It is 0 if there is none.
fn longest(edges: &[EdgeLengths]) -> Vec<u64> {
    edges.iter().map(|runs| runs.iter().map(|(length, _)| *length).max().unwrap_or(0)).collect()
}

/// Returns the lengths of a grid's chunks along each dimension in runs, as in `chunk_shapes`.
pub(super) fn chunk_shapes(grid: &Grid) -> Json {
    // A dimension without elements has no chunk, but its grid has one nonetheless.
    let run = |(length, count): (u64, u64)| Json::from(vec![length, count.max(1)]);
    Json::Array(grid.axes().iter().map(|axis| Json::Array(axis.runs_of_chunks().map(run).collect())).collect())
}

/// Reads the configuration and checks it against the shape of the array. `None` after a fault.
fn read_rectilinear(grid: &Object, shape: Option<&[u64]>, faults: &mut Vec<Diagnostic>) -> Option<Vec<EdgeLengths>> {
    let is_inline = grid.get("kind").and_then(Json::as_str) == Some("inline");
    if !is_inline {
        let message = format!("expected \"inline\" as `kind`, found {}", grid.excerpt("kind"));
        faults.add(code::GRID_CONFIGURATION, format!("{POINTER}/kind"), message);
    }
    let pointer = format!("{POINTER}/chunk_shapes");
    let Some(dimensions) = grid.get("chunk_shapes").and_then(Json::as_array) else {
        let found = grid.excerpt("chunk_shapes");
        let message = format!("expected the lengths of each dimension as `chunk_shapes`, found {found}");
        return faults.refuse(code::GRID_CONFIGURATION, pointer, message);
    };
    let rank = shape.map_or(dimensions.len(), <[u64]>::len);
    if dimensions.len() != rank || rank > MAX_RANK {
        let message = format!("`chunk_shapes` has {} dimensions, the array {rank}", dimensions.len());
        return faults.refuse(code::CHUNK_SHAPE_RANK, pointer, message);
    }
    let read = |(dimension, json): (usize, &Json)| {
        read_edges(json, shape.map(|shape| shape[dimension]), &format!("{pointer}/{dimension}"), faults)
    };
    let edges: Vec<EdgeLengths> = dimensions.iter().enumerate().filter_map(read).collect();
    if edges.len() < rank {
        return None;
    }
    // No chunk is larger than one with the greatest length along each dimension. If its elements can be counted, those
    // of all can.
    let longest = longest(&edges);
    if num_elements(&longest).is_none() {
        return faults.refuse(code::CHUNK_SHAPE_OVERFLOW, pointer, too_many("a chunk", &longest));
    }
    is_inline.then_some(edges)
}

/// Reads the lengths along a dimension of `length` elements: one for all chunks, or a list of lengths and runs.
fn read_edges(json: &Json, length: Option<u64>, pointer: &str, faults: &mut Vec<Diagnostic>) -> Option<EdgeLengths> {
    let Some(entries) = json.as_array() else {
        let edge = read_edge(json, pointer, faults)?;
        return Some(vec![(edge, length.unwrap_or(0).div_ceil(edge))]);
    };
    let mut edges = EdgeLengths::new();
    for (index, entry) in entries.iter().enumerate() {
        edges.extend(read_run(entry, &format!("{pointer}/{index}"), faults));
        if faults.len() >= MAX_FAULTS {
            return None;
        }
    }
    // After a fault some lengths are missing, so the sum means nothing.
    if edges.len() < entries.len() {
        return None;
    }
    // A sum that does not fit into 64 bits is certainly not too short. It ends in `None` and is no fault.
    let add = |total: u64, (length, count): &(u64, u64)| total.checked_add(length.checked_mul(*count)?);
    if let (Some(total), Some(length)) = (edges.iter().try_fold(0, add), length)
        && total < length
    {
        let message = format!("the chunks cover {total} elements of a dimension of {length}");
        return faults.refuse(code::GRID_TOO_SHORT, pointer, message);
    }
    Some(edges)
}

fn read_run(json: &Json, pointer: &str, faults: &mut Vec<Diagnostic>) -> Option<(u64, u64)> {
    let Some(pair) = json.as_array() else { return Some((read_edge(json, pointer, faults)?, 1)) };
    let [length, count] = pair else {
        let message = format!("expected a run as [length, count], found an array of {}", pair.len());
        return faults.refuse(code::GRID_CONFIGURATION, pointer, message);
    };
    read_edge(length, &format!("{pointer}/0"), faults).zip(read_edge(count, &format!("{pointer}/1"), faults))
}

fn read_edge(json: &Json, pointer: &str, faults: &mut Vec<Diagnostic>) -> Option<u64> {
    match json.as_u64() {
        Some(0) => faults.refuse(code::CHUNK_SHAPE_ZERO, pointer, "a length is 0, expected at least 1"),
        None => faults.unexpected(code::GRID_CONFIGURATION, json, "a positive integer", pointer),
        edge => edge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Separator::{Dot, Slash};

    #[test]
    fn keys_are_those_of_the_specification_and_are_read_back() {
        let cases: [(ChunkKeyEncoding, &[u64], &str); 9] = [
            (ChunkKeyEncoding::v3_default(Slash), &[1, 23, 45], "c/1/23/45"),
            (ChunkKeyEncoding::v3_default(Dot), &[1, 23], "c.1.23"),
            (ChunkKeyEncoding::v3_default(Slash), &[], "c"),
            (ChunkKeyEncoding::v2(Dot), &[1, 0], "1.0"),
            (ChunkKeyEncoding::v2(Slash), &[1, 0], "1/0"),
            (ChunkKeyEncoding::v2(Dot), &[], "0"),
            (ChunkKeyEncoding::v2(Dot), &[0], "0"),
            (ChunkKeyEncoding::v2(Dot).of_part(&[3, 1]), &[1, 2], "4.3"),
            (ChunkKeyEncoding::v2(Dot).of_part(&[3, 1]).of_part(&[1, 0]), &[1, 2], "5.3"),
        ];
        for (encoding, indices, key) in cases {
            assert_eq!(encoding.key(indices), key);
            assert_eq!(encoding.chunk_indices(key, indices.len()).as_deref(), Some(indices), "{key}");
        }
    }

    #[test]
    fn keys_of_no_chunk_are_not_read() {
        let default = ChunkKeyEncoding::v3_default(Slash);
        let keys = "c c/ c/0 c/0/01 c/0/+1 c/0/1/2 c/0/-1 c//1 0/1 zarr.json c/0/18446744073709551616 c/../1";
        for key in keys.split(' ').chain([""]) {
            assert_eq!(default.chunk_indices(key, 2), None, "{key}");
        }
        assert_eq!(default.chunk_indices("c/0", 0), None);
        assert_eq!(ChunkKeyEncoding::v2(Dot).chunk_indices("1", 0), None);
        assert_eq!(ChunkKeyEncoding::v2(Dot).chunk_indices("", 1), None);
    }
}

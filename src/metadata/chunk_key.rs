//! Chunk keys: conversion from chunk indices to the key of a chunk relative to its array, and back.

use serde::{Deserialize, Serialize};

use super::extension::{Findings, read_extension};
use super::json::{Json, Object, index};
use crate::diagnostic::{Diagnostic, code};

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

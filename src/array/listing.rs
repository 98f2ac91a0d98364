//! What a look at the keys of an array tells: which chunks are there, what size they have, and what else lies there.

use std::collections::HashMap;
use std::mem::discriminant;

use super::ChunkSet;

/// The keys of documents, of both formats, which belong to no chunk.
pub const DOCUMENT_KEYS: [&str; 5] = ["zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata"];

/// The objects under the keys of an array.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Chunks of the grid that are there. What is no file is among them, but for folders under [`Purpose::Reading`].
    pub present: ChunkSet,
    /// True if that is the whole grid because the store tells no keys: a chunk is found absent when it is read.
    pub is_presumed: bool,
    /// Those of them, under [`Purpose::Validating`], whose size is wrong, or that are no file: no use reading them.
    pub unreadable: ChunkSet,
    /// Keys that are no chunk's or not as they should be, in their order; see [`Purpose`].
    pub strays: Vec<Stray>,
    /// Bytes of the chunks of the grid; 0 where they were not asked for.
    pub present_bytes: u64,
}

/// A key that is worth a word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stray {
    /// The key, relative to the array.
    pub key: String,
    /// The reason.
    pub kind: StrayKind,
}

/// The reason why a key is worth a word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum StrayKind {
    /// It belongs to no chunk.
    Unknown,
    /// A folder in which no chunk can lie.
    Folder,
    /// It would be a chunk of a larger array.
    OutsideGrid(Vec<u64>),
    /// Something that is no regular file: "a FIFO".
    NotAFile(Option<Vec<u64>>, &'static str),
    /// A chunk's object of this many bytes, which it cannot have.
    Size(Vec<u64>, u64),
    /// A symbolic link; under [`Purpose::Reading`] that of a chunk which leads nowhere: the chunk is absent.
    Link,
    /// A name that is no UTF-8.
    NotUtf8,
}

/// The purpose for which an array's keys are looked at.
#[derive(Debug, Clone, Copy)]
pub enum Purpose<'a> {
    /// To read its chunks. The first [`Listing::MOST_STRAYS`] strays of each kind are kept, and folders in which no
    /// chunk can lie are looked through for keys, too.
    Reading {
        /// True if the bytes of chunks are counted.
        with_sizes: bool,
    },
    /// To find what is wrong with them. Every stray is kept, and a folder in the place of a chunk counts as one.
    Validating(&'a dyn Sizes),
}

/// The sizes that stored objects must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeRule {
    /// Where every object has the same size: that.
    pub exact: Option<u64>,
    /// The least bytes that an object can have.
    pub least: u64,
    /// The most bytes that an object can have.
    pub most: u64,
}

/// Tells the sizes that an array's objects may have.
pub trait Sizes: std::fmt::Debug + Sync {
    /// The size that the object of a chunk must have.
    fn of(&self, chunk: &[u64]) -> SizeRule;
}

impl Listing {
    /// The chunks that are there, where that is known.
    pub fn known(&self) -> Option<&ChunkSet> {
        (!self.is_presumed).then_some(&self.present)
    }

    /// The most strays of a kind that are kept to read an array.
    pub const MOST_STRAYS: usize = 100;

    /// Keys that belong to no chunk of the grid, the first [`Listing::MOST_STRAYS`] of them.
    pub fn unknown_keys(&self) -> Vec<String> {
        let is_unknown = |kind: &StrayKind| matches!(kind, StrayKind::Unknown | StrayKind::OutsideGrid(_));
        self.keys_of(is_unknown).take(Self::MOST_STRAYS).map(str::to_owned).collect()
    }

    /// Keys of chunks that are links which lead nowhere, the first [`Listing::MOST_STRAYS`] of them.
    pub fn broken_links(&self) -> impl Iterator<Item = &str> {
        self.keys_of(|kind| *kind == StrayKind::Link)
    }

    /// Names that are no keys, the first [`Listing::MOST_STRAYS`] of them.
    pub fn not_keys(&self) -> Vec<String> {
        self.keys_of(|kind| *kind == StrayKind::NotUtf8).map(str::to_owned).collect()
    }

    /// The first folder where a chunk should be.
    pub fn misplaced_folder(&self) -> Option<&str> {
        self.keys_of(|kind| matches!(kind, StrayKind::NotAFile(_, FOLDER))).next()
    }

    fn keys_of(&self, is_meant: impl Fn(&StrayKind) -> bool) -> impl Iterator<Item = &str> {
        self.strays.iter().filter(move |stray| is_meant(&stray.kind)).map(|stray| stray.key.as_str())
    }
}

/// As [`StrayKind::NotAFile`] has it.
pub const FOLDER: &str = "a folder";

impl Purpose<'_> {
    /// True if every key counts.
    pub fn validates(self) -> bool {
        matches!(self, Purpose::Validating(_))
    }

    /// True if the size of every object counts.
    pub fn wants_sizes(self) -> bool {
        !matches!(self, Purpose::Reading { with_sizes: false })
    }

    /// Leaves out strays of which enough that come before them are there.
    pub fn leave_out(self, strays: &mut Vec<Stray>) {
        if self.validates() {
            return;
        }
        strays.sort_unstable();
        let mut counts = HashMap::new();
        strays.retain(|stray| {
            let count = counts.entry(discriminant(&stray.kind)).or_insert(0);
            *count += 1;
            *count <= Listing::MOST_STRAYS
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strays_of_a_kind_are_the_first_by_name_whatever_comes_first() {
        let reading = Purpose::Reading { with_sizes: false };
        let numbers = |order: &mut dyn Iterator<Item = u32>| {
            let kinds = [StrayKind::Unknown, StrayKind::Link];
            let strays = order.flat_map(|number| kinds.clone().map(|kind| Stray { key: format!("{number:03}"), kind }));
            let mut strays: Vec<Stray> = strays.collect();
            reading.leave_out(&mut strays);
            strays
        };
        let ascending = numbers(&mut (0..300));
        assert_eq!(ascending.len(), 2 * Listing::MOST_STRAYS);
        assert_eq!(ascending.last().map(|stray| stray.key.as_str()), Some("099"));
        assert_eq!(numbers(&mut (0..300).rev()), ascending);
    }
}

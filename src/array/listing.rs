//! Listing of an array's keys: which chunks exist, their sizes, and unexpected keys.

use std::collections::HashMap;
use std::mem::discriminant;
use std::ops::RangeInclusive;

use super::ChunkSet;

/// Keys of metadata documents of both formats. They belong to no chunk.
pub const DOCUMENT_KEYS: [&str; 5] = ["zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata"];

/// True if a key, relative to any node, is that of a metadata document.
pub fn is_document(key: &str) -> bool {
    key.rsplit('/').next().is_some_and(|name| DOCUMENT_KEYS.contains(&name))
}

/// Objects below an array.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Existing chunks of the grid, including entries that are not files. Folders are excluded under
    /// [`Purpose::Reading`].
    pub present: ChunkSet,
    /// True if `present` is the whole grid because the store cannot list. A read finds absent chunks.
    pub is_presumed: bool,
    /// Chunks of `present` with a wrong size or that are not files, under [`Purpose::Validating`], or that are
    /// [`UnexpectedKeyKind::Unread`]. They need not be read.
    pub unreadable: ChunkSet,
    /// Unexpected or wrong keys in sorted order. See [`Purpose`].
    pub strays: Vec<UnexpectedKey>,
    /// Number of keys that belong to no chunk of the grid. There may be more than strays.
    pub num_unknown: u64,
    /// Size in bytes of all chunks of the grid, or 0 if it was not requested.
    pub present_bytes: u64,
}

/// Key that should be reported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnexpectedKey {
    /// The key, relative to the array.
    pub key: String,
    /// The reason.
    pub kind: UnexpectedKeyKind,
}

/// Reason why a key should be reported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnexpectedKeyKind {
    /// It belongs to no chunk.
    Unknown,
    /// A folder that cannot contain a chunk.
    Folder,
    /// It would be a chunk of a larger array.
    OutsideGrid(Vec<u64>),
    /// An entry that is not a regular file, with its chunk if it has one, and its kind: "a FIFO".
    NotAFile(Option<Vec<u64>>, &'static str),
    /// A chunk whose object has this number of bytes, which is not a valid size.
    Size(Vec<u64>, u64),
    /// A symbolic link. Under [`Purpose::Reading`], only a dangling link of a chunk, which is absent then.
    Link,
    /// A name that is not UTF-8.
    NotUtf8,
    /// A chunk whose size the store does not give, with the reason. With a next step the store refuses it, otherwise its
    /// data are at fault. Not under [`Purpose::Reading`].
    Unread(Vec<u64>, String, Option<String>),
}

impl UnexpectedKeyKind {
    /// Returns true for a key that belongs to no chunk of the grid.
    pub fn is_unknown(&self) -> bool {
        matches!(self, UnexpectedKeyKind::Unknown | UnexpectedKeyKind::OutsideGrid(_))
    }
}

/// Purpose of a listing.
#[derive(Clone, Copy)]
pub enum Purpose<'a> {
    /// To read the chunks. Only the first [`Listing::MOST_STRAYS`] strays of each kind are kept. Folders that cannot
    /// contain a chunk are searched too.
    Reading {
        /// True if the sizes of the chunks are needed.
        with_sizes: bool,
    },
    /// To count the chunks and their bytes, like `Reading` with sizes. A chunk whose size the store does not give is a
    /// stray, and otherwise an error.
    Counting,
    /// To find errors. All strays are kept, and a folder at the key of a chunk is one. The function returns the valid
    /// sizes of the object of a chunk.
    Validating(&'a Sizes<'a>),
}

/// A function that returns the valid sizes of the object of a chunk, in bytes.
pub type Sizes<'a> = dyn Fn(&[u64]) -> RangeInclusive<u64> + Sync + 'a;

impl Listing {
    /// Returns the existing chunks, or `None` if they are not known.
    pub fn known(&self) -> Option<&ChunkSet> {
        (!self.is_presumed).then_some(&self.present)
    }

    /// Most strays of a kind that are kept under [`Purpose::Reading`].
    pub const MOST_STRAYS: usize = 100;

    /// Returns the keys that belong to no chunk of the grid, at most [`Listing::MOST_STRAYS`].
    pub fn unknown_keys(&self) -> Vec<String> {
        self.keys_of(UnexpectedKeyKind::is_unknown).take(Self::MOST_STRAYS).map(str::to_owned).collect()
    }

    /// Returns the keys of chunks that are dangling links, at most [`Listing::MOST_STRAYS`]. Only for
    /// [`Purpose::Reading`].
    pub fn broken_links(&self) -> impl Iterator<Item = &str> {
        self.keys_of(|kind| *kind == UnexpectedKeyKind::Link)
    }

    /// Returns the names that are not keys, at most [`Listing::MOST_STRAYS`].
    pub fn not_keys(&self) -> Vec<String> {
        self.keys_of(|kind| *kind == UnexpectedKeyKind::NotUtf8).map(str::to_owned).collect()
    }

    /// Returns the first folder at the key of a chunk.
    pub fn misplaced_folder(&self) -> Option<&str> {
        self.keys_of(|kind| matches!(kind, UnexpectedKeyKind::NotAFile(_, FOLDER))).next()
    }

    fn keys_of(&self, is_meant: impl Fn(&UnexpectedKeyKind) -> bool) -> impl Iterator<Item = &str> {
        self.strays.iter().filter(move |stray| is_meant(&stray.kind)).map(|stray| stray.key.as_str())
    }
}

/// Kind of a folder in [`UnexpectedKeyKind::NotAFile`].
pub const FOLDER: &str = "a folder";

impl Purpose<'_> {
    /// Returns true if every key is checked.
    pub fn validates(self) -> bool {
        matches!(self, Purpose::Validating(_))
    }

    /// Returns true if the sizes of objects are needed.
    pub fn wants_sizes(self) -> bool {
        !matches!(self, Purpose::Reading { with_sizes: false })
    }

    /// Sorts the strays, and drops those beyond the limit of their kind. Does nothing under [`Purpose::Validating`].
    pub fn leave_out(self, strays: &mut Vec<UnexpectedKey>) {
        if self.validates() {
            return;
        }
        // Sorted before any is dropped, so that those that are kept do not depend on the order of the threads.
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
            let kinds = [UnexpectedKeyKind::Unknown, UnexpectedKeyKind::Link];
            let strays =
                order.flat_map(|number| kinds.clone().map(|kind| UnexpectedKey { key: format!("{number:03}"), kind }));
            let mut strays: Vec<UnexpectedKey> = strays.collect();
            reading.leave_out(&mut strays);
            strays
        };
        let ascending = numbers(&mut (0..300));
        assert_eq!(ascending.len(), 2 * Listing::MOST_STRAYS);
        assert_eq!(ascending.last().map(|stray| stray.key.as_str()), Some("099"));
        assert_eq!(numbers(&mut (0..300).rev()), ascending);
    }
}

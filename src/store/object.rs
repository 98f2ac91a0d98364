//! Kinds of entries, and objects that are read and written in parts.

use super::{Result, StoreError};

/// Open object. Many threads may read it at once, but only one sequentially.
///
/// A shard is read in many parts: its index, then some of its inner chunks. A large chunk is read piece by piece. If a
/// store searched the object again for each part, that would cost more than the reads.
pub trait ReadObject: Send + Sync {
    /// Returns the size in bytes when the object was opened.
    fn length(&self) -> u64;

    /// Reads `length` bytes from `offset` into `bytes`, which is overwritten. The range must be inside the object.
    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()>;

    /// Reads the next bytes from `offset` into `piece`. Returns their number, which is 0 at the end. A caller that
    /// reads the whole object must do so in order. A store with a checksum then verifies it.
    fn read_piece(&mut self, offset: u64, piece: &mut [u8]) -> Result<usize> {
        copy_piece(self, offset, piece)
    }

    /// Announces parts that will be read soon, by offset and length. Nearby parts are fetched together. `_parts` is
    /// only called if the store needs it.
    fn prefetch(&self, _parts: &dyn Fn() -> Vec<(u64, u64)>) {}
}

/// Implements [`ReadObject::read_piece`] by [`ReadObject::read_at`].
pub(super) fn copy_piece<R: ReadObject + ?Sized>(reader: &R, offset: u64, piece: &mut [u8]) -> Result<usize> {
    let count = usize::try_from(reader.length().saturating_sub(offset)).unwrap_or(usize::MAX).min(piece.len());
    if count > 0 {
        let mut bytes = Vec::new();
        reader.read_at(offset, count as u64, &mut bytes)?;
        piece[..count].copy_from_slice(&bytes);
    }
    Ok(count)
}

/// Size of a read in a copy through memory, in bytes.
const PIECE: usize = 1 << 20;

/// Calls `take` with an object piece by piece, each with its offset. Fails if the object ends early. `name` is that in
/// messages.
pub(super) fn each_piece(
    reader: &mut ObjectReader,
    name: impl FnOnce() -> String,
    mut take: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let length = reader.length();
    let most = |left: u64| usize::try_from(left).unwrap_or(PIECE).min(PIECE);
    let (mut piece, mut copied) = (vec![0; most(length)], 0);
    while copied < length {
        // The object may have grown since it was opened.
        let count = reader.read_piece(copied, &mut piece[..most(length - copied)])?;
        if count == 0 {
            return Err(StoreError::cut_short(name(), copied, length));
        }
        take(copied, &piece[..count])?;
        copied += count as u64;
    }
    Ok(())
}

/// Object that is read in parts.
pub type ObjectReader = Box<dyn ReadObject>;

pub(super) struct PartReader {
    /// Object, which must contain the whole part.
    pub reader: ObjectReader,
    /// Offset of the part in the object.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

impl ReadObject for PartReader {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        // A range beyond the part must fail, so it is moved beyond every file.
        let is_inside = offset.checked_add(length).is_some_and(|end| end <= self.length);
        let offset = if is_inside { self.offset + offset } else { u64::MAX };
        self.reader.read_at(offset, length, bytes)
    }
}

/// Object that is being written. It is complete after `finish`. If it is dropped before, a later write of the key must
/// replace all remains.
pub trait WriteObject: Send + Sync {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Overwrites existing bytes at the start of the object.
    fn write_at_start(&mut self, bytes: &[u8]) -> Result<()>;

    /// Completes the object.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Object that is written sequentially.
pub type ObjectWriter = Box<dyn WriteObject>;

/// Returns `length` bytes from `offset`, or `None` if there are fewer.
pub(super) fn part(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link, whatever its target.
    Link,
    /// None of these: "a FIFO", "a socket".
    Other(&'static str),
    /// An entry of any kind whose name is not UTF-8 and therefore not a key.
    Unnamed,
}

impl EntryKind {
    pub(super) fn from_file_type(file_type: std::fs::FileType) -> Self {
        use std::os::unix::fs::FileTypeExt;
        match file_type {
            file if file.is_file() => EntryKind::File,
            folder if folder.is_dir() => EntryKind::Folder,
            link if link.is_symlink() => EntryKind::Link,
            fifo if fifo.is_fifo() => EntryKind::Other("a FIFO"),
            socket if socket.is_socket() => EntryKind::Other("a socket"),
            _ => EntryKind::Other("a device"),
        }
    }
}

/// Contents of a folder. Keys are relative to the node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FolderListing {
    /// Folders.
    pub folders: Vec<String>,
    /// Regular files.
    pub files: Vec<String>,
    /// Symbolic links, whatever their targets.
    pub links: Vec<String>,
    /// Other entries, each with its kind: "a FIFO", "a socket".
    pub others: Vec<(String, &'static str)>,
    /// Printable forms of names that are not UTF-8 and therefore not keys.
    pub unnamed: Vec<String>,
}

/// Target of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkTarget {
    /// The target is a folder, not an object.
    pub is_folder: bool,
    /// The target is in the node's own folder.
    pub is_inside: bool,
}

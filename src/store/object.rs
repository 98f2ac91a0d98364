//! What stands at the keys of a store, and objects that are read and written in parts.

use std::fmt::Debug;

use super::Result;

/// An object that a store has opened. It is read by many threads at once, but in order by one.
///
/// A shard is read in many parts (its index, and then some of its inner chunks), a large chunk piece by piece: a store
/// that had to find the object again for each part would spend more on that than on the reading.
pub trait ReadObject: Debug + Send + Sync {
    /// Its size in bytes when it was opened.
    fn length(&self) -> u64;

    /// Reads `length` bytes from `offset` into `bytes` (replaced). The range must lie inside the object.
    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()>;

    /// Reads the bytes from `offset` on into `piece`, as many as fit; how many were read (0 at the end). Who reads all of an
    /// object does so in order: a store that has its checksum proves it then.
    fn read_piece(&mut self, offset: u64, piece: &mut [u8]) -> Result<usize> {
        copy_piece(self, offset, piece)
    }

    /// Tells that parts will be read soon, by their first bytes and lengths: those that are near each other come together.
    /// They are made only where that is of use.
    fn prefetch(&self, _parts: &dyn Fn() -> Vec<(u64, u64)>) {}
}

/// Reads a piece of an object by [`ReadObject::read_at`].
pub(super) fn copy_piece<R: ReadObject + ?Sized>(reader: &R, offset: u64, piece: &mut [u8]) -> Result<usize> {
    let count = usize::try_from(reader.length().saturating_sub(offset)).unwrap_or(usize::MAX).min(piece.len());
    if count > 0 {
        let mut bytes = Vec::new();
        reader.read_at(offset, count as u64, &mut bytes)?;
        piece[..count].copy_from_slice(&bytes);
    }
    Ok(count)
}

/// An object that is read in parts.
pub type ObjectReader = Box<dyn ReadObject>;

/// A part of an object that is open.
#[derive(Debug)]
pub(super) struct PartReader {
    /// The object, which must have all of the part.
    pub reader: ObjectReader,
    /// The first byte of the part.
    pub offset: u64,
    /// Bytes of the part.
    pub length: u64,
}

impl ReadObject for PartReader {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        // What reaches beyond the part reaches beyond every file.
        let is_inside = offset.checked_add(length).is_some_and(|end| end <= self.length);
        let offset = if is_inside { self.offset + offset } else { u64::MAX };
        self.reader.read_at(offset, length, bytes)
    }
}

/// An object that is being written. It is whole once it is finished; of one that is dropped before, nothing may be left
/// that a later writer of the same key does not replace.
pub trait WriteObject: Debug + Send + Sync {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Overwrites bytes at the start of the object, which are there already.
    fn write_at_start(&mut self, bytes: &[u8]) -> Result<()>;

    /// Ends the object.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// An object that is written in order.
pub type ObjectWriter = Box<dyn WriteObject>;

/// `length` bytes from `offset` of what is in memory; `None` where it has fewer.
pub(super) fn part(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}

/// The kind of thing that stands at a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link, wherever it leads.
    Link,
    /// None of these: "a FIFO", "a socket".
    Other(&'static str),
    /// Whatever it is, its name is no UTF-8, and so no key.
    Unnamed,
}

impl EntryKind {
    pub(super) fn of(file_type: std::fs::FileType) -> Self {
        match file_type {
            file if file.is_file() => EntryKind::File,
            folder if folder.is_dir() => EntryKind::Folder,
            link if link.is_symlink() => EntryKind::Link,
            other => EntryKind::Other(describe(other)),
        }
    }
}

/// The contents of a folder, by keys relative to the node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FolderListing {
    /// Its folders.
    pub folders: Vec<String>,
    /// Its regular files.
    pub files: Vec<String>,
    /// Its symbolic links, wherever they lead.
    pub links: Vec<String>,
    /// All others, each with its kind: "a FIFO", "a socket".
    pub others: Vec<(String, &'static str)>,
    /// Names that are no UTF-8, and so no keys, as well as they can be shown.
    pub unnamed: Vec<String>,
}

/// The target of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkTarget {
    /// A folder, not an object.
    pub is_folder: bool,
    /// It lies in the node's own folder.
    pub is_inside: bool,
}

/// Describes what stands at a path and is no regular file.
pub(super) fn describe(file_type: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match file_type {
        folder if folder.is_dir() => "a folder",
        fifo if fifo.is_fifo() => "a FIFO",
        socket if socket.is_socket() => "a socket",
        _ => "a device",
    }
}

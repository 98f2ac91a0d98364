//! Names of objects in a store, kinds of entries, errors, and objects that are read and written in parts.

use std::borrow::Cow;

use super::Result;

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

/// Maximum length of a key in bytes: that of a file path on Linux.
pub const MAX_KEY_BYTES: usize = 4096;

/// Key of an object or a folder in a store: names joined by `/`. The store itself has the empty key.
///
/// A key is checked once, when it is created. No name in it is empty, `.` or `..`, or contains a control character. So
/// a key never leaves the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key<'a>(Cow<'a, str>);

impl<'a> Key<'a> {
    /// Key of the store itself.
    pub const ROOT: Key<'static> = Key(Cow::Borrowed(""));

    /// Creates a key. Fails if the text is empty or not a valid key.
    pub fn new(text: &'a str) -> Result<Self> {
        if is_inside(text) { Ok(Key(Cow::Borrowed(text))) } else { Err(outside(text)) }
    }

    /// Creates a key without a check, from a text that is known at compile time.
    pub(crate) const fn known(text: &'static str) -> Key<'static> {
        Key(Cow::Borrowed(text))
    }

    /// Appends `text` to this key.
    pub fn join<'t>(&self, text: &'t str) -> Result<Key<'t>> {
        if self.is_root() {
            return Key::new(text);
        }
        // `>=` counts the slash between the two.
        if !is_inside(text) || self.0.len() + text.len() >= MAX_KEY_BYTES {
            return Err(outside(text));
        }
        Ok(Key(Cow::Owned([&*self.0, "/", text].concat())))
    }

    /// Appends another key to this one.
    #[must_use]
    pub fn below(&self, key: &Key<'_>) -> Key<'static> {
        let separator = if self.is_root() || key.is_root() { "" } else { "/" };
        Key(Cow::Owned([&*self.0, separator, &*key.0].concat()))
    }

    /// Returns the parent key and the last name, or `None` for the store itself.
    pub fn split_last(&self) -> Option<(Key<'_>, &str)> {
        if self.is_root() {
            return None;
        }
        Some(match self.0.rsplit_once('/') {
            Some((parent, name)) => (Key(Cow::Borrowed(parent)), name),
            None => (Key::ROOT, &self.0),
        })
    }

    /// Returns the prefix of the keys below this one.
    pub(super) fn prefix(&self) -> String {
        if self.is_root() { String::new() } else { format!("{}/", self.0) }
    }

    /// Returns true for the key of the store itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key as an owned value.
    pub fn into_owned(self) -> Key<'static> {
        Key(Cow::Owned(self.0.into_owned()))
    }
}

fn is_inside(text: &str) -> bool {
    text.len() <= MAX_KEY_BYTES
        && !text.chars().any(char::is_control)
        && text.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

fn outside(text: &str) -> StoreError {
    StoreError::Key(text.to_owned())
}

/// Failure of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system returned an error.
    #[error("cannot {action} {object}")]
    Io {
        /// The attempted action: `read`, `create`.
        action: &'static str,
        /// Name of the object or folder in messages.
        object: String,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// An entry that is not a regular file exists at the key of an object.
    #[error("{object} is {found}, not a regular file")]
    NotAFile {
        /// Name of the object in messages.
        object: String,
        /// `a folder`, `a FIFO`, ...
        found: &'static str,
    },
    /// An object is larger than expected.
    #[error("{object} holds {found} bytes, at most {bound} expected")]
    TooLarge {
        /// Name of the object in messages.
        object: String,
        /// Size in bytes.
        found: u64,
        /// Largest expected size in bytes.
        bound: u64,
    },
    /// An object was removed before it was read. Contains its name in messages.
    #[error("{0} was removed while it was read")]
    Vanished(String),
    /// An object ends before the range that is read.
    #[error("{object} holds {found} bytes, {end} were expected")]
    TooShort {
        /// Name of the object in messages.
        object: String,
        /// Size in bytes.
        found: u64,
        /// Size in bytes that is needed.
        end: u64,
    },
    /// An object, or the file that contains it, violates its format.
    #[error("{object} is damaged: {reason}")]
    Damaged {
        /// Name of the object in messages.
        object: String,
        /// Description of the fault.
        reason: String,
    },
    /// An object in a form that this program does not read.
    #[error("{object} is not read: {reason}")]
    Unsupported {
        /// Name of the object in messages.
        object: String,
        /// Description of the form.
        reason: String,
    },
    /// A key that could leave the store.
    #[error("the key {0:?} is not a path inside the store")]
    Key(String),
    /// A remote store failed, or a store refuses the object.
    #[error("{0}")]
    Remote(#[source] Box<RemoteError>),
}

/// Failed request to a remote store, or refused access to an object.
#[derive(Debug, Default, thiserror::Error)]
#[error("cannot {action} {object}: {why}")]
pub struct RemoteError {
    /// The attempted action: `read`, `list`.
    pub action: &'static str,
    /// Name of the object or folder in messages.
    pub object: String,
    /// The reason, without any secret.
    pub why: String,
    /// The next step.
    pub help: String,
    /// The store refuses this object (403), with or without credentials.
    pub is_refused: bool,
    /// The store does not accept the credentials (401), so it refuses every object.
    pub is_unauthorized: bool,
}

impl StoreError {
    /// Returns true if the data are at fault (a folder where a chunk should be), not the machine.
    pub fn is_data_fault(&self) -> bool {
        !matches!(self, StoreError::Io { .. } | StoreError::Vanished(_) | StoreError::Remote(_))
    }

    /// Returns true if the store does not accept the credentials (401). It returns no object.
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, StoreError::Remote(error) if error.is_unauthorized)
    }

    /// Returns true if the store refuses this object (403). It may still return others.
    pub fn is_refused(&self) -> bool {
        matches!(self, StoreError::Remote(error) if error.is_refused)
    }

    /// Returns true if the fault is of this object alone: its data, or the store refuses it. Others can be read.
    pub fn is_of_object(&self) -> bool {
        self.is_data_fault() || self.is_refused()
    }

    /// Returns the error of a failed or refused request.
    pub(crate) fn remote(error: RemoteError) -> Self {
        StoreError::Remote(Box::new(error))
    }

    /// Returns the next step that a store gives.
    pub fn next_step(&self) -> Option<&str> {
        if let StoreError::Remote(error) = self { Some(&error.help) } else { None }
    }

    /// Keeps a fault of one object apart from those that end the work.
    pub(super) fn apart<T>(found: Result<T>) -> Result<Result<T>> {
        if found.as_ref().is_err_and(|error| !error.is_of_object()) { found.map(Ok) } else { Ok(found) }
    }

    /// Fails if an object, or the requested part of one, has more than `bound` bytes.
    pub(super) fn check_size(found: u64, bound: u64, object: impl FnOnce() -> String) -> Result<()> {
        if found <= bound { Ok(()) } else { Err(StoreError::TooLarge { object: object(), found, bound }) }
    }

    /// Returns the error for a read of `length` bytes from `offset` of a shorter object.
    pub(super) fn too_short(object: String, found: u64, (offset, length): (u64, u64)) -> Self {
        StoreError::TooShort { object, found, end: offset.saturating_add(length) }
    }

    /// Returns the error for an object that ended during a copy.
    pub(super) fn cut_short(object: String, copied: u64, length: u64) -> Self {
        Self::io("copy", object, std::io::Error::other(format!("{copied} of {length} bytes were copied")))
    }

    /// Returns the error of a call of the operating system, or one of that kind.
    pub(super) fn io(action: &'static str, object: String, source: impl Into<std::io::Error>) -> Self {
        StoreError::Io { action, object, source: source.into() }
    }

    /// Returns the error for an operation that this kind of store does not have.
    pub(super) fn unsupported(action: &'static str, object: String) -> Self {
        Self::io(action, object, std::io::ErrorKind::Unsupported)
    }
}

#[cfg(test)]
mod key_tests {
    use super::*;

    #[test]
    fn key_never_leads_out_of_its_store() {
        for text in ["", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "a/.", "a\0", &"a".repeat(5000)] {
            assert!(Key::new(text).is_err(), "{text}");
            assert!(Key::new("x").unwrap().join(text).is_err(), "{text}");
        }
        for text in ["a", "a/b", "...", ".a", "c/0/0", "a b"] {
            assert_eq!(Key::new(text).unwrap().as_str(), text);
        }
        let long = "a".repeat(4000);
        assert!(Key::new(&long).unwrap().join(&long).is_err());
    }

    #[test]
    fn keys_are_joined_and_taken_apart() {
        let (a, b) = (Key::new("a").unwrap(), Key::ROOT.join("a/b").unwrap());
        assert_eq!(a.join("b").unwrap(), b);
        assert_eq!(b.split_last(), Some((a.clone(), "b")));
        assert_eq!(a.split_last(), Some((Key::ROOT, "a")));
        assert_eq!(Key::ROOT.split_last(), None);
    }
}

//! A node in a local directory: its objects by key.
//!
//! Only regular files are read, and none larger than its caller allows; a FIFO never blocks. A key never leads out
//! of the node.
#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::confined::Confinement;
use super::copy::copy;
use super::entry::{EntryKind, FolderListing, LinkTarget, describe};
use super::fault::{self, Call};
use super::object::{ObjectReader, ObjectWriter, fill, write_all};
use super::{StoreError, tree};

/// Documents larger than this are not read: 64 MiB.
pub const MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// A node in a local directory.
#[derive(Debug, Clone)]
pub struct Node {
    root: PathBuf,
    /// Objects since the last whose folder was there, where each needed a new one: then the next likely does too.
    folders_missing: Arc<AtomicU32>,
    /// What is created gets these permissions, less the umask.
    modes: Modes,
    /// The folder that nothing which is written may leave by a link.
    confinement: Option<Arc<Confinement>>,
}

/// Permissions of what is created, before the umask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Modes {
    file: u32,
    folder: u32,
}

impl Default for Modes {
    fn default() -> Self {
        Modes { file: 0o666, folder: 0o777 }
    }
}

pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |source| StoreError::Io { action, path, source }
}

/// Opens a regular file for reading, with what is known of it; `None` where nothing is.
fn open_regular(path: &Path) -> Result<Option<(File, Metadata)>, StoreError> {
    // Not blocking: opening a FIFO would wait for a writer for ever.
    let opened = fault::before(Call::Open, path).and_then(|()| {
        OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
    });
    let file = match opened {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(io_error("open", path)(error)),
    };
    let metadata = file.metadata().map_err(io_error("read", path))?;
    if !metadata.is_file() {
        return Err(StoreError::NotAFile { path: path.to_path_buf(), found: describe(metadata.file_type()) });
    }
    Ok(Some((file, metadata)))
}

impl Node {
    /// The node at a directory; nothing is read.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Node {
            root: root.into(),
            folders_missing: Arc::default(),
            modes: Modes::default(),
            confinement: None,
        }
    }

    /// The node, creating and removing nothing through a link: neither a link of its own name nor one on the way from its
    /// folder, as an unfinished destination may hold. The path of the node has no links.
    #[must_use]
    pub fn confined(mut self) -> Self {
        self.confinement = Some(Arc::new(Confinement::new(&self.root)));
        self
    }

    /// The node, creating its folders and objects with the permissions of the folder and the document `key` of
    /// `source`, as `cp` would. Its owner may always write to them.
    #[must_use]
    pub fn with_permissions_of(mut self, source: &Node, key: &str) -> Self {
        let mode_of = |path: &Path| std::fs::metadata(path).map(|found| found.mode() & 0o777).ok();
        if let Some(mode) = mode_of(&source.root) {
            self.modes.folder = mode | 0o700;
        }
        if let Some(mode) = mode_of(&source.root.join(key)) {
            self.modes.file = (mode & 0o666) | 0o600;
        }
        self
    }

    /// The node in a folder of this one, which creates with the same permissions.
    #[must_use]
    pub fn child(&self, path: &str) -> Node {
        Node { root: self.root.join(path), folders_missing: Arc::default(), ..self.clone() }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a key.
    fn path(&self, key: &str) -> Result<PathBuf, StoreError> {
        let inside = key.split('/').all(|name| !matches!(name, "" | "." | "..") && !name.contains('\0'));
        if inside { Ok(self.root.join(key)) } else { Err(StoreError::Key { key: key.to_owned() }) }
    }

    /// Reads a whole object into `bytes` (replaced); false where it is absent.
    pub fn read_into(&self, key: &str, max_bytes: u64, bytes: &mut Vec<u8>) -> Result<bool, StoreError> {
        let path = self.path(key)?;
        let Some((mut file, metadata)) = open_regular(&path)? else {
            bytes.clear();
            return Ok(false);
        };
        let length = metadata.len();
        let size = usize::try_from(length).ok().filter(|_| length <= max_bytes);
        let Some(size) = size else {
            return Err(StoreError::TooLarge { path, found: length, bound: max_bytes });
        };
        // What the buffer held before is overwritten: clearing it first would fill it with zeros for nothing.
        bytes.resize(size, 0);
        let filled = fill(&mut file, bytes, &path)?;
        bytes.truncate(filled);
        Ok(true)
    }

    /// Reads a document of at most [`MAX_DOCUMENT_BYTES`]; `None` where it is absent.
    pub fn read_document(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let mut bytes = Vec::new();
        Ok(self.read_into(key, MAX_DOCUMENT_BYTES, &mut bytes)?.then_some(bytes))
    }

    /// Opens an object for reading in parts; `None` where it is absent.
    pub fn open(&self, key: &str) -> Result<Option<ObjectReader>, StoreError> {
        let path = self.path(key)?;
        Ok(open_regular(&path)?.map(|(file, metadata)| ObjectReader { file, length: metadata.len(), path }))
    }

    /// Creates an object to be written in order; its folders are made as needed.
    pub fn create(&self, key: &str) -> Result<ObjectWriter, StoreError> {
        let path = self.path(key)?;
        let file = self.create_file(&path, self.modes.file)?;
        Ok(ObjectWriter { file, path })
    }

    /// Writes a whole object in place.
    pub fn write(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path(key)?;
        write_all(&mut self.create_file(&path, self.modes.file)?, bytes, &path)
    }

    /// Writes a whole object under a temporary name beside it, syncs it, and renames it into place.
    pub fn publish(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let folder = self.put(key, bytes, true)?;
        let path = self.path(key)?;
        sync_all(&folder, path.parent().unwrap_or(&self.root))
    }

    /// Writes a whole object under a temporary name beside it, and renames it into place: it is never seen in part. It is
    /// durable once the node is synced.
    pub fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.put(key, bytes, false).map(drop)
    }

    /// The same, and the folder it stands in.
    fn put(&self, key: &str, bytes: &[u8], syncs: bool) -> Result<File, StoreError> {
        let path = self.path(key)?;
        let temporary = path.with_extension("zarrcast-partial");
        let mut file = self.create_file(&temporary, self.modes.file)?;
        write_all(&mut file, bytes, &temporary)?;
        if syncs {
            sync_all(&file, &temporary)?;
        }
        let Some(confinement) = &self.confinement else {
            tree::rename(&temporary, &path)?;
            let folder = path.parent().unwrap_or(&self.root);
            return File::open(folder).map_err(io_error("open", folder));
        };
        fault::before(Call::Rename, &temporary)
            .and_then(|()| confinement.rename_file(&temporary, &path))
            .map_err(io_error("rename", &temporary))
    }

    /// Copies an object of another node, by its key there, byte for byte (by reference where the file system can) to a
    /// key of this one; its size in bytes.
    ///
    /// One of more than `max_bytes` is an error: a sparse file costs nothing to make, and days to copy.
    pub fn copy_from(
        &self,
        source: &Node,
        (from, to): (&str, &str),
        max_bytes: u64,
    ) -> Result<u64, StoreError> {
        let from = source.path(from)?;
        let to = self.path(to)?;
        let Some((mut reader, metadata)) = open_regular(&from)? else {
            return Err(io_error("read", &from)(io::ErrorKind::NotFound.into()));
        };
        let length = metadata.len();
        if length > max_bytes {
            return Err(StoreError::TooLarge { path: from, found: length, bound: max_bytes });
        }
        let mut writer = self.create_file(&to, metadata.mode() & 0o777)?;
        let copied = fault::before(Call::Write, &to).and_then(|()| copy(&mut reader, &mut writer, length));
        let copied = copied.map_err(io_error("copy", &from))?;
        if copied == length {
            Ok(copied)
        } else {
            Err(io_error("copy", &from)(io::Error::other(format!("{copied} of {length} bytes were copied"))))
        }
    }

    /// Creates a file, and its folder where that is missing.
    ///
    /// Where each object has a folder of its own, making the folder first saves an attempt for each.
    fn create_file(&self, path: &Path, mode: u32) -> Result<File, StoreError> {
        let folder = path.parent().unwrap_or(&self.root);
        if self.folders_missing.load(Ordering::Relaxed) > 1
            && let Err(error) = self.create_folder(folder)
            && error.kind() == io::ErrorKind::AlreadyExists
        {
            self.folders_missing.store(0, Ordering::Relaxed);
        }
        match fault::before(Call::Create, path).and_then(|()| self.open_new(path, mode)) {
            Ok(file) => Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_folders(folder).map_err(io_error("create", folder))?;
                self.folders_missing.fetch_add(1, Ordering::Relaxed);
                self.open_new(path, mode).map_err(io_error("create", path))
            }
            Err(error) => Err(io_error("create", path)(error)),
        }
    }

    /// A file to be written from its beginning.
    fn open_new(&self, path: &Path, mode: u32) -> io::Result<File> {
        match &self.confinement {
            Some(confinement) => confinement.create_file(path, mode),
            None => OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path),
        }
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let Some(confinement) = &self.confinement else {
            return tree::create_folder(path, self.modes.folder);
        };
        fault::before(Call::Create, path)?;
        confinement.create_folder(path, self.modes.folder)
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        match &self.confinement {
            Some(confinement) => confinement.create_folders(path, self.modes.folder),
            None => tree::create_folders(path, self.modes.folder),
        }
    }

    /// Removes an object; false where there is none.
    pub fn remove(&self, key: &str) -> Result<bool, StoreError> {
        let path = self.path(key)?;
        match fault::before(Call::Remove, &path).and_then(|()| self.remove_file(&path)) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(false)
            }
            Err(error) => Err(io_error("remove", &path)(error)),
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        match &self.confinement {
            Some(confinement) => confinement.remove_file(path),
            None => std::fs::remove_file(path),
        }
    }

    /// Makes all that was written to the node's file system durable.
    pub fn sync(&self) -> Result<(), StoreError> {
        fault::before(Call::Sync, &self.root).map_err(io_error("sync", &self.root))?;
        let folder = File::open(&self.root).map_err(io_error("open", &self.root))?;
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&folder).map_err(|e| io_error("sync", &self.root)(e.into()))?;
        #[cfg(not(target_os = "linux"))]
        folder.sync_all().map_err(io_error("sync", &self.root))?;
        Ok(())
    }

    /// Creates the node's directory; an error where something stands there.
    pub fn create_root(&self) -> Result<(), StoreError> {
        if let Some(parent) = self.root.parent() {
            tree::create_folders(parent, Modes::default().folder).map_err(io_error("create", parent))?;
        }
        tree::create_folder(&self.root, self.modes.folder).map_err(io_error("create", &self.root))
    }

    /// Removes the node's directory and all below it, without following links.
    pub fn remove_root(&self) -> Result<(), StoreError> {
        tree::remove(&self.root)
    }

    /// How much the node's file system can take, whether the node is there yet or not.
    pub fn room(&self) -> Result<Room, StoreError> {
        let root = self.resolved_root()?;
        let existing = root.ancestors().find(|path| path.exists()).unwrap_or(&root);
        let free =
            rustix::fs::statvfs(existing).map_err(|error| io_error("look at", existing)(error.into()))?;
        Ok(Room {
            blocks: free.f_bavail,
            block_bytes: free.f_frsize.max(1),
            // Some file systems make files as long as there are blocks, and say 0.
            files: if free.f_files == 0 { u64::MAX } else { free.f_favail },
        })
    }

    /// Whether anything stands at the node's path, a dangling link included.
    pub fn exists(&self) -> Result<bool, StoreError> {
        tree::exists(&self.root)
    }

    /// The path with every link resolved; what does not exist yet keeps its name below what does.
    pub fn resolved_root(&self) -> Result<PathBuf, StoreError> {
        let absolute = std::path::absolute(&self.root).map_err(io_error("resolve", &self.root))?;
        let mut missing = Vec::new();
        let mut existing = absolute.as_path();
        loop {
            match existing.canonicalize() {
                Ok(resolved) => return Ok(missing.iter().rev().fold(resolved, |path, name| path.join(name))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                        return Err(io_error("resolve", &self.root)(error));
                    };
                    missing.push(name.to_owned());
                    existing = parent;
                }
                Err(error) => return Err(io_error("resolve", &self.root)(error)),
            }
        }
    }

    /// Gives all that a folder of the node holds (`""`: the node itself) to `visit` as it is read: its key, or the name
    /// as well as it can be shown, and what it is. No link is followed; a folder that is not there holds nothing.
    pub fn each_entry(&self, folder: &str, mut visit: impl FnMut(&str, EntryKind)) -> Result<(), StoreError> {
        let path = if folder.is_empty() { self.root.clone() } else { self.path(folder)? };
        let entries = match fault::before(Call::Read, &path).and_then(|()| std::fs::read_dir(&path)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(io_error("list", &path)(error)),
        };
        let mut key = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let prefix = key.len();
        for entry in entries {
            let entry = entry.map_err(io_error("list", &path))?;
            key.truncate(prefix);
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                key.push_str(&name.to_string_lossy());
                visit(&key, EntryKind::Unnamed);
                continue;
            };
            key.push_str(name);
            let file_type = entry.file_type().map_err(io_error("list", &path))?;
            visit(&key, EntryKind::of(file_type));
        }
        Ok(())
    }

    /// What a folder of the node holds (`""`: the node itself), all of it; no link is followed.
    pub fn list(&self, folder: &str) -> Result<FolderListing, StoreError> {
        let mut listing = FolderListing::default();
        self.each_entry(folder, |key, kind| {
            let key = key.to_owned();
            match kind {
                EntryKind::File => listing.files.push(key),
                EntryKind::Folder => listing.folders.push(key),
                EntryKind::Link => listing.links.push(key),
                EntryKind::Other(found) => listing.others.push((key, found)),
                EntryKind::Unnamed => listing.unnamed.push(key),
            }
        })?;
        Ok(listing)
    }

    /// The sizes of some objects of one folder (`""`: the node itself), by their names in it, in all; absent ones have
    /// none, and so have links that lead nowhere or in a circle.
    pub fn total_size(&self, folder: &str, names: &[impl AsRef<str>]) -> Result<u64, StoreError> {
        let path = if folder.is_empty() { self.root.clone() } else { self.path(folder)? };
        let directory = File::open(&path).map_err(io_error("open", &path))?;
        let mut total = 0_u64;
        for name in names {
            let name = name.as_ref();
            match rustix::fs::statat(&directory, name, rustix::fs::AtFlags::empty()) {
                Ok(found) => total = total.saturating_add(u64::try_from(found.st_size).unwrap_or(0)),
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::LOOP) => {}
                Err(error) => return Err(io_error("read", &path.join(name))(error.into())),
            }
        }
        Ok(total)
    }

    /// Where a link of the node leads, every link on the way resolved; `None` where it leads nowhere, or in a circle.
    pub fn link_target(&self, key: &str) -> Result<Option<LinkTarget>, StoreError> {
        let path = self.path(key)?;
        let (Ok(target), Ok(root)) = (path.canonicalize(), self.root.canonicalize()) else { return Ok(None) };
        Ok(Some(LinkTarget { is_folder: target.is_dir(), is_inside: target.starts_with(root) }))
    }

    /// The size of an object in bytes; `None` where it is absent.
    pub fn size(&self, key: &str) -> Result<Option<u64>, StoreError> {
        let path = self.path(key)?;
        match std::fs::metadata(&path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &path)(error)),
        }
    }
}

/// Makes a file or a folder durable.
pub(super) fn sync_all(file: &File, path: &Path) -> Result<(), StoreError> {
    fault::before(Call::Sync, path).and_then(|()| file.sync_all()).map_err(io_error("sync", path))
}

/// What a file system can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Blocks that are free.
    pub blocks: u64,
    /// Bytes of a block; a file that is not empty takes one at least.
    pub block_bytes: u64,
    /// Files that can be made.
    pub files: u64,
}

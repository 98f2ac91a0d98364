//! Store in a local folder.
//!
//! It reads only regular files, and none larger than its caller allows. A FIFO never blocks. Files are read and written
//! in parts. Logs are files, too.
#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use once_cell::sync::OnceCell;
use rustix::io::Errno;

use super::confined::beside;
use super::tree;
use crate::store::{
    Depth, Destination, EntryKind, FreeSpace, Key, LinkTarget, Lock, LockRequest, Log, Node, ObjectReader,
    ObjectWriter, Put, ReadObject, Result, Store, StoreError, Tree, Visit, WriteObject, machine,
};

/// Store in a local folder, which may not exist yet. Reads follow links. Writes and removals of objects do not, neither
/// in a path nor at its end. An unfinished destination may contain links.
pub struct LocalStore {
    pub(super) root: PathBuf,
    name: String,
    /// Number of consecutive objects that each needed a new folder. After some, the next one likely needs one too.
    folders_missing: AtomicU32,
    pub(super) modes: Modes,
    /// If set, the root itself must not be a link, and writes do not create it.
    pub(super) is_strict: bool,
    /// Descriptor of the root. It is opened at the first write, as the folder may not exist before. Stores with other
    /// permissions share it, as a run may have one for each array.
    pub(super) descriptor: Arc<OnceCell<OwnedFd>>,
    /// Parent of the last folder that was created. The next one is often next to it. If each object needs a folder,
    /// this saves a sixth of the system's time.
    pub(super) last: Arc<Mutex<Option<OpenFolder>>>,
}

/// Path of a folder, and its descriptor.
type OpenFolder = (PathBuf, Arc<OwnedFd>);

/// Permissions of new entries, before the umask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    pub(crate) file: u32,
    pub(super) folder: u32,
}

/// Permissions of an entry that anyone may read and write.
const ALL: Modes = Modes { file: 0o666, folder: 0o777 };

pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::io(action, path.display().to_string(), source)
}

/// Converts the result of a call. `None` means that the path does not exist.
pub(super) fn present<T>(outcome: io::Result<T>, action: &'static str, path: &Path) -> Result<Option<T>> {
    match outcome {
        // A file at a parent of the key means that nothing is at the key itself.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        outcome => outcome.map(Some).map_err(io_error(action, path)),
    }
}

/// Opens a regular file for reading, and returns its metadata. Returns `None` if it is absent.
fn open_regular(path: &Path) -> Result<Option<(File, Metadata)>> {
    // Non-blocking, as opening a FIFO would wait for a writer.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(nonblock).open(path);
    let Some(file) = present(opened, "open", path)? else { return Ok(None) };
    let metadata = file.metadata().map_err(io_error("read", path))?;
    let found = match EntryKind::from_file_type(metadata.file_type()) {
        EntryKind::File => return Ok(Some((file, metadata))),
        EntryKind::Other(found) => found,
        _ => "a folder",
    };
    Err(StoreError::NotAFile { object: path.display().to_string(), found })
}

impl LocalStore {
    /// Returns the store in a folder. Does not access it.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let (name, modes, folders_missing) = (root.display().to_string(), ALL, AtomicU32::new(0));
        let (descriptor, last) = (Arc::default(), Arc::default());
        LocalStore { root, name, folders_missing, modes, is_strict: false, descriptor, last }
    }

    /// Returns the store with a root that must not be a link, and that writes do not create.
    #[must_use]
    pub fn confined(self) -> Self {
        LocalStore { is_strict: true, ..self }
    }

    /// Returns the path of a key.
    pub(crate) fn path(&self, key: &Key<'_>) -> PathBuf {
        if key.is_root() { self.root.clone() } else { self.root.join(key.as_str()) }
    }

    /// Creates a file, and its folder if it is missing.
    ///
    /// If each object has its own folder, creating it first saves one failed attempt per object, a sixth of the system's
    /// time.
    pub(super) fn create_file(&self, path: &Path, mode: u32) -> Result<File> {
        let folder = path.parent().unwrap_or(&self.root);
        // The counter is only a guess, so it needs no ordering. Other errors appear again when the file is created.
        if self.folders_missing.load(Ordering::Relaxed) > 1
            && let Err(error) = self.make_folder(folder)
            && error.kind() == io::ErrorKind::AlreadyExists
        {
            self.folders_missing.store(0, Ordering::Relaxed);
        }
        match self.make_file(path, mode) {
            Ok(file) => Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_folders(folder).map_err(io_error("create", folder))?;
                self.folders_missing.fetch_add(1, Ordering::Relaxed);
                self.make_file(path, mode).map_err(io_error("create", path))
            }
            Err(error) => Err(io_error("create", path)(error)),
        }
    }

    /// Returns the permissions of a folder and an object. The owner can always write.
    pub(crate) fn modes_of(&self, folder: &Key<'_>, object: &Key<'_>) -> Modes {
        let mode_of = |key, or: u32| std::fs::metadata(self.path(key)).map_or(or, |found| found.mode());
        // Special bits such as set-user-id are not copied, nor is the execute bit of a file.
        let (file, folder) = (mode_of(object, ALL.file) & ALL.file, mode_of(folder, ALL.folder) & ALL.folder);
        Modes { file: file | 0o600, folder: folder | 0o700 }
    }

    /// Returns the kind of the entry at a key, after links. Returns `None` if there is none.
    pub(crate) fn kind_behind_links(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        let path = self.path(key);
        Ok(present(std::fs::metadata(&path), "read", &path)?.map(|found| EntryKind::from_file_type(found.file_type())))
    }

    /// Resolves a link and all links on its path. Returns `None` for a dangling or circular link. `is_inside` means
    /// below `root`.
    pub(crate) fn link_target(&self, key: &Key<'_>, root: &Key<'_>) -> Option<LinkTarget> {
        let target = self.path(key).canonicalize().ok()?;
        let root = self.path(root).canonicalize().ok()?;
        Some(LinkTarget { is_folder: target.is_dir(), is_inside: target.starts_with(root) })
    }
}

impl Store for LocalStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, key: &Key<'_>, _most: u64) -> Result<Option<ObjectReader>> {
        let path = self.path(key);
        let Some((file, metadata)) = open_regular(&path)? else { return Ok(None) };
        Ok(Some(Box::new(FileReader { file, length: metadata.len(), path })))
    }

    fn size(&self, key: &Key<'_>) -> Result<Option<u64>> {
        let path = self.path(key);
        match std::fs::metadata(&path) {
            // A circular link leads to no object.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => Ok(None),
            found => Ok(present(found, "read", &path)?.map(|found| found.len())),
        }
    }

    fn sizes(&self, folder: &Key<'_>, names: &[&str]) -> Result<Vec<Result<Option<u64>>>> {
        let path = self.path(folder);
        // For a few names, opening the folder costs more than resolving their whole paths.
        let opened = (names.len() > 2).then(|| File::open(&path)).transpose();
        let folder = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Ok(names.iter().map(|_| Ok(None)).collect());
            }
            opened => opened.map_err(io_error("open", &path))?,
        };
        let follow = rustix::fs::AtFlags::empty();
        let stat = |name: &str| match &folder {
            Some(folder) => rustix::fs::statat(folder, name, follow),
            None => rustix::fs::statat(rustix::fs::CWD, path.join(name), follow),
        };
        let size = |name: &&str| match stat(name) {
            Ok(found) => Ok(Ok(Some(u64::try_from(found.st_size).unwrap_or(0)))),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => Ok(Ok(None)),
            Err(error) => Err(io_error("read", &path.join(name))(error.into())),
        };
        names.iter().map(size).collect()
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        let path = self.path(key);
        let found = present(std::fs::symlink_metadata(&path), "read", &path)?;
        Ok(found.map(|found| EntryKind::from_file_type(found.file_type())))
    }

    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()> {
        match depth {
            Depth::Folder => tree::each_entry(&self.path(below), each).map(drop),
            Depth::All => tree::each_object(&self.path(below), each),
        }
    }

    fn writer(&self, key: &Key<'_>) -> Result<ObjectWriter> {
        let path = self.path(key);
        let file = self.create_file(&path, self.modes.file)?;
        Ok(Box::new(FileWriter { file, path }))
    }

    fn copy_from(&self, source: &dyn Store, (from, to): (&Key<'_>, &Key<'_>), most: u64) -> Result<Option<u64>> {
        let Some(local) = source.as_local() else { return self.copy_in_pieces(source, (from, to), most) };
        let (from, to) = (local.path(from), self.path(to));
        let Some((mut reader, metadata)) = open_regular(&from)? else { return Ok(None) };
        let length = metadata.len();
        StoreError::check_size(length, most, || from.display().to_string())?;
        // A copied object keeps the permissions of its source, as with `cp`.
        let mut writer = self.create_file(&to, metadata.mode() & 0o777)?;
        let copied = copy(&mut reader, &mut writer, length).map_err(io_error("copy", &from))?;
        if copied != length {
            return Err(StoreError::cut_short(from.display().to_string(), copied, length));
        }
        Ok(Some(copied))
    }

    fn put(&self, key: &Key<'_>, bytes: &[u8], how: Put) -> Result<bool> {
        let path = self.path(key);
        match how {
            Put::Plain => write_all(&mut self.create_file(&path, self.modes.file)?, bytes, &path)?,
            Put::Whole => self.replace(&path, bytes, false)?,
            Put::Durable => self.replace(&path, bytes, true)?,
            Put::New => return self.put_new(&path, bytes),
        }
        Ok(true)
    }

    fn remove(&self, key: &Key<'_>, what: Tree<'_>) -> Result<bool> {
        let path = self.path(key);
        let removed = match what {
            Tree::Object => self.remove_file(&path),
            Tree::All => std::fs::remove_dir_all(&path),
            Tree::AllBut(_) => return Err(StoreError::unsupported("remove", path.display().to_string())),
        };
        Ok(present(removed, "remove", &path)?.is_some())
    }

    /// Makes everything on the file system durable. Other systems have no such call, so each file is synced.
    #[cfg(target_os = "linux")]
    fn sync(&self, below: &Key<'_>) -> Result<()> {
        let path = self.path(below);
        // One call for all files. A sync of each chunk costs 0.3 to 3 ms, and its write only 10 µs.
        let folder = File::open(&path).map_err(io_error("open", &path))?;
        rustix::fs::syncfs(&folder).map_err(|e| io_error("sync", &path)(e.into()))
    }

    #[cfg(not(target_os = "linux"))]
    fn sync(&self, below: &Key<'_>) -> Result<()> {
        tree::sync_below(&self.path(below)).map(drop)
    }

    fn create_folder(&self, key: &Key<'_>) -> Result<()> {
        let path = self.path(key);
        if let Some(parent) = path.parent() {
            // The parents are not part of the hierarchy, so they get ordinary permissions.
            tree::create_folders(parent, ALL.folder).map_err(io_error("create", parent))?;
        }
        tree::create_folder(&path, self.modes.folder).map_err(io_error("create", &path))
    }

    /// Returns the path after all links.
    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        let path = self.path(below);
        tree::resolved(&path).unwrap_or(path).into_os_string().into_encoded_bytes()
    }

    fn begin_log(&self, key: &Key<'_>) -> Result<Box<dyn Log>> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.root);
        tree::create_private_folders(folder, &self.root)?;
        tree::refuse_planted(folder)?;
        Ok(Box::new(LogFile::open(&path)?))
    }

    fn destination(&self, below: &Key<'_>, replaces: bool) -> Result<Destination> {
        // The user may name DEST by a link. It is resolved once here, as later writes follow no links.
        let target = tree::resolved(&self.path(below))?;
        if !replaces {
            return Ok(Destination::in_place(Node::confined(target)));
        }
        let (run, data) = beside(&target);
        Ok(Destination { target: Node::confined(target), data: Node::confined(data), beside: Some(run) })
    }

    fn rename(&self, from: &Key<'_>, to: &Path, exchanges: bool) -> Result<bool> {
        let from = self.path(from);
        let is_done = tree::rename(&from, to, exchanges)?;
        tree::sync_folder(to.parent().unwrap_or(to))?;
        Ok(is_done)
    }

    fn free_space(&self, below: &Key<'_>) -> Result<FreeSpace> {
        let root = tree::resolved(&self.path(below))?;
        // DEST may not exist yet. It will be on the file system of the nearest existing folder.
        let existing = root.ancestors().find(|path| path.exists()).unwrap_or(&root);
        let free = rustix::fs::statvfs(existing).map_err(|error| io_error("look at", existing)(error.into()))?;
        Ok(FreeSpace {
            // Not `f_bfree`, which includes blocks that only root may use.
            blocks: free.f_bavail,
            block_bytes: free.f_frsize.max(1),
            // Some file systems report 0, as they create files as long as there are free blocks.
            files: if free.f_files == 0 { u64::MAX } else { free.f_favail },
        })
    }

    fn with_modes(&self, modes: Modes) -> Option<Arc<dyn Store>> {
        let (descriptor, last) = (self.descriptor.clone(), self.last.clone());
        let is_strict = self.is_strict;
        Some(Arc::new(LocalStore { modes, is_strict, descriptor, last, ..LocalStore::new(&self.root) }))
    }

    fn folder_above(&self) -> Option<Node> {
        // `Path` gives `.` an empty parent, which would become `.` again below.
        let above = self.root.parent().filter(|_| self.root != Path::new("."))?;
        Some(Node::new(if above.as_os_str().is_empty() { Path::new(".") } else { above }))
    }

    fn as_local(&self) -> Option<&LocalStore> {
        Some(self)
    }
}

/// Open file that is read in parts.
pub(crate) struct FileReader {
    pub file: File,
    pub length: u64,
    pub path: PathBuf,
}

impl ReadObject for FileReader {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let inside = offset.checked_add(length).is_some_and(|end| end <= self.length);
        let short = || StoreError::too_short(self.path.display().to_string(), self.length, (offset, length));
        let size = usize::try_from(length).ok().filter(|_| inside).ok_or_else(short)?;
        bytes.resize(size, 0);
        self.file.read_exact_at(bytes, offset).map_err(io_error("read", &self.path))
    }

    fn read_piece(&mut self, offset: u64, piece: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        // The piece is filled as far as possible, as callers take a short piece for the end of the file.
        while filled < piece.len() {
            match self.file.read_at(&mut piece[filled..], offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_error("read", &self.path)(error)),
            }
        }
        Ok(filled)
    }
}

/// Open file that is written sequentially.
pub(crate) struct FileWriter {
    pub file: File,
    pub path: PathBuf,
}

impl WriteObject for FileWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        write_all(&mut self.file, bytes, &self.path)
    }

    fn write_at_start(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(bytes, 0).map_err(io_error("write", &self.path))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        // The file is complete already. A later `sync` of the store makes it durable.
        Ok(())
    }
}

/// Writes all bytes to a file, or fails.
pub(crate) fn write_all(file: &mut File, bytes: &[u8], path: &Path) -> Result<()> {
    file.write_all(bytes).map_err(io_error("write", path))
}

/// Makes a file or a folder durable.
pub(crate) fn sync_all(file: &File, path: &Path) -> Result<()> {
    file.sync_all().map_err(io_error("sync", path))
}

/// Copies a file of `length` bytes to an empty one. Returns the number of copied bytes.
///
/// `io::copy` does the same, but needs three calls for the types of the files and one more for the end. They are a
/// sixth of the time of a small chunk.
#[cfg(target_os = "linux")]
pub(super) fn copy(reader: &mut File, writer: &mut File, length: u64) -> io::Result<u64> {
    let mut copied = 0;
    while copied < length {
        let rest = usize::try_from(length - copied).unwrap_or(usize::MAX);
        match rustix::fs::copy_file_range(&*reader, None, &*writer, None, rest) {
            Err(rustix::io::Errno::INTR) => {}
            // These file systems may not support it. Or the source does not know its size.
            Ok(0) | Err(_) if copied == 0 => return io::copy(reader, writer),
            Ok(0) => break,
            Ok(count) => copied += count as u64,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(copied)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn copy(reader: &mut File, writer: &mut File, _length: u64) -> io::Result<u64> {
    io::copy(reader, writer)
}

/// Log in a file.
pub(super) struct LogFile {
    file: File,
    path: PathBuf,
}

impl LogFile {
    /// Opens a log or creates an empty one. Does not follow a link.
    pub(super) fn open(path: &Path) -> Result<Self> {
        Self::opened(path, OpenOptions::new().create(true).truncate(false))
    }

    fn opened(path: &Path, options: &mut OpenOptions) -> Result<Self> {
        // Another user may have put a FIFO or a link there. Opening a FIFO must not wait.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        let opened = options.read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path);
        let file = opened.map_err(io_error("open", path))?;
        if file.metadata().is_ok_and(|found| found.is_file()) {
            return Ok(LogFile { file, path: path.to_path_buf() });
        }
        Err(StoreError::NotAFile { object: path.display().to_string(), found: "something else" })
    }

    fn try_lock(&self) -> Result<Lock> {
        match self.file.try_lock() {
            // It was removed meanwhile: the run that had the lock has just ended.
            Ok(()) if self.is_lost() => Ok(Lock::Elsewhere(None)),
            Ok(()) => Ok(Lock::Held),
            Err(TryLockError::WouldBlock) => Ok(Lock::Elsewhere(None)),
            Err(TryLockError::Error(error)) if is_without_locks(&error) => Ok(Lock::Unsupported),
            Err(TryLockError::Error(error)) => Err(io_error("lock", &self.path)(error)),
        }
    }

    fn read_beginning(&mut self, bytes: u64) -> Result<Vec<u8>> {
        let mut beginning = Vec::new();
        let read = self.file.rewind().and_then(|()| (&mut self.file).take(bytes).read_to_end(&mut beginning));
        read.map_err(io_error("read", &self.path))?;
        Ok(beginning)
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that another thread is starting has a copy of the descriptor until
        // it runs its program, and the copy keeps the lock.
        drop(self.file.unlock());
    }
}

impl Log for LogFile {
    fn lock(&mut self, _asker: &LockRequest<'_>) -> Result<Lock> {
        self.try_lock()
    }

    fn is_lost(&self) -> bool {
        match (self.file.metadata(), std::fs::symlink_metadata(&self.path)) {
            (Ok(own), Ok(standing)) => (own.dev(), own.ino()) != (standing.dev(), standing.ino()),
            _ => true,
        }
    }

    fn read(&mut self, max_bytes: u64) -> Result<Vec<u8>> {
        let found = self.file.metadata().map_err(io_error("read", &self.path))?.len();
        StoreError::check_size(found, max_bytes, || self.path.display().to_string())?;
        self.read_beginning(max_bytes)
    }

    /// Truncates the log by replacing the file. A process on a machine without working locks may still have the old
    /// file open, and its appends are lost. An empty log is kept as it is.
    fn cut(&mut self, length: u64) -> Result<()> {
        if self.file.metadata().is_ok_and(|found| found.len() == 0) {
            return Ok(());
        }
        let beginning = if length > 0 { self.read_beginning(length)? } else { Vec::new() };
        // Where locks do not work, two runs may do this at once.
        let temporary = self.path.with_extension(machine::unique_name());
        let copied = Self::opened(&temporary, OpenOptions::new().create_new(true)).and_then(|mut copy| {
            // The lock must exist before the copy is renamed to the path of the log.
            copy.try_lock()?;
            copy.append(&beginning)?;
            copy.sync()?;
            tree::replace_file(&temporary, &self.path)?;
            std::mem::swap(&mut self.file, &mut copy.file);
            Ok(())
        });
        copied.inspect_err(|_| drop(std::fs::remove_file(&temporary)))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        write_all(&mut self.file, bytes, &self.path)
    }

    fn sync(&mut self) -> Result<()> {
        sync_all(&self.file, &self.path)
    }
}

/// Returns true if an error means that the file system has no locks: NFS without its daemon, Lustre without `-o flock`.
fn is_without_locks(error: &io::Error) -> bool {
    let of_files = [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP];
    Errno::from_io_error(error).is_some_and(|errno| of_files.contains(&errno))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write and read files")]
mod tests {
    use super::*;
    use crate::store::destination::NOBODY;

    #[test]
    fn copy_gives_what_the_file_holds_even_if_it_is_shorter_than_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["a", "b"].map(|name| folder.path().join(name));
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(100_000).collect();
        std::fs::write(&from, &bytes).unwrap();
        for length in [100_000, 200_000] {
            let (mut reader, mut writer) = (File::open(&from).unwrap(), File::create(&to).unwrap());
            assert_eq!(copy(&mut reader, &mut writer, length).unwrap(), 100_000);
            assert_eq!(std::fs::read(&to).unwrap(), bytes);
        }
    }

    #[test]
    fn lock_ends_with_its_log_even_if_a_child_has_the_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        for cut in [false, true] {
            let mut log = LogFile::open(&path).unwrap();
            assert!(matches!(log.try_lock(), Ok(Lock::Held)));
            log.append(b"line").unwrap();
            let of_child = log.file.try_clone().unwrap();
            if cut {
                log.cut(2).unwrap();
                assert!(!log.is_lost());
                assert!(matches!(LogFile::open(&path).unwrap().try_lock(), Ok(Lock::Elsewhere(None))));
            }
            drop(log);
            assert!(matches!(LogFile::open(&path).unwrap().try_lock(), Ok(Lock::Held)));
            drop(of_child);
        }
    }

    #[test]
    fn copy_of_a_file_that_tells_no_length_copies_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut reader = File::open("/proc/self/stat").unwrap();
        let mut writer = File::create(folder.path().join("a")).unwrap();
        assert!(copy(&mut reader, &mut writer, 1).unwrap() > 1);
    }

    #[test]
    fn log_that_was_removed_is_not_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = LogFile::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(log.is_lost() && log.lock(&NOBODY).unwrap() == Lock::Elsewhere(None));
        let mut other = LogFile::open(&path).unwrap();
        assert!(log.is_lost() && other.lock(&NOBODY).unwrap() == Lock::Held);
    }

    #[test]
    fn log_that_is_cut_has_nothing_of_what_others_append() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut first = LogFile::open(&path).unwrap();
        first.append(b"one\ntwo\n").unwrap();
        let mut second = LogFile::open(&path).unwrap();
        second.cut(4).unwrap();
        first.append(b"three\n").unwrap();
        second.append(b"four\n").unwrap();
        assert!(!second.is_lost() && first.is_lost());
        assert_eq!(std::fs::read(&path).unwrap(), b"one\nfour\n");
        let mut third = LogFile::open(&path).unwrap();
        assert!(matches!(third.lock(&NOBODY).unwrap(), Lock::Elsewhere(None)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn file_systems_without_locks_are_told_by_what_they_answer() {
        for errno in [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP] {
            assert!(is_without_locks(&errno.into()), "{errno}");
        }
        for errno in [Errno::IO, Errno::ACCESS, Errno::AGAIN] {
            assert!(!is_without_locks(&errno.into()), "{errno}");
        }
    }
}

//! Files that are read and written in parts, and logs in files.
#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::{io_error, tree};
use crate::store::{Lock, LockRequest, Log, ReadObject, Result, StoreError, WriteObject, machine};

/// Open file that is read in parts.
#[derive(Debug)]
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
#[derive(Debug)]
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
#[derive(Debug)]
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

//! Files as logs.
#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::object::{sync_all, write_all};
use super::store::{io_error, present};
use super::tree;
use crate::store::log::{Asker, Lock, Log};
use crate::store::{StoreError, machine};

/// A file of lines.
#[derive(Debug)]
pub(super) struct LogFile {
    file: File,
    path: PathBuf,
}

/// The error of a folder that is not there.
fn missing(path: &Path) -> StoreError {
    io_error("create", path)(io::ErrorKind::NotFound.into())
}

impl LogFile {
    /// Creates an empty log; an error where there is one.
    fn create(path: &Path) -> Result<Self, StoreError> {
        Self::opened(path, OpenOptions::new().create_new(true))?.ok_or_else(|| missing(path))
    }

    /// Opens a log, or makes an empty one.
    pub(super) fn begin(path: &Path) -> Result<Self, StoreError> {
        Self::opened(path, OpenOptions::new().create(true).truncate(false))?.ok_or_else(|| missing(path))
    }

    /// Opens a log that is there; `None` where none is. A link is not followed.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        Self::opened(path, &mut OpenOptions::new())
    }

    fn opened(path: &Path, options: &mut OpenOptions) -> Result<Option<Self>, StoreError> {
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        let opened = options.read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path);
        let Some(file) = present(opened, "open", path)? else { return Ok(None) };
        if file.metadata().is_ok_and(|found| found.is_file()) {
            return Ok(Some(LogFile { file, path: path.to_path_buf() }));
        }
        Err(StoreError::NotAFile { object: path.display().to_string(), found: "something else" })
    }

    fn try_lock(&self) -> Result<Lock, StoreError> {
        match self.file.try_lock() {
            Ok(()) => Ok(Lock::Held),
            Err(TryLockError::WouldBlock) => Ok(Lock::Elsewhere(None)),
            Err(TryLockError::Error(error)) if is_without_locks(&error) => Ok(Lock::Unsupported),
            Err(TryLockError::Error(error)) => Err(io_error("lock", &self.path)(error)),
        }
    }

    /// A copy of its first bytes in a file beside it.
    fn copied_to(&mut self, path: &Path, length: u64) -> Result<LogFile, StoreError> {
        let mut copy = Self::create(path)?;
        // Before it can be seen at the key.
        copy.try_lock()?;
        copy.append(&self.read_beginning(length)?)?;
        copy.sync()?;
        Ok(copy)
    }
}

impl Log for LogFile {
    fn lock(&mut self, _asker: &Asker<'_>) -> Result<Lock, StoreError> {
        self.try_lock()
    }

    fn is_in_place(&self) -> bool {
        let standing = std::fs::symlink_metadata(&self.path);
        match (self.file.metadata(), standing) {
            (Ok(own), Ok(standing)) => (own.dev(), own.ino()) == (standing.dev(), standing.ino()),
            _ => false,
        }
    }

    fn read(&mut self, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        let found = self.file.metadata().map_err(io_error("read", &self.path))?.len();
        if found > max_bytes {
            return Err(StoreError::TooLarge {
                object: self.path.display().to_string(),
                found,
                bound: max_bytes,
            });
        }
        self.read_beginning(max_bytes)
    }

    fn read_beginning(&mut self, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| (&mut self.file).take(max_bytes).read_to_end(&mut bytes))
            .map_err(io_error("read", &self.path))?;
        Ok(bytes)
    }

    fn truncate(&mut self, length: u64) -> Result<(), StoreError> {
        self.file
            .set_len(length)
            .and_then(|()| self.file.seek(SeekFrom::Start(length)))
            .map_err(io_error("write", &self.path))?;
        Ok(())
    }

    /// Another file takes its place. Whoever has the old one open, on a machine that knows nothing of the lock, appends to
    /// what no one reads.
    fn take_over(&mut self, length: u64) -> Result<(), StoreError> {
        let beside = self.path.with_extension(machine::unique_name());
        let copied = self.copied_to(&beside, length).and_then(|copy| {
            tree::rename(&beside, &self.path)?;
            Ok(copy)
        });
        let own = copied.inspect_err(|_| drop(std::fs::remove_file(&beside)))?;
        self.file = own.file;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        write_all(&mut self.file, bytes, &self.path)
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        sync_all(&self.file, &self.path)
    }
}

/// Whether an error says that the file system has no locks: NFS without its daemon, Lustre without `-o flock`.
fn is_without_locks(error: &io::Error) -> bool {
    let of_files = [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP];
    Errno::from_io_error(error).is_some_and(|errno| of_files.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::log::NOBODY;

    #[test]
    fn log_is_locked_by_one_at_a_time_and_known_when_it_was_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert!(LogFile::open(&path).unwrap().is_none());
        let mut log = LogFile::create(&path).unwrap();
        assert!(LogFile::create(&path).is_err());
        assert!(matches!(log.lock(&NOBODY).unwrap(), Lock::Held));
        let mut other = LogFile::open(&path).unwrap().unwrap();
        assert!(matches!(other.lock(&NOBODY).unwrap(), Lock::Elsewhere(None)));
        drop(log);
        assert!(matches!(other.lock(&NOBODY).unwrap(), Lock::Held));
        assert!(other.is_in_place());
        std::fs::remove_file(&path).unwrap();
        assert!(!other.is_in_place());
    }

    #[test]
    fn log_that_is_taken_over_has_nothing_of_what_others_append() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut first = LogFile::create(&path).unwrap();
        first.append(b"one\ntwo\n").unwrap();
        let mut second = LogFile::open(&path).unwrap().unwrap();
        second.take_over(4).unwrap();
        first.append(b"three\n").unwrap();
        second.append(b"four\n").unwrap();
        assert!(second.is_in_place() && !first.is_in_place());
        assert_eq!(std::fs::read(&path).unwrap(), b"one\nfour\n");
        let mut third = LogFile::open(&path).unwrap().unwrap();
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

    #[test]
    fn log_goes_on_after_its_first_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        LogFile::create(&path).unwrap().append(b"one\ntwo\ntor").unwrap();
        let mut log = LogFile::open(&path).unwrap().unwrap();
        assert_eq!(log.read(100).unwrap(), b"one\ntwo\ntor");
        log.truncate(8).unwrap();
        log.append(b"three\n").unwrap();
        assert_eq!(log.read(100).unwrap(), b"one\ntwo\nthree\n");
        assert!(log.read(5).is_err());
        assert_eq!(log.read_beginning(5).unwrap(), b"one\nt");
    }
}

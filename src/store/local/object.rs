//! Files that are read and written in parts.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::io_error;
use crate::store::object::{ReadObject, WriteObject};
use crate::store::{Result, StoreError};

/// An open file that is read in parts.
#[derive(Debug)]
pub(in crate::store) struct FileReader {
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
        let size = usize::try_from(length)
            .ok()
            .filter(|_| inside)
            .ok_or_else(|| StoreError::too_short(self.path.display().to_string(), self.length, (offset, length)))?;
        bytes.resize(size, 0);
        self.file.read_exact_at(bytes, offset).map_err(io_error("read", &self.path))
    }

    fn read_piece(&mut self, offset: u64, piece: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
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

/// An open file that is written in order.
#[derive(Debug)]
pub(in crate::store) struct FileWriter {
    pub file: File,
    pub path: PathBuf,
}

impl WriteObject for FileWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        write_all(&mut self.file, bytes, &self.path)
    }

    fn write_at_start(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.seek(SeekFrom::Start(0)).map_err(io_error("write", &self.path))?;
        write_all(&mut self.file, bytes, &self.path)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Writes bytes to a file; all of them, or it is an error.
pub(in crate::store) fn write_all(file: &mut File, bytes: &[u8], path: &Path) -> Result<()> {
    file.write_all(bytes).map_err(io_error("write", path))
}

/// Makes a file or a folder durable.
pub(in crate::store) fn sync_all(file: &File, path: &Path) -> Result<()> {
    file.sync_all().map_err(io_error("sync", path))
}

/// Copies the `length` bytes that a file holds to the end of another that is empty; how many there were.
///
/// `io::copy` would do the same, but asks three times what the files are, and once more whether there is an end:
/// a sixth of the time that a small chunk takes.
#[cfg(target_os = "linux")]
pub(super) fn copy(reader: &mut File, writer: &mut File, length: u64) -> io::Result<u64> {
    let mut copied = 0;
    while copied < length {
        let rest = usize::try_from(length - copied).unwrap_or(usize::MAX);
        match rustix::fs::copy_file_range(&*reader, None, &*writer, None, rest) {
            Err(rustix::io::Errno::INTR) => {}
            // Not between these file systems; or one that does not know how much it holds.
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make and look at files")]
mod tests {
    use super::*;

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
    fn copy_of_a_file_that_tells_no_length_copies_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut reader = File::open("/proc/self/stat").unwrap();
        let mut writer = File::create(folder.path().join("a")).unwrap();
        assert!(copy(&mut reader, &mut writer, 1).unwrap() > 1);
    }
}

//! Files that are read and written in parts.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::io_error;
use crate::store::StoreError;
use crate::store::object::{ReadObject, WriteObject};

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

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let inside = offset.checked_add(length).is_some_and(|end| end <= self.length);
        let size = usize::try_from(length).ok().filter(|_| inside).ok_or_else(|| {
            StoreError::too_short(self.path.display().to_string(), self.length, (offset, length))
        })?;
        bytes.resize(size, 0);
        self.file.read_exact_at(bytes, offset).map_err(io_error("read", &self.path))
    }

    fn read_piece(&mut self, offset: u64, piece: &mut [u8]) -> Result<usize, StoreError> {
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
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        write_all(&mut self.file, bytes, &self.path)
    }

    fn write_at_start(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.seek(SeekFrom::Start(0)).map_err(io_error("write", &self.path))?;
        write_all(&mut self.file, bytes, &self.path)
    }

    fn finish(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Writes bytes to a file; all of them, or it is an error.
pub(in crate::store) fn write_all(file: &mut File, bytes: &[u8], path: &Path) -> Result<(), StoreError> {
    file.write_all(bytes).map_err(io_error("write", path))
}

/// Makes a file or a folder durable.
pub(in crate::store) fn sync_all(file: &File, path: &Path) -> Result<(), StoreError> {
    file.sync_all().map_err(io_error("sync", path))
}

//! Objects that are read and written in parts.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::fault::{self, Call};
use super::local::io_error;

/// An object that is read in parts.
#[derive(Debug)]
pub struct ObjectReader {
    pub(super) file: File,
    pub(super) length: u64,
    pub(super) path: PathBuf,
}

impl ObjectReader {
    /// Its size in bytes when it was opened.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads `length` bytes from `offset` into `bytes` (replaced). The range must lie inside the object.
    pub fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let inside = offset.checked_add(length).is_some_and(|end| end <= self.length);
        let size = usize::try_from(length).ok().filter(|_| inside).ok_or_else(|| StoreError::TooLarge {
            path: self.path.clone(),
            found: length,
            bound: self.length,
        })?;
        bytes.resize(size, 0);
        fault::before(Call::Read, &self.path)
            .and_then(|()| self.file.read_exact_at(bytes, offset))
            .map_err(io_error("read", &self.path))
    }

    /// Reads the next bytes of the object into `piece`, as many as fit; how many were read (0 at the end).
    pub fn read_next(&mut self, piece: &mut [u8]) -> Result<usize, StoreError> {
        fill(&mut self.file, piece, &self.path)
    }
}

/// An object that is written in order.
#[derive(Debug)]
pub struct ObjectWriter {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

impl ObjectWriter {
    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        write_all(&mut self.file, bytes, &self.path)
    }

    /// Overwrites bytes at the start of the object.
    pub fn write_at_start(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.seek(SeekFrom::Start(0)).map_err(io_error("write", &self.path))?;
        write_all(&mut self.file, bytes, &self.path)
    }
}

/// Reads until the buffer is full or the file ends; how many bytes were read.
pub(super) fn fill(file: &mut File, buffer: &mut [u8], path: &Path) -> Result<usize, StoreError> {
    fault::before(Call::Read, path).map_err(io_error("read", path))?;
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io_error("read", path)(error)),
        }
    }
    Ok(filled)
}

/// Writes bytes to a file; all of them, or it is an error.
pub(super) fn write_all(file: &mut File, bytes: &[u8], path: &Path) -> Result<(), StoreError> {
    let written = fault::before_write(path, bytes.len()).and_then(|allowed| {
        file.write_all(&bytes[..allowed])?;
        if allowed == bytes.len() { Ok(()) } else { Err(rustix::io::Errno::NOSPC.into()) }
    });
    written.map_err(io_error("write", path))
}

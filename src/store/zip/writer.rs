//! A zip file being written: each member has its place before its bytes come, so that many are written at once.
#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flate2::Crc;

use super::archive::Archive;
use super::directory::Directory;
use super::format::{local_header, write_directory};
use crate::store::local::io_error;
use crate::store::{Key, ObjectReader, Store, StoreError, WriteObject};

/// Objects of unknown size are kept in memory up to so many bytes, and beyond that in a file of their own.
const MOST_HELD: usize = 1 << 20;
/// Headers are written together with members of at most so many bytes.
const MOST_JOINED: usize = 64 << 10;
/// Bytes that are moved at once.
const PIECE: usize = 1 << 20;

/// A zip file being written.
#[derive(Debug)]
pub(super) struct ZipWriter {
    file: File,
    path: PathBuf,
    /// Where the members are read again; as messages name it.
    name: String,
    state: Mutex<State>,
    /// A write has failed: the file is not to be finished.
    is_broken: AtomicBool,
    num_spools: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Where the next member goes.
    end: u64,
    /// In the order in which they came.
    written: Directory,
    /// What was written so far, as it was last read.
    seen: Option<(usize, Arc<Archive>)>,
}

/// A member that has its place.
struct Place {
    header: u64,
    start: u64,
    bytes: u64,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a file that is not there; a link of its name is an error.
fn create_new(path: &Path, mode: u32) -> Result<File, StoreError> {
    let created = OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path);
    created.map_err(io_error("create", path))
}

impl ZipWriter {
    /// Begins a file that is not there yet.
    pub(super) fn create(path: PathBuf, mode: u32, name: &str) -> Result<Self, StoreError> {
        Ok(ZipWriter {
            file: create_new(&path, mode)?,
            path,
            name: name.to_owned(),
            state: Mutex::default(),
            is_broken: AtomicBool::new(false),
            num_spools: AtomicU64::new(0),
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        self.file.write_all_at(bytes, offset).map_err(|error| {
            self.is_broken.store(true, Ordering::Relaxed);
            io_error("write", &self.path)(error)
        })
    }

    /// Gives a member its place.
    fn place(&self, key: &Key<'_>, bytes: u64) -> Place {
        let header_bytes = local_header(key.as_str(), bytes, 0).len() as u64;
        let mut state = held(&self.state);
        let header = state.end;
        state.end += header_bytes + bytes;
        Place { header, start: header + header_bytes, bytes }
    }

    /// Notes a member that is written, but for its header, which it gets.
    fn finish_member(&self, key: &Key<'_>, place: &Place, crc32: u32) -> Result<(), StoreError> {
        self.write_at(&local_header(key.as_str(), place.bytes, crc32), place.header)?;
        held(&self.state).written.push_stored(key, place.header, place.bytes, crc32);
        Ok(())
    }

    /// Writes a whole member.
    pub(super) fn put(&self, key: &Key<'_>, bytes: &[u8]) -> Result<(), StoreError> {
        let mut crc = Crc::new();
        crc.update(bytes);
        let place = self.place(key, bytes.len() as u64);
        if bytes.len() > MOST_JOINED {
            self.write_at(bytes, place.start)?;
            return self.finish_member(key, &place, crc.sum());
        }
        let mut joined = local_header(key.as_str(), place.bytes, crc.sum());
        joined.extend_from_slice(bytes);
        self.write_at(&joined, place.header)?;
        held(&self.state).written.push_stored(key, place.header, place.bytes, crc.sum());
        Ok(())
    }

    /// Writes a member of so many bytes, which `next` gives piece by piece: it fills the buffer, but at the end.
    pub(super) fn put_pieces(
        &self,
        key: &Key<'_>,
        bytes: u64,
        mut next: impl FnMut(&mut [u8]) -> Result<usize, StoreError>,
    ) -> Result<(), StoreError> {
        let place = self.place(key, bytes);
        let mut piece = vec![0; usize::try_from(bytes).unwrap_or(PIECE).clamp(1, PIECE)];
        let (mut written, mut crc) = (0, Crc::new());
        while written < bytes {
            let most = usize::try_from(bytes - written).unwrap_or(PIECE).min(PIECE);
            let count = next(&mut piece[..most])?;
            if count == 0 {
                let short = io::Error::other(format!("{written} of {bytes} bytes were copied"));
                return Err(io_error("write", &self.path)(short));
            }
            self.write_at(&piece[..count], place.start + written)?;
            crc.update(&piece[..count]);
            written += count as u64;
        }
        self.finish_member(key, &place, crc.sum())
    }

    /// Forgets a member, or all that lie below a key; whether there were any.
    pub(super) fn remove(&self, key: &Key<'_>) -> bool {
        let mut state = held(&self.state);
        state.seen = None;
        state.written.forget(key)
    }

    /// The members that are written so far.
    pub(super) fn members(&self, folder: &dyn Store, key: &Key<'_>) -> Result<Arc<Archive>, StoreError> {
        let mut state = held(&self.state);
        let count = state.written.len();
        if let Some((seen, archive)) = &state.seen
            && *seen == count
        {
            return Ok(archive.clone());
        }
        let missing = || io_error("read", &self.path)(io::ErrorKind::NotFound.into());
        let object = folder.open(key, u64::MAX)?.ok_or_else(missing)?;
        let directory = state.written.settled(state.end);
        let archive = Arc::new(Archive { name: self.name.clone(), object, directory, hinted: None });
        state.seen = Some((count, archive.clone()));
        Ok(archive)
    }

    /// Ends the file, and makes it durable.
    pub(super) fn finish(&self) -> Result<(), StoreError> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(io_error("write", &self.path)(io::Error::other("an earlier write has failed")));
        }
        let (directory, start) = {
            let state = held(&self.state);
            (state.written.settled(state.end), state.end)
        };
        let mut at = start;
        write_directory(&directory, start, |piece| {
            self.write_at(piece, at)?;
            at += piece.len() as u64;
            Ok(())
        })?;
        self.file.sync_all().map_err(io_error("sync", &self.path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// An object of unknown size, which becomes a member when it ends.
#[derive(Debug)]
pub(super) struct MemberWriter {
    zip: Arc<ZipWriter>,
    key: Key<'static>,
    /// All of it, unless it is in a file.
    held: Vec<u8>,
    spool: Option<Spool>,
}

/// A file beside the zip, which goes with its owner.
#[derive(Debug)]
struct Spool {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl Drop for Spool {
    fn drop(&mut self) {
        // What is left goes with the folder that it is in.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl MemberWriter {
    pub(super) fn new(zip: Arc<ZipWriter>, key: &Key<'_>) -> Self {
        MemberWriter { zip, key: key.clone().into_owned(), held: Vec::new(), spool: None }
    }

    /// The file that it goes on in.
    fn spool(&mut self) -> Result<&mut Spool, StoreError> {
        if self.spool.is_none() {
            let number = self.zip.num_spools.fetch_add(1, Ordering::Relaxed);
            let path = self.zip.path.with_file_name(format!("part-{number}"));
            let mut spool = Spool { file: create_new(&path, 0o600)?, path, bytes: 0 };
            spool.append(&std::mem::take(&mut self.held))?;
            self.spool = Some(spool);
        }
        self.spool.as_mut().ok_or_else(|| StoreError::unsupported("write", self.zip.name.clone()))
    }
}

impl Spool {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all_at(bytes, self.bytes).map_err(io_error("write", &self.path))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

impl WriteObject for MemberWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if self.spool.is_none() && self.held.len() + bytes.len() <= MOST_HELD {
            self.held.extend_from_slice(bytes);
            return Ok(());
        }
        self.spool()?.append(bytes)
    }

    fn write_at_start(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if let Some(spool) = &self.spool {
            return spool.file.write_all_at(bytes, 0).map_err(io_error("write", &spool.path));
        }
        let length = bytes.len().min(self.held.len());
        self.held[..length].copy_from_slice(&bytes[..length]);
        self.held.extend_from_slice(&bytes[length..]);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), StoreError> {
        let Some(spool) = &self.spool else {
            return self.zip.put(&self.key, &self.held);
        };
        let mut place = 0;
        self.zip.put_pieces(&self.key, spool.bytes, |piece| {
            spool.file.read_exact_at(piece, place).map_err(io_error("read", &spool.path))?;
            place += piece.len() as u64;
            Ok(piece.len())
        })
    }
}

/// Copies an object to a member.
pub(super) fn copy(zip: &ZipWriter, key: &Key<'_>, mut reader: ObjectReader) -> Result<u64, StoreError> {
    let bytes = reader.length();
    if bytes <= MOST_JOINED as u64 {
        let mut whole = Vec::new();
        reader.read_at(0, bytes, &mut whole)?;
        return zip.put(key, &whole).map(|()| bytes);
    }
    zip.put_pieces(key, bytes, |piece| reader.read_next(piece))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LocalStore;

    #[test]
    fn members_beyond_4_gib_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let zip = ZipWriter::create(folder.path().join("zip"), 0o666, "a.zip").unwrap();
        // A hole, which takes no room.
        held(&zip.state).end = 5 << 30;
        let (key, file) = (Key::new("c/0").unwrap(), Key::new("zip").unwrap());
        zip.put(&key, b"1234").unwrap();
        zip.finish().unwrap();
        let object = LocalStore::new(folder.path()).open(&file, 9).unwrap().unwrap();
        let directory = Directory::read(&object).unwrap().unwrap();
        let archive = Arc::new(Archive { name: "a.zip".to_owned(), object, directory, hinted: None });
        let mut bytes = Vec::new();
        archive.read(&key, crate::store::Part::Whole, 4, &mut bytes).unwrap().unwrap();
        assert_eq!(bytes, b"1234");
    }

    #[test]
    fn header_of_a_member_of_4_gib_has_its_sizes_in_zip64() {
        let plain = local_header("a", u64::from(u32::MAX) - 1, 7);
        assert_eq!((plain.len(), &plain[18..26]), (31, &[0xfe, 0xff, 0xff, 0xff].repeat(2)[..]));
        let wide = local_header("a", 1 << 32, 7);
        assert_eq!((wide[4], wide.len(), &wide[18..26]), (45, 51, &[0xff; 8][..]));
        assert_eq!(wide[31..35], [1, 0, 16, 0]);
        assert_eq!(wide[35..], (1_u64 << 32).to_le_bytes().repeat(2));
    }
}

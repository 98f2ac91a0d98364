//! New zip files. Each member gets its offset before its data are written, so that many threads can write. Members are
//! not compressed, and all have the same date. Specification:
//! <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use flate2::Crc;
use once_cell::sync::OnceCell;
use tempfile::{SpooledData, SpooledTempFile};

use crate::store::local::{FileReader, io_error};
use crate::store::{Key, ObjectReader, Result, WriteObject, each_piece, held};

/// Bytes of an object of unknown size that are kept in memory. A larger one is written to a temporary file.
const MOST_HELD: usize = 1 << 20;

/// Largest member that is written together with its header, in bytes.
const MOST_JOINED: usize = 64 << 10;

/// Bytes of the directory that are written at once.
const PIECE: usize = 1 << 20;

/// Zip file that is being written.
pub(super) struct ZipWriter {
    /// Created with the first member.
    file: OnceCell<File>,
    pub path: PathBuf,
    /// Permissions of the file, before the umask.
    pub mode: AtomicU32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Offset of the next member.
    end: u64,
    /// Members by name. The last one with a name counts.
    pub members: BTreeMap<String, MemberEntry>,
}

/// Member with its offset.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberEntry {
    /// Offset of the header.
    pub header: u64,
    /// Offset of the data.
    pub start: u64,
    pub bytes: u64,
    pub crc32: u32,
}

/// Creates a file. Fails if the path exists, even as a link.
#[expect(clippy::disallowed_methods, reason = "this module owns the file system")]
fn create_new(path: &Path, mode: u32) -> Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path).map_err(io_error("create", path))
}

impl ZipWriter {
    /// Creates the writer of a file that does not exist yet.
    pub(super) fn new(path: PathBuf) -> Self {
        ZipWriter { file: OnceCell::new(), path, mode: AtomicU32::new(0o666), state: Mutex::default() }
    }

    fn file(&self) -> Result<&File> {
        self.file.get_or_try_init(|| create_new(&self.path, self.mode.load(Ordering::Relaxed)))
    }

    /// Returns the members that are written.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        held(&self.state)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.file()?.write_all_at(bytes, offset).map_err(io_error("write", &self.path))
    }

    /// Reserves the space of a member.
    fn reserve(&self, key: &Key<'_>, bytes: u64) -> MemberEntry {
        let header_bytes = local_header(key.as_str(), bytes, 0).len() as u64;
        let mut state = self.state();
        let header = state.end;
        state.end += header_bytes + bytes;
        MemberEntry { header, start: header + header_bytes, bytes, crc32: 0 }
    }

    fn note(&self, key: &Key<'_>, member: MemberEntry) {
        self.state().members.insert(key.as_str().to_owned(), member);
    }

    pub(super) fn put(&self, key: &Key<'_>, bytes: &[u8]) -> Result<()> {
        let mut crc = Crc::new();
        crc.update(bytes);
        let entry = MemberEntry { crc32: crc.sum(), ..self.reserve(key, bytes.len() as u64) };
        let mut header = local_header(key.as_str(), entry.bytes, entry.crc32);
        if bytes.len() <= MOST_JOINED {
            header.extend_from_slice(bytes);
        } else {
            self.write_at(bytes, entry.start)?;
        }
        self.write_at(&header, entry.header)?;
        // Noted after the write, so that a reader of the unfinished file never finds a member without its bytes.
        self.note(key, entry);
        Ok(())
    }

    /// Copies an object, with this name in messages, to a member. Returns its size in bytes.
    pub(super) fn copy(&self, key: &Key<'_>, mut reader: ObjectReader, name: impl FnOnce() -> String) -> Result<u64> {
        let bytes = reader.length();
        if bytes <= MOST_JOINED as u64 {
            let mut whole = Vec::new();
            reader.read_at(0, bytes, &mut whole)?;
            return self.put(key, &whole).map(|()| bytes);
        }
        let (mut entry, mut crc) = (self.reserve(key, bytes), Crc::new());
        each_piece(&mut reader, name, |offset, piece| {
            crc.update(piece);
            self.write_at(piece, entry.start + offset)
        })?;
        entry.crc32 = crc.sum();
        self.write_at(&local_header(key.as_str(), bytes, entry.crc32), entry.header)?;
        self.note(key, entry);
        Ok(bytes)
    }

    /// Completes the file, and makes it durable.
    pub(super) fn finish(&self) -> Result<()> {
        let State { end: start, members } = &*self.state();
        let (mut piece, mut end) = (Vec::with_capacity(PIECE), *start);
        for (name, written) in members {
            piece.extend(entry(name, written));
            if piece.len() >= PIECE {
                self.write_at(&piece, end)?;
                end += piece.len() as u64;
                piece.clear();
            }
        }
        let length = end - start + piece.len() as u64;
        piece.extend(end_records(members.len() as u64, *start, length));
        self.write_at(&piece, end)?;
        self.file()?.sync_all().map_err(io_error("sync", &self.path))
    }
}

/// Object of unknown size. It becomes a member when it is finished.
pub(super) struct MemberWriter {
    zip: Arc<ZipWriter>,
    key: Key<'static>,
    /// All bytes, in memory or in a temporary file without a name next to the zip file.
    spool: SpooledTempFile,
}

impl MemberWriter {
    pub(super) fn new(zip: Arc<ZipWriter>, key: &Key<'_>) -> Self {
        let spool = SpooledTempFile::new_in(MOST_HELD, zip.path.with_file_name(""));
        MemberWriter { zip, key: key.clone().into_owned(), spool }
    }
}

impl WriteObject for MemberWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.spool.write_all(bytes).map_err(io_error("write", &self.zip.path))
    }

    fn write_at_start(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.spool.rewind().and_then(|()| self.spool.write_all(bytes));
        written.and_then(|()| self.spool.seek(SeekFrom::End(0))).map_err(io_error("write", &self.zip.path))?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let path = self.zip.path.clone();
        let file = match self.spool.into_inner() {
            SpooledData::InMemory(bytes) => return self.zip.put(&self.key, bytes.get_ref()),
            SpooledData::OnDisk(file) => file,
        };
        let length = file.metadata().map_err(io_error("read", &path))?.len();
        let name = path.display().to_string();
        self.zip.copy(&self.key, Box::new(FileReader { file, length, path }), || name).map(drop)
    }
}

/// Versions of the format: 2.0 has folders, 4.5 has zip64.
const PLAIN: u16 = 20;

const ZIP64: u16 = 45;

/// System of the permissions: Unix.
const UNIX: u16 = 3 << 8;

/// Regular file that its owner may write and everybody may read.
const MODE: u32 = 0o100_644 << 16;

/// Flag of a name in UTF-8, instead of the format's own character set.
const UTF_8: u16 = 1 << 11;

/// 1 January 1980, the first date of the format.
const DAY: u16 = (1 << 5) | 1;

/// Returns a value of 32 bits, or the marker of a value in the zip64 field.
fn narrow(value: u64) -> [u8; 4] {
    u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes()
}

/// Returns true if a value needs zip64.
fn is_wide(value: u64) -> bool {
    // The largest value itself is the marker of zip64.
    value >= u64::from(u32::MAX)
}

/// Returns a length below 64 KiB. Keys and extra fields are never longer.
fn length(bytes: &[u8]) -> [u8; 2] {
    u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_le_bytes()
}

/// Returns the zip64 extra field, or nothing if there are no values.
fn zip64(values: &[u64]) -> Vec<u8> {
    if values.is_empty() {
        return Vec::new();
    }
    let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [&1_u16.to_le_bytes()[..], &length(&values), &values].concat()
}

/// Returns the common part of both headers of a member. It ends with the length of the extra fields.
fn member(name: &str, bytes: u64, crc32: u32, extra: &[u8]) -> Vec<u8> {
    let version = if extra.is_empty() { PLAIN } else { ZIP64 };
    let flags = if name.is_ascii() { 0 } else { UTF_8 };
    let words = [version, flags, 0, 0, DAY].map(u16::to_le_bytes);
    let lengths = [length(name.as_bytes()), length(extra)];
    [words.as_flattened(), &crc32.to_le_bytes(), &narrow(bytes), &narrow(bytes), lengths.as_flattened()].concat()
}

/// Returns the header before the data of a member.
pub(super) fn local_header(name: &str, bytes: u64, crc32: u32) -> Vec<u8> {
    let extra = if is_wide(bytes) { zip64(&[bytes, bytes]) } else { Vec::new() };
    [b"PK\x03\x04", &*member(name, bytes, crc32, &extra), name.as_bytes(), &extra].concat()
}

/// Returns the entry of a member in the directory.
fn entry(name: &str, written: &MemberEntry) -> Vec<u8> {
    let MemberEntry { header, bytes, crc32, .. } = *written;
    // The specification (4.5.3) fixes this order. A value that fits its own field is omitted.
    let mut values = if is_wide(bytes) { vec![bytes, bytes] } else { Vec::new() };
    values.extend(Some(header).filter(|header| is_wide(*header)));
    let extra = zip64(&values);
    let common = member(name, bytes, crc32, &extra);
    // No comment, first disk, no internal attributes.
    let rest = [&[0; 6][..], &MODE.to_le_bytes(), &narrow(header), name.as_bytes(), &extra].concat();
    [b"PK\x01\x02", &(UNIX | ZIP64).to_le_bytes()[..], &common, &rest].concat()
}

/// Returns the records at the end of the file. `start` and `length` are those of the directory, in bytes.
fn end_records(count: u64, start: u64, length: u64) -> Vec<u8> {
    let mut records = Vec::new();
    // The number 65,535 itself is the marker of zip64.
    if count >= u64::from(u16::MAX) || is_wide(start) || is_wide(length) {
        records.extend(*b"PK\x06\x06\x2c\0\0\0\0\0\0\0");
        records.extend([UNIX | ZIP64, ZIP64, 0, 0, 0, 0].map(u16::to_le_bytes).as_flattened());
        records.extend([count, count, length, start].map(u64::to_le_bytes).as_flattened());
        records.extend([*b"PK\x06\x07", [0; 4]].as_flattened());
        records.extend((start + length).to_le_bytes());
        records.extend(1_u32.to_le_bytes());
    }
    let count = u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes();
    records.extend([b"PK\x05\x06\0\0\0\0", &count[..], &count, &narrow(length), &narrow(start), &[0; 2]].concat());
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Node, ZipStore};

    #[test]
    fn members_beyond_4_gib_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let zip = ZipWriter::new(folder.path().join("zip"));
        // A hole needs no disk space.
        zip.state().end = 5 << 30;
        zip.put(&Key::new("c/0").unwrap(), b"1234").unwrap();
        zip.finish().unwrap();
        let node = Node::of(Arc::new(ZipStore::new(Node::new(folder.path().join("zip")))));
        assert_eq!(node.read_document("c/0").unwrap().unwrap(), b"1234");
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

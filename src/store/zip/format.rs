//! The records of a zip file, as they are written: members are stored as they are, times are those of no clock.
//!
//! Specification: <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>

use super::directory::{Directory, Member};

/// 2.0, which has folders; 4.5 has zip64.
const PLAIN: u16 = 20;
const ZIP64: u16 = 45;
/// The system that permissions are of: Unix.
const UNIX: u16 = 3 << 8;
/// A regular file that its owner may write, and all may read.
const MODE: u32 = 0o100_644 << 16;
/// The name is UTF-8, not of the format's own alphabet.
const UTF_8: u16 = 1 << 11;
/// The first of January 1980, the first day that the format has.
const DAY: u16 = (1 << 5) | 1;

/// A record being put together, little endian.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn new(signature: [u8; 4]) -> Self {
        Record(signature.to_vec())
    }

    fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// What the headers of a member have in common.
    fn member(self, name: &str, bytes: u64, crc32: u32, version: u16, extra: &[u8]) -> Self {
        let flags = if name.is_ascii() { 0 } else { UTF_8 };
        let size = narrow(bytes);
        let record = self.u16(version).u16(flags).u16(0).u16(0).u16(DAY).u32(crc32).u32(size).u32(size);
        record.u16(length(name.as_bytes())).u16(length(extra))
    }
}

/// A value that fits 32 bits, or what says that zip64 has it.
fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Whether only zip64 has room for a value.
fn is_wide(value: u64) -> bool {
    value >= u64::from(u32::MAX)
}

/// Keys and extra fields are shorter than 64 KiB.
fn length(bytes: &[u8]) -> u16 {
    u16::try_from(bytes.len()).unwrap_or(u16::MAX)
}

/// The extra field of zip64.
fn zip64(values: &[u64]) -> Vec<u8> {
    if values.is_empty() {
        return Vec::new();
    }
    let values = values.iter().fold(Record::default(), |values, value| values.u64(*value)).0;
    Record::default().u16(1).u16(length(&values)).bytes(&values).0
}

/// The header before the bytes of a member.
pub(super) fn local_header(name: &str, bytes: u64, crc32: u32) -> Vec<u8> {
    let (version, extra) = if is_wide(bytes) { (ZIP64, zip64(&[bytes, bytes])) } else { (PLAIN, Vec::new()) };
    let header = Record::new(*b"PK\x03\x04").member(name, bytes, crc32, version, &extra);
    header.bytes(name.as_bytes()).bytes(&extra).0
}

/// The entry of a member in the directory.
fn entry(name: &str, member: &Member) -> Vec<u8> {
    let mut values = Vec::new();
    if is_wide(member.bytes) {
        values.extend([member.bytes, member.bytes]);
    }
    if is_wide(member.header) {
        values.push(member.header);
    }
    let version = if values.is_empty() { PLAIN } else { ZIP64 };
    let extra = zip64(&values);
    let entry = Record::new(*b"PK\x01\x02").u16(UNIX | ZIP64);
    let entry = entry.member(name, member.bytes, member.crc32, version, &extra);
    // No comment, on the first disk, no attributes of its own.
    let entry = entry.u16(0).u16(0).u16(0).u32(MODE).u32(narrow(member.header));
    entry.bytes(name.as_bytes()).bytes(&extra).0
}

/// Gives the directory and the records behind it to `write`, in pieces; it begins at `start` in the file.
pub(super) fn write_directory<E>(
    directory: &Directory,
    start: u64,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    const PIECE: usize = 1 << 20;
    let (mut piece, mut length, mut count) = (Vec::with_capacity(PIECE), 0, 0_u64);
    for (name, member) in directory.members() {
        piece.extend(entry(name, member));
        count += 1;
        if piece.len() >= PIECE {
            length += piece.len() as u64;
            write(&piece)?;
            piece.clear();
        }
    }
    length += piece.len() as u64;
    piece.extend(end(count, start, length));
    write(&piece)
}

/// The records at the end.
fn end(count: u64, start: u64, length: u64) -> Vec<u8> {
    let mut records = Record::default();
    if count >= u64::from(u16::MAX) || is_wide(start) || is_wide(length) {
        let at = start + length;
        records = records.bytes(b"PK\x06\x06").u64(44).u16(UNIX | ZIP64).u16(ZIP64).u32(0).u32(0);
        records = records.u64(count).u64(count).u64(length).u64(start);
        records = records.bytes(b"PK\x06\x07").u32(0).u64(at).u32(1);
    }
    let count = u16::try_from(count).unwrap_or(u16::MAX);
    let records = records.bytes(b"PK\x05\x06").u16(0).u16(0).u16(count).u16(count);
    records.u32(narrow(length)).u32(narrow(start)).u16(0).0
}

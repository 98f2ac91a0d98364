//! The records of a zip file, as they are written: members are stored as they are, times are those of no clock.
//!
//! Specification: <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>

use std::collections::BTreeMap;

use super::writer::MemberEntry;

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

/// A value that fits 32 bits, or what says that zip64 has it.
fn narrow(value: u64) -> [u8; 4] {
    u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes()
}

/// True if only zip64 has room for a value.
fn is_wide(value: u64) -> bool {
    value >= u64::from(u32::MAX)
}

/// The length of something that is shorter than 64 KiB, as keys and extra fields are.
fn length(bytes: &[u8]) -> [u8; 2] {
    u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_le_bytes()
}

/// The extra field of zip64; none where no value is wide.
fn zip64(values: &[u64]) -> Vec<u8> {
    if values.is_empty() {
        return Vec::new();
    }
    let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [&1_u16.to_le_bytes()[..], &length(&values), &values].concat()
}

/// The common part of the headers of a member, from the version that reads it to the length of its extra fields.
fn member(name: &str, bytes: u64, crc32: u32, extra: &[u8]) -> Vec<u8> {
    let version = if extra.is_empty() { PLAIN } else { ZIP64 };
    let flags = if name.is_ascii() { 0 } else { UTF_8 };
    let words = [version, flags, 0, 0, DAY].map(u16::to_le_bytes);
    let lengths = [length(name.as_bytes()), length(extra)];
    [words.as_flattened(), &crc32.to_le_bytes(), &narrow(bytes), &narrow(bytes), lengths.as_flattened()].concat()
}

/// The header before the bytes of a member.
pub(super) fn local_header(name: &str, bytes: u64, crc32: u32) -> Vec<u8> {
    let extra = if is_wide(bytes) { zip64(&[bytes, bytes]) } else { Vec::new() };
    [b"PK\x03\x04", &*member(name, bytes, crc32, &extra), name.as_bytes(), &extra].concat()
}

/// The entry of a member in the directory.
fn entry(name: &str, written: &MemberEntry) -> Vec<u8> {
    let MemberEntry { header, bytes, crc32, .. } = *written;
    let mut values = if is_wide(bytes) { vec![bytes, bytes] } else { Vec::new() };
    values.extend(Some(header).filter(|header| is_wide(*header)));
    let extra = zip64(&values);
    let common = member(name, bytes, crc32, &extra);
    // No comment, on the first disk, no attributes of its own.
    let rest = [&[0; 6][..], &MODE.to_le_bytes(), &narrow(header), name.as_bytes(), &extra].concat();
    [b"PK\x01\x02", &(UNIX | ZIP64).to_le_bytes()[..], &common, &rest].concat()
}

/// Gives the directory and the records behind it to `write`, in pieces; it begins at `start` in the file.
pub(super) fn write_directory<E>(
    members: &BTreeMap<String, MemberEntry>,
    start: u64,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    const PIECE: usize = 1 << 20;
    let (mut piece, mut length) = (Vec::with_capacity(PIECE), 0);
    for (name, written) in members {
        piece.extend(entry(name, written));
        if piece.len() >= PIECE {
            length += piece.len() as u64;
            write(&piece)?;
            piece.clear();
        }
    }
    length += piece.len() as u64;
    piece.extend(end(members.len() as u64, start, length));
    write(&piece)
}

/// The records at the end.
fn end(count: u64, start: u64, length: u64) -> Vec<u8> {
    let mut records = Vec::new();
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

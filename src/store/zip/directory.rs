//! Central directory of a zip file: its members and their offsets.
//!
//! It is read in pieces by `rawzip`, which supports zip64, prefixes and comments. Memory grows with the existing
//! entries, not with the claimed ones.

use std::io;

use rawzip::{CompressionMethod, ErrorKind, ReaderAt, ZipArchive, ZipFileHeaderRecord, ZipLocator};

use crate::store::object::copy_piece;
use crate::store::{EntryKind, Key, ObjectReader, Result, SortedKeys, StoreError};

/// Number of bytes that are read at the end of a file. They contain most directories.
const TAIL_BYTES: u64 = 128 << 10;
/// Largest size of the end record and its comment.
const MOST_END_BYTES: usize = 22 + 65_535;
/// Bytes of the directory that are read at once. No entry is longer.
const PIECE_BYTES: usize = 1 << 20;
/// Most end records that are tried. A comment may contain bytes of the same form.
const MOST_ENDS: usize = 8;
/// Length of a local header in bytes, without the name and the extra fields that follow.
pub(super) const LOCAL_HEADER_BYTES: u64 = 30;
/// Most names that are kept to be shown although they are not keys.
const MOST_UNNAMED: usize = 100;
const NO_END: &str = "its end is missing: the file is cut short, or was not copied completely";
/// Folder that the macOS Finder adds next to a packed folder.
const BESIDE_A_FOLDER: &str = "__MACOSX";

#[derive(Debug, Clone)]
pub(super) struct Member {
    pub name: Box<str>,
    /// Offset of the local header.
    pub header: u64,
    /// Size in the file, in bytes.
    pub stored_bytes: u64,
    /// Size of the object, in bytes.
    pub bytes: u64,
    pub crc32: u32,
    pub method: CompressionMethod,
    pub is_encrypted: bool,
    pub is_folder: bool,
    /// True if another member has the same name.
    pub is_double: bool,
}

/// All members, sorted by name.
#[derive(Debug, Default)]
pub(super) struct Directory {
    members: Vec<Member>,
    /// First names that are not keys, in a printable form.
    unnamed: Vec<String>,
    /// Common top folder of all members, if there is one.
    top: Option<Key<'static>>,
    /// Offset of the directory. Members end before it.
    pub start: u64,
}

/// File for `rawzip`. Its last bytes are read at once.
struct Source<'a> {
    /// Name in messages.
    name: &'a str,
    object: &'a ObjectReader,
    tail: Vec<u8>,
    tail_start: u64,
}

impl<'a> Source<'a> {
    fn new(object: &'a ObjectReader, name: &'a str) -> Result<Self> {
        let tail_start = object.length().saturating_sub(TAIL_BYTES);
        let mut tail = Vec::new();
        object.read_at(tail_start, object.length() - tail_start, &mut tail)?;
        Ok(Source { name, object, tail, tail_start })
    }

    fn damaged(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Damaged { object: self.name.to_owned(), reason: reason.into() }
    }

    /// Converts an error of `rawzip`.
    fn unread(&self, error: rawzip::Error) -> StoreError {
        let fault = match error.into_kind() {
            ErrorKind::IO(error) => match error.downcast::<StoreError>() {
                Ok(error) => return error,
                Err(error) => error.to_string(),
            },
            ErrorKind::MissingEndOfCentralDirectory => return self.damaged(NO_END),
            kind => kind.to_string(),
        };
        self.damaged(format!("its directory cannot be read ({})", fault.to_lowercase()))
    }
}

impl ReaderAt for &Source<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(start) = offset.checked_sub(self.tail_start) else {
            let length = usize::try_from(self.tail_start - offset).unwrap_or(usize::MAX).min(buffer.len());
            return copy_piece(&**self.object, offset, &mut buffer[..length]).map_err(io::Error::other);
        };
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(self.tail.len());
        let length = buffer.len().min(self.tail.len() - start);
        buffer[..length].copy_from_slice(&self.tail[start..start + length]);
        Ok(length)
    }
}

impl Directory {
    /// Reads the directory of a file. `name` is its name in messages. Returns `None` if the file is not a zip file.
    pub(super) fn read(object: &ObjectReader, name: &str) -> Result<Option<Self>> {
        let source = Source::new(object, name)?;
        let (mut end, mut first) = (object.length(), None);
        for _ in 0..MOST_ENDS {
            match Self::read_before(&source, end) {
                Ok(directory) => return Ok(Some(directory)),
                Err((error, _)) if !error.is_data_fault() => return Err(error),
                Err((fault, Some(end_before))) => {
                    // The last record of the file is tried first, and is the most likely one, so its fault is reported.
                    first.get_or_insert(fault);
                    end = end_before;
                }
                Err((_, None)) => break,
            }
        }
        match first {
            Some(fault) => Err(fault),
            None if is_beginning(&source)? => Err(source.damaged(NO_END)),
            None => Ok(None),
        }
    }

    /// Reads the directory of the last end record that starts before `end`. An error contains the offset of that
    /// record, if there is one.
    fn read_before(source: &Source<'_>, end: u64) -> Result<Self, (StoreError, Option<u64>)> {
        let mut buffer = vec![0; MOST_END_BYTES];
        let locator = ZipLocator::new().max_search_space(MOST_END_BYTES as u64);
        let archive = locator.locate_in_reader(source, &mut buffer, end).map_err(|(_, error)| {
            let record = error.eocd_offset();
            (source.unread(error), record)
        })?;
        drop(buffer);
        let record = archive.eocd_offset();
        Self::read_entries(source, &archive).map_err(|fault| (fault, Some(record)))
    }

    fn read_entries(source: &Source<'_>, archive: &ZipArchive<&Source<'_>>) -> Result<Self> {
        let mut directory = Directory { start: archive.directory_offset(), ..Directory::default() };
        let mut buffer = vec![0; PIECE_BYTES];
        let mut entries = archive.entries(&mut buffer);
        let mut count = 0_u64;
        while let Some(entry) = entries.next_entry().map_err(|error| source.unread(error))? {
            directory.push(&entry).map_err(|reason| source.damaged(reason))?;
            count += 1;
        }
        let claimed = archive.entries_hint();
        // Without zip64 the count has 16 bits, and wraps with some writers.
        if count != claimed && !(claimed < 1 << 16 && count % (1 << 16) == claimed) {
            return Err(source.damaged(format!("its directory claims {claimed} entries and has {count}")));
        }
        directory.check_overlaps().map_err(|reason| source.damaged(reason))?;
        directory.sort();
        directory.top = directory.only_folder();
        Ok(directory)
    }

    /// Adds a member. An error describes a fault of the file.
    fn push(&mut self, entry: &ZipFileHeaderRecord<'_>) -> Result<(), String> {
        let path = entry.file_path();
        let bytes: &[u8] = path.as_bytes();
        let shown = String::from_utf8_lossy(bytes);
        let name = std::str::from_utf8(bytes).unwrap_or_default();
        let is_folder = name.ends_with('/');
        let name = name.strip_suffix('/').unwrap_or(name);
        if bytes.starts_with(b"/") {
            return Err(format!("the name of its member {shown:?} is an absolute path"));
        }
        if bytes.split(|byte| *byte == b'/').any(|part| part == b"..") {
            return Err(format!("the name of its member {shown:?} points outside of it"));
        }
        if Key::new(name).is_err() {
            if self.unnamed.len() < MOST_UNNAMED {
                self.unnamed.push(shown.into_owned());
            }
            return Ok(());
        }
        let (name, header, crc32) = (name.into(), entry.local_header_offset(), entry.crc32());
        let (stored_bytes, bytes) = (entry.compressed_size_hint(), entry.uncompressed_size_hint());
        let (method, is_encrypted) = (entry.compression_method(), entry.flags().is_encrypted());
        let is_double = false;
        let member = Member { name, header, stored_bytes, bytes, crc32, method, is_encrypted, is_folder, is_double };
        self.members.push(member);
        Ok(())
    }

    /// Fails if members overlap. With overlaps a zip bomb can expand few bytes to very many. No honest writer makes
    /// them.
    fn check_overlaps(&mut self) -> Result<(), String> {
        self.members.sort_unstable_by_key(|member| member.header);
        for (index, member) in self.members.iter().enumerate() {
            let next = self.members.get(index + 1);
            let most = next.map_or(self.start, |next| next.header);
            // Extra fields of the local header may move the end, but only to a later byte.
            let least_bytes = (LOCAL_HEADER_BYTES + member.name.len() as u64).checked_add(member.stored_bytes);
            let end = least_bytes.and_then(|bytes| member.header.checked_add(bytes));
            if end.is_none_or(|end| end > most) {
                let name = &member.name;
                return Err(match next {
                    Some(next) => format!("its members {name:?} and {:?} overlap", next.name),
                    None => format!("its member {name:?} ends beyond the end of the data"),
                });
            }
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.members.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for same in self.members.chunk_by_mut(|a, b| a.name == b.name) {
            // Several entries of one folder are harmless.
            let is_double = same.len() > 1 && same.iter().any(|member| !member.is_folder);
            for member in same {
                member.is_double = is_double;
            }
        }
    }

    /// Returns the common top folder of all members, if there is one.
    fn only_folder<'d>(&'d self) -> Option<Key<'static>> {
        let top = |member: &'d Member| match member.name.split_once('/') {
            Some((top, _)) => Some(top),
            None => Some(&*member.name).filter(|_| member.is_folder),
        };
        let mut tops = self.members.iter().map(top).filter(|top| *top != Some(BESIDE_A_FOLDER));
        let first = tops.next()??;
        if tops.all(|top| top == Some(first)) { Key::new(first).map(Key::into_owned).ok() } else { None }
    }

    /// Converts a key of the store to a key in the file. If all members have a common top folder, keys are relative to
    /// it.
    ///
    /// A key may also begin with that folder's name, unless the folder contains an entry of the same name.
    pub(super) fn resolve<'k>(&self, key: &'k Key<'_>) -> Key<'k> {
        let borrowed = || Key::new(key.as_str()).unwrap_or(Key::ROOT);
        let Some(top) = &self.top else { return borrowed() };
        let begins = key.as_str().split('/').next() == Some(top.as_str());
        let has_another = || top.join(top.as_str()).is_ok_and(|key| self.kind(&key).is_some());
        if begins && !has_another() { borrowed() } else { top.below(key) }
    }

    fn first_from(&self, text: &str) -> usize {
        self.members.partition_point(|member| &*member.name < text)
    }

    /// Returns the member at a key in the file.
    pub(super) fn find(&self, key: &str) -> Option<&Member> {
        self.members.get(self.first_from(key)).filter(|member| &*member.name == key)
    }
}

impl SortedKeys for Directory {
    fn keys_from<'s>(&'s self, text: &str) -> impl Iterator<Item = (&'s str, EntryKind)> + use<'s> {
        let kind = |member: &Member| if member.is_folder { EntryKind::Folder } else { EntryKind::File };
        self.members[self.first_from(text)..].iter().map(move |member| (&*member.name, kind(member)))
    }

    fn unnamed(&self) -> &[String] {
        &self.unnamed
    }
}

/// Returns true if a file begins like a zip file.
fn is_beginning(source: &Source<'_>) -> Result<bool> {
    let mut first = [0; 4];
    let length = source.read_at(&mut first, 0).map_err(|error| source.unread(ErrorKind::IO(error).into()))?;
    Ok(matches!(&first[..length], b"PK\x03\x04" | b"PK\x05\x06"))
}

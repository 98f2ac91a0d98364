//! Open zip files. Their central directory is read in pieces by `rawzip`, which supports zip64, prefixes and comments.
//! Memory grows with the existing entries, not with the claimed ones. Members are read as a whole or in parts.

use std::io::{self, Read};
use std::sync::Arc;

use flate2::Crc;
use once_cell::sync::OnceCell;
use rawzip::{CompressionMethod as Method, ErrorKind, ReaderAt, ZipArchive, ZipFileHeaderRecord, ZipLocator};

use crate::store::object::copy_piece;
use crate::store::{
    EntryKind, Key, Node, ObjectReader, Part, ReadObject, Result, SortedKeys, StoreError, object_name, part,
};

/// Supported compression methods.
const READ: [Method; 4] = [Method::STORE, Method::DEFLATE, Method::ZSTD, Method::ZSTD_DEPRECATED];
/// Largest member that is read together with its header, in bytes.
const READ_WITH_HEADER: u64 = 1 << 20;
/// Expected length of the extra fields of a header in bytes: times and zip64.
const EXPECTED_EXTRA_BYTES: u64 = 64;
/// Largest compressed member that is read, in bytes. It is decoded as a whole and kept while it is open.
const MOST_DECODED: u64 = 1 << 30;
/// Constant part of the allowed growth by compression. The rest is an eighth of the data, as no compressor adds more.
const MOST_OVERHEAD: u64 = 64 << 10;

/// Number of bytes that are read at the end of a file. They contain most directories.
const TAIL_BYTES: u64 = 128 << 10;
/// Largest size of the end record and its comment.
const MOST_END_BYTES: usize = 22 + 65_535;
/// Bytes of the directory that are read at once. No entry is longer.
const PIECE_BYTES: usize = 1 << 20;
/// Most end records that are tried. A comment may contain bytes of the same form.
const MOST_ENDS: usize = 8;
/// Length of a local header in bytes, without the name and the extra fields that follow.
const LOCAL_HEADER_BYTES: u64 = 30;
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
    pub method: Method,
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

pub(super) struct Archive {
    /// Name in messages.
    name: String,
    object: ObjectReader,
    pub(super) directory: Directory,
    /// The file itself, if its store accepts announcements of reads. Members are then read from it directly.
    hinted: Option<Node>,
    /// Last bytes of the file, while the directory is read.
    tail: Vec<u8>,
}

impl Archive {
    /// Opens a file. Returns `None` if it is not a zip file.
    pub(super) fn open(file: &Node, object: ObjectReader) -> Result<Option<Self>> {
        let tail_start = object.length().saturating_sub(TAIL_BYTES);
        let mut tail = Vec::new();
        object.read_at(tail_start, object.length() - tail_start, &mut tail)?;
        let (hinted, directory) = (file.prefetch_limit().map(|_| file.clone()), Directory::default());
        let archive = Archive { name: file.name(), object, directory, hinted, tail };
        let (mut end, mut first) = (archive.object.length(), None);
        for _ in 0..MOST_ENDS {
            match archive.read_before(end) {
                Ok(directory) => return Ok(Some(Archive { directory, tail: Vec::new(), ..archive })),
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
            None if archive.is_beginning()? => Err(archive.unreadable(NO_END)),
            None => Ok(None),
        }
    }

    /// Returns true if the file begins like a zip file.
    fn is_beginning(&self) -> Result<bool> {
        let mut first = [0; 4];
        let length = self.read_at(&mut first, 0).map_err(|error| self.unread(ErrorKind::IO(error).into()))?;
        Ok(matches!(&first[..length], b"PK\x03\x04" | b"PK\x05\x06"))
    }

    /// Returns the error of a damaged file.
    fn unreadable(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Damaged { object: self.name.clone(), reason: reason.into() }
    }

    /// Converts an error of `rawzip`.
    fn unread(&self, error: rawzip::Error) -> StoreError {
        let fault = match error.into_kind() {
            ErrorKind::IO(error) => match error.downcast::<StoreError>() {
                Ok(error) => return error,
                Err(error) => error.to_string(),
            },
            ErrorKind::MissingEndOfCentralDirectory => return self.unreadable(NO_END),
            kind => kind.to_string(),
        };
        self.unreadable(format!("its directory cannot be read ({})", fault.to_lowercase()))
    }

    /// Reads the directory of the last end record that starts before `end`. An error contains the offset of that
    /// record, if there is one.
    fn read_before(&self, end: u64) -> Result<Directory, (StoreError, Option<u64>)> {
        let mut buffer = vec![0; MOST_END_BYTES];
        let locator = ZipLocator::new().max_search_space(MOST_END_BYTES as u64);
        let archive = locator.locate_in_reader(self, &mut buffer, end).map_err(|(_, error)| {
            let record = error.eocd_offset();
            (self.unread(error), record)
        })?;
        drop(buffer);
        let record = archive.eocd_offset();
        self.read_entries(&archive).map_err(|fault| (fault, Some(record)))
    }

    fn read_entries(&self, archive: &ZipArchive<&Self>) -> Result<Directory> {
        let mut directory = Directory { start: archive.directory_offset(), ..Directory::default() };
        let mut buffer = vec![0; PIECE_BYTES];
        let mut entries = archive.entries(&mut buffer);
        let mut count = 0_u64;
        while let Some(entry) = entries.next_entry().map_err(|error| self.unread(error))? {
            directory.push(&entry).map_err(|reason| self.unreadable(reason))?;
            count += 1;
        }
        let claimed = archive.entries_hint();
        // Without zip64 the count has 16 bits, and wraps with some writers.
        if count != claimed && !(claimed < 1 << 16 && count % (1 << 16) == claimed) {
            return Err(self.unreadable(format!("its directory claims {claimed} entries and has {count}")));
        }
        directory.check_overlaps().map_err(|reason| self.unreadable(reason))?;
        directory.sort();
        directory.top = directory.only_folder();
        Ok(directory)
    }

    fn shown(&self, member: &Member) -> String {
        let key = Key::new(&member.name).unwrap_or(Key::ROOT);
        object_name(&self.name, &key)
    }

    /// Returns the member at a key, or `None` if there is none.
    pub(super) fn member(&self, key: &Key<'_>) -> Result<Option<Member>> {
        let key = self.directory.resolve(key);
        match self.directory.find(key.as_str()) {
            None if key.is_root() || self.directory.kind(&key).is_some() => {
                Err(StoreError::NotAFile { object: object_name(&self.name, &key), found: "a folder" })
            }
            found => Ok(found.cloned()),
        }
    }

    /// Returns the error of a damaged member.
    fn damaged(&self, member: &Member, reason: impl Into<String>) -> StoreError {
        StoreError::Damaged { object: self.shown(member), reason: reason.into() }
    }

    /// Checks that a member can be read: it is not encrypted, its name is unique and its method is supported.
    pub(super) fn check(&self, member: &Member) -> Result<()> {
        if member.is_folder {
            return Err(StoreError::NotAFile { object: self.shown(member), found: "a folder" });
        }
        let Member { bytes, stored_bytes, .. } = *member;
        let most_stored = bytes.saturating_add(bytes / 8).saturating_add(MOST_OVERHEAD);
        let reason = match member.method {
            _ if member.is_double => {
                "there are two members of this name: unpack the file (`unzip -o` keeps the last of them) and read the folder"
                    .to_owned()
            }
            _ if member.is_encrypted => "it is encrypted".to_owned(),
            method if !READ.contains(&method) => {
                let method = method.as_u16();
                let reason = format!("its compression method {method} is not supported: use none, deflate or zstd");
                return Err(StoreError::Unsupported { object: self.shown(member), reason });
            }
            Method::STORE if stored_bytes != bytes => format!("it holds {stored_bytes} bytes, {bytes} expected"),
            method if method != Method::STORE && bytes > MOST_DECODED => {
                format!("it is compressed and has {bytes} bytes: members above 1 GiB must be stored uncompressed (`zip -0`)")
            }
            _ if stored_bytes > most_stored => format!("{stored_bytes} bytes are stored, {bytes} expected"),
            _ => return Ok(()),
        };
        Err(self.damaged(member, reason))
    }

    /// Returns the offset of a member's data. Reads its local header into `bytes`.
    fn find_start(&self, member: &Member, bytes: &mut Vec<u8>) -> Result<u64> {
        let name = member.name.len() as u64;
        self.object.read_at(member.header, LOCAL_HEADER_BYTES + name, bytes)?;
        self.start_by(member, bytes)
    }

    /// Like `find_start`, from a header that is already read.
    fn start_by(&self, member: &Member, header: &[u8]) -> Result<u64> {
        let no_header = || self.damaged(member, "its header is missing");
        let field = |at: usize| header.get(at..at + 2).map(|field| u16::from_le_bytes([field[0], field[1]]));
        // The extra fields of this header may have another length than those in the directory.
        let (Some(name_bytes), Some(extra_bytes)) = (field(26), field(28)) else { return Err(no_header()) };
        let name = header.get(30..30 + usize::from(name_bytes));
        if !header.starts_with(b"PK\x03\x04") || name != Some(member.name.as_bytes()) {
            return Err(no_header());
        }
        let start = member.header + LOCAL_HEADER_BYTES + u64::from(name_bytes) + u64::from(extra_bytes);
        if start.checked_add(member.stored_bytes).is_none_or(|end| end > self.directory.start) {
            return Err(self.damaged(member, "it ends beyond the end of the data"));
        }
        Ok(start)
    }

    /// Reads a whole member into `bytes`, which is overwritten. Verifies its checksum.
    fn read_whole(&self, member: &Member, bytes: &mut Vec<u8>) -> Result<()> {
        match member.method {
            Method::STORE => self.read_stored(member, bytes)?,
            _ => self.decode(member, bytes)?,
        }
        let mut crc = Crc::new();
        crc.update(bytes);
        self.check_crc(member, crc.sum())
    }

    /// Decodes a compressed member. Stops after one byte more than its claimed size.
    fn decode(&self, member: &Member, bytes: &mut Vec<u8>) -> Result<()> {
        let mut stored = Vec::new();
        self.read_stored(member, &mut stored)?;
        let most = member.bytes.saturating_add(1);
        bytes.clear();
        let decoded = match member.method {
            Method::ZSTD | Method::ZSTD_DEPRECATED => zstd::stream::read::Decoder::with_buffer(&*stored)
                .and_then(|decoder| decoder.take(most).read_to_end(bytes)),
            _ => flate2::bufread::DeflateDecoder::new(&*stored).take(most).read_to_end(bytes),
        };
        match decoded {
            Err(error) => Err(self.damaged(member, format!("it cannot be decompressed ({error})"))),
            Ok(found) if found as u64 != member.bytes => {
                Err(self.damaged(member, format!("{found} bytes were decoded, {} expected", member.bytes)))
            }
            Ok(_) => Ok(()),
        }
    }

    fn check_crc(&self, member: &Member, found: u32) -> Result<()> {
        if found == member.crc32 {
            return Ok(());
        }
        Err(self.damaged(member, format!("its checksum is {found:08x}, {:08x} expected", member.crc32)))
    }

    /// Returns the range of the file to read for a member and its header. `None` means a separate read of the header,
    /// for a large member of a file that accepts no announcements.
    fn range(&self, member: &Member) -> Option<(u64, u64)> {
        if member.stored_bytes > READ_WITH_HEADER && self.hinted.is_none() {
            return None;
        }
        let header = LOCAL_HEADER_BYTES + member.name.len() as u64;
        let most = self.directory.start.saturating_sub(member.header);
        Some((member.header, (header + EXPECTED_EXTRA_BYTES).saturating_add(member.stored_bytes).min(most)))
    }

    /// Returns the part of the file to read for a whole member. `None` means that it is not known in advance.
    pub(super) fn range_of(&self, key: &Key<'_>) -> Option<Part> {
        let member = self.member(key).ok()??;
        self.check(&member).ok()?;
        let (offset, length) = self.range(&member)?;
        Some(Part::Range { offset, length })
    }

    /// Reads the bytes of a member without decoding.
    fn read_stored(&self, member: &Member, bytes: &mut Vec<u8>) -> Result<()> {
        let Some((offset, length)) = self.range(member) else {
            let start = self.find_start(member, bytes)?;
            return self.object.read_at(start, member.stored_bytes, bytes);
        };
        match &self.hinted {
            Some(file) => {
                let part = Part::Range { offset, length };
                if !file.store.read(&file.prefix, part, length, bytes)? {
                    return Err(self.damaged(member, "the file no longer exists"));
                }
            }
            None => self.object.read_at(offset, length, bytes)?,
        }
        let start = self.start_by(member, bytes)?;
        let begin = usize::try_from(start - member.header).unwrap_or(usize::MAX);
        let stored = usize::try_from(member.stored_bytes).unwrap_or(usize::MAX);
        // The extra fields are longer than expected, so the end of the data is missing.
        if bytes.len().checked_sub(begin).is_none_or(|found| found < stored) {
            return self.object.read_at(start, member.stored_bytes, bytes);
        }
        bytes.drain(..begin);
        bytes.truncate(stored);
        Ok(())
    }
}

impl ReaderAt for &Archive {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let tail_start = self.object.length() - self.tail.len() as u64;
        let Some(start) = offset.checked_sub(tail_start) else {
            let length = usize::try_from(tail_start - offset).unwrap_or(usize::MAX).min(buffer.len());
            return copy_piece(&*self.object, offset, &mut buffer[..length]).map_err(io::Error::other);
        };
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(self.tail.len());
        let length = buffer.len().min(self.tail.len() - start);
        buffer[..length].copy_from_slice(&self.tail[start..start + length]);
        Ok(length)
    }
}

impl Directory {
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

/// Open member.
pub(super) struct MemberReader {
    archive: Arc<Archive>,
    member: Member,
    /// Offset of the data of an uncompressed member.
    start: OnceCell<u64>,
    /// Decoded bytes of a compressed member.
    whole: OnceCell<Vec<u8>>,
    /// Checksum of the bytes that were read in order.
    crc: Crc,
}

impl MemberReader {
    pub(super) fn new(archive: Arc<Archive>, member: Member) -> Self {
        let (start, whole) = (OnceCell::new(), OnceCell::new());
        MemberReader { archive, member, start, whole, crc: Crc::new() }
    }
}

impl ReadObject for MemberReader {
    fn length(&self) -> u64 {
        self.member.bytes
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let MemberReader { archive, member, .. } = self;
        Part::Range { offset, length }.of(member.bytes, u64::MAX, || archive.shown(member))?;
        // Only a read of the whole member can verify its checksum.
        if length == member.bytes {
            return archive.read_whole(member, bytes);
        }
        if member.method == Method::STORE {
            let start = self.start.get_or_try_init(|| archive.find_start(member, &mut Vec::new()))?;
            return archive.object.read_at(start + offset, length, bytes);
        }
        let whole = self.whole.get_or_try_init(|| {
            let mut whole = Vec::new();
            archive.read_whole(member, &mut whole).map(|()| whole)
        })?;
        bytes.clear();
        bytes.extend_from_slice(part(whole, offset, length).unwrap_or_default());
        Ok(())
    }

    /// Returns the last bytes only if the checksum of the whole member is right.
    fn read_piece(&mut self, offset: u64, piece: &mut [u8]) -> Result<usize> {
        let count = copy_piece(self, offset, piece)?;
        self.crc.update(&piece[..count]);
        if count > 0 && offset + count as u64 == self.member.bytes {
            self.archive.check_crc(&self.member, self.crc.sum())?;
        }
        Ok(count)
    }
}

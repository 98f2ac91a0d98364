//! An open zip file, and the members that are read from it, as a whole or in parts.

use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use flate2::Crc;

use super::directory::{Directory, LOCAL_HEADER_BYTES, Member, Method};
use crate::store::entry::EntryKind;
use crate::store::node::object_name;
use crate::store::sorted_keys::SortedKeys;
use crate::store::{Depth, Entry, Found, Key, Node, ObjectReader, Part, ReadObject, StoreError};

/// Members of at most so many bytes are read together with the header before them.
const READ_WITH_HEADER: u64 = 1 << 20;
/// The bytes of extra fields that headers are expected to have: those of times, and of zip64.
const EXPECTED_EXTRA_BYTES: u64 = 64;
/// Bytes of a compressed member that are read at once.
const PIECE: usize = 128 << 10;
/// Compressed members of at most so many bytes are decoded once and kept while they are open.
const MOST_KEPT: u64 = 16 << 20;
/// No compressor makes data longer than by an eighth, and a little.
const MOST_OVERHEAD: u64 = 64 << 10;

/// A zip file that is open.
#[derive(Debug)]
pub(super) struct Archive {
    /// As messages name it.
    pub name: String,
    pub object: ObjectReader,
    pub directory: Directory,
    /// The file, where its store wants to be told what will be read of it: that is asked for by itself then.
    pub hinted: Option<Node>,
}

impl Archive {
    fn shown(&self, member: &Member) -> String {
        let key = Key::new(self.directory.name(member)).unwrap_or(Key::ROOT);
        object_name(&self.name, &key)
    }

    /// The member of a key; `None` where there is none.
    fn member(&self, key: &Key<'_>) -> Result<Option<Member>, StoreError> {
        let key = self.directory.resolve(key);
        let Some(member) = self.directory.find(key.as_str()) else {
            return match self.directory.kind(&key) {
                Some(_) => {
                    Err(StoreError::NotAFile { object: object_name(&self.name, &key), found: "a folder" })
                }
                None => Ok(None),
            };
        };
        Ok(Some(*member))
    }

    /// As [`Store::read`](crate::store::Store::read) has it.
    pub(super) fn read(
        self: &Arc<Self>,
        key: &Key<'_>,
        part: Part,
        most: u64,
        into: &mut Vec<u8>,
    ) -> Result<Option<Found>, StoreError> {
        let Some(member) = self.member(key)? else {
            into.clear();
            return Ok(None);
        };
        self.check(&member)?;
        let object_bytes = member.bytes;
        let (offset, length) = part.within(object_bytes);
        if length > most {
            return Err(StoreError::TooLarge { object: self.shown(&member), found: length, bound: most });
        }
        MemberReader::new(self.clone(), member).read_at(offset, length, into)?;
        Ok(Some(Found { object_bytes }))
    }

    pub(super) fn open(self: &Arc<Self>, key: &Key<'_>) -> Result<Option<ObjectReader>, StoreError> {
        let Some(member) = self.member(key)? else { return Ok(None) };
        self.check(&member)?;
        Ok(Some(Box::new(MemberReader::new(self.clone(), member))))
    }

    /// The bytes of an object, also of one that cannot be read.
    pub(super) fn size(&self, key: &Key<'_>) -> Result<Option<u64>, StoreError> {
        Ok(self.member(key)?.map(|member| member.bytes))
    }

    pub(super) fn kind(&self, key: &Key<'_>) -> Option<EntryKind> {
        self.directory.kind(&self.directory.resolve(key))
    }

    pub(super) fn list(
        &self,
        below: &Key<'_>,
        depth: Depth,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        self.directory.list(&self.directory.resolve(below), depth, each);
    }

    /// The fault of a member.
    fn damaged(&self, member: &Member, reason: impl Into<String>) -> StoreError {
        StoreError::Damaged { object: self.shown(member), reason: reason.into() }
    }

    /// A member that can be read: one that is not encrypted, and of a name and a method that tell what it is.
    fn check(&self, member: &Member) -> Result<(), StoreError> {
        if member.is_folder {
            return Err(StoreError::NotAFile { object: self.shown(member), found: "a folder" });
        }
        let most_stored = member.bytes.saturating_add(member.bytes / 8).saturating_add(MOST_OVERHEAD);
        let reason = match member.method() {
            _ if member.is_double => {
                "there are two members of this name: unpack the file (`unzip -o` keeps the last of them) and read the folder"
                    .to_owned()
            }
            _ if member.is_encrypted => "it is encrypted".to_owned(),
            Method::Other(method) => {
                format!(
                    "its compression method {method} is not read: store it as it is, or by deflate or zstd"
                )
            }
            Method::Stored if member.stored_bytes != member.bytes => {
                format!("it holds {} bytes, {} expected", member.stored_bytes, member.bytes)
            }
            _ if member.stored_bytes > most_stored => {
                format!("{} bytes are stored of what is to be {}", member.stored_bytes, member.bytes)
            }
            _ => return Ok(()),
        };
        Err(self.damaged(member, reason))
    }

    /// Where the bytes of a member begin, from its header, which is read into `bytes`.
    fn find_start(&self, member: &Member, bytes: &mut Vec<u8>) -> Result<u64, StoreError> {
        let name = self.directory.name(member).len() as u64;
        self.object.read_at(member.header, LOCAL_HEADER_BYTES + name, bytes)?;
        self.start_by(member, bytes)
    }

    /// The same, where the header is read already.
    fn start_by(&self, member: &Member, header: &[u8]) -> Result<u64, StoreError> {
        let no_header = || self.damaged(member, "there is no header before it");
        let field = |at: usize| header.get(at..at + 2).map(|field| u16::from_le_bytes([field[0], field[1]]));
        let (Some(name_bytes), Some(extra_bytes)) = (field(26), field(28)) else { return Err(no_header()) };
        let name = header.get(30..30 + usize::from(name_bytes));
        if !header.starts_with(b"PK\x03\x04") || name != Some(self.directory.name(member).as_bytes()) {
            return Err(no_header());
        }
        let start = member.header + LOCAL_HEADER_BYTES + u64::from(name_bytes) + u64::from(extra_bytes);
        if start.checked_add(member.stored_bytes).is_none_or(|end| end > self.directory.start) {
            return Err(self.damaged(member, "it goes on beyond the end of the data"));
        }
        Ok(start)
    }

    /// Reads a whole member into `bytes` (replaced), and proves its checksum.
    fn read_whole(self: &Arc<Self>, member: &Member, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        if member.method() == Method::Stored {
            self.read_stored(member, bytes)?;
        } else {
            bytes.clear();
            let mut decoding = Decoding::begin(self, member)?;
            decoding.decoder.read_to_end(bytes).map_err(|error| self.undecoded(member, error))?;
            if bytes.len() as u64 != member.bytes {
                return Err(self.damaged(
                    member,
                    format!("{} bytes were decoded, {} expected", bytes.len(), member.bytes),
                ));
            }
        }
        let mut crc = Crc::new();
        crc.update(bytes);
        self.check_crc(member, crc.sum())
    }

    fn check_crc(&self, member: &Member, found: u32) -> Result<(), StoreError> {
        if found == member.crc32 {
            return Ok(());
        }
        Err(self.damaged(member, format!("its checksum is {found:08x}, {:08x} expected", member.crc32)))
    }

    /// A member that is stored as it is, as it is read with the header before it: at once, but for large ones where the
    /// way is short.
    fn range(&self, member: &Member) -> Option<(u64, u64)> {
        if member.stored_bytes > READ_WITH_HEADER && self.hinted.is_none() {
            return None;
        }
        let header = LOCAL_HEADER_BYTES + self.directory.name(member).len() as u64;
        let most = self.directory.start.saturating_sub(member.header);
        Some((member.header, (header + EXPECTED_EXTRA_BYTES).saturating_add(member.stored_bytes).min(most)))
    }

    /// What of the file is read for a whole member; `None` where that is not known before.
    pub(super) fn range_of(&self, key: &Key<'_>) -> Option<Part> {
        let member = self.member(key).ok()??;
        let is_stored = member.method() == Method::Stored && self.check(&member).is_ok();
        let (offset, length) = self.range(&member).filter(|_| is_stored)?;
        Some(Part::Range { offset, length })
    }

    fn read_stored(&self, member: &Member, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let Some((offset, length)) = self.range(member) else {
            let start = self.find_start(member, bytes)?;
            return self.object.read_at(start, member.stored_bytes, bytes);
        };
        match &self.hinted {
            Some(file) => {
                let part = Part::Range { offset, length };
                if file.store.read(&file.prefix, part, length, bytes)?.is_none() {
                    return Err(self.damaged(member, "the file is there no more"));
                }
            }
            None => self.object.read_at(offset, length, bytes)?,
        }
        let start = self.start_by(member, bytes)?;
        let begin = usize::try_from(start - member.header).unwrap_or(usize::MAX);
        let stored = usize::try_from(member.stored_bytes).unwrap_or(usize::MAX);
        if bytes.len().checked_sub(begin).is_none_or(|found| found < stored) {
            return self.object.read_at(start, member.stored_bytes, bytes);
        }
        bytes.drain(..begin);
        bytes.truncate(stored);
        Ok(())
    }

    fn undecoded(&self, member: &Member, error: io::Error) -> StoreError {
        match error.downcast::<StoreError>() {
            Ok(error) => error,
            Err(error) => self.damaged(member, format!("it cannot be decompressed ({error})")),
        }
    }
}

/// The stored bytes of a member, in order.
struct Section {
    archive: Arc<Archive>,
    at: u64,
    end: u64,
    piece: Vec<u8>,
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = (self.end - self.at).min(buffer.len() as u64);
        self.archive.object.read_at(self.at, length, &mut self.piece).map_err(io::Error::other)?;
        buffer[..self.piece.len()].copy_from_slice(&self.piece);
        self.at += length;
        Ok(self.piece.len())
    }
}

/// A compressed member being decoded, in order; it gives a byte more than the member is to have at most.
struct Decoding {
    decoder: Box<dyn Read + Send>,
    /// Bytes that were decoded.
    place: u64,
}

impl Decoding {
    fn begin(archive: &Arc<Archive>, member: &Member) -> Result<Self, StoreError> {
        let start = archive.find_start(member, &mut Vec::new())?;
        let end = start + member.stored_bytes;
        let section = Section { archive: archive.clone(), at: start, end, piece: Vec::new() };
        let section = BufReader::with_capacity(PIECE, section);
        let most = member.bytes.saturating_add(1);
        let decoder: Box<dyn Read + Send> = match member.method() {
            Method::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(section);
                Box::new(decoder.map_err(|error| archive.undecoded(member, error))?.take(most))
            }
            _ => Box::new(flate2::bufread::DeflateDecoder::new(section).take(most)),
        };
        Ok(Decoding { decoder, place: 0 })
    }
}

/// A member that is open.
struct MemberReader {
    archive: Arc<Archive>,
    member: Member,
    /// Where the bytes of one that is stored begin.
    start: OnceLock<u64>,
    /// All of a small one that is compressed.
    whole: OnceLock<Vec<u8>>,
    /// A large one that is compressed, as far as it is decoded.
    decoding: Mutex<Option<Decoding>>,
    /// What is read next in order, and the checksum of what is before it.
    next: u64,
    crc: Crc,
}

impl std::fmt::Debug for MemberReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemberReader").field("member", &self.member).finish_non_exhaustive()
    }
}

impl MemberReader {
    fn new(archive: Arc<Archive>, member: Member) -> Self {
        MemberReader {
            archive,
            member,
            start: OnceLock::new(),
            whole: OnceLock::new(),
            decoding: Mutex::default(),
            next: 0,
            crc: Crc::new(),
        }
    }

    fn start(&self) -> Result<u64, StoreError> {
        if let Some(start) = self.start.get() {
            return Ok(*start);
        }
        let start = self.archive.find_start(&self.member, &mut Vec::new())?;
        Ok(*self.start.get_or_init(|| start))
    }

    fn whole(&self) -> Result<&[u8], StoreError> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let mut bytes = Vec::new();
        self.archive.read_whole(&self.member, &mut bytes)?;
        Ok(self.whole.get_or_init(|| bytes))
    }

    /// Decodes up to `offset`, and `length` bytes from there.
    fn decode(&self, offset: u64, length: usize, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let mut kept = self.decoding.lock().unwrap_or_else(PoisonError::into_inner);
        let mut decoding = match kept.take().filter(|decoding| decoding.place <= offset) {
            Some(decoding) => decoding,
            None => Decoding::begin(&self.archive, &self.member)?,
        };
        let undecoded = |error| self.archive.undecoded(&self.member, error);
        let skipped = offset - decoding.place;
        let skip =
            io::copy(&mut (&mut decoding.decoder).take(skipped), &mut io::sink()).map_err(undecoded)?;
        bytes.clear();
        let read = (&mut decoding.decoder).take(length as u64).read_to_end(bytes).map_err(undecoded)?;
        if skip < skipped || read < length {
            let found = decoding.place + skip + read as u64;
            let reason = format!("{found} bytes were decoded, {} expected", self.member.bytes);
            return Err(self.archive.damaged(&self.member, reason));
        }
        decoding.place = offset + length as u64;
        *kept = Some(decoding);
        Ok(())
    }
}

impl ReadObject for MemberReader {
    fn length(&self) -> u64 {
        self.member.bytes
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let end = offset.checked_add(length).filter(|end| *end <= self.member.bytes);
        let size = end.and_then(|_| usize::try_from(length).ok()).ok_or_else(|| {
            StoreError::too_short(self.archive.shown(&self.member), self.member.bytes, (offset, length))
        })?;
        if length == self.member.bytes {
            return self.archive.read_whole(&self.member, bytes);
        }
        if self.member.method() == Method::Stored {
            return self.archive.object.read_at(self.start()? + offset, length, bytes);
        }
        if self.member.bytes > MOST_KEPT {
            return self.decode(offset, size, bytes);
        }
        let begin = usize::try_from(offset).unwrap_or(usize::MAX);
        bytes.clear();
        bytes.extend_from_slice(&self.whole()?[begin..begin + size]);
        Ok(())
    }

    /// The last bytes come only if the checksum of all is right.
    fn read_next(&mut self, piece: &mut [u8]) -> Result<usize, StoreError> {
        let left = self.member.bytes.saturating_sub(self.next);
        let length = left.min(piece.len() as u64);
        if length == 0 {
            return Ok(0);
        }
        let mut bytes = Vec::new();
        self.read_at(self.next, length, &mut bytes)?;
        piece[..bytes.len()].copy_from_slice(&bytes);
        self.crc.update(&bytes);
        self.next += length;
        if self.next == self.member.bytes {
            self.archive.check_crc(&self.member, self.crc.sum())?;
        }
        Ok(bytes.len())
    }
}

//! Open zip files. Their members are read as a whole or in parts.

use std::io::Read;
use std::sync::Arc;

use flate2::Crc;
use once_cell::sync::OnceCell;
use rawzip::CompressionMethod as Method;

use super::directory::{Directory, LOCAL_HEADER_BYTES, Member};
use crate::store::object::copy_piece;
use crate::store::{Key, Node, ObjectReader, Part, ReadObject, Result, SortedKeys, StoreError, object_name, part};

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

#[derive(Debug)]
pub(super) struct Archive {
    /// Name in messages.
    pub name: String,
    pub object: ObjectReader,
    pub directory: Directory,
    /// The file itself, if its store accepts announcements of reads. Members are then read from it directly.
    pub hinted: Option<Node>,
}

impl Archive {
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

/// Open member.
#[derive(Debug)]
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

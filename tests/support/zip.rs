//! Zip files, built by hand so that they can contain what no tool writes.

use std::io::Write;

/// A member of a zip file.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// The name in the directory, and in its own header unless `header_name` is another.
    pub(crate) name: Vec<u8>,
    /// The name in its own header.
    pub(crate) header_name: Option<Vec<u8>>,
    /// The stored bytes.
    pub(crate) stored: Vec<u8>,
    /// The number of stored bytes in the directory.
    pub(crate) stored_bytes: u64,
    /// The number of bytes of the object.
    pub(crate) bytes: u64,
    pub(crate) crc32: u32,
    pub(crate) method: u16,
    /// The general purpose flags.
    pub(crate) flags: u16,
    /// The offset of the header in the directory.
    pub(crate) header: Option<u64>,
    /// Whether the directory has its sizes and offset in the zip64 extra field.
    pub(crate) is_zip64: bool,
    /// The extra fields of its own header.
    pub(crate) extra: Vec<u8>,
}

impl Member {
    /// Returns an uncompressed member.
    pub(crate) fn stored(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        Self::of(name, bytes, bytes.to_vec(), 0)
    }

    /// Returns a member compressed with deflate.
    pub(crate) fn deflated(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes.as_ref()).unwrap();
        Self::of(name, bytes.as_ref(), encoder.finish().unwrap(), 8)
    }

    /// Returns a member compressed with zstd.
    pub(crate) fn by_zstd(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        Self::of(name, bytes.as_ref(), zstd::encode_all(bytes.as_ref(), 3).unwrap(), 93)
    }

    fn of(name: &str, bytes: &[u8], stored: Vec<u8>, method: u16) -> Self {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        Member {
            name: name.as_bytes().to_vec(),
            header_name: None,
            stored_bytes: stored.len() as u64,
            stored,
            bytes: bytes.len() as u64,
            crc32: crc.sum(),
            method,
            flags: 0,
            header: None,
            is_zip64: false,
            extra: Vec::new(),
        }
    }

    fn write(&self, file: &mut Vec<u8>) {
        let name = self.header_name.as_ref().unwrap_or(&self.name);
        file.extend_from_slice(b"PK\x03\x04\x14\0");
        for field in [self.flags, self.method, 0, 33] {
            file.extend(field.to_le_bytes());
        }
        file.extend(self.crc32.to_le_bytes());
        for size in [self.stored_bytes, self.bytes] {
            file.extend(u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
        }
        for length in [name.len(), self.extra.len()] {
            file.extend(u16::try_from(length).unwrap().to_le_bytes());
        }
        for bytes in [name, &self.extra, &self.stored] {
            file.extend_from_slice(bytes);
        }
    }

    fn write_entry(&self, header: u64, file: &mut Vec<u8>) {
        let wide = [self.bytes, self.stored_bytes, self.header.unwrap_or(header)];
        let narrow = |value: u64| if self.is_zip64 { u32::MAX } else { u32::try_from(value).unwrap() };
        file.extend_from_slice(b"PK\x01\x02\x14\x03\x14\0");
        for field in [self.flags, self.method, 0, 33] {
            file.extend(field.to_le_bytes());
        }
        for field in [self.crc32, narrow(wide[1]), narrow(wide[0])] {
            file.extend(field.to_le_bytes());
        }
        let extra = if self.is_zip64 { 28 } else { 0 };
        for field in [u16::try_from(self.name.len()).unwrap(), extra, 0, 0, 0] {
            file.extend(field.to_le_bytes());
        }
        file.extend([0; 4]);
        file.extend(narrow(wide[2]).to_le_bytes());
        file.extend_from_slice(&self.name);
        if self.is_zip64 {
            file.extend_from_slice(b"\x01\0\x18\0");
            file.extend(wide.iter().flat_map(|value| value.to_le_bytes()));
        }
    }
}

/// Returns a zip file of these members.
pub(crate) fn zip(members: &[Member]) -> Vec<u8> {
    zip_with(b"", members, b"")
}

/// Returns a zip file with a prefix and a comment.
pub(crate) fn zip_with(prefix: &[u8], members: &[Member], comment: &[u8]) -> Vec<u8> {
    let mut file = prefix.to_vec();
    let mut headers = Vec::new();
    for member in members {
        headers.push(file.len() as u64);
        member.write(&mut file);
    }
    let start = file.len();
    for (member, header) in members.iter().zip(headers) {
        member.write_entry(header, &mut file);
    }
    let end = end_record(members.len(), start, file.len() - start, comment);
    file.extend(end);
    file
}

/// Returns the end record of a zip file.
pub(crate) fn end_record(count: usize, start: usize, length: usize, comment: &[u8]) -> Vec<u8> {
    let mut record = b"PK\x05\x06\0\0\0\0".to_vec();
    let count = u16::try_from(count % (1 << 16)).unwrap();
    record.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    for field in [length, start] {
        record.extend(u32::try_from(field).unwrap().to_le_bytes());
    }
    record.extend(u16::try_from(comment.len()).unwrap().to_le_bytes());
    record.extend_from_slice(comment);
    record
}

//! A part of a stored object, or of bytes that were decoded from one, read by range.

use crate::codec::region::as_index;
use crate::store::{ObjectReader, StoreError};

/// Where the bytes are.
#[derive(Clone, Copy)]
enum Source<'a> {
    Stored(&'a ObjectReader),
    Decoded(&'a [u8]),
}

/// Bytes from an offset on.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    source: Source<'a>,
    offset: u64,
    length: u64,
}

impl<'a> Window<'a> {
    /// A whole object.
    pub(super) fn of(reader: &'a ObjectReader) -> Self {
        Window { source: Source::Stored(reader), offset: 0, length: reader.length() }
    }

    /// Bytes in memory.
    pub(super) fn of_decoded(bytes: &'a [u8]) -> Self {
        Window { source: Source::Decoded(bytes), offset: 0, length: bytes.len() as u64 }
    }

    /// Its size in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// A part of it; the range must lie inside.
    pub(super) fn part(&self, offset: u64, length: u64) -> Self {
        Window { source: self.source, offset: self.offset.saturating_add(offset), length }
    }

    /// Tells that parts will be read soon, by their first bytes and lengths.
    pub(super) fn expect(&self, parts: &(impl Iterator<Item = (u64, u64)> + Clone)) {
        if let Source::Stored(reader) = self.source {
            reader.prefetch(&|| {
                let parts = parts.clone();
                parts.map(|(offset, length)| (self.offset.saturating_add(offset), length)).collect()
            });
        }
    }

    /// Reads a range into `bytes` (replaced); it must lie inside.
    pub(super) fn read(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        let start = self.offset.saturating_add(offset);
        match self.source {
            Source::Stored(reader) => reader.read_at(start, length, bytes),
            Source::Decoded(decoded) => {
                let end = as_index(start.saturating_add(length)).min(decoded.len());
                bytes.clear();
                bytes.extend_from_slice(&decoded[as_index(start).min(end)..end]);
                Ok(())
            }
        }
    }
}

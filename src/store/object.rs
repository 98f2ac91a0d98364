//! Objects that are read and written in parts.

use std::fmt::Debug;

use super::StoreError;

/// An object that a store has opened. It is read by many threads at once, but in order by one.
///
/// A shard is read in many parts (its index, and then some of its inner chunks), a large chunk piece by piece: a store
/// that had to find the object again for each part would spend more on that than on the reading.
pub trait ReadObject: Debug + Send + Sync {
    /// Its size in bytes when it was opened.
    fn length(&self) -> u64;

    /// Reads `length` bytes from `offset` into `bytes` (replaced). The range must lie inside the object.
    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), StoreError>;

    /// Reads the next bytes of the object into `piece`, as many as fit; how many were read (0 at the end).
    fn read_next(&mut self, piece: &mut [u8]) -> Result<usize, StoreError>;

    /// Tells that parts will be read soon, by their first bytes and lengths: those that are near each other come together.
    /// They are made only where that is of use.
    fn prefetch(&self, _parts: &dyn Fn() -> Vec<(u64, u64)>) {}
}

/// An object that is read in parts.
pub type ObjectReader = Box<dyn ReadObject>;

/// A part of an object that is open.
#[derive(Debug)]
pub(super) struct PartReader {
    reader: ObjectReader,
    offset: u64,
    length: u64,
    /// What was read of it in order.
    place: u64,
}

impl PartReader {
    /// `length` bytes from `offset`, all of which the object must have.
    pub(super) fn new(reader: ObjectReader, offset: u64, length: u64) -> Self {
        PartReader { reader, offset, length, place: 0 }
    }
}

impl ReadObject for PartReader {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        // What reaches beyond the part reaches beyond every file.
        let is_inside = offset.checked_add(length).is_some_and(|end| end <= self.length);
        let offset = if is_inside { self.offset + offset } else { u64::MAX };
        self.reader.read_at(offset, length, bytes)
    }

    fn read_next(&mut self, piece: &mut [u8]) -> Result<usize, StoreError> {
        let left = self.length.saturating_sub(self.place);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let mut bytes = Vec::new();
        self.reader.read_at(self.offset + self.place, count as u64, &mut bytes)?;
        piece[..count].copy_from_slice(&bytes);
        self.place += count as u64;
        Ok(count)
    }
}

/// An object that is being written. It is whole once it is finished; of one that is dropped before, nothing may be left
/// that a later writer of the same key does not replace.
pub trait WriteObject: Debug + Send + Sync {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Overwrites bytes at the start of the object, which are there already.
    fn write_at_start(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Ends the object.
    fn finish(self: Box<Self>) -> Result<(), StoreError>;
}

/// An object that is written in order.
pub type ObjectWriter = Box<dyn WriteObject>;

/// `length` bytes from `offset` of what is in memory; `None` where it has fewer.
pub(super) fn part(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}

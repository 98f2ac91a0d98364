//! Elements of an array, read by units. A unit is a chunk, or an inner chunk of a shard that can be streamed. Elements
//! beyond the edge of the array are cut off.

use std::ops::Range;

use super::{Fault, OpenedObject, PIECE, ReadBuffers, Result, StoredArray, SubchunkSource};
use crate::codec::{BoundChain, ChainFault, ChainFaultKind, CodecError, advance, as_index, element_bits};
use crate::element::NumberType;
use crate::grid::{Region, ravel};
use crate::kernel::ElementFault;
use crate::store::ObjectReader;

/// Result of a read of an object in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPieces {
    /// All elements were passed on.
    Given,
    /// The object is absent.
    Absent,
    /// The object must be read as a whole.
    NotGiven,
}

impl ReadBuffers {
    /// Returns the elements of the subchunk at a position, or `None` if it is absent.
    pub fn read_subchunk(
        &mut self,
        subchunks: &SubchunkSource<'_>,
        position: &[u64],
        subchunk: &Region,
    ) -> Result<Option<&[u8]>> {
        if !subchunks.read(position, self)? {
            return Ok(None);
        }
        self.bytes_read += self.bytes.len() as u64;
        let array = subchunks.array;
        let chain = array.chain_of_subchunk(position)?;
        self.decode(&chain, chain.bytes_index()..chain.codecs().len())?;
        Ok(Some(self.elements(&chain, subchunk, || array.subchunk_grid.start_of(position))?))
    }

    /// Decodes the other codecs, and crops the elements to `subchunk`. `start` returns the start of the stored
    /// subchunk.
    fn elements(&mut self, chain: &BoundChain, subchunk: &Region, start: impl Fn() -> Vec<u64>) -> Result<&[u8]> {
        self.decode(chain, chain.num_noop_codecs()..chain.bytes_index()).map_err(|fault| fault.moved_by(&start()))?;
        let bytes = &mut self.bytes;
        chain.check_before(0, bytes.len())?;
        let array = chain.decoded();
        if subchunk.shape != array.shape {
            let first = subchunk.offset_in(&start());
            crop(bytes, &array.shape, (&first, &subchunk.shape), array.data_type.size().unwrap_or(1));
        }
        // After the crop, as elements beyond the edge need not be values of the data type.
        chain.check_values(bytes, &subchunk.shape, &subchunk.shape).map_err(|fault| fault.moved_by(&subchunk.start))?;
        Ok(bytes)
    }

    /// Decodes some codecs, with alternating buffers.
    fn decode(&mut self, chain: &BoundChain, range: Range<usize>) -> Result<(), ChainFault> {
        let ReadBuffers { bytes, spare, workspace, .. } = self;
        for index in range.rev() {
            chain.decode_codec(index, bytes, spare, workspace)?;
            std::mem::swap(bytes, spare);
        }
        Ok(())
    }
}

/// Reads an object of `expected` bytes. Calls `visit` with each piece and its offset. A piece stays in the level 2
/// cache.
pub fn each_piece_of(
    reader: &mut ObjectReader,
    expected: u64,
    buffer: &mut Vec<u8>,
    mut visit: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    buffer.resize(PIECE.min(as_index(expected)), 0);
    let mut offset = 0;
    while offset < expected {
        let length = as_index((expected - offset).min(PIECE as u64));
        let filled = reader.read_piece(offset, &mut buffer[..length])?;
        if filled < length {
            let kind = ChainFaultKind::Size { expected, found: offset + filled as u64 };
            return Err(Fault::Chain(ChainFault::new("0", "bytes", kind)));
        }
        visit(offset, &buffer[..length])?;
        offset += length as u64;
    }
    Ok(())
}

/// Converts a kernel's fault in a subchunk to one with the element's position in the array.
pub fn element_fault(subchunk: &Region, fault: ElementFault, bytes: &[u8], types: (NumberType, NumberType)) -> Fault {
    let position = subchunk.position(fault.index as u64);
    let size = types.0.size();
    let bits = bytes.get(fault.index * size..(fault.index + 1) * size).map_or(0, element_bits);
    let kind = CodecError::Element { fault, position: Some(position.into_boxed_slice()), bits, types: Some(types) };
    Fault::Chain(ChainFault::new("-", "cast_value", kind))
}

impl StoredArray {
    /// Calls `visit` with the bytes of an object in pieces during the read. Passes nothing on if the object is encoded,
    /// is not completely inside the array, is to be cached, or has a data type with invalid values.
    pub fn each_piece(
        &self,
        index: u64,
        buffers: &mut ReadBuffers,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<InPieces> {
        let object = self.region_of(index);
        // Pieces are consecutive bytes. Elements beyond the edge would be among them. An encoded object is not opened
        // here: it may have been requested in advance, and is read once.
        if !self.has_plain_chunks() || self.inside(&object) != object {
            return Ok(InPieces::NotGiven);
        }
        // A cached chunk must be in memory as a whole.
        if self.cache.wants(&self.chain, as_index(self.chunk_bytes())) || self.keeps_some_of(index) {
            return Ok(InPieces::NotGiven);
        }
        let chain = self.chain_of(index)?;
        let Some(mut reader) = self.open_object(index)? else { return Ok(InPieces::Absent) };
        let length = reader.length();
        // The read of the whole object reports the wrong size.
        if length != chain.decoded_bytes() {
            return Ok(InPieces::NotGiven);
        }
        each_piece_of(&mut reader, length, &mut buffers.bytes, |_, piece| visit(piece))?;
        buffers.bytes_read += length;
        Ok(InPieces::Given)
    }
}

impl OpenedObject<'_> {
    /// Returns the units of the object that overlap a box of the array, as a box of their grid.
    pub fn subchunks_in(&self, region: &Region) -> Region {
        self.subchunks.common(&self.array.subchunk_grid.chunks_in(region))
    }

    /// Returns the box of a unit, cropped to the array.
    pub fn region_of(&self, position: &[u64]) -> Region {
        self.array.inside(&self.array.subchunk_grid.region_of(position))
    }

    /// Returns the elements of a unit, or `None` if it is absent. Uses the array's cache, and adds the unit to it if
    /// wanted.
    pub fn read<'b>(
        &self,
        position: &[u64],
        subchunk: &Region,
        buffers: &'b mut ReadBuffers,
    ) -> Result<Option<&'b [u8]>> {
        let (chain, cache) = (&*self.array.chain_of_subchunk(&self.subchunks.start)?, &self.array.cache);
        if let Some(chunk) = cache.get(position) {
            // The cached bytes are the elements if no other codec changes them and nothing is cropped.
            if chain.num_noop_codecs() == chain.bytes_index() && subchunk.shape == chain.decoded().shape {
                return Ok(Some(&buffers.kept.insert(chunk).bytes));
            }
            buffers.bytes.clear();
            buffers.bytes.extend_from_slice(&chunk.bytes);
        } else {
            if self.fetch(position, buffers)?.is_none() {
                return Ok(None);
            }
            let stored = buffers.bytes.len() as u64;
            buffers.bytes_read += stored;
            buffers.decode(chain, chain.bytes_index()..chain.codecs().len())?;
            cache.keep(position, chain, &buffers.bytes, stored);
        }
        Ok(Some(buffers.elements(chain, subchunk, || self.array.subchunk_grid.start_of(position))?))
    }
}

/// Crops an array of `shape` in place to the box of shape `kept` at `first`. No row moves towards the end.
pub fn crop(bytes: &mut Vec<u8>, shape: &[u64], (first, kept): (&[u64], &[u64]), element_size: usize) {
    let row = as_index(kept.last().copied().unwrap_or(1)) * element_size;
    let mut indices = vec![0; kept.len()];
    let outer = kept.len().saturating_sub(1);
    let origin = ravel(first, shape);
    let mut to = 0;
    if kept.contains(&0) {
        bytes.clear();
        return;
    }
    loop {
        let from = as_index(origin + ravel(&indices, shape)) * element_size;
        if from != to {
            bytes.copy_within(from..from + row, to);
        }
        to += row;
        if !advance(&mut indices[..outer], kept) {
            break;
        }
    }
    bytes.truncate(to);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crop_keeps_a_box() {
        let mut bytes: Vec<u8> = (0..48).collect();
        crop(&mut bytes, &[2, 3, 4], (&[0, 0, 0], &[2, 2, 3]), 2);
        let expected = [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13];
        let second = expected.map(|byte| byte + 24);
        assert_eq!(bytes, [expected, second].concat());
        crop(&mut bytes, &[], (&[], &[]), 1);
        assert_eq!(bytes, [0]);
        let mut bytes: Vec<u8> = (0..12).collect();
        crop(&mut bytes, &[3, 4], (&[1, 2], &[2, 2]), 1);
        assert_eq!(bytes, [6, 7, 10, 11]);
    }
}

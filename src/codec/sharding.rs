//! `sharding_indexed`: a shard of inner chunks and its index (Zarr v3 codecs, sharding-indexed 1.0).
//!
//! This module processes whole shards in memory. The engine uses the same parts to stream them, one inner chunk at a
//! time.

use super::chain::{BindError, BoundChain, ElementSize, Workspace};
use super::fault::{ChainFaultKind, CodecError, Outcome};
use super::is_filled_with;
use super::kinds::error::reserve;
use super::kinds::zeroed;
use super::region::{as_index, copy_box};
use crate::data_type::FillValue;
use crate::grid::Region;
use crate::kernel::Rounding;
use crate::kernel::cast::Cast;
use crate::memory::fallibly;
use crate::metadata::array::num_elements;
use crate::pipeline::{ArrayRepresentation, BytesSize, IndexLocation, Representation, ShardingStage};

/// A bound `sharding_indexed` codec.
#[derive(Debug, Clone)]
pub struct BoundSharding {
    shard_shape: Vec<u64>,
    /// The number of inner chunks along each dimension.
    pub grid_shape: Vec<u64>,
    /// The chain of an inner chunk.
    pub inner: BoundChain,
    index: BoundChain,
    /// The end of the shard that contains the index.
    pub index_location: IndexLocation,
    /// The bytes of the encoded index.
    pub index_bytes: u64,
    /// True if inner chunks that contain only the fill value are written, too.
    pub(super) write_empty: bool,
}

/// The offset and length of an inner chunk in its shard. `None` if it is absent.
pub type IndexEntry = Option<(u64, u64)>;

/// The most inner chunks of a shard. Reading an index needs about seventy bytes of memory for each. A sparse file of
/// any size occupies no disk space, so the file size is no limit.
const MAX_INNER_CHUNKS: u64 = 1 << 20;

/// Bytes of an entry of the index before its codecs.
const ENTRY_BYTES: u64 = 16;

/// The offset and the length of an absent inner chunk in the index.
pub const ABSENT: u64 = u64::MAX;

impl BoundSharding {
    /// Binds the codec for shards of this representation.
    pub(super) fn bind(
        stage: &ShardingStage,
        shard: &ArrayRepresentation,
        elements: ElementSize,
    ) -> Result<Self, BindError> {
        let inner = BoundChain::bind_elements(&stage.inner, elements)?;
        let index = BoundChain::bind(&stage.index)?;
        let unsupported = |because: String| BindError::unsupported("sharding_indexed", because);
        let Representation::Bytes(BytesSize::Fixed(index_bytes)) = index.encoded() else {
            return Err(unsupported(": its index codecs do not give a fixed size".to_owned()));
        };
        // The index has one more dimension, of offset and length.
        let grid_shape = index.decoded().shape[..shard.shape.len()].to_vec();
        if num_elements(&grid_shape).is_none_or(|count| count > MAX_INNER_CHUNKS) {
            let because = format!(": a shard has inner chunks of {grid_shape:?}, more than {MAX_INNER_CHUNKS}");
            return Err(unsupported(because));
        }
        Ok(BoundSharding {
            shard_shape: shard.shape.clone(),
            grid_shape,
            inner,
            index,
            index_location: stage.index_location,
            index_bytes,
            // Without a fill value nobody could read an absent inner chunk. This stays true if `presume_fill_value`
            // finds one, because other readers may take another value.
            write_empty: shard.fill_value.is_none(),
        })
    }

    /// Takes the number of the array's fill value where the filters before the shard have no rule for it: zarr-python
    /// reads absent inner chunks so. Other readers encode it, so no inner chunk is left out.
    pub(super) fn presume_fill_value(&mut self, array: &ArrayRepresentation) {
        let decoded = &mut self.inner.decoded;
        if let (None, Some(fill), Some(source), Some(target)) =
            (&decoded.fill_value, &array.fill_value, array.data_type.number(), decoded.data_type.number())
        {
            // numpy converts a float to an integer by dropping its fraction.
            let cast = Cast::with_rounding(source, target, Rounding::TowardsZero);
            let number = fill.to_bits(&array.data_type).and_then(|bits| cast.convert_one(bits).ok());
            decoded.fill_value = number.map(|bits| FillValue::from_bits(target, bits));
        }
    }

    /// Returns the number of inner chunks of a shard.
    pub fn num_inner_chunks(&self) -> u64 {
        self.grid_shape.iter().product()
    }

    /// Returns true if the index has a checksum.
    pub fn index_holds_checksum(&self) -> bool {
        self.index.codecs().iter().any(|codec| codec.metadata.name == "crc32c")
    }

    /// Returns offset and length of the encoded index in a shard of `shard_bytes` bytes. Fails if the shard is too
    /// short.
    pub fn index_range(&self, shard_bytes: u64) -> Result<(u64, u64), ChainFaultKind> {
        let too_short = ChainFaultKind::Size { expected: self.index_bytes, found: shard_bytes };
        let at_end = shard_bytes.checked_sub(self.index_bytes).ok_or(too_short)?;
        Ok((if self.index_location == IndexLocation::Start { 0 } else { at_end }, self.index_bytes))
    }

    /// Decodes the index of a shard to the offset and length of each inner chunk, without checking them. Both are
    /// [`ABSENT`] for an absent one.
    pub fn decode_entries(&self, encoded: &[u8], workspace: &mut Workspace) -> Result<Vec<(u64, u64)>, ChainFaultKind> {
        let mut decoded = Vec::new();
        let result = self.index.decode(encoded, &mut decoded, workspace.inner());
        result.map_err(|fault| Self::fault_inside("the shard index cannot be decoded", &fault))?;
        // The chain of the index decodes to the byte order of this machine, whatever `endian` it has.
        let pairs = decoded.as_chunks::<8>().0.as_chunks::<2>().0.iter();
        Ok(pairs.map(|[offset, length]| (u64::from_ne_bytes(*offset), u64::from_ne_bytes(*length))).collect())
    }

    /// Decodes the index of a shard of `shard_bytes` bytes. Fails if an entry is not inside it.
    pub fn decode_index(
        &self,
        encoded: &[u8],
        shard_bytes: u64,
        workspace: &mut Workspace,
    ) -> Result<Vec<IndexEntry>, ChainFaultKind> {
        let pairs = self.decode_entries(encoded, workspace)?;
        pairs.into_iter().enumerate().map(|(number, pair)| checked_entry(number, pair, shard_bytes)).collect()
    }

    /// Returns offset and length of the entry of an inner chunk in a shard of `shard_bytes` bytes. `None` if it cannot
    /// be read alone, because the index is encoded.
    pub fn entry_range(&self, entry: usize, shard_bytes: u64) -> Option<(u64, u64)> {
        let (start, _) = self.index_range(shard_bytes).ok().filter(|_| self.index.is_plain())?;
        Some((start + entry as u64 * ENTRY_BYTES, ENTRY_BYTES))
    }

    /// Decodes an entry that was read alone.
    pub fn decode_entry(&self, entry: usize, encoded: &[u8], shard_bytes: u64) -> Result<IndexEntry, ChainFaultKind> {
        let Ok([offset, length]) = <[[u8; 8]; 2]>::try_from(encoded.as_chunks::<8>().0) else {
            return Err(ChainFaultKind::Size { expected: ENTRY_BYTES, found: encoded.len() as u64 });
        };
        // `entry_range` returns a range only if the stored bytes are in the order of this machine.
        checked_entry(entry, (u64::from_ne_bytes(offset), u64::from_ne_bytes(length)), shard_bytes)
    }

    /// Encodes an index.
    pub fn encode_index(&self, entries: &[IndexEntry], encoded: &mut Vec<u8>, workspace: &mut Workspace) -> Outcome {
        let mut decoded = Vec::new();
        reserve(&mut decoded, entries.len() * 16)?;
        for entry in entries {
            let (offset, length) = entry.unwrap_or((ABSENT, ABSENT));
            decoded.extend_from_slice(&offset.to_ne_bytes());
            decoded.extend_from_slice(&length.to_ne_bytes());
        }
        let result = self.index.encode(&decoded, encoded, workspace.inner());
        result.map_err(|fault| ChainFaultKind::Shard(format!("the shard index cannot be encoded: {fault}")))
    }

    pub(super) fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, workspace: &mut Workspace) -> Outcome {
        encoded.clear();
        // The index is known last, but its size is known now. Its offsets count from the start of the shard.
        if self.index_location == IndexLocation::Start {
            zeroed(encoded, as_index(self.index_bytes))?;
        }
        let (shape, inner_shape, size) = (&self.shard_shape, &self.inner.decoded().shape, self.element_size());
        let origin = vec![0; shape.len()];
        let (mut chunk, mut chunk_encoded) = (self.new_inner_chunk()?, Vec::new());
        let mut entries = Vec::new();
        reserve(&mut entries, as_index(self.num_inner_chunks()))?;
        for position in Region::whole(&self.grid_shape).cells() {
            let start = Region::chunk(&position, inner_shape).start;
            copy_box((decoded, shape, &start), (&mut chunk, inner_shape, &origin), inner_shape, size);
            if self.is_empty(&chunk) {
                entries.push(None);
            } else {
                let result = self.inner.encode(&chunk, &mut chunk_encoded, workspace.inner());
                result.map_err(|fault| Self::fault_inside(&format!("inner chunk {position:?}"), &fault))?;
                entries.push(Some((encoded.len() as u64, chunk_encoded.len() as u64)));
                append(encoded, &chunk_encoded)?;
            }
        }
        self.encode_index(&entries, &mut chunk_encoded, workspace)?;
        match self.index_location {
            IndexLocation::Start => encoded[..chunk_encoded.len()].copy_from_slice(&chunk_encoded),
            IndexLocation::End => append(encoded, &chunk_encoded)?,
        }
        Ok(())
    }

    pub(super) fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>, workspace: &mut Workspace) -> Outcome {
        let (offset, length) = self.index_range(encoded.len() as u64)?;
        let index = &encoded[as_index(offset)..as_index(offset + length)];
        let entries = self.decode_index(index, encoded.len() as u64, workspace)?;
        let (shape, inner_shape, size) = (&self.shard_shape, &self.inner.decoded().shape, self.element_size());
        let origin = vec![0; shape.len()];
        zeroed(decoded, as_index(shape.iter().product::<u64>()).saturating_mul(size))?;
        let mut chunk = self.new_inner_chunk()?;
        for (position, entry) in Region::whole(&self.grid_shape).cells().zip(entries) {
            if let Some((offset, length)) = entry {
                let bytes = &encoded[as_index(offset)..as_index(offset + length)];
                let result = self.inner.decode(bytes, &mut chunk, workspace.inner());
                result.map_err(|fault| Self::fault_inside(&format!("inner chunk {position:?}"), &fault))?;
            } else {
                let Some(fill) = &self.inner.decoded().fill_value else {
                    let message = format!(
                        "inner chunk {position:?} is absent, and its fill value is unknown: none is given, or a codec before does not encode it"
                    );
                    return Err(ChainFaultKind::Shard(message));
                };
                chunk.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(&fill.0));
            }
            let start = Region::chunk(&position, inner_shape).start;
            copy_box((&chunk, inner_shape, &origin), (decoded, shape, &start), inner_shape, size);
        }
        Ok(())
    }

    /// Returns true if a decoded inner chunk is not stored. All of its values are then the fill value, bit for bit.
    pub fn is_empty(&self, chunk: &[u8]) -> bool {
        let fill = self.inner.decoded().fill_value.as_ref();
        !self.write_empty && fill.is_some_and(|fill| is_filled_with(chunk, &fill.0))
    }

    fn element_size(&self) -> usize {
        self.inner.decoded().data_type.size().unwrap_or(1)
    }

    fn new_inner_chunk(&self) -> Result<Vec<u8>, ChainFaultKind> {
        let mut chunk = Vec::new();
        zeroed(&mut chunk, as_index(self.inner.decoded().num_bytes().unwrap_or(0)))?;
        Ok(chunk)
    }

    /// Makes a fault of the shard from a fault of a chain inside it. `context` describes the position.
    fn fault_inside(context: &str, fault: &super::fault::ChainFault) -> ChainFaultKind {
        match fault.kind {
            // Callers ask for these two kinds: missing memory says nothing about the chunk, and `inspect` reports
            // checksums.
            ChainFaultKind::Codec(CodecError::Memory { needed }) => CodecError::Memory { needed }.into(),
            ChainFaultKind::Codec(CodecError::Checksum(_)) => {
                CodecError::Checksum(format!("{context}: {fault}")).into()
            }
            _ => ChainFaultKind::Shard(format!("{context}: {fault}")),
        }
    }
}

/// Returns an entry of the index. Fails if it is not inside the shard.
fn checked_entry(number: usize, (offset, length): (u64, u64), shard_bytes: u64) -> Result<IndexEntry, ChainFaultKind> {
    match (offset, length) {
        // Only both numbers together mean an absent chunk. One of them alone is outside any shard.
        (ABSENT, ABSENT) => Ok(None),
        _ if offset.checked_add(length).is_some_and(|end| end <= shard_bytes) => Ok(Some((offset, length))),
        _ => Err(ChainFaultKind::Shard(format!(
            "the shard index places inner chunk {number} at offset {offset} with {length} bytes, outside the shard of {shard_bytes} bytes"
        ))),
    }
}

/// Appends bytes. Fails if there is not enough memory. The buffer grows by more than required, for later bytes.
fn append(buffer: &mut Vec<u8>, bytes: &[u8]) -> Result<(), CodecError> {
    let needed = bytes.len() as u64;
    fallibly(|| buffer.try_reserve(bytes.len())).map_err(|_| CodecError::Memory { needed })?;
    buffer.extend_from_slice(bytes);
    Ok(())
}

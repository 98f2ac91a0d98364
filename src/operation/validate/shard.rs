//! Checks shards: first the index against the shard that contains it, then the inner chunks one by one.
//!
//! An index is not trusted: every range is checked to be inside the shard before it is read. Shards inside shards are
//! checked in the same way. Never more than one innermost chunk is decoded at a time.

use std::sync::Arc;

use super::object::{Buffers, Object};
use crate::array::Fault;
use crate::codec::sharding::ABSENT;
use crate::codec::{BoundChain, BoundSharding, ChainFaultKind, Codec, Effect};
use crate::diagnostic::code;
use crate::grid::unravel;
use crate::pipeline::{BytesSize, Representation};
use crate::store::{MemoryReader, ObjectReader, ReadObject, StoreError};

const WRITE_AGAIN: &str = "write the shard again from its source, or restore it";

/// A shard, or a shard inside another one.
struct Level<'a> {
    /// The chain that ends in the shard, and the shard's codec.
    chain: &'a BoundChain,
    sharding: &'a BoundSharding,
    /// The dimension of the array for each dimension of the chain's input.
    order: Vec<usize>,
    /// The index of the shard's first element in the array.
    start: Vec<u64>,
    /// The name of the shard inside its object, for messages. Empty for the object itself.
    label: String,
}

/// An inner chunk inside its shard.
struct Entry {
    number: u64,
    offset: u64,
    length: u64,
}

/// A range of bytes of an object.
#[derive(Clone, Copy)]
struct Window<'a> {
    reader: &'a dyn ReadObject,
    offset: u64,
    length: u64,
}

impl Window<'_> {
    /// Reads a range, which must be inside, into `bytes`. Its old content is replaced.
    fn read(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), StoreError> {
        self.reader.read_at(self.offset.saturating_add(offset), length, bytes)
    }
}

impl Object<'_, '_> {
    /// Checks a stored shard.
    pub(super) fn sharded(&mut self, reader: &ObjectReader) -> Result<(), Fault> {
        let check = self.check;
        let start = check.metadata.grid.start_of(&self.chunk);
        let chain = check.chain_of(&self.chunk)?;
        let order = (0..start.len()).collect();
        let Some(level) = Level::new(&chain, order, start, String::new()) else { return Ok(()) };
        self.encoded(&level, Window { reader: &**reader, offset: 0, length: reader.length() })
    }

    /// Checks bytes that a chain with a shard has encoded.
    fn encoded(&mut self, level: &Level, window: Window) -> Result<(), Fault> {
        let place = level.chain.num_array_to_array();
        if place + 1 == level.chain.codecs().len() {
            return self.shard(level, window);
        }
        // The shard as a whole was compressed, or has a checksum. It must be decoded before it can be read.
        let mut read = Vec::new();
        window.read(0, window.length, &mut read)?;
        let mut shard = Vec::new();
        if let Err(fault) = level.chain.decode_to(place + 1, &read, &mut shard, &mut self.buffers.workspace) {
            return self.chain_fault(fault, &[], &level.label);
        }
        drop(read);
        let shard = MemoryReader { bytes: Arc::new(shard), name: self.key.clone() };
        self.shard(level, Window { reader: &shard, offset: 0, length: shard.length() })
    }

    fn shard(&mut self, level: &Level, window: Window) -> Result<(), Fault> {
        let Some(entries) = read_index(self, level, window)? else { return Ok(()) };
        let (check, inner) = (self.check, level.sharding.inner());
        let nested = inner.codecs().iter().any(|codec| matches!(codec.codec, Codec::Sharding(_)));
        if !nested && !check.decodes {
            return Ok(());
        }
        if level.label.is_empty() && check.decodes {
            // All of these are read next.
            window.reader.prefetch(&|| entries.iter().map(|entry| (entry.offset, entry.length)).collect());
        }
        let order = level.order_inside();
        for Entry { number, offset, length } in entries {
            let (position, start) = level.place_of(number, &order);
            let label = format!("{}inner chunk {position:?}: ", level.label);
            let part = Window { offset: window.offset.saturating_add(offset), length, ..window };
            if !nested && let Some(subchunk) = &check.subchunk {
                part.read(0, length, &mut self.buffers.read)?;
                self.chunk(subchunk, &start, &label)?;
            } else if let Some(level) = Level::new(inner, order.clone(), start, label) {
                self.encoded(&level, part)?;
            }
        }
        Ok(())
    }
}

impl<'a> Level<'a> {
    /// `None` of a chain without a shard.
    fn new(chain: &'a BoundChain, order: Vec<usize>, start: Vec<u64>, label: String) -> Option<Self> {
        match &chain.codecs().get(chain.num_array_to_array())?.codec {
            Codec::Sharding(sharding) => Some(Level { chain, sharding, order, start, label }),
            _ => None,
        }
    }

    /// Returns the dimension of the array for each dimension of the shard.
    fn order_inside(&self) -> Vec<usize> {
        let mut order = self.order.clone();
        for codec in self.chain.codecs() {
            if let Effect::Transpose(permutation) = codec.codec.effect() {
                order = permutation.iter().map(|dimension| order[*dimension]).collect();
            }
        }
        order
    }

    /// Returns the position of an inner chunk in the shard, and the index of its first element in the array.
    fn place_of(&self, number: u64, order: &[usize]) -> (Vec<u64>, Vec<u64>) {
        let position = unravel(number, self.sharding.grid_shape());
        let mut start = self.start.clone();
        for ((index, length), dimension) in position.iter().zip(&self.sharding.inner().decoded().shape).zip(order) {
            start[*dimension] = start[*dimension].saturating_add(index.saturating_mul(*length));
        }
        (position, start)
    }
}

/// Returns the valid entries of a shard's index. `None` if the index cannot be read.
fn read_index(object: &mut Object, level: &Level, window: Window) -> Result<Option<Vec<Entry>>, Fault> {
    let sharding = level.sharding;
    let refused = |object: &mut Object, code, message: String| {
        object.push(code, format!("{}{message}", level.label), WRITE_AGAIN);
        Ok(None)
    };
    let (index_offset, index_bytes) = match sharding.index_range(window.length) {
        Ok(range) => range,
        Err(ChainFaultKind::Size { expected, found }) => {
            let message = format!("the shard of {found} bytes is shorter than its index of {expected}");
            return refused(object, code::SHARD_TRUNCATED, message);
        }
        Err(fault) => return refused(object, code::SHARD_INDEX, fault.to_string()),
    };
    let Buffers { read, workspace, .. } = &mut *object.buffers;
    window.read(index_offset, index_bytes, read)?;
    let pairs = match sharding.decode_entries(read, workspace) {
        Ok(pairs) => pairs,
        Err(fault) => return refused(object, code::SHARD_INDEX, fault.to_string()),
    };
    let index = (index_offset, index_offset.saturating_add(index_bytes));
    let mut entries = Vec::new();
    for (number, (offset, length)) in pairs.into_iter().enumerate() {
        if (offset, length) == (ABSENT, ABSENT) {
            continue;
        }
        let entry = Entry { number: number as u64, offset, length };
        if fits(object, level, (window.length, index), &entry) {
            entries.push(entry);
        }
    }
    check_layout(object, level, &entries, window.length.saturating_sub(index_bytes));
    Ok(Some(entries))
}

/// Checks that an entry is in the shard, outside the index, and has a possible size. Otherwise adds a finding.
fn fits(object: &mut Object, level: &Level, (shard_bytes, index): (u64, (u64, u64)), entry: &Entry) -> bool {
    let Entry { number, offset, length } = *entry;
    let (inner, end) = (level.sharding.inner(), offset.checked_add(length).filter(|end| *end <= shard_bytes));
    let places = || format!("the index places it at offset {offset} with {length} bytes");
    let (code, message) = match end {
        None => (code::SHARD_INDEX, format!("{}, outside of the shard of {shard_bytes} bytes", places())),
        Some(end) if length > 0 && offset < index.1 && end > index.0 => {
            (code::SHARD_ENTRY_IN_INDEX, format!("{}, which are its own", places()))
        }
        Some(_) => {
            let expected = match inner.encoded() {
                Representation::Bytes(BytesSize::Fixed(bytes)) if bytes != length => format!("{bytes} expected"),
                _ if length == 0 && inner.decoded().num_elements() != Some(0) => "at least 1 expected".to_owned(),
                _ if length > inner.max_encoded_bytes() => format!("at most {} expected", inner.max_encoded_bytes()),
                _ => return true,
            };
            (code::INNER_CHUNK_SIZE, format!("{length} bytes found, {expected}"))
        }
    };
    let position = unravel(number, level.sharding.grid_shape());
    object.push(code, format!("{}inner chunk {position:?}: {message}", level.label), WRITE_AGAIN);
    false
}

/// Adds findings about inner chunks that share bytes, and about bytes that belong to none.
fn check_layout(object: &mut Object, level: &Level, entries: &[Entry], room: u64) {
    let mut sorted: Vec<&Entry> = entries.iter().filter(|entry| entry.length > 0).collect();
    sorted.sort_by_key(|entry| (entry.offset, entry.length, entry.number));
    let name = |entry: &Entry| format!("{:?}", unravel(entry.number, level.sharding.grid_shape()));
    let (mut used, mut end) = (0_u64, 0_u64);
    let mut last: Option<&Entry> = None;
    for entry in sorted {
        let entry_end = entry.offset + entry.length;
        if let Some(last) = last.filter(|_| entry.offset < end) {
            let same = (last.offset, last.length) == (entry.offset, entry.length);
            let (code, verb) =
                if same { (code::SHARD_CHUNKS_SHARED, "are the same bytes") } else { (code::SHARD_OVERLAP, "overlap") };
            let message = format!("{}inner chunks {} and {} {verb}", level.label, name(last), name(entry));
            object.push(code, message, WRITE_AGAIN);
        }
        used += entry_end.saturating_sub(end.max(entry.offset));
        if entry_end >= end {
            end = entry_end;
            last = Some(entry);
        }
    }
    if used < room {
        let message = format!("{}{} bytes of the shard belong to no inner chunk", level.label, room - used);
        object.push(code::SHARD_GAPS, message, "writing the shard again saves the space");
    }
}

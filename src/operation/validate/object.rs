//! Levels `index` and `data`: checks one stored object, its shard index and its chunks.
//!
//! An index is not trusted: every range is checked to be inside the shard before it is read. Shards inside shards are
//! checked in the same way. Never more than one innermost chunk is decoded at a time.

use std::sync::Arc;

use super::{Findings, keys::size_finding};
use crate::array::{Fault, Sizes, position};
use crate::codec::{
    BoundChain, BoundSharding, ChainFault, ChainFaultKind, Codec, CodecError, Effect, ForShape, Workspace,
    sharding::ABSENT,
};
use crate::diagnostic::{Code, Diagnostic, code};
use crate::engine::PrefetchPlan;
use crate::engine::ahead::{MOST_WHOLE_SHARD, index_part};
use crate::grid::{unravel, zip_with};
use crate::metadata::ArrayMetadata;
use crate::operation::{Budget, NodePath, Result};
use crate::pipeline::{BytesSize, Representation};
use crate::store::{FileFormat, MemoryReader, Node, Part, ReadObject};

const WRITE_AGAIN: &str = "write the shard again from its source, or restore it";

/// The check of each object of an array.
pub(super) struct ObjectCheck<'a> {
    pub(super) node_path: &'a NodePath,
    pub(super) node: &'a Node,
    pub(super) metadata: &'a ArrayMetadata,
    pub(super) chain: &'a BoundChain,
    /// The chain of an innermost chunk from the array itself, if the array is sharded.
    pub(super) subchunk: Option<&'a BoundChain>,
    /// True if chunks are decoded, not only shard indexes. Always true if the array is not sharded.
    pub(super) decodes: bool,
    /// The valid sizes of objects, if they were not checked before.
    pub(super) sizes: Option<&'a Sizes<'a>>,
}

/// Buffers that a thread reuses for all objects.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    read: Vec<u8>,
    decoded: Vec<u8>,
    workspace: Workspace,
}

/// An object and its check.
struct Object<'a, 'p> {
    check: &'a ObjectCheck<'a>,
    chunk: Vec<u64>,
    key: String,
    findings: &'a mut Findings<'p>,
    buffers: &'a mut Buffers,
}

impl ObjectCheck<'_> {
    fn chain_of(&self, chunk: &[u64]) -> Result<ForShape<'_, BoundChain>, Fault> {
        let chain = self.chain.for_chunk(&self.metadata.grid, chunk);
        chain.map_err(|error| Fault::Other(format!("the chunk cannot be decoded: {error}")))
    }

    /// Returns the reads of each object: the index of a shard that is read in parts, otherwise the whole object.
    pub(super) fn reads_ahead(&self) -> PrefetchPlan<'_> {
        let chunk_bytes = self.chain.decoded().num_bytes().unwrap_or(0);
        PrefetchPlan::new(self.node, chunk_bytes, move |object, each| {
            let chunk = position(object, self.metadata);
            let Ok(chain) = self.chain_of(&chunk) else { return };
            let is_small = chunk_bytes <= MOST_WHOLE_SHARD;
            let part = match chain.codecs().last().map(|codec| &codec.codec) {
                Some(Codec::Sharding(sharding)) if !(self.decodes && is_small) => index_part(sharding),
                _ => Part::Whole,
            };
            each(&self.metadata.chunk_key_encoding.key(&chunk), part);
        })
    }

    /// Checks an object and returns its size in bytes. `None` if it is absent.
    pub(super) fn run(&self, buffers: &mut Buffers, index: u64, findings: &mut Findings) -> Result<Option<u64>, Fault> {
        let chunk = position(index, self.metadata);
        let key = self.metadata.chunk_key_encoding.key(&chunk);
        // A rule for sizes is given if the store does not list its keys: opening shows whether the object exists. A
        // listed object has to exist.
        let open = if self.sizes.is_some() { Node::open } else { Node::open_listed };
        let Some(reader) = open(self.node, &key, self.chain.max_encoded_bytes())? else { return Ok(None) };
        let length = reader.length();
        if let Some(rule) = self.sizes.map(|sizes| sizes(&chunk)).filter(|rule| !rule.contains(&length)) {
            let found = self.node_path.holds(size_finding(length, rule).at_chunk(chunk));
            findings.push(found.at_key(self.node_path.key(&key)));
            return Ok(Some(length));
        }
        let (chain, start) = (self.chain_of(&chunk)?, self.metadata.grid.start_of(&chunk));
        let mut object = Object { check: self, key: self.node_path.key(&key), chunk, findings, buffers };
        if self.subchunk.is_none() {
            reader.read_at(0, length, &mut object.buffers.read)?;
            object.chunk(&chain, &start, "")?;
        } else if let Some(level) = Level::new(&chain, (0..start.len()).collect(), start, String::new()) {
            object.encoded(&level, Window { reader: &*reader, offset: 0, length })?;
        }
        Ok(Some(length))
    }

    /// Returns the number of threads that may check objects at a time. An error if there is no memory for one.
    pub(super) fn threads(&self, budget: Budget, store: &str) -> Result<usize> {
        let what = if self.subchunk.is_some() { "the shards" } else { "the chunks" };
        let purpose = || format!("to check {what} of `{store}`");
        budget.threads_of(self.unit_bytes(), purpose).map_err(|error| error.or_help("check less: `--level keys`"))
    }

    /// Returns the bytes that a thread needs for one object.
    fn unit_bytes(&self) -> u64 {
        match self.subchunk {
            None => chain_bytes(self.chain),
            Some(subchunk) => {
                let subchunk = if self.decodes { chain_bytes(subchunk) } else { 0 };
                subchunk.saturating_add(index_bytes(self.chain))
            }
        }
    }
}

impl Object<'_, '_> {
    /// Decodes the chunk that was read, and checks its elements against their type. `inner` names an inner chunk.
    fn chunk(&mut self, chain: &BoundChain, start: &[u64], inner: &str) -> Result<(), Fault> {
        let mut checked = decode(chain, self.buffers);
        if checked.is_ok() && !skips_values(chain) {
            let shape = &chain.decoded().shape;
            // Elements beyond the array are padding, which may have any bits.
            let valid = zip_with(shape, &zip_with(&self.check.metadata.shape, start, u64::saturating_sub), u64::min);
            checked = chain.check_values(&self.buffers.decoded, shape, &valid);
        }
        checked.or_else(|fault| self.chain_fault(fault, start, inner))
    }

    /// Adds a finding about a codec that failed on the chunk. `inner` names an inner chunk. A fault of the machine,
    /// which proves nothing about the chunk, is returned.
    fn chain_fault(&mut self, fault: ChainFault, start: &[u64], inner: &str) -> Result<(), Fault> {
        if fault.missing_memory().is_some() {
            return Err(Fault::Chain(fault));
        }
        let code = code_of(&fault);
        let help = fault.chunk_help().unwrap_or("restore the chunk from its source, or write it again");
        self.push(code, format!("{inner}{}", fault.sentence_at(start)), help);
        Ok(())
    }

    /// Checks bytes that a chain with a shard has encoded.
    fn encoded(&mut self, level: &Level, window: Window) -> Result<(), Fault> {
        let codec_index = level.chain.num_array_to_array();
        if codec_index + 1 == level.chain.codecs().len() {
            return self.shard(level, window);
        }
        // The shard as a whole was compressed, or has a checksum. It must be decoded before it can be read.
        let mut read = Vec::new();
        window.reader.read_at(window.offset, window.length, &mut read)?;
        let mut shard = Vec::new();
        if let Err(fault) = level.chain.decode_to(codec_index + 1, &read, &mut shard, &mut self.buffers.workspace) {
            return self.chain_fault(fault, &[], &level.label);
        }
        // The encoded shard is not needed any more. Its inner chunks need the memory.
        drop(read);
        let shard = MemoryReader { bytes: Arc::new(shard), name: self.key.clone() };
        self.shard(level, Window { reader: &shard, offset: 0, length: shard.length() })
    }

    fn shard(&mut self, level: &Level, window: Window) -> Result<(), Fault> {
        let Some(entries) = read_index(self, level, window)? else { return Ok(()) };
        let (check, inner) = (self.check, &level.sharding.inner);
        let nested = inner.codecs().iter().any(|codec| matches!(codec.codec, Codec::Sharding(_)));
        if !nested && !check.decodes {
            return Ok(());
        }
        if level.label.is_empty() && check.decodes {
            // All of these are read next.
            window.reader.prefetch(&|| entries.iter().map(|entry| (entry.offset, entry.length)).collect());
        }
        for Entry { number, offset, length } in entries {
            let (position, start) = level.position_of(number);
            let label = format!("{}inner chunk {position:?}: ", level.label);
            let part = Window { offset: window.offset.saturating_add(offset), length, ..window };
            if !nested && let Some(subchunk) = check.subchunk {
                part.reader.read_at(part.offset, length, &mut self.buffers.read)?;
                self.chunk(subchunk, &start, &label)?;
            } else if let Some(level) = Level::new(inner, level.order.clone(), start, label) {
                self.encoded(&level, part)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, code: Code, message: String, help: &str) {
        let found = Diagnostic::new(code, message).with_help(help).at_key(self.key.as_str());
        self.findings.push(self.check.node_path.holds(found).at_chunk(self.chunk.clone()));
    }
}

/// Returns the rule that a codec's fault breaks.
fn code_of(fault: &ChainFault) -> Code {
    match &fault.kind {
        ChainFaultKind::Codec(CodecError::Element { .. }) => code::CHUNK_VALUE,
        ChainFaultKind::Size { .. }
        | ChainFaultKind::Codec(CodecError::Length { .. })
        | ChainFaultKind::Limit { .. } => code::CHUNK_LENGTH,
        ChainFaultKind::Shard(_) => code::SHARD_INDEX,
        ChainFaultKind::Codec(_) | ChainFaultKind::StandIn(_) | ChainFaultKind::Store(_) => code::CHUNK_CORRUPT,
    }
}

/// True if the codecs before the bytes->bytes codecs accept every value. These are `bytes`, of a type whose bits are
/// all values, after transposes alone. The check of a chunk then needs no elements, only bytes.
fn skips_values(chain: &BoundChain) -> bool {
    let (front, rest) = chain.codecs().split_at(chain.num_array_to_array());
    let transposes = front.iter().all(|codec| matches!(codec.codec.effect(), Effect::Transpose(_)));
    let takes_all = matches!(rest.first().map(|codec| codec.codec.effect()), Some(Effect::Bytes { check: None, .. }));
    transposes && takes_all && !chain.checks_values()
}

/// Decodes a chunk as far as its check needs.
fn decode(chain: &BoundChain, buffers: &mut Buffers) -> Result<(), ChainFault> {
    let Buffers { read: encoded, decoded, workspace } = buffers;
    let codec_index = chain.num_array_to_array();
    if matches!(chain.codecs().get(codec_index).map(|codec| codec.codec.effect()), Some(Effect::Vlen(_))) {
        // Elements of variable length are checked in encoded form, in any order.
        return chain.decode_to(codec_index, encoded, decoded, workspace);
    }
    if !skips_values(chain) {
        return chain.decode(encoded, decoded, workspace);
    }
    let bytes = &chain.codecs()[codec_index];
    let found = if codec_index + 1 == chain.codecs().len() {
        encoded.len()
    } else {
        chain.decode_to(codec_index + 1, encoded, decoded, workspace)?;
        decoded.len()
    } as u64;
    match bytes.encoded {
        Representation::Bytes(BytesSize::Fixed(expected)) if expected != found => {
            let stand_in = FileFormat::of_stand_in(encoded);
            let kind = stand_in.map_or(ChainFaultKind::Size { expected, found }, ChainFaultKind::StandIn);
            Err(bytes.fault(codec_index, kind))
        }
        _ => Ok(()),
    }
}

/// The bytes of an index entry: decoded, as a range, and sorted.
const ENTRY_BYTES: u64 = 96;

/// Returns the bytes of the encoded chunk, of the decoded one, and of the data between two codecs.
fn chain_bytes(chain: &BoundChain) -> u64 {
    let buffers = if skips_values(chain) { 2 } else { 4 };
    chain.max_representation_bytes().saturating_mul(buffers).saturating_add(chain.context_bytes())
}

/// Returns the bytes of the indexes that are in memory at a time. This includes shards inside shards, and shards that
/// are compressed as a whole.
fn index_bytes(chain: &BoundChain) -> u64 {
    let codec_index = chain.num_array_to_array();
    let Some(Codec::Sharding(sharding)) = chain.codecs().get(codec_index).map(|codec| &codec.codec) else {
        return 0;
    };
    let whole =
        if codec_index + 1 < chain.codecs().len() { chain.max_representation_bytes().saturating_mul(2) } else { 0 };
    let entries = sharding.num_inner_chunks().saturating_mul(ENTRY_BYTES);
    whole.saturating_add(entries).saturating_add(sharding.index_bytes).saturating_add(index_bytes(&sharding.inner))
}

/// A shard, or a shard inside another one.
struct Level<'a> {
    /// The chain that ends in the shard, and the shard's codec.
    chain: &'a BoundChain,
    sharding: &'a BoundSharding,
    /// The dimension of the array for each dimension of the shard.
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

impl<'a> Level<'a> {
    /// `None` of a chain without a shard. `order` has the dimension of the array for each dimension of the chain's input.
    fn new(chain: &'a BoundChain, order: Vec<usize>, start: Vec<u64>, label: String) -> Option<Self> {
        let Codec::Sharding(sharding) = &chain.codecs().get(chain.num_array_to_array())?.codec else { return None };
        let order = chain.codecs().iter().fold(order, |order, codec| codec.codec.effect().order_after(order));
        Some(Level { chain, sharding, order, start, label })
    }

    /// Returns the position of an inner chunk in the shard, and the index of its first element in the array.
    fn position_of(&self, number: u64) -> (Vec<u64>, Vec<u64>) {
        let position = unravel(number, &self.sharding.grid_shape);
        let mut start = self.start.clone();
        let lengths = &self.sharding.inner.decoded().shape;
        for ((index, length), dimension) in position.iter().zip(lengths).zip(&self.order) {
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
    window.reader.read_at(window.offset.saturating_add(index_offset), index_bytes, read)?;
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
    let (inner, end) = (&level.sharding.inner, offset.checked_add(length).filter(|end| *end <= shard_bytes));
    let words = || format!("the index places it at offset {offset} with {length} bytes");
    let (code, message) = match end {
        None => (code::SHARD_INDEX, format!("{}, outside of the shard of {shard_bytes} bytes", words())),
        // An entry without bytes cannot overlap the index, wherever it is.
        Some(end) if length > 0 && offset < index.1 && end > index.0 => {
            (code::SHARD_ENTRY_IN_INDEX, format!("{}, which are its own", words()))
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
    let position = unravel(number, &level.sharding.grid_shape);
    object.push(code, format!("{}inner chunk {position:?}: {message}", level.label), WRITE_AGAIN);
    false
}

/// Adds findings about inner chunks that share bytes, and about bytes that belong to none.
fn check_layout(object: &mut Object, level: &Level, entries: &[Entry], available: u64) {
    let mut sorted: Vec<&Entry> = entries.iter().filter(|entry| entry.length > 0).collect();
    sorted.sort_by_key(|entry| (entry.offset, entry.length, entry.number));
    let name = |entry: &Entry| format!("{:?}", unravel(entry.number, &level.sharding.grid_shape));
    let (mut used, mut end) = (0_u64, 0_u64);
    let mut last: Option<&Entry> = None;
    for entry in sorted {
        // `fits` has checked that the sum does not overflow.
        let entry_end = entry.offset + entry.length;
        if let Some(last) = last.filter(|_| entry.offset < end) {
            let same = (last.offset, last.length) == (entry.offset, entry.length);
            let (code, verb) =
                if same { (code::SHARD_CHUNKS_SHARED, "are the same bytes") } else { (code::SHARD_OVERLAP, "overlap") };
            let message = format!("{}inner chunks {} and {} {verb}", level.label, name(last), name(entry));
            object.push(code, message, WRITE_AGAIN);
        }
        used += entry_end.saturating_sub(end.max(entry.offset));
        // The entry that reaches furthest is kept: a long one may overlap several after it.
        if entry_end >= end {
            end = entry_end;
            last = Some(entry);
        }
    }
    if used < available {
        let message = format!("{}{} bytes of the shard belong to no inner chunk", level.label, available - used);
        object.push(code::SHARD_GAPS, message, "writing the shard again saves the space");
    }
}

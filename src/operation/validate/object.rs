//! Levels `index` and `data`: checks one stored object, its shard index and its chunks.

use super::gathered::Findings;
use crate::array::{Fault, position};
use crate::codec::{BoundChain, ChainFault, ChainFaultKind, Codec, CodecError, Effect, OfShape, Workspace};
use crate::diagnostic::{Code, Diagnostic, code};
use crate::engine::PrefetchPlan;
use crate::engine::ahead::{MOST_WHOLE_SHARD, index_part};
use crate::grid::zip_with;
use crate::metadata::ArrayMetadata;
use crate::operation::{Budget, NodePath, Result};
use crate::pipeline::{BytesSize, Representation};
use crate::store::{FileFormat, Node, ObjectReader, Part};

/// The check of each object of an array.
pub(super) struct ObjectCheck<'a> {
    pub(super) place: &'a NodePath,
    pub(super) node: &'a Node,
    pub(super) metadata: &'a ArrayMetadata,
    pub(super) chain: &'a BoundChain,
    /// The chain of an innermost chunk from the array itself, if the array is sharded.
    pub(super) subchunk: Option<BoundChain>,
    /// True if chunks are decoded, not only shard indexes.
    pub(super) decodes: bool,
}

/// Buffers that a thread reuses for all objects.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) read: Vec<u8>,
    pub(super) decoded: Vec<u8>,
    pub(super) workspace: Workspace,
}

/// An object and its check.
pub(super) struct Object<'a, 'p> {
    pub(super) check: &'a ObjectCheck<'a>,
    pub(super) chunk: Vec<u64>,
    pub(super) key: String,
    pub(super) findings: &'a mut Findings<'p>,
    pub(super) buffers: &'a mut Buffers,
}

impl ObjectCheck<'_> {
    pub(super) fn chain_of(&self, chunk: &[u64]) -> Result<OfShape<'_, BoundChain>, Fault> {
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
                _ if self.decodes || self.subchunk.is_some() => Part::Whole,
                _ => return,
            };
            each(&self.metadata.chunk_key_encoding.key(&chunk), part);
        })
    }

    /// Checks an object and returns its size in bytes.
    pub(super) fn run(&self, buffers: &mut Buffers, chunk: Vec<u64>, findings: &mut Findings) -> Result<u64, Fault> {
        let key = self.metadata.chunk_key_encoding.key(&chunk);
        let Some(reader) = self.node.open_listed(&key, u64::MAX)? else { return Ok(0) };
        let mut object = Object { check: self, key: self.place.key(&key), chunk, findings, buffers };
        match &self.subchunk {
            Some(_) => object.sharded(&reader)?,
            None if self.decodes => object.whole(&reader)?,
            None => {}
        }
        Ok(reader.length())
    }

    /// Returns the number of threads that may check objects at a time. An error if there is no memory for one.
    pub(super) fn threads(&self, budget: Budget, store: &str) -> Result<usize> {
        let what = if self.subchunk.is_some() { "the shards" } else { "the chunks" };
        let purpose = || format!("to check {what} of `{store}`");
        budget.threads_of(self.unit_bytes(), purpose).map_err(|error| error.or_help("check less: `--level keys`"))
    }

    /// Returns the bytes that a thread needs for one object.
    fn unit_bytes(&self) -> u64 {
        match &self.subchunk {
            None => chain_bytes(self.chain),
            Some(subchunk) => {
                let subchunk = if self.decodes { chain_bytes(subchunk) } else { 0 };
                subchunk.saturating_add(index_bytes(self.chain))
            }
        }
    }
}

impl Object<'_, '_> {
    /// Decodes a chunk that is not a shard.
    pub(super) fn whole(&mut self, reader: &ObjectReader) -> Result<(), Fault> {
        let check = self.check;
        let start = check.metadata.grid.start_of(&self.chunk);
        let chain = check.chain_of(&self.chunk)?;
        reader.read_at(0, reader.length(), &mut self.buffers.read)?;
        self.chunk(&chain, &start, "")
    }

    /// Decodes the chunk that was read, and checks its elements against their type. `inner` names an inner chunk.
    pub(super) fn chunk(&mut self, chain: &BoundChain, start: &[u64], inner: &str) -> Result<(), Fault> {
        let mut checked = decode(chain, self.buffers);
        if checked.is_ok() && !skips_values(chain) {
            let shape = &chain.decoded().shape;
            let valid = zip_with(shape, &zip_with(&self.check.metadata.shape, start, u64::saturating_sub), u64::min);
            checked = chain.check_values(&self.buffers.decoded, shape, &valid);
        }
        checked.or_else(|fault| self.chain_fault(fault, start, inner))
    }

    /// Adds a finding about a codec that failed on the chunk. `inner` names an inner chunk. A fault of the machine,
    /// which proves nothing about the chunk, is returned.
    pub(super) fn chain_fault(&mut self, fault: ChainFault, start: &[u64], inner: &str) -> Result<(), Fault> {
        if fault.missing_memory().is_some() {
            return Err(Fault::Chain(fault));
        }
        let code = code_of(&fault);
        let help = fault.chunk_help().unwrap_or("restore the chunk from its source, or write it again");
        self.push(code, format!("{inner}{}", fault.sentence_at(start)), help);
        Ok(())
    }

    pub(super) fn push(&mut self, code: Code, message: String, help: &str) {
        let found = Diagnostic::new(code, message).with_help(help).at_key(self.key.as_str());
        self.findings.push(self.check.place.holds(found).at_chunk(self.chunk.clone()));
    }
}

/// Returns the rule that a codec's fault breaks.
fn code_of(fault: &ChainFault) -> Code {
    match &fault.kind {
        ChainFaultKind::Codec(CodecError::Element { .. }) => code::CHUNK_VALUE,
        ChainFaultKind::Size { .. }
        | ChainFaultKind::Codec(CodecError::Length { .. })
        | ChainFaultKind::Room { .. } => code::CHUNK_LENGTH,
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
    let place = chain.num_array_to_array();
    if matches!(chain.codecs().get(place).map(|codec| codec.codec.effect()), Some(Effect::Vlen(_))) {
        // Elements of variable length are checked in encoded form, in any order.
        return chain.decode_to(place, encoded, decoded, workspace);
    }
    if !skips_values(chain) {
        return chain.decode(encoded, decoded, workspace);
    }
    let bytes = &chain.codecs()[place];
    let found = if place + 1 == chain.codecs().len() {
        encoded.len()
    } else {
        chain.decode_to(place + 1, encoded, decoded, workspace)?;
        decoded.len()
    } as u64;
    match bytes.encoded {
        Representation::Bytes(BytesSize::Fixed(expected)) if expected != found => {
            let stand_in = FileFormat::of_stand_in(encoded);
            let kind = stand_in.map_or(ChainFaultKind::Size { expected, found }, ChainFaultKind::StandIn);
            Err(bytes.fault(place, kind))
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
    let place = chain.num_array_to_array();
    let Some(Codec::Sharding(sharding)) = chain.codecs().get(place).map(|codec| &codec.codec) else {
        return 0;
    };
    let whole = if place + 1 < chain.codecs().len() { chain.max_representation_bytes().saturating_mul(2) } else { 0 };
    let entries = sharding.num_inner_chunks().saturating_mul(ENTRY_BYTES);
    whole.saturating_add(entries).saturating_add(sharding.index_bytes()).saturating_add(index_bytes(sharding.inner()))
}

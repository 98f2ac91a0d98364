//! Levels `index` and `data`: the stored objects of an array, as shards where they are, and the memory that each takes.

use super::findings::Findings;
use super::object::{Buffers, Object, ObjectCheck, skips_values};
use crate::array::chunk_set::position;
use crate::array::fault::Fault;
use crate::codec::{BoundChain, Codec};
use crate::engine::ahead::{MOST_WHOLE_SHARD, Reads, index_part};
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;
use crate::store::{Node, Part};

/// Bytes of an index entry, decoded, as a range, and sorted.
const ENTRY_BYTES: u64 = 96;

impl Reads for ObjectCheck<'_> {
    fn source(&self) -> (&Node, u64) {
        (self.node, self.chain.decoded().num_bytes().unwrap_or(0))
    }

    /// The index of a shard that is looked into as it is; else all of an object.
    fn reads(&self, object: u64, each: &mut dyn FnMut(&str, Part)) {
        let chunk = position(object, self.metadata);
        let Ok(chain) = self.chain_of(&chunk) else { return };
        let is_small = self.source().1 <= MOST_WHOLE_SHARD;
        let part = match chain.codecs().last().map(|codec| &codec.codec) {
            Some(Codec::Sharding(sharding)) if !(self.decodes && is_small) => index_part(sharding),
            _ if self.decodes || self.subchunk.is_some() => Part::Whole,
            _ => return,
        };
        each(&self.metadata.chunk_key_encoding.key(&chunk), part);
    }
}

impl ObjectCheck<'_> {
    /// Checks an object and returns its size in bytes.
    pub(super) fn run(
        &self,
        buffers: &mut Buffers,
        chunk: Vec<u64>,
        findings: &mut Findings,
    ) -> Result<u64, Fault> {
        let key = self.metadata.chunk_key_encoding.key(&chunk);
        let Some(reader) = self.node.open_listed(&key, u64::MAX)? else { return Ok(0) };
        let mut object = Object { check: self, key: self.place.key(&key), chunk, findings, buffers };
        match &self.subchunk {
            Some(subchunk) => object.sharded(subchunk, &reader)?,
            None if self.decodes => object.whole(&reader)?,
            None => {}
        }
        Ok(reader.length())
    }

    /// The number of threads that may check objects at a time; an error where there is no room for one.
    pub(super) fn threads(&self, budget: Budget, store: &str) -> Result<usize, OperationError> {
        let what = if self.subchunk.is_some() { "the shards" } else { "the chunks" };
        let purpose = || format!("to check {what} of `{store}`");
        budget
            .threads_of(self.unit_bytes(), purpose)
            .map_err(|error| error.or_help("check less: `--level keys`"))
    }

    /// Bytes that a thread holds for one object.
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

/// The encoded chunk, the decoded one, and what lies between two codecs.
fn chain_bytes(chain: &BoundChain) -> u64 {
    let buffers = if skips_values(chain) { 2 } else { 4 };
    chain.max_representation_bytes().saturating_mul(buffers).saturating_add(chain.context_bytes())
}

/// The indexes that are in memory at a time, those of shards inside of shards too, and shards that are compressed as a
/// whole.
fn index_bytes(chain: &BoundChain) -> u64 {
    let place = chain.num_array_to_array();
    let Some(Codec::Sharding(sharding)) = chain.codecs().get(place).map(|codec| &codec.codec) else {
        return 0;
    };
    let whole =
        if place + 1 < chain.codecs().len() { chain.max_representation_bytes().saturating_mul(2) } else { 0 };
    let entries = sharding.num_inner_chunks().saturating_mul(ENTRY_BYTES);
    whole
        .saturating_add(entries)
        .saturating_add(sharding.index_bytes())
        .saturating_add(index_bytes(sharding.inner()))
}

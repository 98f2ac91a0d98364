//! Levels `index` and `data`: the stored objects of an array, as shards where they are.

use super::findings::Findings;
use super::object::{Buffers, Object, ObjectCheck};
use super::shard::ShardCheck;
use crate::array::chunk_set::position;
use crate::array::fault::Fault;
use crate::codec::Codec;
use crate::engine::ahead::{MOST_WHOLE_SHARD, Reads, index_part};
use crate::store::{Node, Part};

/// What is checked of the objects of an array.
pub(super) struct ObjectsCheck<'a> {
    /// Of each.
    pub(super) object: ObjectCheck<'a>,
    /// Of a sharded array.
    pub(super) shards: Option<ShardCheck>,
}

impl Reads for ObjectsCheck<'_> {
    fn source(&self) -> (&Node, u64) {
        (self.object.node, self.object.chain.decoded().num_bytes().unwrap_or(0))
    }

    /// The index of a shard that is looked into as it is; else all of an object.
    fn reads(&self, object: u64, each: &mut dyn FnMut(&str, Part)) {
        let chunk = position(object, self.object.metadata);
        let Ok(chain) = self.object.chain_of(&chunk) else { return };
        let is_small = self.source().1 <= MOST_WHOLE_SHARD;
        let part = match chain.codecs().last().map(|codec| &codec.codec) {
            Some(Codec::Sharding(sharding)) if !(self.object.decodes && is_small) => index_part(sharding),
            _ if self.object.decodes || self.shards.is_some() => Part::Whole,
            _ => return,
        };
        each(&self.object.metadata.chunk_key_encoding.key(&chunk), part);
    }
}

impl ObjectsCheck<'_> {
    /// Checks an object; its size in bytes.
    pub(super) fn run(
        &self,
        buffers: &mut Buffers,
        chunk: Vec<u64>,
        findings: &mut Findings,
    ) -> Result<u64, Fault> {
        let key = self.object.metadata.chunk_key_encoding.key(&chunk);
        let Some(reader) = self.object.node.open_listed(&key, u64::MAX)? else { return Ok(0) };
        let bytes = reader.length();
        let key = self.object.place.key(&key);
        let mut object = Object { check: &self.object, key, chunk, findings, buffers };
        match &self.shards {
            Some(shards) => shards.run(&mut object, &reader)?,
            None if self.object.decodes => object.whole(&reader)?,
            None => {}
        }
        Ok(bytes)
    }
}

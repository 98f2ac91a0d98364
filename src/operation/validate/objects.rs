//! Levels `index` and `data`: the stored objects of an array, as shards where they are.

use super::findings::Findings;
use super::object::{Buffers, Object, ObjectCheck};
use super::shard::ShardCheck;
use crate::array::fault::Fault;

/// What is checked of the objects of an array.
pub(super) struct ObjectsCheck<'a> {
    /// Of each.
    pub(super) object: ObjectCheck<'a>,
    /// Of a sharded array.
    pub(super) shards: Option<ShardCheck>,
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
        let Some(reader) = self.object.node.open(&key)? else { return Ok(0) };
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

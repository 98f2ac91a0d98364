//! The subchunks of an object of the destination, written as they come.

use super::subchunk_encoder::Encoded;
use crate::array::fault::Fault;
use crate::array::shard::ShardWriter;
use crate::array::stored::StoredArray;
use crate::codec::chain::Workspace;
use crate::engine::report::ObjectReport;

/// An object being written: a chunk at once, a shard subchunk by subchunk. Nothing is made before the first subchunk.
#[derive(Debug)]
pub(super) struct SubchunkWriter<'a> {
    side: &'a StoredArray,
    object: u64,
    shard: Option<ShardWriter>,
}

impl<'a> SubchunkWriter<'a> {
    /// A writer of an object that is not there yet.
    pub(super) fn new(side: &'a StoredArray, object: u64) -> Self {
        SubchunkWriter { side, object, shard: None }
    }

    /// The object.
    pub(super) fn object(&self) -> u64 {
        self.object
    }

    /// Writes the subchunk at a position in the object; those of a shard come in its own order.
    pub(super) fn write(
        &mut self,
        inside: &[u64],
        encoded: Encoded<'_>,
        report: &mut ObjectReport,
    ) -> Result<(), Fault> {
        self.put(inside, encoded, report).map_err(|fault| fault.of_destination(self.object))
    }

    fn put(&mut self, inside: &[u64], encoded: Encoded<'_>, report: &mut ObjectReport) -> Result<(), Fault> {
        let key = || self.side.key(self.object);
        let Some(layout) = self.side.layout_of(self.object)? else {
            if let Some(bytes) = encoded.as_slice() {
                self.side.node.write(&key(), bytes)?;
            } else {
                let mut object = self.side.node.create(&key())?;
                encoded.pieces().try_for_each(|piece| object.append(piece))?;
                object.finish()?;
            }
            report.wrote(self.object, encoded.length());
            return Ok(());
        };
        let shard = match &mut self.shard {
            Some(shard) => shard,
            none => none.insert(ShardWriter::new(self.side.node.create(&key())?, &layout.sharding)?),
        };
        let entry = layout.entry_of(inside);
        match encoded.as_slice() {
            Some(bytes) => shard.append(entry, bytes)?,
            None => shard.append(entry, &encoded.to_vec())?,
        }
        Ok(())
    }

    /// Writes the index of a shard that has subchunks.
    pub(super) fn finish(self, workspace: &mut Workspace, report: &mut ObjectReport) -> Result<(), Fault> {
        if let (Some(shard), Some(layout)) = (self.shard, self.side.layout_of(self.object)?) {
            let bytes = shard
                .finish(&layout.sharding, workspace)
                .map_err(|fault| fault.of_destination(self.object))?;
            report.wrote(self.object, bytes);
        }
        Ok(())
    }
}

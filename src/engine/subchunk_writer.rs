//! The subchunks of an object of the destination, written as they come.

use super::subchunk_encoder::Encoded;
use super::workers::{Buffers, Workers};
use crate::array::chunk_set::position;
use crate::array::fault::Result;
use crate::array::shard::ShardWriter;
use crate::array::stored::StoredArray;
use crate::codec::region::as_index;
use crate::engine::report::ObjectReport;
use crate::grid::Region;

/// The positions in the array of subchunks of one object, a box of them, in the order in which they lie in the object.
pub(super) fn in_order(side: &StoredArray, subchunks: Region) -> impl Iterator<Item = Vec<u64>> {
    let order = side.subchunk_order();
    let lengths: Vec<u64> = order.iter().map(|dimension| subchunks.shape[*dimension]).collect();
    Region::whole(&lengths).cells().map(move |place| {
        let mut subchunk = subchunks.start.clone();
        place.iter().zip(&order).for_each(|(index, dimension)| subchunk[*dimension] += index);
        subchunk
    })
}

/// The same of all subchunks of an object.
pub(super) fn all_in_order(side: &StoredArray, object: u64) -> impl Iterator<Item = Vec<u64>> {
    let inner = side.layout.as_ref().map(|_| in_order(side, side.subchunks_of(object)));
    let whole = side.layout.is_none().then(|| position(object, &side.metadata));
    whole.into_iter().chain(inner.into_iter().flatten())
}

/// Takes an encoded subchunk, to write it or to keep it until its turn.
pub(super) type Put<'p> = dyn FnMut(Encoded<'_>) -> Result<()> + 'p;

/// An object being written: a chunk at once, a shard subchunk by subchunk. Nothing is made before the first subchunk.
#[derive(Debug)]
pub(super) struct SubchunkWriter<'a> {
    side: &'a StoredArray,
    object: u64,
    shard: Option<ShardWriter<'a>>,
    /// The counts of what was written.
    report: ObjectReport,
}

impl<'a> SubchunkWriter<'a> {
    /// A writer of an object that is not there yet.
    pub(super) fn new(side: &'a StoredArray, object: u64) -> Self {
        SubchunkWriter { side, object, shard: None, report: ObjectReport::default() }
    }

    /// The object.
    pub(super) fn object(&self) -> u64 {
        self.object
    }

    /// Writes subchunks in their order. Each is encoded by `make`, which gives it on unless it is left out; workers encode
    /// several at a time.
    pub(super) fn write_each(
        &mut self,
        mut subchunks: impl Iterator<Item = Vec<u64>>,
        workers: &Workers<'_>,
        report: &mut ObjectReport,
        make: &(impl Fn(&[u64], &mut Buffers, &mut ObjectReport, &mut Put<'_>) -> Result<()> + Sync),
    ) -> Result<()> {
        if let Some(mut own) = workers.alone() {
            return subchunks.try_for_each(|subchunk| {
                workers.driver.interrupt().check()?;
                make(&subchunk, &mut own, report, &mut |encoded| self.write(&subchunk, encoded))
            });
        }
        loop {
            let batch: Vec<Vec<u64>> = subchunks.by_ref().take(2 * workers.buffers.len()).collect();
            if batch.is_empty() {
                return Ok(());
            }
            let mut made = Vec::with_capacity(batch.len());
            let make_one = |buffers: &mut Buffers, item| {
                let (mut bytes, mut report) = (None, ObjectReport::default());
                make(&batch[as_index(item)], buffers, &mut report, &mut |encoded| {
                    bytes = Some(encoded.to_vec());
                    Ok(())
                })?;
                Ok((bytes, report))
            };
            workers.each(batch.len() as u64, make_one, |_, one| made.push(one))?;
            for (subchunk, (bytes, of_subchunk)) in batch.iter().zip(made) {
                report.add(&of_subchunk);
                if let Some(bytes) = bytes {
                    self.write(subchunk, Encoded::whole(&bytes))?;
                }
            }
        }
    }

    /// Writes a subchunk, by its position in the array; those of a shard come in its own order.
    pub(super) fn write(&mut self, subchunk: &[u64], encoded: Encoded<'_>) -> Result<()> {
        self.put(subchunk, encoded).map_err(|fault| fault.of_destination(self.object))
    }

    fn put(&mut self, subchunk: &[u64], encoded: Encoded<'_>) -> Result<()> {
        let key = || self.side.key(self.object);
        let Some(layout) = self.side.layout_of(self.object)? else {
            if let Some(bytes) = encoded.as_slice() {
                self.side.node.write(&key(), bytes)?;
            } else {
                let mut object = self.side.node.create(&key())?;
                encoded.pieces().try_for_each(|piece| object.append(piece))?;
                object.finish()?;
            }
            self.report.wrote(self.object, encoded.length());
            return Ok(());
        };
        let shard = match &mut self.shard {
            Some(shard) => shard,
            none => {
                let first = self.side.subchunks_of(self.object).start;
                none.insert(ShardWriter::new(layout, first, self.side.node.create(&key())?)?)
            }
        };
        match encoded.as_slice() {
            Some(bytes) => shard.append(subchunk, bytes)?,
            None => shard.append(subchunk, &encoded.to_vec())?,
        }
        Ok(())
    }

    /// Writes the index of a shard that has subchunks; what was written of the object.
    pub(super) fn finish(mut self) -> Result<ObjectReport> {
        if let Some(shard) = self.shard {
            let bytes = shard.finish().map_err(|fault| fault.of_destination(self.object))?;
            self.report.wrote(self.object, bytes);
        }
        Ok(self.report)
    }
}

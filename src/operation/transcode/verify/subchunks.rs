//! `--verify` where chunks of the same shape lie in other shards: those that either side stores are compared, of however
//! many there may be.

use super::{Buffers, Compared, Comparison};
use crate::array::ChunkSet;
use crate::array::chunk_set::ChunkSetBuilder;
use crate::array::fault::{ChunkFault, Fault, ObjectOf};
use crate::array::subchunks::SubchunkSource;
use crate::codec::region::as_index;
use crate::engine::ahead::reads_all;
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::engine::transfer::Transfer;
use crate::grid::Region;

/// A comparison of the subchunks of both sides.
struct SubchunkComparison<'a> {
    comparison: &'a Comparison<'a>,
    transfer: &'a Transfer,
    source: SubchunkSource<'a>,
    /// Whether absent subchunks of SOURCE are written out.
    fills: bool,
    progress: &'a dyn Progress,
}

/// An object of DEST: its index, and its subchunks, as a box of their grid.
struct Object<'a> {
    index: u64,
    subchunks: Region,
    written: SubchunkSource<'a>,
}

impl Comparison<'_> {
    /// Compares subchunk by subchunk, object by object of DEST.
    pub(super) fn run_over_shared_subchunks(
        &self,
        transfer: &Transfer,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<Compared, ChunkFault> {
        let source = SubchunkSource::new(self.source).reading_all(reads_all(self.source, self.destination));
        let subchunks = SubchunkComparison {
            comparison: self,
            transfer,
            source,
            fills: transfer.absent_element.is_some(),
            progress,
        };
        let objects = self.scope.of(transfer.overlapped_by(&self.destination.metadata.grid));
        let mut all = Compared::default();
        if objects.len() >= 2 * driver.num_threads() as u64 {
            let work = |buffers: &mut Buffers, index| {
                let object = subchunks.object(index);
                let (stored, mut compared) = (subchunks.stored(&object, buffers)?, Compared::default());
                for number in stored.iter() {
                    driver.interrupt().check()?;
                    compared += subchunks.compare(&object, number, buffers)?;
                }
                Ok(compared)
            };
            driver.run::<Buffers, Compared>(&objects, work, |_, compared| all += compared)?;
            return Ok(all);
        }
        // Too few objects to go round: the threads share the subchunks of each.
        for index in objects.iter() {
            let object = subchunks.object(index);
            let located = |fault: Fault| ChunkFault { index, fault: fault.in_object(false, index) };
            let stored = subchunks.stored(&object, &mut Buffers::default()).map_err(located)?;
            let work = |buffers: &mut Buffers, number| subchunks.compare(&object, number, buffers);
            driver
                .run::<Buffers, Compared>(&stored, work, |_, compared| all += compared)
                .map_err(|fault| located(fault.fault))?;
        }
        Ok(all)
    }
}

impl<'a> SubchunkComparison<'a> {
    fn object(&self, index: u64) -> Object<'a> {
        let side = self.comparison.destination;
        // Of its own, so that no more than the index of one shard is kept.
        Object {
            index,
            subchunks: side.subchunks_of(index),
            written: SubchunkSource::new(side).reading_all(true),
        }
    }

    /// The subchunks of an object that either side stores, by their numbers in it.
    fn stored(&self, object: &Object<'_>, buffers: &mut Buffers) -> Result<ChunkSet, Fault> {
        let mut stored = ChunkSetBuilder::default();
        let Buffers { source, destination, .. } = buffers;
        for (number, position) in (0..).zip(object.subchunks.cells()) {
            let is_inside = self.subchunk(&position).num_elements() > 0;
            if is_inside
                && (self.fills
                    || source.holds(&self.source, &self.transfer.source_subchunk(&position))?
                    || destination.holds(&object.written, &position).map_err(of_destination)?)
            {
                stored.insert(number);
            }
        }
        Ok(stored.finish())
    }

    fn compare(&self, object: &Object<'_>, number: u64, buffers: &mut Buffers) -> Result<Compared, Fault> {
        let position = object.subchunks.position(number);
        let subchunk = self.subchunk(&position);
        let Buffers { source, destination, scratch } = buffers;
        let of_source = &*self.transfer.source_subchunk(&position);
        let side = self.source.side();
        let in_source = Region { start: side.start_of_subchunk(of_source), shape: subchunk.shape.clone() };
        let from = source
            .read_subchunk(&self.source, of_source, &in_source)
            .map_err(|fault| fault.in_object(true, side.object_of(of_source).0))?;
        let to = destination
            .read_subchunk(&object.written, &position, &subchunk)
            .map_err(|fault| of_destination(fault).in_object(false, object.index))?;
        let mut compared = Compared { elements: subchunk.num_elements(), ..Compared::default() };
        self.comparison.unit((from, to), as_index(subchunk.num_elements()), scratch, &mut compared)?;
        self.progress.advance(self.comparison.destination.subchunk_chain().decoded_bytes());
        Ok(compared)
    }

    fn subchunk(&self, position: &[u64]) -> Region {
        let side = self.comparison.destination;
        side.inside(&Region {
            start: side.start_of_subchunk(position),
            shape: side.subchunk_shape().to_vec(),
        })
    }
}

/// A fault of subchunks that were read as those of a source are: they are DEST's.
fn of_destination(fault: Fault) -> Fault {
    match fault {
        Fault::At { index, fault, .. } => Fault::At { of: ObjectOf::Destination, index, fault },
        other => other,
    }
}

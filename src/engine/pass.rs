//! The one loop by which objects are written: unit by unit, each by one thread, or all threads at one after the other.

use super::ahead::{Reads, reads_all};
use super::driver::Driver;
use super::journal::PassProgress;
use super::progress::Progress;
use super::report::ObjectReport;
use super::transfer::Transfer;
use super::workers::Workers;
use crate::array::chunk_set::ChunkSet;
use crate::array::fault::{ChunkFault, Result};
use crate::array::subchunks::SubchunkSource;

/// The common part of passes from one array to another.
pub(super) struct Work<'a> {
    /// The subchunks that are there.
    pub(super) source: SubchunkSource<'a>,
    /// The objects of the destination that are done.
    pub(super) progress: &'a PassProgress<'a>,
    /// Who is told of what is read and written.
    pub(super) listener: &'a dyn Progress,
}

impl<'a> Work<'a> {
    /// Work of which subchunks are not read in blocks.
    pub(super) fn new(
        transfer: &'a Transfer,
        (progress, listener): (&'a PassProgress<'a>, &'a dyn Progress),
    ) -> Self {
        let source = SubchunkSource::new(&transfer.source);
        let source = source.reading_all(reads_all(&transfer.source, &transfer.destination));
        Work { source, progress, listener }
    }

    /// The result of a pass; the indexes of shards that were read are counted, too.
    pub(super) fn ended(
        &self,
        run: Result<(), ChunkFault>,
        fold: &mut dyn FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let indexes = ObjectReport { bytes_read: self.source.index_bytes(), ..ObjectReport::default() };
        let noted = self.progress.finished(0..0, &indexes);
        fold(indexes);
        run.and(noted.map_err(|fault| ChunkFault { index: 0, fault }))
    }
}

/// A pass over an array: its units are objects of the destination, or batches of them.
pub(super) trait Pass: Reads {
    /// The units that have anything to do.
    fn units(&self) -> ChunkSet;

    /// True if all threads share each of some units, one after the other.
    fn shares_units(&self, _units: &ChunkSet, _driver: &Driver) -> bool {
        false
    }

    /// Does a unit, as far as it is not done, and notes it.
    fn unit(&self, unit: u64, workers: &Workers<'_>) -> Result<ObjectReport>;

    /// The object that a fault of a unit is of which tells of no object.
    fn object_of(&self, unit: u64) -> u64 {
        unit
    }
}

/// Does all units of a pass; reports are given to `fold` in their order.
pub(super) fn run(
    pass: &impl Pass,
    driver: &Driver,
    fold: &mut dyn FnMut(ObjectReport),
) -> Result<(), ChunkFault> {
    let located = |ChunkFault { index, fault }| {
        let index = pass.object_of(index);
        ChunkFault { index, fault: fault.of_destination(index) }
    };
    let units = pass.units();
    let shares_units = pass.shares_units(&units, driver);
    let run = driver.run_units(
        &units,
        &[pass],
        shares_units,
        |workers, unit| pass.unit(unit, workers),
        |_, report| fold(report),
    );
    run.map_err(located)
}

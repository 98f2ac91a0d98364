//! The one loop by which objects are written: unit by unit, each by one thread, or all threads at one after the other.

use super::ahead::{Reads, reads_all};
use super::block_reader::sources;
use super::driver::Driver;
use super::journal::PassProgress;
use super::progress::Progress;
use super::report::ObjectReport;
use super::transfer::Transfer;
use super::workers::Workers;
use crate::array::chunk_set::ChunkSet;
use crate::array::fault::{ChunkFault, Result};
use crate::array::subchunks::SubchunkSource;

/// A pass from one array to another.
pub(super) struct Pass<'a, R> {
    pub(super) transfer: &'a Transfer,
    /// From elements, or subchunks, of the source to those of the destination.
    pub(super) route: &'a R,
    /// The subchunks of the source that are there.
    pub(super) source: SubchunkSource<'a>,
    /// Those of the array that the source is intermediate data of.
    pub(super) origin: Option<SubchunkSource<'a>>,
    /// The objects of the destination that are done.
    pub(super) progress: &'a PassProgress<'a>,
    /// Who is told of what is read and written.
    pub(super) listener: &'a dyn Progress,
}

impl<'a, R> Pass<'a, R> {
    /// A pass of which nothing is done yet in this run.
    pub(super) fn new(
        transfer: &'a Transfer,
        route: &'a R,
        (progress, listener): (&'a PassProgress<'a>, &'a dyn Progress),
    ) -> Self {
        let (source, origin) = sources(transfer);
        Pass { transfer, route, source, origin, progress, listener }
    }

    /// The same where subchunks are not read in blocks, which tell the store themselves what they read.
    pub(super) fn by_subchunks(self) -> Self {
        let reads_all = reads_all(&self.transfer.source, &self.transfer.destination);
        Pass { source: self.source.reading_all(reads_all), ..self }
    }

    /// Does all of it; reports are given to `fold` in their order.
    pub(super) fn run(&self, driver: &Driver, fold: &mut dyn FnMut(ObjectReport)) -> Result<(), ChunkFault>
    where
        Self: Units,
    {
        self.ended(run(self, driver, fold), fold)
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

/// The units of a pass: objects of the destination, or batches of them.
pub(super) trait Units: Reads {
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
pub(super) fn run(pass: &impl Units, driver: &Driver, fold: &mut dyn FnMut(ObjectReport)) -> Result<(), ChunkFault> {
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

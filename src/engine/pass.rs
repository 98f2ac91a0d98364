//! The one loop by which objects are written: unit by unit, each by one thread, or all threads at one after the other.

use std::sync::{Mutex, MutexGuard};

use super::{
    BATCH_OF_A_THREAD, DecodedBlock, Driver, ObjectReport, PassProgress, Progress, Reads, Transfer, reads_all,
};
use crate::array::{ChunkFault, ChunkSet, ReadBuffers, Result, SubchunkSource};
use crate::codec::ConversionBuffers;
use crate::store::held;

/// The units that are done and those that are to be done, and who is told how far the work is.
pub type Told<'t> = (&'t PassProgress<'t>, &'t dyn Progress);

/// Takes the reports of a pass.
pub(super) type Reports<'r> = dyn FnMut(ObjectReport) + 'r;

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
    pub(super) fn new(transfer: &'a Transfer, route: &'a R, (progress, listener): Told<'a>) -> Self {
        let (source, origin) = sources(transfer);
        Pass { transfer, route, source, origin, progress, listener }
    }

    /// The same where subchunks are not read in blocks, which tell the store themselves what they read.
    pub(super) fn by_subchunks(mut self) -> Self {
        self.source.reads_all = reads_all(&self.transfer.source, &self.transfer.destination);
        self
    }

    /// Does all of it; reports are given to `fold` in their order.
    pub(super) fn run(&self, driver: &Driver, fold: &mut Reports<'_>) -> Result<(), ChunkFault>
    where
        Self: Units,
    {
        self.ended(run(self, driver, fold), fold)
    }

    /// The result of a pass; the indexes of shards that were read are counted, too.
    pub(super) fn ended(&self, run: Result<(), ChunkFault>, fold: &mut Reports<'_>) -> Result<(), ChunkFault> {
        let indexes = ObjectReport { bytes_read: self.source.index_bytes(), ..ObjectReport::default() };
        let noted = self.progress.finished(0..0, &indexes);
        fold(indexes);
        run.and(noted.map_err(|fault| ChunkFault { index: 0, fault }))
    }
}

/// The subchunks of a job's source that are there, and those of the array that this is intermediate data of. Blocks tell the
/// store themselves what they read.
pub(super) fn sources(transfer: &Transfer) -> (SubchunkSource<'_>, Option<SubchunkSource<'_>>) {
    let origin = transfer.origin.as_ref().map(SubchunkSource::new);
    let mut source = SubchunkSource::new(&transfer.source);
    source.reads_entries = origin.is_some();
    (source, origin)
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
    let work = |workers: &Workers<'_>, unit| pass.unit(unit, workers);
    driver.run_units(&units, &[pass], shares_units, work, |_, report| fold(report)).map_err(located)
}

/// Buffers that a thread keeps from object to object, so that nothing is allocated for each.
#[derive(Debug, Default)]
pub(super) struct Buffers<V = ()> {
    /// For a subchunk of the source.
    pub(super) source: ReadBuffers,
    /// An encoded object or subchunk of the destination.
    pub(super) written: Vec<u8>,
    pub(super) conversion: ConversionBuffers,
    /// The blocks of both sides; of threads that share each unit, those of the first.
    pub(super) blocks: [DecodedBlock; 2],
    /// For whoever is given elements.
    pub(super) visitor: V,
}

/// One thread, or all of them, which share each piece of work.
#[derive(Debug)]
pub(super) struct Workers<'a, V = ()> {
    /// Their threads, and what stops them.
    pub(super) driver: &'a Driver,
    /// Their buffers; of one thread where others have work of their own.
    pub(super) buffers: &'a [Mutex<Buffers<V>>],
}

impl<'a, V: Default + Send> Workers<'a, V> {
    /// Buffers of the first thread.
    pub(super) fn first(&self) -> MutexGuard<'a, Buffers<V>> {
        held(&self.buffers[0])
    }

    /// Buffers of a thread that works alone.
    pub(super) fn alone(&self) -> Option<MutexGuard<'a, Buffers<V>>> {
        (self.buffers.len() == 1).then(|| self.first())
    }

    /// Does `work` for each of `0..count`, and gives the results to `fold` in order, up to the first fault.
    pub(super) fn each<R: Send>(
        &self,
        count: u64,
        work: impl Fn(&mut Buffers<V>, u64) -> Result<R> + Sync,
        mut fold: impl FnMut(u64, R),
    ) -> Result<()> {
        let work = |buffers: &mut Buffers<V>, item| self.driver.checked(|| work(buffers, item));
        if let Some(mut own) = self.alone() {
            return (0..count).try_for_each(|item| {
                fold(item, work(&mut own, item)?);
                Ok(())
            });
        }
        let by = ((BATCH_OF_A_THREAD * self.buffers.len()) as u64, self.buffers);
        self.driver.run_batches(&ChunkSet::full(count), &[], by, work, fold).map_err(|ChunkFault { fault, .. }| fault)
    }

    /// Does something with the blocks that are kept from unit to unit.
    pub(super) fn with_blocks<R>(&self, work: impl FnOnce(&mut [DecodedBlock; 2]) -> Result<R>) -> Result<R> {
        let mut blocks = std::mem::take(&mut self.first().blocks);
        let done = work(&mut blocks);
        self.first().blocks = blocks;
        done
    }
}

impl Driver {
    /// True if units are too few to go round.
    pub(super) fn outnumbers(&self, units: &ChunkSet) -> bool {
        units.len() < 2 * self.num_threads() as u64
    }

    /// [`Driver::run_ahead`], where all threads share each unit, one after the other, or each has units of its own.
    pub(super) fn run_units<V: Default + Send, R: Send>(
        &self,
        units: &ChunkSet,
        reads: &[&dyn Reads],
        shares_units: bool,
        work: impl Fn(&Workers<'_, V>, u64) -> Result<R> + Sync,
        fold: impl FnMut(u64, R),
    ) -> Result<(), ChunkFault> {
        let alone = self.alone();
        if shares_units {
            let workers = Workers { driver: self, buffers: &self.workspaces() };
            return alone.run_ahead(units, reads, |(): &mut (), unit| work(&workers, unit), fold);
        }
        let by_one = |buffers: &mut [Mutex<Buffers<V>>; 1], unit| work(&Workers { driver: &alone, buffers }, unit);
        self.run_ahead(units, reads, by_one, fold)
    }
}

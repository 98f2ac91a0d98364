//! Loop that writes objects by units. Each thread does its own units, or all threads share one unit at a time.

use std::sync::{Mutex, MutexGuard};

use super::{
    BATCH_OF_A_THREAD, ChunkResult, DecodedBlock, Driver, ObjectReport, PassProgress, PrefetchPlan, Progress, Transfer,
    reads_all,
};
use crate::array::{ChunkFault, ChunkSet, ReadBuffers, Result, SubchunkSource};
use crate::codec::ConversionBuffers;
use crate::store::held;

/// The threads of a pass, its units, finished and unfinished, and the receiver of its progress.
pub type PassContext<'t> = (&'t Driver, &'t PassProgress<'t>, &'t dyn Progress);

/// Takes the reports of a pass.
pub type Reports<'r> = dyn FnMut(ObjectReport) + 'r;

pub(super) struct Pass<'a, R> {
    pub(super) transfer: &'a Transfer,
    /// Conversion of elements or subchunks of the source to those of the destination.
    pub(super) route: &'a R,
    pub(super) source: SubchunkSource<'a>,
    /// Subchunks of the original array, if the source is intermediate data.
    pub(super) origin: Option<SubchunkSource<'a>>,
    pub(super) driver: &'a Driver,
    /// Finished objects of the destination.
    pub(super) progress: &'a PassProgress<'a>,
    /// Observer of reads and writes.
    pub(super) listener: &'a dyn Progress,
}

impl<'a, R> Pass<'a, R> {
    pub(super) fn new(transfer: &'a Transfer, route: &'a R, (driver, progress, listener): PassContext<'a>) -> Self {
        let origin = transfer.origin.as_ref().map(SubchunkSource::new);
        Pass { transfer, route, source: source_of(transfer), origin, driver, progress, listener }
    }

    /// Returns the pass for reads by subchunks. Reads in blocks announce their parts themselves.
    pub(super) fn by_subchunks(mut self) -> Self {
        self.source.reads_all = reads_all(&self.transfer.source, &self.transfer.destination);
        self
    }

    /// Returns the result of a pass. Adds the size of the shard indexes that were read. A fault without an object
    /// belongs to the object that was being written.
    pub(super) fn ended(&self, run: ChunkResult, fold: &mut Reports<'_>) -> ChunkResult {
        let indexes = ObjectReport { bytes_read: self.source.index_bytes(), ..ObjectReport::default() };
        // An empty range of units, as several units may share an index.
        let noted = self.progress.finished(0..0, &indexes);
        fold(indexes);
        run.map_err(ChunkFault::of_destination).and(noted.map_err(|fault| ChunkFault { index: 0, fault }))
    }
}

/// Returns the subchunks of a transfer's source. Only few entries of the indexes of intermediate data are needed.
pub(super) fn source_of(transfer: &Transfer) -> SubchunkSource<'_> {
    let mut source = SubchunkSource::new(&transfer.source);
    source.reads_entries = transfer.origin.is_some();
    source
}

/// Buffers of a thread, reused for all objects, so that no object needs an allocation.
#[derive(Debug, Default)]
pub(super) struct Buffers<V = ()> {
    /// Buffers for a subchunk of the source.
    pub(super) source: ReadBuffers,
    /// Encoded object or subchunk of the destination.
    pub(super) written: Vec<u8>,
    pub(super) conversion: ConversionBuffers,
    /// Blocks of both sides. If threads share a unit, those of the first thread.
    pub(super) blocks: [DecodedBlock; 2],
    /// Counts of the thread's work that are not yet in the report of an object.
    pub(super) report: ObjectReport,
    /// Buffers of the user of the elements.
    pub(super) visitor: V,
}

/// One thread, or all threads that share each unit.
#[derive(Debug)]
pub(super) struct Workers<'a, V = ()> {
    pub(super) driver: &'a Driver,
    /// Buffers of each thread. There is only one if the other threads have their own units.
    pub(super) buffers: &'a [Mutex<Buffers<V>>],
}

impl<'a, V: Default + Send> Workers<'a, V> {
    pub(super) fn first(&self) -> MutexGuard<'a, Buffers<V>> {
        held(&self.buffers[0])
    }

    /// Returns the buffers if there is only one thread.
    pub(super) fn alone(&self) -> Option<MutexGuard<'a, Buffers<V>>> {
        (self.buffers.len() == 1).then(|| self.first())
    }

    /// Runs `work` for each of `0..count`, and calls `fold` with the results in order, up to the first fault.
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

    /// Calls `work` with the blocks that are kept between units.
    pub(super) fn with_blocks<R>(&self, work: impl FnOnce(&mut [DecodedBlock; 2]) -> Result<R>) -> Result<R> {
        // Taken out, as the workers lock the buffers that contain them.
        let mut blocks = std::mem::take(&mut self.first().blocks);
        let done = work(&mut blocks);
        self.first().blocks = blocks;
        done
    }
}

impl Driver {
    /// Returns true if there are too few units for all threads.
    pub(super) fn outnumbers(&self, units: &ChunkSet) -> bool {
        units.len() < 2 * self.num_threads() as u64
    }

    /// Like [`Driver::run_ahead`]. With `shares_units`, all threads share one unit at a time, else each has its own
    /// units.
    pub(super) fn run_units<V: Default + Send, R: Send>(
        &self,
        units: &ChunkSet,
        reads: &[PrefetchPlan<'_>],
        shares_units: bool,
        work: impl Fn(&Workers<'_, V>, u64) -> Result<R> + Sync,
        fold: impl FnMut(u64, R),
    ) -> ChunkResult {
        let alone = self.alone();
        if shares_units {
            let workers = Workers { driver: self, buffers: &self.workspaces() };
            // Units run one after the other on this thread, and only the work inside one uses the pool.
            return alone.run_ahead(units, reads, |(): &mut (), unit| work(&workers, unit), fold);
        }
        let by_one = |buffers: &mut [Mutex<Buffers<V>>; 1], unit| work(&Workers { driver: &alone, buffers }, unit);
        self.run_ahead(units, reads, by_one, fold)
    }
}

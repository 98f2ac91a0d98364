//! The objects (chunks or shards) of an array from SOURCE to DEST, by whichever route.

use super::block_reader::JobSubchunks;
use super::driver::Driver;
use super::journal::PassProgress;
use super::progress::Progress;
use super::report::ObjectReport;
use super::route::copy::CopyJob;
use super::route::measured::SubchunkWay;
use super::route::rechunk::Rechunk;
use super::route::staged::{Intermediate, Staged};
use super::route::{ConvertRun, MeasuredRun, RechunkRun, Route, StagedRun, SubchunkMove};
use super::transfer::Transfer;
use crate::array::chunk_set::ChunkSet;
use crate::array::fault::ChunkFault;
use crate::metadata::array::num_elements;

/// The work on the objects of an array.
#[derive(Debug)]
pub enum Job {
    /// They stay what they are, whatever encoded them.
    Copy(Box<CopyJob>),
    /// They are read and made anew, as far as their route takes them apart.
    Objects(Box<ObjectJob>),
}

impl Job {
    /// The work on objects that are made anew.
    pub fn objects(&self) -> Option<&ObjectJob> {
        match self {
            Job::Copy(_) => None,
            Job::Objects(job) => Some(job),
        }
    }

    /// Writes every object of the destination; reports are given to `fold` in their order. Objects of the destination are
    /// the units of `part`: those that are done are left out.
    pub fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        part: &PassProgress<'_>,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        match self {
            Job::Copy(job) => job.run(driver, progress, part, &mut fold),
            Job::Objects(job) => {
                let run = job.run(driver, progress, part, fold);
                // Of objects that an earlier run had written.
                job.transfer.source.kept.clear();
                run
            }
        }
    }

    /// The first of two passes, by itself: what is assigned of it are units of the pass of `part` that
    /// [`FIRST_PASS`](super::route::staged::FIRST_PASS) names. What it and the runs that it goes on after have written;
    /// nothing of a job that has one pass.
    pub fn run_first(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        part: &PassProgress<'_>,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<Intermediate, ChunkFault> {
        match self.objects().map(|job| (&job.transfer, &job.route)) {
            Some((transfer, Route::Staged(staged))) => {
                StagedRun { transfer, staged, part }.run_first(driver, progress, &mut fold)
            }
            _ => Ok(Intermediate::default()),
        }
    }

    /// What comes after [`Job::run_first`], by itself. All that the first pass wrote must be there.
    pub fn run_second(
        &self,
        between: Intermediate,
        driver: &Driver,
        progress: &dyn Progress,
        part: &PassProgress<'_>,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        match self.objects().map(|job| (&job.transfer, &job.route)) {
            Some((transfer, Route::Staged(staged))) => {
                StagedRun { transfer, staged, part }.run_second(between, driver, progress, &mut fold)
            }
            _ => self.run(driver, progress, part, fold),
        }
    }

    /// The two passes of a job that has them.
    pub fn staged(&self) -> Option<&Staged> {
        self.objects().and_then(ObjectJob::staged)
    }

    /// How often all elements are written.
    pub fn num_passes(&self) -> u64 {
        if self.staged().is_some() { 2 } else { 1 }
    }

    /// Objects of the destination that are written at most: some may turn out to hold nothing but the fill value.
    pub fn num_written(&self) -> u64 {
        match self {
            Job::Copy(job) => job.objects().len(),
            Job::Objects(job) => job.transfer.overlapped_by(&job.transfer.destination.metadata.grid).len(),
        }
    }

    /// Objects that were found absent while they were read, where it was not known which are there.
    pub fn num_missing(&self) -> u64 {
        match self {
            Job::Copy(job) => job.missing.count(),
            Job::Objects(job) => job.transfer.source.missing.count(),
        }
    }

    /// Objects that are written although the source does not have them, at least.
    pub fn num_filled(&self) -> u64 {
        self.objects().map_or(0, |job| job.transfer.num_filled())
    }

    /// Pieces of work of each pass: objects of the destination, or blocks.
    pub fn units(&self) -> Vec<u64> {
        let of_blocks = |job: &ObjectJob| job.rechunks().map(|rechunk| job.num_blocks(rechunk)).collect();
        let passes: Vec<u64> = self.objects().map(of_blocks).unwrap_or_default();
        if passes.is_empty() { vec![self.num_written()] } else { passes }
    }

    /// Pieces of work in all passes.
    pub fn num_units(&self) -> u64 {
        self.units().into_iter().fold(0, u64::saturating_add)
    }

    /// Bytes of elements that are decoded, moved or written before all is there, in all passes; `None` where they are only
    /// known afterwards, as of elements of any length. What is `done` by an earlier run is not among them.
    pub fn bytes_left(&self, done: &ChunkSet) -> Option<u64> {
        let all = match self {
            Job::Copy(job) => job.objects().len().checked_mul(job.decoded_bytes?)?,
            Job::Objects(job) => {
                let transfer = &job.transfer;
                match &job.route {
                    Route::Convert(_) => self.num_written().saturating_mul(transfer.source.chunk_bytes()),
                    Route::Subchunks(_) => {
                        self.num_written().saturating_mul(transfer.destination.chunk_bytes())
                    }
                    Route::Rechunk(_) | Route::Staged(_) => {
                        let whole = num_elements(&transfer.destination.metadata.shape)?;
                        let passes = job.rechunks().map(|rechunk| job.block_bytes(rechunk, whole));
                        passes.fold(0, u64::saturating_add)
                    }
                    Route::Measured(_) => return None,
                }
            }
        };
        let units = u128::from(self.num_units().max(1));
        let left = units.saturating_sub(done.len().into());
        u64::try_from(u128::from(all) * left / units).ok()
    }

    /// The passes over blocks, where objects are cut anew.
    pub fn rechunks(&self) -> impl Iterator<Item = &Rechunk> {
        self.objects().into_iter().flat_map(ObjectJob::rechunks)
    }

    /// How often chunks of the source are read, in the mean.
    pub fn read_amplification(&self) -> f64 {
        let Some(job) = self.objects() else { return 1.0 };
        match &job.route {
            Route::Rechunk(rechunk) => rechunk.plan.read_amplification(),
            Route::Staged(staged) => staged.read_amplification(),
            Route::Measured(measured) => {
                measured.read_amplification(&job.transfer.source, &job.transfer.destination)
            }
            Route::Convert(_) | Route::Subchunks(_) => 1.0,
        }
    }

    /// Bytes of intermediate data, at most.
    pub fn bytes_temporary(&self) -> u64 {
        match self.objects().map(|job| (job, &job.route)) {
            Some((job, Route::Staged(staged))) => staged.bytes(&job.transfer),
            _ => 0,
        }
    }
}

/// The work on objects that are made anew.
#[derive(Debug)]
pub struct ObjectJob {
    /// What is read, and what is written.
    pub transfer: Transfer,
    /// How.
    pub route: Route,
}

impl ObjectJob {
    /// Converts every object, those that are absent too where they may not stay so.
    fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        part: &PassProgress<'_>,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let ObjectJob { transfer, route } = self;
        let subchunks = JobSubchunks::new(transfer, matches!(route, Route::Rechunk(_)));
        let run = match route {
            Route::Subchunks(conversion) => {
                SubchunkMove { transfer, conversion, source: &subchunks.source, part, progress }
                    .run(driver, &mut fold)
            }
            Route::Rechunk(rechunk) => {
                RechunkRun { transfer, rechunk, subchunks: &subchunks, part }.run(driver, progress, &mut fold)
            }
            Route::Staged(staged) => StagedRun { transfer, staged, part }.run(driver, progress, &mut fold),
            Route::Measured(measured) => {
                MeasuredRun { transfer, measured, source: &subchunks.source, part, progress }
                    .run(driver, &mut fold)
            }
            Route::Convert(conversion) => {
                ConvertRun { transfer, conversion, part, progress }.run(driver, &mut fold)
            }
        };
        let indexes = ObjectReport { bytes_read: subchunks.index_bytes(), ..ObjectReport::default() };
        let noted = part.finished(0..0, &indexes);
        fold(indexes);
        run.and(noted.map_err(|fault| ChunkFault { index: 0, fault }))
    }

    /// Whether each subchunk of the source is read by itself, and once: then those that an earlier pass kept are used.
    pub fn reads_subchunks_once(&self) -> bool {
        matches!(self.route, Route::Convert(_) | Route::Subchunks(_))
    }

    /// Whether elements of any length are put together anew.
    pub fn makes_elements(&self) -> bool {
        matches!(&self.route, Route::Measured(measured) if matches!(measured.way, SubchunkWay::Elements))
    }

    fn rechunks(&self) -> impl Iterator<Item = &Rechunk> {
        let passes: [Option<&Rechunk>; 2] = match &self.route {
            Route::Rechunk(rechunk) => [Some(rechunk), None],
            Route::Staged(staged) => [Some(&staged.first), Some(&staged.second)],
            Route::Convert(_) | Route::Subchunks(_) | Route::Measured(_) => [None, None],
        };
        passes.into_iter().flatten()
    }

    /// Blocks of a pass that hold anything.
    fn num_blocks(&self, rechunk: &Rechunk) -> u64 {
        self.transfer.overlapped(&rechunk.plan.group_shape()).len()
    }

    /// Bytes of the elements of these blocks, of so many that the array has.
    fn block_bytes(&self, rechunk: &Rechunk, whole: u64) -> u64 {
        bytes_of_blocks(rechunk, self.num_blocks(rechunk), whole)
    }

    /// The two passes of a job that has them.
    pub fn staged(&self) -> Option<&Staged> {
        match &self.route {
            Route::Staged(staged) => Some(staged),
            _ => None,
        }
    }
}

/// Bytes of the elements of so many blocks of an array of so many elements.
pub(super) fn bytes_of_blocks(rechunk: &Rechunk, blocks: u64, whole: u64) -> u64 {
    let of_block = num_elements(&rechunk.plan.group_shape()).unwrap_or(u64::MAX);
    let elements = blocks.saturating_mul(of_block).min(whole);
    elements.saturating_mul(rechunk.encoder.element_size() as u64)
}

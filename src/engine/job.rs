//! The objects (chunks or shards) of an array from SOURCE to DEST, by whichever route.

use std::ops::Range;

use super::block_reader::JobSubchunks;
use super::driver::Driver;
use super::journal::PassProgress;
use super::pass;
use super::progress::Progress;
use super::report::ObjectReport;
use super::route::copy::{CopyJob, CopyPass};
use super::route::rechunk::Rechunk;
use super::route::staged::{Intermediate, Staged};
use super::route::variable_size::{Groups, SubchunkChange};
use super::route::{MovePass, RechunkPass, Route, StagedRun, VariableSizeRun};
use super::transfer::Transfer;
use crate::array::chunk_set::ChunkSet;
use crate::array::fault::ChunkFault;
use crate::metadata::array::{ArrayMetadata, num_elements};

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
            Job::Copy(job) => {
                pass::run(&CopyPass { job, progress: part, listener: progress }, driver, &mut fold)
            }
            Job::Objects(job) => {
                let run = job.run(driver, progress, part, fold);
                // Of objects that an earlier run had written.
                job.transfer.source.cache.clear();
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

    /// The units of a pass (0: the first) that have anything to do: stored objects of what it writes, by their linear indices;
    /// where the grid changes, groups of such objects that are written together. Units of one number write the same objects
    /// whichever process does them.
    pub fn units_of(&self, pass: usize) -> ChunkSet {
        match (self, self.blocks_of(pass)) {
            (Job::Copy(job), _) => job.objects(),
            (Job::Objects(job), Some((rechunk, _))) => job.transfer.overlapped(&rechunk.plan.group_shape()),
            (Job::Objects(job), None) => job.transfer.overlapped_by(&job.transfer.destination.metadata.grid),
        }
    }

    /// How many there are of each pass.
    pub fn units(&self) -> Vec<u64> {
        let passes = if self.staged().is_some() { 2 } else { 1 };
        (0..passes).map(|pass| self.units_of(pass).len()).collect()
    }

    /// Units of all passes.
    pub fn num_units(&self) -> u64 {
        self.units().into_iter().fold(0, u64::saturating_add)
    }

    /// The objects that units of a pass write: of DEST, or of the intermediate data.
    pub fn objects_of(&self, pass: usize, units: &Range<u64>) -> ChunkSet {
        let Some((rechunk, metadata)) = self.blocks_of(pass) else {
            let end = units.end.min(self.num_objects());
            return ChunkSet::of_range(units.start.min(end)..end);
        };
        let grid = metadata.chunk_grid_shape();
        let all = self.units_of(pass);
        let groups =
            all.iter().skip_while(|group| *group < units.start).take_while(|group| *group < units.end);
        let objects = groups.flat_map(|group| rechunk.plan.objects(group, &grid));
        ChunkSet::from_ranges(objects.collect())
    }

    /// Objects of DEST's grid.
    fn num_objects(&self) -> u64 {
        match self {
            Job::Copy(job) => job.metadata[1].num_chunks(),
            Job::Objects(job) => job.transfer.destination.metadata.num_chunks(),
        }
    }

    /// Bytes of a unit's elements, about: by them work is divided.
    pub fn unit_bytes(&self, pass: usize) -> u64 {
        const UNKNOWN: u64 = 1 << 20;
        let bytes = match (self, self.blocks_of(pass)) {
            (Job::Copy(job), _) => job.decoded_bytes.unwrap_or(UNKNOWN),
            (_, Some((rechunk, _))) => bytes_of_blocks(rechunk, 1, u64::MAX),
            (Job::Objects(job), _) if matches!(job.route, Route::VariableSize(_)) => UNKNOWN,
            (Job::Objects(job), _) => job.transfer.destination.chunk_bytes(),
        };
        bytes.max(1)
    }

    /// Bytes of elements that are told as progress while a pass writes all objects, or these; `None` where they are only known
    /// afterwards, as of elements of any length.
    pub fn bytes_of(&self, pass: usize, objects: Option<&ChunkSet>) -> Option<u64> {
        let job = match (self, objects) {
            (Job::Copy(job), None) => return job.objects().len().checked_mul(job.decoded_bytes?),
            (Job::Copy(job), Some(objects)) => {
                return job.objects().common(objects).len().checked_mul(job.decoded_bytes?);
            }
            (Job::Objects(job), _) => job,
        };
        let transfer = &job.transfer;
        if let Some((rechunk, metadata)) = self.blocks_of(pass) {
            let whole = num_elements(&transfer.destination.metadata.shape)?;
            let groups = objects.map(|objects| rechunk.plan.groups_of(objects, &metadata.chunk_grid_shape()));
            let grid = transfer.grid_of(&rechunk.plan.group_shape());
            let groups = transfer.overlapped_among(&grid, groups.as_ref()).len();
            return Some(bytes_of_blocks(rechunk, groups, whole));
        }
        if matches!(job.route, Route::VariableSize(_)) {
            return None;
        }
        let written = transfer.overlapped_among(&transfer.destination.metadata.grid, objects).len();
        Some(written.saturating_mul(transfer.object_bytes()))
    }

    /// The same of all passes, without the units that an earlier run has done.
    pub fn bytes_left(&self, done: &ChunkSet) -> Option<u64> {
        let units = self.units();
        let add = |all: u64, pass| Some(all.saturating_add(self.bytes_of(pass, None)?));
        let all = (0..units.len()).try_fold(0, add)?;
        let units = units.into_iter().fold(0, u64::saturating_add).max(1);
        let left = u128::from(units.saturating_sub(done.len()));
        u64::try_from(u128::from(all) * left / u128::from(units)).ok()
    }

    /// What a pass over blocks does, and the array that it writes.
    fn blocks_of(&self, pass: usize) -> Option<(&Rechunk, &ArrayMetadata)> {
        let job = self.objects()?;
        let destination = &job.transfer.destination.metadata;
        match (&job.route, pass) {
            (Route::Rechunk(rechunk), _) => Some((rechunk, destination)),
            (Route::Staged(staged), 0) => Some((&staged.first, &staged.staging.metadata)),
            (Route::Staged(staged), _) => Some((&staged.second, destination)),
            (Route::Move(_) | Route::VariableSize(_), _) => None,
        }
    }

    /// The passes over blocks, where objects are cut anew.
    pub fn rechunks(&self) -> impl Iterator<Item = &Rechunk> {
        let passes: [Option<&Rechunk>; 2] = match self.objects().map(|job| &job.route) {
            Some(Route::Rechunk(rechunk)) => [Some(rechunk), None],
            Some(Route::Staged(staged)) => [Some(&staged.first), Some(&staged.second)],
            _ => [None, None],
        };
        passes.into_iter().flatten()
    }

    /// How often chunks of the source are read, in the mean.
    pub fn read_amplification(&self) -> f64 {
        let Some(job) = self.objects() else { return 1.0 };
        match &job.route {
            Route::Rechunk(rechunk) => rechunk.plan.read_amplification(),
            Route::Staged(staged) => staged.read_amplification(),
            Route::VariableSize(variable_size) => {
                variable_size.read_amplification(&job.transfer.source, &job.transfer.destination)
            }
            Route::Move(_) => 1.0,
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
            Route::Move(conversion) => {
                let (source, listener) = (&subchunks.source, progress);
                let moving = MovePass { transfer, conversion, source, progress: part, listener };
                pass::run(&moving, driver, &mut fold)
            }
            Route::Rechunk(rechunk) => {
                let (subchunks, listener) = (&subchunks, progress);
                let rechunking = RechunkPass { transfer, rechunk, subchunks, progress: part, listener };
                pass::run(&rechunking, driver, &mut fold)
            }
            Route::Staged(staged) => StagedRun { transfer, staged, part }.run(driver, progress, &mut fold),
            Route::VariableSize(variable_size) => {
                let groups = Groups::new(&transfer.destination, &transfer.source);
                VariableSizeRun { transfer, variable_size, source: &subchunks.source, groups, part, progress }
                    .run(driver, &mut fold)
            }
        };
        let indexes = ObjectReport { bytes_read: subchunks.index_bytes(), ..ObjectReport::default() };
        let noted = part.finished(0..0, &indexes);
        fold(indexes);
        run.and(noted.map_err(|fault| ChunkFault { index: 0, fault }))
    }

    /// Whether each subchunk of the source is read by itself, and once: then those that an earlier pass kept are used.
    pub fn reads_subchunks_once(&self) -> bool {
        matches!(self.route, Route::Move(_))
    }

    /// Whether subchunks are moved between objects, or in shards.
    pub fn moves_subchunks(&self) -> bool {
        matches!(self.route, Route::Move(_)) && !self.has_same_chunks()
    }

    /// Whether each object of the destination is made of that object of the source, which is one chunk.
    fn has_same_chunks(&self) -> bool {
        let Transfer { source, destination, .. } = &self.transfer;
        let has_shards = source.layout.is_some() || destination.layout.is_some();
        !has_shards
            && !source.metadata.skips()
            && source.metadata.grid.has_chunks_of(&destination.metadata.grid)
    }

    /// Whether elements of any length are put together anew.
    pub fn makes_elements(&self) -> bool {
        matches!(&self.route, Route::VariableSize(variable_size) if matches!(variable_size.way, SubchunkChange::Compose))
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
fn bytes_of_blocks(rechunk: &Rechunk, blocks: u64, whole: u64) -> u64 {
    let of_block = num_elements(&rechunk.plan.group_shape()).unwrap_or(u64::MAX);
    let elements = blocks.saturating_mul(of_block).min(whole);
    elements.saturating_mul(rechunk.encoder.element_size() as u64)
}

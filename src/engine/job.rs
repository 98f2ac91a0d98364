//! The objects (chunks or shards) of an array from SOURCE to DEST, by whichever route.

use std::ops::Range;

use super::{
    CopyJob, CopyPass, Driver, Intermediate, ObjectReport, Pass, Rechunk, Route, Staged, SubchunkChange, Told,
    Transfer, pass,
};
use crate::array::{ChunkFault, ChunkSet};
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
        if let Job::Objects(job) = self { Some(job) } else { None }
    }

    /// Writes every object of the destination; reports are given to `fold` in their order. Objects of the destination are
    /// the units of `part`: those that are done are left out. What is written between two passes is reported as temporary.
    pub fn run(&self, driver: &Driver, told: Told<'_>, mut fold: impl FnMut(ObjectReport)) -> Result<(), ChunkFault> {
        let between = self.run_first(driver, told, &mut fold)?;
        self.run_second(between, driver, told, fold)
    }

    /// The first of two passes, by itself: what is assigned of it are units of the pass of `part` that
    /// [`FIRST_PASS`](super::route::staged::FIRST_PASS) names. What it and the runs that it goes on after have written;
    /// nothing of a job that has one pass.
    pub fn run_first(
        &self,
        driver: &Driver,
        told: Told<'_>,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<Intermediate, ChunkFault> {
        match self {
            Job::Objects(job) if let Route::Staged(staged) = &job.route => {
                staged.run_first(&job.transfer, told, driver, &mut fold)
            }
            _ => Ok(Intermediate::default()),
        }
    }

    /// The second pass, after [`Job::run_first`], by itself. All that the first pass wrote must be there.
    pub fn run_second(
        &self,
        between: Intermediate,
        driver: &Driver,
        told: Told<'_>,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let (fold, (progress, listener)) = (&mut fold, told);
        let job = match self {
            Job::Copy(job) => return pass::run(&CopyPass { job, progress, listener }, driver, fold),
            Job::Objects(job) => job,
        };
        let ObjectJob { transfer, route } = &**job;
        let run = match route {
            Route::Move(conversion) => Pass::new(transfer, &**conversion, told).by_subchunks().run(driver, fold),
            Route::Rechunk(rechunk) => Pass::new(transfer, &**rechunk, told).run(driver, fold),
            Route::Staged(staged) => staged.run_second(transfer, between, told, driver, fold),
            Route::VariableSize(variable_size) => {
                Pass::new(transfer, &**variable_size, told).by_subchunks().run_objects(driver, fold)
            }
        };
        // Of objects that an earlier run had written.
        transfer.source.cache.clear();
        run
    }

    /// The two passes of a job that has them.
    pub fn staged(&self) -> Option<&Staged> {
        if let Some(Route::Staged(staged)) = self.objects().map(|job| &job.route) { Some(staged) } else { None }
    }

    /// The number of passes: of times that all elements are written.
    pub fn num_passes(&self) -> u64 {
        self.passes().len() as u64
    }

    fn passes(&self) -> Range<usize> {
        0..1 + usize::from(self.staged().is_some())
    }

    /// Objects of the destination that are written at most: some may turn out to hold nothing but the fill value.
    pub fn num_written(&self) -> u64 {
        match self {
            Job::Copy(job) => job.objects().len(),
            Job::Objects(job) => job.transfer.overlapped_among(&job.transfer.destination.metadata.grid, None).len(),
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
        self.units_among(pass, None)
    }

    /// The same of those units that write some of these objects.
    fn units_among(&self, pass: usize, objects: Option<&ChunkSet>) -> ChunkSet {
        let transfer = match self {
            Job::Copy(job) => {
                return objects.map_or_else(|| job.objects(), |some| job.objects().common(some));
            }
            Job::Objects(job) => &job.transfer,
        };
        match self.blocks_of(pass) {
            Some(rechunk) => rechunk.units(transfer, objects),
            None => transfer.overlapped_among(&transfer.destination.metadata.grid, objects),
        }
    }

    /// The number of units of each pass.
    pub fn units(&self) -> Vec<u64> {
        self.passes().map(|pass| self.units_of(pass).len()).collect()
    }

    /// Units of all passes.
    pub fn num_units(&self) -> u64 {
        self.units().into_iter().fold(0, u64::saturating_add)
    }

    /// The objects that units of a pass write: of DEST, or of the intermediate data.
    pub fn objects_of(&self, pass: usize, units: &Range<u64>) -> ChunkSet {
        let Some(rechunk) = self.blocks_of(pass) else {
            let end = match self {
                Job::Copy(job) => job.metadata[1].num_chunks(),
                Job::Objects(job) => job.transfer.destination.metadata.num_chunks(),
            };
            return ChunkSet::of_range(units.start.min(end)..units.end.min(end));
        };
        let (groups, units) = (rechunk.plan.groups(), self.units_of(pass).common(&ChunkSet::of_range(units.clone())));
        ChunkSet::from_ranges(units.iter().flat_map(|group| groups.objects(group)).collect())
    }

    /// Bytes of a unit's elements, about: by them work is divided.
    pub fn unit_bytes(&self, pass: usize) -> u64 {
        const UNKNOWN: u64 = 1 << 20;
        self.bytes_of_units(pass, 1).unwrap_or(UNKNOWN).max(1)
    }

    /// Bytes of elements that are told as progress while a pass writes all objects, or these; `None` where they are only known
    /// afterwards, as of elements of any length.
    pub fn bytes_of(&self, pass: usize, objects: Option<&ChunkSet>) -> Option<u64> {
        self.bytes_of_units(pass, self.units_among(pass, objects).len())
    }

    fn bytes_of_units(&self, pass: usize, units: u64) -> Option<u64> {
        let ObjectJob { transfer, route } = match self {
            Job::Copy(job) => return units.checked_mul(job.decoded_bytes?),
            Job::Objects(job) => &**job,
        };
        match (self.blocks_of(pass), route) {
            (Some(rechunk), _) => {
                let whole = num_elements(&transfer.destination.metadata.shape)?;
                let elements = num_elements(&rechunk.plan.group_shape()).unwrap_or(u64::MAX);
                Some(units.saturating_mul(elements).min(whole).saturating_mul(rechunk.encoder.element_size() as u64))
            }
            (None, Route::VariableSize(_)) => None,
            (None, _) => Some(units.saturating_mul(transfer.object_bytes())),
        }
    }

    /// The same of all passes, without the units that an earlier run has done.
    pub fn bytes_left(&self, done: &ChunkSet) -> Option<u64> {
        let add = |all: u64, pass| Some(all.saturating_add(self.bytes_of(pass, None)?));
        let (all, units) = (self.passes().try_fold(0, add)?, self.num_units().max(1));
        let left = u128::from(units.saturating_sub(done.len()));
        u64::try_from(u128::from(all) * left / u128::from(units)).ok()
    }

    /// The rechunking of a pass over blocks.
    fn blocks_of(&self, pass: usize) -> Option<&Rechunk> {
        match (&self.objects()?.route, pass) {
            (Route::Rechunk(rechunk), _) => Some(rechunk),
            (Route::Staged(staged), 0) => Some(&staged.first),
            (Route::Staged(staged), _) => Some(&staged.second),
            (Route::Move(_) | Route::VariableSize(_), _) => None,
        }
    }

    /// The passes over blocks, where objects are cut anew.
    pub fn rechunks(&self) -> impl Iterator<Item = &Rechunk> {
        self.passes().filter_map(|pass| self.blocks_of(pass))
    }

    /// The mean number of times that a chunk of the source is read, by whichever pass reads more than it needs.
    pub fn read_amplification(&self) -> f64 {
        if let Some(ObjectJob { transfer, route: Route::VariableSize(variable_size) }) = self.objects() {
            return variable_size.read_amplification(&transfer.source, &transfer.destination);
        }
        self.rechunks().map(|rechunk| rechunk.plan.read_amplification()).fold(1.0, f64::max)
    }

    /// Bytes of intermediate data, at most.
    pub fn bytes_temporary(&self) -> u64 {
        match self.objects() {
            Some(ObjectJob { transfer, route: Route::Staged(staged) }) => staged.bytes(transfer),
            _ => 0,
        }
    }
}

/// The work on objects that are made anew.
#[derive(Debug)]
pub struct ObjectJob {
    /// The array that is read, and the one that is written.
    pub transfer: Transfer,
    /// The route of every object.
    pub route: Route,
}

impl ObjectJob {
    /// True if subchunks are moved between objects, or in shards.
    pub fn moves_subchunks(&self) -> bool {
        let Transfer { source, destination, .. } = &self.transfer;
        let has_shards = source.layout.is_some() || destination.layout.is_some();
        // Else each object of the destination is made of that object of the source, which is one chunk.
        let moves =
            has_shards || source.metadata.skips() || !source.metadata.grid.has_chunks_of(&destination.metadata.grid);
        matches!(self.route, Route::Move(_)) && moves
    }

    /// True if elements of any length are put together anew.
    pub fn makes_elements(&self) -> bool {
        matches!(&self.route, Route::VariableSize(variable_size) if matches!(variable_size.way, SubchunkChange::Compose))
    }
}

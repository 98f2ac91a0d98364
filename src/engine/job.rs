//! Job that writes the objects (chunks or shards) of an array from SOURCE to DEST by any route.

use std::ops::Range;

use super::route::staged::FIRST_PASS;
use super::{
    ChunkResult, CopyJob, Intermediate, ObjectReport, Pass, PassContext, Rechunk, Reports, Route, Staged,
    SubchunkChange, Transfer,
};
use crate::array::{ChunkFault, ChunkSet};
use crate::metadata::array::num_elements;

/// Work on the objects of an array.
#[derive(Debug)]
pub enum Job {
    /// Objects are copied unchanged, whatever their codecs.
    Copy(Box<CopyJob>),
    /// Objects are read and written again. The route decides which codecs are decoded.
    Objects(Box<ObjectJob>),
}

impl Job {
    /// Returns the work on objects that are written again.
    pub fn objects(&self) -> Option<&ObjectJob> {
        if let Job::Objects(job) = self { Some(job) } else { None }
    }

    /// Writes every object of the destination. Calls `fold` with the reports in order. The units of the pass are objects
    /// of the destination, and finished ones are skipped. Intermediate data are reported as temporary. If the first of
    /// two passes was run before, `between` is what [`Job::run_first`] returned. All its data must exist.
    pub fn run(&self, between: Option<Intermediate>, context: PassContext<'_>, fold: &mut Reports<'_>) -> ChunkResult {
        let between = between.map_or_else(|| self.run_first(context, fold), Ok)?;
        let ObjectJob { transfer, route } = match self {
            Job::Copy(job) => return job.run(context, fold),
            Job::Objects(job) => &**job,
        };
        let run = match route {
            Route::Move(conversion) => Pass::new(transfer, &**conversion, context).by_subchunks().run(fold),
            Route::Rechunk(rechunk) => Pass::new(transfer, &**rechunk, context).run(fold),
            Route::Staged(staged) => {
                let second = staged.second_transfer(transfer, Some(between), context.0);
                let second = second.map_err(|fault| ChunkFault { index: 0, fault });
                second
                    .and_then(|second| Pass::new(&second, &staged.second, context).run(fold).map_err(Staged::of_second))
            }
            Route::VariableSize(variable_size) => {
                Pass::new(transfer, &**variable_size, context).by_subchunks().run(fold)
            }
        };
        // It may still contain chunks of objects that an earlier run had written.
        transfer.source.cache.clear();
        run
    }

    /// Runs only the first of two passes. Its units are those of the pass
    /// [`FIRST_PASS`] of `context`. Returns what it and the runs that it continues
    /// have written, which is reported as temporary. That is nothing for a job with one pass.
    pub fn run_first(&self, context: PassContext<'_>, fold: &mut Reports<'_>) -> ChunkResult<Intermediate> {
        let ((driver, part, progress), mut between) = (context, Intermediate::default());
        let Some(ObjectJob { transfer, route: Route::Staged(staged) }) = self.objects() else { return Ok(between) };
        let into = staged.begin(part.other(FIRST_PASS), driver).map_err(|fault| ChunkFault { index: 0, fault })?;
        let mut count = |report: &ObjectReport| {
            between.objects += report.written;
            between.bytes += report.bytes_written;
            let (bytes_read, bytes_temporary) = (report.bytes_read, report.bytes_written);
            fold(ObjectReport { bytes_read, bytes_temporary, ..ObjectReport::default() });
        };
        count(&into.before);
        let first = staged.first_transfer(transfer);
        let pass = Pass::new(&first, &staged.first, (driver, &into, progress));
        pass.run(&mut |report| count(&report)).map_err(Staged::of_first)?;
        Ok(between)
    }

    /// Returns the two passes, or `None` for a job with one pass.
    pub fn staged(&self) -> Option<&Staged> {
        if let Some(Route::Staged(staged)) = self.objects().map(|job| &job.route) { Some(staged) } else { None }
    }

    /// Returns the number of passes. Each pass writes all elements.
    pub fn num_passes(&self) -> u64 {
        self.passes().len() as u64
    }

    fn passes(&self) -> Range<usize> {
        0..1 + usize::from(self.staged().is_some())
    }

    /// Returns the largest number of objects to write. Some may turn out to contain only the fill value.
    pub fn num_written(&self) -> u64 {
        self.written_among(None).len()
    }

    fn written_among(&self, objects: Option<&ChunkSet>) -> ChunkSet {
        match self {
            Job::Copy(job) => objects.map_or_else(|| job.objects(), |some| job.objects().common(some)),
            Job::Objects(job) => job.transfer.overlapped_among(&job.transfer.destination.metadata.grid, objects),
        }
    }

    /// Returns the number of objects that reads found absent, if the existing ones were not known.
    pub fn num_missing(&self) -> u64 {
        match self {
            Job::Copy(job) => job.missing.count(),
            Job::Objects(job) => job.transfer.source.missing.count(),
        }
    }

    /// Returns the smallest number of objects that are written although the source does not have them.
    pub fn num_filled(&self) -> u64 {
        let Some(ObjectJob { transfer, .. }) = self.objects() else { return 0 };
        let total = if transfer.absent_element.is_some() { transfer.destination.metadata.num_chunks() } else { 0 };
        total.saturating_sub(transfer.source.objects().len())
    }

    /// Returns the units of a pass that need work, of all objects or only those that write some of `objects`. Pass 0 is
    /// the first. Units are the linear indices of written objects, or of groups of objects if the grid changes. A unit
    /// writes the same objects in every process.
    pub fn units_of(&self, pass: usize, objects: Option<&ChunkSet>) -> ChunkSet {
        match self.blocks_of(pass) {
            Some((transfer, rechunk)) => rechunk.plan.groups_among(transfer, objects),
            None => self.written_among(objects),
        }
    }

    /// Returns the number of units of each pass.
    pub fn units(&self) -> Vec<u64> {
        self.passes().map(|pass| self.units_of(pass, None).len()).collect()
    }

    /// Returns the number of units of all passes.
    pub fn num_units(&self) -> u64 {
        self.units().into_iter().fold(0, u64::saturating_add)
    }

    /// Returns the objects that units of a pass write, in DEST or in the intermediate data.
    pub fn objects_of(&self, pass: usize, units: &Range<u64>) -> ChunkSet {
        let Some((_, rechunk)) = self.blocks_of(pass) else {
            let end = match self {
                Job::Copy(job) => job.metadata[1].num_chunks(),
                Job::Objects(job) => job.transfer.destination.metadata.num_chunks(),
            };
            return ChunkSet::of_range(units.start.min(end)..units.end.min(end));
        };
        let units = self.units_of(pass, None).common(&ChunkSet::of_range(units.clone()));
        let groups = rechunk.plan.groups();
        ChunkSet::from_ranges(units.iter().flat_map(|group| groups.objects(group)).collect())
    }

    /// Returns the approximate size of a unit's elements in bytes, which is used to divide the work.
    pub fn unit_bytes(&self, pass: usize) -> u64 {
        const UNKNOWN: u64 = 1 << 20;
        self.bytes_of_units(pass, 1).unwrap_or(UNKNOWN).max(1)
    }

    /// Returns the total progress of a pass in bytes of elements, for all objects or for these. `None` means that it is
    /// not known in advance, as for elements of variable size.
    pub fn bytes_of(&self, pass: usize, objects: Option<&ChunkSet>) -> Option<u64> {
        self.bytes_of_units(pass, self.units_of(pass, objects).len())
    }

    fn bytes_of_units(&self, pass: usize, units: u64) -> Option<u64> {
        if let Some((transfer, rechunk)) = self.blocks_of(pass) {
            let whole = num_elements(&transfer.destination.metadata.shape)?;
            let elements = num_elements(&rechunk.plan.group_shape()).unwrap_or(u64::MAX);
            // Groups at the edges of the array are smaller.
            let elements = units.saturating_mul(elements).min(whole);
            return Some(elements.saturating_mul(rechunk.encoder.element_size() as u64));
        }
        match self {
            Job::Copy(job) => units.checked_mul(job.decoded_bytes?),
            Job::Objects(job) if matches!(job.route, Route::VariableSize(_)) => None,
            Job::Objects(job) => Some(units.saturating_mul(job.transfer.object_bytes())),
        }
    }

    /// Returns the total progress of all passes in bytes, without the units that an earlier run has finished.
    pub fn bytes_left(&self, done: &ChunkSet) -> Option<u64> {
        let add = |all: u64, pass| Some(all.saturating_add(self.bytes_of(pass, None)?));
        let (all, units) = (self.passes().try_fold(0, add)?, self.num_units().max(1));
        // The product may exceed 64 bits. All units count as equally long.
        let left = u128::from(units.saturating_sub(done.len()));
        u64::try_from(u128::from(all) * left / u128::from(units)).ok()
    }

    /// Returns the rechunking of a pass, or `None` if it does not use blocks. The transfer is that of the whole job.
    fn blocks_of(&self, pass: usize) -> Option<(&Transfer, &Rechunk)> {
        let ObjectJob { transfer, route } = self.objects()?;
        match (route, pass) {
            (Route::Rechunk(rechunk), _) => Some((transfer, rechunk)),
            (Route::Staged(staged), 0) => Some((transfer, &staged.first)),
            (Route::Staged(staged), _) => Some((transfer, &staged.second)),
            (Route::Move(_) | Route::VariableSize(_), _) => None,
        }
    }

    /// Returns the rechunking of each pass that uses blocks.
    pub fn rechunks(&self) -> impl Iterator<Item = &Rechunk> {
        self.passes().filter_map(|pass| Some(self.blocks_of(pass)?.1))
    }

    /// Returns the mean number of reads of a source chunk, for the pass with the larger number.
    pub fn read_amplification(&self) -> f64 {
        if let Some(ObjectJob { transfer, route: Route::VariableSize(variable_size) }) = self.objects() {
            return variable_size.read_amplification(&transfer.source, &transfer.destination);
        }
        self.rechunks().map(|rechunk| rechunk.plan.read_amplification()).fold(1.0, f64::max)
    }

    /// Returns the largest possible size of the intermediate data in bytes.
    pub fn bytes_temporary(&self) -> u64 {
        self.objects().zip(self.staged()).map_or(0, |(job, staged)| staged.bytes(&job.transfer))
    }
}

/// Work on objects that are written again.
#[derive(Debug)]
pub struct ObjectJob {
    /// Source and destination.
    pub transfer: Transfer,
    /// Route of all objects.
    pub route: Route,
}

impl ObjectJob {
    /// Returns true if subchunks move to other objects, or are in shards.
    pub fn moves_subchunks(&self) -> bool {
        let Transfer { source, destination, .. } = &self.transfer;
        let has_shards = source.layout.is_some() || destination.layout.is_some();
        // Else each object of the destination is made of that object of the source, which is one chunk.
        let moves =
            has_shards || source.metadata.skips() || !source.metadata.grid.has_chunks_of(&destination.metadata.grid);
        matches!(self.route, Route::Move(_)) && moves
    }

    /// Returns true if elements of variable size are encoded again.
    pub fn makes_elements(&self) -> bool {
        matches!(&self.route, Route::VariableSize(variable_size) if matches!(variable_size.change, SubchunkChange::Compose))
    }
}

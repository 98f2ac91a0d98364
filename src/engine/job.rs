//! Job that writes the objects (chunks or shards) of an array from SOURCE to DEST by any route. Also the transfer from one
//! stored array to another, and groups of objects of an array. Each is a box of objects that are done together.

use std::borrow::Cow;
use std::ops::Range;

use super::route::staged::FIRST_PASS;
use super::{
    ChunkResult, CopyJob, Intermediate, ObjectReport, Pass, PassContext, Rechunk, Reports, Route, Staged,
    SubchunkChange,
};
use crate::array::{ChunkFault, ChunkSet, ChunkSetBuilder, StoredArray};
use crate::codec::contiguous_runs;
use crate::grid::{Grid, Region, ravel, unravel, volume, zip_with};
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

/// Transfer from one stored array to another.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// The array that is read.
    pub source: StoredArray,
    /// The array that is written.
    pub destination: StoredArray,
    /// Element of the destination's type that replaces absent ones, if they must not stay absent.
    pub absent_element: Option<Vec<u8>>,
    /// Original array, if the source is intermediate data.
    pub origin: Option<StoredArray>,
}

impl Transfer {
    /// Returns the size of the source elements of a destination object in bytes. Both sides must have the same
    /// subchunks.
    pub fn object_bytes(&self) -> u64 {
        let subchunks = self.destination.layout.as_ref().map_or(1, |layout| layout.sharding.num_inner_chunks());
        subchunks.saturating_mul(self.source.subchunk_chain().decoded_bytes())
    }

    /// Returns true if both sides have the same boxes as subchunks.
    pub fn has_same_subchunks(&self) -> bool {
        self.source.skips_whole_subchunks() && self.source.has_subchunks_of(&self.destination)
    }

    /// Returns the chunks of a grid that overlap a present object, or all chunks if none may stay absent.
    ///
    /// A grid can be far larger than the stored data, so it is not walked as a whole. If `among` has fewer chunks than
    /// are present, only these are checked.
    pub fn overlapped_among(&self, grid: &Grid, among: Option<&ChunkSet>) -> ChunkSet {
        let (metadata, present) = (&self.source.metadata, self.source.objects());
        let is_same = !metadata.skips() && grid.has_chunks_of(&metadata.grid);
        let full = || ChunkSet::full(volume(&grid.counts()));
        let all = match among {
            _ if self.absent_element.is_some() => full(),
            _ if is_same => present,
            _ if present.len() == metadata.num_chunks() => full(),
            Some(some) if some.len() < present.len() => {
                let region = |index| self.in_source(&grid.region_of(&unravel(index, &grid.counts())));
                let is_present = |index| self.source.objects_in(&region(index)).any(|object| present.contains(object));
                return some.iter().filter(|index| is_present(*index)).collect();
            }
            _ => self.under(grid, &present),
        };
        if let Some(some) = among { all.common(some) } else { all }
    }

    /// Returns the grid of boxes of `shape` elements.
    pub fn grid_of(&self, shape: &[u64]) -> Grid {
        Grid::regular(&self.destination.metadata.shape, shape)
    }

    /// Converts a box of the destination to the source, and crops it to the array.
    pub fn in_source(&self, region: &Region) -> Region {
        self.source.inside(&region.moved_by(&self.source.metadata.skipped))
    }

    /// Returns the chunks of a grid that overlap some objects of the source.
    fn under(&self, grid: &Grid, present: &ChunkSet) -> ChunkSet {
        let (metadata, counts) = (&self.source.metadata, grid.counts());
        let mut overlapped = ChunkSetBuilder::default();
        for object in present.iter() {
            let region = self.source.inside(&self.source.region_of(object)).relative_to(&metadata.skipped);
            // An object may claim more elements than a loop can count.
            index_runs(grid.chunks_in(&region), &counts).for_each(|run| overlapped.insert_run(run));
        }
        overlapped.finish()
    }

    /// Returns the source subchunk of a destination subchunk. Both sides must have the same boxes.
    pub fn source_subchunk<'a>(&self, subchunk: &'a [u64]) -> Cow<'a, [u64]> {
        if !self.source.metadata.skips() {
            return Cow::Borrowed(subchunk);
        }
        let skipped = self.source.metadata.skipped.iter().zip(self.source.subchunk_shape());
        subchunk.iter().zip(skipped).map(|(index, (skipped, length))| index + skipped / length).collect()
    }
}

/// Most objects in a group, so that no thread spends too long on one.
const MOST_OBJECTS: u64 = 1 << 16;

/// Smallest number of groups, if there are as many objects. Threads share them.
const LEAST_GROUPS: u64 = 16;

/// Returns the linear indices of a box of chunks in a grid of `counts` chunks, as few runs in C order.
pub(super) fn index_runs(chunks: Region, counts: &[u64]) -> impl Iterator<Item = Range<u64>> {
    contiguous_runs(counts, chunks, [1, u64::MAX]).map(move |run| {
        let first = ravel(&run.start, counts);
        first..first.saturating_add(run.num_elements())
    })
}

/// Objects of an array in groups.
#[derive(Debug, Clone)]
pub struct Groups {
    grid: Grid,
    /// Number of objects along each dimension.
    objects: Vec<u64>,
    /// Number of objects along each dimension that need the same subchunks of the source.
    under: Vec<u64>,
    /// Largest number of objects of a group along each dimension.
    shape: Vec<u64>,
}

impl Groups {
    /// Groups the objects of `array` that need the same subchunks of `read`. One thread does a whole group, and decodes
    /// each of these subchunks once.
    pub fn new(array: &StoredArray, read: &StoredArray) -> Self {
        Self::of_grid(array.metadata.grid.clone(), read.subchunk_shape())
    }

    /// Groups objects in boxes of this shape.
    pub fn of_shape(grid: Grid, shape: Vec<u64>) -> Self {
        Groups { objects: grid.counts(), under: shape.clone(), grid, shape }
    }

    pub(super) fn of_grid(grid: Grid, subchunk: &[u64]) -> Self {
        let objects = grid.counts();
        let under = zip_with(subchunk, grid.largest(), |subchunk, object| subchunk.div_ceil(object.max(1)).max(1));
        let mut left = (volume(&objects) / LEAST_GROUPS).clamp(1, MOST_OBJECTS);
        let mut shape = under.clone();
        // The last dimensions are kept long, so that a group has few runs of objects.
        for length in shape.iter_mut().rev() {
            *length = left.min(*length);
            left /= *length;
        }
        Groups { grid, objects, under, shape }
    }

    /// Returns the groups that contain some of these objects.
    pub fn of(&self, objects: &ChunkSet) -> ChunkSet {
        let grid = self.counts();
        if self.shape.iter().all(|length| *length == 1) {
            return objects.clone();
        }
        if objects.len() == volume(&self.objects) {
            return ChunkSet::full(volume(&grid));
        }
        let (row, step) = (self.objects.last().unwrap_or(&1), self.shape.last().unwrap_or(&1));
        let mut found = ChunkSetBuilder::default();
        for (mut object, end) in objects.runs() {
            while object < end {
                let position = unravel(object, &self.objects);
                found.insert(ravel(&zip_with(&position, &self.shape, |at, length| at / length), &grid));
                // The following objects of the row are in the same group, up to its edge.
                let at = position.last().unwrap_or(&0);
                object += (at - at % step + step).min(*row) - at;
            }
        }
        found.finish()
    }

    /// Returns the objects of a group in C order, as runs.
    pub fn objects(&self, group: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        index_runs(self.extent(group), &self.objects)
    }

    /// Returns the box of a group in elements.
    pub fn region(&self, group: u64) -> Region {
        let objects = self.extent(group);
        let last: Vec<u64> = objects.end().iter().map(|end| end.saturating_sub(1)).collect();
        Region::between(self.grid.start_of(&objects.start), &self.grid.region_of(&last).end())
    }

    /// Returns the first element of the objects that need the same subchunks as `object`. It does not depend on the
    /// size of groups.
    pub(super) fn start_beside(&self, object: u64) -> Vec<u64> {
        let position = unravel(object, &self.objects);
        self.grid.start_of(&zip_with(&position, &self.under, |at, under| at - at % under))
    }

    /// Returns the number of elements, along each dimension, of the objects that need the same subchunks.
    pub(super) fn lengths(&self) -> Vec<u64> {
        zip_with(&self.under, self.grid.largest(), u64::saturating_mul)
    }

    /// Returns the objects of a group, as a box of their grid.
    fn extent(&self, group: u64) -> Region {
        let position = unravel(group, &self.counts());
        Region::chunk(&position, &self.shape).common(&Region::whole(&self.objects))
    }

    /// Returns the number of groups along each dimension.
    fn counts(&self) -> Vec<u64> {
        zip_with(&self.objects, &self.shape, u64::div_ceil)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_each_object_once_and_those_of_one_subchunk_together() {
        for (shape, object, subchunk) in [
            ([40, 60], [1, 60], [10, 7]),
            ([40, 60], [3, 4], [40, 60]),
            ([41, 61], [10, 10], [2, 50]),
            ([5, 6], [5, 6], [1, 1]),
            ([0, 6], [5, 6], [1, 1]),
        ] {
            let groups = Groups::of_grid(Grid::regular(&shape, &object), &subchunk);
            let total = volume(&groups.objects);
            let some: ChunkSet = (0..total).filter(|object| object % 7 < 4).collect();
            for objects in [ChunkSet::full(total), some] {
                let of_groups = groups.of(&objects);
                let mut found: Vec<u64> = of_groups.iter().flat_map(|group| groups.objects(group).flatten()).collect();
                assert!(
                    of_groups
                        .iter()
                        .all(|group| groups.objects(group).flatten().any(|object| objects.contains(object)))
                );
                found.retain(|object| objects.contains(*object));
                found.sort_unstable();
                assert!(found.iter().copied().eq(objects.iter()), "{shape:?} {object:?} {subchunk:?}");
            }
        }
        let groups = Groups::of_grid(Grid::regular(&[4000, 4000], &[1, 10]), &[100, 100]);
        assert_eq!(groups.shape, [100, 10]);
        assert_eq!((groups.lengths(), groups.start_beside(400 * 150 + 37)), (vec![100, 100], vec![100, 300]));
        assert_eq!(groups.region(41), Region { start: vec![100, 100], shape: vec![100, 100] });
        // A huge shape is not iterated over.
        let groups = Groups::of_grid(Grid::regular(&[1 << 50], &[1]), &[1 << 40]);
        assert_eq!(groups.of(&ChunkSet::full(1 << 50)).len(), (1 << 50) / MOST_OBJECTS);
    }
}

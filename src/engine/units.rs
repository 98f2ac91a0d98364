//! The pieces of work of a job by their numbers, so that several processes do different ones.
//!
//! A unit is a stored object of what a pass writes, by its linear index; where the grid changes, a group of such objects that
//! are written together. Units of one number write the same objects whichever process does them.

use std::ops::Range;

use super::job::{Job, bytes_of_blocks};
use super::route::Route;
use super::route::rechunk::Rechunk;
use crate::array::chunk_set::ChunkSet;
use crate::metadata::array::{ArrayMetadata, num_elements};

impl Job {
    /// The units of a pass (0: the first) that have anything to do.
    pub fn units_of(&self, pass: usize) -> ChunkSet {
        let Job::Objects(job) = self else { return self.copied() };
        match self.blocks_of(pass) {
            Some((rechunk, _)) => job.transfer.overlapped(&rechunk.plan.group_shape()),
            None => job.transfer.overlapped_by(&job.transfer.destination.metadata.grid),
        }
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
        let objects = groups.flat_map(|group| rechunk.plan.objects(&rechunk.plan.group(group), &grid));
        ChunkSet::from_ranges(objects.collect())
    }

    /// Bytes of a unit's elements, about: by them work is divided.
    pub fn unit_bytes(&self, pass: usize) -> u64 {
        const UNKNOWN: u64 = 1 << 20;
        let Job::Objects(job) = self else {
            let Job::Copy(job) = self else { return UNKNOWN };
            return job.decoded_bytes.unwrap_or(UNKNOWN).max(1);
        };
        let bytes = match self.blocks_of(pass) {
            Some((rechunk, _)) => {
                let elements = num_elements(&rechunk.plan.group_shape());
                elements.unwrap_or(u64::MAX).saturating_mul(rechunk.encoder.element_size() as u64)
            }
            None if matches!(job.route, Route::Measured(_)) => UNKNOWN,
            None => job.transfer.destination.chunk_bytes(),
        };
        bytes.max(1)
    }

    /// Bytes of elements that are told as progress while a pass writes these objects; `None` where they are only known
    /// afterwards.
    pub fn bytes_of_objects(&self, pass: usize, objects: &ChunkSet) -> Option<u64> {
        let job = match self {
            Job::Copy(job) => return job.objects().common(objects).len().checked_mul(job.decoded_bytes?),
            Job::Objects(job) => job,
        };
        let transfer = &job.transfer;
        let object_bytes = match (&job.route, self.blocks_of(pass)) {
            (_, Some((rechunk, metadata))) => {
                let whole = num_elements(&transfer.destination.metadata.shape)?;
                let groups = rechunk.plan.groups_of(objects, &metadata.chunk_grid_shape());
                let grid = transfer.grid_of(&rechunk.plan.group_shape());
                let groups = transfer.overlapped_among(&grid, Some(&groups)).len();
                return Some(bytes_of_blocks(rechunk, groups, whole));
            }
            (Route::Convert(_), None) => transfer.source.chunk_bytes(),
            (Route::Subchunks(_), None) => transfer.destination.chunk_bytes(),
            (Route::Measured(_) | Route::Rechunk(_) | Route::Staged(_), None) => return None,
        };
        let written = transfer.overlapped_among(&transfer.destination.metadata.grid, Some(objects));
        Some(written.len().saturating_mul(object_bytes))
    }

    fn copied(&self) -> ChunkSet {
        match self {
            Job::Copy(job) => job.objects(),
            Job::Objects(_) => ChunkSet::default(),
        }
    }

    /// Objects of DEST's grid.
    fn num_objects(&self) -> u64 {
        match self {
            Job::Copy(job) => job.metadata[1].num_chunks(),
            Job::Objects(job) => job.transfer.destination.metadata.num_chunks(),
        }
    }

    /// What a pass over blocks does, and the array that it writes.
    fn blocks_of(&self, pass: usize) -> Option<(&Rechunk, &ArrayMetadata)> {
        let job = self.objects()?;
        let destination = &job.transfer.destination.metadata;
        match (&job.route, pass) {
            (Route::Rechunk(rechunk), _) => Some((rechunk, destination)),
            (Route::Staged(staged), 0) => Some((&staged.first, &staged.staging.metadata)),
            (Route::Staged(staged), _) => Some((&staged.second, destination)),
            (Route::Convert(_) | Route::Subchunks(_) | Route::Measured(_), _) => None,
        }
    }
}

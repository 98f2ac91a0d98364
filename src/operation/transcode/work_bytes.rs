//! How much work an array is, in bytes of elements, for the bar that all arrays of a hierarchy share.

use super::outcome::num_units;
use super::plan::Plan;
use crate::array::chunk_set::ChunkSet;
use crate::engine::job::ObjectJob;
use crate::engine::route::Route;
use crate::engine::route::rechunk::Rechunk;
use crate::metadata::array::num_elements;

/// Bytes that are decoded, moved or written before the array is there, in all passes; `None` where they are only known
/// afterwards, as of elements of any length. What is `done` by an earlier run is not among them.
pub(super) fn of_writing(plan: &Plan, done: &ChunkSet) -> Option<u64> {
    let all = match &plan.job {
        None => plan.listing.present.len().checked_mul(plan.object_bytes()?)?,
        Some(job) => of_job(plan, job)?,
    };
    let units = u128::from(num_units(plan).max(1));
    let left = units.saturating_sub(done.len().into());
    u64::try_from(u128::from(all) * left / units).ok()
}

fn of_job(plan: &Plan, job: &ObjectJob) -> Option<u64> {
    let whole = num_elements(&plan.source.metadata.shape)?;
    let of_blocks = |rechunk: &Rechunk| {
        let shape = rechunk.plan.group_shape();
        let elements =
            job.transfer.overlapped(&shape).len().saturating_mul(num_elements(&shape).unwrap_or(u64::MAX));
        elements.min(whole).saturating_mul(rechunk.encoder.element_size() as u64)
    };
    let destination = &job.transfer.destination;
    Some(match &job.route {
        Route::Convert(_) if job.transfer.absent_element.is_some() => {
            plan.source.metadata.num_chunks().saturating_mul(job.transfer.source.chunk_bytes())
        }
        Route::Convert(_) => {
            let source = &job.transfer.source;
            source.objects().len().saturating_mul(source.chunk_bytes())
        }
        Route::Subchunks(_) => {
            let objects = job.transfer.overlapped_by(&destination.metadata.grid).len();
            objects.saturating_mul(destination.chunk_bytes())
        }
        Route::Rechunk(rechunk) => of_blocks(rechunk),
        Route::Staged(staged) => of_blocks(&staged.first).saturating_add(of_blocks(&staged.second)),
        Route::Measured(_) => return None,
    })
}

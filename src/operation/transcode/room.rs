//! Whether the destination has room for what is written beside the source's own objects: absent chunks that become
//! objects, and intermediate data.

use std::error::Error;
use std::io;

use super::outcome::fixed_bytes;
use super::plan::Plan;
use crate::engine::journal::Journal;
use crate::engine::object::ObjectJob;
use crate::engine::staged::left_document;
use crate::operation::error::OperationError;

/// What absent chunks become fits into the free space: a grid of 2^60 chunks is a line of metadata, and would be
/// written for ever.
///
/// Each takes a block and a file at the least; what they hold may take more.
pub(super) fn check_room(plan: &Plan) -> Result<(), OperationError> {
    let filled = plan.job.as_ref().map_or(0, ObjectJob::num_filled);
    let mut temporary = plan.bytes_temporary();
    // Of a run that is taken up again some are there already.
    if temporary > 0 && matches!(left_document(&plan.target), Ok(Some(_))) {
        temporary = 0;
    }
    if filled == 0 && temporary == 0 {
        return Ok(());
    }
    let room = plan.target.room().map_err(|error| {
        OperationError::environment("the free space of the destination is not known").because(error)
    })?;
    let free = room.blocks.saturating_mul(room.block_bytes);
    // Of compressed chunks the size is not known before.
    let written = fixed_bytes(plan).filter(|_| temporary > 0).unwrap_or(0);
    if temporary.saturating_add(written) > free {
        let message = format!(
            "two passes take {temporary} bytes of intermediate data and {written} of chunks at `{}`, and {free} bytes are free",
            plan.target.root().display()
        );
        return Err(OperationError::environment(message)
            .with_help("give more `--max-memory`, so that one pass will do, or name a larger file system"));
    }
    if filled <= room.blocks.min(room.files) {
        return Ok(());
    }
    let message = format!(
        "{filled} absent chunks would be written, and there is no room for them at `{}`: {} bytes and {} files are free",
        plan.target.root().display(),
        free,
        room.files
    );
    Err(OperationError::environment(message)
        .with_help("keep the fill value, so that absent chunks stay absent; or name a larger file system"))
}

/// An error for want of space says how much is missing: what is left to do, if it is like what is done.
pub(super) fn with_missing_space<'a>(
    error: OperationError,
    plans: impl Iterator<Item = &'a Plan> + Clone,
    journal: &Journal,
) -> OperationError {
    if !is_out_of_space(&error) {
        return error;
    }
    let Some(Ok(room)) = plans.clone().next().map(|plan| plan.target.room()) else { return error };
    let free = room.blocks.saturating_mul(room.block_bytes);
    let objects = plans.clone().map(|plan| match &plan.job {
        Some(job) => job.overlapped(&job.destination.metadata.chunk_shape).len(),
        None => plan.listing.present.len(),
    });
    let total = objects.fold(0, u64::saturating_add);
    let (done, written) = (journal.num_units(), journal.bytes_written());
    let left = u128::from(total.saturating_sub(done).max(1));
    let decoded = plans.filter_map(|plan| Some(plan.job.as_ref()?.destination.chunk_bytes())).max();
    let needed = match decoded {
        Some(decoded) if done == 0 => left * u128::from(decoded),
        _ => left * u128::from(written) / u128::from(done.max(1)),
    };
    let missing = needed.saturating_sub(u128::from(free)).max(1);
    error.with_help(format!("about {missing} bytes more are needed there ({free} bytes are free): make room"))
}

/// Whether the disk, a quota or a limit of the process is at its end.
fn is_out_of_space(error: &OperationError) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
            return matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull);
        }
        cause = error.source();
    }
    false
}

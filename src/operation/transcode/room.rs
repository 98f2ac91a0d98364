//! Whether the destination has room for what is written beside the source's own objects.

use super::plan::Plan;
use crate::engine::object::ObjectJob;
use crate::operation::error::OperationError;

/// What absent chunks become fits into the free space: a grid of 2^60 chunks is a line of metadata, and would be
/// written for ever.
///
/// Each takes a block and a file at the least; what they hold may take more.
pub(super) fn check_room(plan: &Plan) -> Result<(), OperationError> {
    let filled = plan.job.as_ref().map_or(0, ObjectJob::num_filled);
    if filled == 0 {
        return Ok(());
    }
    let room = plan.target.room().map_err(|error| {
        OperationError::environment("the free space of the destination is not known").because(error)
    })?;
    if filled <= room.blocks.min(room.files) {
        return Ok(());
    }
    let message = format!(
        "{filled} absent chunks would be written, and there is no room for them at `{}`: {} bytes and {} files are free",
        plan.target.root().display(),
        room.blocks.saturating_mul(room.block_bytes),
        room.files
    );
    Err(OperationError::environment(message)
        .with_help("keep the fill value, so that absent chunks stay absent; or name a larger file system"))
}

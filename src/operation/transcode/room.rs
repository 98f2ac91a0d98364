//! Whether the destination has room for what is written beside the source's own objects: absent chunks that become
//! objects, and intermediate data.

use std::error::Error;
use std::io;

use super::Plan;
use super::outcome::fixed_bytes;
use crate::diagnostic::quantity::{bytes, counted};
use crate::engine::Journal;
use crate::engine::route::staged::left_document;
use crate::operation::OperationError;
use crate::store::{Node, Room};

/// Proves that absent chunks, once written, fit into the free space: a grid of 2^60 chunks is a line of metadata, and
/// would be written for ever.
///
/// Each takes a block and a file at the least; its contents may take more.
pub(super) fn check_room(plan: &Plan) -> Result<(), OperationError> {
    let filled = plan.job.num_filled();
    let mut temporary = plan.job.bytes_temporary();
    let staged = plan.job.staged();
    // Of a run that is taken up again some are there already.
    if staged.is_some_and(|staged| matches!(left_document(&staged.staging.node), Ok(Some(_)))) {
        temporary = 0;
    }
    if let Some(staged) = staged.filter(|staged| staged.is_outside) {
        check_scratch(&staged.staging.node, temporary)?;
        temporary = 0;
    }
    if filled == 0 && temporary == 0 {
        return Ok(());
    }
    let room = room_of(&plan.target)?;
    let free = room.bytes();
    // Of compressed chunks the size is not known before.
    let written = fixed_bytes(plan).filter(|_| temporary > 0).unwrap_or(0);
    if temporary.saturating_add(written) > free {
        let message = format!(
            "two passes take {} of intermediate data and {} of chunks at `{}`, and {} are free",
            bytes(temporary),
            bytes(written),
            plan.target.name(),
            bytes(free)
        );
        return Err(OperationError::environment(message)
            .with_help("give more `--max-memory`, so that one pass will do, or name a larger file system"));
    }
    if filled <= room.blocks.min(room.files) {
        return Ok(());
    }
    let message = format!(
        "{} would be written, and there is no space for them at `{}`: {} and {} are free",
        counted(filled, "absent chunk"),
        plan.target.name(),
        bytes(free),
        counted(room.files, "file")
    );
    Err(OperationError::environment(message)
        .with_help("keep the fill value, so that absent chunks stay absent; or name a larger file system"))
}

/// The intermediate data fit into a folder of their own.
fn check_scratch(folder: &Node, temporary: u64) -> Result<(), OperationError> {
    let room = room_of(folder)?;
    let free = room.bytes();
    if temporary <= free {
        return Ok(());
    }
    let message = format!(
        "two passes take {} of intermediate data at `{}`, and {} are free",
        bytes(temporary),
        folder.name(),
        bytes(free)
    );
    Err(OperationError::environment(message).with_help(
        "name a folder on a larger file system by TMPDIR, or give more `--max-memory`, so that one pass will do",
    ))
}

fn room_of(node: &Node) -> Result<Room, OperationError> {
    node.room().map_err(|error| {
        OperationError::environment(format!("the free space of `{}` is not known", node.name())).because(error)
    })
}

/// An error for want of space says how much is missing: what is left to do, if it is like what is done; where that would
/// fit, what else may have run out.
pub(super) fn with_missing_space<'a>(
    error: OperationError,
    plans: impl Iterator<Item = &'a Plan> + Clone,
    journal: &Journal,
) -> OperationError {
    if !is_out_of_space(&error) {
        return error;
    }
    let Some(Ok(room)) = plans.clone().next().map(|plan| plan.target.room()) else { return error };
    let total = plans.clone().map(|plan| plan.job.num_written()).fold(0, u64::saturating_add);
    let (done, written) = (journal.num_units(), journal.bytes_written());
    let left = u128::from(total.saturating_sub(done).max(1));
    let decoded = plans.filter_map(|plan| Some(plan.job.objects()?.transfer.destination.chunk_bytes())).max();
    let needed = match decoded {
        Some(decoded) if done == 0 => left * u128::from(decoded),
        _ => left * u128::from(written) / u128::from(done.max(1)),
    };
    error.with_help(space_help(u64::try_from(needed).unwrap_or(u64::MAX), &room))
}

/// Help where space ran out before so many bytes that are needed still.
fn space_help(needed: u64, room: &Room) -> String {
    let free = room.bytes();
    match needed.checked_sub(free) {
        Some(missing @ 1..) => {
            format!("about {} more are needed there ({} are free): make room", bytes(missing), bytes(free))
        }
        // What ran out is not what the file system tells of.
        _ => format!(
            "{} and {} are free there now: look for a quota, a limit of the process (`ulimit -f`) or other writers",
            bytes(free),
            counted(room.files, "file")
        ),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_space_says_what_is_missing_or_that_the_file_system_has_it() {
        let room = Room { blocks: 2, block_bytes: 512, files: 9 };
        assert_eq!(space_help(3072, &room), "about 2.00 KiB more are needed there (1.00 KiB are free): make room");
        let enough = space_help(1024, &room);
        assert!(enough.starts_with("1.00 KiB and 9 files are free there now: look for a quota"), "{enough}");
    }
}

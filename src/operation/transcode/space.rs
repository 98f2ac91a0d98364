//! The free space for written data beyond the source's own objects: absent chunks that become objects, and intermediate
//! data.

use std::error::Error;
use std::io;
use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
use std::iter::successors;

use super::outcome::fixed_bytes;
use super::{JobPlan, Plan};
use crate::diagnostic::quantity::{bytes, counted};
use crate::engine::{Journal, ObjectReport, route::staged::left_document};
use crate::operation::{OperationError, Result};
use crate::store::{FreeSpace, Node};

impl JobPlan<'_> {
    /// Adds the missing space to an error about space. It assumes that the remaining work is like the completed work. If
    /// that would fit, it names other limits.
    pub(super) fn with_missing_space(&self, error: OperationError, journal: &Journal) -> OperationError {
        if !is_out_of_space(&error) {
            return error;
        }
        let Some(Ok(free)) = self.arrays.first().map(|array| array.target.free_space()) else { return error };
        let total = self.num_written();
        let ObjectReport { written: done, bytes_written: written, .. } = journal.total();
        let left = u128::from(total.saturating_sub(done).max(1));
        let jobs = self.arrays.iter().filter_map(|array| array.job.objects());
        let decoded = jobs.map(|job| job.transfer.destination.chunk_bytes()).max();
        let needed = match decoded {
            Some(decoded) if done == 0 => left * u128::from(decoded),
            _ => left * u128::from(written) / u128::from(done.max(1)),
        };
        error.with_help(space_help(u64::try_from(needed).unwrap_or(u64::MAX), &free))
    }
}

/// Checks that absent chunks, once written, fit into the free space. A grid of 2^60 chunks is one line of metadata, and
/// writing it would never end.
///
/// Each chunk needs at least a block and a file. Its contents may need more.
pub(super) fn check_room(plan: &Plan) -> Result<()> {
    let filled = plan.job.num_filled();
    let mut temporary = plan.job.bytes_temporary();
    let staged = plan.job.staged();
    // A resumed run has some of them already.
    if staged.is_some_and(|staged| matches!(left_document(&staged.staging.node), Ok(Some(_)))) {
        temporary = 0;
    }
    if let Some(staged) = staged.filter(|staged| staged.is_outside) {
        let folder = &staged.staging.node;
        let free = free_space_of(folder)?.bytes();
        if temporary > free {
            let help = "set TMPDIR to a folder on a larger file system, or give more `--max-memory`, so that one pass is enough";
            let taken = format!("{} of intermediate data", bytes(temporary));
            return Err(no_room_for_passes(&taken, folder, free).with_help(help));
        }
        temporary = 0;
    }
    if filled == 0 && temporary == 0 {
        return Ok(());
    }
    let space = free_space_of(&plan.target)?;
    let free = space.bytes();
    // The size of compressed chunks is not known before.
    let written = fixed_bytes(plan).filter(|_| temporary > 0).unwrap_or(0);
    if temporary.saturating_add(written) > free {
        let taken = format!("{} of intermediate data and {} of chunks", bytes(temporary), bytes(written));
        return Err(no_room_for_passes(&taken, &plan.target, free)
            .with_help("give more `--max-memory`, so that one pass is enough, or use a larger file system"));
    }
    let (chunks, name) = (counted(filled, "absent chunk"), plan.target.name());
    let free = format!("{} and {} are free", bytes(free), counted(space.files, "file"));
    let message = format!("{chunks} would be written, but there is no space at `{name}`: {free}");
    let help = "keep the fill value, so that missing chunks stay missing, or use a larger file system";
    let has_space = filled <= space.blocks.min(space.files);
    if has_space { Ok(()) } else { Err(OperationError::environment(message).with_help(help)) }
}

fn no_room_for_passes(taken: &str, node: &Node, free: u64) -> OperationError {
    let (name, free) = (node.name(), bytes(free));
    OperationError::environment(format!("two passes take {taken} at `{name}`, and {free} are free"))
}

fn free_space_of(node: &Node) -> Result<FreeSpace> {
    let unknown = || OperationError::environment(format!("the free space of `{}` is not known", node.name()));
    node.free_space().map_err(|error| unknown().because(error))
}

/// Returns the help for space that ran out while `needed` more bytes were needed.
fn space_help(needed: u64, space: &FreeSpace) -> String {
    let (free, files) = (bytes(space.bytes()), counted(space.files, "file"));
    let others = "look for a quota, a limit of the process (`ulimit -f`) or other writers";
    match needed.checked_sub(space.bytes()) {
        Some(missing @ 1..) => format!("about {} more are needed there ({free} are free): make room", bytes(missing)),
        // The file system does not report what ran out.
        _ => format!("{free} and {files} are free there now: {others}"),
    }
}

/// Returns whether the disk, a quota or a limit of the process is exhausted.
fn is_out_of_space(error: &OperationError) -> bool {
    let mut causes = successors(error.source(), |&error| error.source());
    let cause = causes.find_map(|error| error.downcast_ref::<io::Error>());
    cause.is_some_and(|error| matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_space_says_what_is_missing_or_that_the_file_system_has_it() {
        let space = FreeSpace { blocks: 2, block_bytes: 512, files: 9 };
        assert_eq!(space_help(3072, &space), "about 2.00 KiB more are needed there (1.00 KiB are free): make room");
        let enough = space_help(1024, &space);
        assert!(enough.starts_with("1.00 KiB and 9 files are free there now: look for a quota"), "{enough}");
    }
}

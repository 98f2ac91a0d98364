//! `--init`: the job is planned once, and the plan sealed in DEST.

use std::num::NonZeroUsize;

use super::cut::{Work, cut};
use super::plan_file::{KEY, PartsPlan, PassName, PassPlan, present_of};
use crate::array::{ChunkSet, Interrupt};
use crate::engine::Progress;
use crate::operation::parts_result::{ChosenCompressor, InitResult, PlannedPass};
use crate::operation::transcode::forecast::many_objects;
use crate::operation::transcode::{JobPlan, PlannedArray};
use crate::operation::{OperationError, TranscodeOptions};
use crate::store::machine;

/// The memory of a part where none is given; and it has one thread: where work is cut does not hang on the machine that plans
/// it.
const MEMORY: u64 = 1 << 30;

/// Plans a job in at most `partitions` parts (fewer where there are fewer stored objects), and seals the plan in DEST, in which
/// nothing else is written. The same again changes nothing.
///
/// No chunk is read: a range of values that is to be found is a pass of its own, done in parts. Where the options say nothing of
/// memory and threads, a part is planned for 1 GiB and one thread, whatever this machine has.
///
/// # Errors
///
/// As [`transcode`](crate::transcode::transcode) for what cannot be done; where another plan lies in DEST; and where DEST is
/// written as a whole, as a zip file is.
pub fn init(
    options: &TranscodeOptions,
    partitions: u64,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<InitResult, OperationError> {
    let mut options = options.clone();
    let budget_bytes = *options.run.common.max_memory.get_or_insert(MEMORY);
    let threads = options.run.common.threads.get_or_insert(NonZeroUsize::MIN).get();
    options.run.partitions = Some(partitions);
    // What only the data tell is left to a pass of its own.
    options.run.dry_run = true;
    let place = super::place(&options)?;
    let before = PartsPlan::find(&place)?;
    // What was begun is looked at as a run that goes on: it stays as it is.
    options.run.resume = before.is_some();
    let mut job = JobPlan::new(&options, |_| Ok(()), |_| true, progress, interrupt)?;
    if !job.output.keeps_unfinished() {
        return Err(OperationError::usage(format!(
            "DEST `{}` is written as a whole, not in parts",
            options.destination
        ))
        .with_help("name a folder or a place in an object store"));
    }
    if before.is_none() {
        job.check_room()?;
    }
    let mut warnings = job.warnings();
    let sealed = job.seal();
    let JobPlan { output, arrays, .. } = job;
    let plan = PartsPlan {
        id: machine::unique_name(),
        verifies: options.run.verify,
        passes: passes(&arrays, &sealed.open_arrays(), partitions),
        partitions,
        budget_bytes,
        threads,
        memory_bytes: memory(&arrays),
        bytes: largest_part(&arrays, partitions),
        present: present_of(&arrays),
        sealed,
    };
    let before = if before.is_none() {
        output.make_root()?;
        // Another process may have been faster.
        if plan.write(output.data(), KEY)? { None } else { PartsPlan::find(&place)? }
    } else {
        before
    };
    if before.as_ref().is_some_and(|before| !before.is_same(&plan)) {
        let shown = options.destination.display();
        return Err(OperationError::environment(format!("`{shown}` has an unfinished job with another plan"))
            .with_help("give the options of that plan, or choose another DEST"));
    }
    let was_there = before.is_some();
    let objects = arrays.iter().map(|array| array.plan.job.num_written()).fold(0, u64::saturating_add);
    warnings.extend(many_objects(&arrays, &output));
    Ok(InitResult {
        source: options.source.display().to_string(),
        destination: options.destination.display().to_string(),
        partitions: plan.most_parts(),
        passes: plan
            .passes
            .iter()
            .map(|pass| PlannedPass { name: pass.name.name(), partitions: pass.partitions() })
            .collect(),
        memory_bytes: plan.memory_bytes,
        bytes: plan.bytes,
        objects,
        compressors: arrays.iter().filter_map(compressor).collect(),
        was_there,
        warnings,
    })
}

/// The compressor that was chosen for an array.
fn compressor(array: &PlannedArray) -> Option<ChosenCompressor> {
    let compress = array.plan.compression.as_ref()?.chosen.clone()?;
    Some(ChosenCompressor { path: array.path.clone(), compress })
}

/// The passes, each cut into so many parts at most. The quantisation of arrays that are `open` is left to the first.
pub(super) fn passes(arrays: &[PlannedArray], open: &[usize], partitions: u64) -> Vec<PassPlan> {
    let is_staged = arrays.iter().any(|array| array.plan.job.staged().is_some());
    let passes = [(PassName::Range, !open.is_empty()), (PassName::Staging, is_staged), (PassName::Write, true)];
    let passes = passes.into_iter().filter(|(_, is_there)| *is_there);
    let objects = arrays.iter().map(|array| array.plan.job.num_written()).fold(0, u64::saturating_add);
    let at_most = |name| if name == PassName::Range { partitions } else { partitions.min(objects.max(1)) };
    passes.map(|(name, _)| PassPlan { name, boundaries: cut(&work(arrays, open, name), at_most(name)) }).collect()
}

/// The work of a pass, array by array.
fn work(arrays: &[PlannedArray], open: &[usize], pass: PassName) -> Vec<Work> {
    let of = |(number, array): (usize, &PlannedArray)| {
        let job = &array.plan.job;
        match (pass, job.staged().is_some()) {
            (PassName::Range, _) if open.contains(&number) => {
                let bytes = job.objects().map_or(1, |job| job.transfer.source.chunk_bytes().max(1));
                Work { units: array.plan.listing.present.clone(), bytes }
            }
            (PassName::Range, _) | (PassName::Staging, false) => Work { units: ChunkSet::default(), bytes: 1 },
            (PassName::Staging | PassName::Write, _) => {
                let number = pass.number_in(job);
                Work { units: job.units_of(number), bytes: job.unit_bytes(number) }
            }
        }
    };
    arrays.iter().enumerate().map(of).collect()
}

/// Bytes that a part has in memory at most.
pub(super) fn memory(arrays: &[PlannedArray]) -> u64 {
    arrays.iter().map(|array| array.memory.bytes).max().unwrap_or(0)
}

/// Bytes of the elements of the largest part of any pass, about: those of an equal share, and of one unit.
pub(super) fn largest_part(arrays: &[PlannedArray], partitions: u64) -> u64 {
    let work = work(arrays, &[], PassName::Write);
    let bytes = |work: &Work| work.units.len().saturating_mul(work.bytes);
    let all = work.iter().map(bytes).fold(0, u64::saturating_add);
    let units: u64 = work.iter().map(|work| work.units.len()).fold(0, u64::saturating_add);
    let largest = work.iter().filter(|work| !work.units.is_empty()).map(|work| work.bytes).max().unwrap_or(0);
    all.div_ceil(partitions.clamp(1, units.max(1))).max(largest)
}

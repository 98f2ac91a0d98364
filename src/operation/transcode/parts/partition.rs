//! `--partition`: one numbered part of a job.

use std::sync::Weak;
use std::time::Instant;

use super::done::{DoneParts, PartReport};
use super::plan::{Boundary, KEY, PartsPlan, PassName, PassPlan, units_between};
use super::{PartsJob, job_under_way};
use crate::array::Interrupt;
use crate::engine::route::staged::FIRST_PASS;
use crate::engine::{ObjectReport, Progress, journal};
use crate::operation::parts_result::PartResult;
use crate::operation::transcode::run::{Extent, Writing};
use crate::operation::transcode::{Source, cannot_write};
use crate::operation::{OperationError, Result, TranscodeOptions, new_driver};
use crate::store::Node;

/// The requested part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionRequest {
    /// Number of the part, from 0.
    pub index: u64,
    /// The pass. `None`: the first one that is not complete.
    pub pass: Option<PassName>,
}

impl PartitionRequest {
    /// Returns the part with a number, from 0, of the first pass that is not complete.
    pub fn new(index: u64) -> Self {
        PartitionRequest { index, pass: None }
    }
}

/// Runs a part of the job that [`init`](fn@super::init) planned in DEST, or the rest of it. A completed part is not run again.
///
/// SOURCE, DEST and the resources of the process are from the options. Everything else is from the plan. When this
/// returns, the output of the part is durable, and DEST records that it is done.
///
/// # Errors
///
/// If no job was begun in DEST, SOURCE has changed since, or another process runs the same part. Also if data cannot be
/// read or written: the part is then unfinished, and the same call continues it. If the pass before the requested one
/// is not complete, the error is [`FaultClass::TooEarly`](crate::FaultClass::TooEarly), and nothing was done.
pub fn partition(
    options: &TranscodeOptions,
    wanted: PartitionRequest,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<PartResult> {
    let begun = Instant::now();
    let (target, plan) = job_under_way(options)?;
    let mut result = PartResult {
        source: options.source.display().to_string(),
        destination: options.destination.display().to_string(),
        complete: true,
        partition: wanted.index,
        was_done: true,
        ..PartResult::default()
    };
    let Some(plan) = plan else { return Ok(result) };
    let (done, own) = (DoneParts::at(&target, &plan), plan.options(options));
    let job = PartsJob { plan, done, options: own, progress, interrupt }.resolved()?;
    let partitions = job.plan.most_parts();
    if wanted.index >= partitions {
        let message = format!("there is no part {}: there are {partitions}", wanted.index);
        let help = format!("parts are counted from 0: the last is {}", partitions.saturating_sub(1));
        return Err(OperationError::usage(message).with_help(help));
    }
    let pass = pass_of(&job, wanted)?;
    (result.complete, result.pass) = (false, Some(pass.name.name()));
    result.partitions = pass.partitions();
    // Another pass may have more parts than this one.
    let done = job.done.parts(pass)?;
    let Some(bounds) = pass.part(wanted.index).filter(|_| !done.contains(wanted.index)) else {
        // Fails if SOURCE's documents have changed since the plan was sealed.
        let apply = |source: &mut Source| job.plan.apply(source);
        Source::taken(&job.options, apply, &new_driver(1, interrupt)?)?;
        return Ok(result);
    };
    let part = Part { pass: pass.name, index: wanted.index, bounds };
    result.was_done = false;
    let mut all = ObjectReport::default();
    // This pass writes no objects, so it has no log: a part that was stopped is run from the beginning.
    if part.pass == PassName::Range {
        let (found, bytes_read) = job.survey(bounds)?;
        all.bytes_read = bytes_read;
        job.done.note(part.pass, part.index, &found)?;
    } else {
        let counted = part.run(&job, &mut result)?;
        if let Some(counted) = &counted {
            job.done.note(part.pass, part.index, counted)?;
        }
        // The note comes first: a part that is stopped in between counts as done.
        part.clear(&job.plan, &target)?;
        let Some(counted) = counted else { return Ok(PartResult { was_done: true, ..result }) };
        for (_, report) in &counted {
            all += report.counted;
        }
    }
    (result.chunks_written, result.bytes_read, result.bytes_written) = (all.written, all.bytes_read, all.bytes_written);
    result.seconds = begun.elapsed().as_secs_f64();
    Ok(result)
}

/// Returns the requested pass. All passes before it must be complete. Without a request: the first pass that is not
/// complete, or the last.
fn pass_of<'p>(PartsJob { plan, done, .. }: &'p PartsJob<'_>, wanted: PartitionRequest) -> Result<&'p PassPlan> {
    let index = match wanted.pass {
        Some(wanted) => plan.passes.iter().position(|pass| pass.name == wanted).ok_or_else(|| {
            let names: Vec<&str> = plan.passes.iter().map(|pass| pass.name.name()).collect();
            OperationError::usage(format!("the job has no pass `{wanted}`"))
                .with_help(format!("its passes are: {}", names.join(", ")))
        })?,
        // No plan is read that has none.
        None => plan.passes.len().saturating_sub(1),
    };
    for pass in &plan.passes[..index] {
        let missing = pass.partitions().saturating_sub(done.parts(pass)?.len());
        match (missing, wanted.pass) {
            (0, _) => {}
            (_, None) => return Ok(pass),
            (missing, Some(later)) => {
                let parts = format!("{} parts of `{}`", pass.partitions(), pass.name);
                let message = format!("`{later}` cannot begin: {missing} of {parts} are not done");
                return Err(OperationError::too_early(message).with_help("`--status` shows which; run them first"));
            }
        }
    }
    Ok(&plan.passes[index])
}

struct Part {
    pass: PassName,
    index: u64,
    bounds: (Boundary, Boundary),
}

impl Part {
    /// Writes what is not written yet, and makes it durable. Returns the counts by array number. `None` if another run
    /// has completed the part.
    fn run(&self, parts_job: &PartsJob<'_>, result: &mut PartResult) -> Result<Option<Vec<(usize, PartReport)>>> {
        let PartsJob { plan, interrupt, .. } = parts_job;
        // Most arrays of a hierarchy belong to other parts.
        let is_own = |number| !units_between(self.bounds, number).is_empty();
        let job = parts_job.plan_again(is_own)?;
        let left = format!("part {} is unfinished: run `--partition {}` again to continue", self.index, self.index);
        let unfinished = interrupt.begin(left.clone(), Some(job.output.cleanup(Weak::new())))?;
        let is_first = self.pass == PassName::Staging;
        let assigned = job.arrays.iter().map(|array| {
            let name = if is_first { journal::name_of_pass(&array.path, FIRST_PASS) } else { array.path.clone() };
            // An array with one pass belongs to the next one.
            let is_later = is_first && array.job.staged().is_none();
            let units = if is_later { 0..0 } else { units_between(self.bounds, array.number) };
            (name, array.job.objects_of(self.pass.number_in(&array.job), &units))
        });
        let (log, fingerprint) = (plan.log(self.pass, self.index), plan.sealed.fingerprint());
        let claim = job.output.clone().claim_part(&log, &fingerprint, assigned.collect(), left)?;
        unfinished.set_cleanup(claim.cleanup());
        result.warnings.extend(claim.unlocked_warning());
        // The job may have been removed and planned again while this process was stopped.
        if PartsPlan::find(claim.output.data(), KEY)?.is_none_or(|now| now.id != plan.id) {
            self.clear(plan, claim.output.data())?;
            let message = format!("the job of part {} is not planned in DEST any more", self.index);
            let help = "if the part belongs to the new job, run it again";
            return Err(OperationError::environment(message).with_help(help));
        }
        // Another run of the same part may have finished just before.
        let done = DoneParts::at(claim.output.data(), plan);
        if done.is_done(self.pass, self.index)? {
            return Ok(None);
        }
        let extent = if is_first { Extent::FirstPasses } else { Extent::AfterThem(done.between(plan)?) };
        let done = match (Writing { job: &job, claim: &claim, extent }).run() {
            Ok(done) => done,
            Err(ended) => return Err(claim.fail(ended.error, ended.is_final)),
        };
        let reports = done.into_iter().map(|done| PartReport::new(done.tally, done.verified));
        let reports = job.arrays.iter().map(|array| array.number).zip(reports);
        // A note lists only arrays with work. A hierarchy may have thousands of others.
        Ok(Some(reports.filter(|(_, report)| *report != PartReport::default()).collect()))
    }

    /// Removes its log, after the part is noted as done.
    fn clear(&self, plan: &PartsPlan, target: &Node) -> Result<()> {
        target.child(&plan.log(self.pass, self.index)).and_then(|folder| folder.remove_root()).map_err(cannot_write)
    }
}

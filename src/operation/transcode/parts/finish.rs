//! `--finish`: checks that all objects exist, and publishes DEST.

use std::collections::BTreeSet;
use std::time::Instant;

use super::done::{DoneParts, PartReport, Receipts};
use super::plan::{PassName, units_between};
use super::{PartsJob, job_under_way, left_by_others, status, status_of};
use crate::array::Interrupt;
use crate::engine::{Assignment, Journal, ObjectReport, Progress, bytes_of};
use crate::operation::transcode::run::stored;
use crate::operation::transcode::{Done, JobPlan, Plan, cannot_write};
use crate::operation::{OperationError, Result, StatusResult, TranscodeOptions, TranscodeResult};
use crate::store::{JOURNAL, RUN_FOLDER, clear_run_folder};

/// The result of `--finish`.
#[derive(Debug)]
#[non_exhaustive]
pub enum Finished {
    /// DEST is published.
    Now(Box<TranscodeResult>),
    /// Parts are missing, or their output is not there any more. Such parts then count as not done.
    Missing(StatusResult),
    /// DEST was published before, and nothing was left to do.
    Before(StatusResult),
}

/// Checks that all parts of the job in DEST are done, and that all their output exists. Sums their counts, and
/// publishes DEST.
///
/// If it is interrupted, it can be run again. SOURCE, DEST and the resources of the process are from the options.
///
/// # Errors
///
/// If no job was begun in DEST, SOURCE has changed since, or DEST cannot be read or written. Missing parts are not an
/// error, but [`Finished::Missing`].
pub fn finish(options: &TranscodeOptions, progress: &dyn Progress, interrupt: &Interrupt) -> Result<Finished> {
    let begun = Instant::now();
    let (target, plan) = job_under_way(options)?;
    let others = left_by_others(&target, plan.as_ref())?;
    let Some(plan) = plan else {
        // The folder is left by a finish that was killed, or by a late part. A plain run has a journal.
        if !target.below(&RUN_FOLDER).below(&JOURNAL).exists().map_err(cannot_write)? {
            clear_run_folder(&target).map_err(cannot_write)?;
        }
        return Ok(Finished::Before(status_of(options, Vec::new(), others)));
    };
    // The job as its parts were planned. The memory in the report depends on this, too.
    let (done, own) = (DoneParts::at(&target, &plan), plan.options(options));
    let parts_job = PartsJob { plan, done, options: own, progress, interrupt }.resolved()?;
    let PartsJob { plan, done, .. } = &parts_job;
    let found = status_of(options, done.status(plan)?, others.clone());
    if found.is_missing_any() {
        return Ok(Finished::Missing(found));
    }
    let job = parts_job.plan_again(|_| true)?;
    let counted = done.noted(PassName::Write)?;
    let mut reports = sums(&counted, job.arrays.len());
    let lost = parts_job.lost(&job, &reports, &counted)?;
    if !lost.is_empty() {
        for part in lost {
            // With its log the part knows that there may be objects to remove.
            let folder = target.child(&plan.log(PassName::Write, part)).map_err(cannot_write)?;
            let begun = Journal::open_part((&folder, &target), &plan.sealed.fingerprint(), Assignment::new());
            let failed = || OperationError::environment(format!("part {part} cannot be started again"));
            drop(begun.map_err(|error| failed().because(error))?);
            done.forget(PassName::Write, part)?;
        }
        return Ok(Finished::Missing(status(options)?));
    }
    if plan.pass(PassName::Staging).is_some() {
        let between = sums(&done.noted(PassName::Staging)?, job.arrays.len());
        for (report, between) in reports.iter_mut().zip(between) {
            let ObjectReport { bytes_read, bytes_written: bytes_temporary, .. } = between.counted;
            // The output of the first pass is temporary and no chunk of DEST, so `written` and `bytes_written` are left
            // out.
            report.counted += ObjectReport { bytes_read, bytes_temporary, ..ObjectReport::default() };
        }
    }
    let folder = format!("{}/finish", plan.folder());
    let left = "DEST is not published: run `--finish` again".to_owned();
    let claim = job.output.clone().claim_part(&folder, &plan.sealed.fingerprint(), Assignment::new(), left)?;
    // Parts write only chunks. The keys that belong to no node are left to the finish.
    let copied = job.copy_other_keys(&claim).and_then(|()| claim.checkpoint());
    if let Err(error) = copied.and_then(|()| job.remove_staging()) {
        return Err(claim.fail(error, false));
    }
    claim.publish(&plan.sealed.documents, &job.driver)?;
    let outcome = |(report, array): (PartReport, &Plan)| Done {
        tally: report.counted,
        verified: plan.verifies.then(|| report.verification(array)),
        quality: None,
    };
    let outcomes = reports.into_iter().zip(&job.arrays).map(outcome).collect();
    let mut result = job.result(Some(outcomes), begun);
    result.warnings.extend(others);
    Ok(Finished::Now(Box::new(result)))
}

fn sums(counted: &Receipts<PartReport>, arrays: usize) -> Vec<PartReport> {
    let mut sums = vec![PartReport::default(); arrays];
    for (array, report) in counted.values().flatten() {
        if let Some(sum) = sums.get_mut(*array) {
            sum.add(report);
        }
    }
    sums
}

impl PartsJob<'_> {
    /// Returns the parts whose objects are not all in a listing of DEST, or have another size.
    fn lost(&self, job: &JobPlan<'_>, reports: &[PartReport], counted: &Receipts<PartReport>) -> Result<BTreeSet<u64>> {
        let mut lost = BTreeSet::new();
        let Some(pass) = self.plan.pass(PassName::Write) else { return Ok(lost) };
        let stored = stored(self.done.target, &job.arrays, &job.driver)?;
        for ((array, report), (present, bytes)) in job.arrays.iter().zip(reports).zip(stored) {
            if report.counted.is_of(&present) && bytes == report.counted.bytes_written {
                continue;
            }
            let (node, metadata, mut is_known) = (&array.target, &array.destination.metadata, false);
            for part in 0..pass.partitions() {
                let units = pass.part(part).map_or(0..0, |bounds| units_between(bounds, array.number));
                if units.is_empty() {
                    continue;
                }
                let found = array.job.objects_of(pass.name.number_in(&array.job), &units).common(&present);
                let mut written = ObjectReport::default();
                for (_, report) in counted.get(&part).into_iter().flatten().filter(|(of, _)| *of == array.number) {
                    written += report.counted;
                }
                let bytes = bytes_of(node, metadata, &found, &job.driver).map_err(cannot_write)?;
                if !written.is_of(&found) || bytes != written.bytes_written {
                    is_known = true;
                    lost.insert(part);
                }
            }
            if !is_known {
                return Err(OperationError::environment(format!("`{}` has chunks that no part wrote", node.name()))
                    .with_help("something else writes there: remove what it wrote, and run `--finish` again"));
            }
        }
        Ok(lost)
    }
}

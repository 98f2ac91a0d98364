//! Writes the chunks of all arrays, and reads them back if requested.

use std::collections::BTreeMap;

use super::{Done, JobPlan, LockedDestination, Plan, cannot_write, quality, verify::ReadBack};
use crate::array::ChunkSet;
use crate::engine::listing::{Stored, list_together, list_with_sizes, remove_objects, remove_unfinished};
use crate::engine::route::staged::{FIRST_PASS, Intermediate};
use crate::engine::{Driver, ObjectReport, PassProgress, Progress, Silent, SubProgress, journal};
use crate::operation::{Budget, FaultClass, OperationError, Result, narrowed};
use crate::store::Node;

/// Number of times that missing objects are written again.
const MOST_MENDED: usize = 3;

/// The error of a run that did not write all chunks.
pub(super) struct RunFailure {
    pub error: OperationError,
    /// Whether the same command cannot succeed. Then its output is of no use to another run.
    pub is_final: bool,
}

impl From<OperationError> for RunFailure {
    fn from(error: OperationError) -> Self {
        RunFailure { error, is_final: false }
    }
}

/// The part of the work in this run. The two passes of a rechunk may be in different runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    /// All passes.
    Whole,
    /// The intermediate data of arrays with two passes.
    FirstPasses,
    /// The remaining passes, with the size of the intermediate data of each array, by number.
    AfterThem(BTreeMap<usize, Intermediate>),
}

/// The arrays of a job that are written: all of them, or a part's share of them.
pub(super) struct Writing<'a> {
    pub job: &'a JobPlan<'a>,
    pub claim: &'a LockedDestination,
    pub extent: Extent,
}

impl<'a> Writing<'a> {
    /// Writes everything except the documents, makes it durable, and checks it.
    pub(super) fn run(&self) -> Result<Vec<Done>, RunFailure> {
        let Writing { job, claim, extent, .. } = self;
        let is_whole = *extent == Extent::Whole;
        let as_done = |tally| Done { tally, verified: None, quality: None };
        let mut done: Vec<Done> = self.chunks()?.into_iter().map(as_done).collect();
        if !claim.is_published {
            if is_whole {
                job.copy_other_keys(claim)?;
            }
            claim.checkpoint()?;
            // Of a job in parts, `--finish` compares one listing with what all parts have written.
            if is_whole && claim.output.data().capabilities().is_remote {
                self.mend(&done)?;
            }
        }
        // DEST is checked before its documents exist. A wrong one never opens.
        let proved = self.verify(&mut done).and_then(|()| self.quality(&mut done)).and_then(|()| job.hold(&done));
        // DEST is wrong, or could not be checked.
        proved.map_err(|error| RunFailure { is_final: error.class() == FaultClass::Data, error })?;
        job.driver.interrupt().check().map_err(OperationError::from)?;
        // Verification has compared the intermediate data, so they go only now.
        if is_whole {
            job.remove_staging()?;
        }
        Ok(done)
    }

    fn chunks(&self) -> Result<Vec<ObjectReport>, RunFailure> {
        let known = self.job.arrays.iter().filter_map(|array| self.bytes_left(array)).reduce(u64::saturating_add);
        let progress = self.job.progress;
        progress.start("transcode", known);
        let written = self.each(|array, driver| {
            // If the size of some arrays is known, the progress does not count the others.
            let is_told = known.is_none() || self.bytes_left(array).is_some();
            let progress: &dyn Progress = if is_told { progress } else { &Silent };
            let between = match (&self.extent, array.job.staged().is_some()) {
                (Extent::FirstPasses, true) => return self.write_between(array, driver, progress),
                (Extent::FirstPasses, false) => return Ok(ObjectReport::default()),
                (Extent::AfterThem(between), true) => Some(between.get(&array.number).copied().unwrap_or_default()),
                _ => None,
            };
            self.write_chunks(array, between, driver, progress)
        });
        progress.finish();
        written
    }

    /// Compares DEST with what was written, and writes missing objects again. A request that was sent before this run
    /// began may reach the store afterwards.
    fn mend(&self, done: &[Done]) -> Result<(), RunFailure> {
        for _ in 0..MOST_MENDED {
            let mut is_whole = true;
            let stored = stored(self.claim.output.data(), &self.job.arrays, &self.job.driver)?;
            for ((array, (present, bytes)), Done { tally: written, .. }) in self.job.arrays.iter().zip(stored).zip(done)
            {
                if written.is_of(&present) && bytes == written.bytes_written {
                    continue;
                }
                is_whole = false;
                let driver = narrowed(&self.job.driver, array.memory.threads)?;
                self.write_again(array, &present, written.written, &driver)?;
            }
            if is_whole {
                return Ok(());
            }
            self.claim.checkpoint()?;
        }
        let shown = &self.claim.output.shown;
        let message = format!("`{shown}` lacks objects that were written several times");
        let help = "find the other program that writes or removes objects there, and stop it";
        Err(OperationError::environment(message).with_help(help).into())
    }

    fn bytes_left(&self, array: &Plan) -> Option<u64> {
        if self.claim.is_published {
            return Some(0);
        }
        let job = &array.job;
        match self.share_of(array) {
            None => job.bytes_left(&self.claim.journal.pass(&array.path).done),
            Some((pass, part)) => {
                job.bytes_of(pass, Some(&part.assigned.clone().unwrap_or_default().without(&part.done)))
            }
        }
    }

    /// Returns the units of an array in this part of a job, and the pass that writes them. `None` if this run writes
    /// all.
    fn share_of(&self, array: &Plan) -> Option<(usize, PassProgress<'a>)> {
        let journal = &self.claim.journal;
        match self.extent {
            Extent::Whole => None,
            Extent::FirstPasses => Some((0, journal.pass(&journal::name_of_pass(&array.path, FIRST_PASS)))),
            Extent::AfterThem(_) => Some((usize::from(array.job.staged().is_some()), journal.pass(&array.path))),
        }
    }

    /// Reads back the arrays to be compared. Arrays whose quality is measured are compared at that time.
    fn verify(&self, done: &mut [Done]) -> Result<()> {
        if !self.job.options.run.verify {
            return Ok(());
        }
        let bytes = |array: &Plan| match self.share_of(array) {
            _ if self.measures(array) => None,
            None => array.job.bytes_left(&ChunkSet::default()),
            Some((pass, part)) => part.assigned.and_then(|of| array.job.bytes_of(pass, Some(&of))),
        };
        let known = self.job.arrays.iter().filter_map(bytes).reduce(u64::saturating_add);
        let progress = self.job.progress;
        progress.start("verify", known);
        let verified = self.each(|array, driver| {
            if self.measures(array) {
                return Ok(None);
            }
            let progress = SubProgress::new(progress, bytes(array).unwrap_or(0), 1);
            // Many small arrays are compared at the same time, each with its own share of the budget.
            let budget = self.job.budget;
            let budget = if array.is_small { budget.limited(array.memory.bytes) } else { budget };
            let share = self.share_of(array).map(|(pass, part)| (pass, part.assigned.unwrap_or_default()));
            if share.as_ref().is_some_and(|(_, objects)| objects.is_empty()) {
                return Ok(None);
            }
            ReadBack { plan: array, share, budget, driver, progress: &progress }.verify().map(Some)
        });
        progress.finish();
        for (done, verified) in done.iter_mut().zip(verified?) {
            done.verified = verified;
        }
        Ok(())
    }

    fn measures(&self, array: &Plan) -> bool {
        self.job.options.run.quality && quality::is_lossy(array)
    }

    /// Measures the quality of lossy arrays, if requested. They are compared at the same time.
    fn quality(&self, done: &mut [Done]) -> Result<()> {
        let JobPlan { options, arrays, budget, driver, progress, .. } = self.job;
        for (array, done) in arrays.iter().zip(done).filter(|_| options.run.quality) {
            let measured = quality::measure(array, options.run.verify, (*budget, driver), *progress)?;
            if let Some((quality, verified)) = measured {
                (done.quality, done.verified) = (Some(quality), verified);
            }
        }
        Ok(())
    }

    /// Calls `work` for every array: for many small ones at the same time, and for the others one by one.
    fn each<R: Send, E: Send + From<OperationError>>(
        &self,
        work: impl Fn(&Plan, &Driver) -> Result<R, E> + Send + Sync,
    ) -> Result<Vec<R>, E> {
        let (threads, _) = small_at_once(&self.job.arrays, self.job.budget, self.job.driver.num_threads());
        let driver = narrowed(&self.job.driver, threads)?;
        let small = driver.map_plain(&self.job.arrays, |array| array.is_small.then(|| work(array, &driver.alone())));
        let mut all = Vec::with_capacity(self.job.arrays.len());
        for (array, done) in self.job.arrays.iter().zip(small) {
            all.push(if let Some(done) = done {
                done?
            } else {
                work(array, &narrowed(&self.job.driver, array.memory.threads)?)?
            });
        }
        Ok(all)
    }

    /// Writes the intermediate data of an array with two passes. Their objects and bytes count as written.
    fn write_between(&self, plan: &Plan, driver: &Driver, progress: &dyn Progress) -> Result<ObjectReport, RunFailure> {
        let part = self.claim.journal.pass(&plan.path);
        let mut bytes_read = 0;
        let run = plan.job.run_first((driver, &part, progress), &mut |report| bytes_read += report.bytes_read);
        let Intermediate { objects, bytes } = run.map_err(|fault| plan.explain(fault))?;
        Ok(ObjectReport { written: objects, bytes_read, bytes_written: bytes, ..ObjectReport::default() })
    }

    /// Writes all chunks that are not written yet. `between` is the size of intermediate data that another run wrote.
    fn write_chunks(
        &self,
        plan: &Plan,
        between: Option<Intermediate>,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<ObjectReport, RunFailure> {
        let part = self.claim.journal.pass(&plan.path);
        let mut tally = ObjectReport::default();
        tally += part.before;
        if self.claim.is_published {
            return Ok(tally);
        }
        if self.claim.is_resumed {
            // An interrupted run may have left incomplete objects.
            let metadata = &plan.destination.metadata;
            remove_unfinished(&plan.target, metadata, &part, driver).map_err(cannot_write)?;
        }
        let run = plan.job.run(between, (driver, &part, progress), &mut |report| tally += report);
        run.map_err(|fault| {
            // A value that cannot be converted stops every run of this plan.
            let is_final = fault.fault.is_of_value();
            RunFailure { error: plan.explain(fault), is_final }
        })?;
        check_error(plan, &tally)?;
        Ok(tally)
    }

    /// Writes missing objects again. If the listing does not show which ones are missing, all are written again.
    fn write_again(&self, plan: &Plan, present: &ChunkSet, written: u64, driver: &Driver) -> Result<()> {
        let (journal, metadata) = (&self.claim.journal, &plan.destination.metadata);
        let mut lacking = ChunkSet::full(metadata.num_chunks());
        if present.len() < written {
            lacking = lacking.without(present);
        } else {
            remove_objects(&plan.target, metadata, present, driver).map_err(cannot_write)?;
        }
        let part = journal.pass(&plan.path).again(lacking);
        // The first pass is not repeated: its intermediate data still exist.
        let between = journal.counted(&journal::name_of_pass(&plan.path, FIRST_PASS));
        let ObjectReport { written: objects, bytes_written: bytes, .. } =
            between.map_err(|error| OperationError::environment("what was done is not known").because(error))?;
        let again = plan.job.run(Some(Intermediate { objects, bytes }), (driver, &part, &Silent), &mut |_| ());
        again.map_err(|fault| plan.explain(fault))
    }
}

/// Checks that DEST keeps `--max-error`: SOURCE may have changed since it was read.
fn check_error(plan: &Plan, tally: &ObjectReport) -> Result<(), RunFailure> {
    let allowed = plan.changed.quantization.as_ref().and_then(|quantization| quantization.max_error);
    let found = tally.figures.max_abs_error;
    let Some(allowed) = allowed.filter(|allowed| found > *allowed) else { return Ok(()) };
    let store = &plan.source.store;
    let message = format!("`{store}`: the greatest error is {found}, and --max-error is {allowed}");
    let help = "if nothing else writes to the array, please report this as a bug, with the command line";
    Err(RunFailure { error: OperationError::data(message).with_help(help), is_final: true })
}

/// Returns the stored objects of arrays in DEST, and their bytes.
pub(super) fn stored(node: &Node, arrays: &[Plan], driver: &Driver) -> Result<Vec<Stored>> {
    let metadata = arrays.iter().map(|array| &array.destination.metadata);
    if node.capabilities().is_remote {
        let paths = arrays.iter().map(|array| array.path.trim_start_matches('/'));
        let all: Vec<_> = paths.zip(metadata).collect();
        return list_together(node, &all).map_err(cannot_write);
    }
    let of = |(array, metadata): (&Plan, _)| {
        let listing = list_with_sizes(&array.target, metadata, driver).map_err(cannot_write)?;
        Ok((listing.present, listing.present_bytes))
    };
    arrays.iter().zip(metadata).map(of).collect()
}

/// Returns the number of small arrays that `threads` threads can write at the same time, and the memory for them.
fn small_at_once(arrays: &[Plan], budget: Budget, threads: usize) -> (usize, u64) {
    let small = arrays.iter().filter(|array| array.is_small);
    let most = small.map(|array| array.memory.bytes).max().unwrap_or(0);
    let at_once = usize::try_from(budget.bytes() / most.max(1)).unwrap_or(usize::MAX);
    let threads = at_once.clamp(1, threads);
    (threads, most.saturating_mul(threads as u64))
}

/// Returns the peak memory of writing, in bytes.
pub(super) fn most_bytes(arrays: &[Plan], budget: Budget, threads: usize) -> u64 {
    let (_, small) = small_at_once(arrays, budget, threads);
    arrays.iter().map(|array| array.memory.bytes).fold(small, u64::max)
}

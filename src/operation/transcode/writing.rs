//! The chunks of all arrays: written, and read back where that is asked for.

use std::collections::BTreeMap;

use super::{Claim, Done, JobPlan, Plan, PlannedArray, Verification, cannot_write, quality, verify};
use crate::array::ChunkSet;
use crate::engine::listing::{Stored, list_together, list_with_sizes};
use crate::engine::progress::Piece;
use crate::engine::route::staged::{FIRST_PASS, Intermediate};
use crate::engine::{Driver, ObjectReport, PassProgress, Progress, Share, Silent, journal, unfinished};
use crate::operation::{Budget, FaultClass, OperationError, QualityResult, Result, narrowed};
use crate::store::Node;

/// The number of times that missing objects are written again.
const MOST_MENDED: usize = 3;

/// Why the chunks were not all written.
pub(super) struct Ended {
    pub error: OperationError,
    /// Whether the same command cannot do better: then what it has done is of no use to another.
    pub is_for_good: bool,
}

impl Ended {
    /// DEST is not as it should be; or that could not be found out.
    pub(super) fn of_proof(error: OperationError) -> Self {
        Ended { is_for_good: error.class() == FaultClass::Data, error }
    }
}

impl From<OperationError> for Ended {
    fn from(error: OperationError) -> Self {
        Ended { error, is_for_good: false }
    }
}

/// The part of the work that is done: the passes of a rechunk in two may be those of different runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// The intermediate data of arrays in two passes.
    FirstPasses,
    /// The rest after these parts, which wrote so much of each array, by its path.
    AfterThem(BTreeMap<String, Intermediate>),
}

/// The arrays of a job being written: all of them, or what a part has of them.
pub(super) struct Writing<'a> {
    pub job: &'a JobPlan<'a>,
    pub claim: &'a Claim,
    pub extent: Extent,
}

impl<'a> Writing<'a> {
    /// Writes all but the documents, makes it durable, and proves it.
    pub(super) fn run(&self) -> Result<Vec<Done>, Ended> {
        let Writing { job, claim, extent, .. } = self;
        let is_whole = *extent == Extent::Whole;
        let tallies = self.chunks()?;
        if !claim.is_published {
            if is_whole {
                job.copy_other_keys(claim)?;
            }
            claim.checkpoint()?;
            if is_whole && claim.output.data().abilities().is_remote {
                self.mend(&tallies)?;
            }
        }
        let mut verified = self.verify().map_err(Ended::of_proof)?;
        let qualities = self.quality(&mut verified).and_then(|found| job.hold(&tallies, found));
        let qualities = qualities.map_err(Ended::of_proof)?;
        job.driver.interrupt().check().map_err(OperationError::from)?;
        if is_whole {
            job.remove_staging()?;
        }
        let found = tallies.into_iter().zip(verified).zip(qualities);
        Ok(found.map(|((tally, verified), quality)| Done { tally, verified, quality }).collect())
    }

    /// Writes the chunks of all arrays.
    fn chunks(&self) -> Result<Vec<ObjectReport>, Ended> {
        let known = self.job.arrays.iter().filter_map(|array| self.bytes_left(array)).reduce(u64::saturating_add);
        let progress = self.job.progress;
        progress.start("transcode", known);
        let piece = Piece(progress);
        let written = self.each(|array, driver| {
            // Beside arrays whose length is known, one whose length is not is left out.
            let is_told = known.is_none() || self.bytes_left(array).is_some();
            let progress: &dyn Progress = if is_told { &piece } else { &Silent };
            let between = match (&self.extent, array.plan.job.staged().is_some()) {
                (Extent::FirstPasses, true) => return self.write_between(array, driver, progress),
                (Extent::FirstPasses, false) => return Ok(ObjectReport::default()),
                (Extent::AfterThem(between), true) => between.get(&array.path).copied(),
                _ => None,
            };
            self.write_chunks(array, between, driver, progress)
        });
        progress.finish();
        written
    }

    /// Holds what DEST has against what was written, and writes again what lacks: a request that somebody made before this
    /// run began may reach the store after it.
    fn mend(&self, written: &[ObjectReport]) -> Result<(), Ended> {
        for _ in 0..MOST_MENDED {
            let mut is_whole = true;
            let stored = stored(self.claim.output.data(), &self.job.arrays, &self.job.driver)?;
            for ((array, (present, bytes)), written) in self.job.arrays.iter().zip(stored).zip(written) {
                if written.is_of(&present) && bytes == written.bytes_written {
                    continue;
                }
                is_whole = false;
                let driver = narrowed(&self.job.driver, array.memory.threads)?;
                self.write_again(array, &present, written, &driver)?;
            }
            if is_whole {
                return Ok(());
            }
            self.claim.checkpoint()?;
        }
        let shown = &self.claim.output.shown;
        let message = format!("`{shown}` does not hold what was written, however often it is written");
        let help = "find out what else writes or removes there, and end it";
        Err(OperationError::environment(message).with_help(help).into())
    }

    fn bytes_left(&self, array: &PlannedArray) -> Option<u64> {
        if self.claim.is_published {
            return Some(0);
        }
        let job = &array.plan.job;
        match self.share_of(array) {
            None => job.bytes_left(&self.claim.journal.pass(&array.path).done),
            Some((pass, part)) => {
                job.bytes_of(pass, Some(&part.assigned.clone().unwrap_or_default().without(&part.done)))
            }
        }
    }

    /// The units of an array that a part of a job has, and the pass that writes them; `None` where all are this run's.
    fn share_of(&self, array: &PlannedArray) -> Option<(usize, PassProgress<'a>)> {
        let journal = &self.claim.journal;
        match self.extent {
            Extent::Whole => None,
            Extent::FirstPasses => Some((0, journal.pass(&journal::name_of_pass(&array.path, FIRST_PASS)))),
            Extent::AfterThem(_) => Some((usize::from(array.plan.job.staged().is_some()), journal.pass(&array.path))),
        }
    }

    /// Reads all arrays back that are to be compared, but for those that are compared while their quality is measured.
    fn verify(&self) -> Result<Vec<Option<Verification>>> {
        if !self.job.options.run.verify {
            return Ok(self.job.arrays.iter().map(|_| None).collect());
        }
        let bytes = |array: &PlannedArray| match self.share_of(array) {
            _ if self.measures(array) => None,
            None => array.plan.job.bytes_left(&ChunkSet::default()),
            Some((pass, part)) => part.assigned.as_ref().and_then(|of| array.plan.job.bytes_of(pass, Some(of))),
        };
        let known = self.job.arrays.iter().filter_map(bytes).reduce(u64::saturating_add);
        let progress = self.job.progress;
        progress.start("verify", known);
        let verified = self.each(|array, driver| {
            if self.measures(array) {
                return Ok(None);
            }
            let share = Share::new(progress, bytes(array).unwrap_or(0), 1);
            // Of small arrays many are compared at once, each in its own share.
            let budget = self.job.budget;
            let budget = if array.is_small { budget.limited(array.memory.bytes) } else { budget };
            let part = self.share_of(array);
            let objects = part.as_ref().and_then(|(pass, part)| Some((*pass, part.assigned.as_ref()?)));
            match objects.filter(|(_, objects)| !objects.is_empty()) {
                None if part.is_some() => Ok(None),
                objects => verify::verify(&array.plan, objects, (budget, driver), &share).map(Some),
            }
        });
        progress.finish();
        verified
    }

    /// Whether it is measured what became of an array.
    fn measures(&self, array: &PlannedArray) -> bool {
        self.job.options.run.quality && quality::is_lossy(&array.plan)
    }

    /// Measures what became of the arrays that are quantised, where that is asked for; what was found of those that are compared,
    /// too, is noted.
    fn quality(&self, verified: &mut [Option<Verification>]) -> Result<Vec<Option<QualityResult>>> {
        let run = &self.job.options.run;
        let by = (self.job.budget, &self.job.driver);
        let measured = self.job.arrays.iter().zip(verified).map(|(array, verified)| {
            let measured = if self.measures(array) {
                quality::measure(&array.plan, run.verify, by, self.job.progress)?
            } else {
                None
            };
            let Some((quality, found)) = measured else { return Ok(None) };
            *verified = found;
            Ok(Some(quality))
        });
        measured.collect()
    }

    /// Does something with every array: small ones many at a time, the others one after the other.
    fn each<R: Send, E: Send + From<OperationError>>(
        &self,
        work: impl Fn(&PlannedArray, &Driver) -> Result<R, E> + Send + Sync,
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

    /// The intermediate data of an array in two passes: their objects and bytes count as written.
    fn write_between(
        &self,
        PlannedArray { path, plan, .. }: &PlannedArray,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<ObjectReport, Ended> {
        let part = self.claim.journal.pass(path);
        let mut bytes_read = 0;
        let run = plan.job.run_first(driver, progress, &part, |report| bytes_read += report.bytes_read);
        let Intermediate { objects, bytes } = run.map_err(|fault| plan.explain(fault))?;
        Ok(ObjectReport { written: objects, bytes_read, bytes_written: bytes, ..ObjectReport::default() })
    }

    /// All chunks that are not written yet; where they come from intermediate data that another run wrote, from so much.
    fn write_chunks(
        &self,
        PlannedArray { path, plan, .. }: &PlannedArray,
        between: Option<Intermediate>,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<ObjectReport, Ended> {
        let part = self.claim.journal.pass(path);
        let mut tally = ObjectReport::default();
        tally.add(&part.before);
        if self.claim.is_published {
            return Ok(tally);
        }
        if self.claim.is_resumed {
            // A run that was interrupted may have left objects that are not whole.
            let metadata = &plan.destination.metadata;
            unfinished::remove_unfinished(&plan.target, metadata, &part, driver).map_err(cannot_write)?;
        }
        let fold = |report: ObjectReport| tally.add(&report);
        let run = match between {
            Some(between) => plan.job.run_second(between, driver, progress, &part, fold),
            None => plan.job.run(driver, progress, &part, fold),
        };
        run.map_err(|fault| {
            let is_for_good = fault.fault.is_of_value();
            Ended { error: plan.explain(fault), is_for_good }
        })?;
        check_error(plan, &tally)?;
        Ok(tally)
    }

    /// Writes again what lacks of what was written; all of it where that does not tell.
    fn write_again(
        &self,
        PlannedArray { path, plan, .. }: &PlannedArray,
        present: &ChunkSet,
        written: &ObjectReport,
        driver: &Driver,
    ) -> Result<()> {
        let (journal, metadata) = (&self.claim.journal, &plan.destination.metadata);
        let mut lacking = ChunkSet::full(metadata.num_chunks());
        if present.len() < written.written {
            lacking = lacking.without(present);
        } else {
            unfinished::remove_objects(&plan.target, metadata, present, driver).map_err(cannot_write)?;
        }
        let part = journal.pass(path).again(lacking);
        let between = journal.counted(&journal::name_of_pass(path, FIRST_PASS));
        let ObjectReport { written: objects, bytes_written: bytes, .. } =
            between.map_err(|error| OperationError::environment("what was done is not known").because(error))?;
        let again = plan.job.run_second(Intermediate { objects, bytes }, driver, &Silent, &part, |_| ());
        again.map_err(|fault| plan.explain(fault))
    }
}

/// Proves that DEST keeps `--max-error`: SOURCE may have changed since it was read.
fn check_error(plan: &Plan, tally: &ObjectReport) -> Result<(), Ended> {
    let allowed = plan.changed.quantization.as_ref().and_then(|quantization| quantization.max_error);
    let found = tally.figures.max_abs_error;
    let Some(allowed) = allowed.filter(|allowed| found > *allowed) else { return Ok(()) };
    let store = &plan.source.store;
    let message = format!("`{store}`: the greatest error is {found}, and --max-error is {allowed}");
    let help = "if nothing else writes to the array, please report this as a bug, with the command line";
    Err(Ended { error: OperationError::data(message).with_help(help), is_for_good: true })
}

/// The objects of arrays that DEST has, and their bytes.
pub(super) fn stored(place: &Node, arrays: &[PlannedArray], driver: &Driver) -> Result<Vec<Stored>> {
    let metadata = arrays.iter().map(|array| &array.plan.destination.metadata);
    if place.abilities().is_remote {
        let paths = arrays.iter().map(|array| array.path.trim_start_matches('/'));
        let all: Vec<_> = paths.zip(metadata).collect();
        return list_together(place, &all).map_err(cannot_write);
    }
    let of = |(array, metadata): (&PlannedArray, _)| {
        let listing = list_with_sizes(&array.plan.target, metadata, driver).map_err(cannot_write)?;
        Ok((listing.present, listing.present_bytes))
    };
    arrays.iter().zip(metadata).map(of).collect()
}

/// The number of small arrays that so many threads write at once, and the bytes that they need together.
fn small_at_once(arrays: &[PlannedArray], budget: Budget, threads: usize) -> (usize, u64) {
    let small = arrays.iter().filter(|array| array.is_small);
    let most = small.map(|array| array.memory.bytes).max().unwrap_or(0);
    let at_once = usize::try_from(budget.bytes() / most.max(1)).unwrap_or(usize::MAX);
    let threads = at_once.clamp(1, threads);
    (threads, most.saturating_mul(threads as u64))
}

/// The most bytes that writing takes at any time.
pub(super) fn most_bytes(arrays: &[PlannedArray], budget: Budget, threads: usize) -> u64 {
    let (_, small) = small_at_once(arrays, budget, threads);
    arrays.iter().map(|array| array.memory.bytes).fold(small, u64::max)
}

//! Runs a plan: writes the chunks of all arrays, reads them back if requested, writes the metadata, and returns the
//! report.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Weak;
use std::time::Instant;

use super::plan::{keep_bits, planner::ahead_bytes};
use super::planning::{JobPlan, bytes_of};
use super::{
    Done, LockedDestination, NodeDocuments, Output, Plan, SealedPlan, Source, SourceArray, cannot_write,
    documents::with_copies, outcome, quality, space, verify::ReadBack,
};
use crate::array::{ChunkSet, Interrupt};
use crate::engine::listing::{Stored, list_together, list_with_sizes, remove_objects, remove_unfinished};
use crate::engine::route::staged::{FIRST_PASS, Intermediate};
use crate::engine::{Driver, ObjectReport, PassProgress, Progress, Silent, SubProgress, journal};
use crate::operation::transcode_result::{NodeResult, Totals};
use crate::operation::{
    Budget, FaultClass, KeepBits, OperationError, QuantizationResult, Result, TranscodeOptions, TranscodeResult,
    hierarchy, narrowed, new_driver,
};
use crate::store::{Node, RUN_FOLDER};

/// Converts an array, or a group and everything below it, from SOURCE to DEST.
pub fn transcode(
    options: &TranscodeOptions,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<TranscodeResult> {
    let begun = Instant::now();
    JobPlan::new(options, |_| Ok(()), |_| true, progress, interrupt)?.run(begun, interrupt)
}

impl<'a> JobPlan<'a> {
    /// Resolves a job. `given` sets what is resolved already in SOURCE's arrays. Arrays whose number is not wanted are
    /// left out. The others are resolved as among all arrays.
    pub(super) fn new(
        options: &'a TranscodeOptions,
        given: impl FnOnce(&mut Source) -> Result<()>,
        is_wanted: impl Fn(usize) -> bool,
        progress: &'a dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let budget = Budget::new(&options.run.common);
        let driver = new_driver(budget.threads(), interrupt)?;
        let mut source = Source::taken(options, given, &driver)?;
        let output = Output::find(&source.node, source.document_key, options)?;
        source.warnings.extend_from_slice(&output.warnings);
        let found = take(&mut source.arrays);
        let is_tree = found.len() > 1;
        // Arrays that are not wanted here count, too: the number of parts of each array depends on all.
        let bytes = found.iter().map(|array| bytes_of(&array.opened)).fold(0, u64::saturating_add);
        let (cache, arrays, sealed) = Default::default();
        let mut job =
            JobPlan { options, budget, driver, progress, source, output, is_tree, bytes, cache, arrays, sealed };
        let wanted = found.into_iter().enumerate().filter(|(number, _)| is_wanted(*number));
        job.arrays = job.plan(wanted.map(|(number, array)| SourceArray { number, ..array }).collect())?;
        // The first passes kept chunks in what they left of the budget. Writing may need more, so the limit is set
        // again.
        let needed = most_bytes(&job.arrays, budget, job.driver.num_threads());
        job.cache.limit(budget.left_by(needed.saturating_add(ahead_bytes(&job.source.node))));
        let documents = job.arrays.iter_mut().map(|array| (array.path.clone(), take(&mut array.documents)));
        let mut nodes: BTreeMap<String, NodeDocuments> = documents.collect();
        // A single array has no group that could contain the variable.
        if !job.source.groups.is_empty() {
            keep_bits::add_documents(&job.arrays, &mut nodes);
        }
        job.sealed = SealedPlan::seal(options, &job.source, &job.arrays);
        job.sealed.documents = with_copies(options, &job.source.groups, nodes)?;
        Ok(job)
    }

    /// Runs the whole job, which started at `begun`. For a plan that is shown, returns what it would do.
    pub(super) fn run(self, begun: Instant, interrupt: &Interrupt) -> Result<TranscodeResult> {
        self.check_room()?;
        self.check_quality()?;
        let sealed = &self.sealed;
        if self.options.run.dry_run {
            return self.shown(begun);
        }
        // A signal may come while DEST is claimed. Until then there is no journal to flush.
        let cleanup = self.output.cleanup(Weak::new());
        let unfinished = interrupt.begin(self.output.left_when_stopped(), Some(cleanup))?;
        let claim = self.output.clone().claim(&sealed.fingerprint())?;
        unfinished.set_cleanup(claim.cleanup());
        let unlocked = claim.unlocked_warning();
        let writing = Writing { job: &self, claim: &claim, extent: Extent::Whole };
        let done = match check_published(&claim, sealed).map_err(RunFailure::from).and_then(|()| writing.run()) {
            Ok(done) => done,
            Err(ended) => return Err(self.fail(claim, ended)),
        };
        claim.publish(&sealed.documents, &self.driver)?;
        let mut result = self.result(Some(done), begun);
        result.warnings.extend(unlocked);
        Ok(result)
    }

    /// Fails if DEST has too little space for what the whole job writes in addition to SOURCE's own objects. Parts do
    /// not check this: others have written, or will write, the rest.
    pub(super) fn check_room(&self) -> Result<()> {
        self.arrays
            .iter()
            .try_for_each(|array| space::check_room(array).map_err(|error| self.named(error, &array.source.store)))
    }

    /// Fails if quality is requested and no array has one, or if there is too little memory for it.
    fn check_quality(&self) -> Result<()> {
        if !self.options.run.quality {
            return Ok(());
        }
        if !self.arrays.iter().any(quality::is_lossy) {
            let message = "`--quality` and `--require` need a quantised array, and no array is quantised";
            let help = "give `--max-error`, `--step`, `--quantize` or `--keep-bits`, with patterns that match an array, or \
                leave them out";
            return Err(OperationError::data(message).with_help(help));
        }
        self.arrays.iter().try_for_each(|array| quality::check_room(array, self.budget))
    }

    /// Fails unless the resolved plan is the same as `sealed`. Some of its arrays may be left out here.
    pub(super) fn check_same(&self, sealed: &SealedPlan, is_wanted: impl Fn(usize) -> bool) -> Result<()> {
        if self.arrays.len() == sealed.arrays.len() {
            return sealed.check_same(&self.sealed);
        }
        sealed.of_some(is_wanted).check_same(&self.sealed.of_some(|_| true))
    }

    /// Returns the parts of the fingerprint that a plan without passes over the data does not resolve.
    fn open_parts(&self) -> &'static [&'static str] {
        let is_open =
            |array: &Plan| array.compression.is_some() || matches!(array.change.keep_bits, Some(KeepBits::Auto(_)));
        let parts = &["the quantisation", "the metadata of DEST", "the options"];
        match (self.arrays.iter().any(is_open), self.sealed.open_arrays().is_empty()) {
            (true, _) => parts,
            (false, false) => &parts[..2],
            (false, true) => &[],
        }
    }

    /// Returns the result of a plan that is shown.
    fn shown(&self, begun: Instant) -> Result<TranscodeResult> {
        // With `--resume`, a plan that the run would refuse must not be shown.
        self.output.check_plan(&self.sealed.fingerprint(), self.open_parts())?;
        let mut estimates = if self.options.run.estimate { self.estimates()? } else { BTreeMap::new() };
        let mut result = self.result(None, begun);
        for node in &mut result.nodes {
            node.estimate = estimates.remove(&node.path);
        }
        let documents = self.sealed.documents.iter().map(|(key, _)| key.as_str());
        let keys: Vec<&str> = documents.chain(self.source.other_keys.iter().map(String::as_str)).collect();
        result.plan = Some(self.planned_objects(&keys));
        result.warnings.extend(self.many_objects());
        Ok(result)
    }

    /// Ends a run of the whole job that failed.
    fn fail(&self, claim: LockedDestination, RunFailure { error, is_final }: RunFailure) -> OperationError {
        // Intermediate data that cannot be removed are in the folder for temporary files.
        if is_final || !claim.output.keeps_unfinished() {
            let _ = self.remove_staging();
        }
        let error = if is_final { error } else { self.with_missing_space(error, &claim.journal) };
        claim.fail(error, is_final)
    }

    /// Checks the measurements against the requirements. The error names all that are not met.
    pub(super) fn hold(&self, done: &[Done]) -> Result<()> {
        let requirements = &self.options.run.requirements;
        let mut faults = Vec::new();
        for (array, Done { tally, quality, .. }) in self.arrays.iter().zip(done) {
            let Some(result) = outcome::quantization_of(array, tally, true) else { continue };
            let result = QuantizationResult { quality: quality.clone(), ..result };
            let whose = if self.is_tree { format!("`{}`: ", array.path) } else { String::new() };
            let of_array = requirements.iter().filter_map(|requirement| requirement.fault(&result));
            faults.extend(of_array.map(|fault| whose.clone() + &fault));
        }
        if faults.is_empty() {
            return Ok(());
        }
        let message = format!("`--require` failed, nothing was written: {}", faults.join("; "));
        Err(OperationError::data(message).with_help(
            "use finer steps (a smaller `--max-error` or `--step`, a wider `--quantize` type, more `--keep-bits`), or require less; in a group, `--exclude` leaves an array unchanged",
        ))
    }

    /// Copies the keys that belong to no node.
    pub(super) fn copy_other_keys(&self, claim: &LockedDestination) -> Result<()> {
        let keys = &self.source.other_keys;
        if keys.is_empty() {
            return Ok(());
        }
        let work = claim.output.data();
        // A sparse file in SOURCE may be larger than any disk. Its copy is refused before it begins.
        let free = work.free_space().map_err(cannot_write)?;
        let most = free.bytes();
        let copied = self.driver.map_plain(keys, |key| work.copy_from(&self.source.node, (key, key), most).transpose());
        copied.into_iter().zip(keys).try_for_each(|(copied, key)| {
            let store = self.options.source.display();
            let failed = || OperationError::environment(format!("`{key}` of `{store}` cannot be copied"));
            let missing = || failed().because(std::io::Error::from(std::io::ErrorKind::NotFound));
            copied.ok_or_else(missing)?.map(drop).map_err(|error| failed().because(error))
        })
    }

    pub(super) fn remove_staging(&self) -> Result<()> {
        for array in &self.arrays {
            let Some(staged) = array.job.staged() else { continue };
            staged.remove().map_err(cannot_write)?;
            // The folder at the root also contains the journal, which is removed last.
            if array.path != "/" && !staged.is_outside {
                array.target.below(&RUN_FOLDER).remove_root().map_err(cannot_write)?;
            }
        }
        Ok(())
    }

    /// Returns the result of the work. Without outcomes: of the plan.
    pub(super) fn result(&self, outcomes: Option<Vec<Done>>, begun: Instant) -> TranscodeResult {
        let ran = outcomes.is_some();
        let mut warnings = self.source.warnings.clone();
        let of_group = |path: &String| NodeResult { path: path.clone(), node_type: "group", ..NodeResult::default() };
        let mut nodes: Vec<_> = self.source.groups.iter().map(|group| of_group(&group.node_path.path)).collect();
        let mut outcomes = outcomes.unwrap_or_default().into_iter();
        for array in &self.arrays {
            nodes.push(outcome::array_result(array, outcomes.next(), &mut warnings));
        }
        nodes.sort_by(|a, b| hierarchy::compare_paths(&a.path, &b.path));
        TranscodeResult {
            source: self.options.source.display().to_string(),
            destination: self.options.destination.display().to_string(),
            dry_run: self.options.run.dry_run,
            complete: ran,
            seconds: begun.elapsed().as_secs_f64(),
            totals: Totals::new(&nodes, self.source.other_keys.len() as u64),
            nodes,
            plan: None,
            spared: self.source.spared.clone(),
            warnings,
        }
    }
}

/// Fails if DEST is published already, with other metadata than this plan's.
fn check_published(claim: &LockedDestination, sealed: &SealedPlan) -> Result<()> {
    // The root document is enough: the fingerprint of the journal covers the others.
    let Some((key, document)) = sealed.documents.last().filter(|_| claim.is_published) else {
        return Ok(());
    };
    let found = claim.output.data().read_document(key).map_err(cannot_write)?;
    let error = OperationError::environment(format!("`{}` is complete, and of another plan", claim.output.shown));
    let is_same = found.as_deref() == Some(document.as_bytes());
    if is_same { Ok(()) } else { Err(error.with_help("`--overwrite` replaces it")) }
}

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
        let is_whole = matches!(extent, Extent::Whole);
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
            self.write(array, driver, progress)
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
            let read_back = ReadBack { plan: array, share: None, budget: *budget, driver, progress: *progress };
            let measured = quality::measure(&read_back, options.run.verify)?;
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

    /// Writes all chunks of this run that are not written yet. The objects and bytes of intermediate data alone count as
    /// written.
    fn write(&self, plan: &Plan, driver: &Driver, progress: &dyn Progress) -> Result<ObjectReport, RunFailure> {
        let part = self.claim.journal.pass(&plan.path);
        let mut tally = ObjectReport::default();
        // The size of intermediate data that another run wrote.
        let between = match (&self.extent, plan.job.staged().is_some()) {
            (Extent::FirstPasses, false) => return Ok(tally),
            (Extent::FirstPasses, true) => {
                let run =
                    plan.job.run_first((driver, &part, progress), &mut |report| tally.bytes_read += report.bytes_read);
                let Intermediate { objects, bytes } = run.map_err(|fault| plan.explain(fault))?;
                return Ok(ObjectReport { written: objects, bytes_written: bytes, ..tally });
            }
            (Extent::AfterThem(between), true) => Some(between.get(&plan.number).copied().unwrap_or_default()),
            _ => None,
        };
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

//! Runs a plan: writes the chunks, then the metadata, and returns the report.
//!
//! A job of `transcode`: the plans of all arrays of SOURCE, and DEST's documents.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Weak;
use std::time::Instant;

use super::plan::{Planner, ahead_bytes, keep_bits};
use super::writing::{Extent, RunFailure, Writing, most_bytes};
use super::{
    Done, LockedDestination, NodeDocuments, Output, Plan, Sampler, SealedPlan, Source, SourceArray, cannot_write,
    format::consolidate::with_copies, outcome, quality, sample::Search,
};
use crate::array::{ChunkCache, Interrupt};
use crate::engine::{Driver, Progress, Silent, SubProgress};
use crate::grid::volume;
use crate::operation::transcode_result::{NodeResult, Totals};
use crate::operation::{
    Budget, Compression, CompressionGoal, CompressionResult, KeepBits, OpenedArray, OperationError, Predict,
    Quantization, QuantizationResult, Result, TranscodeOptions, TranscodeResult, hierarchy, new_driver,
    options::options_for,
};
use crate::store::RUN_FOLDER;

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
        let (cache, arrays, documents) = Default::default();
        let mut job =
            JobPlan { options, budget, driver, progress, source, output, is_tree, bytes, cache, arrays, documents };
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
        job.documents = with_copies(options, &job.source.groups, nodes)?;
        Ok(job)
    }

    /// Runs the whole job, which started at `begun`. For a plan that is shown, returns what it would do.
    pub(super) fn run(mut self, begun: Instant, interrupt: &Interrupt) -> Result<TranscodeResult> {
        self.check_room()?;
        self.check_quality()?;
        let sealed = self.seal();
        if self.options.run.dry_run {
            return self.shown(&sealed, begun);
        }
        // A signal may come while DEST is claimed. Until then there is no journal to flush.
        let cleanup = self.output.cleanup(Weak::new());
        let unfinished = interrupt.begin(self.output.left_when_stopped(), Some(cleanup))?;
        let claim = self.output.clone().claim(&sealed.fingerprint())?;
        unfinished.set_cleanup(claim.cleanup());
        let unlocked = claim.unlocked_warning();
        let writing = Writing { job: &self, claim: &claim, extent: Extent::Whole };
        let done = match check_published(&claim, &sealed).map_err(RunFailure::from).and_then(|()| writing.run()) {
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
            .try_for_each(|array| outcome::check_room(array).map_err(|error| self.named(error, &array.source.store)))
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
        let again = SealedPlan::seal(self, self.documents.clone());
        if self.arrays.len() == sealed.arrays.len() {
            return sealed.check_same(&again);
        }
        sealed.of_some(is_wanted).check_same(&again.of_some(|_| true))
    }

    /// Seals the plan. Moves the documents of DEST out of this one.
    pub(super) fn seal(&mut self) -> SealedPlan {
        let documents = take(&mut self.documents);
        SealedPlan::seal(self, documents)
    }

    /// Returns the parts of the fingerprint that a plan without passes over the data does not resolve.
    fn open_parts(&self, sealed: &SealedPlan) -> &'static [&'static str] {
        let is_open =
            |array: &Plan| array.compression.is_some() || matches!(array.change.keep_bits, Some(KeepBits::Auto(_)));
        let parts = &["the quantisation", "the metadata of DEST", "the options"];
        match (self.arrays.iter().any(is_open), sealed.open_arrays().is_empty()) {
            (true, _) => parts,
            (false, false) => &parts[..2],
            (false, true) => &[],
        }
    }

    /// Returns the result of a plan that is shown.
    fn shown(&self, sealed: &SealedPlan, begun: Instant) -> Result<TranscodeResult> {
        // With `--resume`, a plan that the run would refuse must not be shown.
        self.output.check_plan(&sealed.fingerprint(), self.open_parts(sealed))?;
        let mut estimates = if self.options.run.estimate { self.estimates()? } else { BTreeMap::new() };
        let mut result = self.result(None, begun);
        for node in &mut result.nodes {
            node.estimate = estimates.remove(&node.path);
        }
        let documents = sealed.documents.iter().map(|(key, _)| key.as_str());
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

/// Size limit of small arrays of a hierarchy: one thread converts each, many at the same time.
const SMALL_BYTES: u64 = 32 << 20;

/// A resolved job of which nothing is written yet.
pub(super) struct JobPlan<'a> {
    pub options: &'a TranscodeOptions,
    pub budget: Budget,
    pub driver: Driver,
    pub progress: &'a dyn Progress,
    pub source: Source,
    pub output: Output,
    /// Whether SOURCE has several arrays. Messages then name them.
    pub is_tree: bool,
    /// Bytes of the elements of all arrays.
    pub bytes: u64,
    /// Chunks that first passes keep.
    pub cache: ChunkCache,
    pub arrays: Vec<Plan>,
    /// The documents of DEST by key. The last one makes it a node.
    pub documents: Vec<(String, String)>,
}

impl JobPlan<'_> {
    /// Returns the least number of parts of an array: its share of those of the job, by bytes. `None` for a job that is
    /// not in parts.
    fn least_parts(&self, array: &OpenedArray) -> Option<u64> {
        let share = u128::from(bytes_of(array)) * u128::from(self.options.run.partitions?);
        Some(u64::try_from(share.div_ceil(u128::from(self.bytes.max(1)))).unwrap_or(u64::MAX))
    }

    /// Resolves all arrays. Those that read no chunk are resolved many at a time, first passes run one after the other.
    pub(super) fn plan(&self, arrays: Vec<SourceArray>) -> Result<Vec<Plan>> {
        // A single array uses all threads for the listing of its chunks.
        let is_quick = |array: &SourceArray| {
            let finds_bits = matches!(array.change.keep_bits, Some(KeepBits::Auto(_)));
            let tries = matches!(array.change.compress, Some(Compression::Auto(_)))
                || array.change.predict == Some(Predict::Auto);
            self.is_tree && array.change.quantize.is_none() && !finds_bits && !tries
        };
        let quick = self.driver.map_plain(&arrays, |array| {
            is_quick(array).then(|| self.plan_array(array.clone(), &self.driver.alone(), &Silent))
        });
        let passes = |(array, quick): (_, &Option<_>)| if quick.is_some() { (0, 0) } else { first_pass_bytes(array) };
        let passes: Vec<(u64, u64)> = arrays.iter().zip(&quick).map(passes).collect();
        let whole = passes.iter().fold(0_u64, |all, (bytes, _)| all.saturating_add(*bytes));
        if self.is_tree && whole > 0 {
            self.progress.start("first pass", Some(whole));
        }
        let planned = arrays.into_iter().zip(quick).zip(passes).map(|((array, quick), (bytes, passes))| {
            let share = SubProgress::new(self.progress, bytes, passes);
            let progress: &dyn Progress = if self.is_tree { &share } else { self.progress };
            quick.unwrap_or_else(|| self.plan_array(array, &self.driver, progress))
        });
        // The first error is that of the first array, whichever thread found one first.
        let all = planned.collect::<Result<Vec<_>>>();
        self.progress.finish();
        let all = all?;
        // Only now: one error names all such arrays.
        refuse_eaten(&all)?;
        Ok(all)
    }

    /// Resolves an array. An error names it, if there are several.
    fn plan_array(&self, array: SourceArray, driver: &Driver, progress: &dyn Progress) -> Result<Plan> {
        let store = array.opened.store.clone();
        self.resolve(array, driver, progress).map_err(|error| self.named(error, &store))
    }

    /// Adds the name of an array to an error, if there are several.
    pub(super) fn named(&self, error: OperationError, store: &str) -> OperationError {
        if self.is_tree { error.about(store) } else { error }
    }

    fn resolve(&self, mut array: SourceArray, driver: &Driver, progress: &dyn Progress) -> Result<Plan> {
        self.driver.interrupt().check()?;
        let opened = &array.opened;
        let target = match array.path.trim_start_matches('/') {
            "" => self.output.data().clone(),
            inside => self.output.data().child(inside).map_err(cannot_write)?,
        };
        let target = target.with_permissions_of(&opened.node, opened.documents.key);
        let is_small = self.is_tree && bytes_of(opened) <= SMALL_BYTES;
        let budget = if is_small { self.budget.narrowed(1) } else { self.budget };
        let (run, cache) = (&self.options.run, &self.cache);
        let own_cache = cache.part(opened.node.prefetch_limit().is_some());
        let (least_parts, is_in_tree) = (self.least_parts(opened), self.is_tree);
        let asked = array.change.clone();
        let search = Search::new(&mut array.change);
        let mut planner = Planner { array, target, is_in_tree, run, least_parts, budget, driver, cache, own_cache };
        let mut plan = planner.plan(progress)?;
        let is_open = plan.changed.quantization.as_ref().is_some_and(|quantization| !quantization.is_resolved());
        let open = |goal: CompressionGoal| CompressionResult { goal: goal.name().to_owned(), ..Default::default() };
        if run.dry_run && run.partitions.is_none() && !run.estimate {
            plan.compression = search.goal.map(open);
        } else if search.goal.is_some() || search.predicts {
            let result = Sampler { budget, driver }.choose(search, &plan, &mut planner.array.change)?;
            plan = planner.assemble(plan.listing, plan.changed.quantization)?;
            plan.compression = result;
            if run.partitions.is_some() && is_open {
                // Parts choose with the results of the first pass, as one run does. Until then the chain is a forecast.
                (plan.change, plan.compression) = (asked, search.goal.map(open));
            }
        } else {
            plan.compression = planner.array.compression.take();
        }
        // The memory depends on the chain, so it is last.
        plan.memory = plan.allot(budget, run.verify)?;
        plan.is_small = is_small;
        if plan.path != "/" {
            for warning in &mut plan.warnings {
                warning.location.node.get_or_insert_with(|| plan.path.clone());
            }
        }
        Ok(plan)
    }
}

/// Fails if `--max-error` is so large that different values of an array would all become equal.
fn refuse_eaten(arrays: &[Plan]) -> Result<()> {
    let is_eaten = |array: &&Plan| array.changed.quantization.as_ref().is_some_and(Quantization::eats_range);
    let eaten: Vec<&Plan> = arrays.iter().filter(is_eaten).collect();
    let Some(first) = eaten.first() else { return Ok(()) };
    let paths: Vec<&str> = eaten.iter().map(|array| array.path.trim_start_matches('/')).collect();
    let (names, help) = if arrays.len() == 1 {
        let range = first.changed.quantization.as_ref().and_then(|quantization| quantization.range);
        let range = range.map_or_else(String::new, |(lo, hi)| format!(", {lo} to {hi}"));
        (format!("`{}`{range}", first.source.store), "give a smaller error".to_owned())
    } else {
        let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
        let rules = options_for("--rule", &paths, ": --max-error NUMBER");
        let excluded = options_for("--exclude", &paths, "");
        (names.join(", "), format!("give a smaller error with `{rules}`, or copy as it is with `{excluded}`"))
    };
    let message = format!("--max-error is at least half the range of {names}: all values would become one value");
    Err(OperationError::data(message).with_help(help))
}

/// Returns the bytes that the first passes of an array read, and the number of passes. With `--max-error` there is at
/// least one more.
fn first_pass_bytes(array: &SourceArray) -> (u64, u64) {
    let passes = match &array.change.quantize {
        Some(quantize) if array.resolved.is_none() => 1 + u64::from(quantize.max_error.is_some()),
        None if matches!(array.change.keep_bits, Some(KeepBits::Auto(_))) => 1,
        // The results of a first pass are known already.
        _ => 0,
    };
    (bytes_of(&array.opened).saturating_mul(passes), passes)
}

pub(super) fn bytes_of(array: &OpenedArray) -> u64 {
    volume(&array.metadata.shape).saturating_mul(array.data_type.size().unwrap_or(usize::MAX) as u64)
}

//! Runs a plan: writes the chunks, then the metadata, and returns the report.

use std::collections::BTreeMap;

use super::plan::{keep_bits, planner::ahead_bytes};
use super::planning::{JobPlan, bytes_of};
use super::writing::{Extent, RunFailure, Writing, most_bytes};
use super::{
    Done, LockedDestination, NodeDocuments, Output, Plan, SealedPlan, Source, SourceArray, cannot_write,
    format::consolidate::with_copies, outcome, quality,
};
use crate::array::Interrupt;
use crate::engine::Progress;
use crate::operation::transcode_result::{NodeResult, Totals};
use crate::operation::{
    Budget, KeepBits, OperationError, QuantizationResult, Result, TranscodeOptions, TranscodeResult, hierarchy,
    new_driver,
};
use crate::store::RUN_FOLDER;
use std::mem::take;
use std::sync::Weak;
use std::time::Instant;

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

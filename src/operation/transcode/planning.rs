//! A job of `transcode`: the plans of all arrays of SOURCE, and DEST's documents.

use super::plan::Planner;
use super::sample::Search;
use super::{Output, Plan, Sampler, SealedPlan, Source, SourceArray, cannot_write};
use crate::array::ChunkCache;
use crate::engine::{Driver, Progress, Silent, SubProgress};
use crate::grid::volume;
use crate::operation::options::options_for;
use crate::operation::{
    Budget, Compression, CompressionGoal, CompressionResult, KeepBits, OpenedArray, OperationError, Predict,
    Quantization, Result, TranscodeOptions,
};

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
    /// The plan to be carried out.
    pub sealed: SealedPlan,
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

//! A plan carried out: the chunks, then the metadata, then what is reported.

use std::mem::take;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::budget::{Memory, allot};
use super::fault::{explain, explain_job};
use super::format::consolidate::with_copies;
use super::outcome::{Outcome, Tally, array_result, clamped_warning, dry_tally, group_result};
use super::plan::{Plan, Planner};
use super::room::{check_room, with_missing_space};
use super::site::{Claim, Site, cannot_write};
use super::tree::{Source, SourceArray};
use super::verify::{Verification, verify};
use super::work_bytes;
use crate::engine::ChunkSet;
use crate::engine::driver::Driver;
use crate::engine::interrupt::Interrupt;
use crate::engine::journal::{Fingerprint, Journal, Part};
use crate::engine::listing;
use crate::engine::progress::{Piece, Progress, Share, Silent};
use crate::engine::report::ObjectReport;
use crate::engine::route::staged;
use crate::metadata::array::num_elements;
use crate::operation::budget::Budget;
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::hierarchy::compare_paths;
use crate::operation::new_driver;
use crate::operation::options::{CommonOptions, TranscodeOptions};
use crate::operation::transcode_result::{Totals, TranscodeResult};
use crate::store::{Location, Node};

/// Arrays of a hierarchy that hold no more than this are each done by one thread, many at a time.
const SMALL_BYTES: u64 = 32 << 20;

/// Writes an array, or a group and all below it, anew.
pub fn transcode(
    options: &TranscodeOptions,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<TranscodeResult, OperationError> {
    let begun = Instant::now();
    let budget = Budget::of(&options.common);
    let driver = new_driver(budget.threads(), interrupt)?;
    let mut source = Source::open(options, &driver)?;
    let site = Site::find(&source.node, options)?.with_permissions_of(&source.node, source.document_key);
    let arrays = take(&mut source.arrays);
    let (work, is_tree) = (&site.work, arrays.len() > 1);
    let mut arrays = Planning { budget, interrupt, driver: &driver, progress, work, is_tree }.plan(arrays)?;
    let of_arrays = arrays.iter_mut().map(|array| (array.path.as_str(), take(&mut array.plan.documents)));
    let documents = with_copies(options, &source.groups, of_arrays.collect())?;
    let whole = Whole { options, source: &source, arrays: &arrays, documents: &documents };
    if options.dry_run {
        return Ok(whole.result(None, begun));
    }
    let _unfinished =
        interrupt.begin(format!("`{}`", site.shown())).map_err(|_| OperationError::interrupted())?;
    let claim = site.claim(&whole.fingerprint())?;
    let unlocked = claim.unlocked_warning();
    let outcomes = whole.write(claim, &driver, budget, progress)?;
    let mut result = whole.result(Some(outcomes), begun);
    result.warnings.extend(unlocked);
    driver.discard((source, arrays, documents));
    Ok(result)
}

/// An array that is settled.
#[derive(Debug)]
struct PlannedArray {
    path: String,
    plan: Plan,
    memory: Memory,
    /// Whether one thread does it.
    is_small: bool,
}

/// Settles arrays.
struct Planning<'a> {
    budget: Budget,
    interrupt: &'a Interrupt,
    driver: &'a Driver,
    progress: &'a dyn Progress,
    /// Where they will be.
    work: &'a Node,
    is_tree: bool,
}

impl Planning<'_> {
    /// Settles all arrays: what reads no chunk many at a time, first passes one after the other.
    fn plan(&self, arrays: Vec<SourceArray>) -> Result<Vec<PlannedArray>, OperationError> {
        let waiting: Vec<Mutex<Option<SourceArray>>> =
            arrays.into_iter().map(|array| Mutex::new(Some(array))).collect();
        let due = |slot: &Mutex<Option<SourceArray>>, is_due: &dyn Fn(&SourceArray) -> bool| {
            let mut array = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if array.as_ref().is_some_and(is_due) { array.take() } else { None }
        };
        let is_quick = |array: &SourceArray| self.is_tree && array.options.quantize.is_none();
        let quick = self.driver.map_plain(&waiting, |slot| {
            let driver = self.driver.alone();
            due(slot, &is_quick).map(|array| self.plan_array(array, &driver, &Silent))
        });
        let of_passes = |slot: &Mutex<Option<SourceArray>>| {
            let array = slot.lock().unwrap_or_else(PoisonError::into_inner);
            array.as_ref().map(first_pass_bytes)
        };
        let passes: Vec<Option<(u64, u64)>> = waiting.iter().map(of_passes).collect();
        let whole = passes.iter().flatten().fold(0_u64, |all, (bytes, _)| all.saturating_add(*bytes));
        if self.is_tree && whole > 0 {
            self.progress.start("first pass", Some(whole));
        }
        let mut all = Vec::with_capacity(waiting.len());
        for ((slot, planned), passes) in waiting.iter().zip(quick).zip(passes) {
            let (bytes, passes) = passes.unwrap_or_default();
            let share = Share::new(self.progress, bytes, passes);
            let progress: &dyn Progress = if self.is_tree { &share } else { self.progress };
            let rest = || due(slot, &|_| true).map(|array| self.plan_array(array, self.driver, progress));
            all.extend(planned.or_else(rest));
            if all.last().is_some_and(Result::is_err) {
                break;
            }
        }
        self.progress.finish();
        all.into_iter().collect()
    }

    /// Settles an array; of several, an error says which it is about.
    fn plan_array(
        &self,
        array: SourceArray,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<PlannedArray, OperationError> {
        let store = array.opened.store.clone();
        let settled = self.settle(array, driver, progress);
        settled.map_err(|error| if self.is_tree { error.about(&store) } else { error })
    }

    fn settle(
        &self,
        array: SourceArray,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<PlannedArray, OperationError> {
        self.interrupt.check().map_err(|_| OperationError::interrupted())?;
        let SourceArray { path, opened, options } = array;
        let target = match path.trim_start_matches('/') {
            "" => self.work.clone(),
            inside => self.work.child(inside).map_err(cannot_write)?,
        };
        let target = target.with_permissions_of(&opened.node, opened.key());
        let is_small =
            self.is_tree && logical_bytes(&opened.metadata.shape, opened.data_type.size()) <= SMALL_BYTES;
        let budget = if is_small { self.budget.narrowed(1) } else { self.budget };
        let planner = Planner { options: &options, budget, interrupt: self.interrupt, driver };
        let plan = planner.plan(opened, target, progress)?;
        let memory = allot(budget, &plan, options.verify)?;
        check_room(&plan)?;
        Ok(PlannedArray { path, plan, memory, is_small })
    }
}

/// Bytes that the first passes of an array read, and how many passes there are; under `--max-error` at least one more.
fn first_pass_bytes(array: &SourceArray) -> (u64, u64) {
    let passes = match &array.options.quantize {
        None => 0,
        Some(quantize) => 1 + u64::from(quantize.max_error.is_some()),
    };
    let opened = &array.opened;
    let bytes = logical_bytes(&opened.metadata.shape, opened.data_type.size());
    (if passes > 0 { bytes.saturating_mul(passes) } else { 0 }, passes)
}

fn logical_bytes(shape: &[u64], element_size: Option<usize>) -> u64 {
    let elements = num_elements(shape).unwrap_or(u64::MAX);
    elements.saturating_mul(element_size.unwrap_or(usize::MAX) as u64)
}

/// All that is written.
struct Whole<'a> {
    options: &'a TranscodeOptions,
    source: &'a Source,
    arrays: &'a [PlannedArray],
    /// By their keys, the one that makes DEST a node last.
    documents: &'a [(String, Vec<u8>)],
}

/// What was done with an array.
struct Done {
    tally: Tally,
    verified: Option<Verification>,
}

impl Whole<'_> {
    /// What a plan is told apart by. Threads, memory, and what is only checked or shown are no part of it.
    fn fingerprint(&self) -> Fingerprint {
        let node = &self.source.node;
        let root = node.resolved_root().unwrap_or_else(|_| node.root().to_path_buf());
        let root = root.into_os_string().into_encoded_bytes();
        let mut source = vec![root.as_slice()];
        for array in self.arrays {
            let read = &array.plan.source;
            source.extend([array.path.as_bytes(), &read.document_bytes]);
            source.extend(read.attributes_bytes.as_deref());
        }
        let asked = TranscodeOptions {
            common: CommonOptions::default(),
            source: Location::default(),
            destination: Location::default(),
            verify: false,
            dry_run: false,
            overwrite: false,
            resume: false,
            ..self.options.clone()
        };
        let asked = format!("{asked:?}");
        let documents =
            self.documents.iter().flat_map(|(key, document)| [key.as_bytes(), document.as_slice()]);
        Fingerprint::new([
            ("SOURCE", source),
            ("the options", vec![asked.as_bytes()]),
            ("the metadata of DEST", documents.collect()),
        ])
    }

    /// The chunks, the sync, the comparison, and the metadata last.
    fn write(
        &self,
        claim: Claim,
        driver: &Driver,
        budget: Budget,
        progress: &dyn Progress,
    ) -> Result<Vec<Done>, OperationError> {
        if let Err(error) = self.check_published(&claim) {
            return Err(claim.abandon(error));
        }
        let writing = Writing {
            arrays: self.arrays,
            claim: &claim,
            driver,
            budget,
            progress,
            verifies: self.options.verify,
        };
        let done = writing.chunks().and_then(|tallies| {
            if !claim.is_published {
                self.copy_other_keys(&claim, driver)?;
                claim.journal.checkpoint().map_err(|error| {
                    OperationError::environment("the destination cannot be made durable").because(error)
                })?;
            }
            Ok(tallies)
        });
        let tallies = match done {
            Ok(tallies) => tallies,
            Err(Ended { error, is_for_good: true }) => return Err(claim.discard(error)),
            Err(Ended { error, .. }) => {
                let plans = self.arrays.iter().map(|array| &array.plan);
                let error = with_missing_space(error, plans, &claim.journal);
                return Err(claim.abandon(error));
            }
        };
        let verified = match writing.verify() {
            Ok(verified) => verified,
            Err(error) if error.class() == FaultClass::Data => return Err(claim.discard(error)),
            Err(error) => return Err(claim.abandon(error)),
        };
        if driver.interrupt().check().is_err() {
            return Err(claim.abandon(OperationError::interrupted()));
        }
        if let Err(error) = self.remove_staging() {
            return Err(claim.abandon(error));
        }
        claim.publish(self.documents, driver)?;
        Ok(tallies.into_iter().zip(verified).map(|(tally, verified)| Done { tally, verified }).collect())
    }

    /// What stands in DEST is what this plan would publish.
    fn check_published(&self, claim: &Claim) -> Result<(), OperationError> {
        let Some((key, document)) = self.documents.last().filter(|_| claim.is_published) else {
            return Ok(());
        };
        let found = claim.site.work.read_document(key).map_err(cannot_write)?;
        if found.as_ref() == Some(document) {
            return Ok(());
        }
        Err(OperationError::environment(format!("`{}` is complete, and of another plan", claim.site.shown()))
            .with_help("`--overwrite` replaces it"))
    }

    /// Keys that belong to no node.
    fn copy_other_keys(&self, claim: &Claim, driver: &Driver) -> Result<(), OperationError> {
        let keys = &self.source.other_keys;
        if keys.is_empty() {
            return Ok(());
        }
        let work = &claim.site.work;
        let room = work.room().map_err(cannot_write)?;
        let most = room.blocks.saturating_mul(room.block_bytes);
        let copied =
            driver.map_plain(keys, |key| work.copy_from(&self.source.node, (key, key), most).map(|_| ()));
        copied.into_iter().zip(keys).try_for_each(|(copied, key)| {
            copied.map_err(|error| {
                let store = self.options.source.display();
                OperationError::environment(format!("`{key}` of `{store}` cannot be copied")).because(error)
            })
        })
    }

    fn remove_staging(&self) -> Result<(), OperationError> {
        let staged =
            |array: &&PlannedArray| array.plan.job.as_ref().is_some_and(|job| job.staging().is_some());
        for array in self.arrays.iter().filter(staged) {
            staged::remove(&array.plan.target).map_err(cannot_write)?;
            if array.path != "/" {
                Journal::remove_folder(&array.plan.target).map_err(cannot_write)?;
            }
        }
        Ok(())
    }

    /// What was done; without outcomes, what would be.
    fn result(&self, outcomes: Option<Vec<Done>>, begun: Instant) -> TranscodeResult {
        let ran = outcomes.is_some();
        let mut warnings = self.source.warnings.clone();
        let mut nodes: Vec<_> =
            self.source.groups.iter().map(|group| group_result(&group.place.path)).collect();
        let mut outcomes = outcomes.unwrap_or_default().into_iter();
        for PlannedArray { path, plan, memory, .. } in self.arrays {
            let (tally, bytes_written, verified) = if let Some(Done { tally, verified }) = outcomes.next() {
                (tally, Some(tally.bytes_written), verified)
            } else {
                let (tally, bytes_written) = dry_tally(plan);
                (tally, bytes_written, None)
            };
            warnings.extend(plan.warnings.iter().cloned());
            warnings.extend(clamped_warning(path, plan, &tally));
            warnings.extend(verified.as_ref().and_then(|verified| verified.warning.clone()));
            let outcome = Outcome { tally, bytes_written, memory: *memory, verified };
            nodes.push(array_result(path, plan, outcome, ran));
        }
        nodes.sort_by(|a, b| compare_paths(&a.path, &b.path));
        TranscodeResult {
            source: self.options.source.display().to_string(),
            destination: self.options.destination.display().to_string(),
            dry_run: self.options.dry_run,
            complete: ran,
            seconds: begun.elapsed().as_secs_f64(),
            totals: Totals::of(&nodes, self.source.other_keys.len() as u64),
            nodes,
            warnings,
        }
    }
}

/// Why the chunks were not all written.
struct Ended {
    error: OperationError,
    /// Whether the same command cannot do better: then what it has done is of no use to another.
    is_for_good: bool,
}

impl From<OperationError> for Ended {
    fn from(error: OperationError) -> Self {
        Ended { error, is_for_good: false }
    }
}

/// The arrays being written.
struct Writing<'a> {
    arrays: &'a [PlannedArray],
    claim: &'a Claim,
    driver: &'a Driver,
    budget: Budget,
    progress: &'a dyn Progress,
    verifies: bool,
}

impl Writing<'_> {
    /// Writes the chunks of all arrays.
    fn chunks(&self) -> Result<Vec<Tally>, Ended> {
        let known = self.arrays.iter().filter_map(|array| self.bytes_left(array)).reduce(u64::saturating_add);
        self.progress.start("transcode", known);
        let piece = Piece(self.progress);
        let written = self.each(|array, driver| {
            // Beside arrays whose length is known, one whose length is not is left out.
            let is_told = known.is_none() || self.bytes_left(array).is_some();
            let progress: &dyn Progress = if is_told { &piece } else { &Silent };
            Run { plan: &array.plan, path: &array.path, driver, progress }.write_chunks(self.claim)
        });
        self.progress.finish();
        written
    }

    fn bytes_left(&self, array: &PlannedArray) -> Option<u64> {
        if self.claim.is_published {
            return Some(0);
        }
        work_bytes::of_writing(&array.plan, self.claim.journal.part(&array.path).done())
    }

    /// Reads all arrays back that are to be compared.
    fn verify(&self) -> Result<Vec<Option<Verification>>, OperationError> {
        if !self.verifies {
            return Ok(self.arrays.iter().map(|_| None).collect());
        }
        let bytes = |array: &PlannedArray| work_bytes::of_writing(&array.plan, &ChunkSet::default());
        let known = self.arrays.iter().filter_map(bytes).reduce(u64::saturating_add);
        self.progress.start("verify", known);
        let verified = self.each(|array, driver| {
            let share = Share::new(self.progress, bytes(array).unwrap_or(0), 1);
            verify(&array.plan, &array.plan.target, driver, &share).map(Some)
        });
        self.progress.finish();
        verified
    }

    /// Does something with every array: small ones many at a time, the others one after the other.
    fn each<R: Send, E: Send + From<OperationError>>(
        &self,
        work: impl Fn(&PlannedArray, &Driver) -> Result<R, E> + Send + Sync,
    ) -> Result<Vec<R>, E> {
        let small = self.arrays.iter().filter(|array| array.is_small);
        let most = small.map(|array| array.memory.bytes).max().unwrap_or(1);
        let at_once = usize::try_from(self.budget.bytes() / most.max(1)).unwrap_or(usize::MAX);
        let threads = at_once.clamp(1, self.driver.num_threads());
        let narrow = self.with_threads(threads)?;
        let driver = narrow.as_ref().unwrap_or(self.driver);
        let small =
            driver.map_plain(self.arrays, |array| array.is_small.then(|| work(array, &driver.alone())));
        let mut all = Vec::with_capacity(self.arrays.len());
        for (array, done) in self.arrays.iter().zip(small) {
            all.push(if let Some(done) = done {
                done?
            } else {
                let own = self.with_threads(array.memory.threads)?;
                work(array, own.as_ref().unwrap_or(self.driver))?
            });
        }
        Ok(all)
    }

    /// A driver of so many threads, if the one that is there has more.
    fn with_threads(&self, threads: usize) -> Result<Option<Driver>, OperationError> {
        let is_other = threads < self.driver.num_threads();
        is_other.then(|| new_driver(threads, self.driver.interrupt())).transpose()
    }
}

/// The chunks of an array being written.
struct Run<'a> {
    plan: &'a Plan,
    path: &'a str,
    driver: &'a Driver,
    progress: &'a dyn Progress,
}

impl Run<'_> {
    /// All chunks that are not written yet.
    fn write_chunks(&self, claim: &Claim) -> Result<Tally, Ended> {
        let part = claim.journal.part(self.path);
        let mut tally = Tally::default();
        tally.add(part.before());
        if claim.is_published {
            return Ok(tally);
        }
        if claim.is_resumed {
            self.remove_unfinished(&part)?;
        }
        self.run(&part, |report| tally.add(&report))?;
        self.check_error(&tally)?;
        Ok(tally)
    }

    fn run(&self, part: &Part<'_>, fold: impl FnMut(ObjectReport)) -> Result<(), Ended> {
        let Run { plan, driver, progress, .. } = self;
        let Some(job) = &plan.job else { return Ok(self.copy(part, fold)?) };
        job.run(driver, *progress, part, fold).map_err(|fault| {
            let is_for_good = fault.fault.is_of_value();
            let error = explain_job(fault, job, &plan.source.store, plan.quantization.as_ref());
            Ended { error, is_for_good }
        })
    }

    /// What was written keeps `--max-error`: SOURCE may have changed since it was looked at.
    fn check_error(&self, tally: &Tally) -> Result<(), Ended> {
        let allowed = self.plan.quantization.as_ref().and_then(|quantization| quantization.max_error);
        let found = tally.figures.max_abs_error;
        match allowed {
            Some(allowed) if found > allowed => {
                let store = &self.plan.source.store;
                let message =
                    format!("`{store}`: the greatest error is {found}, and --max-error is {allowed}");
                let help =
                    "if nothing else writes to the array, please report this as a bug, with the command line";
                Err(Ended { error: OperationError::data(message).with_help(help), is_for_good: true })
            }
            _ => Ok(()),
        }
    }

    /// A run that was interrupted may have left objects that are not whole.
    fn remove_unfinished(&self, part: &Part<'_>) -> Result<(), OperationError> {
        let (node, metadata) = (&self.plan.target, &self.plan.destination.metadata);
        listing::remove_others(node, metadata, part.done(), self.driver).map_err(cannot_write)
    }

    /// Copies objects as they are.
    fn copy(&self, part: &Part<'_>, mut fold: impl FnMut(ObjectReport)) -> Result<(), OperationError> {
        let plan = self.plan;
        let object_bytes = plan.object_bytes();
        // Of what an unknown codec wrote nothing is known.
        let pipeline = &plan.source.pipeline;
        let bound = pipeline.output().map_or(u64::MAX, |encoded| pipeline.input.max_encoded_bytes(&encoded));
        let work = |(): &mut (), index| {
            part.do_once(index, || {
                let [from, to] = plan.keys(index);
                let bytes = plan.target.copy_from(&plan.source.node, (&from, &to), bound)?;
                self.progress.advance(object_bytes.unwrap_or(bytes));
                Ok(ObjectReport { written: 1, bytes_read: bytes, bytes_written: bytes, ..Default::default() })
            })
        };
        let copied = self.driver.run(&plan.listing.present, work, |_, report| fold(report));
        copied.map_err(|fault| explain(fault, &plan.source.metadata, &plan.source.store, None))
    }
}

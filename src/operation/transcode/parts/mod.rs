//! A job in parts: planned once, run by commands with a part number, and finished.
//!
//! The sealed plan is in DEST. A running part has its own log. A completed part writes its counts to its own object. No
//! part waits for another. DEST is published after a check that all parts are complete.
//!
//! `--finish`: checks that all objects exist, and publishes DEST.
//!
//! `--partition`: one numbered part of a job.

mod init;
mod plan_file;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Weak;
use std::time::Instant;

use self::plan_file::{Boundary, DoneParts, KEY, PartReport, PartsPlan, PassPlan, Receipts, units_between};
use self::script::{ScriptedJob, script};
use super::destination::{check_apart, is_node};
use super::writing::{self, Extent, Writing};
use super::{Done, JobPlan, Plan, Source, cannot_write};
use crate::array::{ChunkSet, Interrupt};
use crate::diagnostic::{Diagnostic, code};
use crate::engine::route::staged::FIRST_PASS;
use crate::engine::{Assignment, Driver, Journal, ObjectReport, Progress, bytes_of, journal};
use crate::operation::open::open_documents;
use crate::operation::transcode_result::{PartResult, PassStatus};
use crate::operation::{NodePath, OperationError, Result, StatusResult, TranscodeOptions, TranscodeResult, new_driver};
use crate::store::{EntryKind, JOURNAL, Location, Node, RUN_FOLDER, clear_run_folder};

pub use self::init::init;
pub use self::plan_file::PassName;
pub use self::script::Engine;

/// Returns the node of DEST, to which all parts write.
fn target(options: &TranscodeOptions) -> Result<Node> {
    let destination = options.destination.node().destination(false).map_err(cannot_write)?;
    Ok(destination.target)
}

/// Returns DEST, and the plan of its unfinished job in parts. `None` if DEST is published. Fails if no such job was
/// begun there, or it has another SOURCE. A complete DEST does not record its SOURCE.
fn job_under_way(options: &TranscodeOptions) -> Result<(Node, Option<PartsPlan>)> {
    let target = target(options)?;
    let is_published = is_node(&target).map_err(cannot_write)?;
    let plan = PartsPlan::find(&target, KEY)?;
    let node_path = NodePath::new(&options.source, None)?;
    let source = node_path.node(&options.source)?;
    match &plan {
        Some(plan) => plan.sealed.check_source(&source)?,
        None if is_published => {
            open_documents(&source, &node_path.name())?;
            check_apart(&target, &source, &options.destination.display().to_string())?;
        }
        None => {
            let shown = options.destination.display();
            return Err(OperationError::environment(format!("there is no job in parts in `{shown}`"))
                .with_help("start one with `--init --partitions N` and the options of the job"));
        }
    }
    // The plan may still be there after publication: it is the last file that a finish removes.
    Ok((target, plan.filter(|_| !is_published)))
}

/// An unfinished job in parts, and the command that works on it.
struct PartsJob<'a> {
    plan: PartsPlan,
    done: DoneParts<'a>,
    /// The work is that of the plan, the resources are those of this process.
    options: TranscodeOptions,
    progress: &'a dyn Progress,
    interrupt: &'a Interrupt,
}

impl<'a> PartsJob<'a> {
    /// Creates the job of a command. Its plan is resolved if all parts of the first pass are done.
    fn new(
        plan: PartsPlan,
        target: &'a Node,
        options: &TranscodeOptions,
        progress: &'a dyn Progress,
        interrupt: &'a Interrupt,
    ) -> Result<Self> {
        let (done, options) = (DoneParts::at(target, &plan), plan.options(options));
        let mut job = PartsJob { plan, done, options, progress, interrupt };
        job.resolve()?;
        Ok(job)
    }

    /// Fails if SOURCE's documents have changed since the plan was sealed.
    fn check_documents(&self) -> Result<()> {
        let apply = |source: &mut Source| self.plan.apply(source, BTreeMap::new());
        Source::taken(&self.options, apply, &new_driver(1, self.interrupt)?).map(drop)
    }

    /// Plans the arrays with some numbers again. The result must be the sealed plan.
    fn plan_again(&self, is_wanted: impl Fn(usize) -> bool + Copy) -> Result<JobPlan<'_>> {
        let apply = |source: &mut Source| self.plan.apply(source, BTreeMap::new());
        let job = JobPlan::new(&self.options, apply, is_wanted, self.progress, self.interrupt)?;
        job.check_same(&self.plan.sealed, is_wanted)?;
        Ok(job)
    }
}

/// Returns a script that runs the job in DEST with an engine: its parts, the finish, and again the missing parts.
///
/// It runs the program `zarrcast`, which the machines must have. Each part has the threads and the memory of the
/// options, or else those of the plan. `first_index` is the number of the first part in Slurm array jobs. `access`
/// contains options that every command needs to access SOURCE and DEST, such as `--anonymous`. The script contains them
/// as they are, so they must not include secrets.
///
/// # Errors
///
/// If no job was begun in DEST, or it is complete.
pub fn print_script(
    options: &TranscodeOptions,
    engine: Engine,
    first_index: u64,
    access: Vec<String>,
) -> Result<String> {
    let (target, plan) = job_under_way(options)?;
    let plan = plan.ok_or_else(|| {
        let shown = options.destination.display();
        OperationError::environment(format!("`{shown}` is complete: nothing is left to do"))
    })?;
    let plan = PartsPlan::find(&target, &plan.resolved())?.unwrap_or(plan);
    // Scripts run in other folders.
    let named = |location: &Location| {
        let node = location.node();
        if node.is_local() { String::from_utf8_lossy(&node.identity()).into_owned() } else { location.from_anywhere() }
    };
    let (source, destination) = (named(&options.source), named(&options.destination));
    let passes = plan.passes.iter().map(|pass| (pass.name.name().to_owned(), pass.partitions())).collect();
    let threads = options.run.common.threads.map_or(plan.threads, NonZeroUsize::get);
    // Each thread has its own chunks, but fewer threads may need as much memory.
    let of_threads = plan.memory_bytes.div_ceil(plan.threads.max(1) as u64).saturating_mul(threads as u64);
    let memory_bytes = options.run.common.max_memory.unwrap_or(of_threads.max(plan.memory_bytes));
    let verifies = plan.verifies;
    let job = ScriptedJob { source, destination, passes, memory_bytes, threads, first_index, verifies, access };
    Ok(script(engine, &job))
}

/// Returns the completed and the missing parts of the job in DEST. Changes nothing.
///
/// # Errors
///
/// If no job was begun in DEST, or its plan cannot be read.
pub fn status(options: &TranscodeOptions) -> Result<StatusResult> {
    let (target, plan) = job_under_way(options)?;
    let warnings = left_by_others(&target, plan.as_ref())?;
    let Some(plan) = plan else { return Ok(status_of(options, Vec::new(), warnings)) };
    let plan = PartsPlan::find(&target, &plan.resolved())?.unwrap_or(plan);
    Ok(status_of(options, DoneParts::at(&target, &plan).status(&plan)?, warnings))
}

/// Returns a warning if DEST has notes of another job than the unfinished one. They are ignored.
fn left_by_others(target: &Node, plan: Option<&PartsPlan>) -> Result<Vec<Diagnostic>> {
    let own = plan.map(|plan| plan.id.as_str());
    let mut left = Vec::new();
    let each = |key: &str, kind, _: Option<u64>| {
        // Intermediate data are identified by their document.
        let is_others = kind == EntryKind::Folder && key != "staging" && Some(key) != own;
        left.extend(is_others.then(|| key.to_owned()));
    };
    target.below(&RUN_FOLDER).each_entry("", each).map_err(cannot_write)?;
    let warning = |job: String| {
        let message = format!("`.zarrcast/{job}` belongs to another job and is ignored");
        let help = "make sure that nothing of the other job still runs; `--finish` removes the folder";
        Diagnostic::new(code::KEY_TEMPORARY, message).with_help(help)
    };
    Ok(left.into_iter().map(warning).collect())
}

/// Returns the status of a job with these passes. A published one has none.
fn status_of(options: &TranscodeOptions, passes: Vec<PassStatus>, warnings: Vec<Diagnostic>) -> StatusResult {
    let [source, destination] = [&options.source, &options.destination].map(|location| location.display().to_string());
    StatusResult { source, destination, complete: passes.is_empty(), passes, warnings }
}

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
    let parts_job = PartsJob::new(plan, &target, options, progress, interrupt)?;
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
        let stored = writing::stored(self.done.target, &job.arrays, &job.driver)?;
        for ((array, report), (present, bytes)) in job.arrays.iter().zip(reports).zip(stored) {
            if !report.counted.is_of(&present) || bytes != report.counted.bytes_written {
                let parts = parts_without(pass, array, &present, counted, &job.driver)?;
                if parts.is_empty() {
                    let name = array.target.name();
                    return Err(OperationError::environment(format!("`{name}` has chunks that no part wrote"))
                        .with_help("something else writes there: remove what it wrote, and run `--finish` again"));
                }
                lost.extend(parts);
            }
        }
        Ok(lost)
    }
}

/// Returns the parts whose objects of an array are not the existing ones, or differ in size.
fn parts_without(
    pass: &PassPlan,
    array: &Plan,
    present: &ChunkSet,
    counted: &Receipts<PartReport>,
    driver: &Driver,
) -> Result<Vec<u64>> {
    let (node, metadata) = (&array.target, &array.destination.metadata);
    let mut parts = Vec::new();
    for part in 0..pass.partitions() {
        let units = pass.part(part).map_or(0..0, |bounds| units_between(bounds, array.number));
        if units.is_empty() {
            continue;
        }
        let job = &array.job;
        let found = job.objects_of(pass.name.number_in(job), &units).common(present);
        let mut written = ObjectReport::default();
        for (_, report) in counted.get(&part).into_iter().flatten().filter(|(of, _)| *of == array.number) {
            written += report.counted;
        }
        let bytes = bytes_of(node, metadata, &found, driver).map_err(cannot_write)?;
        if !written.is_of(&found) || bytes != written.bytes_written {
            parts.push(part);
        }
    }
    Ok(parts)
}

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

/// Runs a part of the job that [`init`](fn@crate::operation::transcode::parts::init) planned in DEST, or the rest of it. A completed part is not run
/// again.
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
    let job = PartsJob::new(plan, &target, options, progress, interrupt)?;
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
        job.check_documents()?;
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

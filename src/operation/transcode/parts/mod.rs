//! A job in parts: planned once, run by commands with a part number, and finished.
//!
//! The sealed plan is in DEST. A running part has its own log. A completed part writes its counts to its own object. No
//! part waits for another. DEST is published after a check that all parts are complete.
//!
//! `--finish`: checks that all objects exist, and publishes DEST.
//!
//! `--partition`: one numbered part of a job.
//!
//! `--init`: plans the job once, and seals the plan in DEST. Also the pass for the range of quantised values: the
//! results of its parts are merged, and resolve what the plan left open. The result is the same in every process.

mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Weak;
use std::time::Instant;

use self::script::{ScriptedJob, script};
use super::destination::{check_apart, is_node};
use super::run::{Extent, Writing, stored};
use super::sealed::{
    ArrayUnits, Boundary, DoneParts, KEY, PartReport, PartsPlan, PassPlan, Receipts, cut, present_of, units_between,
};
use super::{Done, JobPlan, Plan, SealedPlan, Source, cannot_write};
use crate::array::{ChunkSet, Interrupt};
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::engine::route::staged::FIRST_PASS;
use crate::engine::{Assignment, Journal, ObjectReport, Progress, bytes_of, journal, listing};
use crate::operation::open::open_documents;
use crate::operation::transcode_result::{ChosenCompressor, InitResult, PartResult, PassStatus, PlannedPass};
use crate::operation::{
    Budget, FirstPass, FirstPassStats, NodePath, OperationError, Request, Result, StatusResult, TranscodeOptions,
    TranscodeResult, new_driver, stored_array,
};
use crate::store::{EntryKind, JOURNAL, Location, Node, RUN_FOLDER, clear_run_folder, machine};

pub use self::script::Engine;
pub use super::sealed::PassName;

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

impl PartsJob<'_> {
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
/// options, or else those of the plan. `first` is the number of the first part in Slurm array jobs. `access`
/// contains options that every command needs to access SOURCE and DEST, such as `--anonymous`. The script contains them
/// as they are, so they must not include secrets.
///
/// # Errors
///
/// If no job was begun in DEST, or it is complete.
pub fn print_script(options: &TranscodeOptions, engine: Engine, first: u64, access: Vec<String>) -> Result<String> {
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
    let job = ScriptedJob { source, destination, passes, memory_bytes, threads, first_index: first, verifies, access };
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

/// Runs a part of the job that [`init`](fn@init) planned in DEST, or the rest of it. A completed part is not run again.
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
        let apply = |source: &mut Source| job.plan.apply(source, BTreeMap::new());
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

/// Default memory of a part, which then has one thread. The cut of the work must not depend on the machine that plans
/// it.
const MEMORY: u64 = 1 << 30;

/// Plans a job in at most `partitions` parts, and stores the sealed plan in DEST. There are fewer parts if there are
/// fewer stored objects. Nothing else is written to DEST. The same call again changes nothing.
///
/// A range that depends on the data is not determined here, but in a separate pass of the parts. Without limits in the
/// options, a part is planned for 1 GiB and one thread, whatever this machine has.
///
/// # Errors
///
/// The errors of [`transcode`](crate::transcode::transcode) for what cannot be done. Also if another plan is in DEST,
/// or if DEST is written as a whole, like a zip file.
pub fn init(
    options: &TranscodeOptions,
    partitions: u64,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<InitResult> {
    let mut options = options.clone();
    options.run.common.max_memory.get_or_insert(MEMORY);
    options.run.common.threads.get_or_insert(NonZeroUsize::MIN);
    options.run.partitions = Some(partitions);
    // A separate pass determines the values that depend on the data.
    options.run.dry_run = true;
    let target = target(&options)?;
    let mut before = PartsPlan::find(&target, KEY)?;
    // An existing plan is checked like a resumed run: it stays as it is.
    options.run.resume = before.is_some();
    let job = JobPlan::new(&options, |_| Ok(()), |_| true, progress, interrupt)?;
    if !job.output.keeps_unfinished() {
        let message = format!("DEST `{}` is written as a whole, not in parts", options.destination);
        return Err(OperationError::usage(message).with_help("name a folder or a place in an object store"));
    }
    // The parts of an existing plan have used some of the space already.
    if before.is_none() {
        job.check_room()?;
    }
    let (objects, many_objects) = (job.num_written(), job.many_objects());
    let JobPlan { source, output, arrays, sealed, .. } = job;
    let mut warnings = source.warnings;
    warnings.extend(arrays.iter().flat_map(|array| array.warnings.iter().cloned()));
    let plan = parts_plan(&options, sealed, &arrays, partitions);
    if before.is_none() {
        output.make_root()?;
        // Another process may have been faster.
        before = if plan.write(output.data(), KEY)? { None } else { PartsPlan::find(&target, KEY)? };
    }
    if before.as_ref().is_some_and(|before| !before.is_same(&plan)) {
        let shown = options.destination.display();
        return Err(OperationError::environment(format!("`{shown}` has an unfinished job with another plan"))
            .with_help("give the options of that plan, or choose another DEST"));
    }
    let was_there = before.is_some();
    warnings.extend(many_objects);
    let planned = |pass: &PassPlan| PlannedPass { name: pass.name.name(), partitions: pass.partitions() };
    let compressors = arrays.iter().filter_map(|array| {
        let compress = array.compression.as_ref()?.chosen.clone()?;
        Some(ChosenCompressor { path: array.path.clone(), compress })
    });
    Ok(InitResult {
        source: options.source.display().to_string(),
        destination: options.destination.display().to_string(),
        partitions: plan.most_parts(),
        passes: plan.passes.iter().map(planned).collect(),
        memory_bytes: plan.memory_bytes,
        bytes: plan.bytes,
        objects,
        compressors: compressors.collect(),
        was_there,
        warnings,
    })
}

/// Returns the plan to be written, with the options' limits of memory and threads.
fn parts_plan(options: &TranscodeOptions, sealed: SealedPlan, arrays: &[Plan], partitions: u64) -> PartsPlan {
    PartsPlan {
        id: machine::unique_name(),
        verifies: options.run.verify,
        passes: passes(arrays, &sealed.open_arrays(), partitions),
        partitions,
        budget_bytes: options.run.common.max_memory.unwrap_or(MEMORY),
        threads: options.run.common.threads.map_or(1, NonZeroUsize::get),
        memory_bytes: memory(arrays),
        bytes: largest_part(arrays, partitions),
        present: present_of(arrays),
        sealed,
    }
}

/// Returns the passes, each cut into at most `partitions` parts. The quantisation of `open` arrays is left to the first
/// pass.
fn passes(arrays: &[Plan], open: &[usize], partitions: u64) -> Vec<PassPlan> {
    let is_staged = arrays.iter().any(|array| array.job.staged().is_some());
    let passes = [(PassName::Range, !open.is_empty()), (PassName::Staging, is_staged), (PassName::Write, true)];
    let passes = passes.into_iter().filter(|(_, is_there)| *is_there);
    let objects = arrays.iter().map(|array| array.job.num_written()).fold(0, u64::saturating_add);
    // The first pass reads SOURCE, which may have more chunks than DEST has objects. Other passes have no more parts
    // than objects.
    let at_most = |name| if name == PassName::Range { partitions } else { partitions.min(objects.max(1)) };
    passes.map(|(name, _)| PassPlan { name, boundaries: cut(&work(arrays, open, name), at_most(name)) }).collect()
}

/// Returns the work of a pass, array by array.
fn work(arrays: &[Plan], open: &[usize], pass: PassName) -> Vec<ArrayUnits> {
    let of = |array: &Plan| {
        let job = &array.job;
        match (pass, job.staged().is_some()) {
            (PassName::Range, _) if open.contains(&array.number) => {
                let bytes = job.objects().map_or(1, |job| job.transfer.source.chunk_bytes().max(1));
                ArrayUnits { units: array.listing.present.clone(), bytes }
            }
            (PassName::Range, _) | (PassName::Staging, false) => ArrayUnits { units: ChunkSet::default(), bytes: 1 },
            (PassName::Staging | PassName::Write, _) => {
                let number = pass.number_in(job);
                ArrayUnits { units: job.units_of(number, None), bytes: job.unit_bytes(number) }
            }
        }
    };
    arrays.iter().map(of).collect()
}

/// Returns the most bytes that a part has in memory.
fn memory(arrays: &[Plan]) -> u64 {
    arrays.iter().map(|array| array.memory.bytes).max().unwrap_or(0)
}

/// Returns the approximate bytes of the elements in the largest part: an equal share, but at least one unit.
fn largest_part(arrays: &[Plan], partitions: u64) -> u64 {
    let work = work(arrays, &[], PassName::Write);
    let bytes = |work: &ArrayUnits| work.units.len().saturating_mul(work.bytes);
    let all = work.iter().map(bytes).fold(0, u64::saturating_add);
    let units: u64 = work.iter().map(|work| work.units.len()).fold(0, u64::saturating_add);
    let largest = work.iter().filter(|work| !work.units.is_empty()).map(|work| work.bytes).max().unwrap_or(0);
    all.div_ceil(partitions.clamp(1, units.max(1))).max(largest)
}

impl PartsJob<'_> {
    /// Surveys the chunks of SOURCE between two boundaries. Returns the results by array number, and the number of
    /// encoded bytes that were read.
    fn survey(&self, bounds: (Boundary, Boundary)) -> Result<(Vec<(usize, FirstPassStats)>, u64)> {
        let PartsJob { plan, options, interrupt, .. } = self;
        let budget = Budget::new(&options.run.common);
        let driver = new_driver(budget.threads(), interrupt)?;
        let source = Source::taken(options, |source| plan.apply(source, BTreeMap::new()), &driver)?;
        let (mut found, mut bytes_read) = (Vec::new(), 0_u64);
        for number in plan.sealed.open_arrays() {
            let array = &source.arrays[number];
            let units = units_between(bounds, number);
            let (Some(quantize), false) = (&array.change.quantize, units.is_empty()) else { continue };
            let (opened, metadata) = (&array.opened, &array.opened.metadata);
            // The plan lists no chunks if they are too scattered.
            let all = if let Some(listing) = &array.listing {
                listing.present.clone()
            } else {
                let listing = listing::list_with_sizes(&opened.node, metadata, &driver);
                listing.map_err(|error| OperationError::cannot_list(&opened.store, error))?.present
            };
            let end = units.end.min(metadata.num_chunks());
            let part = all.common(&ChunkSet::of_range(units.start.min(end)..end));
            if part.is_empty() {
                continue;
            }
            let request = Request::new(opened, &array.change, quantize)?;
            let lacks_chunks = all.len() < metadata.num_chunks();
            let array = stored_array(opened)?.with_present(Some(&part));
            let pass =
                FirstPass { request: &request, array, lacks_chunks, driver: driver.clone(), progress: self.progress };
            let (survey, read) = pass.survey()?;
            found.push((number, survey));
            bytes_read = bytes_read.saturating_add(read);
        }
        Ok((found, bytes_read))
    }

    /// Resolves the plan with the results of its first pass, if all its parts are done.
    fn resolved(mut self) -> Result<Self> {
        let Some(range) = self.plan.pass(PassName::Range).cloned() else { return Ok(self) };
        let (target, key) = (self.done.target, self.plan.resolved());
        if let Some(plan) = PartsPlan::find(target, &key)? {
            return Ok(PartsJob { plan, ..self });
        }
        if self.done.parts(&range)?.len() < range.partitions() {
            return Ok(self);
        }
        let found = self.done.noted(PassName::Range)?;
        let plan = &mut self.plan;
        let mut options = self.options.clone();
        // The limits of the plan, whatever the limits of this process are.
        options.run.common.max_memory = Some(plan.budget_bytes);
        options.run.common.threads = NonZeroUsize::new(plan.threads);
        let tell = |source: &mut Source| {
            let type_of = |array: usize| source.arrays.get(array)?.opened.data_type.number();
            let surveys = merged(found.values().flatten(), type_of);
            plan.apply(source, surveys)
        };
        let job = JobPlan::new(&options, tell, |_| true, self.progress, self.interrupt)?;
        job.check_room()?;
        // Schedulers were given the number of parts at the start. Absent chunks that are written now add none.
        let partitions = plan.pass(PassName::Write).map_or(plan.partitions, PassPlan::partitions);
        plan.passes = vec![range];
        plan.passes.extend(passes(&job.arrays, &[], partitions));
        plan.memory_bytes = memory(&job.arrays);
        plan.bytes = largest_part(&job.arrays, partitions);
        plan.sealed = job.sealed;
        plan.write(target, &key)?;
        Ok(self)
    }
}

/// Returns the results of all parts by array number. The order in which parts are merged does not matter.
fn merged<'a>(
    found: impl IntoIterator<Item = &'a (usize, FirstPassStats)>,
    type_of: impl Fn(usize) -> Option<NumberType>,
) -> BTreeMap<usize, FirstPassStats> {
    let mut all: BTreeMap<usize, FirstPassStats> = BTreeMap::new();
    for (array, survey) in found {
        let Some(number_type) = type_of(*array) else { continue };
        let sum = all.entry(*array).or_default();
        sum.declared_missing = sum.declared_missing.saturating_add(survey.declared_missing);
        sum.absent_elements |= survey.absent_elements;
        if let Some(extent) = &survey.extent {
            sum.extent.get_or_insert_default().merge(extent, number_type);
        }
    }
    all
}

#[cfg(test)]
mod init_tests {
    use super::*;
    use crate::element::ElementType;
    use crate::kernel::statistics::Extent;

    fn survey(finite: Option<(u64, u64)>) -> FirstPassStats {
        let extent = Extent { count: 300, nan: 2, positive_infinity: 1, negative_infinity: 0, finite };
        FirstPassStats { extent: Some(extent), declared_missing: 7, absent_elements: true }
    }

    #[test]
    fn what_was_found_comes_back_as_it_was_noted() {
        let bits = (f64::MIN.to_bits(), f64::MAX.to_bits());
        for survey in [FirstPassStats::default(), survey(None), survey(Some(bits)), survey(Some((0, u64::MAX)))] {
            let text = serde_json::to_string(&survey).unwrap();
            assert_eq!(serde_json::from_str::<FirstPassStats>(&text).unwrap(), survey, "{text}");
        }
    }

    #[test]
    fn parts_put_together_in_any_order_are_the_same() {
        let number_type = NumberType::of(ElementType::Float32);
        let of = |low: f32, high: f32| survey(Some((low.to_bits().into(), high.to_bits().into())));
        let found = [(0, of(-1.5, 2.0)), (0, survey(None)), (0, of(-0.5, 7.25)), (2, of(1.0, 1.0))];
        let mut orders = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]]
            .into_iter()
            .map(|order| merged(order.iter().map(|index: &usize| &found[*index]), |_| Some(number_type)));
        let first = orders.next().unwrap();
        let extent = first[&0].extent.unwrap();
        let bits = |value: f32| u64::from(value.to_bits());
        assert_eq!((extent.count, extent.finite), (900, Some((bits(-1.5), bits(7.25)))));
        assert!(first.len() == 2 && orders.all(|other| other == first));
    }
}

//! A job in parts: planned once, run by commands with a part number, and finished.
//!
//! The sealed plan is in DEST. A running part has its own log. A completed part writes its counts to its own object. No
//! part waits for another. DEST is published after a check that all parts are complete.

mod done;
mod finish;
mod init;
mod partition;
mod plan;
mod script;

use std::num::NonZeroUsize;

pub use self::script::Engine;
use self::script::{ScriptedJob, script};
use super::destination::{check_apart, is_node};
use super::{JobPlan, Source, cannot_write};
use crate::array::Interrupt;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::Progress;
use crate::operation::open::open_documents;
use crate::operation::parts_result::PassStatus;
use crate::operation::{NodePath, OperationError, Result, StatusResult, TranscodeOptions};
use crate::store::{EntryKind, Location, Node, RUN_FOLDER};
use done::DoneParts;
pub use finish::{Finished, finish};
pub use init::init;
pub use partition::{PartitionRequest, partition};
pub use plan::PassName;
use plan::{KEY, PartsPlan};

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
        let apply = |source: &mut Source| self.plan.apply(source);
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

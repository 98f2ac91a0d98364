//! One job in parts: planned once, its parts done by whatever starts a command with a number, and finished.
//!
//! The plan lies in DEST, sealed. Each part has a log of its own while it is under way, and notes what it
//! counted in an object of its own when it is done; no part waits for another. DEST is published when all parts are proved to be there.

mod done;
mod finish;
mod init;
mod partition;
mod plan_file;
mod script;

use std::num::NonZeroUsize;

use super::cannot_write;
use super::destination::is_node;
use crate::diagnostic::{Diagnostic, code};
use crate::operation::parts_result::PassStatus;
use crate::operation::{OperationError, Place, Result, StatusResult, TranscodeOptions};
use crate::store::{EntryKind, Location, Node, RUN_FOLDER};
use done::DoneParts;
pub use finish::{Finished, finish};
pub use init::init;
pub use partition::{Wanted, partition};
use plan_file::PartsPlan;
pub use plan_file::PassName;
pub use script::Engine;
use script::{ScriptedJob, script};

/// DEST, where all parts write.
fn place(options: &TranscodeOptions) -> Result<Node> {
    let destination = options.destination.node().destination(false).map_err(cannot_write)?;
    Ok(destination.place().clone())
}

/// DEST, and the plan of the job in parts that is under way there; `None` where DEST is published. An error where no such job
/// was begun there, or it is of another SOURCE. Once it is complete, nothing tells of which SOURCE it was.
fn job_under_way(options: &TranscodeOptions) -> Result<(Node, Option<PartsPlan>)> {
    let place = place(options)?;
    let is_published = is_node(&place).map_err(cannot_write)?;
    let plan = PartsPlan::find(&place)?;
    match &plan {
        Some(plan) => plan.sealed.check_source(&Place::new(&options.source, None)?.node(&options.source)?)?,
        None if is_published => {}
        None => {
            let shown = options.destination.display();
            return Err(OperationError::environment(format!("there is no job in parts in `{shown}`"))
                .with_help("start one with `--init --partitions N` and the options of the job"));
        }
    }
    Ok((place, plan.filter(|_| !is_published)))
}

/// A script that does all of the job in DEST by an engine: its parts, the finish, and again what is missing.
///
/// It runs the program `zarrcast`, which the machines must have. Each part has the threads and the memory of the options, or
/// else the plan's. `first_index` is what array jobs of Slurm count parts from. `access` are options that every command takes
/// to reach SOURCE and DEST, such as `--anonymous`: they stand in the script as they are, so no secret may be among them.
///
/// # Errors
///
/// Where no job was begun in DEST, or it is complete.
pub fn print_script(
    options: &TranscodeOptions,
    engine: Engine,
    first_index: u64,
    access: Vec<String>,
) -> Result<String> {
    let (place, plan) = job_under_way(options)?;
    let plan = plan.ok_or_else(|| {
        let shown = options.destination.display();
        OperationError::environment(format!("`{shown}` is complete: nothing is left to do"))
    })?;
    let plan = plan.find_settled(&place)?.unwrap_or(plan);
    // Scripts run in other folders.
    let named = |location: &Location| {
        let node = location.node();
        if node.is_local() { String::from_utf8_lossy(&node.identity()).into_owned() } else { location.from_anywhere() }
    };
    let (source, destination) = (named(&options.source), named(&options.destination));
    let passes = plan.passes.iter().map(|pass| (pass.name.name().to_owned(), pass.partitions())).collect();
    let threads = options.run.common.threads.map_or(plan.threads, NonZeroUsize::get);
    // Each thread has chunks of its own; fewer threads may need no less.
    let of_threads = plan.memory_bytes.div_ceil(plan.threads.max(1) as u64).saturating_mul(threads as u64);
    let memory_bytes = options.run.common.max_memory.unwrap_or(of_threads.max(plan.memory_bytes));
    let verifies = plan.verifies;
    let job = ScriptedJob { source, destination, passes, memory_bytes, threads, first_index, verifies, access };
    Ok(script(engine, &job))
}

/// The parts of the job in DEST that are done, and those that are missing. Nothing is changed.
///
/// # Errors
///
/// Where no job was begun in DEST, or its plan cannot be read.
pub fn status(options: &TranscodeOptions) -> Result<StatusResult> {
    let (place, plan) = job_under_way(options)?;
    let warnings = left_by_others(&place, plan.as_ref())?;
    let Some(plan) = plan else { return Ok(status_of(options, true, Vec::new(), warnings)) };
    let plan = plan.find_settled(&place)?.unwrap_or(plan);
    let passes = DoneParts::at(&place, &plan).status(&plan)?;
    Ok(status_of(options, false, passes, warnings))
}

/// A warning where DEST has notes of another job than that which is under way there: they count for nothing.
fn left_by_others(place: &Node, plan: Option<&PartsPlan>) -> Result<Vec<Diagnostic>> {
    let own = plan.map(|plan| plan.id.as_str());
    let mut left = Vec::new();
    let each = |key: &str, kind, _: Option<u64>| {
        // Intermediate data are told apart by their document.
        let is_others = kind == EntryKind::Folder && key != "staging" && Some(key) != own;
        left.extend(is_others.then(|| key.to_owned()));
    };
    place.below(&RUN_FOLDER).each_entry("", each).map_err(cannot_write)?;
    let warning = |job: String| {
        let message = format!("`.zarrcast/{job}` is of another job than the one that is planned here, and is ignored");
        let help = "make sure that nothing of the other job still runs; `--finish` removes the folder";
        Diagnostic::new(code::KEY_TEMPORARY, message).with_help(help)
    };
    Ok(left.into_iter().map(warning).collect())
}

fn status_of(
    options: &TranscodeOptions,
    complete: bool,
    passes: Vec<PassStatus>,
    warnings: Vec<Diagnostic>,
) -> StatusResult {
    let [source, destination] = [&options.source, &options.destination].map(|location| location.display().to_string());
    StatusResult { source, destination, complete, passes, warnings }
}

//! A plan carried out: the chunks, then the metadata, then what is reported.

use std::time::Instant;

use super::budget::Budget;
use super::fault::explain_job;
use super::outcome::{Outcome, Tally, dry_tally, result};
use super::plan::{Plan, Planner};
use super::room::check_room;
use super::verify::{Verification, verify};
use crate::engine::driver::{Driver, Fault};
use crate::engine::interrupt::Interrupt;
use crate::engine::object::ObjectReport;
use crate::engine::progress::Progress;
use crate::engine::staged;
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::new_driver;
use crate::operation::open::open_array;
use crate::operation::options::TranscodeOptions;
use crate::operation::place::local_path;
use crate::operation::transcode_result::TranscodeResult;
use crate::store::{LocalNode, StoreError};

/// Writes an array anew.
pub fn transcode(
    options: &TranscodeOptions,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<TranscodeResult, OperationError> {
    let begun = Instant::now();
    let source = open_array(&options.source, None)?;
    if source.zarr_format != 3 {
        let message =
            format!("`{}` is Zarr v{}, which is not transcoded yet", source.store, source.zarr_format);
        return Err(OperationError::environment(message)
            .with_help("convert it to Zarr v3 with zarr-python: `zarr migrate v3`"));
    }
    let destination = LocalNode::new(local_path(&options.destination));
    check_places(&source.node, &destination)?;
    let budget = Budget::of(&options.common);
    let plan = Planner { options, budget, interrupt }.plan(source, destination.clone(), progress)?;
    let memory = budget.allot(&plan, options.verify)?;
    check_room(&plan)?;
    if options.dry_run {
        let (tally, bytes_written) = dry_tally(&plan);
        return Ok(result(options, &plan, Outcome { tally, bytes_written, memory, verified: None }, begun));
    }
    let shown = options.destination.display();
    let _unfinished = interrupt
        .begin(format!("`{shown}`, without metadata,"))
        .map_err(|_| OperationError::interrupted())?;
    destination.create_root().map_err(cannot_write)?;
    let driver = new_driver(memory.threads, interrupt)?;
    match write(&plan, options.verify, &driver, progress) {
        Ok((tally, verified)) => {
            let bytes_written = Some(tally.bytes_written);
            Ok(result(options, &plan, Outcome { tally, bytes_written, memory, verified }, begun))
        }
        Err(error) => Err(clear_away(&destination, error)),
    }
}

/// Removes what a failed run has written; where that fails, too, the error says what is left.
fn clear_away(destination: &LocalNode, error: OperationError) -> OperationError {
    let shown = destination.root().display();
    match (destination.remove_root(), error.class()) {
        (Ok(()), FaultClass::Interrupted) => {
            error.with_help(format!("what was written of `{shown}` is removed; run the command again"))
        }
        (Ok(()), _) => error,
        (Err(_), _) => error.with_help(format!("`{shown}` is left without metadata: remove it by hand")),
    }
}

fn cannot_write(error: StoreError) -> OperationError {
    OperationError::environment("the destination cannot be written").because(error)
}

/// SOURCE and DEST are two places, neither inside the other, and DEST is free.
fn check_places(source: &LocalNode, destination: &LocalNode) -> Result<(), OperationError> {
    let unreadable =
        |error| OperationError::environment("the destination cannot be looked at").because(error);
    let (from, to) =
        (source.resolved_root().map_err(unreadable)?, destination.resolved_root().map_err(unreadable)?);
    let shown = destination.root().display();
    if from == to {
        return Err(OperationError::environment(format!("`{shown}` is SOURCE itself"))
            .with_help("name another place for the result"));
    }
    if to.starts_with(&from) || from.starts_with(&to) {
        return Err(OperationError::environment(format!(
            "SOURCE and DEST lie one inside the other: `{}` and `{}`",
            from.display(),
            to.display()
        ))
        .with_help("name a place for the result beside the source"));
    }
    if destination.exists().map_err(unreadable)? {
        return Err(OperationError::environment(format!("`{shown}` exists already"))
            .with_help("name a place where nothing is, or remove it first"));
    }
    Ok(())
}

/// The chunks, the sync, the comparison, and the metadata last.
fn write(
    plan: &Plan,
    verifies: bool,
    driver: &Driver,
    progress: &dyn Progress,
) -> Result<(Tally, Option<Verification>), OperationError> {
    let destination = &plan.target;
    let tally = write_chunks(plan, driver, progress)?;
    destination.sync().map_err(cannot_write)?;
    let verified = verifies.then(|| verify(plan, destination, driver, progress)).transpose()?;
    driver.interrupt().check().map_err(|_| OperationError::interrupted())?;
    if plan.job.as_ref().is_some_and(|job| job.staging().is_some()) {
        staged::remove(destination).map_err(cannot_write)?;
    }
    destination.publish("zarr.json", &document_bytes(plan)).map_err(cannot_write)?;
    Ok((tally, verified))
}

fn write_chunks(plan: &Plan, driver: &Driver, progress: &dyn Progress) -> Result<Tally, OperationError> {
    let mut tally = Tally::default();
    let fold = |report: ObjectReport| {
        tally.read += u64::from(report.bytes_read > 0);
        tally.written += report.written;
        tally.bytes_read += report.bytes_read;
        tally.bytes_written += report.bytes_written;
        tally.bytes_temporary += report.bytes_temporary;
        tally.figures.merge(&report.figures);
    };
    if let Some(job) = &plan.job {
        let once = plan.listing.present.len().saturating_mul(job.source.chunk_bytes());
        let passes = if job.staging().is_some() { 2 } else { 1 };
        progress.start("transcode", Some(once.saturating_mul(passes)));
        let run = job.run(driver, progress, fold);
        progress.finish();
        run.map_err(|fault| explain_job(fault, job, &plan.source.store, plan.quantization.as_ref()))?;
    } else {
        progress.start("copy", None);
        let copied = copy_unread(plan, &plan.target, driver, progress, fold);
        progress.finish();
        copied?;
    }
    Ok(tally)
}

/// DEST's `zarr.json`: as it was written, where nothing changed.
fn document_bytes(plan: &Plan) -> Vec<u8> {
    if plan.destination.document == plan.source.document {
        return plan.source.document_bytes.clone();
    }
    let mut document = plan.destination.document.to_string_pretty();
    document.push('\n');
    document.into_bytes()
}

/// Copies objects whose chain cannot be bound here.
fn copy_unread(
    plan: &Plan,
    destination: &LocalNode,
    driver: &Driver,
    progress: &dyn Progress,
    mut fold: impl FnMut(ObjectReport),
) -> Result<(), OperationError> {
    let metadata = &plan.source.metadata;
    let key = |index| metadata.chunk_key_encoding.key(&crate::engine::chunk_set::position(index, metadata));
    // Of what an unknown codec wrote nothing is known; of others twice the bound, as for chains that are bound.
    let bound = plan.source.pipeline.output().and_then(|encoded| encoded.max_bytes());
    let bound = bound.map_or(u64::MAX, |bytes| bytes.saturating_mul(2).saturating_add(1 << 20));
    let work = |(): &mut (), index| {
        let bytes = destination.copy_from(&plan.source.node, &key(index), bound)?;
        progress.advance(bytes);
        Ok(ObjectReport { written: 1, bytes_read: bytes, bytes_written: bytes, ..ObjectReport::default() })
    };
    driver.run(&plan.listing.present, work, |_, report| fold(report)).map_err(|fault| match fault.fault {
        Fault::Interrupted(_) => OperationError::interrupted(),
        cause => {
            let (key, store) = (key(fault.index), &plan.source.store);
            OperationError::environment(format!("chunk `{key}` of `{store}` cannot be copied")).because(cause)
        }
    })
}

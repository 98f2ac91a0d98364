//! A plan carried out: the chunks, then the metadata, then what is reported.

use std::time::Instant;

use super::fault::explain_job;
use super::plan::{Plan, Planned, Planner};
use super::quantization::Quantization;
use super::verify::{Verification, verify};
use super::way::{route, too_small, unit_bytes};
use crate::engine::driver::{Driver, Fault};
use crate::engine::interrupt::Interrupt;
use crate::engine::object::{ObjectReport, ObjectWay};
use crate::engine::progress::Progress;
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::array::ArrayMetadata;
use crate::metadata::json::Json;
use crate::operation::available_threads;
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::open::{OpenedArray, open_array};
use crate::operation::options::{QuantizeForm, TranscodeOptions};
use crate::operation::place::local_path;
use crate::operation::transcode_result::{
    ArrayDescription, Counts, NodeResult, QuantizationResult, Route, Totals, TranscodeResult,
};
use crate::pipeline::Pipeline;
use crate::store::{LocalNode, StoreError};

/// What a run counted.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    read: u64,
    written: u64,
    bytes_read: u64,
    bytes_written: u64,
    figures: QuantizeFigures,
}

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
    let threads = options.common.threads.map_or_else(available_threads, std::num::NonZeroUsize::get);
    let driver = Driver::new(threads).map_err(no_threads)?.heeding(interrupt);
    let plan = Planner { options, driver: &driver }.plan(source, destination.clone(), progress)?;
    let memory = Memory::of(&plan, threads, options.common.max_memory)?;
    let driver = if memory.threads == threads {
        driver
    } else {
        Driver::new(memory.threads).map_err(no_threads)?.heeding(interrupt)
    };
    if options.dry_run {
        let tally = dry_tally(&plan);
        return Ok(result(options, &plan, &tally, &memory, None, begun));
    }
    let shown = options.destination.display();
    let _unfinished = interrupt
        .begin(format!("`{shown}`, without metadata,"))
        .map_err(|_| OperationError::interrupted())?;
    destination.create_root().map_err(cannot_write)?;
    match write(&plan, options.verify, &driver, progress) {
        Ok((tally, verified)) => Ok(result(options, &plan, &tally, &memory, verified, begun)),
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

fn no_threads(error: impl std::error::Error + Send + Sync + 'static) -> OperationError {
    OperationError::environment("the threads cannot be started").because(error)
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
        tally.figures.merge(&report.figures);
    };
    if let Some(job) = &plan.job {
        progress
            .start("transcode", Some(plan.listing.present.len().saturating_mul(job.source.chunk_bytes())));
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
    let work = |(): &mut (), index| {
        let bytes = destination.copy_from(&plan.source.node, &key(index))?;
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

/// What a plan reads, without reading it.
fn dry_tally(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let metadata = &plan.source.metadata;
    for place in 0..plan.listing.present.len() {
        let Some(index) = plan.listing.present.nth(place) else { break };
        let key = metadata.chunk_key_encoding.key(&crate::engine::chunk_set::position(index, metadata));
        tally.bytes_read += plan.source.node.open(&key).ok().flatten().map_or(0, |object| object.length());
        tally.read += 1;
    }
    tally
}

/// The memory that a run needs.
#[derive(Debug, Clone, Copy)]
struct Memory {
    threads: usize,
    bytes: u64,
}

impl Memory {
    /// As many threads as the budget allows; an error where it does not allow one.
    fn of(plan: &Plan, threads: usize, budget: Option<u64>) -> Result<Self, OperationError> {
        if let Some(ObjectWay::Rechunk(rechunk)) = plan.job.as_ref().map(|job| &job.way) {
            return Ok(Memory { threads: rechunk.schedule.threads, bytes: rechunk.schedule.bytes });
        }
        let unit = plan.job.as_ref().map_or(1 << 20, unit_bytes);
        let Some(budget) = budget else {
            return Ok(Memory { threads, bytes: unit.saturating_mul(threads as u64) });
        };
        let allowed = usize::try_from(budget / unit.max(1)).unwrap_or(usize::MAX);
        if allowed == 0 {
            return Err(too_small(Some(budget), budget, unit));
        }
        let threads = threads.min(allowed);
        Ok(Memory { threads, bytes: unit.saturating_mul(threads as u64) })
    }
}

fn result(
    options: &TranscodeOptions,
    plan: &Plan,
    tally: &Tally,
    memory: &Memory,
    verified: Option<Verification>,
    begun: Instant,
) -> TranscodeResult {
    let num_objects = |metadata: &ArrayMetadata| metadata.chunk_grid_shape().iter().product::<u64>();
    let ran = !options.dry_run;
    let element_size = plan.destination.pipeline.input.data_type.size();
    let elements = crate::metadata::array::num_elements(&plan.source.metadata.shape);
    let counts = Counts {
        chunks: Some(num_objects(&plan.destination.metadata)),
        chunks_absent: Some(num_objects(&plan.source.metadata) - plan.listing.present.len()),
        chunks_read: Some(if ran { tally.read.max(plan.listing.present.len()) } else { tally.read }),
        chunks_written: ran.then_some(tally.written),
        bytes_read: Some(tally.bytes_read),
        bytes_written: if ran { Some(tally.bytes_written) } else { plan.is_copy.then_some(tally.bytes_read) },
        bytes_temporary: Some(0),
        bytes_logical: elements.zip(element_size).and_then(|(count, size)| count.checked_mul(size as u64)),
    };
    let mut warnings = plan.warnings.clone();
    warnings.extend(verified.as_ref().and_then(|v| v.warning.clone()));
    let quantization = plan.quantization.as_ref().map(|quantization| {
        let figures = all_figures(quantization, &tally.figures, elements);
        quantization_result(quantization, tally, &figures, verified.as_ref(), ran)
    });
    let node = NodeResult {
        path: "/".to_owned(),
        node_type: "array",
        route: plan.job.as_ref().map_or(Route::Copy, route),
        source: Some(describe(&plan.source, &plan.source.document, &plan.source.pipeline)),
        destination: Some(describe_planned(&plan.destination)),
        counts,
        read_amplification: Some(read_amplification(plan)),
        memory_bytes: Some(memory.bytes),
        quantization,
        verify: verified.map(|verified| verified.result),
    };
    let nodes = vec![node];
    TranscodeResult {
        source: options.source.display().to_string(),
        destination: options.destination.display().to_string(),
        dry_run: options.dry_run,
        complete: ran,
        seconds: begun.elapsed().as_secs_f64(),
        totals: Totals::of(&nodes, 0),
        nodes,
        warnings,
    }
}

fn read_amplification(plan: &Plan) -> f64 {
    match plan.job.as_ref().map(|job| &job.way) {
        Some(ObjectWay::Rechunk(rechunk)) => rechunk.plan.read_amplification(),
        _ => 1.0,
    }
}

fn describe(source: &OpenedArray, document: &Json, pipeline: &Pipeline) -> ArrayDescription {
    description(document, pipeline, &source.metadata.chunk_shape)
}

fn describe_planned(planned: &Planned) -> ArrayDescription {
    description(&planned.document, &planned.pipeline, &planned.metadata.chunk_shape)
}

fn description(document: &Json, pipeline: &Pipeline, stored_shape: &[u64]) -> ArrayDescription {
    let member = |name: &str| document.get(name).cloned().unwrap_or(Json::Null);
    ArrayDescription {
        zarr_format: 3,
        data_type: member("data_type"),
        fill_value: member("fill_value"),
        chunk_shape: pipeline.innermost_chunk_shape(),
        shard_shape: pipeline.sharding().is_some().then(|| stored_shape.to_vec()),
        codecs: member("codecs").as_array().map(<[Json]>::to_vec).unwrap_or_default(),
    }
}

/// The figures of the stored elements with those of the absent ones, which all hold the fill value.
fn all_figures(
    quantization: &Quantization,
    stored: &QuantizeFigures,
    elements: Option<u64>,
) -> QuantizeFigures {
    let mut all = *stored;
    let absent = elements.unwrap_or(stored.count).saturating_sub(stored.count);
    all.count += absent;
    match quantization.absent_error() {
        None => all.nan += absent,
        Some(error) if absent > 0 => {
            all.max_abs_error = all.max_abs_error.max(error);
            let normalized = error * all.normalizer;
            #[expect(
                clippy::cast_precision_loss,
                reason = "a count rounded to 53 bits is far within the figure's error"
            )]
            let count = absent as f64;
            all.sum_of_squares += count * normalized * normalized;
        }
        Some(_) => {}
    }
    all
}

fn quantization_result(
    quantization: &Quantization,
    tally: &Tally,
    figures: &QuantizeFigures,
    verified: Option<&Verification>,
    ran: bool,
) -> QuantizationResult {
    // What only the first pass tells, a plan that reads no chunk leaves open.
    let settled = !quantization.is_open;
    let (offset, scale) = quantization.literals();
    QuantizationResult {
        form: match quantization.form {
            QuantizeForm::Codecs => "codecs",
            QuantizeForm::Cf => "cf",
            QuantizeForm::Plain => "plain",
        },
        data_type: quantization.is_target_settled().then(|| quantization.target.name()),
        range: quantization.range_literals().filter(|_| settled),
        offset: settled.then_some(offset),
        scale: settled.then_some(scale),
        step: settled.then(|| quantization.step()),
        codes: quantization
            .are_codes_settled()
            .then_some([quantization.codes.first, quantization.codes.last]),
        nan_code: quantization.codes.nan.filter(|_| quantization.are_codes_settled()),
        count: figures.count,
        nan: ran.then_some(figures.nan),
        clamped: ran.then_some(figures.clamped),
        max_abs_error: ran.then_some(figures.max_abs_error),
        max_abs_error_clamped: ran.then_some(figures.max_abs_error_clamped),
        rms_error: ran.then(|| figures.rms_error()),
        bound: (settled || quantization.max_error.is_some()).then(|| quantization.bound()),
        distinct_codes: verified.and_then(|verified| verified.distinct_codes),
        bytes_source: Some(tally.bytes_read),
        bytes_destination: ran.then_some(tally.bytes_written),
    }
}

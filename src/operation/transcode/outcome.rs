//! What a run came to, or a plan would: counts, sizes, figures.

use super::budget::Memory;
use super::plan::Plan;
use super::plan::keep_bits::BitRounding;
use super::plan::route::name_of;
use super::verify::Verification;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::job::Job;
use crate::engine::report::ObjectReport;
use crate::grid::Grid;
use crate::kernel::OutOfRange;
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Json;
use crate::operation::draft::{Planned, edit_innermost};
use crate::operation::open::OpenedArray;
use crate::operation::options::KeepBits;
use crate::operation::options::QuantizeForm;
use crate::operation::quantize::quantization::Quantization;
use crate::operation::quantize::readers;
use crate::operation::transcode_result::{
    ArrayDescription, Counts, NodeResult, QualityResult, QuantizationResult, RouteName,
};
use crate::pipeline::{BytesSize, CodecKind, Pipeline, Representation, codec_kind};

/// What a plan reads and writes, without reading it. Of what is written: at most, since chunks that hold only the
/// fill value are found out later; `None` where compression or absent inner chunks decide.
pub(super) fn dry_tally(plan: &Plan) -> (ObjectReport, Option<u64>) {
    let bytes_temporary = plan.job.bytes_temporary();
    let mut tally =
        ObjectReport { bytes_read: plan.listing.present_bytes, bytes_temporary, ..ObjectReport::default() };
    tally.written = plan.job.num_written();
    let is_copy = matches!(plan.job, Job::Copy(_));
    let bytes_written = if is_copy { Some(tally.bytes_read) } else { fixed_bytes(plan) };
    (tally, bytes_written)
}

/// Bytes of the destination's objects at most, where each takes so many; `None` where its contents decide.
pub(super) fn fixed_bytes(plan: &Plan) -> Option<u64> {
    match plan.destination.pipeline.output() {
        Some(Representation::Bytes(BytesSize::Fixed(bytes))) => bytes.checked_mul(plan.job.num_written()),
        _ => None,
    }
}

/// How a run, or a plan without one, came out.
#[derive(Debug)]
pub(super) struct Outcome {
    /// What was counted.
    pub tally: ObjectReport,
    /// Bytes written, or to be written at most.
    pub bytes_written: Option<u64>,
    /// What it needs.
    pub memory: Memory,
    /// What `--verify` found.
    pub verified: Option<Verification>,
    /// What `--quality` found.
    pub quality: Option<QualityResult>,
}

/// What became of an array, or would.
pub(super) fn array_result(path: &str, plan: &Plan, outcome: Outcome, ran: bool) -> NodeResult {
    let Outcome { tally, bytes_written, memory, verified, quality } = outcome;
    let present = plan.listing.present.len() - plan.job.num_missing();
    let element_size = plan.destination.pipeline.input.data_type.size();
    let elements = crate::metadata::array::num_elements(&plan.destination.metadata.shape);
    let mut destination = describe_planned(&plan.destination);
    let mut counts = Counts {
        chunks: Some(plan.destination.metadata.num_chunks()),
        chunks_absent: Some(plan.source.metadata.num_chunks() - present),
        chunks_refused: Some(plan.source.node.num_refused()),
        chunks_read: Some(present),
        chunks_written: Some(tally.written),
        bytes_read: Some(tally.bytes_read),
        bytes_written,
        bytes_temporary: Some(tally.bytes_temporary),
        bytes_logical: elements.zip(element_size).and_then(|(count, size)| count.checked_mul(size as u64)),
        bytes_source: match plan.source_bytes {
            None if plan.job.read_amplification() <= 1.0 => Some(tally.bytes_read),
            listed => listed,
        },
    };
    let quantization =
        quantization_of(plan, &tally, verified.as_ref(), ran).map(|result| QuantizationResult {
            bytes_source: counts.bytes_source,
            bytes_destination: bytes_written,
            quality,
            ..result
        });
    let is_type_open = quantization.as_ref().is_some_and(|quantization| quantization.data_type.is_none());
    if is_type_open && plan.destination.pipeline.input.data_type != plan.source.data_type {
        // The plan is made with the widest type that the first pass may take.
        destination.data_type = Json::Null;
        (counts.bytes_logical, counts.bytes_written) = (None, None);
    }
    if plan.compression.as_ref().is_some_and(|compression| compression.chosen.is_none()) {
        // The plan is made with one of those that will be tried.
        destination.codecs = without_compressor(&plan.destination.metadata.codecs);
        counts.bytes_written = None;
    }
    NodeResult {
        path: path.to_owned(),
        node_type: "array",
        route: name_of(&plan.job),
        source: Some(describe(&plan.source, &plan.source.document, &plan.source.pipeline)),
        destination: Some(destination),
        selection: plan.source.metadata.taken().map(|taken| {
            let ends = taken.end();
            taken.start.into_iter().zip(ends).map(|(start, end)| [start, end]).collect()
        }),
        counts,
        passes: Some(plan.job.num_passes()),
        units: Some(plan.job.num_units()),
        read_amplification: Some(plan.job.read_amplification()),
        memory_bytes: Some(memory.bytes),
        quantization,
        verify: verified.map(|verified| verified.result),
        compression: plan.compression.clone(),
        estimate: None,
    }
}

/// The figures of a quantisation, or of rounding to bits; `None` where the array has neither.
pub(super) fn quantization_of(
    plan: &Plan,
    tally: &ObjectReport,
    verified: Option<&Verification>,
    ran: bool,
) -> Option<QuantizationResult> {
    let elements = crate::metadata::array::num_elements(&plan.destination.metadata.shape);
    if let Some(quantization) = &plan.quantization {
        let figures = all_figures(quantization, &tally.figures, elements);
        return Some(quantization_result(quantization, &figures, verified, ran));
    }
    let rounding = plan.rounding.as_ref()?;
    let mut figures = tally.figures;
    let absent = elements.unwrap_or(figures.count).saturating_sub(figures.count);
    figures.count += absent;
    figures.nan += if rounding.fill_is_nan { absent } else { 0 };
    figures.infinite += if rounding.fill_is_infinite { absent } else { 0 };
    Some(rounding_result(rounding, &figures, ran))
}

/// What becomes of a group.
pub(super) fn group_result(path: &str) -> NodeResult {
    NodeResult {
        path: path.to_owned(),
        node_type: "group",
        route: RouteName::Metadata,
        source: None,
        destination: None,
        selection: None,
        counts: Counts::default(),
        passes: None,
        units: None,
        read_amplification: None,
        memory_bytes: None,
        quantization: None,
        verify: None,
        compression: None,
        estimate: None,
    }
}

/// A chain as far as it is known before a compressor is chosen.
fn without_compressor(codecs: &[CodecMetadata]) -> Vec<Json> {
    let mut codecs = codecs.to_vec();
    edit_innermost(&mut codecs, |chain| {
        chain.retain(|codec| codec_kind(&codec.name) != Some(CodecKind::BytesToBytes));
    });
    codecs.iter().map(CodecMetadata::to_json).collect()
}

fn describe(source: &OpenedArray, document: &Json, pipeline: &Pipeline) -> ArrayDescription {
    let zarr_format = source.zarr_format;
    ArrayDescription { zarr_format, ..description(document, pipeline, &source.metadata.grid) }
}

fn describe_planned(planned: &Planned) -> ArrayDescription {
    let zarr_format = planned.zarr_format;
    let description = description(&planned.document, &planned.pipeline, &planned.metadata.grid);
    ArrayDescription { zarr_format, ..description }
}

fn description(document: &Json, pipeline: &Pipeline, grid: &Grid) -> ArrayDescription {
    let (stored, is_sharded) = (grid.uniform(), pipeline.sharding().is_some());
    let member = |name: &str| document.get(name).cloned().unwrap_or(Json::Null);
    ArrayDescription {
        zarr_format: 3,
        data_type: member("data_type"),
        fill_value: member("fill_value"),
        chunk_shape: (is_sharded || stored.is_some()).then(|| pipeline.innermost_chunk_shape()),
        shard_shape: stored.filter(|_| is_sharded).map(<[u64]>::to_vec),
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

/// A warning where a quantisation gave values outside of its range a code of another value.
pub(super) fn clamped_warning(path: &str, plan: &Plan, tally: &ObjectReport) -> Option<Diagnostic> {
    let quantization = plan.quantization.as_ref().filter(|_| tally.figures.clamped > 0)?;
    let QuantizeFigures { count, clamped, max_abs_error_clamped, .. } = tally.figures;
    let became = match quantization.out_of_range {
        OutOfRange::Wrap => "wrapped around",
        OutOfRange::Clamp | OutOfRange::Error => "clamped",
    };
    let message = format!(
        "{clamped} of {count} stored elements had no code of their own and were {became}, changed by up to \
         {max_abs_error_clamped}"
    );
    let help = "if they matter, widen or leave out `--range`, or give a `--quantize` type with more codes";
    Some(Diagnostic::new(code::QUANTIZE_CLAMPED, message).with_help(help).at_node(path))
}

/// A warning where a change of data type rounded most values to integers.
pub(super) fn rounded_warning(path: &str, plan: &Plan, tally: &ObjectReport) -> Option<Diagnostic> {
    let QuantizeFigures { count, nan, rounded, .. } = tally.figures;
    let (values, name) = (count.saturating_sub(nan), plan.destination.pipeline.input.data_type.to_string());
    (rounded > values / 2).then(|| {
        let message = format!("{rounded} of {values} stored values were rounded to integers of {name}");
        let help = format!("`--quantize {name}` keeps what lies between integers");
        Diagnostic::new(code::DATA_TYPE_ROUNDED, message).with_help(help).at_node(path)
    })
}

/// What `--keep-bits` does.
fn rounding_result(rounding: &BitRounding, figures: &QuantizeFigures, ran: bool) -> QuantizationResult {
    QuantizationResult {
        form: "bitround",
        data_type: Some(rounding.number_type.name()),
        keep_bits: rounding.bits(),
        information: match rounding.keep {
            KeepBits::Auto(share) | KeepBits::Found(_, share) => Some(share),
            KeepBits::Bits(_) => None,
        },
        range: None,
        offset: None,
        scale: None,
        step: None,
        codes: None,
        nan_code: None,
        count: figures.count,
        nan: ran.then_some(figures.nan),
        clamped: None,
        max_abs_error: ran.then_some(figures.max_abs_error),
        max_abs_error_clamped: None,
        rms_error: ran.then(|| figures.rms_error()),
        bound: None,
        readers: Some("zarr-python 3, xarray, zarrs, zarrcast"),
        reader_workaround: None,
        distinct_codes: None,
        bytes_source: None,
        bytes_destination: None,
        quality: None,
    }
}

fn quantization_result(
    quantization: &Quantization,
    figures: &QuantizeFigures,
    verified: Option<&Verification>,
    ran: bool,
) -> QuantizationResult {
    // What only the first pass tells, a plan that reads no chunk leaves open.
    let settled = !quantization.is_open && quantization.is_target_settled;
    let (offset, scale) = quantization.literals();
    QuantizationResult {
        form: match quantization.form {
            QuantizeForm::Codecs => "codecs",
            QuantizeForm::Cf => "cf",
            QuantizeForm::Plain => "plain",
        },
        keep_bits: None,
        information: None,
        data_type: quantization.is_target_settled.then(|| quantization.target.name()),
        range: quantization.range_literals().filter(|_| !quantization.is_open),
        offset: settled.then_some(offset),
        scale: (settled || quantization.grid_step.is_some()).then_some(scale),
        step: (settled || quantization.grid_step.is_some()).then(|| quantization.step()),
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
        readers: readers::names(quantization),
        reader_workaround: quantization.reader_workaround_literals(),
        distinct_codes: verified.and_then(Verification::distinct_codes),
        bytes_source: None,
        bytes_destination: None,
        quality: None,
    }
}

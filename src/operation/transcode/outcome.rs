//! The result of a run, or of a plan: counts, sizes, figures.

use super::{
    DestinationMetadata, Plan, Repacking, Verification, plan::route::name_of, verify::like_nan_text,
    verify::rounding_warning,
};
use crate::data_type::value_to_json;
use crate::diagnostic::quantity;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::{Job, ObjectReport};
use crate::grid::{Grid, num_elements};
use crate::kernel::{OutOfRange, quantize::QuantizeFigures};
use crate::metadata::{CodecMetadata, Json};
use crate::operation::quantize::quantization::{FEW_CODES, needs_workaround};
use crate::operation::transcode_result::{ArrayDescription, Counts, NodeResult};
use crate::operation::{KeepBits, QualityResult, Quantization, QuantizationResult, QuantizeForm, draft};
use crate::pipeline::{BytesSize, CodecKind, Pipeline, Representation, codec_kind};

/// Returns the reads and writes of a plan, without a read. The number of objects is a maximum: chunks that contain only
/// the fill value are found later.
fn planned(plan: &Plan) -> Done {
    let (bytes_read, bytes_temporary) = (plan.listing.present_bytes, plan.job.bytes_temporary());
    let written = plan.job.num_written();
    let tally = ObjectReport { written, bytes_read, bytes_temporary, ..ObjectReport::default() };
    Done { tally, verified: None, quality: None }
}

/// Returns the maximum bytes of the destination's objects, if all have the same size. `None` if it depends on their
/// contents.
pub(super) fn fixed_bytes(plan: &Plan) -> Option<u64> {
    let Some(Representation::Bytes(BytesSize::Fixed(bytes))) = plan.destination.pipeline.output() else { return None };
    bytes.checked_mul(plan.job.num_written())
}

pub(super) struct Done {
    pub tally: ObjectReport,
    pub verified: Option<Verification>,
    pub quality: Option<QualityResult>,
}

/// Returns the result for an array, or its plan if nothing was done. Adds its warnings to `warnings`.
pub(super) fn array_result(plan: &Plan, done: Option<Done>, warnings: &mut Vec<Diagnostic>) -> NodeResult {
    let ran = done.is_some();
    let Done { tally, verified, quality } = done.unwrap_or_else(|| planned(plan));
    warnings.extend(plan.warnings.iter().cloned());
    warnings.extend(value_warnings(plan, &tally.figures));
    warnings.extend(verified.as_ref().and_then(|verified| rounding_warning(plan, &verified.result)));
    let DestinationMetadata { draft, pipeline, metadata } = &plan.destination;
    let mut destination = description(draft.zarr_format, &draft.document, pipeline, &metadata.grid);
    let (document, pipeline) = (&plan.source.documents.document, &plan.source.pipeline);
    let source = description(plan.source.documents.zarr_format, document, pipeline, &plan.source.metadata.grid);
    let mut counts = counts(plan, &tally, ran);
    let codes = verified.as_ref().and_then(|verified| verified.codes.as_ref());
    let quantization = quantization_of(plan, &tally, ran).map(|result| QuantizationResult {
        distinct_codes: codes.map(|codes| codes.iter().map(|byte| u64::from(byte.count_ones())).sum()),
        bytes_source: counts.bytes_source,
        bytes_destination: counts.bytes_written,
        quality,
        ..result
    });
    let is_rounded = quantization.is_some() && tally.figures.max_abs_error > 0.0;
    warnings.extend(codes.filter(|_| is_rounded).and_then(|codes| few_codes_warning(plan, codes)));
    let is_type_open = quantization.as_ref().is_some_and(|quantization| quantization.data_type.is_none());
    if is_type_open && plan.destination.pipeline.input.data_type != plan.source.data_type {
        // The plan has the widest type that the first pass may choose.
        destination.data_type = Json::Null;
        (counts.bytes_logical, counts.bytes_written) = (None, None);
    }
    if plan.compression.as_ref().is_some_and(|compression| compression.chosen.is_none()) {
        // The plan has one of the chains that will be tried.
        destination.codecs = without_compressor(&draft.codecs);
        counts.bytes_written = None;
    }
    NodeResult {
        path: plan.path.clone(),
        node_type: "array",
        route: name_of(&plan.job),
        source: Some(source),
        destination: Some(destination),
        selection: plan.source.metadata.taken().map(|taken| {
            let ends = taken.end();
            taken.start.into_iter().zip(ends).map(|(start, end)| [start, end]).collect()
        }),
        counts,
        passes: Some(plan.job.num_passes()),
        units: Some(plan.job.num_units()),
        read_amplification: Some(plan.job.read_amplification()),
        memory_bytes: Some(plan.memory.bytes),
        predict: predicted(plan),
        readers: match &quantization {
            Some(quantization) => quantization.readers.clone(),
            None => predicted(plan).and_then(|_| integer_readers(plan)),
        },
        quantization,
        verify: verified.map(|verified| verified.result),
        compression: plan.compression.clone(),
        ..NodeResult::default()
    }
}

/// Returns the counts of chunks and bytes. Bytes to be written are known only if they cannot change.
fn counts(plan: &Plan, tally: &ObjectReport, ran: bool) -> Counts {
    let present = plan.listing.present.len() - plan.job.num_missing();
    let elements = num_elements(&plan.destination.metadata.shape);
    let size = plan.destination.pipeline.input.data_type.size();
    Counts {
        chunks: Some(plan.destination.metadata.num_chunks()),
        chunks_absent: Some(plan.source.metadata.num_chunks() - present),
        chunks_refused: Some(plan.source.node.num_refused()),
        chunks_read: Some(present),
        chunks_written: Some(tally.written),
        bytes_read: Some(tally.bytes_read),
        bytes_written: match plan.job {
            _ if ran => Some(tally.bytes_written),
            Job::Copy(_) => Some(plan.listing.present_bytes),
            Job::Objects(_) => fixed_bytes(plan),
        },
        bytes_temporary: Some(tally.bytes_temporary),
        bytes_logical: elements.zip(size).and_then(|(count, size)| count.checked_mul(size as u64)),
        bytes_source: match plan.source_bytes {
            // Each chunk was read once, so this is their stored size.
            None if plan.job.read_amplification() <= 1.0 => Some(tally.bytes_read),
            listed => listed,
        },
    }
}

/// Returns the figures of a quantisation, or of rounding to bits. Absent elements are included, and all have the fill
/// value. `None` if the array has neither.
pub(super) fn quantization_of(plan: &Plan, tally: &ObjectReport, ran: bool) -> Option<QuantizationResult> {
    let mut figures = tally.figures;
    let elements = num_elements(&plan.destination.metadata.shape).unwrap_or(figures.count);
    let absent = elements.saturating_sub(figures.count);
    figures.count += absent;
    if let Some(Repacking { quantization, difference, limit, .. }) = &plan.changed.repacking {
        return Some(QuantizationResult {
            is_repacked: true,
            count: elements,
            max_abs_error: *difference,
            bound: difference.map(|_| *limit),
            ..quantization_result(quantization, plan)
        });
    }
    add_absent(plan.changed.absent_error(), absent, &mut figures);
    let result = match (&plan.changed.quantization, &plan.changed.rounding) {
        (Some(quantization), _) => QuantizationResult {
            clamped: ran.then_some(figures.clamped),
            max_abs_error_clamped: ran.then_some(figures.max_abs_error_clamped),
            ..quantization_result(quantization, plan)
        },
        (None, Some(rounding)) => {
            figures.infinite += absent * rounding.absent.infinite;
            let information = match rounding.keep {
                KeepBits::Auto(share) | KeepBits::Found(_, share) => Some(share),
                KeepBits::Bits(_) => None,
            };
            QuantizationResult {
                form: "bitround",
                data_type: Some(rounding.number_type.name()),
                keep_bits: rounding.keep.bits(),
                information,
                readers: Some("zarr-python 3, xarray, zarrs, zarrcast".to_owned()),
                ..QuantizationResult::default()
            }
        }
        (None, None) => return None,
    };
    Some(QuantizationResult {
        count: figures.count,
        nan: ran.then_some(figures.nan),
        predict: predicted(plan),
        max_abs_error: ran.then_some(figures.max_abs_error),
        rms_error: ran.then(|| figures.rms_error()),
        ..result
    })
}

/// Returns the readers of quantised values, which depend on the form and on the other codecs of the chain. `None` if
/// only the caller knows what the integers mean. `None` also for types about which there is a warning.
fn readers(quantization: &Quantization, plan: &Plan) -> Option<String> {
    let chain = chain_readers(plan);
    let codecs = &plan.destination.draft.codecs;
    let has_pcodec = draft::has_codec(codecs, draft::PCODEC);
    let others = match quantization.form {
        QuantizeForm::Cf if chain.is_some() => return chain.map(|chain| format!("xarray with {chain}")),
        QuantizeForm::Plain if predicted(plan).is_some() => return integer_readers(plan),
        QuantizeForm::Codecs if has_pcodec => " and numcodecs[pcodec]; for others write plain floats with `--unpack`",
        QuantizeForm::Codecs if turns_differences(plan) => {
            "; not zarrita.js 0.7; for others write plain floats with `--unpack`"
        }
        _ if quantization.is_packed() => return None,
        QuantizeForm::Codecs => ", zarrita.js >= 0.7; for others write `--as cf`, or plain floats with `--unpack`",
        QuantizeForm::Cf => {
            return Some("all that apply scale_factor and add_offset, such as xarray and GDAL".to_owned());
        }
        QuantizeForm::Plain => return None,
    };
    let needs_help = needs_workaround(quantization, codecs) && quantization.reader_workaround.is_none();
    let but = if needs_help { " (not 3.4.1 and 3.4.2)" } else { "" };
    Some(format!("zarr-python >= 3.2{but} with cast-value-rs{others}"))
}

/// Returns the reader of a chain that has pcodec, casts or differences.
fn chain_readers(plan: &Plan) -> Option<&'static str> {
    let has = |name| draft::has_codec(&plan.destination.draft.codecs, name);
    match (has(draft::PCODEC), has("cast_value")) {
        (true, true) => Some("zarr-python >= 3.2, cast-value-rs and numcodecs[pcodec]"),
        (true, false) => Some("zarr-python 3 and numcodecs[pcodec]"),
        (false, true) => Some("zarr-python >= 3.2 and cast-value-rs"),
        _ => has(draft::DELTA).then_some("zarr-python 3, which has numcodecs"),
    }
}

/// Returns the readers of integers that are stored as differences.
fn integer_readers(plan: &Plan) -> Option<String> {
    let chain = chain_readers(plan)?;
    let is_alone = turns_differences(plan) || draft::has_codec(&plan.destination.draft.codecs, draft::PCODEC);
    Some(if is_alone { chain.to_owned() } else { format!("{chain}; zarrita.js >= 0.7") })
}

/// Returns the dimensions along which differences are stored. `None` without differences.
fn predicted(plan: &Plan) -> Option<Vec<String>> {
    Some(plan.change.predicted().to_vec()).filter(|dimensions| !dimensions.is_empty())
}

/// Returns a chain as far as it is known before a compressor is chosen.
fn without_compressor(codecs: &[CodecMetadata]) -> Vec<Json> {
    let mut codecs = codecs.to_vec();
    let is_kept = |codec: &CodecMetadata| codec_kind(&codec.name) != Some(CodecKind::BytesToBytes);
    draft::edit_innermost(&mut codecs, |chain| chain.retain(is_kept));
    codecs.iter().map(CodecMetadata::to_json).collect()
}

fn description(zarr_format: u64, document: &Json, pipeline: &Pipeline, grid: &Grid) -> ArrayDescription {
    let (stored, is_sharded) = (grid.uniform(), pipeline.sharding().is_some());
    let member = |name: &str| document.get(name).cloned().unwrap_or(Json::Null);
    ArrayDescription {
        zarr_format,
        data_type: member("data_type"),
        fill_value: member("fill_value"),
        chunk_shape: (is_sharded || stored.is_some()).then(|| pipeline.innermost_chunk_shape()),
        shard_shape: stored.filter(|_| is_sharded).map(<[u64]>::to_vec),
        codecs: member("codecs").as_array().map(<[Json]>::to_vec).unwrap_or_default(),
    }
}

/// Adds absent elements, which are counted already, to the figures of the stored ones.
fn add_absent(error: Option<f64>, absent: u64, figures: &mut QuantizeFigures) {
    match error {
        None => figures.nan += absent,
        Some(error) if absent > 0 && error > 0.0 => {
            if figures.normalizer <= 0.0 {
                // No stored element has an error.
                figures.normalizer = error.recip().min(f64::MAX);
            }
            figures.max_abs_error = figures.max_abs_error.max(error);
            let normalized = error * figures.normalizer;
            figures.sum_of_squares += quantity::approximate(absent) * normalized * normalized;
        }
        Some(_) => {}
    }
}

/// Returns the warnings about an array's values: a quantisation gave values outside its range the code of another, a
/// change of data type rounded most values to integers or gave some the value of NaN, some readers do not decode integer
/// differences. A result with quantised codes names its readers itself.
fn value_warnings(plan: &Plan, figures: &QuantizeFigures) -> impl Iterator<Item = Diagnostic> {
    let QuantizeFigures { count, nan, clamped, max_abs_error_clamped, rounded, like_nan, .. } = *figures;
    let quantization = plan.changed.quantization.as_ref();
    let clamped = quantization.filter(|_| clamped > 0).map(|quantization| {
        let became = if quantization.out_of_range == OutOfRange::Wrap { "wrapped around" } else { "clamped" };
        let of = format!("{} of {}", quantity::count(clamped), quantity::counted(count, "stored element"));
        let elements = format!("{of} were out of range and were {became}");
        let help = "if they matter, widen or leave out `--range`, or give a `--quantize` type with more codes";
        let message = format!("{elements}, changed by up to {max_abs_error_clamped}");
        Diagnostic::new(code::QUANTIZE_CLAMPED, message).with_help(help)
    });
    let (values, name) = (count.saturating_sub(nan), plan.destination.pipeline.input.data_type.to_string());
    let rounded = (rounded > values / 2).then(|| {
        let of = format!("{} of {}", quantity::count(rounded), quantity::counted(values, "stored value"));
        let message = format!("{of} were rounded to integers of {name}");
        Diagnostic::new(code::DATA_TYPE_ROUNDED, message).with_help(format!("`--quantize {name}` keeps the fractions"))
    });
    let like_nan = like_nan_text(plan, like_nan, nan).map(|message| {
        Diagnostic::new(code::NAN_VALUE_TAKEN, message).with_help("give a `--nan-value` that no other value becomes")
    });
    let predicts = quantization.is_none() && predicted(plan).is_some();
    let message = "zarr-python with cast-value-rs reads these differences right, zarrita.js 0.7 does not";
    let predicted = (predicts && turns_differences(plan)).then(|| {
        Diagnostic::new(code::PREDICT_READERS, message).with_help("differences along one dimension are read by both")
    });
    [clamped, rounded, like_nan, predicted].into_iter().flatten().map(move |found| found.at_node(&plan.path))
}

/// Returns a warning if the codes that were read back, one bit each, are neighbours and few. The plan warns of a step that
/// leaves few codes for the whole range, but a given range may be much wider than the values.
fn few_codes_warning(plan: &Plan, codes: &[u8]) -> Option<Diagnostic> {
    let is_known = plan.warnings.iter().any(|known| known.is(code::QUANTIZE_FEW_CODES));
    let (first, last) = (codes.iter().position(|byte| *byte > 0)?, codes.iter().rposition(|byte| *byte > 0)?);
    let bits = 8 * (last - first) as u64 + 8;
    let span = bits - u64::from(codes[first].trailing_zeros()) - u64::from(codes[last].leading_zeros());
    (span < FEW_CODES && !is_known).then(|| {
        let message = format!("the values have only {}", quantity::counted(span, "neighbouring code"));
        let help = "give a narrower `--range`, or a smaller error";
        Diagnostic::new(code::QUANTIZE_FEW_CODES, message).with_help(help).at_node(&plan.path)
    })
}

/// Returns whether a transposition follows a difference: of several dimensions, or of an array that is stored
/// transposed.
fn turns_differences(plan: &Plan) -> bool {
    let names = draft::codec_names(&plan.destination.draft.codecs);
    names.iter().skip_while(|name| **name != draft::DELTA).any(|name| *name == "transpose")
}

fn quantization_result(quantization: &Quantization, plan: &Plan) -> QuantizationResult {
    // A plan that reads no chunk leaves out what only the first pass determines.
    let resolved = quantization.is_resolved();
    let has_step = resolved || quantization.grid_step.is_some();
    let Quantization { source, scaling, reader_workaround, .. } = quantization;
    let codes = quantization.are_codes_resolved().then_some(&quantization.codes);
    QuantizationResult {
        form: quantization.form.name(),
        data_type: (!quantization.is_target_open).then(|| quantization.target.name()),
        range: quantization.range_literals().filter(|_| !quantization.is_open),
        offset: resolved.then(|| quantization.literal(scaling.offset.unwrap_or(0.0))),
        scale: has_step.then(|| quantization.literal(scaling.scale.unwrap_or(1.0))),
        step: has_step.then(|| quantization.step()),
        codes: codes.map(|codes| [codes.first, codes.last]),
        nan_code: codes.and_then(|codes| codes.nan),
        bound: (resolved || quantization.max_error.is_some()).then(|| quantization.bound()),
        readers: readers(quantization, plan),
        reader_workaround: reader_workaround.map(|(value, code)| (value_to_json(*source, value), code)),
        ..QuantizationResult::default()
    }
}

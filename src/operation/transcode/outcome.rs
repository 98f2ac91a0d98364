//! The result of a run, or of a plan: counts, sizes, figures.
//!
//! Forecast of a plan that is shown: its objects, with a warning of very many, and its size and time (`--estimate`).
//! The estimate is from a sample of its chunks. Also checks the free space for written data beyond the source's own
//! objects: absent chunks that become objects, and intermediate data.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::io;
use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
use std::iter::successors;

use super::sample::{Attempt, SampleSize, SampleSpec};
use super::{
    DestinationMetadata, JobPlan, Plan, Repacking, Sampler, Verification, plan::regrid::as_option,
    plan::route::name_of, verify::like_nan_text, verify::rounding_warning,
};
use crate::data_type::value_to_json;
use crate::diagnostic::quantity::{self, approximate, bytes, counted};
use crate::diagnostic::{Diagnostic, code};
use crate::engine::{Job, Journal, ObjectReport, route::staged::left_document};
use crate::grid::{Grid, num_elements, volume, zip_with};
use crate::kernel::{OutOfRange, quantize::QuantizeFigures};
use crate::metadata::{CodecMetadata, Json};
use crate::operation::quantize::quantization::{FEW_CODES, needs_workaround};
use crate::operation::transcode_result::{ArrayDescription, Counts, NodeResult, PlannedObjects};
use crate::operation::{
    ChangeOptions, EstimateResult, KeepBits, OperationError, QualityResult, Quantization, QuantizationResult,
    QuantizeForm, Result, draft, options::options_for,
};
use crate::pipeline::{BytesSize, CodecKind, Pipeline, Representation, codec_kind};
use crate::store::{FreeSpace, Node, UPLOAD_PART_BYTES};

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

/// Number of stored objects above which file systems and object stores become slow: larger shards are advised.
const MANY_OBJECTS: u64 = 100_000;

/// Least decoded bytes of an advised shard, if the array is that large. Smaller ones are hardly better than chunks.
const LEAST_SHARD_BYTES: u64 = 64 << 20;

impl JobPlan<'_> {
    /// Returns the maximum number of chunks that are written.
    pub(super) fn num_written(&self) -> u64 {
        self.arrays.iter().map(|array| array.job.num_written()).fold(0, u64::saturating_add)
    }

    /// Returns the maximum number of objects of a plan, including documents and other keys.
    pub(super) fn planned_objects(&self, keys: &[&str]) -> PlannedObjects {
        let (from, destination) = (&self.source.node, self.output.data());
        let mut planned = PlannedObjects { keys: keys.len() as u64, ..PlannedObjects::default() };
        let (mut requests_read, mut requests_write) = (0_u64, planned.keys);
        let above = |key: &&str| key.match_indices('/').map(|(end, _)| key[..end].to_owned()).collect::<Vec<_>>();
        // The first is that of the store.
        let mut folders = 1 + keys.iter().flat_map(above).collect::<HashSet<_>>().len() as u64;
        for array in &self.arrays {
            let written = array.job.num_written();
            planned.keys = planned.keys.saturating_add(written);
            folders = folders.saturating_add(chunk_folders(array, written));
            let is_moved = matches!(array.job, Job::Copy(_)) && destination.copies_server_side(from);
            // A copy at the server is one request, which counts as a write.
            let read = if is_moved { 0 } else { array.listing.present.len() };
            requests_read = requests_read.saturating_add(read);
            // The bytes of a stored object of DEST. If it is compressed, those of its elements.
            let bytes = match &array.job {
                Job::Copy(job) => array.listing.present_bytes / job.objects().len().max(1),
                Job::Objects(job) => job.transfer.destination.chunk_bytes(),
            };
            // One request, or one for each part, one before and one after them.
            let is_one = is_moved || bytes <= UPLOAD_PART_BYTES;
            let each = if is_one { 1 } else { bytes.div_ceil(UPLOAD_PART_BYTES).saturating_add(2) };
            requests_write = requests_write.saturating_add(written.saturating_mul(each));
        }
        planned.requests_read = from.capabilities().is_remote.then_some(requests_read);
        if destination.capabilities().is_remote {
            planned.requests_write = Some(requests_write);
        } else if self.output.keeps_unfinished() {
            (planned.files, planned.folders) = (Some(planned.keys), Some(folders));
        } else {
            // DEST is a zip file.
            (planned.files, planned.folders) = (Some(1), Some(0));
        }
        planned
    }

    /// Returns a warning of very many objects, with shards that would reduce their number.
    pub(super) fn many_objects(&self) -> Option<Diagnostic> {
        let JobPlan { arrays, output, .. } = self;
        let objects = self.num_written();
        if objects <= MANY_OBJECTS || !output.keeps_unfinished() {
            return None;
        }
        let what = if output.data().capabilities().is_remote { "objects: stores" } else { "files: file systems" };
        let message = format!("DEST will have {objects} {what} become slow with so many");
        let found = Diagnostic::new(code::MANY_OBJECTS, message);
        let array = arrays.iter().max_by_key(|array| array.job.num_written())?;
        Some(match advised_shard(array) {
            Some((shard, decoded, count)) => {
                let format = if array.destination.draft.zarr_format == 2 { "--zarr-format 3 " } else { "" };
                let option = format!("{format}--shard-shape {shard}");
                let option = if arrays.len() == 1 {
                    format!("`{option}`")
                } else {
                    let path = array.path.trim_start_matches('/');
                    format!("`{}`", options_for("--rule", &[path], &format!(": {option}")))
                };
                let shards = counted(count, "shard");
                found.with_help(format!("{option} puts the chunks of `{}` into {shards} of {decoded}", array.path))
            }
            None => found.with_help("larger chunks (`--chunk-shape`) make fewer"),
        })
    }

    /// Returns the estimates of all arrays, by path.
    pub(super) fn estimates(&self) -> Result<BTreeMap<String, EstimateResult>> {
        let JobPlan { arrays, budget, driver, progress, .. } = self;
        let sampler = Sampler { budget: *budget, driver };
        progress.start("estimate", None);
        let estimated = arrays.iter().map(|array| {
            driver.interrupt().check()?;
            let estimate = sampler.estimate_of(array).map_err(|error| self.named(error, &array.source.store))?;
            Ok((array.path.clone(), estimate))
        });
        let estimated = estimated.collect();
        progress.finish();
        estimated
    }

    /// Adds the missing space to an error about space. It assumes that the remaining work is like the completed work. If
    /// that would fit, it names other limits.
    pub(super) fn with_missing_space(&self, error: OperationError, journal: &Journal) -> OperationError {
        if !is_out_of_space(&error) {
            return error;
        }
        let Some(Ok(free)) = self.arrays.first().map(|array| array.target.free_space()) else { return error };
        let total = self.num_written();
        let ObjectReport { written: done, bytes_written: written, .. } = journal.total();
        let left = u128::from(total.saturating_sub(done).max(1));
        let jobs = self.arrays.iter().filter_map(|array| array.job.objects());
        let decoded = jobs.map(|job| job.transfer.destination.chunk_bytes()).max();
        let needed = match decoded {
            Some(decoded) if done == 0 => left * u128::from(decoded),
            _ => left * u128::from(written) / u128::from(done.max(1)),
        };
        error.with_help(space_help(u64::try_from(needed).unwrap_or(u64::MAX), &free))
    }
}

/// Returns the maximum number of folders of an array's chunks, without that of the array.
fn chunk_folders(array: &Plan, written: u64) -> u64 {
    let metadata = &array.destination.metadata;
    let grid = metadata.grid.counts();
    let depth = metadata.chunk_key_encoding.key(&grid).matches('/').count();
    // A key has one name for each dimension, and may have one before them.
    let before = (depth + 1).saturating_sub(grid.len().max(1));
    let above = |level: usize| volume(&grid[..(level + 1).saturating_sub(before)]);
    (0..depth).map(|level| above(level).min(written)).fold(0, u64::saturating_add)
}

/// Returns the shape of an advised shard for the option, its decoded size, and the number of such shards.
fn advised_shard(array: &Plan) -> Option<(String, String, u64)> {
    let metadata = &array.destination.metadata;
    let chunk = metadata.grid.uniform()?;
    let grid = metadata.grid.counts();
    let element = array.destination.pipeline.input.data_type.size().unwrap_or(1) as u64;
    let mut factors = vec![1_u64; grid.len()];
    loop {
        let counts = zip_with(&grid, &factors, u64::div_ceil);
        let shard = zip_with(chunk, &factors, u64::saturating_mul);
        let (count, decoded) = (volume(&counts), element.saturating_mul(volume(&shard)));
        // The dimension with the most shards is halved until they are few and large enough.
        let (dimension, most) = counts.iter().copied().enumerate().max_by_key(|(_, count)| *count)?;
        if most <= 1 || (count <= MANY_OBJECTS / 10 && decoded >= LEAST_SHARD_BYTES) {
            return Some((as_option(&shard), format!("{} (decoded)", bytes(decoded)), count));
        }
        factors[dimension] = factors[dimension].saturating_mul(2).min(grid[dimension]);
    }
}

impl Sampler<'_> {
    fn estimate_of(&self, plan: &Plan) -> Result<EstimateResult> {
        let (is_copy, plain) = (matches!(plan.job, Job::Copy(_)), ChangeOptions::default());
        let change = if is_copy { &plain } else { &plan.change };
        let mut drawing = SampleSpec::new(plan, change);
        let (sample, trial) = loop {
            let sample = self.draw(&drawing, SampleSize::ByDefault)?;
            let trial = Attempt { sampler: *self, sample: &sample, options: change, resolved: None }.run()?;
            if drawing.fills || !trial.fills {
                break (sample, trial);
            }
            // Only the values show that absent chunks are written.
            drawing.fills = true;
        };
        let destination = &plan.destination;
        let is_sharded = destination.pipeline.sharding().is_some() && !is_copy;
        let shards = is_sharded.then(|| sample.shards_held_by(&trial.array, &destination.metadata.grid));
        let shards = shards.transpose()?.flatten();
        let (bytes_stored, is_exact) = match plan.listing.present_bytes {
            // The size of a copy is known.
            bytes @ 1.. if is_copy => (bytes, true),
            // A copied shard includes its index.
            _ => {
                let objects = if is_copy { 0 } else { shards.unwrap_or_else(|| plan.job.num_written()) };
                (trial.bytes_stored(&destination.pipeline, objects), trial.is_exact)
            }
        };
        // SOURCE may be read more than once for each chunk.
        let times = approximate(plan.job.num_passes()) * plan.job.read_amplification().max(1.0);
        Ok(EstimateResult { bytes_stored, is_exact, seconds: trial.seconds * times, sample: sample.result() })
    }
}

/// Checks that absent chunks, once written, fit into the free space. A grid of 2^60 chunks is one line of metadata, and
/// writing it would never end.
///
/// Each chunk needs at least a block and a file. Its contents may need more.
pub(super) fn check_room(plan: &Plan) -> Result<()> {
    let filled = plan.job.num_filled();
    let mut temporary = plan.job.bytes_temporary();
    let staged = plan.job.staged();
    // A resumed run has some of them already.
    if staged.is_some_and(|staged| matches!(left_document(&staged.staging.node), Ok(Some(_)))) {
        temporary = 0;
    }
    if let Some(staged) = staged.filter(|staged| staged.is_outside) {
        let folder = &staged.staging.node;
        let free = free_space_of(folder)?.bytes();
        if temporary > free {
            let help = "set TMPDIR to a folder on a larger file system, or give more `--max-memory`, so that one pass is enough";
            let taken = format!("{} of intermediate data", bytes(temporary));
            return Err(no_room_for_passes(&taken, folder, free).with_help(help));
        }
        temporary = 0;
    }
    if filled == 0 && temporary == 0 {
        return Ok(());
    }
    let space = free_space_of(&plan.target)?;
    let free = space.bytes();
    // The size of compressed chunks is not known before.
    let written = fixed_bytes(plan).filter(|_| temporary > 0).unwrap_or(0);
    if temporary.saturating_add(written) > free {
        let taken = format!("{} of intermediate data and {} of chunks", bytes(temporary), bytes(written));
        return Err(no_room_for_passes(&taken, &plan.target, free)
            .with_help("give more `--max-memory`, so that one pass is enough, or use a larger file system"));
    }
    let (chunks, name) = (counted(filled, "absent chunk"), plan.target.name());
    let free = format!("{} and {} are free", bytes(free), counted(space.files, "file"));
    let message = format!("{chunks} would be written, but there is no space at `{name}`: {free}");
    let help = "keep the fill value, so that missing chunks stay missing, or use a larger file system";
    let has_space = filled <= space.blocks.min(space.files);
    if has_space { Ok(()) } else { Err(OperationError::environment(message).with_help(help)) }
}

fn no_room_for_passes(taken: &str, node: &Node, free: u64) -> OperationError {
    let (name, free) = (node.name(), bytes(free));
    OperationError::environment(format!("two passes take {taken} at `{name}`, and {free} are free"))
}

fn free_space_of(node: &Node) -> Result<FreeSpace> {
    let unknown = || OperationError::environment(format!("the free space of `{}` is not known", node.name()));
    node.free_space().map_err(|error| unknown().because(error))
}

/// Returns the help for space that ran out while `needed` more bytes were needed.
fn space_help(needed: u64, space: &FreeSpace) -> String {
    let (free, files) = (bytes(space.bytes()), counted(space.files, "file"));
    let others = "look for a quota, a limit of the process (`ulimit -f`) or other writers";
    match needed.checked_sub(space.bytes()) {
        Some(missing @ 1..) => format!("about {} more are needed there ({free} are free): make room", bytes(missing)),
        // The file system does not report what ran out.
        _ => format!("{free} and {files} are free there now: {others}"),
    }
}

/// Returns whether the disk, a quota or a limit of the process is exhausted.
fn is_out_of_space(error: &OperationError) -> bool {
    let mut causes = successors(error.source(), |&error| error.source());
    let cause = causes.find_map(|error| error.downcast_ref::<io::Error>());
    cause.is_some_and(|error| matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull))
}

#[cfg(test)]
mod forecast_tests {
    use super::*;

    #[test]
    fn want_of_space_says_what_is_missing_or_that_the_file_system_has_it() {
        let space = FreeSpace { blocks: 2, block_bytes: 512, files: 9 };
        assert_eq!(space_help(3072, &space), "about 2.00 KiB more are needed there (1.00 KiB are free): make room");
        let enough = space_help(1024, &space);
        assert!(enough.starts_with("1.00 KiB and 9 files are free there now: look for a quota"), "{enough}");
    }
}

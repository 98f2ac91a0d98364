//! `inspect`: an array's metadata, what each codec makes of a chunk, what is stored, and what the values are.

mod chunk;
mod histogram;
mod picture;
mod pipeline;
mod preview;
mod stats;
mod suggestion;
mod values;

use super::error::{FaultClass, OperationError};
use super::inspect_result::ArrayResult;
use super::open::{ArrayReading, OpenedArray, opened, read_array};
use super::options::InspectOptions;
use super::transcode::fault::explain;
use super::transcode::layout::side;
use super::{available_threads, storage};
use crate::codec::element_bits;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::chunk_set::{Listing, list, list_with_sizes, position};
use crate::engine::driver::{ChunkFault, Driver};
use crate::engine::object::Side;
use crate::engine::progress::Progress;
use crate::metadata::array::{ArrayMetadata, ChunkGrid};
use crate::metadata::chunk_key::ChunkKeyEncoding;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Json;
use crate::pipeline::Pipeline;
use histogram::Histogram;
use preview::Slice;
use stats::Figures;
use values::{Values, threads_within, unit_bytes};

/// Reads an array's metadata as far as it goes, then what was asked of its chunks; what is wrong with either is among
/// the findings.
pub fn inspect(options: &InspectOptions, progress: &dyn Progress) -> Result<ArrayResult, OperationError> {
    let reading = read_array(&options.store, options.node.as_deref())?;
    let mut result = describe(&reading, options);
    if options.storage || options.asks_for_values() {
        let (place, of_metadata) = (reading.place.clone(), result.warnings.len());
        let key = if reading.zarr_format == 2 { ".zarray" } else { "zarr.json" };
        contents(reading, options, progress, &mut result)?;
        place.locate(&mut result.warnings[of_metadata..], key);
    }
    Ok(result)
}

fn describe(reading: &ArrayReading, options: &InspectOptions) -> ArrayResult {
    let ArrayReading { place, document, members, pipeline, data_type, diagnostics, .. } = reading;
    let stored_shape = match members.chunk_grid.as_ref() {
        Some(ChunkGrid::Regular { chunk_shape }) => Some(chunk_shape.clone()),
        _ => None,
    };
    let is_sharded = pipeline.as_ref().is_some_and(|pipeline| pipeline.sharding().is_some());
    ArrayResult {
        store: options.store.display().to_string(),
        node_type: "array",
        path: place.path.clone(),
        zarr_format: document.get("zarr_format").and_then(Json::as_u64),
        shape: members.shape.clone(),
        data_type: data_type
            .as_ref()
            .map(|data_type| data_type.to_metadata())
            .or_else(|| members.data_type.clone()),
        data_type_v2: reading.data_type_v2().cloned(),
        fill_value: members.fill_value.clone(),
        chunk_shape: pipeline.as_ref().map(Pipeline::innermost_chunk_shape).or_else(|| stored_shape.clone()),
        shard_shape: stored_shape.filter(|_| is_sharded),
        chunk_key_encoding: members.chunk_key_encoding.as_ref().map(ChunkKeyEncoding::to_json),
        dimension_names: members.dimension_names.clone(),
        codecs: members.codecs.as_ref().map(|codecs| codecs.iter().map(CodecMetadata::to_json).collect()),
        attributes: Some(members.attributes.clone().unwrap_or_default().into()),
        decoded: pipeline.as_ref().map(|pipeline| pipeline::decoded(&pipeline.input)),
        pipeline: pipeline.as_ref().map(pipeline::rows),
        storage: None,
        stats: None,
        histogram: None,
        suggestion: None,
        chunk: None,
        preview: None,
        image: None,
        warnings: diagnostics.clone(),
    }
}

/// What is asked of the chunks, as far as the metadata allow it.
fn contents(
    reading: ArrayReading,
    options: &InspectOptions,
    progress: &dyn Progress,
    result: &mut ArrayResult,
) -> Result<(), OperationError> {
    let (Some(metadata), Some(pipeline)) = (&reading.metadata, &reading.pipeline) else { return Ok(()) };
    let threads = options.common.threads.map_or_else(available_threads, std::num::NonZeroUsize::get);
    let driver = new_driver(threads)?;
    let side = side(reading.node.clone(), metadata.clone(), pipeline, &reading.store, 0, false);
    let listing = listing(&reading, metadata, options, &driver)?;
    if options.storage {
        let array = (metadata, pipeline);
        let census = storage::census(&reading.store, array, &listing, side.as_ref().ok(), &driver)?;
        result.storage = Some(census.storage);
        result.warnings.extend(census.findings);
    }
    if !options.asks_for_values() || reading.diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(());
    }
    let side = match side {
        Ok(side) => side,
        Err(error) => {
            result.warnings.push(finding(error, code::CODEC_UNSUPPORTED)?);
            return Ok(());
        }
    };
    let threads = threads_within(options.common.max_memory, needed_bytes(&side, options), threads)?;
    let driver = if threads == driver.num_threads() { driver } else { new_driver(threads)? };
    let source = opened(reading)?;
    Contents { source: &source, side: &side, listing: &listing, driver: &driver, progress }.all(options, result)
}

/// The chunks that are there, where that is asked for.
fn listing(
    reading: &ArrayReading,
    metadata: &ArrayMetadata,
    options: &InspectOptions,
    driver: &Driver,
) -> Result<Listing, OperationError> {
    let listing = if options.storage {
        list_with_sizes(&reading.node, metadata, driver)
    } else if options.reads_all_values() {
        list(&reading.node, metadata, driver)
    } else {
        return Ok(Listing::default());
    };
    listing.map_err(|error| {
        OperationError::environment(format!("`{}` cannot be listed", reading.store)).because(error)
    })
}

fn new_driver(threads: usize) -> Result<Driver, OperationError> {
    Driver::new(threads)
        .map_err(|error| OperationError::environment("the threads cannot be started").because(error))
}

/// Bytes that a thread holds at once.
fn needed_bytes(side: &Side, options: &InspectOptions) -> u64 {
    let unit = unit_bytes(side);
    options.chunk.as_ref().map_or(unit, |chunk| unit.max(chunk::needed_bytes(side, chunk)))
}

/// An error of the data as a finding; any other as it is.
fn finding(error: OperationError, code: crate::diagnostic::Code) -> Result<Diagnostic, OperationError> {
    if error.class() != FaultClass::Data {
        return Err(error);
    }
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(found) = cause {
        message = format!("{message}: {found}");
        cause = found.source();
    }
    let found = Diagnostic::new(code, message);
    Ok(match error.help() {
        Some(help) => found.with_help(help),
        None => found,
    })
}

impl InspectOptions {
    /// Whether every value is read.
    fn reads_all_values(&self) -> bool {
        self.stats || self.histogram.is_some() || self.suggest.is_some()
    }

    /// Whether chunks are decoded.
    fn asks_for_values(&self) -> bool {
        self.reads_all_values() || self.chunk.is_some() || self.preview.is_some()
    }
}

/// An array whose chunks are read.
struct Contents<'a> {
    source: &'a OpenedArray,
    side: &'a Side,
    listing: &'a Listing,
    driver: &'a Driver,
    progress: &'a dyn Progress,
}

impl Contents<'_> {
    fn all(&self, options: &InspectOptions, result: &mut ArrayResult) -> Result<(), OperationError> {
        let mut is_readable = true;
        if options.stats || options.histogram.is_some() {
            is_readable = self.figures(options, result)?;
        }
        if let Some(target) = options.suggest.filter(|_| is_readable) {
            let array = (self.side, self.listing);
            let suggested = suggestion::suggest(self.source, array, target, self.driver, self.progress)?;
            result.suggestion = Some(suggested.0);
            result.warnings.extend(suggested.1);
        }
        if let Some(chunk) = &options.chunk {
            let (found, finding) = chunk::inspect_chunk(self.side, &self.source.store, chunk)?;
            result.chunk = Some(found);
            result.warnings.extend(finding);
        }
        if let Some(preview) = &options.preview {
            let slice = Slice::of(&self.source.metadata, &self.source.store, &preview.at)?;
            let draw = |size| preview::preview(self.source, (self.side, &slice), size, self.driver, self.progress);
            for (size, drawn) in
                [(preview.picture, &mut result.preview), (preview.image, &mut result.image)]
            {
                match size.map(draw).transpose() {
                    Ok(picture) => *drawn = picture,
                    Err(error) => {
                        result.warnings.push(finding(error, code::CHUNK_CORRUPT)?);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// `--stats` and `--histogram`; false where a chunk could not be read, which is a finding.
    fn figures(&self, options: &InspectOptions, result: &mut ArrayResult) -> Result<bool, OperationError> {
        let Some(number_type) = stats::number_type(&self.source.data_type) else {
            let message = format!("values of type {} have no order, and so no statistics", self.source.data_type);
            result.warnings.push(Diagnostic::new(code::VALUES_UNORDERED, message));
            return Ok(true);
        };
        let values = Values { side: self.side, present: &self.listing.present, driver: self.driver };
        if values.num_elements().is_none() {
            return Err(OperationError::data(format!(
                "`{}` has more elements than can be counted: its shape is {:?}",
                self.source.store, self.source.metadata.shape
            )));
        }
        let fill_value = self.source.fill_value.as_ref().map_or(0, |fill| element_bits(fill.as_bytes()));
        let array = (number_type, fill_value);
        match histogram_and_stats(&values, array, options, self.progress) {
            Ok((figures, histogram)) => {
                result.stats = options.stats.then(|| figures.result());
                result.histogram = histogram.map(|histogram| histogram.result());
                Ok(true)
            }
            Err(fault) => {
                let chunk = position(fault.index, &self.source.metadata);
                let key = self.side.key(fault.index);
                let error = explain(fault, self.side, &self.source.store, None);
                result.warnings.push(finding(error, code::CHUNK_CORRUPT)?.at_key(key).at_chunk(chunk));
                Ok(false)
            }
        }
    }
}

/// One pass where the range of the histogram is given, or none is wanted; else two.
fn histogram_and_stats(
    values: &Values<'_>,
    (number_type, fill_value): (crate::element::NumberType, u64),
    options: &InspectOptions,
    progress: &dyn Progress,
) -> Result<(Figures, Option<Histogram>), ChunkFault> {
    let array = (number_type, fill_value);
    let Some(wanted) = options.histogram else {
        return Ok((Figures::of(values, array, &(), progress)?.0, None));
    };
    if let Some(range) = wanted.range {
        let histogram = Histogram::new(number_type, wanted.bins, range);
        let (figures, ()) = Figures::of(values, array, &histogram, progress)?;
        histogram.add_constant(fill_value, figures.absent);
        return Ok((figures, Some(histogram)));
    }
    let (figures, ()) = Figures::of(values, array, &(), progress)?;
    let histogram = Histogram::new(number_type, wanted.bins, figures.range().unwrap_or((0.0, 1.0)));
    values.scan(&histogram, "histogram", progress)?;
    histogram.add_constant(fill_value, figures.absent);
    Ok((figures, Some(histogram)))
}

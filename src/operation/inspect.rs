//! `inspect`: an array's metadata, what each codec makes of a chunk, what is stored, and what the values are; or what
//! is in a group.

mod chunk;
mod contents;
mod group;
mod histogram;
mod numbers;
mod picture;
mod pipeline;
mod preview;
mod stats;
mod suggestion;
mod values;

use super::budget::Budget;
use super::error::OperationError;
use super::inspect_result::{ArrayResult, InspectResult, StorageResult};
use super::open::{ArrayReading, open_documents, opened, read_array, read_array_of};
use super::options::InspectOptions;
use super::place::Place;
use super::stored::{opaque_array, side};
use super::{Interrupt, new_driver, storage};
use crate::array::stored::StoredArray;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, Profile, code};
use crate::engine::driver::Driver;
use crate::engine::listing::{Listing, list, list_with_sizes};
use crate::engine::progress::Progress;
use crate::metadata::array::{ArrayMetadata, ChunkGrid};
use crate::metadata::chunk_key::ChunkKeyEncoding;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::group::NodeKind;
use crate::metadata::json::{Json, Object};
use crate::pipeline::Pipeline;
use contents::{Contents, finding};
use values::unit_bytes;

/// Whether the values of a type are numbers that `--stats` counts.
pub(super) fn has_statistics(data_type: &DataType) -> bool {
    numbers::Numbers::of(data_type).is_some()
}

/// Reads an array, or a group and what is below it.
pub fn inspect(
    options: &InspectOptions,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<InspectResult, OperationError> {
    let place = Place::new(&options.store, options.node.as_deref())?;
    let name = place.name();
    let node = place.node(&options.store)?;
    let documents = open_documents(&node, &name)?;
    if documents.kind != NodeKind::Group {
        let reading = read_array_of(place, node, documents);
        return Ok(InspectResult::Array(Box::new(inspect_reading(reading, options, (progress, interrupt))?)));
    }
    if options.asks_for_more_than_figures() {
        return Err(OperationError::data(format!("`{name}` is a group, which has no values of its own"))
            .with_help("name an array in it; `zarrcast inspect --stats` of the group has a row for each"));
    }
    Ok(InspectResult::Group(group::inspect_group(options, progress, interrupt)?))
}

/// Reads an array's metadata as far as it goes, then what was asked of its chunks; what is wrong with either is among
/// the findings.
pub fn inspect_array(
    options: &InspectOptions,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<ArrayResult, OperationError> {
    let reading = read_array(&options.store, options.node.as_deref())?;
    inspect_reading(reading, options, (progress, interrupt))
}

fn inspect_reading(
    mut reading: ArrayReading,
    options: &InspectOptions,
    (progress, interrupt): (&dyn Progress, &Interrupt),
) -> Result<ArrayResult, OperationError> {
    let mut result = describe(&mut reading, options);
    if options.storage || options.asks_for_values() {
        let (place, of_metadata) = (reading.place.clone(), result.warnings.len());
        let key = if reading.zarr_format == 2 { ".zarray" } else { "zarr.json" };
        contents(reading, options, (progress, interrupt), &mut result)?;
        place.locate(&mut result.warnings[of_metadata..], key);
    }
    let lacks_chunks = |storage: &StorageResult| storage.chunks_present < storage.chunks;
    if !result.storage.as_ref().is_some_and(lacks_chunks) {
        // No absent chunk is known, so that what it would hold does not matter.
        result.warnings.retain(|found| !found.is(code::V2_FILL_VALUE_NULL));
    }
    Ok(result)
}

/// The members move into the result: a document may be large, and nothing else asks for them.
fn describe(reading: &mut ArrayReading, options: &InspectOptions) -> ArrayResult {
    let members = std::mem::take(&mut reading.members);
    let ArrayReading { place, document, pipeline, data_type, diagnostics, .. } = &*reading;
    let chunks = Chunks::of(members.chunk_grid.as_ref(), document, pipeline.as_ref());
    let is_rectilinear = matches!(members.chunk_grid, Some(ChunkGrid::Rectilinear { .. }));
    ArrayResult {
        store: options.store.display().to_string(),
        node_type: "array",
        path: place.path.clone(),
        zarr_format: document.get("zarr_format").and_then(Json::as_u64),
        shape: members.shape,
        data_type: data_type.as_ref().map(DataType::to_metadata).or(members.data_type),
        data_type_v2: reading.data_type_v2().cloned(),
        fill_value: members.fill_value,
        chunk_shape: chunks.shape,
        shard_shape: chunks.shard_shape,
        chunk_grid: chunks.grid,
        chunk_key_encoding: members.chunk_key_encoding.as_ref().map(ChunkKeyEncoding::to_json),
        dimension_names: members.dimension_names,
        codecs: members.codecs.as_ref().map(|codecs| codecs.iter().map(CodecMetadata::to_json).collect()),
        attributes: Some(members.attributes.unwrap_or_default().into()),
        decoded: pipeline.as_ref().map(|pipeline| pipeline::decoded(&pipeline.input, is_rectilinear)),
        pipeline: pipeline.as_ref().map(|pipeline| pipeline::rows(pipeline, is_rectilinear)),
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

/// How an array is cut, as documents say it.
struct Chunks {
    /// Of what can be decoded alone.
    shape: Option<Vec<u64>>,
    shard_shape: Option<Vec<u64>>,
    /// v3 form.
    grid: Option<Json>,
}

impl Chunks {
    /// From the grid of a document, and the way of its largest chunk.
    fn of(grid: Option<&ChunkGrid>, document: &Json, pipeline: Option<&Pipeline>) -> Self {
        let stored = match grid {
            Some(ChunkGrid::Regular { chunk_shape }) => Some(chunk_shape),
            _ => None,
        };
        let is_sharded = pipeline.is_some_and(|pipeline| pipeline.sharding().is_some());
        // Shards of several shapes hold inner chunks of one.
        let inner = pipeline.filter(|_| is_sharded || stored.is_some()).map(Pipeline::innermost_chunk_shape);
        let as_regular = || {
            let configuration = Object::new().with("chunk_shape", stored?.clone());
            Some(Object::new().with("name", "regular").with("configuration", configuration).into())
        };
        Chunks {
            shape: inner.or_else(|| stored.cloned()),
            shard_shape: stored.filter(|_| is_sharded).cloned(),
            grid: grid.and_then(|_| document.get("chunk_grid").cloned().or_else(as_regular)),
        }
    }
}

/// What is asked of the chunks, as far as the metadata allow it.
fn contents(
    reading: ArrayReading,
    options: &InspectOptions,
    (progress, interrupt): (&dyn Progress, &Interrupt),
    result: &mut ArrayResult,
) -> Result<(), OperationError> {
    let (Some(metadata), Some(pipeline)) = (&reading.metadata, &reading.pipeline) else {
        let is_at_fault = reading.diagnostics.iter().any(Diagnostic::is_error);
        // Where nothing is wrong, the grid is one whose chunks are not read: that is said.
        return if is_at_fault || !options.asks_for_values() { Ok(()) } else { opened(reading).map(|_| ()) };
    };
    let threads = options.common.num_threads();
    let driver = new_driver(threads, interrupt)?;
    let side = side(reading.node.clone(), metadata.clone(), pipeline, &reading.store, 0, false);
    let listing = listing(&reading, metadata, options, &driver)?;
    result.warnings.extend(storage::dangling_links(&listing));
    if options.storage {
        let array = (&reading.node, metadata, pipeline);
        // The indexes of shards are read whatever the inner chunks hold.
        let unread = match &side {
            Ok(_) => None,
            Err(_) => opaque_array(reading.node.clone(), metadata.clone(), pipeline, &reading.store).ok(),
        };
        let shards = side.as_ref().ok().or(unread.as_ref());
        let census = storage::census(&reading.store, array, &listing, shards, &driver)?;
        result.storage = Some(census.storage);
        result.warnings.extend(census.findings);
    }
    if !options.asks_for_values() || reading.diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(());
    }
    let side = match side {
        Ok(side) => side,
        Err(error) => {
            // To `validate` it is no fault of the store; here it keeps from what was asked for.
            result.warnings.extend(Profile::Values.judged(vec![finding(error, code::CODEC_UNSUPPORTED)?]));
            return Ok(());
        }
    };
    let budget = Budget::of(&options.common);
    let threads = budget.threads_of(needed_bytes(&side, &listing, options), || {
        format!("for the chunks of `{}`", reading.store)
    })?;
    let driver = if threads == driver.num_threads() { driver } else { new_driver(threads, interrupt)? };
    let source = opened(reading)?;
    Contents { source: &source, side: &side, listing: &listing, driver: &driver, progress }
        .all(options, result)
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

/// Bytes that a thread holds at once.
fn needed_bytes(side: &StoredArray, listing: &Listing, options: &InspectOptions) -> u64 {
    let reads_chunks = options.preview.is_some() || !listing.present.is_empty();
    let unit = if reads_chunks { unit_bytes(side) } else { 0 };
    // Codes are made of all that was read.
    let codes = options.suggest.map_or(0, |_| side.subchunk_chain().decoded_bytes().min(unit));
    let chunk = options.chunk.as_ref().map_or(0, |chunk| chunk::needed_bytes(side, chunk));
    unit.saturating_add(codes).max(chunk)
}

impl InspectOptions {
    /// Whether every value is read.
    fn reads_all_values(&self) -> bool {
        self.stats || self.histogram.is_some() || self.suggest.is_some()
    }

    /// Whether that is asked for which only one array can answer.
    fn asks_for_more_than_figures(&self) -> bool {
        self.histogram.is_some() || self.suggest.is_some() || self.chunk.is_some() || self.preview.is_some()
    }

    /// Whether chunks are decoded.
    fn asks_for_values(&self) -> bool {
        self.stats || self.asks_for_more_than_figures()
    }
}

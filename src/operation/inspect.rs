//! `inspect`: an array's metadata, and what each codec makes of a chunk.

use super::error::OperationError;
use super::inspect_result::{Decoded, InspectResult, StageRow};
use super::open::{ArrayReading, read_array};
use super::options::InspectOptions;
use super::{available_threads, storage};
use crate::engine::driver::Driver;
use crate::metadata::array::ChunkGrid;
use crate::metadata::chunk_key::ChunkKeyEncoding;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Json;
use crate::pipeline::{
    ArrayRepresentation, BoundConfiguration, BytesSize, CodecKind, Pipeline, Representation, Stage,
};

/// Reads an array's metadata as far as it goes; what is wrong with it is among the findings.
pub fn inspect(options: &InspectOptions) -> Result<InspectResult, OperationError> {
    let reading = read_array(&options.store, options.node.as_deref())?;
    let storage = if options.storage { storage::census(&reading, &driver(options)?)? } else { None };
    let data_type_v2 = reading.data_type_v2().cloned();
    let ArrayReading { place, document, members, pipeline, data_type, diagnostics, .. } = reading;
    let chunk_grid = members.chunk_grid.as_ref();
    let stored_shape = match chunk_grid {
        Some(ChunkGrid::Regular { chunk_shape }) => Some(chunk_shape.clone()),
        _ => None,
    };
    let is_sharded = pipeline.as_ref().is_some_and(|pipeline| pipeline.sharding().is_some());
    Ok(InspectResult {
        store: options.store.display().to_string(),
        node_type: "array",
        path: place.path,
        zarr_format: document.get("zarr_format").and_then(Json::as_u64),
        shape: members.shape,
        data_type: data_type.map(|data_type| data_type.to_metadata()).or(members.data_type),
        data_type_v2,
        fill_value: members.fill_value,
        chunk_shape: pipeline.as_ref().map(Pipeline::innermost_chunk_shape).or_else(|| stored_shape.clone()),
        shard_shape: stored_shape.filter(|_| is_sharded),
        chunk_key_encoding: members.chunk_key_encoding.as_ref().map(ChunkKeyEncoding::to_json),
        dimension_names: members.dimension_names,
        codecs: members.codecs.map(|codecs| codecs.iter().map(CodecMetadata::to_json).collect()),
        attributes: Some(members.attributes.unwrap_or_default().into()),
        decoded: pipeline.as_ref().map(|pipeline| decoded(&pipeline.input)),
        pipeline: pipeline.as_ref().map(rows),
        storage,
        stats: None,
        histogram: None,
        suggestion: None,
        warnings: diagnostics,
    })
}

fn driver(options: &InspectOptions) -> Result<Driver, OperationError> {
    let threads = options.threads.map_or_else(available_threads, std::num::NonZeroUsize::get);
    Driver::new(threads)
        .map_err(|error| OperationError::environment("the threads cannot be started").because(error))
}

fn decoded(array: &ArrayRepresentation) -> Decoded {
    Decoded {
        data_type: array.data_type.to_metadata(),
        shape: array.shape.clone(),
        fill_value: fill_value(array),
        bytes: array.num_bytes(),
    }
}

fn fill_value(array: &ArrayRepresentation) -> Option<Json> {
    array.data_type.fill_value_to_json(array.fill_value.as_ref()?).ok()
}

fn rows(pipeline: &Pipeline) -> Vec<StageRow> {
    pipeline.stages.iter().map(row).collect()
}

fn row(stage: &Stage) -> StageRow {
    let array = stage.output.as_ref().and_then(Representation::array);
    let sharding = match &stage.configuration {
        BoundConfiguration::Sharding(sharding) => Some(sharding),
        _ => None,
    };
    StageRow {
        codec: stage.name.clone(),
        kind: stage.kind.map(CodecKind::name),
        configuration: stage.metadata.configuration.clone().map(Json::from),
        data_type: array.map(|array| array.data_type.to_metadata()),
        shape: array.map(|array| array.shape.clone()),
        fill_value: array.and_then(fill_value),
        bytes: match &stage.output {
            Some(Representation::Array(array)) => array.num_bytes(),
            Some(Representation::Bytes(BytesSize::Fixed(bytes))) => Some(*bytes),
            _ => None,
        },
        pipeline: sharding.map(|sharding| rows(&sharding.inner)),
        inner_decoded: sharding.map(|sharding| Box::new(decoded(&sharding.inner.input))),
    }
}

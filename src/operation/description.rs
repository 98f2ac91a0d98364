//! The description of an array from its documents. `inspect` shows it, and `validate --expect` compares with it.

use super::ArrayReading;
use super::inspect_result::{ArrayResult, NodeMembers, RepresentationResult, StageRow};
use crate::data_type::DataType;
use crate::metadata::{ArrayDocument, ChunkGrid, ChunkKeyEncoding, CodecMetadata, Json, Object};
use crate::pipeline::{ArrayRepresentation, BoundConfiguration, BytesSize, CodecKind, Pipeline, Representation, Stage};
use crate::store::Location;

/// Describes an array. Its members move into the result: a document may be large, and nothing else needs them.
pub(super) fn describe(reading: &mut ArrayReading, store: &Location) -> ArrayResult {
    let members = std::mem::take(&mut reading.members);
    let is_rectilinear = matches!(members.chunk_grid, Some(ChunkGrid::Rectilinear { .. }));
    let pipeline = reading.pipeline.as_ref();
    ArrayResult {
        store: store.display().to_string(),
        members: describe_members(reading, members),
        decoded: pipeline.map(|pipeline| array(&pipeline.input, is_rectilinear)),
        pipeline: pipeline.map(|pipeline| rows(pipeline, is_rectilinear)),
        warnings: reading.diagnostics.clone(),
        ..ArrayResult::default()
    }
}

/// Returns the members of an array, for results.
pub(super) fn describe_members(reading: &ArrayReading, members: ArrayDocument) -> NodeMembers {
    let ArrayReading { node_path, pipeline, data_type, .. } = reading;
    let document = &reading.documents.document;
    let stored = match &members.chunk_grid {
        Some(ChunkGrid::Regular { chunk_shape }) => Some(chunk_shape.clone()),
        _ => None,
    };
    let is_sharded = pipeline.as_ref().is_some_and(|pipeline| pipeline.sharding().is_some());
    // Shards of several shapes contain inner chunks of one shape.
    let inner = pipeline.as_ref().filter(|_| is_sharded || stored.is_some()).map(Pipeline::innermost_chunk_shape);
    // A document of v2 has `chunks` instead of a grid in v3 form.
    let as_regular = || {
        let configuration = Object::new().with("chunk_shape", stored.clone()?);
        Some(Object::new().with("name", "regular").with("configuration", configuration).into())
    };
    let grid = members.chunk_grid.as_ref();
    let grid = grid.and_then(|_| document.get("chunk_grid").cloned().or_else(as_regular));
    NodeMembers {
        node_type: "array",
        path: node_path.path.clone(),
        zarr_format: document.get("zarr_format").and_then(Json::as_u64),
        shape: members.shape,
        data_type: data_type.as_ref().map(DataType::to_metadata).or(members.data_type),
        data_type_v2: reading.data_type_v2().cloned(),
        fill_value: members.fill_value,
        chunk_shape: inner.or_else(|| stored.clone()),
        shard_shape: stored.filter(|_| is_sharded),
        chunk_grid: grid,
        chunk_key_encoding: members.chunk_key_encoding.as_ref().map(ChunkKeyEncoding::to_json),
        dimension_names: members.dimension_names,
        codecs: members.codecs.as_ref().map(|codecs| codecs.iter().map(CodecMetadata::to_json).collect()),
        attributes: Some(members.attributes.unwrap_or_default().into()),
    }
}

/// Returns a row for each codec, in encode order. Inner chunks have one shape, whatever the shapes of their shards.
fn rows(pipeline: &Pipeline, has_many_shapes: bool) -> Vec<StageRow> {
    let row = |stage: &Stage| {
        let sharding =
            if let BoundConfiguration::Sharding(sharding) = &stage.configuration { Some(sharding) } else { None };
        StageRow {
            codec: stage.metadata.name.clone(),
            kind: stage.kind.map(CodecKind::name),
            configuration: stage.metadata.configuration.clone().map(Json::from),
            output: stage.output.as_ref().map(|output| representation(output, has_many_shapes)).unwrap_or_default(),
            pipeline: sharding.map(|sharding| rows(&sharding.inner, false)),
            inner_decoded: sharding.map(|sharding| Box::new(array(&sharding.inner.input, false))),
        }
    };
    pipeline.stages.iter().map(row).collect()
}

/// Describes a chunk. Chunks of several shapes have neither shape nor size.
pub(super) fn representation(of: &Representation, has_many_shapes: bool) -> RepresentationResult {
    match of {
        Representation::Array(of) => array(of, has_many_shapes),
        Representation::Bytes(BytesSize::Fixed(bytes)) if !has_many_shapes => {
            RepresentationResult { bytes: Some(*bytes), ..RepresentationResult::default() }
        }
        Representation::Bytes(_) => RepresentationResult::default(),
    }
}

fn array(of: &ArrayRepresentation, has_many_shapes: bool) -> RepresentationResult {
    RepresentationResult {
        data_type: Some(of.data_type.to_metadata()),
        shape: (!has_many_shapes).then(|| of.shape.clone()),
        fill_value: of.fill_value.as_ref().and_then(|fill| of.data_type.fill_value_to_json(fill).ok()),
        bytes: of.num_bytes().filter(|_| !has_many_shapes),
    }
}

//! The rows of a pipeline: what each codec makes of a chunk, from the metadata alone.

use crate::metadata::json::Json;
use crate::operation::inspect_result::{Decoded, StageRow};
use crate::pipeline::{
    ArrayRepresentation, BoundConfiguration, BytesSize, CodecKind, Pipeline, Representation, Stage,
};

/// A chunk before the first codec; chunks of several shapes have none, and no size.
pub(super) fn decoded(array: &ArrayRepresentation, has_many_shapes: bool) -> Decoded {
    Decoded {
        data_type: array.data_type.to_metadata(),
        shape: (!has_many_shapes).then(|| array.shape.clone()),
        fill_value: fill_value(array),
        bytes: array.num_bytes().filter(|_| !has_many_shapes),
    }
}

fn fill_value(array: &ArrayRepresentation) -> Option<Json> {
    array.data_type.fill_value_to_json(array.fill_value.as_ref()?).ok()
}

/// A row for each codec, in encode order. Inner chunks have one shape, whatever their shards have.
pub(super) fn rows(pipeline: &Pipeline, has_many_shapes: bool) -> Vec<StageRow> {
    pipeline.stages.iter().map(|stage| row(stage, has_many_shapes)).collect()
}

fn row(stage: &Stage, has_many_shapes: bool) -> StageRow {
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
        shape: array.filter(|_| !has_many_shapes).map(|array| array.shape.clone()),
        fill_value: array.and_then(fill_value),
        bytes: match &stage.output {
            _ if has_many_shapes => None,
            Some(Representation::Array(array)) => array.num_bytes(),
            Some(Representation::Bytes(BytesSize::Fixed(bytes))) => Some(*bytes),
            _ => None,
        },
        pipeline: sharding.map(|sharding| rows(&sharding.inner, false)),
        inner_decoded: sharding.map(|sharding| Box::new(decoded(&sharding.inner.input, false))),
    }
}

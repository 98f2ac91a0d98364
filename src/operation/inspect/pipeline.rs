//! The rows of a pipeline: what each codec makes of a chunk, from the metadata alone.

use crate::metadata::json::Json;
use crate::operation::inspect_result::{Decoded, StageRow};
use crate::pipeline::{
    ArrayRepresentation, BoundConfiguration, BytesSize, CodecKind, Pipeline, Representation, Stage,
};

/// A chunk before the first codec.
pub(super) fn decoded(array: &ArrayRepresentation) -> Decoded {
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

/// A row for each codec, in encode order.
pub(super) fn rows(pipeline: &Pipeline) -> Vec<StageRow> {
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

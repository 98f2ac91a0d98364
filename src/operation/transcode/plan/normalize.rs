//! A chain as it is written: explicit permutations and byte orders, scalars in their type's own form, defaults left
//! out (SEMANTICS: A1.9, A2.12, B16, B29, B32, C16, C17).

use crate::metadata::edit::codecs_json;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Object;
use crate::pipeline::configuration::{BoundCastValue, BoundScaleOffset, transpose};
use crate::pipeline::{ArrayRepresentation, BoundConfiguration, Pipeline, Representation, Stage};

/// The codecs of a pipeline without faults.
pub(in crate::operation) fn codecs(pipeline: &Pipeline) -> Vec<CodecMetadata> {
    let mut before = Some(Representation::Array(pipeline.input.clone()));
    let mut written = Vec::with_capacity(pipeline.stages.len());
    for stage in &pipeline.stages {
        let array = before.as_ref().and_then(Representation::array);
        written.push(codec(stage, array));
        before.clone_from(&stage.output);
    }
    written
}

fn codec(stage: &Stage, array: Option<&ArrayRepresentation>) -> CodecMetadata {
    match &stage.configuration {
        BoundConfiguration::ScaleOffset { number_type, offset, scale } => {
            BoundScaleOffset { number_type: *number_type, offset: *offset, scale: *scale }.to_metadata()
        }
        BoundConfiguration::CastValue { encode, decode } => BoundCastValue {
            decoded: encode.source,
            encoded: encode.target,
            rounding: encode.rounding,
            out_of_range: encode.out_of_range,
            encode: encode.scalar_map.clone(),
            decode: decode.scalar_map.clone(),
        }
        .to_metadata(),
        BoundConfiguration::Transpose { order } => transpose::to_metadata(order),
        BoundConfiguration::Bytes { big_endian } => {
            let has_order = array.is_some_and(|array| array.data_type.has_byte_order());
            let endian = if *big_endian { "big" } else { "little" };
            CodecMetadata::new("bytes", has_order.then(|| Object::new().with("endian", endian)))
        }
        BoundConfiguration::Sharding(sharding) => {
            let mut written = stage.metadata.clone();
            if let Some(configuration) = &mut written.configuration {
                configuration.insert("codecs", codecs_json(&codecs(&sharding.inner)));
                configuration.insert("index_codecs", codecs_json(&codecs(&sharding.index)));
            }
            written
        }
        BoundConfiguration::BitRound(_)
        | BoundConfiguration::Filter { .. }
        | BoundConfiguration::MixedBytes { .. }
        | BoundConfiguration::Reshape
        | BoundConfiguration::PackBits(_)
        | BoundConfiguration::Pcodec(_)
        | BoundConfiguration::Zfp(_)
        | BoundConfiguration::Vlen(_)
        | BoundConfiguration::BytesToBytes(_)
        | BoundConfiguration::Other => stage.metadata.clone(),
    }
}

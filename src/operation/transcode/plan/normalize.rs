//! A chain as it is written: explicit permutations and byte orders, scalars in their type's own form, defaults left
//! out (SEMANTICS: A1.9, A2.12, B16, B29, B32, C16, C17).

use crate::metadata::edit::codecs_json;
use crate::metadata::extension::CodecMetadata;
use crate::pipeline::{BoundConfiguration, Pipeline, Stage};

/// The codecs of a pipeline without faults.
pub(in crate::operation) fn codecs(pipeline: &Pipeline) -> Vec<CodecMetadata> {
    pipeline.stages.iter().map(codec).collect()
}

fn codec(stage: &Stage) -> CodecMetadata {
    let mut written = stage.metadata.clone();
    match &stage.configuration {
        BoundConfiguration::Array(codec) => codec.written().unwrap_or(written),
        BoundConfiguration::Sharding(sharding) => {
            if let Some(configuration) = &mut written.configuration {
                configuration.insert("codecs", codecs_json(&codecs(&sharding.inner)));
                configuration.insert("index_codecs", codecs_json(&codecs(&sharding.index)));
            }
            written
        }
        BoundConfiguration::BytesToBytes(_) | BoundConfiguration::Other => written,
    }
}

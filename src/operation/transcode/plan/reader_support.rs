//! Data types that a chain makes new and that few programs read (SEMANTICS: B23).

use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::operation::draft::Draft;
use crate::operation::open::OpenedArray;
use crate::pipeline::{BoundConfiguration, Pipeline};

/// A warning for the first such type, where the source does not have it anywhere in its chain.
pub(in crate::operation) fn warning(source: &Pipeline, destination: &Pipeline) -> Option<Diagnostic> {
    let (mut known, mut written) = (Vec::new(), Vec::new());
    collect(source, &mut known);
    collect(destination, &mut written);
    let new = written.into_iter().find(|data_type| is_rare(data_type) && !known.contains(data_type))?;
    let message = format!(
        "{new} is written: zarr-python cannot open the array, nor a consolidated group that holds it"
    );
    Some(
        Diagnostic::new(code::DATA_TYPE_SUB_BYTE, message)
            .with_help("zarrs reads it, and tensorstore reads some of these types as an array's own; float16 and uint8 are read everywhere"),
    )
}

/// A warning where raw bytes of v2 get the name that the core specification has for them in v3 (SEMANTICS: A6).
pub(in crate::operation) fn raw_warning(source: &OpenedArray, draft: &Draft) -> Option<Diagnostic> {
    let DataType::Raw(size) = &draft.data_type else { return None };
    if source.zarr_format == draft.zarr_format || draft.zarr_format != 3 {
        return None;
    }
    let message = format!(
        "{} is written, as the core specification has it, which no zarr-python reads",
        draft.data_type
    );
    let help = format!(
        "for zarr-python: `--data-type '{{\"name\":\"raw_bytes\",\"configuration\":{{\"length_bytes\":{size}}}}}'`"
    );
    Some(Diagnostic::new(code::DATA_TYPE_UNREAD, message).with_help(help))
}

fn is_rare(data_type: &DataType) -> bool {
    data_type.is_small_float() || (data_type.is_sub_byte() && data_type.is_registered())
}

/// The types of a chunk before and after each codec, also inside shards.
fn collect(pipeline: &Pipeline, types: &mut Vec<DataType>) {
    types.push(pipeline.input.data_type.clone());
    for stage in &pipeline.stages {
        types.extend(
            stage.output.as_ref().and_then(|after| after.array()).map(|array| array.data_type.clone()),
        );
        if let BoundConfiguration::Sharding(sharding) = &stage.configuration {
            collect(&sharding.inner, types);
        }
    }
}

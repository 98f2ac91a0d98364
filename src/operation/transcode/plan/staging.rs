//! The intermediate data of a rechunk in two passes, and those that an unfinished run left.

use crate::array::StoredArray;
use crate::engine::StagingShape;
use crate::engine::route::staged::{folder, left_document};
use crate::metadata::{ArrayDocument, ArrayMetadata, Json};
use crate::operation::stored::bound_array;
use crate::operation::{OperationError, Result};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::{Node, RUN_FOLDER, StoreError};

/// The passes that an unfinished run at the destination began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Begun {
    /// There is no unfinished run.
    Nothing,
    /// One pass.
    InOnePass,
    /// Two passes, with intermediate data of this grid.
    InTwoPasses(StagingShape),
}

/// Returns what the destination's run has begun, for an array that `from` reads.
pub(super) fn begun(destination: &Node, from: &StoredArray) -> Result<Begun> {
    let unreadable =
        |error: StoreError| OperationError::environment("the unfinished DEST cannot be read").because(error);
    let (left, is_outside) = folder(destination);
    if !is_outside && !destination.is_local() {
        // A zip file is written from the beginning.
        return Ok(Begun::Nothing);
    }
    let Some(text) = left_document(&left).map_err(unreadable)? else {
        // Outside, they may be on another machine: this counts as not begun.
        let is_begun = !is_outside && destination.below(&RUN_FOLDER).exists().map_err(unreadable)?;
        return Ok(if is_begun { Begun::InOnePass } else { Begun::Nothing });
    };
    let shape = Json::parse(&text).ok().and_then(|document| shape_of(&document, &from.metadata));
    shape.map(Begun::InTwoPasses).ok_or_else(|| {
        OperationError::environment(format!("the intermediate data at `{}` are not of this array", left.name()))
            .with_help("remove the unfinished destination, and begin again")
    })
}

/// Returns the grid of intermediate data. `None` if they are not of this array.
fn shape_of(document: &Json, array: &ArrayMetadata) -> Option<StagingShape> {
    let metadata = ArrayDocument::read(document).metadata()?;
    let inner = metadata.codecs.first()?.member("chunk_shape")?.as_array()?;
    let shard = metadata.grid.largest();
    let shape = StagingShape { subchunk: inner.iter().filter_map(Json::as_u64).collect(), shard: shard.to_vec() };
    let taken = array.taken_shape();
    let is_of_array = metadata.shape == taken && metadata.data_type.same_value(&array.data_type);
    (shape.fits(&taken) && is_of_array).then_some(shape)
}

/// Returns the intermediate data with a grid, in a folder, for the array that is read, and their document.
pub(super) fn staging(
    from: &StoredArray,
    folder: &Node,
    shape: &StagingShape,
    store: &str,
) -> Result<(StoredArray, Json)> {
    if !shape.fits(&from.metadata.taken_shape()) {
        let what = format!("intermediate data of shards of {:?} with chunks of {:?}", shape.shard, shape.subchunk);
        return Err(misfit(store, &what));
    }
    let found = document(from, shape).and_then(|document| Some((ArrayDocument::read(&document).metadata()?, document)));
    let (metadata, document) = found.ok_or_else(|| OperationError::data("the array cannot be held in between"))?;
    let input = ArrayRepresentation { shape: shape.shard.clone(), ..from.chain.decoded().clone() };
    let pipeline = Pipeline::build(input, &metadata.codecs, Completeness::ToBytes, "/codecs", &mut Vec::new());
    Ok((bound_array((folder, &metadata, &pipeline), store, true)?, document))
}

/// Returns the error for an earlier plan of `store` with something that does not fit its grids.
pub(super) fn misfit(store: &str, what: &str) -> OperationError {
    OperationError::data(format!("the plan of `{store}` has {what}, which do not fit its grids"))
        .with_help("remove DEST, and run `--init` again")
}

/// Returns the document of intermediate data: one folder with one file per shard. Elements are as in memory, and the
/// index has no checksum, so that one entry of it can be read.
fn document(from: &StoredArray, shape: &StagingShape) -> Option<Json> {
    let StagingShape { subchunk, shard } = shape;
    let endian = if cfg!(target_endian = "big") { "big" } else { "little" };
    let bytes = format!(r#"[{{"name":"bytes","configuration":{{"endian":"{endian}"}}}}]"#);
    let [data_type, fill_value] = [&from.metadata.data_type, &from.metadata.fill_value].map(Json::to_string);
    let text = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":{:?},"data_type":{data_type},
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{shard:?}}}}},
        "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"."}}}},"fill_value":{fill_value},
        "codecs":[{{"name":"sharding_indexed","configuration":{{"chunk_shape":{subchunk:?},"codecs":{bytes},
        "index_codecs":{bytes},"index_location":"end"}}}}],"attributes":{{}}}}"#,
        from.metadata.taken_shape()
    );
    Json::parse_str(&text).ok()
}

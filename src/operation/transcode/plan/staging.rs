//! The intermediate data of a rechunk in two passes: their metadata, and those of an unfinished run.

use crate::array::StoredArray;
use crate::engine::StagingShape;
use crate::engine::route::staged::{folder, left_document};
use crate::metadata::{ArrayDocument, ArrayMetadata, Json};
use crate::operation::stored::side;
use crate::operation::{OperationError, Result};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::{Node, RUN_FOLDER, StoreError};

/// The passes that an unfinished run at the destination began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Begun {
    /// There is no unfinished run.
    Nothing,
    /// One pass.
    InOnePass,
    /// Two passes, with intermediate data of this grid.
    InTwoPasses(StagingShape),
}

/// Returns what the destination's run has begun, for an array that `from` reads.
pub(crate) fn begun(destination: &Node, from: &StoredArray) -> Result<Begun> {
    let unreadable =
        |error: StoreError| OperationError::environment("the unfinished DEST cannot be read").because(error);
    let (place, is_outside) = folder(destination);
    if !is_outside && !destination.is_local() {
        // A zip file is written from the beginning.
        return Ok(Begun::Nothing);
    }
    let Some(text) = left_document(&place).map_err(unreadable)? else {
        if is_outside {
            // They may be on another machine: this counts as not begun.
            return Ok(Begun::Nothing);
        }
        let work = destination.below(&RUN_FOLDER);
        return Ok(if work.exists().map_err(unreadable)? { Begun::InOnePass } else { Begun::Nothing });
    };
    let shape = Json::parse(&text).ok().and_then(|document| shape_of(&document, &from.metadata));
    shape.map(Begun::InTwoPasses).ok_or_else(|| {
        OperationError::environment(format!("the intermediate data at `{}` are not of this array", place.name()))
            .with_help("remove the unfinished destination, and begin again")
    })
}

/// Returns the grid of intermediate data. `None` if they are not of this array.
fn shape_of(document: &Json, array: &ArrayMetadata) -> Option<StagingShape> {
    let metadata = ArrayDocument::read(document).metadata()?;
    let inner = metadata.codecs.first()?.member("chunk_shape")?.as_array()?;
    let subchunk: Vec<u64> = inner.iter().filter_map(Json::as_u64).collect();
    let shard = metadata.grid.largest();
    let shape = StagingShape { subchunk, shard: shard.to_vec() };
    let taken = array.taken_shape();
    let is_of_array = metadata.shape == taken && metadata.data_type.same_value(&array.data_type);
    (shape.fits(&taken) && is_of_array).then_some(shape)
}

/// Returns the intermediate data with a grid, in a folder, for the array that is read, and their document.
pub(crate) fn staging(
    from: &StoredArray,
    folder: Node,
    shape: &StagingShape,
    store: &str,
) -> Result<(StoredArray, Json)> {
    if !shape.fits(&from.metadata.taken_shape()) {
        let what = format!("intermediate data of shards of {:?} with chunks of {:?}", shape.shard, shape.subchunk);
        return Err(misfit(store, &what));
    }
    let found = document(from, shape).and_then(|document| Some((ArrayDocument::read(&document).metadata()?, document)));
    let (metadata, document) = found.ok_or_else(|| OperationError::data("the array cannot be held in between"))?;
    let decoded = from.chain.decoded();
    let (data_type, fill_value) = (decoded.data_type.clone(), decoded.fill_value.clone());
    let input = ArrayRepresentation { data_type, shape: shape.shard.clone(), fill_value };
    let pipeline = Pipeline::build(input, &metadata.codecs, Completeness::ToBytes, "/codecs", &mut Vec::new());
    let side = side(folder, metadata, &pipeline, store, 0, true)?;
    Ok((side, document))
}

/// Returns the error for an earlier plan of `store` with something that does not fit its grids.
pub(super) fn misfit(store: &str, what: &str) -> OperationError {
    OperationError::data(format!("the plan of `{store}` has {what}, which do not fit its grids"))
        .with_help("seal the plan anew")
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

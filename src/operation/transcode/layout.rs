//! An array of SOURCE or DEST with its chain bound, and its shards as streams where they can be.

use crate::codec::BoundChain;
use crate::engine::object::Side;
use crate::engine::shard::ShardLayout;
use crate::metadata::array::ArrayMetadata;
use crate::operation::error::OperationError;
use crate::operation::open::{bind, bind_unread};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::LocalNode;

/// Binds an array. `hoisted` codecs of the innermost chain are moved to the front of a cell's, where a kernel takes
/// their place: they work on each value by itself, so that no `transpose` in front of the shard makes a difference.
pub(in crate::operation) fn side(
    node: LocalNode,
    metadata: ArrayMetadata,
    pipeline: &Pipeline,
    store: &str,
    hoisted: usize,
    write_empty: bool,
) -> Result<Side, OperationError> {
    let mut chain = bind(pipeline, store)?;
    if write_empty {
        chain.write_empty_chunks();
    }
    let layout = match cell_pipeline(pipeline, &chain, hoisted) {
        Some(cell) => {
            let mut cell = bind(&cell, store)?;
            if write_empty {
                cell.write_empty_chunks();
            }
            ShardLayout::new(&chain, cell)
        }
        None => None,
    };
    Ok(Side { node, metadata, chain, layout })
}

/// Binds an array whose chunks are not decoded to elements, or only by who knows how.
pub(in crate::operation) fn unread_side(
    node: LocalNode,
    metadata: ArrayMetadata,
    pipeline: &Pipeline,
    store: &str,
) -> Result<Side, OperationError> {
    let chain = bind_unread(pipeline, store)?;
    let layout = match cell_pipeline(pipeline, &chain, 0) {
        Some(cell) => ShardLayout::new(&chain, bind_unread(&cell, store)?),
        None => None,
    };
    Ok(Side { node, metadata, chain, layout })
}

/// The way of an inner chunk from the array itself, where shards can be streamed.
fn cell_pipeline(pipeline: &Pipeline, chain: &BoundChain, hoisted: usize) -> Option<Pipeline> {
    let place = ShardLayout::place_in(chain)?;
    let (_, sharding) = pipeline.sharding()?;
    let outer: Vec<_> = pipeline.stages[..place].iter().map(|stage| stage.metadata.clone()).collect();
    let inner: Vec<_> = sharding.inner.stages.iter().map(|stage| stage.metadata.clone()).collect();
    let (front, back) = inner.split_at(hoisted.min(inner.len()));
    let codecs: Vec<_> = front.iter().chain(&outer).chain(back).cloned().collect();
    let input = ArrayRepresentation { shape: pipeline.innermost_chunk_shape(), ..pipeline.input.clone() };
    Some(Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new()))
}

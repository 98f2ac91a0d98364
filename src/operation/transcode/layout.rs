//! An array of SOURCE or DEST with its chain bound, and its shards as streams where they can be.

use crate::codec::{BoundChain, Codec};
use crate::engine::object::Side;
use crate::engine::shard::ShardLayout;
use crate::metadata::array::ArrayMetadata;
use crate::operation::error::OperationError;
use crate::operation::open::bind;
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
    let layout = layout(pipeline, &chain, store, hoisted, write_empty)?;
    Ok(Side { node, metadata, chain, layout })
}

fn layout(
    pipeline: &Pipeline,
    chain: &BoundChain,
    store: &str,
    hoisted: usize,
    write_empty: bool,
) -> Result<Option<ShardLayout>, OperationError> {
    let Some(place) = ShardLayout::place_in(chain) else { return Ok(None) };
    let Codec::Sharding(_) = &chain.codecs()[place].codec else { return Ok(None) };
    let Some((_, sharding)) = pipeline.sharding() else { return Ok(None) };
    let outer: Vec<_> = pipeline.stages[..place].iter().map(|stage| stage.metadata.clone()).collect();
    let inner: Vec<_> = sharding.inner.stages.iter().map(|stage| stage.metadata.clone()).collect();
    let (front, back) = inner.split_at(hoisted.min(inner.len()));
    let codecs: Vec<_> = front.iter().chain(&outer).chain(back).cloned().collect();
    let input = ArrayRepresentation { shape: pipeline.innermost_chunk_shape(), ..pipeline.input.clone() };
    let cell = Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new());
    let mut cell = bind(&cell, store)?;
    if write_empty {
        cell.write_empty_chunks();
    }
    Ok(ShardLayout::new(chain, cell))
}

//! An array of SOURCE or DEST with its chain bound, and its shards as streams where they can be.

use crate::array::{ShardLayout, StoredArray};
use crate::codec::BoundChain;
use crate::metadata::ArrayMetadata;
use crate::operation::open::{bind, bind_opaque};
use crate::operation::{OpenedArray, OperationError};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::Node;

/// Binds an array. `hoisted` codecs of the innermost chain are moved to the front of a subchunk's, where a kernel takes
/// their place: they work on each value by itself, so that no `transpose` in front of the shard makes a difference.
pub(crate) fn side(
    node: Node,
    metadata: ArrayMetadata,
    pipeline: &Pipeline,
    store: &str,
    hoisted: usize,
    write_empty: bool,
) -> Result<StoredArray, OperationError> {
    bound(node, metadata, (pipeline, hoisted), |pipeline| {
        let mut chain = bind(pipeline, store)?;
        if write_empty {
            chain.write_empty_chunks();
        }
        Ok(chain)
    })
}

/// Binds an array that was opened.
pub(crate) fn stored_array(opened: &OpenedArray) -> Result<StoredArray, OperationError> {
    side(opened.node.clone(), opened.metadata.clone(), &opened.pipeline, &opened.store, 0, false)
}

/// Binds an array whose chunks are not decoded to elements, or only by who knows how.
pub(crate) fn opaque_array(
    node: Node,
    metadata: ArrayMetadata,
    pipeline: &Pipeline,
    store: &str,
) -> Result<StoredArray, OperationError> {
    bound(node, metadata, (pipeline, 0), |pipeline| bind_opaque(pipeline, store))
}

fn bound(
    node: Node,
    metadata: ArrayMetadata,
    (pipeline, hoisted): (&Pipeline, usize),
    bind: impl Fn(&Pipeline) -> Result<BoundChain, OperationError>,
) -> Result<StoredArray, OperationError> {
    let chain = bind(pipeline)?;
    let subchunk = subchunk_pipeline(pipeline, &chain, hoisted).map(|subchunk| bind(&subchunk)).transpose()?;
    let layout = subchunk.and_then(|subchunk| ShardLayout::new(&chain, subchunk));
    Ok(StoredArray::new(node, metadata, chain, layout))
}

/// The way of an inner chunk from the array itself, where shards can be streamed.
fn subchunk_pipeline(pipeline: &Pipeline, chain: &BoundChain, hoisted: usize) -> Option<Pipeline> {
    let place = ShardLayout::place_in(chain)?;
    let (_, sharding) = pipeline.sharding()?;
    let outer: Vec<_> = pipeline.stages[..place].iter().map(|stage| stage.metadata.clone()).collect();
    let inner: Vec<_> = sharding.inner.stages.iter().map(|stage| stage.metadata.clone()).collect();
    let (front, back) = inner.split_at(hoisted.min(inner.len()));
    let codecs: Vec<_> = front.iter().chain(&outer).chain(back).cloned().collect();
    let input = ArrayRepresentation { shape: pipeline.innermost_chunk_shape(), ..pipeline.input.clone() };
    Some(Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new()))
}

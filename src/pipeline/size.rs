//! The size of a shard.

use super::{BytesSize, Pipeline, Representation};

/// The most bytes of a shard: all inner chunks and the index.
pub(super) fn shard_size(inner: &Pipeline, index: &Pipeline) -> BytesSize {
    let bound = |pipeline: &Pipeline| match pipeline.output() {
        Some(Representation::Bytes(size)) => size.bound(),
        _ => None,
    };
    // The index array has two entries for each inner chunk.
    let count = index.input.num_elements().map(|entries| entries / 2);
    let total = count.zip(bound(inner)).and_then(|(count, bytes)| count.checked_mul(bytes));
    let total = total.zip(bound(index)).and_then(|(chunks, index)| chunks.checked_add(index));
    total.map_or(BytesSize::Unbounded, BytesSize::Bounded)
}

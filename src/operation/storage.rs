//! What is stored of an array: chunks and shards, possible and present, and their bytes.

use super::error::OperationError;
use super::inspect_result::StorageResult;
use super::open::ArrayReading;
use super::transcode::layout::side;
use crate::codec::chain::Workspace;
use crate::engine::chunk_set::list;
use crate::engine::driver::{Driver, Fault};
use crate::engine::object::Side;
use crate::metadata::array::{ArrayMetadata, num_elements};

/// What one stored object holds.
#[derive(Debug, Clone, Copy)]
struct Object {
    bytes: u64,
    inner_chunks: u64,
}

/// Counts what is stored; inner chunks by the shard indexes. `None` where the metadata do not tell what to look for.
pub fn census(reading: &ArrayReading, driver: &Driver) -> Result<Option<StorageResult>, OperationError> {
    let (Some(metadata), Some(pipeline)) = (&reading.metadata, &reading.pipeline) else { return Ok(None) };
    let unreadable =
        |error| OperationError::environment(format!("`{}` cannot be listed", reading.store)).because(error);
    let listing = list(&reading.node, metadata, driver).map_err(unreadable)?;
    let is_sharded = pipeline.sharding().is_some();
    let shards = if is_sharded {
        side(reading.node.clone(), metadata.clone(), pipeline, &reading.store, 0, false).ok()
    } else {
        None
    };
    let mut stored = Object { bytes: 0, inner_chunks: 0 };
    let work = |workspace: &mut (Vec<u8>, Workspace), index| {
        object(reading, metadata, shards.as_ref(), workspace, index)
    };
    let counted = driver.run::<(Vec<u8>, Workspace), Object>(&listing.present, work, |_, object| {
        stored.bytes += object.bytes;
        stored.inner_chunks += object.inner_chunks;
    });
    counted.map_err(|fault| {
        let position = crate::engine::chunk_set::position(fault.index, metadata);
        OperationError::data(format!("chunk {position:?} of `{}` cannot be counted", reading.store))
            .because(fault.fault)
    })?;
    let grid = num_elements(&metadata.chunk_grid_shape());
    let inner_shape = pipeline.innermost_chunk_shape();
    let inner_grid: Vec<u64> =
        metadata.shape.iter().zip(&inner_shape).map(|(s, c)| s.div_ceil((*c).max(1))).collect();
    let counts_inner = shards.as_ref().is_some_and(|side| side.layout.is_some());
    let element = pipeline.input.data_type.size();
    Ok(Some(StorageResult {
        chunks: if is_sharded { num_elements(&inner_grid) } else { grid },
        chunks_present: match (is_sharded, counts_inner) {
            (false, _) => Some(listing.present.len()),
            (true, true) => Some(stored.inner_chunks),
            (true, false) => None,
        },
        shards: grid.filter(|_| is_sharded),
        shards_present: is_sharded.then(|| listing.present.len()),
        bytes_logical: num_elements(&metadata.shape)
            .zip(element)
            .and_then(|(n, size)| n.checked_mul(size as u64)),
        bytes_stored: stored.bytes,
        unknown_keys: listing.unknown_keys,
    }))
}

fn object(
    reading: &ArrayReading,
    metadata: &ArrayMetadata,
    shards: Option<&Side>,
    (buffer, workspace): &mut (Vec<u8>, Workspace),
    index: u64,
) -> Result<Object, Fault> {
    let key = metadata.chunk_key_encoding.key(&crate::engine::chunk_set::position(index, metadata));
    let Some(layout) = shards.and_then(|side| side.layout.as_ref()) else {
        return Ok(Object { bytes: reading.node.size(&key)?.unwrap_or(0), inner_chunks: 0 });
    };
    let Some(reader) = reading.node.open(&key)? else { return Ok(Object { bytes: 0, inner_chunks: 0 }) };
    let entries = layout.read_index(&reader, buffer, workspace)?;
    let inner_chunks = entries.iter().flatten().count() as u64;
    Ok(Object { bytes: reader.length(), inner_chunks })
}

//! What is stored of an array: chunks and shards, possible and present, and their bytes.

use super::error::OperationError;
use super::inspect_result::StorageResult;
use crate::codec::chain::Workspace;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::chunk_set::position;
use crate::engine::driver::{Driver, Fault};
use crate::engine::listing::Listing;
use crate::engine::object::Side;
use crate::metadata::array::{ArrayMetadata, num_elements};
use crate::pipeline::Pipeline;

/// Findings that are kept; the count of all is in the last of them.
const MOST_FINDINGS: usize = 100;

/// What a census found.
#[derive(Debug, Clone)]
pub struct Census {
    /// The counts.
    pub storage: StorageResult,
    /// Shards whose index cannot be read.
    pub findings: Vec<Diagnostic>,
}

/// What one stored object holds.
#[derive(Debug)]
struct Object {
    bytes: u64,
    inner_chunks: u64,
    /// Why its index cannot be read.
    damage: Option<Fault>,
}

/// Counts what is stored, inner chunks by the shard indexes; a shard whose index is damaged counts as an object without
/// any, and is a finding.
pub fn census(
    store: &str,
    (metadata, pipeline): (&ArrayMetadata, &Pipeline),
    listing: &Listing,
    side: Option<&Side>,
    driver: &Driver,
) -> Result<Census, OperationError> {
    let shards = side.filter(|side| side.layout.is_some());
    let (mut bytes, mut inner_chunks, mut damaged) = (listing.present_bytes, 0, 0_u64);
    let mut findings = Vec::new();
    if let Some(side) = shards {
        bytes = 0;
        let work =
            |(buffer, workspace): &mut (Vec<u8>, Workspace), index| object(side, index, buffer, workspace);
        let counted = driver.run::<(Vec<u8>, Workspace), Object>(&listing.present, work, |index, object| {
            bytes += object.bytes;
            inner_chunks += object.inner_chunks;
            if let Some(fault) = object.damage {
                damaged += 1;
                if findings.len() < MOST_FINDINGS {
                    findings.push(describe(side, index, &fault));
                }
            }
        });
        counted.map_err(|fault| {
            let place = position(fault.index, metadata);
            OperationError::environment(format!("shard {place:?} of `{store}` cannot be read"))
                .because(fault.fault)
        })?;
    }
    if damaged > findings.len() as u64 {
        let message =
            format!("{damaged} shards have an index that cannot be read; {MOST_FINDINGS} are named");
        findings.push(Diagnostic::new(code::SHARD_INDEX, message));
    }
    let is_sharded = pipeline.sharding().is_some();
    let grid = num_elements(&metadata.chunk_grid_shape());
    let inner_shape = pipeline.innermost_chunk_shape();
    let inner_grid: Vec<u64> =
        metadata.shape.iter().zip(&inner_shape).map(|(s, c)| s.div_ceil((*c).max(1))).collect();
    let element = pipeline.input.data_type.size();
    let elements = num_elements(&metadata.shape);
    let storage = StorageResult {
        chunks: if is_sharded { num_elements(&inner_grid) } else { grid },
        chunks_present: match (is_sharded, shards) {
            (false, _) => Some(listing.present.len()),
            (true, Some(_)) => Some(inner_chunks),
            (true, None) => None,
        },
        shards: grid.filter(|_| is_sharded),
        shards_present: is_sharded.then(|| listing.present.len()),
        bytes_logical: elements.zip(element).and_then(|(n, size)| n.checked_mul(size as u64)),
        bytes_stored: bytes,
        unknown_keys: listing.unknown_keys.clone(),
    };
    Ok(Census { storage, findings })
}

/// Reads the index of a shard; only the operating system's refusals are errors.
fn object(side: &Side, index: u64, buffer: &mut Vec<u8>, workspace: &mut Workspace) -> Result<Object, Fault> {
    let gone = Object { bytes: 0, inner_chunks: 0, damage: None };
    let Some(layout) = &side.layout else { return Ok(gone) };
    let Some(reader) = side.node.open(&side.key(index))? else { return Ok(gone) };
    let bytes = reader.length();
    match layout.read_index(&reader, buffer, workspace) {
        Ok(entries) => {
            Ok(Object { bytes, inner_chunks: entries.iter().flatten().count() as u64, damage: None })
        }
        Err(Fault::Store(error)) if !error.is_data_fault() => Err(error.into()),
        Err(fault) => Ok(Object { bytes, inner_chunks: 0, damage: Some(fault) }),
    }
}

fn describe(side: &Side, index: u64, fault: &Fault) -> Diagnostic {
    let place = position(index, &side.metadata);
    Diagnostic::new(code::SHARD_INDEX, format!("the index of shard {place:?} cannot be read: {fault}"))
        .with_help("the shard is damaged or truncated; restore it from a copy")
        .at_key(side.key(index))
        .at_chunk(place)
}

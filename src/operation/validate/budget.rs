//! The memory that objects take while they are checked, held to what is allowed.

use super::object::{ObjectCheck, skips_values};
use crate::codec::{BoundChain, Codec};
use crate::operation::error::OperationError;
use crate::store::machine::available_memory;

/// Bytes of an index entry, decoded, as a range, and sorted.
const ENTRY_BYTES: u64 = 96;

/// The bytes that all threads may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    bytes: u64,
}

impl Budget {
    /// What `--max-memory` says; else a quarter of what the process may use.
    pub(super) fn of(max_memory: Option<u64>) -> Self {
        let bytes = max_memory.or_else(|| available_memory().map(|bytes| bytes / 4));
        Budget { bytes: bytes.unwrap_or(u64::MAX) }
    }

    /// How many threads may work at a time; an error where not even one may.
    pub(super) fn threads(
        self,
        check: &ObjectCheck,
        threads: usize,
        store: &str,
    ) -> Result<usize, OperationError> {
        let unit = unit_bytes(check).max(1);
        let allowed = usize::try_from(self.bytes / unit).unwrap_or(usize::MAX);
        if allowed > 0 {
            return Ok(threads.min(allowed));
        }
        let what = if check.shards.is_some() { "an inner chunk of a shard and its index" } else { "a chunk" };
        Err(OperationError::environment(format!(
            "the chunks of `{store}` are not checked: {what} needs {unit} bytes of memory, {} are allowed",
            self.bytes
        ))
        .with_help(format!("give at least `--max-memory {unit}`, or check less: `--level keys`")))
    }
}

/// Bytes that a thread holds for one object.
fn unit_bytes(check: &ObjectCheck) -> u64 {
    match &check.shards {
        None => chain_bytes(check.chain),
        Some(shards) => {
            let cell = if check.decodes { chain_bytes(shards.cell()) } else { 0 };
            cell.saturating_add(index_bytes(check.chain))
        }
    }
}

/// The encoded chunk, the decoded one, and what lies between two codecs.
fn chain_bytes(chain: &BoundChain) -> u64 {
    let buffers = if skips_values(chain) { 2 } else { 4 };
    chain.max_representation_bytes().saturating_mul(buffers)
}

/// The indexes that are in memory at a time, those of shards inside of shards too, and shards that are compressed as a
/// whole.
fn index_bytes(chain: &BoundChain) -> u64 {
    let place = chain.num_array_to_array();
    let Some(Codec::Sharding(sharding)) = chain.codecs().get(place).map(|codec| &codec.codec) else {
        return 0;
    };
    let whole =
        if place + 1 < chain.codecs().len() { chain.max_representation_bytes().saturating_mul(2) } else { 0 };
    let entries = sharding.num_inner_chunks().saturating_mul(ENTRY_BYTES);
    whole
        .saturating_add(entries)
        .saturating_add(sharding.index_bytes())
        .saturating_add(index_bytes(sharding.inner()))
}

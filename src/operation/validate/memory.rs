//! The memory that a thread takes while it checks a stored object.

use super::object::skips_values;
use super::objects::ObjectsCheck;
use crate::codec::{BoundChain, Codec};
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;

/// Bytes of an index entry, decoded, as a range, and sorted.
const ENTRY_BYTES: u64 = 96;

/// How many threads may check objects at a time; an error where there is no room for one.
pub(super) fn allot(budget: Budget, check: &ObjectsCheck, store: &str) -> Result<usize, OperationError> {
    let purpose = || {
        let what = if check.shards.is_some() { "the shards" } else { "the chunks" };
        format!("to check {what} of `{store}`")
    };
    budget.threads_of(unit_bytes(check), purpose).map_err(|error| {
        let help = format!("{}; or check less: `--level keys`", error.help().unwrap_or_default());
        error.with_help(help)
    })
}

/// Bytes that a thread holds for one object.
fn unit_bytes(check: &ObjectsCheck) -> u64 {
    match &check.shards {
        None => chain_bytes(check.object.chain),
        Some(shards) => {
            let subchunk = if check.object.decodes { chain_bytes(shards.subchunk()) } else { 0 };
            subchunk.saturating_add(index_bytes(check.object.chain))
        }
    }
}

/// The encoded chunk, the decoded one, and what lies between two codecs.
fn chain_bytes(chain: &BoundChain) -> u64 {
    let buffers = if skips_values(chain) { 2 } else { 4 };
    chain.max_representation_bytes().saturating_mul(buffers).saturating_add(chain.context_bytes())
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

//! The memory budget of a command (`--max-memory`), and how many threads it has room for.

use super::options::CommonOptions;
use super::{OperationError, Result};
use crate::array::StoredArray;
use crate::diagnostic::quantity::bytes;
use crate::engine::Transfer;
use crate::engine::route::variable_size::MemoryShare;
use crate::store::machine::available_memory;

/// Bytes that a thread needs apart from chunks: pieces of files, indices, tiles.
pub(super) const BASE_BYTES: u64 = 512 << 10;

/// More memory than this, 16 TiB, nobody is advised to give.
const MOST_ADVISED: u64 = 16 << 40;

/// The threads and the bytes that a command may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    threads: usize,
    /// `None` where neither the user nor the system sets a bound.
    bytes: Option<u64>,
    /// Whether `--max-memory` was given.
    is_given: bool,
}

impl Budget {
    /// The threads asked for, else all cores; `--max-memory`, else a quarter of the memory available to the process.
    pub(super) fn of(options: &CommonOptions) -> Self {
        Budget {
            threads: options.num_threads(),
            bytes: options.max_memory.or_else(|| available_memory().map(|available| available / 4)),
            is_given: options.max_memory.is_some(),
        }
    }

    /// The budget with fewer threads.
    pub(super) fn narrowed(self, threads: usize) -> Self {
        Budget { threads, ..self }
    }

    /// The budget with no more than so many bytes.
    pub(super) fn limited(self, bytes: u64) -> Self {
        Budget { bytes: Some(bytes.min(self.bytes())), ..self }
    }

    /// The bytes that may be used; without a bound if neither the user nor the system sets one.
    pub(super) fn bytes(self) -> u64 {
        self.bytes.unwrap_or(u64::MAX)
    }

    /// The bytes that are left where so many are `needed`: none where nobody sets a bound, for what can be done without.
    pub(super) fn left_by(self, needed: u64) -> u64 {
        self.bytes.map_or(0, |bytes| bytes.saturating_sub(needed))
    }

    /// The threads that were asked for.
    pub(super) fn threads(self) -> usize {
        self.threads
    }

    /// The number of threads that have room, at `unit` bytes each: at most those asked for.
    ///
    /// Fails where not even one has room; `purpose` goes on its sentence: `for the chunks of ...`.
    pub(super) fn threads_of(self, unit: u64, purpose: impl FnOnce() -> String) -> Result<usize> {
        match usize::try_from(self.bytes() / unit.max(1)).unwrap_or(usize::MAX) {
            0 => Err(self.too_small(unit, &purpose())),
            allowed => Ok(self.threads.min(allowed)),
        }
    }

    /// The error of a budget that is less than the `least` bytes that one thread needs, and its way out.
    pub(super) fn too_small(self, least: u64, purpose: &str) -> OperationError {
        let found = bytes(self.bytes());
        let budget = if self.is_given {
            format!("`--max-memory` {found}")
        } else {
            format!("the default of `--max-memory`, {found} (a quarter of the available memory),")
        };
        let message = format!("{budget} is too small: one thread needs {} {purpose}", bytes(least));
        OperationError::environment(message).with_help(memory_advice(least))
    }

    /// The memory of a run that measures chunks as it reads them, of which each thread holds `beside` bytes whatever
    /// the chunk; the least budget where there is too little.
    pub(super) fn memory_share(self, beside: u64) -> Result<MemoryShare, u64> {
        /// A thread's least share for a chunk, in bytes, where there is not room for all.
        const LEAST: u64 = 1 << 20;
        /// Chunks that take more are done one by one.
        const MOST: u64 = 64 << 20;
        let whole = self.bytes();
        if whole <= beside {
            return Err(beside.saturating_add(LEAST));
        }
        let allowed = usize::try_from(whole / beside.saturating_add(LEAST)).unwrap_or(usize::MAX);
        let threads = self.threads.min(allowed).max(1);
        let share = (whole / threads as u64).min(beside.saturating_add(MOST));
        Ok(MemoryShare { share, whole, beside })
    }
}

/// Advice where `least` bytes of memory are needed: the option that gives them, as long as a machine may have them.
pub(super) fn memory_advice(least: u64) -> String {
    if least > MOST_ADVISED {
        "choose smaller chunks".to_owned()
    } else {
        format!("give `--max-memory {least}` or more")
    }
}

/// Bytes that a thread needs to compare both sides of a transfer, beside the blocks that it holds.
pub(super) fn comparing_bytes(transfer: &Transfer) -> u64 {
    let Transfer { source, destination, origin, .. } = transfer;
    let reading = source.subchunk_chain().reading_bytes(transfer.has_same_subchunks() && source.has_edges());
    // Of the indexes of intermediate data single entries are read.
    let indexes = shard_bytes(origin.is_none().then_some(source), destination);
    let parts = [BASE_BYTES, reading, comparing_pieces(destination), indexes];
    parts.into_iter().fold(0, u64::saturating_add)
}

/// The part of that for one subchunk: as read, as expected, on its way there, and with what is absent or cut off.
pub(super) fn comparing_pieces(destination: &StoredArray) -> u64 {
    let chain = destination.subchunk_chain();
    chain.reading_bytes(true).saturating_add(chain.decoded_bytes().saturating_mul(3))
}

/// The indices of shards: those that are read are kept open, the one that is written is a list and then encoded.
pub(super) fn shard_bytes(source: Option<&StoredArray>, destination: &StoredArray) -> u64 {
    let open = source.map_or(0, |source| source.index_bytes().saturating_mul(source.num_open_shards(destination)));
    open.saturating_add(destination.index_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(max_memory: u64) -> Budget {
        let threads = std::num::NonZeroUsize::new(8);
        Budget::of(&CommonOptions { threads, max_memory: Some(max_memory) })
    }

    #[test]
    fn budget_has_room_for_fewer_threads_and_names_the_least_where_for_none() {
        assert_eq!(budget(u64::MAX).threads_of(1 << 40, String::new).unwrap(), 8);
        assert_eq!(budget(30).threads_of(10, String::new).unwrap(), 3);
        let error = budget(8 << 20).threads_of(18_239_026, || "for chunks of shape [4]".to_owned()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`--max-memory` 8.00 MiB is too small: one thread needs 17.4 MiB for chunks of shape [4]"
        );
        assert_eq!(error.help(), Some("give `--max-memory 18239026` or more"));
        assert_eq!(budget(1).too_small(u64::MAX, "").help(), Some("choose smaller chunks"));
    }

    #[test]
    fn default_budget_is_a_part_of_what_the_process_may_use() {
        let budget = Budget::of(&CommonOptions::default());
        assert!(budget.bytes() > 0 && !budget.is_given);
        assert!(budget.too_small(1, "").to_string().starts_with("the default of `--max-memory`, "));
    }
}

//! The memory budget of a command (`--max-memory`), and the number of threads that it allows.

use super::{OperationError, Result, options::CommonOptions};
use crate::array::StoredArray;
use crate::diagnostic::quantity::bytes;
use crate::engine::{Transfer, route::variable_size::MemoryShare};
use crate::store::machine::available_memory;

/// The bytes that a thread needs in addition to chunks: pieces of files, indices, tiles.
pub(super) const BASE_BYTES: u64 = 512 << 10;

/// The maximum memory in an advice: 16 TiB.
const MOST_ADVISED: u64 = 16 << 40;

/// The threads and the bytes that a command may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    threads: usize,
    /// `None` if neither the user nor the system sets a limit.
    bytes: Option<u64>,
    /// Bytes of these that are used already.
    reserved: u64,
    /// True if `--max-memory` was given.
    is_given: bool,
}

impl Budget {
    /// Returns the budget: `--threads` (or all cores) and `--max-memory` (or a quarter of the available memory).
    pub(super) fn new(options: &CommonOptions) -> Self {
        Budget {
            threads: options.num_threads(),
            bytes: options.max_memory.or_else(|| available_memory().map(|available| available / 4)),
            reserved: 0,
            is_given: options.max_memory.is_some(),
        }
    }

    /// Returns the budget without this many bytes.
    pub(super) fn less(self, bytes: u64) -> Self {
        Budget { reserved: self.reserved.saturating_add(bytes), ..self }
    }

    /// Returns the budget with fewer threads.
    pub(super) fn narrowed(self, threads: usize) -> Self {
        Budget { threads, ..self }
    }

    /// Returns the budget with at most `bytes` bytes.
    pub(super) fn limited(self, bytes: u64) -> Self {
        // `bytes` subtracts the reserved bytes, so they are added here.
        Budget { bytes: Some(bytes.min(self.bytes()).saturating_add(self.reserved)), ..self }
    }

    /// Returns the bytes that may be used. `u64::MAX` if neither the user nor the system sets a limit.
    pub(super) fn bytes(self) -> u64 {
        self.bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(self.reserved))
    }

    /// Returns the bytes that remain after `needed`, for optional work. Zero if there is no limit.
    pub(super) fn left_by(self, needed: u64) -> u64 {
        // Without a limit nobody has said how much memory may be kept, so optional work gets none.
        self.bytes.map_or(0, |_| self.bytes().saturating_sub(needed))
    }

    pub(super) fn threads(self) -> usize {
        self.threads
    }

    /// Returns the number of threads for which there is memory, at `unit` bytes each, up to the requested number.
    ///
    /// An error if there is not enough memory for one. `purpose` ends its sentence: `for the chunks of ...`.
    pub(super) fn threads_of(self, unit: u64, purpose: impl FnOnce() -> String) -> Result<usize> {
        match usize::try_from(self.bytes() / unit.max(1)).unwrap_or(usize::MAX) {
            0 => Err(self.too_small(unit, &purpose())),
            allowed => Ok(self.threads.min(allowed)),
        }
    }

    /// Returns the error of a budget that is less than the `least` bytes that one thread needs, with its help.
    pub(super) fn too_small(self, least: u64, purpose: &str) -> OperationError {
        let (found, least) = (bytes(self.bytes.unwrap_or(u64::MAX)), least.saturating_add(self.reserved));
        let budget = if self.is_given {
            format!("`--max-memory` {found}")
        } else {
            format!("the default of `--max-memory`, {found} (a quarter of the available memory),")
        };
        let message = format!("{budget} is too small: one thread needs {} {purpose}", bytes(least));
        OperationError::environment(message).with_help(memory_advice(least))
    }

    /// Returns the memory of a run that measures chunks as it reads them. Each thread needs `base` bytes in addition
    /// to its chunk. The error is the minimum budget.
    pub(super) fn memory_share(self, base: u64) -> Result<MemoryShare, u64> {
        /// The minimum share of a thread for a chunk, in bytes, if there is not enough memory for all.
        const LEAST: u64 = 1 << 20;
        /// Larger chunks are processed one by one.
        const MOST: u64 = 64 << 20;
        let whole = self.bytes();
        if whole <= base {
            return Err(base.saturating_add(LEAST));
        }
        let allowed = usize::try_from(whole / base.saturating_add(LEAST)).unwrap_or(usize::MAX);
        // With less than `LEAST` bytes beyond `base`, one thread gets all there is.
        let threads = self.threads.min(allowed).max(1);
        let share = (whole / threads as u64).min(base.saturating_add(MOST));
        Ok(MemoryShare { share, whole, base })
    }
}

/// Returns the advice if `least` bytes of memory are needed: the option, unless no machine has so many.
pub(super) fn memory_advice(least: u64) -> String {
    if least > MOST_ADVISED {
        "choose smaller chunks".to_owned()
    } else {
        format!("give `--max-memory {least}` or more")
    }
}

/// Returns the bytes that a thread needs to compare both sides of a transfer, in addition to its blocks.
pub(super) fn comparing_bytes(transfer: &Transfer) -> u64 {
    let Transfer { source, destination, origin, .. } = transfer;
    let reading = source.subchunk_chain().reading_bytes(transfer.has_same_subchunks() && source.has_edges());
    // Only single entries of the indexes of intermediate data are read.
    let indexes = shard_bytes(origin.is_none().then_some(source), destination);
    let parts = [BASE_BYTES, reading, comparing_pieces(destination), indexes];
    parts.into_iter().fold(0, u64::saturating_add)
}

/// Returns the part of this for one subchunk: as read, as expected, in between, and with absent or cut-off elements.
pub(super) fn comparing_pieces(destination: &StoredArray) -> u64 {
    let chain = destination.subchunk_chain();
    chain.reading_bytes(true).saturating_add(chain.decoded_bytes().saturating_mul(3))
}

/// Returns the bytes of shard indexes. Those that are read stay open. The written one is a list, and is then encoded.
pub(super) fn shard_bytes(source: Option<&StoredArray>, destination: &StoredArray) -> u64 {
    let open = source.map_or(0, |source| source.index_bytes().saturating_mul(source.num_open_shards(destination)));
    open.saturating_add(destination.index_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(max_memory: u64) -> Budget {
        let threads = std::num::NonZeroUsize::new(8);
        Budget::new(&CommonOptions { threads, max_memory: Some(max_memory) })
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
        let budget = Budget::new(&CommonOptions::default());
        assert!(budget.bytes() > 0 && !budget.is_given);
        assert!(budget.too_small(1, "").to_string().starts_with("the default of `--max-memory`, "));
    }
}

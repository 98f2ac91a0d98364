//! The number of chunks in a sample, and which ones.

use crate::array::ChunkSet;
use crate::engine::progress::mixed;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleSize {
    /// As many as are useful, within the memory limit.
    ByDefault,
    /// This many, within the memory limit.
    Chunks(u64),
    /// This many, whatever the memory limit is: the result decides what a run writes, on any machine.
    Always(u64),
}

/// Least number of chunks in a sample, if there are as many.
const LEAST_CHUNKS: u64 = 16;

/// A sample of a large array is at most one of this many units, or the least number of chunks.
const ONE_OF: u64 = 100;

/// A sample of an array of this many units is a hundredth. It is large from this many decoded bytes on.
const LARGE_OF_MANY: (u64, u64) = (LEAST_CHUNKS * ONE_OF, 8 << 20);

/// Any array is large from this many decoded bytes on.
const LARGE: u64 = 64 << 20;

/// Maximum number of chunks in a sample of unspecified size.
const MOST_CHUNKS: u64 = 1 << 14;

/// Memory of a chunk in addition to its bytes: its key, list entries and buffers.
const CHUNK_OVERHEAD: u64 = 1 << 10;

/// Decoded bytes that are always read of an array that is not large.
const BYTES_OF_A_SMALL_ARRAY: u64 = 16 << 20;

/// The units from which a sample is drawn. Each has the chunks of DEST that are read together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Population {
    /// Number of units that are not empty.
    pub(crate) units: u64,
    /// Maximum number of chunks of DEST in a unit.
    pub(crate) chunks_per_unit: u64,
    /// Maximum number of decoded bytes in a unit.
    pub(crate) unit_bytes: u64,
    /// Maximum ratio of the decoded bytes of SOURCE to those of the unit.
    pub(crate) amplification: u64,
    /// Decoded bytes of the array.
    pub(crate) array_bytes: u64,
    /// Memory limit for all units, in bytes.
    pub(crate) memory: u64,
}

impl Population {
    /// Returns the number of units for a sample of `size` chunks of DEST.
    pub(crate) fn num_drawn(&self, size: SampleSize) -> u64 {
        let chunks = self.chunks_per_unit.max(1);
        let most = (MOST_CHUNKS / chunks).max(1);
        let wanted = match size {
            SampleSize::ByDefault => self.by_default().min(most),
            SampleSize::Chunks(asked) | SampleSize::Always(asked) => asked.div_ceil(chunks),
        };
        let held = self.unit_bytes.saturating_add(chunks.saturating_mul(CHUNK_OVERHEAD));
        let most = self.memory / held;
        wanted.min(most).clamp(1, self.units.max(1)).min(self.units)
    }

    /// Returns the default number of units. It is divided by the amplification, if units need more of SOURCE than they
    /// contain.
    fn by_default(&self) -> u64 {
        let times = self.amplification.max(1);
        let least = LEAST_CHUNKS.div_ceil(self.chunks_per_unit.saturating_mul(times).max(1));
        let share = self.units / ONE_OF.saturating_mul(times);
        let (many, bytes_of_many) = LARGE_OF_MANY;
        let is_large = self.array_bytes > if self.units >= many { bytes_of_many } else { LARGE };
        let read = self.unit_bytes.saturating_mul(times).max(1);
        let quick = if is_large { 0 } else { BYTES_OF_A_SMALL_ARRAY / read };
        least.max(share).max(quick)
    }
}

/// Returns `count` members of a set: one from each of `count` stretches of equal length. Its position in the stretch is
/// pseudorandom and always the same. So the sample follows slow changes along the array, and does not always hit the
/// same position of a regular pattern.
pub(crate) fn spread(all: &ChunkSet, count: u64) -> ChunkSet {
    // The increment of the generator `SplitMix64`.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let total = u128::from(all.len());
    let edge = |stretch: u64| u64::try_from(u128::from(stretch) * total / u128::from(count.max(1))).unwrap_or(u64::MAX);
    let drawn = (0..count).filter_map(|stretch| {
        let (first, end) = (edge(stretch), edge(stretch + 1));
        let length = end.saturating_sub(first).max(1);
        all.nth(first + mixed(stretch.wrapping_mul(GOLDEN)) % length)
    });
    drawn.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population(units: u64, bytes: u64) -> Population {
        Population {
            units,
            chunks_per_unit: 1,
            unit_bytes: bytes,
            amplification: 1,
            array_bytes: units * bytes,
            memory: 1 << 30,
        }
    }

    #[test]
    fn sample_is_a_hundredth_within_bounds() {
        let (kib, mib) = (1 << 10, 1 << 20);
        let tiny = Population { chunks_per_unit: 256, ..population(1_000_000, 256 * 4) };
        let in_memory = |memory| Population { memory, ..population(400, mib) };
        let amplified = Population { amplification: 4, ..population(40_000, mib) };
        let by_default = [
            // For a large array a hundredth, and at least 16 chunks.
            (population(1_000_000, kib), 10_000),
            (population(1600, 8 * kib), 16),
            (population(400, mib), 16),
            (population(9, mib), 9),
            (population(0, mib), 0),
            // Chunks of a few bytes do not make a sample of millions.
            (population(1_000_000_000_000, kib), MOST_CHUNKS),
            (tiny, MOST_CHUNKS / 256),
            // For a small array, as much as is read at once.
            (population(100, kib), 100),
            (population(2000, kib), 2000),
            (population(1000, 1 << 15), 512),
            // Limited by memory, but at least one unit.
            (in_memory(5 * (CHUNK_OVERHEAD + mib)), 5),
            (Population { chunks_per_unit: 8, ..population(400, 64 * mib) }, 4),
            (amplified, 100),
        ];
        for (population, expected) in by_default {
            assert_eq!(population.num_drawn(SampleSize::ByDefault), expected, "{population:?}");
        }
        assert_eq!(population(400, mib).num_drawn(SampleSize::Chunks(40)), 40);
        assert_eq!(in_memory(0).num_drawn(SampleSize::Chunks(9)), 1);
        let asked = Population { memory: mib, ..population(1_000_000_000_000, 4) };
        assert_eq!(asked.num_drawn(SampleSize::Chunks(u64::MAX)), mib / (CHUNK_OVERHEAD + 4));
    }

    #[test]
    fn sample_has_one_of_each_stretch_and_is_the_same_each_time() {
        let all = ChunkSet::from_ranges(vec![5..505, 1000..1500]);
        let drawn = spread(&all, 10);
        assert_eq!(drawn.len(), 10);
        let stretches: Vec<u64> =
            drawn.iter().map(|index| if index < 505 { (index - 5) / 100 } else { (index - 1000) / 100 + 5 }).collect();
        assert_eq!(stretches, (0..10).collect::<Vec<u64>>());
        assert!(spread(&all, 10).iter().eq(drawn.iter()));
        assert!(spread(&all, 1000).iter().eq(all.iter()));
        assert!(spread(&ChunkSet::default(), 0).is_empty());
    }
}

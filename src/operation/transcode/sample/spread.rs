//! The units of a sample: their number and choice, the same for the same array each time.

use super::SampleSize;
use crate::array::ChunkSet;

/// The chunks that a sample has at least, where there are so many.
const LEAST_CHUNKS: u64 = 16;

/// The share of the units of a large array that a sample has at most, beyond the least: one of so many.
const ONE_OF: u64 = 100;

/// An array of so many units, of which a hundredth is a sample, is large from so many decoded bytes on.
const LARGE_OF_MANY: (u64, u64) = (LEAST_CHUNKS * ONE_OF, 8 << 20);

/// Any array is large from so many decoded bytes on.
const LARGE: u64 = 64 << 20;

/// The most chunks of a sample for which no number is asked.
const MOST_CHUNKS: u64 = 1 << 14;

/// Memory that a chunk takes beside its bytes: its key, its places in lists, its buffers.
const CHUNK_OVERHEAD: u64 = 1 << 10;

/// Decoded bytes of an array that is not large that are read whatever their share is.
const BYTES_OF_A_SMALL_ARRAY: u64 = 16 << 20;

/// The units that a sample may be drawn from, each the chunks of DEST that are read together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Population {
    /// Units that hold anything.
    pub units: u64,
    /// Chunks of DEST in a unit, at most.
    pub chunks_per_unit: u64,
    /// Decoded bytes of a unit, at most.
    pub unit_bytes: u64,
    /// Times that many bytes of SOURCE are decoded for it, at most.
    pub amplification: u64,
    /// Decoded bytes of the array.
    pub array_bytes: u64,
    /// Bytes that all units may take in memory.
    pub memory: u64,
}

impl Population {
    /// The number of units for a sample of so many chunks of DEST.
    pub(super) fn num_drawn(&self, size: SampleSize) -> u64 {
        let chunks = self.chunks_per_unit.max(1);
        let most = (MOST_CHUNKS / chunks).max(1);
        let wanted = match size {
            SampleSize::ByDefault => self.by_default().min(most),
            SampleSize::Chunks(asked) | SampleSize::Always(asked) => asked.div_ceil(chunks),
        };
        let held = self.unit_bytes.saturating_add(chunks.saturating_mul(CHUNK_OVERHEAD));
        let room = self.memory / held;
        wanted.min(room).clamp(1, self.units.max(1)).min(self.units)
    }

    /// Units that need more of SOURCE than they have are fewer by as much.
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

/// So many of a set: one of each stretch of it, of equal length in their order, at a place that looks like chance and is the
/// same each time. A sample of each stretch follows what changes slowly along the array, and no grid in it is hit always at
/// the same place.
pub(super) fn spread(all: &ChunkSet, count: u64) -> ChunkSet {
    let total = u128::from(all.len());
    let edge = |stretch: u64| u64::try_from(u128::from(stretch) * total / u128::from(count.max(1))).unwrap_or(u64::MAX);
    let drawn = (0..count).filter_map(|stretch| {
        let (first, end) = (edge(stretch), edge(stretch + 1));
        let length = end.saturating_sub(first).max(1);
        all.nth(first + mixed(stretch) % length)
    });
    ChunkSet::from_indices(drawn.collect())
}

/// A number that looks like chance: the finaliser of `SplitMix64` (Steele, Lea and Flood, 2014).
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
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
            // Of a large array a hundredth, and at least 16 chunks.
            (population(1_000_000, kib), 10_000),
            (population(1600, 8 * kib), 16),
            (population(400, mib), 16),
            (population(9, mib), 9),
            (population(0, mib), 0),
            // Chunks of a few bytes do not make a sample of millions.
            (population(1_000_000_000_000, kib), MOST_CHUNKS),
            (tiny, MOST_CHUNKS / 256),
            // Of a small array what is read at once.
            (population(100, kib), 100),
            (population(2000, kib), 2000),
            (population(1000, 1 << 15), 512),
            // As much as there is memory for, and one unit at least.
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

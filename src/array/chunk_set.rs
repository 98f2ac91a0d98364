//! Sets of chunks as sorted runs. Each run of consecutive chunks needs 16 bytes, whatever the size of the grid.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::grid::unravel;
use crate::metadata::ArrayMetadata;

/// Set of chunks of a grid by linear index (C order). Clones share the memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<(u64, u64)>", from = "Vec<(u64, u64)>")]
pub struct ChunkSet {
    /// Ascending, with a gap between any two.
    runs: Arc<Vec<Run>>,
    len: u64,
}

/// Consecutive members. Their number is the difference of `before` to the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: u64,
    /// Number of members before this run.
    before: u64,
}

impl ChunkSet {
    /// Creates a set of ranges in any order. They may overlap.
    pub fn from_ranges(mut ranges: Vec<Range<u64>>) -> Self {
        ranges.retain(|range| !range.is_empty());
        ChunkSetBuilder { runs: ranges, sorted: 0 }.finish()
    }

    /// Creates the set of all chunks of a grid of `total` chunks.
    pub fn full(total: u64) -> Self {
        Self::of_range(0..total)
    }

    /// Creates the set of a range.
    pub fn of_range(range: Range<u64>) -> Self {
        Self::from_ranges(vec![range])
    }

    /// Returns the number of members.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the member with an index in ascending order, or `None` if there are fewer members.
    pub fn nth(&self, n: u64) -> Option<u64> {
        let run = self.runs.partition_point(|run| run.before <= n).checked_sub(1)?;
        let Run { first, before } = self.runs[run];
        (n < self.len).then(|| first + (n - before))
    }

    /// Returns the members with a range of indices in ascending order.
    #[must_use]
    pub fn slice(&self, range: Range<u64>) -> ChunkSet {
        match (self.nth(range.start), range.end.checked_sub(1).and_then(|last| self.nth(last))) {
            (Some(first), Some(last)) if first <= last => self.common(&ChunkSet::of_range(first..last + 1)),
            _ => ChunkSet::default(),
        }
    }

    /// Returns the members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs().flat_map(|(first, end)| first..end)
    }

    /// Returns the members that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &ChunkSet) -> ChunkSet {
        let begins = std::iter::once(0).chain(other.runs().map(|(_, end)| end));
        let ends = other.runs().map(|(first, _)| first).chain([u64::MAX]);
        self.within(begins.zip(ends))
    }

    /// Returns the members that are also in `other`.
    #[must_use]
    pub fn common(&self, other: &ChunkSet) -> ChunkSet {
        self.within(other.runs())
    }

    /// Returns the members in ascending ranges.
    fn within(&self, ranges: impl Iterator<Item = (u64, u64)>) -> ChunkSet {
        let mut ranges = ranges.peekable();
        let mut common = ChunkSetBuilder::default();
        for (first, end) in self.runs() {
            while let Some((from, to)) = ranges.next_if(|(_, to)| *to <= end) {
                common.insert_run(first.max(from)..to);
            }
            // The last range may overlap the next run too.
            if let Some((from, _)) = ranges.peek() {
                common.insert_run(first.max(*from)..end);
            }
        }
        common.finish()
    }

    /// Returns true if an index is a member.
    pub fn contains(&self, index: u64) -> bool {
        self.runs.partition_point(|run| run.first <= index).checked_sub(1).is_some_and(|at| index < self.end(at))
    }

    /// Returns the end of a run, which is exclusive.
    fn end(&self, at: usize) -> u64 {
        let Run { first, before } = self.runs[at];
        first + (self.runs.get(at + 1).map_or(self.len, |next| next.before) - before)
    }

    /// Returns the runs of consecutive members in ascending order, each as its first member and its exclusive end.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..self.runs.len()).map(|at| (self.runs[at].first, self.end(at)))
    }
}

/// Converts to the runs, each as its first member and its exclusive end.
impl From<ChunkSet> for Vec<(u64, u64)> {
    fn from(set: ChunkSet) -> Self {
        set.runs().collect()
    }
}

impl From<Vec<(u64, u64)>> for ChunkSet {
    fn from(runs: Vec<(u64, u64)>) -> Self {
        Self::from_ranges(runs.into_iter().map(|(first, end)| first..end).collect())
    }
}

/// Creates a set of indices in any order.
impl FromIterator<u64> for ChunkSet {
    fn from_iter<I: IntoIterator<Item = u64>>(indices: I) -> Self {
        let mut builder = ChunkSetBuilder::default();
        indices.into_iter().for_each(|index| builder.insert(index));
        builder.finish()
    }
}

/// Builder of a set from indices in any order. Its memory grows with the number of runs, not with their order.
#[derive(Debug, Default)]
pub struct ChunkSetBuilder {
    /// The first `sorted` runs are ascending, with a gap between any two.
    runs: Vec<Range<u64>>,
    sorted: usize,
}

impl ChunkSetBuilder {
    /// Smallest number of runs before they are sorted.
    const GATHERED: usize = 1 << 16;

    /// Adds an index.
    pub fn insert(&mut self, index: u64) {
        self.insert_run(index..index.saturating_add(1));
    }

    /// Adds a range.
    pub fn insert_run(&mut self, run: Range<u64>) {
        if run.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => self.runs.push(run),
        }
        // Sorting only after the list has doubled keeps the total time close to that of a single sort.
        if self.runs.len() >= Self::GATHERED.max(2 * self.sorted) {
            self.sort();
        }
    }

    /// Adds all members of a set.
    pub fn insert_all(&mut self, set: &ChunkSet) {
        set.runs().for_each(|(first, end)| self.insert_run(first..end));
    }

    /// Sorts the runs, and merges those that touch or overlap.
    fn sort(&mut self) {
        self.runs.sort_unstable_by_key(|run| run.start);
        self.runs.dedup_by(|next, last| {
            let touches = next.start <= last.end;
            last.end = if touches { last.end.max(next.end) } else { last.end };
            touches
        });
        self.sorted = self.runs.len();
    }

    /// Returns the set.
    pub fn finish(mut self) -> ChunkSet {
        self.sort();
        let mut len = 0;
        let runs = self.runs.into_iter().map(|run| {
            let before = len;
            len += run.end - run.start;
            Run { first: run.start, before }
        });
        // The iterator reuses the allocation of the ranges.
        let mut runs: Vec<Run> = runs.collect();
        runs.shrink_to_fit();
        ChunkSet { runs: Arc::new(runs), len }
    }
}

/// Returns the position of a chunk in the grid from its linear index.
pub fn position(index: u64, metadata: &ArrayMetadata) -> Vec<u64> {
    unravel(index, &metadata.grid.counts())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn chunk_set_of_scattered_indices_knows_its_members() {
        let set = ChunkSet::from_iter(vec![9, 3, 4, 5, 3]);
        assert_eq!(set.len(), 4);
        assert_eq!((0..5).map(|n| set.nth(n)).collect::<Vec<_>>(), [Some(3), Some(4), Some(5), Some(9), None]);
        assert!(set.contains(5) && !set.contains(6) && set.contains(9) && !set.contains(2));
    }

    #[test]
    fn full_chunk_set_is_one_run() {
        let set = ChunkSet::full(1 << 40);
        assert_eq!(set.runs.len(), 1);
        assert_eq!(set.nth((1 << 40) - 1), Some((1 << 40) - 1));
        assert!(ChunkSet::full(0).is_empty());
        assert!(ChunkSet::full(u64::MAX).contains(u64::MAX - 1));
    }

    #[test]
    fn without_leaves_what_the_other_does_not_have() {
        let set: ChunkSet = (0..20_000).filter(|index| index % 7 != 3).collect();
        for step in [1, 2, 7, 5000] {
            let other: ChunkSet = (100..15_000).step_by(step).chain(19_000..30_000).collect();
            let expected: ChunkSet =
                (0..20_000).filter(|index| set.contains(*index) && !other.contains(*index)).collect();
            assert_eq!(set.without(&other), expected);
            assert_eq!(set.common(&other), set.without(&expected));
            assert_eq!(other.common(&set), set.without(&expected));
        }
        let gap = ChunkSet::full(10).without(&ChunkSet::from_iter(vec![3, 4, 12]));
        assert!(gap.runs().eq([(0, 3), (5, 10)]));
        assert_eq!(ChunkSet::full(10).without(&ChunkSet::full(4)).without(&ChunkSet::full(20)).len(), 0);
    }

    /// Runs with critical lengths and distances.
    fn indices() -> impl Strategy<Value = Vec<u64>> {
        let run = (0_u64..20_000, prop_oneof![1_u64..4, 1_u64..200, 4000_u64..9000], 1_u64..4);
        prop::collection::vec(run, 0..60).prop_map(|runs| {
            runs.into_iter()
                .flat_map(|(first, length, step)| (first..first + length).step_by(usize::try_from(step).unwrap_or(1)))
                .collect()
        })
    }

    fn check(set: &ChunkSet, expected: &BTreeSet<u64>) {
        assert_eq!(set.len(), expected.len() as u64);
        assert!((0..set.len()).map_while(|n| set.nth(n)).eq(expected.iter().copied()));
        assert!(set.runs().flat_map(|(first, end)| first..end).eq(expected.iter().copied()));
        assert!((0..30_000).all(|index| set.contains(index) == expected.contains(&index)));
        assert_eq!(set.nth(set.len()), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn set_holds_what_was_inserted(indices in indices()) {
            check(&ChunkSet::from_iter(indices.clone()), &indices.into_iter().collect());
        }

        #[test]
        fn union_holds_the_members_of_either(a in indices(), b in indices()) {
            let expected = a.iter().chain(&b).copied().collect();
            let mut builder = ChunkSetBuilder::default();
            for indices in [a, b] {
                builder.insert_all(&ChunkSet::from_iter(indices));
            }
            check(&builder.finish(), &expected);
        }
    }

    #[test]
    fn memory_is_16_bytes_for_each_run_however_members_come() {
        // An odd multiple of every index, so that they are unordered.
        let scattered = |count: u64, step: u64| -> ChunkSetBuilder {
            let mut builder = ChunkSetBuilder::default();
            for index in 0..count {
                builder.insert(index.wrapping_mul(0x9E37_79B9) % count * step);
                assert!(builder.runs.len() <= ChunkSetBuilder::GATHERED.max(2 * builder.sorted));
            }
            builder
        };
        assert_eq!(size_of::<Run>(), 16);
        let every_other = scattered(1 << 18, 2).finish();
        assert_eq!((every_other.len(), every_other.runs.capacity()), (1 << 18, 1 << 18));
        assert_eq!(scattered(1 << 18, 1).finish().runs.capacity(), 1);
        assert_eq!(scattered(1 << 10, 1 << 40).finish().runs.capacity(), 1 << 10);
    }
}

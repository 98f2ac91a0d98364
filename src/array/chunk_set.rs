//! Which chunks of a grid are meant: stretches of a dense array cost next to nothing, scattered chunks a bit each, or
//! less than a bit for each chunk of the grid where they are few.

mod build;
mod page;

use std::sync::Arc;

use build::Appender;
pub use build::ChunkSetBuilder;
use page::Page;

use crate::codec::region::unravel;
use crate::metadata::array::ArrayMetadata;

/// Chunks of a grid by linear index (C order). A copy shares what it holds.
#[derive(Debug, Clone, Default)]
pub struct ChunkSet {
    /// Disjoint and ascending.
    parts: Arc<Vec<Part>>,
    len: u64,
}

/// A stretch of members, or the members of a page of the grid of which many stretches are.
#[derive(Debug, Clone)]
struct Part {
    /// The first index of the stretch or of the page.
    first: u64,
    /// Members before it: a stretch ends where the next part begins to count.
    before: u64,
    /// The members of a page.
    page: Option<Box<Page>>,
}

impl ChunkSet {
    /// The set of these indices, in any order.
    pub fn from_indices(indices: Vec<u64>) -> Self {
        indices.into_iter().collect()
    }

    /// The set of the members of these ranges, in any order; they may overlap.
    pub fn from_ranges(mut ranges: Vec<std::ops::Range<u64>>) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut set = Appender::default();
        for range in ranges {
            set.push_run(range.start, range.end);
        }
        set.finish()
    }

    /// Every chunk of a grid of `total`.
    pub fn full(total: u64) -> Self {
        Self::of_range(0..total)
    }

    /// The members of a range.
    pub fn of_range(range: std::ops::Range<u64>) -> Self {
        let mut set = Appender::default();
        set.push_run(range.start, range.end);
        set.finish()
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The member at `place` in ascending order; `None` past the last.
    pub fn nth(&self, place: u64) -> Option<u64> {
        if place >= self.len {
            return None;
        }
        let part = &self.parts[self.parts.partition_point(|part| part.before <= place).checked_sub(1)?];
        let place = place - part.before;
        Some(part.first + part.page.as_ref().map_or(place, |page| page.nth(place)))
    }

    /// The members at these places in ascending order.
    #[must_use]
    pub fn places(&self, places: std::ops::Range<u64>) -> ChunkSet {
        match (self.nth(places.start), places.end.checked_sub(1).and_then(|last| self.nth(last))) {
            (Some(first), Some(last)) if first <= last => self.common(&ChunkSet::of_range(first..last + 1)),
            _ => ChunkSet::default(),
        }
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len).filter_map(|place| self.nth(place))
    }

    /// The members that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &ChunkSet) -> ChunkSet {
        if other.is_empty() {
            return self.clone();
        }
        let mut left = Appender::default();
        let mut others = other.runs().peekable();
        for (mut first, end) in self.runs() {
            while let Some((from, to)) = others.peek().copied().filter(|(from, _)| *from < end) {
                left.push_run(first, from);
                first = first.max(to);
                if to > end {
                    break; // It may reach into what comes next.
                }
                others.next();
            }
            left.push_run(first, end);
        }
        left.finish()
    }

    /// The members that are in `other`, too.
    #[must_use]
    pub fn common(&self, other: &ChunkSet) -> ChunkSet {
        let mut common = Appender::default();
        let mut others = other.runs().peekable();
        for (first, end) in self.runs() {
            while let Some((from, to)) = others.peek().copied().filter(|(from, _)| *from < end) {
                common.push_run(first.max(from), end.min(to));
                if to > end {
                    break; // It may reach into what comes next.
                }
                others.next();
            }
        }
        common.finish()
    }

    /// Whether an index is a member.
    pub fn contains(&self, index: u64) -> bool {
        let after = self.parts.partition_point(|part| part.first <= index);
        let Some(at) = after.checked_sub(1) else { return false };
        let (part, end) = (&self.parts[at], self.end(at));
        index < end && part.page.as_ref().is_none_or(|page| page.contains(index - part.first))
    }

    /// After the last index that a part can hold.
    fn end(&self, at: usize) -> u64 {
        let part = &self.parts[at];
        match part.page {
            Some(_) => part.first.saturating_add(page::LENGTH),
            None => part.first + (self.parts.get(at + 1).map_or(self.len, |next| next.before) - part.before),
        }
    }

    /// The stretches of members that follow each other: the first of each, and the end after its last, ascending.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let stretches = (0..self.parts.len()).flat_map(|at| {
            let part = &self.parts[at];
            let whole = part.page.is_none().then(|| (part.first, self.end(at)));
            let of_page = part.page.iter().flat_map(|page| page.runs());
            whole.into_iter().chain(of_page.map(|(first, end)| (part.first + first, part.first + end)))
        });
        let mut stretches = stretches.peekable();
        std::iter::from_fn(move || {
            let (first, mut end) = stretches.next()?;
            while let Some((_, further)) = stretches.next_if(|(next, _)| *next == end) {
                end = further;
            }
            Some((first, end))
        })
    }
}

impl FromIterator<u64> for ChunkSet {
    fn from_iter<I: IntoIterator<Item = u64>>(indices: I) -> Self {
        let mut builder = ChunkSetBuilder::default();
        indices.into_iter().for_each(|index| builder.insert(index));
        builder.finish()
    }
}

impl PartialEq for ChunkSet {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.runs().eq(other.runs())
    }
}

impl Eq for ChunkSet {}

/// The position of a chunk of the set in the grid.
pub fn position(index: u64, metadata: &ArrayMetadata) -> Vec<u64> {
    unravel(index, &metadata.chunk_grid_shape())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_set_of_scattered_indices_knows_its_members() {
        let set = ChunkSet::from_indices(vec![9, 3, 4, 5, 3]);
        assert_eq!(set.len(), 4);
        assert_eq!(
            (0..5).map(|place| set.nth(place)).collect::<Vec<_>>(),
            [Some(3), Some(4), Some(5), Some(9), None]
        );
        assert!(set.contains(5) && !set.contains(6) && set.contains(9) && !set.contains(2));
    }

    #[test]
    fn full_chunk_set_is_one_part() {
        let set = ChunkSet::full(1 << 40);
        assert_eq!(set.parts.len(), 1);
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
        let gap = ChunkSet::full(10).without(&ChunkSet::from_indices(vec![3, 4, 12]));
        assert!(gap.runs().eq([(0, 3), (5, 10)]));
        assert_eq!(ChunkSet::full(10).without(&ChunkSet::full(4)).without(&ChunkSet::full(20)).len(), 0);
    }
}

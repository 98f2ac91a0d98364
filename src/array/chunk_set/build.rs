//! How sets come about: from indices in any order, in memory that goes with the set, not with how it comes.

use super::page::{self, Page};
use super::{ChunkSet, Part};

/// Stretches of one page at most; more take no less memory than the page's bits.
const MOST_RUNS: usize = 21;

/// Indices that are gathered before they are sorted.
const GATHERED: usize = 1 << 16;

/// Members of a range up to which they are added one by one.
const FEW: u64 = 64;

/// A set to which indices are added in any order.
#[derive(Debug, Default)]
pub struct ChunkSetBuilder {
    gathered: Vec<u64>,
    /// Each more than twice as large as the next, so that what is added is merged a logarithmic number of times.
    sets: Vec<ChunkSet>,
}

impl ChunkSetBuilder {
    /// Adds an index.
    pub fn insert(&mut self, index: u64) {
        self.gathered.push(index);
        if self.gathered.len() >= GATHERED {
            let set = take_sorted(&mut self.gathered);
            self.insert_all(set);
        }
    }

    /// Adds the members of a range.
    pub fn insert_run(&mut self, run: std::ops::Range<u64>) {
        match run.end.saturating_sub(run.start) {
            length @ 0..=FEW => (0..length).for_each(|index| self.insert(run.start + index)),
            _ => self.insert_all(ChunkSet::of_range(run)),
        }
    }

    /// Adds the members of a set.
    pub fn insert_all(&mut self, set: ChunkSet) {
        if set.is_empty() {
            return;
        }
        let mut set = set;
        while let Some(last) = self.sets.pop_if(|last| last.parts.len() <= 2 * set.parts.len()) {
            set = union(&last, &set);
        }
        self.sets.push(set);
    }

    /// The set.
    pub fn finish(mut self) -> ChunkSet {
        let last = take_sorted(&mut self.gathered);
        self.sets.into_iter().rev().fold(last, |all, set| union(&set, &all))
    }
}

/// The set of gathered indices, which are gone then.
fn take_sorted(indices: &mut Vec<u64>) -> ChunkSet {
    indices.sort_unstable();
    let mut set = Appender::default();
    indices.drain(..).for_each(|index| set.push_run(index, index.saturating_add(1)));
    set.finish()
}

/// The members of either.
fn union(a: &ChunkSet, b: &ChunkSet) -> ChunkSet {
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { b.clone() } else { a.clone() };
    }
    let mut set = Appender::default();
    let (mut i, mut j) = (0, 0);
    loop {
        let takes_a = match (a.parts.get(i), b.parts.get(j)) {
            (Some(of_a), Some(of_b)) => of_a.first <= of_b.first,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return set.finish(),
        };
        let (of, at) = if takes_a { (a, &mut i) } else { (b, &mut j) };
        let part = &of.parts[*at];
        match &part.page {
            Some(page) => set.push_page(part.first, Page::clone(page)),
            None => set.push_run(part.first, of.end(*at)),
        }
        *at += 1;
    }
}

/// A set in the making, to which stretches and pages are added whose first indices ascend; they may overlap.
#[derive(Debug, Default)]
pub(super) struct Appender {
    parts: Vec<Part>,
    len: u64,
}

impl Appender {
    /// The set.
    pub(super) fn finish(mut self) -> ChunkSet {
        self.parts.shrink_to_fit();
        ChunkSet { parts: self.parts.into(), len: self.len }
    }

    /// After the last index of the last part, a stretch.
    fn end_of(&self, last: &Part) -> u64 {
        last.first + (self.len - last.before)
    }

    /// Adds the indices from `first` up to before `end`.
    pub(super) fn push_run(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        let base = Page::base(first);
        let is_crowded =
            self.parts.len() >= MOST_RUNS && self.parts[self.parts.len() - MOST_RUNS].first >= base;
        match self.parts.last() {
            Some(last) if last.page.is_none() && (last.first..=self.end_of(last)).contains(&first) => {
                self.len += end.saturating_sub(self.end_of(last));
            }
            // Pages that were added became stretches again, or are pages still: this belongs among them.
            Some(last) if is_crowded || last.first > first || (last.page.is_some() && last.first == base) => {
                let page_end = base.saturating_add(page::LENGTH);
                let mut page = Page::EMPTY;
                page.insert_run(first - base, end.min(page_end) - base);
                self.push_page(base, page);
                self.push_run(page_end, end);
            }
            _ => self.append(first, end),
        }
    }

    /// Adds a stretch that overlaps nothing.
    fn append(&mut self, first: u64, end: u64) {
        if self.parts.last().is_none_or(|last| last.page.is_some() || self.end_of(last) != first) {
            self.parts.push(Part { first, before: self.len, page: None });
        }
        self.len += end - first;
    }

    /// Adds the members of a page that begins at `base`.
    fn push_page(&mut self, base: u64, mut page: Page) {
        let page_end = base.saturating_add(page::LENGTH);
        let mut beyond = page_end;
        while let Some(last) = self.parts.pop_if(|last| last.first >= base) {
            if let Some(other) = &last.page {
                page.insert_all(other);
            } else {
                let end = self.end_of(&last);
                page.insert_run(last.first - base, end.min(page_end) - base);
                beyond = beyond.max(end);
            }
            self.len = last.before;
        }
        if let Some(last) = self.parts.last().filter(|last| last.page.is_none()) {
            let (end, before) = (self.end_of(last), last.before + (base - last.first));
            if end >= page_end {
                return; // A stretch that holds all of the page.
            }
            if end > base {
                page.insert_run(0, end - base);
                self.len = before;
            }
        }
        if page.num_runs() <= MOST_RUNS as u64 {
            page.runs().for_each(|(first, end)| self.append(base + first, base + end));
        } else {
            let before = self.len;
            self.len += page.len();
            self.parts.push(Part { first: base, before, page: Some(Box::new(page)) });
        }
        self.push_run(page_end, beyond);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Stretches whose lengths and distances are those at which something changes.
    fn indices() -> impl Strategy<Value = Vec<u64>> {
        let run = (0_u64..20_000, prop_oneof![1_u64..4, 1_u64..200, 4000_u64..9000], 1_u64..4);
        prop::collection::vec(run, 0..60).prop_map(|runs| {
            runs.into_iter()
                .flat_map(|(first, length, step)| {
                    (first..first + length).step_by(usize::try_from(step).unwrap_or(1))
                })
                .collect()
        })
    }

    fn check(set: &ChunkSet, expected: &BTreeSet<u64>) {
        assert_eq!(set.len(), expected.len() as u64);
        assert!((0..set.len()).map_while(|place| set.nth(place)).eq(expected.iter().copied()));
        assert!(set.runs().flat_map(|(first, end)| first..end).eq(expected.iter().copied()));
        assert!((0..30_000).all(|index| set.contains(index) == expected.contains(&index)));
        assert_eq!(set.nth(set.len()), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn set_holds_what_was_inserted(indices in indices()) {
            check(&ChunkSet::from_indices(indices.clone()), &indices.into_iter().collect());
        }

        #[test]
        fn union_holds_the_members_of_either(a in indices(), b in indices()) {
            let expected = a.iter().chain(&b).copied().collect();
            let sets = [a, b].map(ChunkSet::from_indices);
            check(&union(&sets[0], &sets[1]), &expected);
            let mut builder = ChunkSetBuilder::default();
            for set in sets {
                builder.insert_all(set);
            }
            check(&builder.finish(), &expected);
        }
    }

    #[test]
    fn memory_is_about_a_bit_for_each_chunk_of_the_grid_or_a_part_for_each_member() {
        let bytes = |set: &ChunkSet| {
            let pages = set.parts.iter().filter(|part| part.page.is_some()).count();
            set.parts.len() * size_of::<Part>() + pages * size_of::<Page>()
        };
        // An odd multiple of every index, so that they come in no order.
        let scattered = |step: u64| -> ChunkSet {
            (0..1 << 19).map(|index: u64| index.wrapping_mul(0x9E37_79B9) % (1 << 19) * step).collect()
        };
        let every_other = scattered(2);
        assert_eq!(every_other.len(), 1 << 19);
        assert!(bytes(&every_other) * 8 <= (1 << 20) * 11 / 10);
        assert_eq!(bytes(&scattered(1)), size_of::<Part>());
        assert!(bytes(&scattered(1 << 40)) <= (1 << 19) * size_of::<Part>());
    }
}

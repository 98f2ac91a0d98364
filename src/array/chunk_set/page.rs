//! A page of a grid: a bit for each chunk.

/// Chunks of a page.
pub(super) const LENGTH: u64 = 64 * WORDS as u64;

const WORDS: usize = 64;

/// Bits of the chunks of a page.
#[derive(Debug, Clone)]
pub(super) struct Page {
    words: [u64; WORDS],
}

impl Page {
    /// A page without members.
    pub(super) const EMPTY: Page = Page { words: [0; WORDS] };

    /// The first index of the page in which an index lies.
    pub(super) const fn base(index: u64) -> u64 {
        index / LENGTH * LENGTH
    }

    /// How many members it has.
    pub(super) fn len(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// How many stretches of members it has.
    pub(super) fn num_runs(&self) -> u64 {
        let mut last = 0;
        let begins = self.words.iter().map(|word| {
            let begins = word & !(word << 1 | last);
            last = word >> 63;
            u64::from(begins.count_ones())
        });
        begins.sum()
    }

    /// Whether an index of the page is a member.
    pub(super) fn contains(&self, index: u64) -> bool {
        let (word, bit) = place(index);
        self.words[word] >> bit & 1 == 1
    }

    /// The member at `place`, of which there are more.
    pub(super) fn nth(&self, mut place: u64) -> u64 {
        for (number, &word) in (0..).zip(&self.words) {
            let count = u64::from(word.count_ones());
            if place < count {
                let rest = (0..place).fold(word, |rest, _| rest & (rest - 1));
                return 64 * number + u64::from(rest.trailing_zeros());
            }
            place -= count;
        }
        LENGTH
    }

    /// Makes the indices from `first` up to before `end` members.
    pub(super) fn insert_run(&mut self, first: u64, end: u64) {
        let mut first = first;
        while first < end {
            let (word, bit) = place(first);
            let count = (64 - bit).min(end - first);
            self.words[word] |= (u64::MAX >> (64 - count)) << bit;
            first += count;
        }
    }

    /// Makes the members of another page members.
    pub(super) fn insert_all(&mut self, other: &Page) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// The stretches of members: the first of each, and the end after its last.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let first = self.next_bit(next, 0)?;
            next = self.next_bit(first, u64::MAX).unwrap_or(LENGTH);
            Some((first, next))
        })
    }

    /// The next index whose bit, exclusive or `flip`, is set.
    fn next_bit(&self, from: u64, flip: u64) -> Option<u64> {
        let (word, bit) = place(from);
        let mut mask = u64::MAX << bit;
        for number in word..WORDS {
            let bits = (self.words[number] ^ flip) & mask;
            if bits != 0 {
                return Some(64 * number as u64 + u64::from(bits.trailing_zeros()));
            }
            mask = u64::MAX;
        }
        None
    }
}

/// The word of an index, and its bit there.
fn place(index: u64) -> (usize, u64) {
    (usize::try_from(index / 64).unwrap_or(usize::MAX), index % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_knows_its_members_and_stretches() {
        let runs = [(0, 1), (3, 64), (64, 64), (100, 300), (301, 302), (4000, LENGTH)];
        let mut page = Page::EMPTY;
        for (first, end) in &runs {
            page.insert_run(*first, *end);
        }
        let members: Vec<u64> = runs.iter().flat_map(|(first, end)| *first..*end).collect();
        assert_eq!(page.len(), members.len() as u64);
        assert!((0..LENGTH).filter(|index| page.contains(*index)).eq(members.iter().copied()));
        assert!((0..page.len()).map(|place| page.nth(place)).eq(members));
        let kept: Vec<(u64, u64)> = runs.into_iter().filter(|(first, end)| first < end).collect();
        assert!(page.runs().eq(kept.iter().copied()));
        assert_eq!(page.num_runs(), kept.len() as u64);
    }
}

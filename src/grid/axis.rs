//! Dimension of a rectilinear grid. Consecutive chunks of the same length are stored as one run. So memory and time do
//! not grow with the number of chunks that a document claims.

use std::collections::BTreeSet;

/// Chunks along one dimension of an array that begin inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Neighbouring runs differ in chunk length.
    runs: Vec<Run>,
    count: u64,
    /// Number of elements of the array along this dimension.
    length: u64,
}

/// Consecutive chunks of the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// First element of the first chunk.
    start: u64,
    /// Index of the first chunk.
    first: u64,
    /// Number of elements of each chunk.
    chunk: u64,
}

impl Axis {
    /// Creates the axis of a dimension of `length` elements. `runs` are chunk lengths and their counts. No length is 0.
    ///
    /// Chunks beyond the array are dropped. If the chunks do not reach its end, the last length is repeated. That is a
    /// fault of the document, which its reader reports.
    pub fn new(length: u64, runs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut axis = Axis { runs: Vec::new(), count: 0, length };
        let (mut start, mut before_edge) = (0_u64, 1);
        for (chunk, count) in runs.into_iter().filter(|(chunk, count)| *chunk > 0 && *count > 0) {
            before_edge = chunk;
            if start >= length {
                break;
            }
            if axis.runs.last().is_none_or(|run| run.chunk != chunk) {
                axis.runs.push(Run { start, first: axis.count, chunk });
            }
            // Regular grids pass `u64::MAX` as the count, and a document may claim any count.
            axis.count += count.min((length - start).div_ceil(chunk));
            start = start.saturating_add(chunk.saturating_mul(count));
        }
        if axis.runs.is_empty() {
            // An array without elements has no chunk, but callers still need a chunk length.
            axis.runs.push(Run { start: 0, first: 0, chunk: before_edge });
        }
        if start < length {
            axis.count += (length - start).div_ceil(before_edge);
        }
        axis.runs.shrink_to_fit();
        axis
    }

    /// Returns `count` chunks from `first` on, as an axis of `length` elements.
    pub(super) fn part(&self, first: u64, count: u64, length: u64) -> Self {
        if length == 0 {
            // There is no chunk, but its length is kept.
            return Self::new(0, self.runs.iter().map(|run| (run.chunk, 1)));
        }
        let (mut index, end) = (0_u64, first.saturating_add(count));
        let runs = self.runs_of_chunks().map(|(chunk, count)| {
            let own = index.max(first)..index.saturating_add(count).min(end);
            index = index.saturating_add(count);
            (chunk, own.end.saturating_sub(own.start))
        });
        Self::new(length, runs)
    }

    /// Returns the runs of chunks: the chunk length and the number of chunks.
    pub fn runs_of_chunks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let ends = self.runs.iter().skip(1).map(|run| run.first).chain([self.count]);
        self.runs.iter().zip(ends).map(|(run, end)| (run.chunk, end - run.first))
    }

    /// Returns the number of chunks that begin inside the array.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the length of the longest chunk.
    pub fn longest(&self) -> u64 {
        self.runs.iter().map(|run| run.chunk).max().unwrap_or(1)
    }

    /// Returns true if all chunks have the same length.
    pub fn is_uniform(&self) -> bool {
        self.runs.len() == 1
    }

    #[cfg(test)]
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Returns the distinct chunk lengths, ascending.
    pub fn distinct_lengths(&self) -> BTreeSet<u64> {
        self.runs.iter().map(|run| run.chunk).collect()
    }

    /// Returns the first element of a chunk.
    pub fn start_of(&self, index: u64) -> u64 {
        let run = self.run_of(index);
        run.start.saturating_add((index - run.first).saturating_mul(run.chunk))
    }

    /// Returns the stored length of a chunk, which may reach beyond the array.
    pub fn length_of(&self, index: u64) -> u64 {
        self.run_of(index).chunk
    }

    /// Returns the index of the chunk that contains an element.
    pub fn chunk_of(&self, element: u64) -> u64 {
        let after = self.runs.partition_point(|run| run.start <= element);
        let run = self.runs[after.saturating_sub(1)];
        run.first + (element - run.start) / run.chunk
    }

    /// Returns the first chunk that overlaps the elements from `start` up to `end`, and the number of such chunks.
    pub(super) fn chunks_in(&self, start: u64, end: u64) -> (u64, u64) {
        let first = self.chunk_of(start);
        (first, if end > start { self.chunk_of(end - 1) + 1 - first } else { 0 })
    }

    fn run_of(&self, index: u64) -> Run {
        let after = self.runs.partition_point(|run| run.first <= index);
        self.runs[after.saturating_sub(1)]
    }
}

/// Possible lengths of a chunk along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// Any length from 1 up to this one. 0 counts as 1.
    UpTo(u64),
    /// Any divisor of this length, which is not 0.
    Dividing(u64),
}

/// Returns lengths whose product is at most `limit`, where 0 counts as 1. The last dimensions are kept whole first.
///
/// The first dimension that does not fit is cut into pieces of nearly equal length. If all lengths are `UpTo`, the
/// product is that of whole dimensions, or more than half of `limit`.
pub fn fit(dimensions: &[Lengths], limit: u64) -> Vec<u64> {
    let mut left = limit.max(1);
    let fitted = dimensions.iter().rev().map(|lengths| {
        let length = lengths.longest(left);
        left /= length;
        length
    });
    let mut lengths: Vec<u64> = fitted.collect();
    lengths.reverse();
    lengths
}

impl Lengths {
    /// Returns the longest allowed length of at most `most`, which is not 0. `UpTo` is cut into pieces of nearly equal
    /// length.
    fn longest(self, most: u64) -> u64 {
        match self {
            Lengths::UpTo(whole) | Lengths::Dividing(whole) if whole <= most => whole.max(1),
            Lengths::UpTo(whole) => whole.div_ceil(whole.div_ceil(most)),
            Lengths::Dividing(whole) => greatest_divisor(whole, most),
        }
    }
}

/// Returns the greatest divisor of `whole` that is at most `most`. Above 2^40 it may miss larger ones, to limit the
/// time.
fn greatest_divisor(whole: u64, most: u64) -> u64 {
    const MOST_TRIED: u64 = 1 << 20;
    let small = (1..=MOST_TRIED).take_while(|small| *small <= whole / small);
    let pairs = small.filter(|small| whole.is_multiple_of(*small)).flat_map(|small| [small, whole / small]);
    pairs.filter(|divisor| *divisor <= most).max().unwrap_or(1)
}

/// Returns the greatest common divisor.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the least common multiple, or `None` if it overflows.
pub fn lcm(a: u64, b: u64) -> Option<u64> {
    (a / gcd(a, b).max(1)).checked_mul(b)
}

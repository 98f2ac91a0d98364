//! One dimension of a rectilinear grid. Chunks of one length that follow each other are kept as one run, so that memory
//! and time do not grow with the chunks that a document claims.

/// The chunks along one dimension of an array: those that begin inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Neighbours differ in length.
    runs: Vec<Run>,
    /// Chunks of all runs.
    count: u64,
    /// Elements of the array.
    length: u64,
    /// The length of the longest chunk, at least 1.
    longest: u64,
}

/// Chunks of one length that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// The first element of the first of them.
    start: u64,
    /// The index of the first of them.
    first: u64,
    /// Elements of each.
    chunk: u64,
}

impl Axis {
    /// The chunks of a dimension of `length` elements, from the lengths of chunks with how often each comes, of which
    /// none is 0. What lies wholly beyond the array is left out; chunks that do not reach the end of it are a fault of
    /// the document, reported where it is read, and the last is taken to come again and again.
    pub fn new(length: u64, runs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut axis = Axis { runs: Vec::new(), count: 0, length, longest: 0 };
        let (mut start, mut before_edge) = (0_u64, 1);
        for (chunk, count) in runs.into_iter().filter(|(chunk, count)| *chunk > 0 && *count > 0) {
            before_edge = chunk;
            if start >= length {
                break;
            }
            axis.longest = axis.longest.max(chunk);
            if axis.runs.last().is_none_or(|run| run.chunk != chunk) {
                axis.runs.push(Run { start, first: axis.count, chunk });
            }
            axis.count += count.min((length - start).div_ceil(chunk));
            start = chunk.checked_mul(count).and_then(|run| start.checked_add(run)).unwrap_or(u64::MAX);
        }
        if axis.runs.is_empty() {
            // An array without elements has no chunk; what one would be is asked all the same.
            axis.longest = before_edge;
            axis.runs.push(Run { start: 0, first: 0, chunk: before_edge });
        }
        if start < length {
            axis.count += (length - start).div_ceil(before_edge);
        }
        axis.runs.shrink_to_fit();
        axis
    }

    /// Some chunks of the axis, as the axis of `length` elements from the first of them on.
    pub(super) fn part(&self, first: u64, count: u64, length: u64) -> Self {
        if length == 0 {
            // There is no chunk, but the length that one would have stays.
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

    /// The lengths of the chunks in their order, each with how often it follows itself.
    pub fn runs_of_chunks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let ends = self.runs.iter().skip(1).map(|run| run.first).chain([self.count]);
        self.runs.iter().zip(ends).map(|(run, end)| (run.chunk, end - run.first))
    }

    /// Chunks that begin inside the array.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Elements of the longest of them.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// Whether all have one length.
    pub fn is_uniform(&self) -> bool {
        self.runs.len() == 1
    }

    /// The number of runs.
    #[cfg(test)]
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The lengths that chunks have, each once, ascending.
    pub fn distinct_lengths(&self) -> Vec<u64> {
        let mut lengths: Vec<u64> = self.runs.iter().map(|run| run.chunk).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// The first element of a chunk.
    pub fn start_of(&self, index: u64) -> u64 {
        let run = self.run_of(index);
        run.start.saturating_add((index - run.first).saturating_mul(run.chunk))
    }

    /// Elements of a chunk, as it is stored: it may reach beyond the array.
    pub fn length_of(&self, index: u64) -> u64 {
        self.run_of(index).chunk
    }

    /// The chunk that holds an element.
    pub fn chunk_of(&self, element: u64) -> u64 {
        let after = self.runs.partition_point(|run| run.start <= element);
        let run = self.runs[after.saturating_sub(1)];
        run.first + (element - run.start) / run.chunk
    }

    /// The chunks that hold the elements from `start` up to `end`: the first, and how many.
    pub(super) fn chunks_in(&self, start: u64, end: u64) -> (u64, u64) {
        let first = self.chunk_of(start);
        (first, if end > start { self.chunk_of(end - 1) + 1 - first } else { 0 })
    }

    fn run_of(&self, index: u64) -> Run {
        let after = self.runs.partition_point(|run| run.first <= index);
        self.runs[after.saturating_sub(1)]
    }
}

/// The lengths that a chunk may have along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// Any from 1 up to this one; at least 1 is taken.
    UpTo(u64),
    /// Those that divide this one, which is not 0.
    Dividing(u64),
}

/// Lengths of which the product is at most `limit`, or 1 each where that is 0: whole dimensions first from the last.
///
/// The first dimension that does not fit whole is cut into pieces as equal as may be. Where all lengths are `UpTo`, the
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
    /// The length to take where `most`, which is not 0, must not be exceeded.
    fn longest(self, most: u64) -> u64 {
        match self {
            Lengths::UpTo(whole) | Lengths::Dividing(whole) if whole <= most => whole.max(1),
            Lengths::UpTo(whole) => whole.div_ceil(whole.div_ceil(most)),
            Lengths::Dividing(whole) => greatest_divisor(whole, most),
        }
    }
}

/// The greatest divisor of `whole` that is at most `most`; of numbers above 2^40 the greatest that is soon found.
fn greatest_divisor(whole: u64, most: u64) -> u64 {
    const MOST_TRIED: u64 = 1 << 20;
    let small = (1..=MOST_TRIED).take_while(|small| *small <= whole / small);
    let pairs = small.filter(|small| whole.is_multiple_of(*small)).flat_map(|small| [small, whole / small]);
    pairs.filter(|divisor| *divisor <= most).max().unwrap_or(1)
}

/// The greatest common divisor.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The least common multiple; `None` where it does not fit.
pub fn lcm(a: u64, b: u64) -> Option<u64> {
    (a / gcd(a, b).max(1)).checked_mul(b)
}

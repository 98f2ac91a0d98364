//! The Kolmogorov-Smirnov statistic of two samples that are as many, exactly, in bounded memory.
//!
//! The statistic is the greatest distance of the two empirical distribution functions. What is kept of them are the numbers of
//! values of either sample in bins that follow one another. A bin which holds values of one sample alone, or equal ones, has the
//! greatest distance at one of its ends; in any other it is at most what those ends and the bin's numbers allow. Bins that may
//! hold more than has been found are looked into in further walks over the values, by finer bins or, where they hold few
//! values, by sorting these.
//!
//! Quantised values lie on a grid. With bins that are its values and the gaps between them, one walk is enough. Nearly all
//! values lie next to what they became: so one number, that of the value of DEST, and on which side of it that of SOURCE lies,
//! tell the bins of both.

use super::places::{
    ABOVE, BELOW, COPIES, LEAST_STEP, MOST_SPREAD, PAIRS, Pairs, PlaceLoop, count_near, is_own,
};
use crate::kernel::InstructionSet;
use crate::kernel::dispatch::BlockKernel;

/// Values of a grid at most: two bins for each of them, and eight bytes for a bin.
pub const MOST_GRID_VALUES: usize = 1 << 18;

/// Leading bits of a value by which the first bins are told apart where there is no grid: sign, exponent, eight of the
/// fraction.
const FIRST_BITS: u32 = 20;

/// Leading bits that are added where a bin is looked into.
const MORE_BITS: u32 = 20;

/// What a walk over the values is to count or gather.
#[derive(Debug, Clone)]
pub struct Request {
    kind: RequestKind,
}

#[derive(Debug, Clone)]
enum RequestKind {
    /// The values of a grid, in order, and the gaps around them.
    Grid { origin: f64, inverse: f64, values: Vec<f64> },
    /// The values of a span, by so many `more` leading bits of their keys than all of them share.
    Bits { span: Span, more: u32 },
    /// The values themselves that lie in one of these spans.
    Gather(Vec<Span>),
}

/// A stretch of the order of values.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    /// The keys that lie in it, both ends included.
    first: u64,
    last: u64,
    /// By how many values of SOURCE more than of DEST come before it.
    before: i64,
    /// Values of SOURCE and of DEST in it.
    counts: [u64; 2],
}

impl Span {
    /// The greatest distance that may be found inside.
    fn bound(&self) -> u64 {
        let most = self.before.saturating_add_unsigned(self.counts[0]);
        let least = self.before.saturating_sub_unsigned(self.counts[1]);
        most.unsigned_abs().max(least.unsigned_abs())
    }

    fn num_values(&self) -> u64 {
        self.counts[0] + self.counts[1]
    }

    /// Leading bits that all of its keys share: not all of them, since it has two keys at least.
    fn shared_bits(&self) -> u32 {
        (self.first ^ self.last).leading_zeros().min(63)
    }

    /// Bits of a key behind those that are shared and so many more.
    fn shift(&self, more: u32) -> u32 {
        64 - self.shared_bits() - more
    }
}

/// What a walk has found; that of several threads is merged in any order.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Values of SOURCE and of DEST in each bin.
    bins: Vec<[u64; 2]>,
    /// Of a grid's values, pairs whose value of DEST it is, by where that of SOURCE lies; in copies that follow one
    /// another.
    near: Vec<[u64; 4]>,
    /// Keys of SOURCE and of DEST.
    keys: [Vec<u64>; 2],
}

/// The numbers whose order is that of float64 without NaN; both zeros have one.
fn key(value: f64) -> u64 {
    // A zero of either sign is +0.
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

impl Request {
    /// The bins of a grid: `values` in order, of which each is nearest to `origin` and its number times `step`. `None` where
    /// rounding leaves two of them too near for that, or there are too many.
    pub fn of_grid(origin: f64, step: f64, values: Vec<f64>) -> Option<Self> {
        let inverse = 1.0 / step;
        let is_usable =
            !values.is_empty() && values.len() <= MOST_GRID_VALUES && inverse.is_finite() && step > 0.0;
        let is_wide = values.windows(2).all(|pair| (pair[1] - pair[0]) * inverse > LEAST_STEP);
        let is_own =
            |(number, value): (usize, &f64)| nearest(*value, origin, inverse, values.len()) == number;
        let is_sorted = values.windows(2).all(|pair| pair[0] < pair[1]);
        let is_grid = is_usable && is_sorted && is_wide && values.iter().enumerate().all(is_own);
        is_grid.then_some(Request { kind: RequestKind::Grid { origin, inverse, values } })
    }

    /// The bins of values of which nothing is known.
    pub fn of_any() -> Self {
        let span = Span { first: 0, last: u64::MAX, before: 0, counts: [0; 2] };
        Request { kind: RequestKind::Bits { span, more: FIRST_BITS } }
    }

    fn num_near(&self) -> usize {
        match &self.kind {
            RequestKind::Grid { values, .. } if values.len() <= MOST_SPREAD => COPIES * values.len(),
            RequestKind::Grid { .. } | RequestKind::Bits { .. } | RequestKind::Gather(_) => 0,
        }
    }

    fn num_bins(&self) -> usize {
        match &self.kind {
            RequestKind::Grid { values, .. } => 2 * values.len() + 1,
            RequestKind::Bits { more, .. } => 1 << more,
            RequestKind::Gather(_) => 0,
        }
    }

    /// Counts or gathers pairs of values. Pairs that are not both finite do not count; those that are equal change no
    /// distance.
    pub fn add(&self, source: &[f64], destination: &[f64], tally: &mut Tally) {
        tally.bins.resize(self.num_bins(), [0; 2]);
        tally.near.resize(self.num_near(), [0; 4]);
        if let RequestKind::Grid { origin, inverse, values } = &self.kind {
            let scan = BlockKernel::<PlaceLoop>::select(InstructionSet::detect());
            let grid = (*origin, *inverse, values.len());
            let (mut places, mut others) = ([0; PAIRS], Vec::new());
            for (x, y) in source.chunks(PAIRS).zip(destination.chunks(PAIRS)) {
                if scan.run(Pairs { x, y, grid, places: &mut places }) {
                    self.add_each(x, y, tally);
                    continue;
                }
                if tally.near.is_empty() {
                    tally.bins_near(values, y, &places, &mut others);
                } else {
                    count_near(values, y, &places, &mut tally.near, &mut others);
                }
                for other in others.drain(..) {
                    self.add_each(&x[other..=other], &y[other..=other], tally);
                }
            }
            return;
        }
        self.add_each(source, destination, tally);
    }

    /// Counts or gathers pairs one by one.
    fn add_each(&self, source: &[f64], destination: &[f64], tally: &mut Tally) {
        let pairs = source
            .iter()
            .zip(destination)
            .filter(|(x, y)| x != y && x.is_finite() && y.is_finite())
            .map(|(x, y)| [*x, *y]);
        match &self.kind {
            RequestKind::Grid { origin, inverse, values } => {
                for pair in pairs {
                    for (sample, value) in pair.into_iter().enumerate() {
                        let number = nearest(value, *origin, *inverse, values.len());
                        let at = values[number];
                        let bin = 2 * number + usize::from(value >= at) + usize::from(value > at);
                        tally.bins[bin][sample] += 1;
                    }
                }
            }
            RequestKind::Bits { span, more } => {
                let (shift, mask) = (span.shift(*more), (1 << more) - 1);
                for pair in pairs {
                    for (sample, value) in pair.into_iter().enumerate() {
                        let key = key(value);
                        if (span.first..=span.last).contains(&key)
                            && let Ok(bin) = usize::try_from((key >> shift) & mask)
                        {
                            tally.bins[bin][sample] += 1;
                        }
                    }
                }
            }
            RequestKind::Gather(spans) => {
                for pair in pairs {
                    for (sample, value) in pair.into_iter().enumerate() {
                        let key = key(value);
                        let after = spans.partition_point(|span| span.first <= key);
                        if after > 0 && key <= spans[after - 1].last {
                            tally.keys[sample].push(key);
                        }
                    }
                }
            }
        }
    }
}

/// The number of a grid's value that is nearest: it never decreases where a value grows.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the numbers there are"
)]
fn nearest(value: f64, origin: f64, inverse: f64, count: usize) -> usize {
    // A cast of a float to an integer saturates, and cuts off what is below 0.
    (((value - origin) * inverse + 0.5) as usize).min(count - 1)
}

impl Tally {
    /// Adds what another thread found.
    pub fn merge(&mut self, other: Tally) {
        if self.bins.is_empty() {
            self.bins = other.bins;
        } else {
            for (mine, others) in self.bins.iter_mut().zip(other.bins) {
                mine[0] += others[0];
                mine[1] += others[1];
            }
        }
        if self.near.is_empty() {
            self.near = other.near;
        } else {
            for (mine, others) in self.near.as_flattened_mut().iter_mut().zip(other.near.into_flattened()) {
                *mine += others;
            }
        }
        for (mine, others) in self.keys.iter_mut().zip(other.keys) {
            mine.extend(others);
        }
    }

    /// Counts pairs of a grid of many values in its bins.
    fn bins_near(
        &mut self,
        values: &[f64],
        destination: &[f64],
        places: &[u32; PAIRS],
        others: &mut Vec<usize>,
    ) {
        for (number, (y, place)) in destination.iter().zip(places).enumerate() {
            let at = (place >> 2) as usize;
            match (values.get(at), self.bins.get_mut(2 * at..2 * at + 3)) {
                (Some(value), Some([below, own, above])) if is_own(*value, *y, *place) => {
                    let side = place & 3;
                    let (is_below, is_above) = (u64::from(side == BELOW), u64::from(side == ABOVE));
                    below[0] += is_below;
                    own[1] += is_below + is_above;
                    above[0] += is_above;
                }
                _ => others.push(number),
            }
        }
    }

    /// Counts in bins the pairs that were counted by the values of a grid.
    fn settle(&mut self) {
        for (number, counts) in std::mem::take(&mut self.near).into_iter().enumerate() {
            let (bin, [below, _, above, _]) = (number / COPIES * 2, counts);
            self.bins[bin][0] += below;
            self.bins[bin + 1][1] += below + above;
            self.bins[bin + 2][0] += above;
        }
    }
}

/// The search for the greatest distance.
#[derive(Debug)]
pub struct Search {
    /// Values that may be gathered at a time.
    most_values: u64,
    /// The greatest distance so far, in values.
    greatest: u64,
    /// Where there may be more.
    open: Vec<Span>,
    request: Option<Request>,
}

impl Search {
    /// A search whose first walk is `first`, and which gathers at most so many values at a time.
    pub fn new(first: Request, most_values: u64) -> Self {
        Search { most_values: most_values.max(2), greatest: 0, open: Vec::new(), request: Some(first) }
    }

    /// What the next walk has to count; `None` where nothing is left to be found.
    pub fn request(&self) -> Option<&Request> {
        self.request.as_ref()
    }

    /// The greatest distance of the distribution functions, in values.
    pub fn distance(&self) -> u64 {
        self.greatest
    }

    /// Takes what the walk that was asked for has found.
    pub fn fold(&mut self, mut tally: Tally) {
        let spans = match self.request.take().map(|request| request.kind) {
            Some(RequestKind::Grid { values, .. }) => {
                tally.settle();
                self.fold_bins(0, &tally, |bin| grid_keys(&values, bin))
            }
            Some(RequestKind::Bits { span, more }) => {
                let shift = span.shift(more);
                // What all keys share, without the bits by which they are told apart.
                let shared = span.first & (u64::MAX << shift) & !(((1 << more) - 1) << shift);
                self.fold_bins(span.before, &tally, |bin| {
                    let first = shared | (bin as u64) << shift;
                    (first.max(span.first), (first | ((1 << shift) - 1)).min(span.last))
                })
            }
            Some(RequestKind::Gather(spans)) => {
                self.fold_keys(&spans, tally);
                Vec::new()
            }
            None => Vec::new(),
        };
        self.open.extend(spans);
        self.ask();
    }

    /// Notes the distances at the ends of bins; those bins in which there may be more.
    fn fold_bins(&mut self, before: i64, tally: &Tally, keys: impl Fn(usize) -> (u64, u64)) -> Vec<Span> {
        let (mut open, mut distance) = (Vec::new(), before);
        for (bin, counts) in tally.bins.iter().enumerate() {
            if *counts == [0; 2] {
                continue;
            }
            let (first, last) = keys(bin);
            let span = Span { first, last, before: distance, counts: *counts };
            distance = distance.saturating_add_unsigned(counts[0]).saturating_sub_unsigned(counts[1]);
            self.greatest = self.greatest.max(distance.unsigned_abs());
            if counts.iter().all(|count| *count > 0) && first < last {
                open.push(span);
            }
        }
        open
    }

    /// Walks through the values of spans in their order.
    fn fold_keys(&mut self, spans: &[Span], tally: Tally) {
        let [mut source, mut destination] = tally.keys;
        source.sort_unstable();
        destination.sort_unstable();
        let (mut source, mut destination) =
            (source.into_iter().peekable(), destination.into_iter().peekable());
        for span in spans {
            let mut distance = span.before;
            loop {
                let inside = |next: Option<&u64>| next.copied().filter(|key| *key <= span.last);
                let (x, y) = (inside(source.peek()), inside(destination.peek()));
                let Some(at) = x.into_iter().chain(y).min() else { break };
                while source.next_if_eq(&at).is_some() {
                    distance = distance.saturating_add(1);
                }
                while destination.next_if_eq(&at).is_some() {
                    distance = distance.saturating_sub(1);
                }
                self.greatest = self.greatest.max(distance.unsigned_abs());
            }
        }
    }

    /// Settles what the next walk looks for: a stretch that holds too many values by finer bins, else as many as may be
    /// gathered.
    fn ask(&mut self) {
        let greatest = self.greatest;
        self.open.retain(|span| span.bound() > greatest);
        // The most promising last: what they show may close the others.
        self.open.sort_by_key(|span| (span.bound(), span.first));
        if let Some(span) = self.open.pop_if(|span| span.num_values() > self.most_values) {
            let more = MORE_BITS.min(64 - span.shared_bits());
            self.request = Some(Request { kind: RequestKind::Bits { span, more } });
            return;
        }
        if self.open.is_empty() {
            return;
        }
        let (mut gathered, mut values) = (Vec::new(), 0);
        while let Some(span) = self.open.pop_if(|span| values + span.num_values() <= self.most_values) {
            values += span.num_values();
            gathered.push(span);
        }
        gathered.sort_by_key(|span| span.first);
        self.request = Some(Request { kind: RequestKind::Gather(gathered) });
    }
}

/// The keys of a bin of a grid: of a value, or of the gap before it.
fn grid_keys(values: &[f64], bin: usize) -> (u64, u64) {
    let at = |number: usize| values.get(number).map(|value| key(*value));
    let number = bin / 2;
    if bin % 2 == 1 {
        let own = at(number).unwrap_or(0);
        return (own, own);
    }
    let first = number.checked_sub(1).and_then(at).map_or(0, |key| key + 1);
    (first, at(number).map_or(u64::MAX, |key| key - 1))
}

//! Statistics of all values of an array, and their histogram. Absent chunks count as the values that they represent.

use super::{HistogramResult, Numbers, Result, StatsResult};
use crate::array::{ChunkFault, Fault};
use crate::codec::fault::number_value;
use crate::data_type::value_to_json;
use crate::element::{Element, ElementType, NumberType};
use crate::engine::{Accumulator, Chunk, Fold, fold::Folded};
use crate::grid::Region;
use crate::kernel::missing::MissingCount;
use crate::kernel::statistics::{Summary, SummaryScan};
use crate::metadata::{Json, Number, array::num_elements};
use crate::with_element;

/// The number of bins of a histogram that was not requested.
pub(super) const BINS: usize = 60;

/// The bins of a range.
#[derive(Debug)]
pub(super) struct Histogram {
    number_type: NumberType,
    edges: Vec<f64>,
    bins: f64,
    width: f64,
}

impl Histogram {
    /// Returns bins from `min` to `max`, or around the value if both are the same. `bins` is at least 1.
    #[expect(clippy::cast_precision_loss, reason = "there are at most a million bins")]
    pub(super) fn new(number_type: NumberType, bins: usize, (min, max): (f64, f64)) -> Self {
        let (min, max) = if min == max { (min - 0.5, max + 0.5) } else { (min, max) };
        // Halves are used if the range is wider than the greatest float64.
        let width = max - min;
        let count = bins as f64;
        let step = if width.is_finite() { width / count } else { (max / 2.0 - min / 2.0) / count * 2.0 };
        // The edges are computed as `numpy.linspace` does, so that a value on an edge falls into the same bin as in
        // numpy.
        let mut edges: Vec<f64> = (0..bins).map(|bin| bin as f64 * step + min).collect();
        edges.push(max);
        Histogram { number_type, edges, bins: count, width }
    }

    /// Returns the counts of values in [`BINS`] bins. NaN is not counted.
    pub(super) fn of(values: &[f64], range: (f64, f64)) -> HistogramResult {
        let histogram = Histogram::new(NumberType::of(ElementType::Float64), BINS, range);
        let mut counts = histogram.empty();
        histogram.add(&mut counts, bytemuck::cast_slice(values));
        counts
    }

    fn add(&self, counts: &mut HistogramResult, numbers: &[u8]) {
        with_element!(self.number_type.element(), T => {
            for number in numbers.chunks_exact(size_of::<T>()) {
                let number: T = bytemuck::pod_read_unaligned(number);
                self.count(number_value(NumberType::of(T::TYPE), number.to_bits64()), 1, counts);
            }
        });
    }

    /// Returns the counts of no values.
    fn empty(&self) -> HistogramResult {
        let bins = self.edges.len() - 1;
        HistogramResult { min: self.edges[0], max: self.edges[bins], counts: vec![0; bins], below: 0, above: 0 }
    }

    #[inline]
    fn count(&self, value: f64, times: u64, counts: &mut HistogramResult) {
        let (first, last) = (self.edges[0], self.edges[counts.counts.len()]);
        if value >= first && value <= last {
            let bin = self.bin_of(value, first);
            counts.counts[bin] += times;
        } else if value < first {
            counts.below += times;
        } else if value > last {
            counts.above += times;
        }
    }

    /// Returns the bin of a value inside the range. A division is wrong by at most one bin, and the edges decide.
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the quotient is from 0 to 1")]
    fn bin_of(&self, value: f64, first: f64) -> usize {
        let last_bin = self.edges.len() - 2;
        let share = if self.width.is_finite() {
            (value - first) / self.width
        } else {
            (value / 2.0 - first / 2.0) / (self.edges[last_bin + 1] / 2.0 - first / 2.0)
        };
        let mut bin = ((share * self.bins) as usize).min(last_bin);
        if bin > 0 && value < self.edges[bin] {
            bin -= 1;
        }
        if bin < last_bin && value >= self.edges[bin + 1] {
            bin += 1;
        }
        bin
    }
}

/// An accumulator of the counts of values that are not missing.
pub(super) struct Binning<'a> {
    pub numbers: &'a Numbers,
    pub histogram: Histogram,
}

impl Accumulator for Binning<'_> {
    /// The counts of a part of the array.
    type Part = HistogramResult;
    type Buffers = ();

    fn start(&self, _: &Region) -> HistogramResult {
        self.histogram.empty()
    }

    fn add(&self, part: &mut HistogramResult, chunk: Chunk<'_>, (): &mut ()) -> Result<(), Fault> {
        let elements = chunk.elements.unwrap_or_default();
        self.numbers.each_piece(elements, |numbers| self.histogram.add(part, numbers));
        Ok(())
    }

    fn merge(&self, all: &mut HistogramResult, part: &HistogramResult) {
        all.counts.iter_mut().zip(&part.counts).for_each(|(all, part)| *all += part);
        all.below += part.below;
        all.above += part.above;
    }
}

impl Binning<'_> {
    /// Returns the counts of a pass, with `absent` absent elements.
    pub(super) fn finish(&self, mut counts: HistogramResult, absent: u64) -> HistogramResult {
        if !self.numbers.fill_is_missing {
            let fill = number_value(self.numbers.number_type(), self.numbers.fill_bits);
            self.histogram.count(fill, absent, &mut counts);
        }
        counts
    }
}

/// An accumulator of the statistics of values that are not missing.
#[derive(Debug)]
pub(super) struct Stats<'a> {
    numbers: &'a Numbers,
    scan: SummaryScan,
}

impl Accumulator for Stats<'_> {
    type Part = (Summary, MissingCount);
    type Buffers = ();

    fn add(&self, part: &mut Self::Part, chunk: Chunk<'_>, (): &mut ()) -> Result<(), Fault> {
        let (summary, missing) = part;
        let elements = chunk.elements.unwrap_or_default();
        *missing += self.numbers.each_piece(elements, |numbers| self.scan.scan(numbers, summary));
        Ok(())
    }

    fn merge(&self, all: &mut Self::Part, part: &Self::Part) {
        self.scan.merge(&mut all.0, &part.0);
        all.1 += part.1;
    }
}

impl<'a> Stats<'a> {
    pub(super) fn new(numbers: &'a Numbers) -> Self {
        Stats { numbers, scan: SummaryScan::new(numbers.number_type(), numbers.fill_bits) }
    }

    /// Computes the statistics in a pass. Elements that are not stored count, except for a sample.
    pub(super) fn of(numbers: &'a Numbers, fold: Fold<'_>, is_sample: bool) -> Result<StatsResult, ChunkFault> {
        let stats = Stats::new(numbers);
        let found = fold.run("values", &stats)?;
        // A sample leaves out stored chunks, too. The elements that it did not see are not absent.
        let absent = if is_sample { 0 } else { absent(fold, &found) };
        stats.finish(found.part, absent, fold)
    }

    /// Returns the statistics of a pass, with `absent` absent elements. If squares exceed the range of float64, another
    /// pass is made.
    pub(super) fn finish(
        mut self,
        (mut all, mut missing): (Summary, MissingCount),
        mut absent: u64,
        fold: Fold<'_>,
    ) -> Result<StatsResult, ChunkFault> {
        if let Some(scan) = self.scan.rescaled(&all) {
            self.scan = scan;
            all = fold.run("values, scaled", &self)?.part.0;
        }
        let Stats { numbers, scan } = self;
        if numbers.fill_is_missing {
            // The fill value is the first of the missing values, see `Numbers::fill_is_missing`.
            missing += MissingCount { all: absent, first: absent };
            absent = 0;
        }
        scan.merge(&mut all, &scan.of_constant(numbers.fill_bits, absent));
        let extent = all.extent;
        let number_type = numbers.number_type();
        // A reader of float64 or of 64-bit integers reads these literals exactly.
        let exact = |bits| match number_value(number_type, bits) {
            value if number_type.is_float() => Number::from_shortest(value).map_or(Json::Null, Json::Number),
            _ => value_to_json(number_type, bits),
        };
        let (min, max) = extent.finite.map(|(least, greatest)| (exact(least), exact(greatest))).unzip();
        Ok(StatsResult {
            count: extent.count + missing.all,
            finite: extent.num_finite(),
            nan: extent.nan,
            missing: missing.all,
            positive_infinity: extent.positive_infinity,
            negative_infinity: extent.negative_infinity,
            fill_value: if numbers.fill_is_missing { missing.first } else { all.equal },
            min,
            max,
            mean: scan.mean(&all),
            standard_deviation: scan.standard_deviation(&all),
        })
    }
}

/// Returns the minimum and the maximum finite value. `None` if there is none.
pub(super) fn range_of(stats: &StatsResult) -> Option<(f64, f64)> {
    let number = |value: &Option<Json>| Some(value.as_ref()?.as_number()?.as_f64());
    Some((number(&stats.min)?, number(&stats.max)?))
}

/// Returns the number of elements of an array that are not stored.
pub(super) fn absent<A: Accumulator>(fold: Fold<'_>, found: &Folded<A>) -> u64 {
    num_elements(&fold.array.metadata.shape).map_or(0, |all| all.saturating_sub(found.elements))
}

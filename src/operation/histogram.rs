//! Counts of values in bins of equal width: `--histogram`, and in reports.
//!
//! As `numpy.histogram` has it over float64 values: edges are `min + i * ((max - min) / bins)`, the last one is `max`;
//! a value belongs to the bin whose lower edge it reaches and whose upper edge it does not, but for the last bin,
//! which has its upper edge too.

use super::numbers::CfNumbers;
use crate::array::fault::Fault;
use crate::codec::fault::number_value;
use crate::element::{Element, ElementType, NumberType};
use crate::engine::fold::{Accumulator, Chunk};
use crate::grid::Region;
use crate::operation::inspect_result::HistogramResult;
use crate::with_element;

/// Bins over a range.
#[derive(Debug)]
pub(super) struct Histogram {
    number_type: NumberType,
    edges: Vec<f64>,
    bins: f64,
    width: f64,
}

/// The counts of a part of the array, bin by bin.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// For each bin; empty where nothing is counted.
    inside: Vec<u64>,
    below: u64,
    above: u64,
}

impl Histogram {
    /// Bins from `min` to `max`; around the value where both are the same. `bins` is at least 1.
    #[expect(clippy::cast_precision_loss, reason = "there are at most a million bins")]
    pub(super) fn new(number_type: NumberType, bins: usize, (min, max): (f64, f64)) -> Self {
        let (min, max) = if min == max { (min - 0.5, max + 0.5) } else { (min, max) };
        // Halves first where the range is wider than the greatest float64.
        let width = max - min;
        let count = bins as f64;
        let step = if width.is_finite() { width / count } else { (max / 2.0 - min / 2.0) / count * 2.0 };
        let mut edges: Vec<f64> = (0..bins).map(|bin| bin as f64 * step + min).collect();
        edges.push(max);
        Histogram { number_type, edges, bins: count, width }
    }

    /// The counts of some values; NaN is nowhere.
    pub(super) fn of(values: &[f64], bins: usize, range: (f64, f64)) -> HistogramResult {
        let histogram = Histogram::new(NumberType::of(ElementType::Float64), bins, range);
        let mut counts = Counts::default();
        histogram.add(&mut counts, bytemuck::cast_slice(values));
        histogram.result(counts)
    }

    fn add(&self, counts: &mut Counts, numbers: &[u8]) {
        counts.inside.resize(self.edges.len() - 1, 0);
        with_element!(self.number_type.element(), T => {
            for number in numbers.chunks_exact(size_of::<T>()) {
                let number: T = bytemuck::pod_read_unaligned(number);
                self.count(number_value(NumberType::of(T::TYPE), number.to_bits64()), 1, counts);
            }
        });
    }

    /// As it is shown.
    fn result(&self, mut counts: Counts) -> HistogramResult {
        counts.inside.resize(self.edges.len() - 1, 0);
        HistogramResult {
            min: self.edges.first().copied().unwrap_or_default(),
            max: self.edges.last().copied().unwrap_or_default(),
            counts: counts.inside,
            below: counts.below,
            above: counts.above,
        }
    }

    #[inline]
    fn count(&self, value: f64, times: u64, counts: &mut Counts) {
        let (first, last) = (self.edges[0], self.edges[counts.inside.len()]);
        if value >= first && value <= last {
            let bin = self.bin_of(value, first);
            counts.inside[bin] += times;
        } else if value < first {
            counts.below += times;
        } else if value > last {
            counts.above += times;
        }
    }

    /// The bin of a value inside the range: a division comes within one of it, and the edges decide.
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the quotient lies from 0 to 1")]
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

/// Counts the values of an array that are not missing.
pub(super) struct Binning<'a> {
    pub numbers: &'a CfNumbers,
    pub histogram: Histogram,
}

impl Accumulator for Binning<'_> {
    type Part = Counts;
    type Buffers = ();

    fn start(&self, _: &Region) -> Counts {
        Counts::default()
    }

    fn add(&self, part: &mut Counts, chunk: Chunk<'_>, (): &mut ()) -> Result<(), Fault> {
        let elements = chunk.elements.unwrap_or_default();
        self.numbers.each_piece(elements, |numbers| self.histogram.add(part, numbers));
        Ok(())
    }

    fn merge(&self, all: &mut Counts, part: &Counts) {
        all.inside.resize(all.inside.len().max(part.inside.len()), 0);
        all.inside.iter_mut().zip(&part.inside).for_each(|(all, part)| *all += part);
        all.below += part.below;
        all.above += part.above;
    }
}

impl Binning<'_> {
    /// The counts of a pass, with so many absent elements.
    pub(super) fn finish(&self, mut counts: Counts, absent: u64) -> HistogramResult {
        if !self.numbers.fill_is_missing {
            let fill = number_value(self.numbers.number_type(), self.numbers.fill_bits);
            counts.inside.resize(self.histogram.edges.len() - 1, 0);
            self.histogram.count(fill, absent, &mut counts);
        }
        self.histogram.result(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(bins: usize, range: (f64, f64), values: &[f64]) -> (Vec<u64>, u64, u64) {
        let result = Histogram::of(values, bins, range);
        (result.counts, result.below, result.above)
    }

    #[test]
    fn last_bin_is_closed_and_others_are_open_above() {
        let values = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, -0.1, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        assert_eq!(counts(2, (0.0, 2.0), &values), (vec![2, 3], 2, 2));
    }

    #[test]
    fn values_on_edges_go_up() {
        // 0.1 * 3 is more than 0.3, which numpy counts below the edge 0.30000000000000004.
        let values = [0.1, 0.2, 0.3, 0.3_f64.next_up(), 0.7, 1.0];
        assert_eq!(counts(10, (0.0, 1.0), &values).0, [0, 1, 2, 1, 0, 0, 1, 0, 0, 1]);
    }

    #[test]
    fn range_of_one_value_is_widened() {
        assert_eq!(counts(2, (3.0, 3.0), &[3.0, 3.0]), (vec![0, 2], 0, 0));
    }

    #[test]
    fn range_wider_than_a_float_is_counted() {
        let values = [f64::MIN, -1.0, 1.0, f64::MAX];
        assert_eq!(counts(2, (f64::MIN, f64::MAX), &values), (vec![2, 2], 0, 0));
    }
}

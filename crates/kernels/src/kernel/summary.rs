//! Figures of an array: counts, extremes, sums and squares, from one pass over its elements.
//!
//! Summaries of parts are merged. Counts are exact, and sums have about 106 bits. Merged in one order, they are the
//! same bits on any number of threads.

mod loops;

use super::dispatch::TileKernel;
use super::double::{Double, approximate};
use super::statistics::Extent;
use super::tile::each_tile;
use crate::element::{Element, ElementType, NumberType};
use crate::with_element;
use loops::SummaryLoop;

/// The figures of some elements.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// Counts and extremes.
    pub extent: Extent,
    /// Elements equal to the counted value. NaN equals NaN, and -0 equals 0.
    pub equal: u64,
    /// The sum of the finite elements.
    sum: Double,
    /// The sum of the squares of their distances from the mean.
    squares: Double,
}

/// A scan for one type and counted value.
#[derive(Debug, Clone)]
pub struct SummaryScan {
    number_type: NumberType,
    counted: u64,
    /// A power of two that brings squares of float64 into range.
    scale: f64,
    kernel: TileKernel<Summary>,
}

impl SummaryScan {
    /// Binds the scan. `counted` are the bits of the value whose equal elements are counted.
    pub fn new(number_type: NumberType, counted: u64) -> Self {
        Self::scaled(number_type, counted, 1.0)
    }

    fn scaled(number_type: NumberType, counted: u64, scale: f64) -> Self {
        let kernel = with_element!(number_type.element(), T => {
            TileKernel::new(SummaryLoop { counted: T::from_bits64(counted), scale })
        });
        SummaryScan { number_type, counted, scale, kernel }
    }

    /// Returns the scan to make instead if the squares of the values are too great or too small for a float64. `None`
    /// if they are not, or if this scan is such a one already.
    pub fn rescaled(&self, summary: &Summary) -> Option<Self> {
        /// The exponent of values whose squares can be summed, however many there are.
        const GREATEST: i32 = 470;
        /// The exponent of values whose differences have squares that are not subnormal.
        const LEAST: i32 = -300;
        let extremes = summary.extent.finite.filter(|_| self.number_type.element() == ElementType::Float64)?;
        let magnitude = f64::from_bits(extremes.0).abs().max(f64::from_bits(extremes.1).abs());
        let exponent = if magnitude > 2_f64.powi(GREATEST) {
            -600
        } else if magnitude < 2_f64.powi(LEAST) && magnitude > 0.0 {
            600
        } else {
            return None;
        };
        (self.scale == 1.0).then(|| Self::scaled(self.number_type, self.counted, 2_f64.powi(exponent)))
    }

    /// Adds the elements of `source`, in native byte order.
    pub fn scan(&self, source: &[u8], summary: &mut Summary) {
        each_tile(source, self.number_type.size(), |tile| {
            self.merge(summary, &self.kernel.run(tile, &mut []));
        });
    }

    /// Returns the summary of `count` elements of one value.
    pub fn of_constant(&self, bits: u64, count: u64) -> Summary {
        let size = self.number_type.size();
        let mut element = [0_u8; 8];
        super::tile::write_bits(&mut element, size, 0, bits);
        let mut summary = Summary::default();
        if count > 0 {
            self.scan(&element[..size], &mut summary);
        }
        let times = |number: &mut u64| *number *= count;
        times(&mut summary.extent.count);
        times(&mut summary.extent.nan);
        times(&mut summary.extent.positive_infinity);
        times(&mut summary.extent.negative_infinity);
        times(&mut summary.equal);
        summary.sum = product(summary.sum, count);
        summary
    }

    /// Adds one summary to another.
    pub fn merge(&self, summary: &mut Summary, other: &Summary) {
        let [finite, others] = [summary.extent, other.extent].map(|extent| extent.num_finite());
        if finite > 0 && others > 0 {
            let apart = (quotient(other.sum, others) - quotient(summary.sum, finite)).value();
            let weight = approximate(finite) * approximate(others) / approximate(finite + others);
            summary.squares = summary.squares + Double::from(apart * apart * weight);
        }
        summary.squares = summary.squares + other.squares;
        summary.sum = summary.sum + other.sum;
        summary.equal += other.equal;
        summary.extent.merge(&other.extent, self.number_type);
    }

    /// Returns the mean of the finite values. `None` if there are none.
    pub fn mean(&self, summary: &Summary) -> Option<f64> {
        summary.extent.finite?;
        Some(quotient(summary.sum, summary.extent.num_finite()).value() / self.scale)
    }

    /// Returns the standard deviation of the finite values (divided by their number, not by one less). `None` if there
    /// are none.
    pub fn standard_deviation(&self, summary: &Summary) -> Option<f64> {
        let (least, greatest) = summary.extent.finite?;
        if least == greatest {
            return Some(0.0);
        }
        Some(quotient(summary.squares, summary.extent.num_finite()).value().max(0.0).sqrt() / self.scale)
    }
}

/// Returns a sum divided by a count of any size.
fn quotient(sum: Double, count: u64) -> Double {
    let divisor = approximate(count);
    let high = sum.value() / divisor;
    let rest = sum - product(Double::from(high), count);
    Double::new(high, rest.value() / divisor)
}

/// Returns the exact product of a sum and a count.
fn product(sum: Double, count: u64) -> Double {
    sum.times(approximate(count >> 32)).times(4_294_967_296.0) + sum.times(approximate(count & 0xffff_ffff))
}

#[cfg(test)]
mod tests;

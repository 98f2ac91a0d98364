//! Figures of an array: counts, extremes, sums and squares, from one pass over its elements.
//!
//! Summaries of parts are merged. Counts are exact, and sums have about 106 bits. Merged in one order, they are the
//! same bits on any number of threads.

mod loops;

use super::dispatch::TileKernel;
use super::double::{Double, approximate};
use super::statistics::widened;
use super::tile::each_tile;
use crate::element::{Element, ElementType, NumberType};
use crate::with_element;
use loops::{Parameters, SummaryLoop};

/// The figures of some elements. The fields after `extremes` are of finite ones.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// All elements.
    pub count: u64,
    /// Elements that are neither NaN nor infinite.
    pub finite: u64,
    /// +Infinity.
    pub positive_infinity: u64,
    /// -Infinity.
    pub negative_infinity: u64,
    /// Elements equal to the counted value. NaN equals NaN, and -0 equals 0.
    pub equal: u64,
    /// The bits of the least and greatest finite value (-0.0 before 0.0). `None` if there is none.
    pub extremes: Option<(u64, u64)>,
    sum: Double,
    /// The sum of the squares of the distances from the mean.
    squares: Double,
}

impl Summary {
    /// Returns the number of NaN elements.
    pub fn nan(&self) -> u64 {
        self.count - self.finite - self.positive_infinity - self.negative_infinity
    }
}

/// A scan for one type and counted value.
#[derive(Debug, Clone)]
pub struct SummaryScan {
    number_type: NumberType,
    parameters: Parameters,
    kernel: TileKernel<Parameters, Summary>,
}

impl SummaryScan {
    /// Binds the scan. `counted` are the bits of the value whose equal elements are counted.
    pub fn new(number_type: NumberType, counted: u64) -> Self {
        with_element!(number_type.element(), T => SummaryScan {
            number_type,
            parameters: Parameters { counted, counts_nan: is_nan::<T>(counted), scale: 1.0 },
            kernel: TileKernel::select::<SummaryLoop<T>>(),
        })
    }

    /// Returns the scan to make instead if the squares of the values are too great or too small for a float64. `None`
    /// if they are not, or if this scan is such a one already.
    pub fn rescaled(&self, summary: &Summary) -> Option<Self> {
        /// The exponent of values whose squares can be summed, however many there are.
        const GREATEST: i32 = 470;
        /// The exponent of values whose differences have squares that are not subnormal.
        const LEAST: i32 = -300;
        let extremes = summary.extremes.filter(|_| self.number_type.element() == ElementType::Float64)?;
        let magnitude = f64::from_bits(extremes.0).abs().max(f64::from_bits(extremes.1).abs());
        let exponent = if magnitude > 2_f64.powi(GREATEST) {
            -600
        } else if magnitude < 2_f64.powi(LEAST) && magnitude > 0.0 {
            600
        } else {
            return None;
        };
        let parameters = Parameters { scale: 2_f64.powi(exponent), ..self.parameters };
        (self.parameters.scale == 1.0).then(|| SummaryScan { parameters, ..self.clone() })
    }

    /// Adds the elements of `source`, in native byte order.
    pub fn scan(&self, source: &[u8], summary: &mut Summary) {
        each_tile(source, self.number_type.size(), |tile| {
            self.merge(summary, &self.kernel.run(tile, &mut [], &self.parameters));
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
        times(&mut summary.count);
        times(&mut summary.finite);
        times(&mut summary.positive_infinity);
        times(&mut summary.negative_infinity);
        times(&mut summary.equal);
        summary.sum = product(summary.sum, count);
        summary
    }

    /// Adds one summary to another.
    pub fn merge(&self, summary: &mut Summary, other: &Summary) {
        if summary.finite > 0 && other.finite > 0 {
            let apart = (quotient(other.sum, other.finite) - quotient(summary.sum, summary.finite)).value();
            let weight =
                approximate(summary.finite) * approximate(other.finite) / approximate(summary.finite + other.finite);
            summary.squares = summary.squares + Double::from(apart * apart * weight);
        }
        summary.squares = summary.squares + other.squares;
        summary.sum = summary.sum + other.sum;
        summary.count += other.count;
        summary.finite += other.finite;
        summary.positive_infinity += other.positive_infinity;
        summary.negative_infinity += other.negative_infinity;
        summary.equal += other.equal;
        summary.extremes = widened(self.number_type, summary.extremes, other.extremes);
    }

    /// Returns the mean of the finite values. `None` if there are none.
    pub fn mean(&self, summary: &Summary) -> Option<f64> {
        summary.extremes?;
        Some(quotient(summary.sum, summary.finite).value() / self.parameters.scale)
    }

    /// Returns the standard deviation of the finite values (divided by their number, not by one less). `None` if there
    /// are none.
    pub fn standard_deviation(&self, summary: &Summary) -> Option<f64> {
        let (least, greatest) = summary.extremes?;
        if least == greatest {
            return Some(0.0);
        }
        Some(quotient(summary.squares, summary.finite).value().max(0.0).sqrt() / self.parameters.scale)
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

#[expect(clippy::eq_op, reason = "only NaN is not itself")]
fn is_nan<T: Element>(bits: u64) -> bool {
    let element = T::from_bits64(bits);
    element != element
}

#[cfg(test)]
mod tests;

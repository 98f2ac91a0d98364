//! Figures of an array: counts, extremes, sums and squares, from one walk over its elements.
//!
//! Summaries of parts are merged exactly in what is counted and to about 106 bits in what is summed; merged in one
//! order, they are the same bits whoever made them.

mod loops;

use super::dispatch::TileKernel;
use super::double::{Double, approximate};
use super::statistics::widened;
use super::tile::each_tile;
use crate::element::{Element, ElementType, NumberType};
use crate::with_element;
use loops::{Parameters, SummaryLoop};

/// The figures of some elements. Those after `extremes` are over finite ones.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// Elements.
    pub count: u64,
    /// Neither NaN nor infinite.
    pub finite: u64,
    /// +Infinity.
    pub positive_infinity: u64,
    /// -Infinity.
    pub negative_infinity: u64,
    /// Equal to the value that is counted; NaN counts as equal to NaN, -0 to 0.
    pub equal: u64,
    /// Bits of the least and greatest finite value (-0.0 before 0.0); `None` where there is none.
    pub extremes: Option<(u64, u64)>,
    sum: Double,
    /// Squares of the distances from the mean.
    squares: Double,
}

impl Summary {
    /// Elements that are NaN.
    pub fn nan(&self) -> u64 {
        self.count - self.finite - self.positive_infinity - self.negative_infinity
    }
}

/// A bound scan.
#[derive(Debug, Clone)]
pub struct SummaryScan {
    number_type: NumberType,
    parameters: Parameters,
    kernel: TileKernel<Parameters, Summary>,
}

impl SummaryScan {
    /// Binds it; `counted` are the bits of the value whose equals are counted.
    pub fn new(number_type: NumberType, counted: u64) -> Self {
        with_element!(number_type.element(), T => SummaryScan {
            number_type,
            parameters: Parameters { counted, counts_nan: is_nan::<T>(counted), scale: 1.0 },
            kernel: TileKernel::select::<SummaryLoop<T>>(),
        })
    }

    /// The scan that must be made instead where the squares of such values leave the range of a float64; `None` where
    /// they do not.
    pub fn rescaled(&self, summary: &Summary) -> Option<Self> {
        /// Values whose squares, however many, can be summed.
        const GREATEST: i32 = 470;
        /// Values the squares of whose differences are no subnormal numbers.
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

    /// The summary of so many elements of one value.
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

    /// The mean of the finite values; `None` where there are none.
    pub fn mean(&self, summary: &Summary) -> Option<f64> {
        summary.extremes?;
        Some(quotient(summary.sum, summary.finite).value() / self.parameters.scale)
    }

    /// The standard deviation of the finite values from their mean (no degree of freedom less); `None` where there
    /// are none.
    pub fn standard_deviation(&self, summary: &Summary) -> Option<f64> {
        let (least, greatest) = summary.extremes?;
        if least == greatest {
            return Some(0.0);
        }
        Some(quotient(summary.squares, summary.finite).value().max(0.0).sqrt() / self.parameters.scale)
    }
}

/// Divided by a count, however large.
fn quotient(sum: Double, count: u64) -> Double {
    let divisor = approximate(count);
    let high = sum.value() / divisor;
    let rest = sum - product(Double::from(high), count);
    Double::new(high, rest.value() / divisor)
}

/// Times a count, exactly.
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

//! The loop over a tile of a summary: two passes over elements that stay in the first-level cache.
//!
//! Sums have several lanes, each with its rounding errors. Squares are of distances from a pivot between the tile's own
//! extremes, so that little cancels.

use half::f16;

use super::Summary;
use crate::kernel::dispatch::TileLoop;
use crate::kernel::double::{Double, approximate, two_sum};
use crate::kernel::narrow::FloatElement;
use crate::kernel::statistics::{Ordered, extent_of};

/// Sums in parallel, so that the compiler can use vectors.
const LANES: usize = 16;

/// An element type whose tiles can be summarised.
pub(super) trait Summed: Ordered {
    /// Returns the sums over finite elements.
    fn moments(elements: &[Self], finite: u64, extremes: (Self, Self), scale: f64) -> Moments;
}

/// The sums over the finite elements of a tile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    /// The sum of the elements.
    pub sum: Double,
    /// The sum of their distances from a pivot near the mean.
    pub distances: Double,
    /// The sum of the squares of these distances.
    pub squares: f64,
}

pub(super) struct SummaryLoop<T> {
    /// The value that is counted. If it is NaN, all NaN count as equal to it.
    pub counted: T,
    /// A power of two that brings squares of float64 into range.
    pub scale: f64,
}

impl<T: Summed> TileLoop for SummaryLoop<T> {
    type State = ();
    type Outcome = Summary;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], _target: &mut [u8], (): &()) -> Summary {
        let elements: &[T] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let counted = self.counted;
        let equal = elements.iter().fold(0_u32, |equal, element| equal + u32::from(*element == counted));
        let extent = extent_of(elements);
        let divisor = extent.num_finite().max(1);
        // Without a finite element all sums are 0.
        let (least, greatest) = extent.finite.unwrap_or_default();
        let extremes = (T::from_bits64(least), T::from_bits64(greatest));
        let Moments { sum, distances, squares } = T::moments(elements, divisor, extremes, self.scale);
        // The pivot is only near the mean. This corrects for the distance between them.
        let beside = distances.value();
        let squares = (squares - beside * beside / approximate(divisor)).max(0.0);
        Summary {
            extent,
            equal: if counted == counted { u64::from(equal) } else { extent.nan },
            sum,
            squares: Double::from(squares),
        }
    }
}

/// A type whose values are all exact in float64.
trait Narrow: Ordered {
    fn value(self, scale: f64) -> f64;
}

macro_rules! narrow {
    ($($type:ty: $x:ident, $scale:ident => $value:expr;)*) => {$(
        impl Narrow for $type {
            #[inline(always)]
            fn value(self, $scale: f64) -> f64 {
                let $x = self;
                $value
            }
        }

        impl Summed for $type {
            #[inline(always)]
            fn moments(elements: &[Self], finite: u64, extremes: (Self, Self), scale: f64) -> Moments {
                narrow_moments(elements, finite, extremes, scale)
            }
        }
    )*};
}

narrow! {
    i8: x, _s => f64::from(x);
    i16: x, _s => f64::from(x);
    i32: x, _s => f64::from(x);
    u8: x, _s => f64::from(x);
    u16: x, _s => f64::from(x);
    u32: x, _s => f64::from(x);
    f16: x, _s => f64::from(x.widen());
    f32: x, _s => f64::from(x);
    f64: x, scale => x * scale;
}

/// Computes the sums. The first pivot is the middle of the extremes, so that one pass computes both. If it is so far
/// from the mean that the squares would lose bits, a second pass uses the mean.
#[inline(always)]
fn narrow_moments<T: Narrow>(elements: &[T], finite: u64, extremes: (T, T), scale: f64) -> Moments {
    let count = approximate(finite);
    let middle = 0.5 * extremes.0.value(scale) + 0.5 * extremes.1.value(scale);
    let pivot = if middle.is_finite() { middle } else { 0.0 };
    let (mut sums, mut lost, mut squares) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    in_lanes(elements, |lane, element| {
        let is_finite = element.is_finite();
        let wide = element.value(scale);
        let value = if is_finite { wide } else { 0.0 };
        let distance = if is_finite { wide - pivot } else { 0.0 };
        let (total, error) = two_sum(sums[lane], value);
        sums[lane] = total;
        lost[lane] += error;
        squares[lane] += distance * distance;
    });
    let sum = sums.iter().zip(&lost).fold(Double::default(), |all, (sum, lost)| all + Double::new(*sum, *lost));
    let distances = sum - Double::from(pivot).times(count);
    let squares = in_pairs(squares);
    let shift = distances.value() / count;
    if shift * shift * count <= squares / 2.0 {
        return Moments { sum, distances, squares };
    }
    let mean = sum.value() / count;
    let squares = squares_of(elements, |element| if element.is_finite() { element.value(scale) - mean } else { 0.0 });
    Moments { sum, distances: sum - Double::from(mean).times(count), squares }
}

/// Passes the elements in order to `add`, each with the lane of its index in a block.
#[inline(always)]
fn in_lanes<T: Copy>(elements: &[T], mut add: impl FnMut(usize, T)) {
    let (blocks, rest) = elements.as_chunks::<LANES>();
    for block in blocks {
        for (lane, element) in block.iter().enumerate() {
            add(lane, *element);
        }
    }
    for (lane, element) in rest.iter().enumerate() {
        add(lane, *element);
    }
}

/// Returns the sum of the squares of distances.
#[inline(always)]
fn squares_of<T: Copy>(elements: &[T], distance: impl Fn(T) -> f64) -> f64 {
    let mut squares = [0.0; LANES];
    in_lanes(elements, |lane, element| {
        let distance = distance(element);
        squares[lane] += distance * distance;
    });
    in_pairs(squares)
}

/// Returns the sum of the lanes, added in a tree.
#[inline(always)]
fn in_pairs(mut lanes: [f64; LANES]) -> f64 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// 64-bit integers: sums of their halves are exact, and distances are integers if they fit.
macro_rules! wide {
    ($type:ty) => {
        impl Summed for $type {
            #[inline(always)]
            #[expect(clippy::cast_precision_loss, reason = "distances are rounded once")]
            #[expect(clippy::cast_possible_truncation, reason = "a mean is between the extremes")]
            #[allow(
                clippy::cast_possible_wrap,
                clippy::cast_lossless,
                clippy::cast_sign_loss,
                reason = "halves are of 32 bits, and the mean of unsigned integers has no sign"
            )]
            fn moments(elements: &[Self], finite: u64, extremes: (Self, Self), _scale: f64) -> Moments {
                let (mut high, mut low) = (0_i64, 0_i64);
                for element in elements {
                    high += (*element >> 32) as i64;
                    low += (*element & 0xffff_ffff) as i64;
                }
                let sum = i128::from(high) * (1 << 32) + i128::from(low);
                let count = i128::from(finite);
                let pivot = (sum / count) as $type;
                let (below, above) = (extremes.0.abs_diff(pivot), extremes.1.abs_diff(pivot));
                let fits = i64::try_from(below.max(above)).is_ok();
                let squares = squares_of(elements, |element| {
                    if fits { element.wrapping_sub(pivot) as i64 as f64 } else { element as f64 - pivot as f64 }
                });
                Moments {
                    sum: Double::of_integer(sum),
                    distances: Double::of_integer(sum - count * pivot as i128),
                    squares,
                }
            }
        }
    };
}

wide!(i64);
wide!(u64);

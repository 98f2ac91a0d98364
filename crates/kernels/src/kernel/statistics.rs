//! The extent of an array's values: the least and the greatest finite one, and counts of the others. Also their mean and
//! standard deviation.

use std::marker::PhantomData;
use std::ops::Add;

use half::f16;
use num_traits::{AsPrimitive, Bounded};
use serde::{Deserialize, Serialize};

use super::dispatch::{TileKernel, TileLoop, fold};
use super::double::{Double, approximate, two_sum};
use super::missing::MissingFilter;
use super::narrow::FloatElement;
use super::round::WideFloat;
use super::tile::each_tile;
use crate::element::{Element, ElementType, NumberType};
use crate::with_element;

/// The extent of a slice of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Extent {
    /// All elements.
    pub count: u64,
    /// NaN and missing values.
    pub nan: u64,
    /// +Infinity.
    pub positive_infinity: u64,
    /// -Infinity.
    pub negative_infinity: u64,
    /// The bits of the least and greatest finite value (-0.0 before 0.0). `None` if there is none.
    pub finite: Option<(u64, u64)>,
}

impl Extent {
    /// Returns the number of elements that are neither NaN, missing nor infinite.
    pub fn num_finite(&self) -> u64 {
        self.count - self.nan - self.positive_infinity - self.negative_infinity
    }

    /// Adds the extent of other elements of the same type.
    pub fn merge(&mut self, other: &Extent, number_type: NumberType) {
        self.count += other.count;
        self.nan += other.nan;
        self.positive_infinity += other.positive_infinity;
        self.negative_infinity += other.negative_infinity;
        self.finite = widened(number_type, self.finite, other.finite);
    }
}

/// A scan for the extent of one type of floats or integers.
#[derive(Debug, Clone)]
pub struct ExtentScan {
    number_type: NumberType,
    missing: MissingFilter,
    kernel: TileKernel<Extent>,
}

/// A type whose values sort as integers, after a change of their bits.
pub(super) trait Ordered: Element {
    type Key: Copy + Ord + Bounded;
    /// Returns the integer that sorts as the element.
    fn key(self) -> Self::Key;
    /// Returns the element of such an integer.
    fn of_key(key: Self::Key) -> Self;
    fn is_finite(self) -> bool;
    /// Returns the nearest float64. It is exact for all but integers of 64 bits.
    fn value(self) -> f64;
}

macro_rules! ordered_integer {
    ($($type:ty),*) => {$(
        impl Ordered for $type {
            type Key = $type;
            #[inline(always)]
            fn key(self) -> $type { self }
            #[inline(always)]
            fn of_key(key: $type) -> $type { key }
            #[inline(always)]
            fn is_finite(self) -> bool { true }
            #[inline(always)]
            fn value(self) -> f64 { self.as_() }
        }
    )*};
}

macro_rules! ordered_float {
    ($type:ty, $unsigned:ty, $signed:ty) => {
        impl Ordered for $type {
            type Key = $signed;
            // The magnitude of a negative float grows with its bits, so inverting them makes it sort correctly.
            #[inline(always)]
            fn key(self) -> $signed {
                let bits = self.to_bits().cast_signed();
                bits ^ ((bits >> (<$signed>::BITS - 1)).cast_unsigned() >> 1).cast_signed()
            }
            #[inline(always)]
            fn of_key(key: $signed) -> $type {
                let bits = key ^ ((key >> (<$signed>::BITS - 1)).cast_unsigned() >> 1).cast_signed();
                <$type>::from_bits(bits.cast_unsigned())
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                const INFINITY: $unsigned = <$type>::INFINITY.to_bits();
                self.to_bits() & INFINITY != INFINITY
            }
            #[inline(always)]
            fn value(self) -> f64 {
                self.widen().as_f64()
            }
        }
    };
}

ordered_integer!(i8, i16, i32, i64, u8, u16, u32, u64);
ordered_float!(f16, u16, i16);
ordered_float!(f32, u32, i32);
ordered_float!(f64, u64, i64);

struct ExtentLoop<T>(PhantomData<T>);

impl<T: Ordered> TileLoop for ExtentLoop<T> {
    type Outcome = Extent;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], _target: &mut [u8], (): &()) -> Extent {
        extent_of::<T>(bytemuck::try_cast_slice(source).unwrap_or_default())
    }
}

/// Returns the extent of the elements of a tile.
#[inline(always)]
pub(super) fn extent_of<T: Ordered>(elements: &[T]) -> Extent {
    let (least, greatest) = range_of::<T>(elements.iter().map(|element| element.key()));
    let mut not_finite = 0;
    let mut finite = (T::of_key(least), T::of_key(greatest));
    // Infinities and NaN are outside the finite values in the order of bits.
    if !(finite.0.is_finite() && finite.1.is_finite()) {
        // Each other element is replaced by a finite one, which changes neither extreme.
        let substitute = elements.iter().find(|element| element.is_finite());
        let key = substitute.map_or(least, |element| element.key());
        let keys = elements.iter().map(|element| if element.is_finite() { element.key() } else { key });
        let (least, greatest) = range_of::<T>(keys);
        finite = (T::of_key(least), T::of_key(greatest));
        not_finite = elements.iter().filter(|element| !element.is_finite()).count();
    }
    let (positive_infinity, negative_infinity) = if not_finite > 0 { infinities(elements) } else { (0, 0) };
    let bits = (finite.0.to_bits64(), finite.1.to_bits64());
    Extent {
        count: elements.len() as u64,
        nan: not_finite as u64 - positive_infinity - negative_infinity,
        positive_infinity,
        negative_infinity,
        finite: (not_finite < elements.len()).then_some(bits),
    }
}

/// Returns the least and the greatest of some keys. Maxima of integers vectorise.
#[inline(always)]
fn range_of<T: Ordered>(keys: impl Iterator<Item = T::Key>) -> (T::Key, T::Key) {
    keys.fold((T::Key::max_value(), T::Key::min_value()), |(least, greatest), key| (least.min(key), greatest.max(key)))
}

impl ExtentScan {
    /// Binds the scan. `missing` are bit patterns that count as NaN. They are compared as numbers.
    pub fn new(number_type: NumberType, missing: &[u64]) -> Self {
        let kernel = with_element!(number_type.element(), T => TileKernel::new(ExtentLoop::<T>(PhantomData)));
        ExtentScan { number_type, missing: MissingFilter::new(number_type, missing), kernel }
    }

    /// Adds the elements of `source` to `extent`.
    pub fn scan(&self, source: &[u8], extent: &mut Extent) {
        let add_tile = |tile: &[u8]| self.merge(extent, &self.kernel.run(tile, &mut []));
        let missing = self.missing.each_present(source, add_tile).all;
        extent.count += missing;
        extent.nan += missing;
    }

    /// Adds one extent to another.
    pub fn merge(&self, extent: &mut Extent, other: &Extent) {
        extent.merge(other, self.number_type);
    }
}

/// Returns the bits of the least and the greatest value of two ranges.
fn widened(number_type: NumberType, one: Option<(u64, u64)>, two: Option<(u64, u64)>) -> Option<(u64, u64)> {
    let (Some(one), Some(two)) = (one, two) else { return one.or(two) };
    Some(with_element!(number_type.element(), T => {
        let key = |bits| T::from_bits64(bits).key();
        (if key(two.0) < key(one.0) { two.0 } else { one.0 }, if key(two.1) > key(one.1) { two.1 } else { one.1 })
    }))
}

/// Returns the numbers of +Infinity and -Infinity, for floats.
#[inline(always)]
fn infinities<T: Ordered>(elements: &[T]) -> (u64, u64) {
    let zero = T::from_bits64(0);
    let (mut positive, mut negative) = (0_u32, 0_u32);
    for element in elements {
        positive += u32::from(!element.is_finite() & (*element > zero));
        negative += u32::from(!element.is_finite() & (*element < zero));
    }
    (u64::from(positive), u64::from(negative))
}

// Figures of an array: counts, extremes, sums and squares, from one pass over its elements.
//
// Summaries of parts are merged. Counts are exact, and sums have about 106 bits. Merged in one order, they are the
// same bits on any number of threads.

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
        // From magnitudes of at most 2^470 come distances of at most 2^471. 2^64 of their squares are at most 2^1006,
        // and a float64 reaches 2^1024.
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
        // The squares stay 0, because equal elements have no distance from their mean.
        let Extent { count: all, nan, positive_infinity, negative_infinity, .. } = &mut summary.extent;
        for number in [all, nan, positive_infinity, negative_infinity, &mut summary.equal] {
            *number *= count;
        }
        summary.sum = product(summary.sum, count);
        summary
    }

    /// Adds one summary to another.
    pub fn merge(&self, summary: &mut Summary, other: &Summary) {
        let [finite, others] = [summary.extent, other.extent].map(|extent| extent.num_finite());
        if finite > 0 && others > 0 {
            // The squares of two parts are merged by the formula of Chan, Golub and LeVeque (1983).
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
    // Each half of the count is exact in float64, unlike a count beyond 2^53.
    sum.times(approximate(count >> 32)).times(4_294_967_296.0) + sum.times(approximate(count & 0xffff_ffff))
}

/// Sums in parallel, so that the compiler can use vectors.
const LANES: usize = 16;

/// An element type whose tiles can be summarised. All values are exact in float64, unless it has its own `moments`.
trait Summed: Ordered {
    /// Returns the sums over finite elements. The first pivot is the middle of the extremes, so that one pass computes
    /// both. If it is so far from the mean that the squares would lose bits, a second pass uses the mean.
    #[inline(always)]
    fn moments(elements: &[Self], finite: u64, extremes: (Self, Self), scale: f64) -> Moments {
        let count = approximate(finite);
        // Only squares of float64 may be out of range.
        let is_scaled = matches!(Self::TYPE, ElementType::Float64);
        let value_of = |element: Self| if is_scaled { element.value() * scale } else { element.value() };
        // The sum of both extremes may be beyond the range of float64. The sum of their halves is not.
        let middle = 0.5 * value_of(extremes.0) + 0.5 * value_of(extremes.1);
        let pivot = if middle.is_finite() { middle } else { 0.0 };
        let (mut sums, mut lost, mut squares) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        in_lanes(elements, |lane, element| {
            let is_finite = element.is_finite();
            let wide = value_of(element);
            let value = if is_finite { wide } else { 0.0 };
            let distance = if is_finite { wide - pivot } else { 0.0 };
            let (total, error) = two_sum(sums[lane], value);
            sums[lane] = total;
            lost[lane] += error;
            squares[lane] += distance * distance;
        });
        let sum = sums.iter().zip(&lost).fold(Double::default(), |all, (sum, lost)| all + Double::new(*sum, *lost));
        let distances = sum - Double::from(pivot).times(count);
        let squares = fold(&squares, f64::add);
        let shift = distances.value() / count;
        if shift * shift * count <= squares / 2.0 {
            return Moments { sum, distances, squares };
        }
        let mean = sum.value() / count;
        let squares = squares_of(elements, |element| if element.is_finite() { value_of(element) - mean } else { 0.0 });
        Moments { sum, distances: sum - Double::from(mean).times(count), squares }
    }
}

/// The sums over the finite elements of a tile.
#[derive(Debug, Clone, Copy)]
struct Moments {
    /// The sum of the elements.
    sum: Double,
    /// The sum of their distances from a pivot near the mean.
    distances: Double,
    /// The sum of the squares of these distances.
    squares: f64,
}

/// The loop over a tile: two passes over elements that stay in the first-level cache. Sums have several lanes, each
/// with its rounding errors. Squares are of distances from a pivot between the tile's own extremes, so that little
/// cancels.
struct SummaryLoop<T> {
    /// The value that is counted. If it is NaN, all NaN count as equal to it.
    counted: T,
    /// A power of two that brings squares of float64 into range.
    scale: f64,
}

impl<T: Summed> TileLoop for SummaryLoop<T> {
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
        let distance = distances.value();
        let squares = (squares - distance * distance / approximate(divisor)).max(0.0);
        Summary {
            extent,
            equal: if counted == counted { u64::from(equal) } else { extent.nan },
            sum,
            squares: Double::from(squares),
        }
    }
}

macro_rules! narrow {
    ($($type:ty),*) => { $(impl Summed for $type {})* };
}

narrow!(i8, i16, i32, u8, u16, u32, f16, f32, f64);

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
    fold(&squares, f64::add)
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
                // A tile has 2,048 elements, so sums of their 32-bit halves fit into 64 bits.
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

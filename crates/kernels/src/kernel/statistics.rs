//! The extent of an array's values: the least and the greatest finite one, and counts of the others.

use std::marker::PhantomData;

use half::f16;
use num_traits::{AsPrimitive, Bounded};
use serde::{Deserialize, Serialize};

use super::dispatch::{TileKernel, TileLoop};
use super::missing::MissingFilter;
use super::narrow::FloatElement;
use super::round::WideFloat;
use crate::element::{Element, NumberType};
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
    type State = ();
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

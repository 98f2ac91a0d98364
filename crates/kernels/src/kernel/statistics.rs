//! Extent of an array's values: the least and the greatest finite one, and counts of the others.

use half::f16;
use serde::{Deserialize, Serialize};

use super::dispatch::{TileKernel, TileLoop};
use super::missing::MissingFilter;
use crate::element::{Element, NumberType};
use crate::with_element;

/// The extent of a slice of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Extent {
    /// Elements.
    pub count: u64,
    /// NaN, and values that count as missing.
    pub nan: u64,
    /// +Infinity.
    pub positive_infinity: u64,
    /// -Infinity.
    pub negative_infinity: u64,
    /// Bits of the least and greatest finite value (-0.0 before 0.0); `None` where there is none.
    pub finite: Option<(u64, u64)>,
}

/// A bound scan for the extent of floats or integers.
#[derive(Debug, Clone)]
pub struct ExtentScan {
    number_type: NumberType,
    missing: MissingFilter,
    kernel: TileKernel<(), TileExtent>,
}

/// The extent of a tile.
#[derive(Debug, Clone, Copy)]
struct TileExtent {
    /// Bits of the least and greatest finite value; the least is the greater one where there is none.
    finite: (u64, u64),
    /// NaN and infinities.
    not_finite: usize,
}

/// A type whose order is that of integers, once its bits are turned for it.
pub(super) trait Ordered: Element {
    type Key: Copy + Ord;
    const LEAST: Self::Key;
    const GREATEST: Self::Key;
    /// The element in that order.
    fn key(self) -> Self::Key;
    /// And back.
    fn of_key(key: Self::Key) -> Self;
    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;
}

macro_rules! ordered_integer {
    ($($type:ty),*) => {$(
        impl Ordered for $type {
            type Key = $type;
            const LEAST: $type = <$type>::MIN;
            const GREATEST: $type = <$type>::MAX;
            #[inline(always)]
            fn key(self) -> $type { self }
            #[inline(always)]
            fn of_key(key: $type) -> $type { key }
            #[inline(always)]
            fn is_finite(self) -> bool { true }
        }
    )*};
}

macro_rules! ordered_float {
    ($type:ty, $unsigned:ty, $signed:ty) => {
        impl Ordered for $type {
            type Key = $signed;
            const LEAST: $signed = <$signed>::MIN;
            const GREATEST: $signed = <$signed>::MAX;
            // The magnitude of a negative float grows with its bits: turning them over orders it among the others.
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
        }
    };
}

ordered_integer!(i8, i16, i32, i64, u8, u16, u32, u64);
ordered_float!(f16, u16, i16);
ordered_float!(f32, u32, i32);
ordered_float!(f64, u64, i64);

struct ExtentLoop<T>(std::marker::PhantomData<T>);

impl<T: Ordered> TileLoop for ExtentLoop<T> {
    type Parameters = ();
    type Outcome = TileExtent;

    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], _target: &mut [u8], (): &()) -> TileExtent {
        let elements: &[T] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let (least, greatest) = extent::<T>(elements.iter().map(|element| element.key()));
        let mut not_finite = 0;
        let mut finite = (T::of_key(least), T::of_key(greatest));
        // Infinities and NaN lie outside the finite values in the order of bits.
        if !(finite.0.is_finite() && finite.1.is_finite()) {
            let substitute = elements.iter().find(|element| element.is_finite());
            let key = substitute.map_or(least, |element| element.key());
            let keys = elements.iter().map(|element| if element.is_finite() { element.key() } else { key });
            let (least, greatest) = extent::<T>(keys);
            finite = (T::of_key(least), T::of_key(greatest));
            not_finite = elements.iter().filter(|element| !element.is_finite()).count();
        }
        TileExtent { finite: (finite.0.to_bits64(), finite.1.to_bits64()), not_finite }
    }
}

/// The least and the greatest of some keys, as maxima of integers, which vectorise.
#[inline(always)]
fn extent<T: Ordered>(keys: impl Iterator<Item = T::Key>) -> (T::Key, T::Key) {
    keys.fold((T::GREATEST, T::LEAST), |(least, greatest), key| (least.min(key), greatest.max(key)))
}

impl ExtentScan {
    /// Binds it; `missing` are bit patterns that count as NaN, compared as numbers.
    pub fn new(number_type: NumberType, missing: &[u64]) -> Self {
        let kernel = with_element!(number_type.element(), T => TileKernel::select::<ExtentLoop<T>>());
        ExtentScan { number_type, missing: MissingFilter::new(number_type, missing), kernel }
    }

    /// The extent of no element.
    pub fn empty(&self) -> Extent {
        Extent { count: 0, nan: 0, positive_infinity: 0, negative_infinity: 0, finite: None }
    }

    /// Adds the elements of `source` to `extent`.
    pub fn scan(&self, source: &[u8], extent: &mut Extent) {
        let size = self.number_type.size();
        extent.count += (source.len() / size) as u64;
        let missing = self.missing.each_present(source, |tile| self.scan_tile(tile, extent));
        extent.nan += missing.all;
    }

    /// Adds a tile without missing values.
    fn scan_tile(&self, tile: &[u8], extent: &mut Extent) {
        let found = self.kernel.run(tile, &mut [], &());
        let size = self.number_type.size();
        if found.not_finite > 0 {
            let (positive, negative) = with_element!(self.number_type.element(), T => {
                infinities::<T>(bytemuck::try_cast_slice(tile).unwrap_or_default())
            });
            extent.positive_infinity += positive as u64;
            extent.negative_infinity += negative as u64;
            extent.nan += (found.not_finite - positive - negative) as u64;
        }
        if found.not_finite < tile.len() / size {
            self.widen(extent, found.finite);
        }
    }

    /// Adds one extent to another.
    pub fn merge(&self, extent: &mut Extent, other: &Extent) {
        extent.count += other.count;
        extent.nan += other.nan;
        extent.positive_infinity += other.positive_infinity;
        extent.negative_infinity += other.negative_infinity;
        if let Some(finite) = other.finite {
            self.widen(extent, finite);
        }
    }

    fn widen(&self, extent: &mut Extent, found: (u64, u64)) {
        extent.finite = Some(
            extent
                .finite
                .map_or(found, |finite| with_element!(self.number_type.element(), T => widened::<T>(finite, found))),
        );
    }
}

/// The bits of the least and the greatest of two ranges.
pub(super) fn widened<T: Ordered>(one: (u64, u64), two: (u64, u64)) -> (u64, u64) {
    let key = |bits| T::from_bits64(bits).key();
    (if key(two.0) < key(one.0) { two.0 } else { one.0 }, if key(two.1) > key(one.1) { two.1 } else { one.1 })
}

/// Counts of +Infinity and -Infinity, among floats.
#[inline(always)]
pub(super) fn infinities<T: Ordered>(elements: &[T]) -> (usize, usize) {
    let zero = T::from_bits64(0);
    let (mut positive, mut negative) = (0_u32, 0_u32);
    for element in elements {
        positive += u32::from(!element.is_finite() & (*element > zero));
        negative += u32::from(!element.is_finite() & (*element < zero));
    }
    (positive as usize, negative as usize)
}

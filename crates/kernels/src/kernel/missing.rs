//! Missing elements, removed from a slice: CF conventions, section 2.5.1.

use super::dispatch::{TileKernel, TileLoop};
use super::tile::{TileBuffer, each_tile};
use crate::element::{Element, NumberType};
use crate::with_element;

/// A filter of the elements that equal one of some values.
#[derive(Debug, Clone)]
pub struct MissingFilter {
    number_type: NumberType,
    missing: Vec<u64>,
    kernel: TileKernel<MissingCount>,
}

/// The number of missing elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MissingCount {
    /// Those equal to any of the values.
    pub all: u64,
    /// Those equal to the first of the values.
    pub first: u64,
}

impl std::ops::AddAssign for MissingCount {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.first += other.first;
    }
}

/// The missing values.
struct CountLoop<T>(Vec<T>);

impl<T: Element> TileLoop for CountLoop<T> {
    type Outcome = MissingCount;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], _target: &mut [u8], (): &()) -> MissingCount {
        let elements: &[T] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let (mut all, mut first) = (0, 0);
        for (index, value) in self.0.iter().enumerate() {
            // A tile has few elements, and counts of the width of floats vectorise.
            let count = elements.iter().fold(0_u32, |count, element| count + u32::from(element == value));
            all += u64::from(count);
            first = if index == 0 { u64::from(count) } else { first };
        }
        MissingCount { all, first }
    }
}

impl MissingFilter {
    /// Binds it to the bit patterns of the values. They are compared as numbers: -0.0 equals 0.0, and NaN equals
    /// nothing.
    pub fn new(number_type: NumberType, missing: &[u64]) -> Self {
        let is_zero = |bits: &u64| number_type.small_float().is_some_and(|float| float.to_f64(*bits) == Some(0.0));
        // Small floats are compared as integers, so both zeros are listed.
        let patterns = if missing.iter().any(is_zero) { 1_u64 << (8 * number_type.size()) } else { 0 };
        let zeros: Vec<u64> = (0..patterns).filter(is_zero).collect();
        with_element!(number_type.element(), T => {
            let mut distinct: Vec<T> = Vec::new();
            for value in missing.iter().chain(&zeros).map(|bits| T::from_bits64(*bits)) {
                // An element that equals two entries would be counted twice.
                if !distinct.contains(&value) {
                    distinct.push(value);
                }
            }
            let missing = distinct.iter().map(|value| value.to_bits64()).collect();
            MissingFilter { number_type, missing, kernel: TileKernel::new(CountLoop(distinct)) }
        })
    }

    /// Returns true if no value counts as missing.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns true if the value with these bits counts as missing.
    pub fn contains(&self, bits: u64) -> bool {
        with_element!(self.number_type.element(), T => {
            self.missing.iter().any(|missing| T::from_bits64(*missing) == T::from_bits64(bits))
        })
    }

    /// Calls `visit` with the index of each missing element of `source`.
    pub fn each_missing(&self, source: &[u8], mut visit: impl FnMut(usize)) {
        if self.is_empty() {
            return;
        }
        with_element!(self.number_type.element(), T => {
            let missing: Vec<T> = self.missing.iter().map(|bits| T::from_bits64(*bits)).collect();
            for (index, element) in source.chunks_exact(size_of::<T>()).enumerate() {
                if missing.contains(&bytemuck::pod_read_unaligned(element)) {
                    visit(index);
                }
            }
        });
    }

    /// Calls `visit` with the elements of `source` that are not missing, in order, in aligned pieces of at most a tile.
    pub fn each_present(&self, source: &[u8], mut visit: impl FnMut(&[u8])) -> MissingCount {
        let size = self.number_type.size();
        let (mut buffer, mut count) = (None, MissingCount::default());
        each_tile(source, size, |tile| {
            if self.is_empty() {
                return visit(tile);
            }
            let found = self.kernel.run(tile, &mut []);
            count += found;
            if found.all == 0 {
                visit(tile);
            } else if found.all < (tile.len() / size) as u64 {
                let copy = buffer.get_or_insert_with(TileBuffer::new).bytes_mut(tile.len());
                copy.copy_from_slice(tile);
                let kept = with_element!(self.number_type.element(), T => compact::<T>(copy, &self.missing));
                visit(&copy[..kept]);
            }
        });
        count
    }
}

/// Moves the elements that are not missing to the beginning, and returns their number of bytes.
fn compact<T: Element>(tile: &mut [u8], missing: &[u64]) -> usize {
    let elements: &mut [T] = bytemuck::try_cast_slice_mut(tile).unwrap_or_default();
    let missing: Vec<T> = missing.iter().map(|bits| T::from_bits64(*bits)).collect();
    let mut count = 0;
    for index in 0..elements.len() {
        let element = elements[index];
        elements[count] = element;
        count += usize::from(!missing.contains(&element));
    }
    count * size_of::<T>()
}

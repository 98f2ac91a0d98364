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
    type State = ();
    type Outcome = MissingCount;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], _target: &mut [u8], (): &()) -> MissingCount {
        let elements: &[T] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let (mut all, mut first) = (0, 0);
        for (place, value) in self.0.iter().enumerate() {
            // A tile has few elements, and counts of the width of floats vectorise.
            let count = elements.iter().fold(0_u32, |count, element| count + u32::from(element == value));
            all += u64::from(count);
            first = if place == 0 { u64::from(count) } else { first };
        }
        MissingCount { all, first }
    }
}

impl MissingFilter {
    /// Binds it to the bit patterns of the values. They are compared as numbers: -0.0 equals 0.0, and NaN equals
    /// nothing.
    pub fn new(number_type: NumberType, missing: &[u64]) -> Self {
        with_element!(number_type.element(), T => {
            let mut distinct: Vec<T> = Vec::new();
            for value in missing.iter().map(|bits| T::from_bits64(*bits)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn present<T: Element>(values: &[T], missing: &[T]) -> (Vec<T>, MissingCount) {
        let missing: Vec<u64> = missing.iter().map(|value| value.to_bits64()).collect();
        let filter = MissingFilter::new(NumberType::of(T::TYPE), &missing);
        let mut kept = Vec::new();
        let count = filter.each_present(bytemuck::cast_slice(values), |piece| {
            kept.extend_from_slice(bytemuck::cast_slice::<u8, T>(piece));
        });
        (kept, count)
    }

    #[test]
    fn missing_elements_are_left_out_and_the_others_keep_their_order() {
        let values: Vec<i16> = (0..5000).map(|index| if index % 3 == 0 { -999 } else { index }).collect();
        let (kept, count) = present(&values, &[-999, 4]);
        let expected: Vec<i16> = (0..5000).filter(|index| index % 3 != 0 && *index != 4).collect();
        assert_eq!(kept, expected);
        assert_eq!(count, MissingCount { all: 1668, first: 1667 });
        assert_eq!(present(&values, &[]).0, values);
        assert_eq!(present(&[-999_i16; 3000], &[-999]), (Vec::new(), MissingCount { all: 3000, first: 3000 }));
    }

    #[test]
    fn values_are_compared_as_numbers_and_counted_once() {
        let (kept, count) = present(&[0.0_f32, -0.0, 1.0, f32::INFINITY], &[-0.0, 0.0, f32::NAN]);
        assert_eq!(kept, [1.0, f32::INFINITY]);
        assert_eq!(count, MissingCount { all: 2, first: 2 });
        let (kept, count) = present(&[f64::NAN, 2.0], &[f64::NAN]);
        assert!(kept[0].is_nan() && kept.len() == 2 && count.all == 0);
    }

    #[test]
    fn unaligned_elements_are_filtered() {
        let mut bytes = vec![0_u8; 4001];
        bytes[1..].copy_from_slice(bytemuck::cast_slice(&[2.5_f32; 1000]));
        bytes[5..9].copy_from_slice(&7.5_f32.to_ne_bytes());
        let filter = MissingFilter::new(NumberType::of(f32::TYPE), &[7.5_f32.to_bits64()]);
        let mut kept = 0;
        let count = filter.each_present(&bytes[1..], |piece| kept += piece.len());
        assert_eq!((kept, count.all), (3996, 1));
        let mut indices = Vec::new();
        filter.each_missing(&bytes[1..], |index| indices.push(index));
        assert_eq!(indices, [1]);
    }
}

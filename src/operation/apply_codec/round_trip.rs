//! Whether what was decoded is what was encoded.

use crate::codec::fault::number_value;
use crate::element::{Element, NumberType};
use crate::operation::apply_codec_result::RoundTrip;
use crate::pipeline::ArrayRepresentation;
use crate::with_element;

/// What a comparison has found so far.
#[derive(Debug, Default)]
struct Differences {
    /// Components that differ in value, by element.
    differing: u64,
    last: Option<usize>,
    first: Option<usize>,
    greatest: f64,
    at: Option<usize>,
}

/// Compares elements of the same array. NaN equals NaN and -0 equals 0 here; only `bit_identical` tells them apart.
pub(super) fn compare(array: &ArrayRepresentation, before: &[u8], after: &[u8]) -> RoundTrip {
    let mut found = Differences::default();
    let components = array.data_type.components();
    if before != after {
        match (components, &array.data_type) {
            (Some((number_type, count)), _) => found.add_all(number_type, count, before, after),
            (None, other) => found.add_raw(other.size().unwrap_or(1), before, after),
        }
    }
    let is_number = components.is_some();
    RoundTrip {
        bit_identical: before == after,
        differing: found.differing,
        max_abs_error: is_number.then_some(found.greatest),
        at: found.at.or(found.first).map(|index| crate::grid::unravel(index as u64, &array.shape)),
    }
}

impl Differences {
    /// Counts an element once, though both of its components may differ.
    fn count(&mut self, element: usize) {
        if self.last != Some(element) {
            self.differing += 1;
            self.last = Some(element);
            self.first.get_or_insert(element);
        }
    }

    fn add_all(&mut self, number_type: NumberType, components: usize, before: &[u8], after: &[u8]) {
        with_element!(number_type.element(), T => {
            for (place, (before, after)) in elements::<T>(before).zip(elements::<T>(after)).enumerate() {
                self.add(place / components, number_type, before.to_bits64(), after.to_bits64());
            }
        });
    }

    fn add(&mut self, element: usize, number_type: NumberType, before: u64, after: u64) {
        if before == after {
            return;
        }
        let error = difference(number_type, before, after);
        if error == 0.0 {
            return;
        }
        self.count(element);
        if error > self.greatest {
            self.greatest = error;
            self.at = Some(element);
        }
    }

    fn add_raw(&mut self, size: usize, before: &[u8], after: &[u8]) {
        for (element, (before, after)) in before.chunks(size).zip(after.chunks(size)).enumerate() {
            if before != after {
                self.count(element);
            }
        }
    }
}

fn elements<T: Element>(bytes: &[u8]) -> impl Iterator<Item = T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned)
}

/// |before - after|; 0 for two NaN; NaN where one alone is NaN.
#[expect(clippy::float_cmp, reason = "equal is equal")]
fn difference(number_type: NumberType, before: u64, after: u64) -> f64 {
    if number_type.is_float() {
        let (before, after) = (number_value(number_type, before), number_value(number_type, after));
        if before.is_nan() && after.is_nan() || before == after { 0.0 } else { (before - after).abs() }
    } else {
        #[expect(clippy::cast_precision_loss, reason = "the difference is rounded once")]
        let difference = integer(number_type, before).abs_diff(integer(number_type, after)) as f64;
        difference
    }
}

fn integer(number_type: NumberType, bits: u64) -> i128 {
    if number_type.element().is_signed_integer() {
        let unused = 64 - 8 * number_type.size();
        i128::from((bits << unused).cast_signed() >> unused)
    } else {
        i128::from(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::DataType;
    use crate::element::ElementType;

    fn compare_floats(before: [f32; 4], after: [f32; 4]) -> RoundTrip {
        let array = ArrayRepresentation {
            data_type: DataType::Number(NumberType::of(ElementType::Float32)),
            shape: vec![2, 2],
            fill_value: None,
        };
        let bytes = |values: [f32; 4]| values.map(f32::to_ne_bytes).concat();
        compare(&array, &bytes(before), &bytes(after))
    }

    #[test]
    fn nan_payloads_and_signs_of_zero_are_bits_not_values() {
        let found = compare_floats([f32::NAN, 0.0, 1.0, 2.0], [-f32::NAN, -0.0, 1.0, 2.0]);
        assert_eq!(
            found,
            RoundTrip { bit_identical: false, differing: 0, max_abs_error: Some(0.0), at: None }
        );
    }

    #[test]
    fn greatest_difference_is_found_where_it_is() {
        let found = compare_floats([0.0, 1.0, 2.0, f32::NAN], [0.5, 1.0, 4.0, 0.0]);
        assert_eq!(
            found,
            RoundTrip { bit_identical: false, differing: 3, max_abs_error: Some(2.0), at: Some(vec![1, 0]) }
        );
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "each is exact")]
    fn integers_of_64_bits_are_subtracted_exactly() {
        let int64 = NumberType::of(ElementType::Int64);
        let (least, greatest) = (i64::MIN.cast_unsigned(), i64::MAX.cast_unsigned());
        assert_eq!(difference(int64, least, greatest), 18_446_744_073_709_551_615.0);
        assert_eq!(difference(int64, greatest, greatest - 1), 1.0);
    }
}

//! Whether what was decoded is what was encoded.

use crate::grid::unravel;
use crate::operation::against::value::{Compared, Comparer, Difference, Tolerance};
use crate::operation::apply_codec_result::RoundTrip;
use crate::pipeline::ArrayRepresentation;

/// Compares elements of the same array. NaN equals NaN and -0 equals 0 here; only `bit_identical` tells them apart.
pub(super) fn compare(array: &ArrayRepresentation, before: &[u8], after: &[u8]) -> RoundTrip {
    let comparer = Comparer::new(&array.data_type, &array.data_type, Tolerance::default());
    let found = comparer.map_or_else(|_| Compared::default(), |comparer| comparer.compare(before, after));
    let error = found.greatest.and_then(|greatest| greatest.difference).map_or(0.0, Difference::to_f64);
    RoundTrip {
        bit_identical: before == after,
        differing: found.differing,
        max_abs_error: array.data_type.components().map(|_| error),
        at: found.greatest.map(|greatest| unravel(greatest.index as u64, &array.shape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::DataType;
    use crate::element::{ElementType, NumberType};

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
        let int64 = DataType::Number(NumberType::of(ElementType::Int64));
        let array = ArrayRepresentation { data_type: int64, shape: vec![1], fill_value: None };
        let difference = |before: i64, after: i64| {
            compare(&array, &before.to_ne_bytes(), &after.to_ne_bytes()).max_abs_error.unwrap()
        };
        assert_eq!(difference(i64::MIN, i64::MAX), 18_446_744_073_709_551_615.0);
        assert_eq!(difference(i64::MAX, i64::MAX - 1), 1.0);
    }
}

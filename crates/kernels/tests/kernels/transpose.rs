use proptest::prelude::*;

use zarrcast_kernels::kernel::transpose::{Transpose, TransposeError};

/// Element by element, by the specification: `encoded[position permuted] = decoded[position]`.
fn naive(shape: &[usize], order: &[usize], size: usize, decoded: &[u8]) -> Vec<u8> {
    let mut encoded = vec![0; decoded.len()];
    let encoded_shape: Vec<usize> = order.iter().map(|&dimension| shape[dimension]).collect();
    for (index, element) in decoded.chunks_exact(size).enumerate() {
        let (mut rest, mut position) = (index, vec![0; shape.len()]);
        for dimension in (0..shape.len()).rev() {
            position[dimension] = rest % shape[dimension];
            rest /= shape[dimension];
        }
        let target =
            order.iter().zip(&encoded_shape).fold(0, |sum, (&dimension, &extent)| sum * extent + position[dimension]);
        encoded[target * size..][..size].copy_from_slice(element);
    }
    encoded
}

fn check(shape: &[usize], order: &[usize], size: usize) {
    let length = shape.iter().product::<usize>() * size;
    let sample = |byte: usize| u8::try_from(byte * 31 % 251).unwrap() ^ byte.to_le_bytes()[1];
    let decoded: Vec<u8> = (0..length).map(sample).collect();
    let wide: Vec<u64> = shape.iter().map(|&extent| extent as u64).collect();
    let transpose = Transpose::new(&wide, order, size).unwrap();
    let (mut encoded, mut back) = (vec![0; length], vec![0; length]);
    transpose.encode(&decoded, &mut encoded).unwrap();
    assert_eq!(encoded, naive(shape, order, size, &decoded), "{shape:?} {order:?} {size}");
    transpose.decode(&encoded, &mut back).unwrap();
    assert_eq!(back, decoded, "{shape:?} {order:?} {size}");
}

proptest! {
    #[test]
    fn transpose_equals_the_definition(
        (shape, order) in proptest::collection::vec(1_usize..7, 0..6)
            .prop_flat_map(|shape| {
                let order: Vec<usize> = (0..shape.len()).collect();
                (Just(shape), Just(order).prop_shuffle())
            }),
        size in prop::sample::select(vec![1_usize, 2, 3, 4, 8, 12, 16, 24]),
    ) {
        check(&shape, &order, size);
    }

    #[test]
    fn transpose_of_large_planes_equals_the_definition(
        height in 1_usize..150, width in 1_usize..150, depth in 1_usize..4,
        size in prop::sample::select(vec![1_usize, 2, 4, 8, 16, 5]),
    ) {
        check(&[height, depth, width], &[2, 1, 0], size);
        check(&[height, depth, width], &[2, 0, 1], size);
        check(&[height, depth, width], &[1, 0, 2], size);
    }
}

#[test]
fn transpose_of_an_identity_moves_everything_as_one() {
    let is_identity =
        |shape: &[u64], order| Transpose::new(shape, order, 4) == Transpose::new(&[shape.iter().product()], &[0], 4);
    assert!(is_identity(&[3, 4], &[0, 1]));
    assert!(is_identity(&[3, 1, 4], &[1, 0, 2]));
    assert!(is_identity(&[], &[]));
    assert!(!is_identity(&[3, 4], &[1, 0]));
}

#[test]
fn transpose_orders_that_are_no_permutations_have_no_plan() {
    for order in [vec![0], vec![0, 0], vec![0, 2], vec![0, 1, 2]] {
        assert!(Transpose::new(&[2, 2], &order, 1).is_none(), "{order:?}");
    }
}

#[test]
fn transpose_of_what_memory_cannot_hold_is_an_error() {
    assert!(Transpose::new(&[1 << 40, 1 << 40], &[1, 0], 8).is_none());
    let transpose = Transpose::new(&[2, 3], &[1, 0], 2).unwrap();
    let error = transpose.encode(&[0; 11], &mut [0; 12]).unwrap_err();
    assert_eq!(error, TransposeError { expected: 12, found: 11 });
}

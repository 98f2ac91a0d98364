#![expect(clippy::cast_possible_truncation, reason = "smaller elements are the low bytes of a value")]
use proptest::prelude::*;
use zarrcast_kernels::kernel::differences::Differences;

/// Returns the indices of a chunk's elements. The last dimension of `order` varies fastest.
fn places(shape: &[usize], order: &[usize]) -> Vec<usize> {
    order.iter().fold(vec![0], |places, dimension| {
        let stride: usize = shape[dimension + 1..].iter().product();
        places.iter().flat_map(|place| (0..shape[*dimension]).map(move |index| place + index * stride)).collect()
    })
}

fn case() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, Vec<u64>)> {
    let shape = prop::collection::vec(prop_oneof![Just(1), 1..5_usize, 60..70_usize], 1..4);
    shape.prop_flat_map(|shape| {
        let order = Just((0..shape.len()).collect::<Vec<_>>()).prop_shuffle();
        let values = prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), 0..300_u64];
        let values = prop::collection::vec(values, shape.iter().product::<usize>());
        (Just(shape), order, values)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn differences_are_those_of_a_transposed_chunk_and_sums_give_it_back((shape, order, values) in case()) {
        let differences = Differences::new(&shape, &order);
        for size in [1, 2, 4, 8] {
            let cut = |values: &[u64]| -> Vec<u8> {
                let native = |value: &u64| match size {
                    1 => (*value as u8).to_ne_bytes().to_vec(),
                    2 => (*value as u16).to_ne_bytes().to_vec(),
                    4 => (*value as u32).to_ne_bytes().to_vec(),
                    _ => value.to_ne_bytes().to_vec(),
                };
                values.iter().flat_map(native).collect()
            };
            let mut expected = values.clone();
            for pair in places(&shape, &order).windows(2) {
                expected[pair[1]] = values[pair[1]].wrapping_sub(values[pair[0]]);
            }
            let mut bytes = cut(&values);
            let mut spare = vec![7; differences.num_rows() * size];
            differences.encode(size, &mut bytes, &mut spare);
            prop_assert_eq!(&bytes, &cut(&expected));
            differences.decode(size, &mut bytes, &mut spare);
            prop_assert_eq!(&bytes, &cut(&values));
        }
    }
}

use zarrcast_kernels::element::{Element, NumberType};
use zarrcast_kernels::kernel::missing::{MissingCount, MissingFilter};

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

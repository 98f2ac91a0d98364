//! The filters compared with a plain reference and with numcodecs' own examples.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts are tested")]

use PythonNumber::{Float, Integer};
use num_bigint::BigInt;
use num_traits::One;
use proptest::prelude::*;

use zarrcast_kernels::element::{Element, ElementType, NumberType};
use zarrcast_kernels::kernel::ElementFault;
use zarrcast_kernels::kernel::numcodecs::{self, *};

const fn of(element: ElementType) -> NumberType {
    NumberType::of(element)
}

fn bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    elements.iter().flat_map(|element| bytemuck::bytes_of(element).to_vec()).collect()
}

fn elements<T: Element>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// Encodes with a filter from unaligned bytes.
fn encoded<S: Element, T: Element>(filter: &ElementFilter, decoded: &[S]) -> Result<Vec<T>, ElementFault> {
    assert_eq!(filter.types, (of(S::TYPE), of(T::TYPE)));
    let source = [&[0][..], &bytes(decoded)].concat();
    let mut target = vec![0; decoded.len() * size_of::<T>()];
    filter.encode(&source[1..], &mut target)?;
    Ok(elements(&target))
}

fn decoded<S: Element, T: Element>(filter: &ElementFilter, encoded: &[S]) -> Result<Vec<T>, ElementFault> {
    assert_eq!(filter.types, (of(T::TYPE), of(S::TYPE)));
    let mut target = vec![0; encoded.len() * size_of::<T>()];
    filter.decode(&bytes(encoded), &mut target)?;
    Ok(elements(&target))
}

fn scale_offset<S: Element, T: Element>(offset: PythonNumber, scale: PythonNumber) -> ElementFilter {
    fixed_scale_offset((of(S::TYPE), of(T::TYPE)), offset, scale)
}

fn delta<S: Element, T: Element>(values: &[S]) -> Result<Vec<T>, ElementFault> {
    let mut target = vec![0; values.len() * size_of::<T>()];
    numcodecs::delta(of(S::TYPE), of(T::TYPE)).encode(&bytes(values), &mut target)?;
    Ok(elements(&target))
}

fn sums<S: Element, T: Element>(values: &[S]) -> Result<Vec<T>, ElementFault> {
    let mut target = vec![0; values.len() * size_of::<T>()];
    numcodecs::delta(of(T::TYPE), of(S::TYPE)).decode(&bytes(values), &mut target)?;
    Ok(elements(&target))
}

#[test]
fn delta_of_many_elements_goes_on_from_tile_to_tile() {
    let values: Vec<u16> = (0..10_000_u32).map(|i| (i * i % 65_521) as u16).collect();
    let differences: Vec<i32> = delta(&values).unwrap();
    assert_eq!(differences.len(), values.len());
    assert_eq!(sums::<i32, u16>(&differences).unwrap(), values);
    // Differences wrap in `dtype`: 65535 is -1 as an int8.
    assert_eq!(delta::<u16, i8>(&[100, 99, 101]), Ok(vec![100, -1, 2]));
    assert_eq!(sums::<i8, u16>(&[100, -1, 2]), Ok(vec![100, 99, 101]));
}

#[test]
fn scale_of_quantize_is_the_least_power_of_two_of_as_many_digits() {
    for digits in LEAST_DIGITS..=GREATEST_DIGITS {
        let power = num_traits::pow(BigInt::from(10), digits.unsigned_abs() as usize);
        let exact =
            if digits >= 0 { (power - BigInt::one()).bits() as i32 } else { 1 - i32::try_from(power.bits()).unwrap() };
        assert_eq!(scale_exponent(digits), exact, "{digits}");
    }
}

proptest! {
    #[test]
    fn fixed_scale_offset_is_two_operations_in_the_arrays_type(
        values in proptest::collection::vec(-1e4_f32..1e4, 0..50),
        codes in proptest::collection::vec(any::<u16>(), 0..50),
        offset in -1e3_f64..1e3, scale in 0.01_f64..1e2,
    ) {
        let filter = scale_offset::<f32, f32>(Float(offset), Float(scale));
        let expected: Vec<f32> =
            values.iter().map(|value| ((value - offset as f32) * scale as f32).round_ties_even()).collect();
        prop_assert_eq!(encoded(&filter, &values), Ok(expected.clone()));
        let back: Vec<f32> = expected.iter().map(|code| code / scale as f32 + offset as f32).collect();
        prop_assert_eq!(decoded(&filter, &expected), Ok(back));
        // Integers are divided in float64 and then converted to the type of the array.
        let filter = scale_offset::<f32, u16>(Float(offset), Float(scale));
        let back: Vec<f32> = codes.iter().map(|code| (f64::from(*code) / scale + offset) as f32).collect();
        prop_assert_eq!(decoded(&filter, &codes), Ok(back));
    }

    #[test]
    fn fixed_scale_offset_of_integers_wraps(
        values in proptest::collection::vec(any::<i32>(), 0..50),
        offset in any::<i32>(), scale in -5_i32..6,
    ) {
        let filter = scale_offset::<i32, i16>(Integer(offset.into()), Integer(scale.into()));
        let exact = |value: &i32| ((i64::from(*value) - i64::from(offset)) * i64::from(scale)) as i16;
        let expected: Vec<i16> = values.iter().map(exact).collect();
        prop_assert_eq!(encoded::<i32, i16>(&filter, &values), Ok(expected));
    }

    #[test]
    fn delta_comes_back(
        values in proptest::collection::vec(any::<i64>(), 0..50),
        floats in proptest::collection::vec(-1e3_f32..1e3, 0..50),
    ) {
        let differences: Vec<i64> = delta(&values).unwrap();
        let expected: Vec<i64> =
            values.iter().enumerate().map(|(i, value)| if i == 0 { *value } else { value.wrapping_sub(values[i - 1]) }).collect();
        prop_assert_eq!(&differences, &expected);
        prop_assert_eq!(sums::<i64, i64>(&differences), Ok(values));
        let differences: Vec<f64> = delta(&floats).unwrap();
        // Sums are computed in the wider of both types.
        let mut sum = 0.0_f64;
        let expected: Vec<f32> = differences.iter().map(|difference| {
            sum += difference;
            sum as f32
        }).collect();
        prop_assert_eq!(sums::<f64, f32>(&differences), Ok(expected));
    }

    #[test]
    fn reversible_casts_of_integers_come_back_or_are_faults(values in proptest::collection::vec(any::<u16>(), 1..20)) {
        let number = |element| NumpyType::Number(of(element));
        let filter = as_type(number(ElementType::UInt16), number(ElementType::Int8));
        let comes_back = |value: &u16| (*value as i8) as u16 == *value;
        match encoded::<u16, i8>(&filter, &values) {
            Ok(codes) => prop_assert_eq!(decoded::<i8, u16>(&filter, &codes), Ok(values)),
            Err(fault) => prop_assert_eq!(values.iter().position(|value| !comes_back(value)), Some(fault.index)),
        }
    }
}

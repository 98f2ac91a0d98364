use super::*;
use crate::element::{Element, ElementType};

fn cast<S: Element, T: Element>(rounding: Rounding, out_of_range: OutOfRange, map: &[(u64, u64)]) -> Cast {
    Cast::new(CastOptions {
        source: NumberType::of(S::TYPE),
        target: NumberType::of(T::TYPE),
        rounding,
        out_of_range,
        scalar_map: map.to_vec(),
    })
}

fn one<S: Element, T: Element>(value: S, rounding: Rounding, out_of_range: OutOfRange) -> Result<T, FaultKind> {
    cast::<S, T>(rounding, out_of_range, &[]).convert_one(value.to_bits64()).map(T::from_bits64)
}

#[test]
fn rounding_precedes_the_range_test() {
    use OutOfRange::Error;
    assert_eq!(one::<f32, u8>(255.4, Rounding::NearestEven, Error), Ok(255));
    assert_eq!(one::<f32, u8>(255.5, Rounding::NearestEven, Error), Err(FaultKind::OutOfRange));
    assert_eq!(one::<f32, u8>(255.5, Rounding::TowardsZero, Error), Ok(255));
    assert_eq!(one::<f32, u8>(-0.4, Rounding::NearestEven, Error), Ok(0));
}

#[test]
fn bounds_are_exact() {
    let even = Rounding::NearestEven;
    assert_eq!(one::<f32, i32>(2_147_483_648.0, even, OutOfRange::Error), Err(FaultKind::OutOfRange));
    assert_eq!(one::<f32, i32>(2_147_483_648.0, even, OutOfRange::Clamp), Ok(i32::MAX));
    assert_eq!(one::<f32, i32>(2_147_483_648.0, even, OutOfRange::Wrap), Ok(i32::MIN));
    assert_eq!(one::<f64, i64>(9.223_372_036_854_776e18, even, OutOfRange::Clamp), Ok(i64::MAX));
    assert_eq!(one::<f64, u64>(18_446_744_073_709_551_616.0, even, OutOfRange::Error), Err(FaultKind::OutOfRange));
    assert_eq!(one::<f64, i64>(-9_223_372_036_854_775_808.0, even, OutOfRange::Error), Ok(i64::MIN));
}

#[test]
fn wrap_is_modular_for_any_finite_float_and_no_other() {
    let even = Rounding::NearestEven;
    assert_eq!(one::<f64, u8>(1e300, even, OutOfRange::Wrap), Ok(0));
    assert_eq!(one::<f64, u8>(-1.0, even, OutOfRange::Wrap), Ok(255));
    assert_eq!(one::<f64, i8>(200.0, even, OutOfRange::Wrap), Ok(-56));
    assert_eq!(one::<f64, u8>(f64::INFINITY, even, OutOfRange::Wrap), Err(FaultKind::Infinite));
    assert_eq!(one::<f64, u8>(f64::INFINITY, even, OutOfRange::Clamp), Err(FaultKind::Infinite));
    assert_eq!(one::<f64, u8>(f64::NAN, even, OutOfRange::Clamp), Err(FaultKind::NotANumber));
    assert_eq!(one::<u32, half::f16>(70_000, even, OutOfRange::Wrap), Err(FaultKind::OutOfRange));
}

#[test]
fn integers_beyond_the_significand_are_rounded_once() {
    let value = (1_i64 << 53) + 1;
    assert_eq!(one::<i64, f64>(value, Rounding::NearestEven, OutOfRange::Error), Ok(9_007_199_254_740_992.0));
    assert_eq!(one::<i64, f64>(value, Rounding::TowardsPositive, OutOfRange::Error), Ok(9_007_199_254_740_994.0));
}

#[test]
fn scalar_map_matches_bits_first_then_nan_and_zero() {
    let map = [(0x7fc0_0000, 1), (0x7fc0_0001, 2), (0x8000_0000, 3), (0, 4), (0x8000_0000, 5)];
    let cast = cast::<f32, u8>(Rounding::NearestEven, OutOfRange::Error, &map);
    assert_eq!(cast.convert_one(0x7fc0_0001), Ok(2));
    assert_eq!(cast.convert_one(0xffc0_0001), Ok(1));
    assert_eq!(cast.convert_one(0x8000_0000), Ok(3));
    assert_eq!(cast.convert_one(0), Ok(4));
    assert_eq!(cast.convert_one(0x7f80_0000), Err(FaultKind::Infinite));
}

#[test]
fn nan_keeps_sign_and_payload() {
    let even = Rounding::NearestEven;
    let narrow = cast::<f64, f32>(even, OutOfRange::Error, &[]);
    assert_eq!(narrow.convert_one(0xfff0_0000_4000_0000), Ok(0xffc0_0002));
    let same = cast::<f32, f32>(even, OutOfRange::Error, &[]);
    assert_eq!(same.convert_one(0x7f80_0001), Ok(0x7f80_0001));
}

#[test]
fn logical_bounds_of_uint10_hold_on_both_sides() {
    let uint10 = NumberType::integer(false, 10).unwrap();
    let options = CastOptions {
        source: NumberType::of(ElementType::Float32),
        target: uint10,
        rounding: Rounding::NearestEven,
        out_of_range: OutOfRange::Clamp,
        scalar_map: Vec::new(),
    };
    let encode = Cast::new(options.clone());
    assert_eq!(encode.convert_one(2000f32.to_bits64()), Ok(1023));
    let decode = Cast::new(CastOptions { source: uint10, target: options.source, ..options });
    assert_eq!(decode.convert_one(1024), Err(FaultKind::NotOfType));
}

#[test]
fn a_fault_names_its_element() {
    let cast = cast::<f32, u8>(Rounding::NearestEven, OutOfRange::Error, &[]);
    let mut source = vec![1f32; 5000];
    source[4321] = 256.0;
    let mut target = vec![0u8; 5000];
    let fault = cast.convert(bytemuck::cast_slice(&source), &mut target);
    assert_eq!(fault, Err(ElementFault { kind: FaultKind::OutOfRange, index: 4321 }));
}

/// Every way of a map: entries that are tested, a table, and single elements looked up.
#[test]
fn map_of_any_length_gives_what_the_exact_path_gives() {
    fn check<S: Element, T: Element>(source: &[S], keys: &[S], out_of_range: OutOfRange) {
        for length in [1, 8, 9, 24, 25, keys.len()] {
            // The last entry repeats the first key, with another value: the first counts.
            let values = (0..).map(|number: u64| 200 - number % 50);
            let mut map: Vec<(u64, u64)> = keys[..length].iter().map(|key| key.to_bits64()).zip(values).collect();
            map.push((map[0].0, 7));
            let cast = cast::<S, T>(Rounding::NearestEven, out_of_range, &map);
            let mut target = vec![T::from_bits64(0); source.len()];
            let done = cast.convert(bytemuck::cast_slice(source), bytemuck::cast_slice_mut(&mut target));
            let expected: Vec<_> = source.iter().map(|x| cast.convert_one(x.to_bits64())).collect();
            let fault = expected.iter().position(Result::is_err);
            assert_eq!(done.map_err(|fault| fault.index), fault.map_or(Ok(()), Err), "{length}");
            let found = target.iter().map(|x| Ok(x.to_bits64()));
            assert!(fault.is_some() || found.eq(expected), "{length}");
        }
    }
    let floats: Vec<f32> = (0..9000_u16).map(|number| f32::from(number) - 0.5).collect();
    let special = [f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, f32::MAX];
    let keys: Vec<f32> = special.iter().copied().chain(floats.iter().copied().step_by(7)).collect();
    let source: Vec<f32> = floats.iter().chain(&special).copied().collect();
    check::<f32, u8>(&source, &keys, OutOfRange::Clamp);
    check::<f32, u8>(&source, &keys, OutOfRange::Error);
    check::<f32, f64>(&source, &keys, OutOfRange::Error);
    let wide: Vec<i64> = (-3000..3000).map(|number| number * 1_000_003).collect();
    check::<i64, u16>(&wide, &wide[100..400], OutOfRange::Wrap);
    let pairs: Vec<i16> = (i16::MIN..=i16::MAX).collect();
    check::<i16, u32>(&pairs, &pairs[..300], OutOfRange::Clamp);
    let bytes: Vec<u8> = (0..=255).collect();
    check::<u8, f32>(&bytes, &bytes[..40], OutOfRange::Error);
}

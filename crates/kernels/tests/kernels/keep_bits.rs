use half::f16;

use zarrcast_kernels::element::{Element, ElementType, NumberType};
use zarrcast_kernels::kernel::InstructionSet;
use zarrcast_kernels::kernel::keep_bits::{BitRound, KeepBits};
use zarrcast_kernels::kernel::quantize::QuantizeFigures;

/// Rounds values of float16 one by one. A value that would become infinite stays unchanged.
fn expected(keepbits: u32, source: &[u64]) -> Vec<u64> {
    let codec = BitRound { size: 2, fraction_bits: Some(10), keepbits };
    let round = |bits: &u64| {
        let rounded = codec.encode_bits(*bits);
        if f16::from_bits64(rounded).is_infinite() { *bits } else { rounded }
    };
    source.iter().map(round).collect()
}

fn elements(number_type: NumberType, values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()[..number_type.size()].to_vec()).collect()
}

#[test]
#[cfg(target_endian = "little")]
fn all_patterns_of_float16_are_rounded_as_one_by_one() {
    let number_type = NumberType::of(ElementType::Float16);
    let patterns: Vec<u64> = (0..=0xffff).collect();
    let source = elements(number_type, &patterns);
    for bits in 0..=10 {
        let expected = expected(bits, &patterns);
        for set in [InstructionSet::Baseline, InstructionSet::detect()] {
            let mut target = vec![0; source.len()];
            let mut figures = QuantizeFigures::default();
            let kernel = set.at_most(|| KeepBits::new(number_type, bits, &[], None));
            kernel.convert(&source, &mut target, &mut figures);
            assert_eq!(target, elements(number_type, &expected), "{bits}");
            let value = |bits: u64| f16::from_bits64(bits).to_f64();
            let errors = patterns.iter().zip(&expected).map(|(x, r)| (value(*x) - value(*r)).abs());
            let greatest = errors.filter(|error| error.is_finite()).fold(0.0, f64::max);
            assert_eq!(figures.max_abs_error, greatest);
            assert_eq!((figures.count, figures.nan), (0x1_0000, 2 * 1023));
        }
    }
}

#[test]
fn half_of_the_last_kept_bit_is_the_greatest_error() {
    let number_type = NumberType::of(ElementType::Float32);
    let values: Vec<f32> = (0..5000_u16).map(|index| 1.0 + f32::from(index) / 5000.0).collect();
    let source: &[u8] = bytemuck::cast_slice(&values);
    let mut target = vec![0.0_f32; values.len()];
    let mut figures = QuantizeFigures::default();
    KeepBits::new(number_type, 7, &[], None).convert(source, bytemuck::cast_slice_mut(&mut target), &mut figures);
    assert!(figures.max_abs_error <= 1.0 / 256.0 && figures.max_abs_error > 0.99 / 256.0);
    // For a uniform distribution of errors: the bound divided by the square root of 3.
    assert!((figures.rms_error() * 3.0_f64.sqrt() * 256.0 - 1.0).abs() < 0.01);
    assert!(target.iter().all(|value| value.to_bits().trailing_zeros() >= 16));
}

#[test]
fn missing_values_and_what_would_be_infinite_stay() {
    let number_type = NumberType::of(ElementType::Float32);
    let missing = 9.969_21e36_f32;
    let values = [f32::MAX, -f32::MAX, missing, f32::NAN, f32::INFINITY, 1.1, -0.0, 1e-45];
    let kernel = KeepBits::new(number_type, 2, &[u64::from(missing.to_bits())], None);
    let mut target = [0.0_f32; 8];
    let mut figures = QuantizeFigures::default();
    kernel.convert(bytemuck::cast_slice(&values), bytemuck::cast_slice_mut(&mut target), &mut figures);
    let bits = |values: [f32; 8]| values.map(f32::to_bits);
    assert_eq!(bits(target)[..5], bits(values)[..5]);
    assert_eq!(target[5], 1.0);
    assert_eq!((figures.count, figures.nan), (8, 2));
    assert_eq!(figures.max_abs_error, f64::from(1.1_f32) - 1.0);
}
